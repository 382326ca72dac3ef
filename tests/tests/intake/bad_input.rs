//! Bad input at the HTTP interface: a clear problem with its code, nothing in the queue, one line in the audit.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::{Answer, Client, TestHub, client::text};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:team"]

[agents.gardener]
allow = ["local:*"]

[book]
colleagues = "local:team"

[channels.local.home]
"#;

/// A hub, and a check of every refusal in it.
struct Endpoint {
    fixture: TestHub,
    engineer: Client,
    operator: Client,
}

/// What a refusal must say.
struct Wanted<'a> {
    status: u16,
    code: &'a str,
    reason: Option<&'a str>,
    /// Part of `error` or `hint`.
    says: &'a str,
}

fn wanted<'a>(status: u16, code: &'a str, reason: impl Into<Option<&'a str>>, says: &'a str) -> Wanted<'a> {
    Wanted { status, code, reason: reason.into(), says }
}

impl Endpoint {
    async fn open() -> Result<Self> {
        let mut fixture = TestHub::start(CONFIG).await?;
        let (engineer, operator) = (fixture.agent("engineer").await?, fixture.operator()?);
        Ok(Self { fixture, engineer, operator })
    }

    /// Makes a call that must be refused, and looks at the answer, the queue and the audit.
    fn refuses(&self, what: &str, wanted: &Wanted<'_>, call: impl FnOnce() -> Result<Answer>) -> Result<()> {
        self.refuses_for("agent:engineer", what, wanted, call)
    }

    fn refuses_for(
        &self,
        actor: &str,
        what: &str,
        wanted: &Wanted<'_>,
        call: impl FnOnce() -> Result<Answer>,
    ) -> Result<()> {
        let before = self.fixture.audit("call.refused")?.len();
        let answer = call().with_context(|| what.to_owned())?;
        is_problem(&answer, wanted).with_context(|| what.to_owned())?;
        ensure!(self.operator.queue()?.is_empty(), "{what}: something is in the queue");
        let lines = self.fixture.audit("call.refused")?;
        ensure!(lines.len() == before + 1, "{what}: {} lines in the audit", lines.len() - before);
        let line = lines.last().context("a line")?;
        ensure!(line.actor == actor && line.detail["code"] == wanted.code, "{what}: {line:?}");
        Ok(())
    }

    fn refuses_call(&self, what: &str, wanted: &Wanted<'_>, call: &Value) -> Result<()> {
        self.refuses(what, wanted, || self.engineer.post("/v1/messages", call))
    }
}

fn is_problem(answer: &Answer, wanted: &Wanted<'_>) -> Result<()> {
    ensure!(answer.status == wanted.status, "status: {answer:?}");
    ensure!(answer.kind == "application/problem+json", "media type: {answer:?}");
    let body = &answer.body;
    ensure!(body["ok"] == false && body["code"] == wanted.code, "code: {body}");
    ensure!(body["status"] == wanted.status && body["detail"] == body["error"], "RFC 9457's members: {body}");
    ensure!(body["type"].is_string() && body["title"].is_string(), "RFC 9457's members: {body}");
    ensure!(body["reason"].as_str() == wanted.reason, "reason: {body}");
    let (error, hint) = (body["error"].as_str().unwrap_or(""), body["hint"].as_str().unwrap_or(""));
    ensure!(!error.is_empty() && !hint.is_empty(), "error and hint: {body}");
    ensure!(error.contains(wanted.says) || hint.contains(wanted.says), "words: {body}");
    Ok(())
}

