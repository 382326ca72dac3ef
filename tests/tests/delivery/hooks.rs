//! The owner's programs on the way of a message: asked once, obeyed, and never skipped.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    path::Path,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{Client, SpawnedHub, TestHub, agents, client::text, eventually},
    main_job::{self, CONFIG},
};
use rusqlite::Connection;
use serde_json::{Value, json};

/// A hook that is a line of shell.
fn hook(name: &str, on: &str, script: &str) -> String {
    format!("[hooks.{name}]\non = \"{on}\"\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n")
}

fn sending(name: &str, script: &str) -> String {
    hook(name, "message_sending", script)
}

const PASS: &str = r#"echo "{\"action\": \"pass\"}""#;

/// What it adds to a text.
fn adds(word: &str) -> String {
    format!(
        r#"sed -E "s/.*\"message\":\"([^\"]*)\".*/{{\"action\": \"rewrite\", \"message\": \"\1 {word}\"}}/""#
    )
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_hooks_make_of_a_message_is_what_is_stored_shown_and_sent() -> Result<()> {
    let config =
        format!("{CONFIG}\n{}{}", sending("20-b", &adds("Second.")), sending("10-a", &adds("First.")));
    let mut fixture = TestHub::start(&config).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Written."}))?;
    ensure!(held["state"] == "held", "{held}");
    let message = agent.message(text(&held, "id"))?;
    ensure!(message["message"] == "Written. First. Second." && message["written"] == "Written.", "{message}");
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let arrived = main_job::arrived_as_shown(&fixture, &sent, &seen, "team")?;
    ensure!(arrived == ["[engineer] Written. First. Second."], "{arrived:?}");
    let hooked = fixture.audit("message.hooked")?;
    ensure!(
        hooked.len() == 1
            && hooked[0].detail["hooks"] == json!(["10-a", "20-b"])
            && hooked[0].detail["rewritten"] == true
            && hooked[0].detail["content"].as_str().is_some_and(|hash| hash.len() == 64),
        "{hooked:?}"
    );
    let depth: i64 = fixture.database()?.query_row("SELECT bytes FROM depth", [], |row| row.get(0))?;
    ensure!(depth == 0, "{depth} bytes are counted that are not there");
    fixture.audit_is_whole().await
}

/// Sends a message that its hook must stop; how it ended.
fn stopped(agent: &Client, hub: &SpawnedHub, message: &str, code: &str, why: &str) -> Result<()> {
    let ended = agent.send_and_wait(&json!({"to": "local:team", "message": message}))?;
    ensure!(ended["state"] == "failed" && ended["code"] == code, "{ended}");
    ensure!(text(&ended, "error").contains(why), "{ended}");
    ensure!(agent.told_of(text(&ended, "id"))?["error"] == ended["error"]);
    ensure!(hub.operator()?.arrived("team")?.is_empty(), "it was sent");
    Ok(())
}

#[test]
fn a_hook_cancels_and_the_agent_is_told_why() -> Result<()> {
    let cancels = r#"if grep -q forbidden; then echo "{\"action\": \"cancel\", \"reason\": \"we do not say that\"}"; else echo "{\"action\": \"pass\"}"; fi"#;
    let builtin = "[hooks.secrets]\non = \"message_sending\"\nbuiltin = \"secrets\"\n";
    let hub = SpawnedHub::start(&agents(&format!("{}{builtin}", sending("polite", cancels))))?;
    let agent = hub.agent("courier")?;
    stopped(
        &agent,
        &hub,
        "A forbidden word.",
        "forbidden",
        "the hook polite cancelled it: we do not say that",
    )?;
    let leak = format!("My token is {}.", agent.token());
    stopped(
        &agent,
        &hub,
        &leak,
        "forbidden",
        "the hook secrets cancelled it: there is a token of the hub in it",
    )?;
    let dry = agent.send(&json!({"to": "local:team", "message": "x", "dryRun": true}))?;
    ensure!(dry["hooks_not_asked"] == json!(["polite", "secrets"]), "{dry}");
    let sent = agent.send_and_wait(&json!({"to": "local:team", "message": "Something else."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    Ok(())
}

#[test]
fn a_hook_that_takes_too_long_fails_breaks_or_babbles_fails_its_message() -> Result<()> {
    let script = r#"case $(cat) in
        *late*) sleep 60;;
        *broken*) exit 7;;
        *garbage*) echo "sure, send it";;
        *mute*) ;;
        *babble*) exec yes;;
        *) echo "{\"action\": \"pass\"}";;
    esac"#;
    let hub = SpawnedHub::start(&agents(&format!("{}timeout = \"2s\"\n", sending("h", script))))?;
    let agent = hub.agent("courier")?;
    for (message, why) in [
        ("late", "the hook h failed, and nothing was sent: it did not answer within 2 s"),
        ("broken", "it ended with exit status: 7"),
        ("garbage", "its answer is not"),
        ("mute", "its answer is not"),
        ("babble", "it answered with more than"),
    ] {
        stopped(&agent, &hub, message, "execution_failed", why)?;
    }
    let sent = agent.send_and_wait(&json!({"to": "local:team", "message": "Well."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    Ok(())
}

#[test]
fn a_hook_is_asked_again_only_if_its_answer_was_not_stored() -> Result<()> {
    let folder = std::sync::Arc::new(tempfile::tempdir()?);
    let (calls, go) = (folder.path().join("calls"), folder.path().join("go"));
    let script = format!(
        "echo $GATEPOST_MESSAGE_ID >> {}; while [ ! -e {} ]; do sleep 0.05; done; {}",
        calls.display(),
        go.display(),
        adds("Once.")
    );
    let mut hub =
        SpawnedHub::at_rest(folder, &agents(&format!("{}timeout = \"60s\"\n", sending("h", &script))))?;
    hub.run()?;
    let (courier, engineer) = (hub.agent("courier")?, hub.agent("engineer")?);
    let accepted = courier.send(&json!({"to": "local:team", "message": "Hello."}))?;
    let id = text(&accepted, "id").to_owned();
    ensure!(accepted["state"] == "accepted", "{accepted}");
    ensure!(lines(&calls) == [id.clone()], "{:?}", lines(&calls));
    // In the midst of the hook: nothing is stored, and it is asked once more, under the same id.
    hub.kill()?;
    hub.run()?;
    eventually("it is asked again", || Ok((lines(&calls) == [id.clone(), id.clone()]).then_some(())))?;
    fs::write(&go, "")?;
    courier.ended(&id, "sent")?;

    let held = engineer.send(&json!({"to": "local:team", "message": "Held."}))?;
    let id = text(&held, "id").to_owned();
    ensure!(held["state"] == "held" && lines(&calls).len() == 3, "{held}");
    hub.kill()?;
    // As a crash right after its answer was stored leaves it.
    let db = Connection::open(hub.data_dir().join("gatepost.db"))?;
    db.execute_batch("DELETE FROM approvals; DELETE FROM parts WHERE state = 'planned'")?;
    ensure!(db.execute("UPDATE messages SET state = 'accepted' WHERE state = 'held'", [])? == 1);
    drop(db);
    hub.run()?;
    let again = engineer.until(&id, "held")?;
    ensure!(again["message"] == "Held. Once." && again["written"] == "Held.", "{again}");
    ensure!(lines(&calls).len() == 3, "{:?}", lines(&calls));
    let arrived = hub.operator()?.arrived("team")?;
    ensure!(arrived.len() == 1 && arrived[0]["text"] == "Hello. Once.", "{arrived:?}");
    Ok(())
}

#[test]
fn a_slow_hook_lets_no_later_message_to_the_same_conversation_pass() -> Result<()> {
    let script = format!("case $(cat) in *slow*) sleep 2;; esac; {PASS}");
    let hub = SpawnedHub::start(&agents(&sending("h", &script)))?;
    let agent = hub.agent("courier")?;
    let first = agent.clone();
    let first = thread::spawn(move || first.send_and_wait(&json!({"to": "local:team", "message": "slow"})));
    eventually("the first is accepted", || Ok((!agent.queue()?.is_empty()).then_some(())))?;
    // Another conversation does not wait.
    let other = agent.send_and_wait(&json!({"to": "local:ann", "message": "other"}))?;
    ensure!(
        other["state"] == "sent" && agent.queue()?.iter().any(|message| message["state"] == "accepted"),
        "{other}"
    );
    agent.send_and_wait(&json!({"to": "local:team", "message": "second"}))?;
    first.join().expect("it does not panic")?;
    let arrived = hub.operator()?.arrived("team")?;
    let texts: Vec<&str> = arrived.iter().map(|part| text(part, "text")).collect();
    ensure!(texts == ["slow", "second"], "{texts:?}");
    Ok(())
}

#[test]
fn what_ended_is_told_in_order_once_and_not_forgotten_over_a_restart() -> Result<()> {
    let folder = std::sync::Arc::new(tempfile::tempdir()?);
    let (told, asked) = (folder.path().join("told"), folder.path().join("asked"));
    let hooks = [
        sending("cancel", &format!("if grep -q \"A bad one\"; then echo \"{{\\\"action\\\": \\\"cancel\\\", \\\"reason\\\": \\\"bad\\\"}}\"; else {PASS}; fi")),
        hook("breaks", "message_sent", &format!("echo x >> {}; exit 1", asked.display())),
        // In one write: a line that is there is whole.
        hook("tell", "message_sent", &format!("printf '%s\\n' \"$(cat)\" >> {}", told.display())),
    ]
    .concat();
    let mut hub = SpawnedHub::at_rest(folder, &agents(&hooks))?;
    hub.run()?;
    let agent = hub.agent("courier")?;
    let send = |message: &str| agent.send_and_wait(&json!({"to": "local:team", "message": message}));
    let (one, two) = (send("One.")?, send("A bad one.")?);
    let heard = |n: usize| {
        eventually("the hook is told", || Ok(Some(lines(&told)).filter(|told| told.len() >= n)))?
            .iter()
            .map(|line| Ok(serde_json::from_str(line)?))
            .collect::<Result<Vec<Value>>>()
    };
    heard(2)?;
    // Until the hub has seen that the hook has ended: one that it stops with itself is asked again.
    thread::sleep(Duration::from_secs(1));
    hub.terminate()?;
    hub.run()?;
    let three = send("Three.")?;
    let heard = heard(3)?;
    ensure!(heard.len() == 3, "{heard:#?}");
    for (told, (ended, state)) in heard.iter().zip([(&one, "sent"), (&two, "failed"), (&three, "sent")]) {
        ensure!(
            told["hook"] == "message_sent" && told["id"] == ended["id"] && told["state"] == state,
            "{told}"
        );
        ensure!(told["ok"] == (state == "sent") && told["error"] == ended["error"], "{told}");
    }
    ensure!(heard[0]["parts"][0]["platform_id"].is_string(), "{:?}", heard[0]);
    ensure!(lines(&asked).len() == 3, "a hook that fails is asked about each once: {:?}", lines(&asked));
    let failed = hub.cli(&["audit", "show", "--json"])?.json()?;
    let failed =
        failed.as_array().context("rows")?.iter().filter(|row| row["event"] == "hook.failed").count();
    ensure!(failed == 3, "{failed}");
    Ok(())
}

/// A service that answers each request with the next of `answers`; what it was sent.
fn service(answers: Vec<String>) -> Result<(u16, thread::JoinHandle<Result<Vec<String>>>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let serving = thread::spawn(move || {
        let mut requests = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept()?;
            stream.set_read_timeout(Some(Duration::from_secs(30)))?;
            let (mut reader, mut request, mut length) =
                (BufReader::new(stream.try_clone()?), String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line)?;
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse()?;
                }
                request += &line;
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body)?;
            requests.push(request + &String::from_utf8(body)?);
            stream.write_all(answer.as_bytes())?;
        }
        Ok(requests)
    });
    Ok((port, serving))
}

fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}", body.len())
}

#[test]
fn a_hook_that_is_a_service_is_told_the_id_and_nothing_but_its_answer_counts() -> Result<()> {
    let rewrite = r#"{"action": "rewrite", "message": "From the service."}"#;
    let (port, serving) = service(vec![
        http("200 OK", "", rewrite),
        http("500 Internal Server Error", "", rewrite),
        // Somewhere else is not where the owner wants its messages to go.
        http("307 Temporary Redirect", "location: http://127.0.0.1:1/\r\n", ""),
        http("204 No Content", "", ""),
        "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"action\"".into(),
    ])?;
    let folder = std::sync::Arc::new(tempfile::tempdir()?);
    let token = folder.path().join("token");
    fs::write(&token, "a-token-for-the-hook\n")?;
    let hook = format!(
        "[hooks.h]\non = \"message_sending\"\nurl = \"http://127.0.0.1:{port}/hook\"\ntoken = \"file:{}\"\ntimeout = \"5s\"\n",
        token.display()
    );
    let mut hub = SpawnedHub::at_rest(folder, &agents(&hook))?;
    hub.run()?;
    let agent = hub.agent("courier")?;
    let sent = agent.send_and_wait(&json!({"to": "local:ann", "message": "Hi."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    ensure!(hub.operator()?.arrived("ann")?[0]["text"] == "From the service.");
    for why in ["HTTP status 500", "HTTP status 307", "HTTP status 204", "it cannot be reached"] {
        stopped(&agent, &hub, "Hi.", "execution_failed", why)?;
    }
    let requests = serving.join().expect("it does not panic")?;
    let first = requests[0].to_lowercase();
    let key = format!("idempotency-key: {}", text(&sent, "id"));
    ensure!(first.contains(&key) && first.contains("authorization: bearer a-token-for-the-hook"), "{first}");
    ensure!(first.contains("\"message\":\"hi.\""), "{first}");
    // It is gone by now.
    stopped(&agent, &hub, "Hi.", "execution_failed", "it cannot be reached")
}
