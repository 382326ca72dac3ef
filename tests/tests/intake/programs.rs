//! Agents as `daemon/docs/agents/turns.md` shows them: its configurations and its programs, taken out of it and run as they stand, with
//! the libraries and the server of other people that it names.
//!
//! Installed by `tests/run --setup-only`: Python with the package `mcp`, Node with `openai-mock-api`, OpenAI's library, TypeScript.

use std::{
    collections::BTreeSet,
    fs,
    net::TcpStream,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{Client, SpawnedHub, client::text, eventually, program},
    mocks::{Answer, MockServer},
    peers::{OpenAi, free_port, python, well_typed},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The only block of the guide in this language that has these words.
fn block(language: &str, has: &str) -> Result<String> {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../daemon/docs/agents/turns.md");
    let guide = fs::read_to_string(guide)?;
    let fence = format!("```{language}\n");
    let blocks = guide.split(&fence).skip(1).filter_map(|rest| rest.split("```").next());
    let found: Vec<&str> = blocks.filter(|block| block.contains(has)).collect();
    ensure!(found.len() == 1, "{} blocks of the guide have {has:?}", found.len());
    Ok(found[0].to_owned())
}

/// The configuration that the guide begins with.
fn before_you_begin() -> Result<String> {
    block("toml", "[people.ann]")
}

/// The same, with what the guide adds to it for this way. That repeats the agent.
fn configuration(way: &str) -> Result<String> {
    let section = block("toml", way)?;
    let section = section.find("[wake.").and_then(|at| section.get(at..)).context("a way of waking")?;
    Ok(format!("{}\n{section}", before_you_begin()?))
}

/// A hub at which somebody reads what Ann and Bob are told.
struct Home {
    hub: SpawnedHub,
    operator: Client,
    porch: Client,
}

impl Home {
    fn of(hub: SpawnedHub) -> Result<Self> {
        let (operator, porch) = (hub.operator()?, hub.bridge("porch")?);
        Ok(Self { hub, operator, porch })
    }

    fn start(configuration: &str) -> Result<Self> {
        Self::of(SpawnedHub::start(configuration)?)
    }

    /// Ann writes, as the guide has her.
    fn ann_writes(&self, words: &str) -> Result<()> {
        let report = json!({"channel": "local", "peer": "ann", "direct": true, "text": words});
        self.porch.post("/v1/inbound", &report)?.taken().map(drop)
    }

    /// She presses a button.
    fn ann_presses(&self) -> Result<()> {
        let report =
            json!({"channel": "local", "peer": "ann", "direct": true, "kind": "press", "data": "yes"});
        self.porch.post("/v1/inbound", &report)?.taken().map(drop)
    }

    /// The hub is killed, and started again where it was.
    fn restart(&mut self) -> Result<()> {
        self.hub.kill()?;
        self.hub.run()
    }

    /// All that somebody was told, once there is so much of it.
    fn told(&self, who: &str, count: usize) -> Result<Vec<String>> {
        eventually(&format!("{count} messages for {who}"), || {
            let arrived = self.operator.arrived(who)?;
            ensure!(arrived.len() <= count, "{arrived:?}");
            Ok((arrived.len() == count)
                .then(|| arrived.iter().map(|one| text(one, "text").to_owned()).collect()))
        })
    }

    /// The turns, newest first, once all have been answered at the first attempt.
    fn all_answered(&self, count: usize) -> Result<()> {
        eventually("the turns' ends", || {
            let listed = self.operator.get("/v1/turns")?.taken()?["turns"].clone();
            let turns = listed.as_array().context("turns")?;
            ensure!(turns.len() <= count && turns.iter().all(|turn| turn["attempts"] != 2), "{listed}");
            let ended = turns.iter().filter(|turn| turn["outcome"] == "answered").count();
            Ok((ended == count).then_some(()))
        })
    }
}

/// A program of the guide at work. It ends with this.
struct Running {
    program: Child,
    _folder: TempDir,
}

impl Running {
    fn python(code: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("agent.py"), code)?;
        // Where its user would have it.
        symlink(program()?, folder.path().join("gatepost"))?;
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH")?);
        let program = Command::new(python()?)
            .arg(folder.path().join("agent.py"))
            .args(arguments)
            .env("PATH", path)
            .env("NO_PROXY", "*")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .spawn()?;
        Ok(Self { program, _folder: folder })
    }

    fn at(hub: &SpawnedHub, code: &str, arguments: &[&str]) -> Result<Self> {
        let agent = hub.agent("engineer")?;
        let environment = [("GATEPOST_HUB", agent.base()), ("GATEPOST_TOKEN", agent.token())];
        Self::python(code, arguments, &environment)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = (self.program.kill(), self.program.wait());
    }
}

