//! The MCP server, as another stack sees it: the protocol's own client does the main job over HTTP and over stdio.
//!
//! Installed by `tests/run --setup-only`: the protocol's client, suite and inspector.

use std::{sync::Arc, thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{SpawnedHub, TestHub, client::text, eventually, gatepost, program},
    peers::{McpClient, mcp_conformance, mcp_inspect},
};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:team"]

[approval]
allow_software_companion = true

[channels.local.home]
"#;

fn message(text: &str) -> Value {
    json!({"call": "message", "arguments": {"to": "local:team", "message": text, "wait": 60}})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_protocols_own_client_does_the_main_job_over_http() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let mut client = McpClient::at(agent.base(), agent.token())?;
    let tools = client.step(&json!({"tools": true}))?;
    let names: Vec<&str> =
        tools["tools"].as_array().context("tools")?.iter().map(|t| text(t, "name")).collect();
    ensure!(names == crate::TOOLS, "{names:?}");

    // Held, told so while it waits, approved, and sent before the call is answered.
    let call = thread::spawn(move || (client.step(&message("**Ready** to deploy.")), client));
    fixture.decide(Verdict::Approve).await?;
    let (sent, mut client) = call.join().expect("the client does not panic");
    let sent = sent?;
    ensure!(sent["is_error"] == false && sent["answer"]["state"] == "sent", "{sent}");
    ensure!(sent["progress"].to_string().contains("held: a person is being asked"), "{sent}");
    ensure!(fixture.arrived("team")?.concat().contains("Ready to deploy."), "{:?}", fixture.arrived("team")?);

    let call = thread::spawn(move || (client.step(&message("Anything else?")), client));
    fixture.decide(Verdict::Deny).await?;
    let (denied, mut client) = call.join().expect("the client does not panic");
    let denied = denied?;
    ensure!(denied["is_error"] == true && denied["answer"]["code"] == "denied", "{denied}");

    // What is cancelled is taken back.
    let mut given_up = message("Never mind.");
    given_up["cancel"] = 3.into();
    let given_up = client.step(&given_up)?;
    ensure!(given_up["cancelled"] == true, "{given_up}");
    eventually("it is taken back", || {
        let queue = client.step(&json!({"read": "gatepost://queue"}))?;
        let newest = queue["contents"][0]["messages"][0].clone();
        Ok((newest["state"] == "cancelled").then_some(()))
    })?;

    let wrong =
        client.step(&json!({"call": "message", "arguments": {"to": "local:bob", "message": "Hi"}}))?;
    ensure!(wrong["is_error"] == true && wrong["answer"]["reason"] == "not_allowed", "{wrong}");
    let guide = client.step(&json!({"read": "gatepost://guide/telegram"}))?;
    ensure!(text(&guide["contents"][0], "guide").contains("4,096"), "{guide}");
    ensure!(
        client.step(&json!({"read": "gatepost://elsewhere"}))?["error"].is_string(),
        "a resource too many"
    );
    drop(client);
    fixture.stop().await;
    Ok(())
}

/// Something that will not arrive, and that nobody waits for.
fn lost(text: &str) -> Value {
    json!({"call": "message", "arguments": {"to": "local:team", "message": text, "wait": 0}})
}

const INBOX: &str = "gatepost://inbox";