fn message() -> Value {
    json!({"to": "local:team", "message": "Hello"})
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_no_valid_token_or_the_wrong_role_is_refused() -> Result<()> {
    let mut endpoint = Endpoint::open().await?;
    let none = wanted(401, "unauthorized", None, "has no token");
    let wrong = wanted(401, "unauthorized", None, "not known");
    let nobody = endpoint.fixture.anybody(None)?;
    endpoint.refuses_for("nobody", "no token", &none, || nobody.post("/v1/messages", &message()))?;
    endpoint.refuses_for("nobody", "another scheme", &none, || {
        nobody.raw(
            "POST",
            "/v1/messages",
            &[("authorization", "Basic YTpi")],
            message().to_string().as_bytes(),
        )
    })?;
    let empty = endpoint.fixture.anybody(Some(""))?;
    endpoint.refuses_for("nobody", "an empty token", &none, || empty.post("/v1/messages", &message()))?;
    for token in ["gp_0000", &"0".repeat(5_000)] {
        let guesser = endpoint.fixture.anybody(Some(token))?;
        endpoint
            .refuses_for("nobody", "a wrong token", &wrong, || guesser.post("/v1/messages", &message()))?;
    }
    let ghost = endpoint.fixture.agent("ghost").await?;
    // The simple tool speaks in the words that agents of other houses know; the operator is told where to write it.
    let plain = "target \"local:team\" is not among this agent's allowed targets. Allowed: (none)";
    let known =
        "Target \"local:team\" is not in the personality's allowed messaging targets. Allowed: (none)";
    for of_what in ["the error", "the hint"] {
        for (door_is, path, call) in [
            ("HTTP", "/v1/messages", message()),
            ("the tool", "/v1/tools/message", message()),
            (
                "the simple tool",
                "/v1/tools/send_message",
                json!({"platform": "local", "target": "team", "body": "Hello"}),
            ),
        ] {
            let what = format!("{of_what} of an agent without a section, by {door_is}");
            let says = match (of_what, door_is) {
                ("the hint", _) => "[agents.ghost]",
                (_, "the simple tool") => known,
                _ => plain,
            };
            let nothing = wanted(400, "input_invalid", "not_allowed", says);
            endpoint.refuses_for("agent:ghost", &what, &nothing, || ghost.post(path, &call))?;
        }
    }

    let bridge = endpoint.fixture.bridge("porch").await?;
    let role = wanted(403, "forbidden", "role", "role");
    let inbound = json!({"agent": "engineer", "channel": "local", "peer": "ann"});
    endpoint.refuses_for("bridge:porch", "a bridge that sends", &role, || {
        bridge.post("/v1/messages", &message())
    })?;
    endpoint.refuses("an agent that reports", &role, || endpoint.engineer.post("/v1/inbound", &inbound))?;
    endpoint.refuses("an agent that reads the inbox of the house", &role, || {
        endpoint.engineer.get("/v1/local")
    })?;
    endpoint.refuses("an agent that makes tokens", &role, || {
        endpoint.engineer.post("/v1/agents", &json!({"name": "eve", "role": "operator"}))
    })?;

    let revoked = endpoint.fixture.operator()?.raw("DELETE", "/v1/agents/engineer", &[], &[])?;
    ensure!(revoked.status == 200, "{revoked:?}");
    endpoint.refuses_for("nobody", "a revoked token", &wrong, || {
        endpoint.engineer.post("/v1/messages", &message())
    })?;
    endpoint.fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_not_allowed_is_refused_with_those_that_are() -> Result<()> {
    let endpoint = Endpoint::open().await?;
    let words = "target \"local:boss\" is not among this agent's allowed targets. Allowed: local:team";
    let call = json!({"to": "local:boss", "message": "Hello"});
    endpoint.refuses_call("not allowed", &wanted(400, "input_invalid", "not_allowed", words), &call)?;
    let answer = endpoint.engineer.post("/v1/messages", &call)?;
    ensure!(answer.body["error"] == words, "{answer:?}");
    let context = endpoint.operator.heard("engineer", "boss")?;
    let call = json!({"to": "current", "message": "Hello", "context": context});
    endpoint.refuses_call(
        "not allowed though asked",
        &wanted(400, "input_invalid", "not_allowed", words),
        &call,
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_nobody_knows_is_refused() -> Result<()> {
    let mut endpoint = Endpoint::open().await?;
    let gardener = endpoint.fixture.agent("gardener").await?;
    let words = "there is no channel \"pigeon\"";
    let call = json!({"channel": "pigeon", "to": "ann", "message": "Hello"});
    endpoint.refuses_call("unknown", &wanted(422, "execution_failed", "no_account", words), &call)?;
    // What is configured is nobody's business who may not write there.
    let words = "target \"email:ann@hub.test\" is not among this agent's allowed targets";
    let call = json!({"to": "email:ann@hub.test", "message": "Hello"});
    endpoint.refuses_call(
        "known, not allowed and not configured",
        &wanted(400, "input_invalid", "not_allowed", words),
        &call,
    )?;
    let words = "there is no channel \"pigeon\"";
    let call = json!({"to": "pigeon:ann", "message": "Hello"});
    endpoint.refuses_call(
        "unknown in the target",
        &wanted(422, "execution_failed", "no_account", words),
        &call,
    )?;
    let call = json!({"to": "ann", "message": "Hello"});
    endpoint.refuses_call("no channel", &wanted(400, "input_invalid", "no_channel", "no channel"), &call)?;
    let meant = wanted(400, "input_invalid", "no_channel", "write it with its channel: local:ann");
    endpoint.refuses_for("agent:gardener", "no prefix", &meant, || gardener.post("/v1/messages", &call))?;
    let call = json!({"to": "coleagues", "message": "Hello"});
    let near = wanted(400, "input_invalid", "no_channel", "did you mean \"colleagues\"?");
    endpoint.refuses_call("a name of the book, misspelt", &near, &call)?;
    let call = json!({"to": "local:#team", "message": "Hello"});
    let named = wanted(400, "input_invalid", "bad_address", "what it is called is not looked up");
    endpoint.refuses_call("a channel's name", &named, &call)?;
    let call = json!({"to": "local:team", "accountId": "office", "message": "Hello"});
    endpoint.refuses_call(
        "no such account",
        &wanted(422, "execution_failed", "no_account", "no account \"office\""),
        &call,
    )?;
    let call = json!({"to": "local:not a name", "message": "Hello"});
    endpoint.refuses_call(
        "no address",
        &wanted(400, "input_invalid", "bad_address", "letters, digits"),
        &call,
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_no_call_is_refused() -> Result<()> {
    let endpoint = Endpoint::open().await?;
    let malformed = wanted(400, "input_invalid", "malformed_json", "not JSON");
    for (what, body) in [
        ("an empty body", &b""[..]),
        ("a body cut short", b"{\"to\": \"local:team\", \"message\": \"Hel"),
        ("no JSON at all", b"to=local:team&message=Hello"),
        ("a second value behind it", b"{\"to\": \"local:team\", \"message\": \"Hello\"} {}"),
        ("not UTF-8", b"{\"to\": \"local:team\", \"message\": \"\xff\xfe\"}"),
        ("half a surrogate pair", b"{\"to\": \"local:team\", \"message\": \"\\ud83e\"}"),
    ] {
        endpoint.refuses(what, &malformed, || endpoint.engineer.raw("POST", "/v1/messages", &[], body))?;
    }
    let twice = wanted(400, "input_invalid", "repeated_key", "the key \"to\" twice");
    for body in [
        &br#"{"to": "local:team", "message": "Hello", "to": "local:ann"}"#[..],
        br#"{"to": "local:team", "message": "Hello", "buttons": [[{"text": "x", "to": 1, "\u0074o": 2}]]}"#,
    ] {
        endpoint
            .refuses("a key twice", &twice, || endpoint.engineer.raw("POST", "/v1/messages", &[], body))?;
        let tool = "/v1/tools/message";
        endpoint.refuses("a key twice", &twice, || endpoint.engineer.raw("POST", tool, &[], body))?;
    }
    let deep = "[".repeat(100_000);
    endpoint.refuses("brackets without end", &malformed, || {
        endpoint.engineer.raw("POST", "/v1/messages", &[], deep.as_bytes())
    })?;

    let empty = wanted(400, "input_invalid", "missing", "\"message\" is missing or empty");
    let nowhere = wanted(400, "input_invalid", "missing", "\"to\" is missing or empty");
    endpoint.refuses_call("no members", &nowhere, &json!({}))?;
    endpoint.refuses_call("no text", &empty, &json!({"to": "local:team"}))?;
    endpoint.refuses_call("an empty text", &empty, &json!({"to": "local:team", "message": " \n"}))?;
    endpoint.refuses_call("no target", &nowhere, &json!({"message": "Hello"}))?;
    let unknown = wanted(400, "input_invalid", "unknown_parameter", "did you mean \"message\"?");
    endpoint.refuses_call(
        "a misspelt parameter",
        &unknown,
        &json!({"to": "local:team", "mesage": "Hello"}),
    )?;
    let both = wanted(400, "input_invalid", "contradictory", "differ");
    endpoint.refuses_call(
        "two texts",
        &both,
        &json!({"to": "local:team", "message": "yes", "body": "no"}),
    )?;
    let kind = wanted(400, "input_invalid", "wrong_type", "true or false");
    endpoint.refuses_call(
        "a wrong type",
        &kind,
        &json!({"to": "local:team", "message": "Hello", "silent": "no"}),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_would_show_nothing_fails_and_the_agent_is_told() -> Result<()> {
    let endpoint = Endpoint::open().await?;
    let call = json!({"to": "local:team", "message": "[x]: https://hub.test"});
    let failed = endpoint.engineer.send_and_wait(&call)?;
    ensure!(
        failed["ok"] == false && failed["state"] == "failed" && failed["code"] == "input_invalid",
        "{failed}"
    );
    ensure!(failed["error"] == "the message shows nothing", "{failed}");
    ensure!(
        failed["hint"].as_str().is_some_and(|hint| hint.contains("change it as the error says")),
        "{failed}"
    );
    let told = endpoint.engineer.told_of(failed["id"].as_str().context("an id")?)?;
    ensure!(told["state"] == "failed" && endpoint.fixture.arrived("team")?.is_empty(), "{told}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_its_bound_is_refused() -> Result<()> {
    let endpoint = Endpoint::open().await?;
    let text = json!({"to": "local:team", "message": "x".repeat(100 * 1024 + 1)});
    endpoint.refuses_call("a long text", &wanted(413, "too_large", None, "102400"), &text)?;
    let body = json!({"to": "local:team", "message": "x".repeat(300 * 1024)});
    endpoint.refuses_call("a long body", &wanted(413, "too_large", None, "max_body"), &body)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sends_on_after_the_answer_can_still_read_it() -> Result<()> {
    let endpoint = Endpoint::open().await?;
    let address = endpoint.engineer.base().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    write!(
        stream,
        "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: 900000\r\n\r\n",
        endpoint.engineer.token()
    )?;
    // Its answer is there long before the last of these.
    for _ in 0..9 {
        stream.write_all(&[b' '; 100_000]).context("it was cut off")?;
        thread::sleep(Duration::from_millis(50));
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("the answer was taken back")?;
    ensure!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    Ok(())
}

/// Its head comes first, as many clients send it, and the answer does not wait for the body.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_nobody_wants_costs_an_agent_no_connection_and_a_stranger_is_told_that_it_ends()
-> Result<()> {
    let endpoint = Endpoint::open().await?;
    let address = endpoint.engineer.base().trim_start_matches("http://").to_owned();
    let begin = |token: &str| -> Result<TcpStream> {
        let mut stream = TcpStream::connect(&address)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        write!(
            stream,
            "POST /v1/messages/m01/cancel HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: 2\r\n\r\n"
        )?;
        Ok(stream)
    };
    let answer = |stream: &mut TcpStream| -> Result<String> {
        let mut answer = vec![0; 8 * 1024];
        let read = stream.read(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer[..read]).to_lowercase())
    };
    let mut agent = begin(endpoint.engineer.token())?;
    thread::sleep(Duration::from_millis(100));
    agent.write_all(b"{}")?;
    let first = answer(&mut agent)?;
    ensure!(first.starts_with("http/1.1 404 ") && !first.contains("connection: close"), "{first}");
    write!(
        agent,
        "GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        endpoint.engineer.token()
    )?;
    let second = answer(&mut agent)?;
    ensure!(second.starts_with("http/1.1 200 "), "{second}");
    let refused = answer(&mut begin("gp_00")?)?;
    ensure!(refused.starts_with("http/1.1 401 ") && refused.contains("connection: close"), "{refused}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_is_not_the_agents_own_is_refused() -> Result<()> {
    let mut endpoint = Endpoint::open().await?;
    let gardener = endpoint.fixture.agent("gardener").await?;
    let call = |to: &str, context: &str| json!({"to": to, "message": "Hello", "context": context});
    let refusal = |says| wanted(403, "forbidden", "context", says);
    endpoint.refuses_call("invented", &refusal("not issued"), &call("current", "gpc_0000"))?;
    let of_gardener = endpoint.operator.heard("gardener", "team")?;
    endpoint.refuses_call("another agent's", &refusal("another agent"), &call("current", &of_gardener))?;
    endpoint.refuses_call(
        "another agent's, not needed",
        &refusal("another agent"),
        &call("local:team", &of_gardener),
    )?;

    let mine = endpoint.operator.heard("engineer", "team")?;
    let altered = mine.replace("gpc_", "gpc_0");
    endpoint.refuses_call("altered", &refusal("not issued"), &call("current", &altered))?;
    endpoint.fixture.write("UPDATE contexts SET expires_at = 1 WHERE agent = ?", "engineer").await?;
    endpoint.refuses_call("expired", &refusal("expired"), &call("current", &mine))?;
    let none = wanted(400, "input_invalid", "no_context", "needs a context");
    endpoint.refuses_call("none", &none, &json!({"to": "current", "message": "Hello"}))?;

    // It was the caller and not the context.
    let sent = gardener.send_and_wait(&call("current", &of_gardener))?;
    ensure!(sent["state"] == "sent", "{sent}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_a_bridge_gets_wrong_is_refused() -> Result<()> {
    let mut endpoint = Endpoint::open().await?;
    let bridge = endpoint.fixture.bridge("porch").await?;
    let report = |report: Value| bridge.post("/v1/inbound", &report);
    for (what, wanted, call) in [
        (
            "no such agent",
            wanted(400, "input_invalid", "unknown_agent", "\"eve\""),
            json!({"agent": "eve", "channel": "local", "peer": "ann"}),
        ),
        (
            "no such channel",
            wanted(422, "execution_failed", "no_account", "no account is set up on channel"),
            json!({"agent": "engineer", "channel": "pigeon", "peer": "ann"}),
        ),
        (
            "no such peer",
            wanted(400, "input_invalid", "bad_address", "not an address"),
            json!({"agent": "engineer", "channel": "local", "peer": "a b"}),
        ),
        (
            "no peer",
            wanted(400, "input_invalid", "wrong_shape", "peer"),
            json!({"agent": "engineer", "channel": "local"}),
        ),
        (
            "a misspelt member",
            wanted(400, "input_invalid", "wrong_shape", "sendr"),
            json!({"agent": "engineer", "channel": "local", "peer": "ann", "sendr": "x"}),
        ),
    ] {
        endpoint.refuses_for("bridge:porch", what, &wanted, || report(call))?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_stands_for_one_call() -> Result<()> {
    let endpoint = Endpoint::open().await?;
    let post = |key: &str, call: &Value| {
        endpoint.engineer.raw(
            "POST",
            "/v1/messages",
            &[("idempotency-key", key)],
            call.to_string().as_bytes(),
        )
    };
    let long = "k".repeat(201);
    endpoint.refuses("a key too long", &wanted(400, "input_invalid", "idempotency_key", "200"), || {
        post(&long, &message())
    })?;

    let first = post("monday", &message())?;
    ensure!(first.status == 202 && first.body["state"] == "held", "{first:?}");
    let again = post("monday", &json!({"message": "Hello", "to": "local:team"}))?;
    ensure!(again.body["id"] == first.body["id"], "{again:?} after {first:?}");
    let other = post("monday", &json!({"to": "local:team", "message": "Goodbye"}))?;
    is_problem(&other, &wanted(409, "conflict", None, "idempotency key"))?;
    ensure!(endpoint.operator.queue()?.len() == 1);
    let lines = endpoint.fixture.audit("call.refused")?;
    ensure!(lines.len() == 2 && lines[1].detail["code"] == "conflict", "{lines:?}");
    ensure!(endpoint.fixture.audit("message.accepted")?.len() == 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn another_agents_message_does_not_exist() -> Result<()> {
    let mut endpoint = Endpoint::open().await?;
    let gardener = endpoint.fixture.agent("gardener").await?;
    let held = gardener.send(&json!({"to": "local:team", "message": "Hello"}))?;
    let id = held["id"].as_str().context("an id")?;
    for (method, path) in
        [("GET", format!("/v1/messages/{id}")), ("POST", format!("/v1/messages/{id}/cancel"))]
    {
        let answer = endpoint.engineer.raw(method, &path, &[], &[])?;
        is_problem(&answer, &wanted(404, "not_found", None, "no such message"))?;
    }
    ensure!(endpoint.engineer.queue()?.is_empty() && gardener.queue()?.len() == 1);
    ensure!(gardener.message(id)?["state"] == "held");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_door_does_not_have_is_refused() -> Result<()> {
    let endpoint = Endpoint::open().await?;
    let nowhere = wanted(404, "not_found", None, "nothing at this path");
    is_problem(&endpoint.engineer.post("/v1/mesages", &message())?, &nowhere)?;
    is_problem(&endpoint.engineer.get("/v1")?, &nowhere)?;
    let method = wanted(405, "input_invalid", None, "does not take this method");
    is_problem(
        &endpoint.engineer.raw("PUT", "/v1/messages", &[], message().to_string().as_bytes())?,
        &method,
    )?;
    let refused = endpoint.engineer.get("/v1/inbound")?;
    is_problem(&refused, &method)?;
    // Where a caller can look who has nothing but the hub.
    let hint = text(&refused.body, "hint");
    ensure!(hint.contains("/openapi.json") && !hint.contains("docs/"), "{hint}");
    ensure!(endpoint.operator.queue()?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_path_or_method_leaves_a_line_in_the_audit_too() -> Result<()> {
    let endpoint = Endpoint::open().await?;
    let nowhere = wanted(404, "not_found", None, "nothing at this path");
    endpoint.refuses("a wrong path", &nowhere, || endpoint.engineer.post("/v1/mesages", &message()))?;
    let method = wanted(405, "input_invalid", None, "does not take this method");
    endpoint.refuses("a wrong method", &method, || endpoint.engineer.raw("PUT", "/v1/messages", &[], b"{}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn query_parameters_and_paths_that_cannot_be_read_are_problems_too() -> Result<()> {
    let endpoint = Endpoint::open().await?;
    let bad = |says| wanted(400, "input_invalid", None, says);
    let state = endpoint.engineer.get("/v1/messages?state=lost")?;
    is_problem(&state, &bad("no such state"))?;
    let body = message().to_string();
    for (method, path) in [
        ("GET", "/v1/messages?limit=many"),
        ("GET", "/v1/messages?limit=1001"),
        ("POST", "/v1/messages?wait=601"),
        ("GET", "/v1/inbox?after=yesterday"),
        ("POST", "/v1/messages?wait=soon"),
        ("GET", "/v1/messages/%ff"),
    ] {
        let sent = if method == "POST" { body.as_bytes() } else { b"" };
        let answer = endpoint.engineer.raw(method, path, &[], sent)?;
        ensure!(answer.status == 400 || answer.status == 404, "{method} {path}: {answer:?}");
        ensure!(answer.kind == "application/problem+json", "{method} {path}: {answer:?}");
        ensure!(answer.body["ok"] == false && answer.body["code"].is_string(), "{method} {path}: {answer:?}");
    }
    ensure!(endpoint.operator.queue()?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_key_that_a_call_does_not_know_is_refused_by_every_call() -> Result<()> {
    let endpoint = Endpoint::open().await?;
    let described = endpoint.operator.get("/openapi.json")?.body;
    let paths = described["paths"].as_object().context("paths")?;
    let mut looked_at = 0;
    for (path, calls) in paths {
        for (method, call) in calls.as_object().context("calls")? {
            // Platforms, and programs outside, may add what they like.
            if path.starts_with("/v1/platform/") || path.starts_with("/v1/hooks/") {
                continue;
            }
            let known = call["parameters"].as_array().cloned().unwrap_or_default();
            let known: Vec<&str> = known
                .iter()
                .filter(|parameter| parameter["in"] == "query")
                .filter_map(|parameter| parameter["name"].as_str())
                .collect();
            let at = format!("{}?limt=5", path.replace(['{', '}'], "").replace("/which", "/nobody"));
            let headers = [("gatepost-as-operator", "true"), ("content-type", "application/json")];
            let is_agents = path == "/v1/reply" || path.ends_with("/more") || path.ends_with("/end");
            let role = if is_agents { &endpoint.engineer } else { &endpoint.operator };
            let answer = role.raw(&method.to_uppercase(), &at, &headers, b"{}")?;
            ensure!(answer.status == 400 && answer.body["reason"] == "query", "{method} {at}: {answer:?}");
            ensure!(text(&answer.body, "error").contains("\"limt\""), "{method} {at}: {answer:?}");
            let hint = text(&answer.body, "hint");
            ensure!(known.iter().all(|key| hint.contains(key)), "{method} {at}: {hint}, not {known:?}");
            looked_at += 1;
        }
    }
    ensure!(looked_at > 20, "{looked_at}");
    // A misspelt bound lets go of nothing.
    let purge = endpoint.operator.raw("POST", "/v1/purge?state=sent&oldrThan=3600", &[], b"")?;
    ensure!(purge.status == 400 && text(&purge.body, "error").contains("olderThan"), "{purge:?}");
    let anybody = endpoint.fixture.anybody(None)?.get("/v1/messages?limt=5")?;
    ensure!(anybody.status == 401, "{anybody:?}");
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        let probe = endpoint.fixture.anybody(None)?;
        ensure!(probe.get(path)?.status == 200 && probe.get(&format!("{path}?"))?.status == 200, "{path}");
        let refused = probe.get(&format!("{path}?probe=1"))?;
        ensure!(refused.status == 400 && refused.body["reason"] == "query", "{path}: {refused:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_does_not_saw_off_the_branch_it_sits_on() -> Result<()> {
    let endpoint = Endpoint::open().await?;
    let own = endpoint.operator.raw("DELETE", "/v1/agents/operator", &[], &[])?;
    is_problem(&own, &wanted(409, "conflict", None, "the token that the call is made with"))?;
    ensure!(endpoint.operator.queue()?.is_empty(), "its token still counts");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_nothing_is_refused_and_the_hub_goes_on() -> Result<()> {
    let endpoint = Endpoint::open().await?;
    let empty = wanted(400, "input_invalid", "file", "attach another file");
    endpoint.refuses("an empty file", &empty, || endpoint.engineer.raw("POST", "/v1/files", &[], &[]))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_wrong_attachment_refuses_a_direct_call_in_whole() -> Result<()> {
    let endpoint = Endpoint::open().await?;
    let before = endpoint.engineer.queue()?.len();
    let files = json!([{"base64": "aGk=", "name": "a.txt"}, {"base64": "?", "name": "b.txt"}]);
    let mut call = json!({"to": "local:team", "message": "Hello", "attachments": files});
    let refused = endpoint.engineer.post("/v1/messages", &call)?;
    ensure!(refused.status == 400 && refused.body["ok"] == false, "{refused:?}");
    ensure!(text(&refused.body, "error").contains("is not base64"), "{refused:?}");
    ensure!(endpoint.engineer.queue()?.len() == before, "something of it was accepted");
    // The caller has its text still, and sends it without the file.
    call["attachments"] = json!([]);
    ensure!(endpoint.engineer.send(&call)?["ok"] == true);
    Ok(())
}