#[test]
fn the_program_over_http_answers_turn_after_turn() -> Result<()> {
    let mut home = Home::start(&before_you_begin()?)?;
    let _agent = Running::at(&home.hub, &block("python", "\ndef answer(turn)")?, &[])?;
    home.ann_writes("Hello.")?;
    ensure!(home.told("ann", 1)? == ["You wrote 6 characters."]);
    home.restart()?;
    home.ann_writes("And again?")?;
    ensure!(home.told("ann", 2)?[1] == "You wrote 10 characters.");
    home.ann_presses()?;
    ensure!(home.told("ann", 3)?[2] == "I noticed: press.");
    home.all_answered(3)
}

#[test]
fn the_program_that_listens_to_events_answers_what_waited_and_what_comes() -> Result<()> {
    let mut home = Home::start(&before_you_begin()?)?;
    home.ann_writes("Early.")?;
    let whole = block("python", "\ndef answer(turn)")?;
    let before = whole.lines().count() - 7;
    let mut code: String = whole.lines().take(before).map(|line| format!("{line}\n")).collect();
    ensure!(!code.contains("while True"), "the loop is not in the last seven lines");
    code += &block("python", "/v1/events")?;
    let _agent = Running::at(&home.hub, &code, &[])?;
    ensure!(home.told("ann", 1)? == ["You wrote 6 characters."]);
    home.ann_writes("Now, please.")?;
    ensure!(home.told("ann", 2)?[1] == "You wrote 12 characters.");
    home.restart()?;
    home.ann_writes("Still?")?;
    ensure!(home.told("ann", 3)?[2] == "You wrote 6 characters.");
    home.all_answered(3)
}

/// The package `mcp`, the protocol's own for Python, takes turns by `next_turn`.
fn over_mcp(arguments: &[&str]) -> Result<()> {
    let mut home = Home::start(&before_you_begin()?)?;
    let _agent = Running::at(&home.hub, &block("python", "next_turn")?, arguments)?;
    home.ann_writes("Hello.")?;
    ensure!(home.told("ann", 2)? == ["Counting: Hello.", "You wrote 6 characters."]);
    home.ann_writes("And again?")?;
    ensure!(home.told("ann", 4)?[2..] == ["Counting: And again?", "You wrote 10 characters."]);
    home.restart()?;
    home.ann_presses()?;
    ensure!(home.told("ann", 6)?[4..] == ["Counting: nothing", "I noticed: press."]);
    home.all_answered(3)
}

#[test]
fn the_program_over_mcp_answers_by_http() -> Result<()> {
    over_mcp(&[])
}

#[test]
fn the_program_over_mcp_answers_by_stdio() -> Result<()> {
    over_mcp(&["--stdio"])
}

#[test]
fn the_shell_script_answers_with_the_time() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("my-agent");
    fs::write(&script, block("sh", "#!/bin/sh")?)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let configuration = configuration("/usr/local/bin/my-agent")?;
    let configuration = configuration.replace("/usr/local/bin/my-agent", &script.display().to_string());
    let home = Home::start(&configuration)?;
    home.ann_writes("How late is it?")?;
    let told = home.told("ann", 1)?;
    let time =
        told[0].strip_prefix("It is ").and_then(|rest| rest.strip_suffix('.')).context("a sentence")?;
    let (hours, minutes) = time.split_once(':').context("a time")?;
    ensure!(hours.parse::<u8>()? < 24 && minutes.parse::<u8>()? < 60, "{told:?}");
    home.all_answered(1)
}