/// Cancels everything of this agent's that is held: each ends other than sent.
fn take_all_back(agent: &gatepost_tests::hub::Client) -> Result<()> {
    for message in agent.queue()?.iter().filter(|message| message["state"] == "held") {
        agent.post(&format!("/v1/messages/{}/cancel", text(message, "id")), &json!({}))?.taken()?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_hears_when_something_lands_in_its_inbox_and_in_nobody_elses() -> Result<()> {
    let mut fixture = TestHub::start(&format!("{CONFIG}[agents.other]\nallow = [\"local:team\"]\n")).await?;
    let (agent, other) = (fixture.agent("engineer").await?, fixture.agent("other").await?);
    let mut client = McpClient::at(agent.base(), agent.token())?;
    let resources = client.step(&json!({"resources": true}))?;
    ensure!(resources["resources"] == json!(["gatepost://queue", INBOX]), "{resources}");
    ensure!(client.step(&json!({"subscribe": "gatepost://queue"}))?["error"].is_string());
    ensure!(client.step(&json!({"subscribe": INBOX}))?["subscribed"] == true);
    let mut strangers = McpClient::at(other.base(), other.token())?;
    ensure!(strangers.step(&json!({"subscribe": INBOX}))?["subscribed"] == true);

    // Held is no end, and nothing lands.
    let held = client.step(&lost("First."))?;
    ensure!(held["answer"]["state"] == "held", "{held}");
    ensure!(client.step(&json!({"heard": 1}))?["changed"].is_null());
    take_all_back(&agent)?;
    ensure!(client.step(&json!({"heard": 20}))?["changed"] == INBOX);
    let inbox = client.step(&json!({"read": INBOX}))?;
    ensure!(inbox["contents"][0]["notices"][0]["receipt"]["state"] == "cancelled", "{inbox}");
    ensure!(strangers.step(&json!({"heard": 1}))?["changed"].is_null(), "another agent heard of it");

    ensure!(client.step(&json!({"unsubscribe": INBOX}))?["subscribed"] == false);
    client.step(&lost("Second."))?;
    take_all_back(&agent)?;
    ensure!(client.step(&json!({"heard": 1}))?["changed"].is_null(), "it did not want to hear any more");

    // Whose token was taken away hears nothing.
    strangers.step(&lost("Third."))?;
    fixture.operator()?.raw("DELETE", "/v1/agents/other", &[], b"")?;
    fixture.decide(Verdict::Deny).await?;
    ensure!(strangers.step(&json!({"heard": 1}))?["changed"].is_null());

    // The same without a session, by a request that stays open.
    let mut modern = McpClient::modern_at(agent.base(), agent.token())?;
    let mut call = lost("Fourth.");
    call["arguments"]["ttlSeconds"] = 2.into();
    call["listen"] = INBOX.into();
    let heard = modern.step(&call)?;
    ensure!(heard["changed"] == INBOX, "{heard}");
    fixture.stop().await;
    Ok(())
}

#[test]
fn the_same_door_stands_in_a_program_that_agents_start() -> Result<()> {
    let mut hub = SpawnedHub::start(
        "[agents.engineer]\nallow = [\"local:team\"]\nhold = [\"local:asked\"]\ncross_context = \"allow\"\ndecorate = false\n[channels.local.home]\n",
    )?;
    let agent = hub.agent("engineer")?;
    let environment = [("GATEPOST_HUB", agent.base()), ("GATEPOST_TOKEN", agent.token())];
    let mut client = McpClient::starting(program()?, &environment)?;
    let say = |body: &str| json!({"call": "send_message", "arguments": {"platform": "local", "target": "team", "body": body}});
    let sent = client.step(&say("Over stdio."))?;
    ensure!(sent["is_error"] == false && sent["answer"]["state"] == "sent", "{sent}");
    ensure!(sent["answer"].to_string().len() <= 1024, "{sent}");
    // It hears of its inbox too.
    ensure!(client.step(&json!({"subscribe": INBOX}))?["subscribed"] == true);
    let held = agent.send(&json!({"to": "local:asked", "message": "May I?"}))?;
    ensure!(held["state"] == "held" && client.step(&json!({"heard": 1}))?["changed"].is_null(), "{held}");
    take_all_back(&agent)?;
    ensure!(client.step(&json!({"heard": 20}))?["changed"] == INBOX);
    hub.terminate()?;
    let nobody = client.step(&say("Anybody there?"))?;
    // The words that agents know.
    ensure!(
        nobody["answer"]["error"] == "Gateway not active — send_message requires gateway mode",
        "{nobody}"
    );
    ensure!(
        nobody["is_error"] == true && text(&nobody["answer"], "hint").contains("gatepost run"),
        "{nobody}"
    );
    Ok(())
}

#[test]
fn a_program_that_was_started_before_its_hub_says_when_there_is_one() -> Result<()> {
    let folder = Arc::new(tempfile::tempdir()?);
    let mut hub = SpawnedHub::at_rest(
        folder,
        "[agents.shell]\nallow = [\"local:team\"]\ncross_context = \"allow\"\n[channels.local.home]\n",
    )?;
    // It has never run: there is no operator's token yet either.
    let config = hub.config().display().to_string();
    let mut client =
        McpClient::starting_with(program()?, &["--as-operator"], &[("GATEPOST_CONFIG", &config)])?;
    let names = |client: &mut McpClient| -> Result<Vec<String>> {
        let tools = client.step(&json!({"tools": true}))?;
        let tools = tools["tools"].as_array().with_context(|| tools.to_string())?;
        Ok(tools.iter().map(|tool| text(tool, "name").to_owned()).collect())
    };
    ensure!(names(&mut client)? == ["send_message"], "it stands in for the others");
    let say = json!({"call": "send_message", "arguments": {"platform": "local", "target": "team", "body": "Anybody?"}});
    let nobody = client.step(&say)?;
    ensure!(text(&nobody["answer"], "error").starts_with("Gateway not active"), "{nobody}");
    ensure!(client.step(&json!({"heard": 6}))?["changed"].is_null(), "nothing has changed");
    hub.run()?;
    ensure!(client.step(&json!({"heard": 20}))?["changed"] == "tools", "it did not hear of the hub");
    let tools = names(&mut client)?;
    ensure!(tools[0] == "message" && tools.contains(&"receipt".to_owned()), "{tools:?}");
    ensure!(client.step(&json!({"heard": 6}))?["changed"].is_null(), "once is enough");
    let sent = client.step(&say)?;
    ensure!(sent["answer"]["state"] == "sent", "{sent}");
    // And again, when it has been away.
    hub.terminate()?;
    ensure!(names(&mut client)? == ["send_message"]);
    hub.run()?;
    ensure!(client.step(&json!({"heard": 20}))?["changed"] == "tools", "it did not hear of the hub again");

    // In the way of 2026-07-28, by a request that stays open.
    hub.terminate()?;
    let environment = [("GATEPOST_CONFIG", config.as_str()), ("MCP_MODERN", "1")];
    let mut modern = McpClient::starting_with(program()?, &["--as-operator"], &environment)?;
    // It is there: on a busy machine a client takes its seconds to start.
    ensure!(names(&mut modern)? == ["send_message"]);
    let listening = thread::spawn(move || modern.step(&json!({"listen": "tools"})));
    thread::sleep(Duration::from_secs(3));
    hub.run()?;
    let heard = listening.join().expect("the client does not panic")?;
    ensure!(heard["before"] == json!(["send_message"]), "{heard}");
    ensure!(heard["changed"] == "ToolsListChanged", "{heard}");
    Ok(())
}

/// Whether a tool's description names this target.
fn names_target(client: &mut McpClient, target: &str) -> Result<bool> {
    let tools = client.step(&json!({"tools": true}))?;
    Ok(text(&tools["tools"][0], "description").contains(target))
}

#[test]
fn a_client_hears_at_both_doors_that_a_reload_has_changed_its_tools() -> Result<()> {
    let config = |target: &str| {
        format!(
            "[agents.engineer]\nallow = [\"{target}\"]\ncross_context = \"allow\"\n[channels.local.home]\n"
        )
    };
    let mut hub = SpawnedHub::start(&config("local:team"))?;
    let agent = hub.agent("engineer")?;
    for (port, mut client) in McpClient::at_both_doors(&agent)? {
        ensure!(names_target(&mut client, "local:team")?, "{port}");
        // Nothing has changed, although things happen.
        ensure!(client.step(&lost("Nothing new."))?["is_error"] == false, "{port}");
        ensure!(client.step(&json!({"heard": 1}))?["changed"].is_null(), "{port}: nothing has changed");
        for target in ["local:cellar", "local:team"] {
            hub.configure(&config(target))?;
            hub.cli(&["reload"])?.well()?;
            ensure!(
                client.step(&json!({"heard": 20}))?["changed"] == "tools",
                "{port}: it did not hear of {target}"
            );
            ensure!(names_target(&mut client, target)?, "{port}: {target}");
            ensure!(client.step(&json!({"heard": 1}))?["changed"].is_null(), "{port}: once is enough");
        }
    }
    // A reload that is refused changes nothing.
    let mut clients = McpClient::at_both_doors(&agent)?;
    for (_, client) in &mut clients {
        names_target(client, "local:team")?;
    }
    hub.configure("[agents.engineer]\nallow = \"nonsense\"\n")?;
    ensure!(hub.cli(&["reload"])?.status == 1);
    for (port, client) in &mut clients {
        ensure!(client.step(&json!({"heard": 1}))?["changed"].is_null(), "{port}: nothing has changed");
    }
    // One that started anew in between may have others.
    hub.configure(&config("local:attic"))?;
    hub.terminate()?;
    hub.run()?;
    let [_, (port, client)] = &mut clients;
    ensure!(
        client.step(&json!({"heard": 30}))?["changed"] == "tools",
        "{port}: it did not hear of the new hub"
    );
    ensure!(names_target(client, "local:attic")?, "{port}");
    // In the way of 2026-07-28, by a request that stays open.
    let mut modern = McpClient::modern_at(agent.base(), agent.token())?;
    let listening = thread::spawn(move || modern.step(&json!({"listen": "tools"})));
    hub.configure(&config("local:team"))?;
    let listening = eventually_heard(listening, || hub.cli(&["reload"])?.well().map(drop))?;
    ensure!(listening["changed"] == "ToolsListChanged", "{listening}");
    Ok(())
}

/// Does it again until who listens has heard: when they began to, nobody else knows.
fn eventually_heard(
    listening: thread::JoinHandle<Result<Value>>,
    again: impl Fn() -> Result<()>,
) -> Result<Value> {
    while !listening.is_finished() {
        again()?;
        thread::sleep(Duration::from_millis(500));
    }
    listening.join().expect("the client does not panic")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_told_from_what_there_is_not() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let wanted = [("accept", "application/json, text/event-stream"), ("content-type", "application/json")];
    let post = |body: &str, more: &[(&str, &str)]| {
        let headers: Vec<(&str, &str)> = wanted.iter().chain(more).copied().collect();
        agent.raw("POST", "/mcp", &headers, body.as_bytes())
    };
    for (body, code) in [
        ("{", -32700),
        ("", -32700),
        ("[]", -32600),
        ("{\"id\": 1}", -32600),
        ("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\", \"method\": \"tools/list\"}", -32600),
        ("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"initialize\", \"params\": []}", -32602),
    ] {
        let answer = post(body, &[])?;
        ensure!(answer.status == 400 && answer.kind == "application/json", "{body}: {answer:?}");
        ensure!(answer.body["error"]["code"] == code, "{body}: {answer:?}");
    }
    let wrong = [wanted[0], ("content-type", "text/plain")];
    // What the transport refuses is a problem as everywhere else.
    for (method, headers, status) in
        [("POST", &wrong[..], 415), ("DELETE", &wanted[..], 400), ("GET", &wanted[1..], 406)]
    {
        let answer = agent.raw(method, "/mcp", headers, b"{}")?;
        ensure!(answer.status == status && answer.kind == "application/problem+json", "{method}: {answer:?}");
        ensure!(
            answer.body["ok"] == false && !text(&answer.body, "error").is_empty(),
            "{method}: {answer:?}"
        );
    }
    // In a session, and at the program's interface.
    let version = "2025-06-18";
    let begin = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    });
    let calls = [
        ("tools/call", json!({"name": "message", "arguments": []}), -32602, "object"),
        ("tools/call", json!({"name": "message", "arguments": "x"}), -32602, "object"),
        ("tools/call", json!({"arguments": {}}), -32602, "name is missing"),
        ("resources/read", json!({}), -32602, "uri"),
        ("resources/subscribe", json!({"uri": []}), -32602, "string"),
        ("prompts/get", json!({"name": "x"}), -32601, "prompts/get"),
        ("tools/cal", json!({}), -32601, "tools/cal"),
    ];
    let told = |method: &str, params: &Value, answer: &Value, code: i64, says: &str| {
        let error = &answer["error"];
        ensure!(
            error["code"] == code && text(error, "message").contains(says),
            "{method} {params}: {answer}"
        );
        Ok(())
    };
    let lines: Vec<String> = std::iter::once(begin.to_string())
        .chain(std::iter::once(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()))
        .chain((1..).zip(&calls).map(|(id, (method, params, ..))| {
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
        }))
        .collect();
    let environment = [("GATEPOST_HUB", agent.base()), ("GATEPOST_TOKEN", agent.token())];
    let twice = r#"{"jsonrpc": "2.0", "id": 100, "method": "tools/call", "params":
        {"name": "message", "arguments": {"to": "local:team", "message": "Hello", "to": "local:ann"}}}"#;
    let twice = twice.replace('\n', "");
    let ended = gatepost(&["mcp"], format!("{}\n{twice}\n", lines.join("\n")).as_bytes(), &environment)?;
    let answers: Vec<Value> = ended
        .stdout
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .with_context(|| format!("{ended:?}"))?;
    for (id, (method, params, code, says)) in (1..).zip(&calls) {
        let answer =
            answers.iter().find(|answer| answer["id"] == id).with_context(|| format!("{ended:?}"))?;
        told(method, params, answer, *code, says)?;
    }
    let refused = answers.iter().find(|answer| answer["id"] == 100).with_context(|| format!("{ended:?}"))?;
    told("a key twice", &Value::Null, refused, -32600, "the key \"to\" twice")?;
    let begun = post(&begin.to_string(), &[])?;
    let session = begun.headers.iter().find(|(name, _)| name == "mcp-session-id").context("a session")?;
    let more = [("mcp-session-id", session.1.as_str()), ("mcp-protocol-version", version)];
    ensure!(post(&lines[1], &more)?.status == 202);
    for (line, (method, params, code, says)) in lines[2..].iter().zip(&calls) {
        let answer = post(line, &more)?;
        let body = answer.body.as_str().map(str::to_owned).unwrap_or_else(|| answer.body.to_string());
        let data = body.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&body);
        told(method, params, &serde_json::from_str(data).with_context(|| body.clone())?, *code, says)?;
    }
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_session_is_given_the_guide_and_described_the_tools_of_its_turn() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let context = fixture.bridge("porch").await?.heard("engineer", "team")?;
    for round in ["first", "second"] {
        for (port, mut client) in McpClient::at_both_doors(&agent)? {
            let first = client.step(&lost(&format!("One by {port}, {round}.")))?;
            ensure!(first["answer"]["guide"].is_string(), "{port}, {round}: {first}");
            let next = client.step(&lost(&format!("Two by {port}, {round}.")))?;
            ensure!(next["answer"]["guide"].is_null(), "{port}, {round}: {next}");

            let described = |tools: &Value| text(&tools["tools"][0], "description").to_owned();
            let anywhere = client.step(&json!({"tools": true}))?;
            ensure!(!described(&anywhere).contains("Current channel"), "{port}: {anywhere}");
            ensure!(anywhere["meta"]["gatepost/tool_result_format"].is_null(), "{port}: {anywhere}");
            let turn = client.step(&json!({"tools": true, "meta": {"gatepost/context": context}}))?;
            ensure!(described(&turn).contains("Current channel (local) supports: send"), "{port}: {turn}");
            ensure!(turn["meta"]["gatepost/tool_result_format"] == "plain", "{port}: {turn}");
            for wrong in [json!("gpc_00"), json!(5)] {
                let refused = client.step(&json!({"tools": true, "meta": {"gatepost/context": wrong}}))?;
                ensure!(refused["error"].is_string(), "{port}: {refused}");
            }
        }
    }
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn both_doors_refuse_in_the_same_words() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let context = fixture.bridge("porch").await?.heard("engineer", "team")?;
    let [(_, mut over_http), (_, mut over_stdio)] = McpClient::at_both_doors(&agent)?;
    for (tool, arguments, guided) in [
        ("message", json!({"to": "local:team", "mesage": "Hi"}), true),
        ("message", json!({"to": "current", "context": context, "mesage": "Hi"}), true),
        ("message", json!({"to": "local:bob", "message": "Hi"}), true),
        ("message", json!({"to": "current", "message": "Hi"}), false),
        ("send_message", json!({"platform": "local", "target": "team"}), true),
        ("receipt", json!({"id": "m0"}), false),
        ("nothing", json!({}), false),
    ] {
        let call = json!({"call": tool, "arguments": arguments});
        let (here, there) = (over_http.step(&call)?, over_stdio.step(&call)?);
        ensure!(here == there && here["is_error"] == true, "{call}: {here} and {there}");
        let told = &here["answer"];
        ensure!(told["guide"].is_string() == guided && told["code"].is_string(), "{call}: {told}");
        ensure!(["type", "title", "status", "detail"].iter().all(|of| told[of].is_null()), "{call}: {told}");
        // And at the third interface, whose problems have those too.
        let problem = agent.post(&format!("/v1/tools/{tool}"), &arguments)?;
        for member in ["ok", "code", "reason", "error", "hint", "guide"] {
            let same = problem.body[member] == told[member] || tool == "send_message" && member == "reason";
            ensure!(same, "{call}: {member} of {problem:?}");
        }
    }
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_in_a_browser_and_nobody_without_a_token_gets_in() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"},
    }});
    let hello = hello.to_string();
    let accept = ("accept", "application/json, text/event-stream");
    let knock = |client: &gatepost_tests::hub::Client, more: &[(&str, &str)]| -> Result<u16> {
        let headers: Vec<(&str, &str)> = [accept].iter().chain(more).copied().collect();
        Ok(client.raw("POST", "/mcp", &headers, hello.as_bytes())?.status)
    };
    ensure!(knock(&agent, &[])? == 200, "the agent is not let in");
    ensure!(knock(&fixture.anybody(None)?, &[])? == 401, "without a token");
    ensure!(knock(&fixture.anybody(Some("gp_00"))?, &[])? == 401, "with a token of nobody's");
    ensure!(knock(&fixture.bridge("porch").await?, &[])? == 403, "with a bridge's");
    ensure!(knock(&agent, &[("host", "evil.example")])? == 421, "under another name");
    ensure!(knock(&agent, &[("origin", "https://evil.example")])? == 403, "from a page");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_protocols_own_suite_finds_what_is_expected_and_nothing_else() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    mcp_conformance(fixture.hub()?.address().port(), agent.token())?;
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inspector_does_the_main_job() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let (hub, token) = (agent.base().to_owned(), agent.token().to_owned());
    let inspect = move |asked: &[&str]| mcp_inspect(&hub, &token, asked);
    let tools = inspect(&["--method", "tools/list"])?;
    let tools = tools["tools"].as_array().context("tools")?;
    let names: Vec<_> = tools.iter().map(|tool| text(tool, "name")).collect();
    ensure!(names == crate::TOOLS, "{names:?}");
    ensure!(tools[0]["inputSchema"]["properties"]["voice"]["properties"]["text"].is_object(), "{}", tools[0]);

    let call = ["--method", "tools/call", "--tool-name"];
    let send = [
        "message",
        "--tool-arg",
        "to=local:team",
        "--tool-arg",
        "message=**Ready** to deploy.",
        "--tool-arg",
        "wait=0",
    ];
    let held = inspect(&[&call[..], &send].concat())?;
    ensure!(held["isError"] == false && held["structuredContent"]["state"] == "held", "{held}");
    fixture.decide(Verdict::Approve).await?;
    let id = format!("id={}", text(&held["structuredContent"], "id"));
    let receipt = inspect(&[&call[..], &["receipt", "--tool-arg", &id, "--tool-arg", "wait=20"]].concat())?;
    ensure!(receipt["structuredContent"]["state"] == "sent", "{receipt}");
    ensure!(fixture.arrived("team")?.concat().contains("Ready to deploy."), "{:?}", fixture.arrived("team")?);
    fixture.stop().await;
    Ok(())
}