#[test]
fn the_service_is_called_with_the_secret_that_the_guide_makes() -> Result<()> {
    let mut hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), "")?;
    let made = Command::new("/bin/sh")
        .args(["-ec", &block("sh", "whsec_")?])
        .current_dir(hub.folder().path())
        .status()?;
    ensure!(made.success(), "{made}");
    let secret = fs::read_to_string(hub.folder().path().join("secrets/wake"))?;
    let port = free_port()?.to_string();
    let environment = [("WAKE_SECRET", secret.trim()), ("PORT", port.as_str())];
    let _service = Running::python(&block("python", "hmac")?, &[], &environment)?;
    eventually("the service listens", || Ok(TcpStream::connect(format!("127.0.0.1:{port}")).ok()))?;
    hub.configure(&configuration("url = ")?.replace(":9000/", &format!(":{port}/")))?;
    hub.run()?;
    let home = Home::of(hub)?;
    home.ann_writes("Hello.")?;
    ensure!(home.told("ann", 1)? == ["You wrote: Hello."]);
    home.all_answered(1)
}

const KEY: &str = "sk-hush";

/// The guide's model, at this server, with this in the file of its key.
fn model(url: &str, key: &str) -> Result<(Home, PathBuf)> {
    let mut hub = SpawnedHub::at_rest(tempfile::tempdir()?.into(), "")?;
    let secrets = hub.folder().path().join("secrets");
    fs::create_dir(&secrets)?;
    let file = secrets.join("model");
    fs::write(&file, key)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    let configuration = configuration("openai = ")?.replace("http://127.0.0.1:11434/v1", url);
    hub.configure(&format!("{configuration}token = \"file:secrets/model\"\n"))?;
    hub.run()?;
    Ok((Home::of(hub)?, file))
}

/// A call of a tool, as a model makes it.
fn call(id: &str, tool: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}})
}

/// What the server answers, conversation by conversation: it calls two tools, then it leaves the conversation, then it says how it went.
/// A result of a tool that is another one than here is no conversation of it.
fn tells_bob() -> Value {
    let asked = [
        json!({"role": "system", "matcher": "contains", "content": "You look after the house's computers."}),
        json!({"role": "user", "matcher": "contains", "content": "\"text\":\"Tell Bob that I am late.\""}),
    ];
    let here = json!({"to": "current", "message": "One moment."});
    let away = json!({"to": "local:bob", "message": "Ann is late.", "wait": 0});
    let works = json!({"role": "assistant", "tool_calls": [call("call_1", "message", &here), call("call_2", "list_tasks", &json!({}))]});
    let worked = [
        json!({"role": "tool", "tool_call_id": "call_1", "matcher": "contains", "content": "\"state\":\"sent\""}),
        json!({"role": "tool", "tool_call_id": "call_2", "matcher": "contains", "content": "\"tasks\":[]"}),
    ];
    let leaves = json!({"role": "assistant", "tool_calls": [call("call_3", "message", &away)]});
    let left = [
        json!({"role": "tool", "tool_call_id": "call_3", "matcher": "contains", "content": "\"state\":\"held\""}),
    ];
    let says = json!({"role": "assistant", "content": "Bob is told as soon as somebody allows it."});
    let first = [&asked[..], &[works]].concat();
    let second = [&first[..], &worked, &[leaves]].concat();
    let third = [&second[..], &left, &[says]].concat();
    json!([{"id": "works", "messages": first}, {"id": "leaves", "messages": second}, {"id": "says", "messages": third}])
}

#[test]
fn a_model_at_another_ones_server_calls_tools_is_held_and_answers() -> Result<()> {
    let server = OpenAi::start(KEY, &tells_bob())?;
    let (home, _) = model(&server.url(), KEY)?;
    home.ann_writes("Tell Bob that I am late.")?;
    ensure!(home.told("ann", 2)? == ["One moment.", "Bob is told as soon as somebody allows it."]);
    home.all_answered(1)?;
    // The server took every request for one.
    let asked = eventually("three answers in the server's log", || {
        let asked = server.asked()?;
        Ok((asked.len() == 3).then_some(asked))
    })?;
    ensure!(asked.iter().all(|one| one.status == 200), "{asked:?}");
    let bodies: Vec<Value> = asked.into_iter().map(|one| one.body).collect();
    ensure!(bodies.iter().all(|body| !body.to_string().contains("gpc_")), "a context was shown");
    let roles: Vec<&str> =
        bodies[2]["messages"].as_array().context("messages")?.iter().map(|one| text(one, "role")).collect();
    ensure!(roles == ["system", "user", "assistant", "tool", "tool", "assistant", "tool"], "{roles:?}");
    let said: Value = serde_json::from_str(text(&bodies[0]["messages"][1], "content"))?;
    ensure!(said["sender"]["scope"] == "owner", "{said}");
    well_typed(&bodies)?;
    // What leaves the conversation waits for a person.
    let held: Vec<Value> =
        home.operator.queue()?.into_iter().filter(|message| message["state"] == "held").collect();
    ensure!(held.len() == 1 && held[0]["to"] == "local:bob", "{held:?}");
    ensure!(home.operator.arrived("bob")?.is_empty(), "nobody allowed it");
    Ok(())
}

#[test]
fn a_key_that_the_server_refuses_is_a_reason_to_wait_and_a_new_one_mends_it() -> Result<()> {
    let asked = json!({"role": "user", "matcher": "any"});
    let says = json!({"role": "assistant", "content": "Here I am."});
    let server = OpenAi::start(
        KEY,
        &json!([{"id": "says", "messages": [{"role": "system", "matcher": "any"}, asked, says]}]),
    )?;
    let (home, file) = model(&server.url(), "sk-old")?;
    home.ann_writes("Hello?")?;
    let reason = eventually("a reason", || {
        let turns = home.operator.get("/v1/turns")?.taken()?["turns"].clone();
        Ok(turns[0]["outcome"].as_str().map(str::to_owned))
    })?;
    ensure!(reason.contains("401") && reason.contains("Invalid API key provided"), "{reason}");
    fs::write(file, KEY)?;
    ensure!(home.told("ann", 1)? == ["Here I am."]);
    home.all_answered(1)?;
    let log = home.hub.log()?;
    ensure!(!log.contains(KEY) && !log.contains("sk-old"), "a key is in the log");
    Ok(())
}

#[test]
fn what_a_model_writes_wrongly_does_not_make_a_request_that_a_strict_server_refuses() -> Result<()> {
    // No id, and arguments that are no JSON: models write that, and endpoints pass it on.
    let wrong = |arguments: &str| json!({"function": {"name": "message", "arguments": arguments}});
    let calls = json!({"content": null, "tool_calls": [wrong("{\"to\": \"cur"), wrong(""), wrong("[]")]});
    let sloppy = MockServer::saying(json!({"choices": [{"message": {"content": "Done."}}]}))?;
    sloppy.next([
        Answer::Says(200, json!({"choices": [{"message": calls}]})),
        Answer::Says(200, json!({"choices": [{"message": calls}]})),
    ]);
    let (home, _) = model(&format!("{}/v1", sloppy.url()), KEY)?;
    home.ann_writes("Hello?")?;
    ensure!(home.told("ann", 1)? == ["Done."]);
    let last = sloppy.heard().last().context("a request")?.json();
    let messages = last["messages"].as_array().context("messages")?;
    let results: Vec<&Value> = messages.iter().filter(|one| one["role"] == "tool").collect();
    ensure!(results.iter().all(|result| text(result, "content").contains("input_invalid")), "{results:?}");
    let ids: BTreeSet<&str> = results.iter().map(|result| text(result, "tool_call_id")).collect();
    ensure!(ids.len() == 6 && !ids.contains(""), "{ids:?}");
    let conversation: Vec<Value> = messages
        .iter()
        .map(|one| json!({"role": one["role"], "matcher": "any", "tool_call_id": one["tool_call_id"]}))
        .collect();
    let script = [&conversation[..], &[json!({"role": "assistant", "content": "I take it."})]].concat();
    let strict = OpenAi::start(KEY, &json!([{"id": "any", "messages": script}]))?;
    let (status, answer) = strict.ask(&last)?;
    ensure!(status == 200, "{answer}");
    well_typed(&[last])
}
