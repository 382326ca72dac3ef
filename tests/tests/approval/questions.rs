//! Questions: a person says yes or no on a companion, and nothing happens but the answer.

use std::{fs, process::Command, thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use gatepost::random::to_hex;
use gatepost_companion::View;
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{
        TestHub,
        client::text,
        eventually,
        program::{Ended, gatepost, program},
    },
    main_job::CONFIG,
};
use serde_json::{Value, json};

/// `gatepost ask` as the agent `engineer`, on a thread of its own.
fn ask(fixture: &TestHub, token: &str, rest: &[&str]) -> Result<thread::JoinHandle<Result<Ended>>> {
    let hub = format!("http://{}", fixture.hub()?.address());
    let (token, arguments) = (token.to_owned(), [&["ask"], rest].concat());
    let arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
    let environment =
        move || gatepost(&arguments, b"", &[("GATEPOST_HUB", &hub), ("GATEPOST_TOKEN", &token)]);
    Ok(thread::spawn(environment))
}

fn ended(asking: thread::JoinHandle<Result<Ended>>) -> Result<Ended> {
    asking.join().ok().context("it panicked")?
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_asks_a_person_reads_the_question_and_the_answer_is_signed() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    fixture.listed_as_able("test", true)?;
    let asked = agent.post("/v1/questions", &json!({"question": "Deploy **2.4** to the shop?"}))?;
    ensure!(asked.status == 202 && asked.body["state"] == "waiting", "{asked:?}");
    let id = text(&asked.body, "id").to_owned();
    ensure!(asked.body["deadline"].is_string() && asked.body["asked"]["able"] == 1, "{asked:?}");
    let seen = fixture.decide(Verdict::Approve).await?;
    let read = format!("{seen:?}");
    ensure!(read.contains("Deploy 2.4 to the shop?") && read.contains("engineer"), "{read}");
    let answered = agent.get(&format!("/v1/questions/{id}?wait=20"))?;
    ensure!(answered.status == 200 && answered.body["state"] == "approved", "{answered:?}");
    ensure!(answered.body["decided_by_software"] == true, "{answered:?}");
    // It was no message to anybody, and another agent cannot see it.
    ensure!(fixture.arrived("team")?.is_empty() && fixture.arrived("owner")?.is_empty());
    let stranger = fixture.agent("stranger").await?;
    ensure!(stranger.get(&format!("/v1/questions/{id}"))?.status == 404);

    // Once it is answered, the same words are another question.
    let again = json!({"question": "Deploy **2.4** to the shop?", "wait": 0});
    let (no, same) = (agent.post("/v1/questions", &again)?.body, agent.post("/v1/questions", &again)?.body);
    ensure!(no["state"] == "waiting" && no["id"] != id && same["id"] == no["id"], "{no} {same}");
    ensure!(no["deduplicated"].is_null() && same["deduplicated"] == true, "{no} {same}");
    let no = text(&no, "id").to_owned();
    fixture.decide(Verdict::Deny).await?;
    let answered = agent.tool("receipt", &json!({"id": no, "wait": 20}))?;
    ensure!(answered["ok"] == true && answered["state"] == "denied", "{answered}");
    ensure!(text(&answered, "hint").contains("do not ask the same again"), "{answered}");
    fixture.audit_is_whole().await?;
    proves_itself(&fixture, &[(&id, "approve", "approved"), (&no, "deny", "denied")])
}

/// Others verify the answer: this program without a hub, and OpenSSL without this program.
fn proves_itself(fixture: &TestHub, answers: &[(&str, &str, &str)]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = fixture.folder().path().join("prove.toml");
    fs::write(&config, format!("[hub]\ndata_dir = {:?}\n", fixture.data_dir()))?;
    let config = config.to_str().context("UTF-8")?;
    let key = to_hex(&fixture.hub()?.key().0);
    for (id, verdict, word) in answers {
        let proof = gatepost(&["--config", config, "audit", "prove", id], b"", &[])?.well()?;
        let file = folder.path().join(format!("{id}.json"));
        fs::write(&file, &proof)?;
        let file = file.to_str().context("UTF-8")?;
        let checked = gatepost(&["audit", "check", file, "--key", &key, "--json"], b"", &[])?.json()?;
        ensure!(checked["verdict"] == *word && checked["agent"] == "engineer", "{checked}");
        ensure!(checked["to"] == json!(["person:owner"]) && checked["action"] == "ask", "{checked}");
        let other = gatepost(&["audit", "check", file, "--key", &"0".repeat(64)], b"", &[])?;
        ensure!(other.status == 1 && other.stderr.contains("it is of another hub"), "{other:?}");
        let proof: Value = serde_json::from_str(&proof)?;
        let decision = &proof["decisions"][0];
        ensure!(
            decision["verdict"] == *verdict && decision["device"] == to_hex(&fixture.device().0),
            "{decision}"
        );
        ensure!(openssl_verifies(folder.path(), decision)?, "{decision}");
        let mut forged = decision.clone();
        forged["signed"] = text(decision, "signed").replacen('0', "1", 1).into();
        ensure!(!openssl_verifies(folder.path(), &forged)?, "{forged}");
    }
    Ok(())
}

fn openssl_verifies(folder: &std::path::Path, decision: &Value) -> Result<bool> {
    // SubjectPublicKeyInfo of an Ed25519 key, before the key itself (RFC 8410, 10.1).
    let spki = format!("302a300506032b6570032100{}", text(decision, "device"));
    for (name, hex) in [
        ("key", spki.as_str()),
        ("signed", text(decision, "signed")),
        ("signature", text(decision, "signature")),
    ] {
        let bytes: Result<Vec<u8>, _> =
            (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16)).collect();
        fs::write(folder.join(name), bytes?)?;
    }
    let verify = ["pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", "key", "-rawin"];
    let verified = Command::new("openssl")
        .args(verify)
        .args(["-in", "signed", "-sigfile", "signature"])
        .current_dir(folder)
        .output()?;
    Ok(verified.status.success())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_is_told_by_the_exit_status_and_without_a_yes_it_does_nothing() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let token = fixture.agent("engineer").await?.token().to_owned();
    for (verdict, status, word) in [(Verdict::Approve, 0, "approved"), (Verdict::Deny, 6, "denied")] {
        let asking = ask(&fixture, &token, &[&format!("Deploy {word}?"), "--ttl", "5m"])?;
        fixture.decide(verdict).await?;
        let ended = ended(asking)?;
        ensure!(ended.status == status && ended.stdout.contains(word), "{ended:?}");
        ensure!(ended.stderr.contains("waits until"), "{ended:?}");
    }
    let expired = ended(ask(&fixture, &token, &["Quickly?", "--ttl", "1s", "--json"])?)?;
    let told: Value = serde_json::from_str(&expired.stdout)?;
    ensure!(expired.status == 7 && told["state"] == "expired", "{expired:?}");
    let id = text(&told, "id");
    let config = fixture.folder().path().join("prove.toml");
    fs::write(&config, format!("[hub]\ndata_dir = {:?}\n", fixture.data_dir()))?;
    let unproved =
        gatepost(&["--config", config.to_str().context("UTF-8")?, "audit", "prove", id], b"", &[])?;
    ensure!(unproved.status == 5 && unproved.stderr.contains("nobody has decided"), "{unproved:?}");

    let left = ended(ask(&fixture, &token, &["Later?", "--no-wait", "--json"])?)?;
    ensure!(left.status == 3, "{left:?}");
    let left = serde_json::from_str::<Value>(&left.stdout)?;
    fixture.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    fixture.cli(&["queue", "cancel", text(&left, "id")])?.well()?;
    let unusable = ended(ask(&fixture, &token, &[" "])?)?;
    ensure!(unusable.status == 1 && unusable.stderr.contains("yes or no"), "{unusable:?}");
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_interrupted_takes_the_question_back() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let hub = format!("http://{}", fixture.hub()?.address());
    let mut asking = Command::new(program()?)
        .args(["ask", "Still there?"])
        .envs([("GATEPOST_HUB", hub.as_str()), ("GATEPOST_TOKEN", agent.token())])
        .spawn()?;
    fixture.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    let pid = rustix::process::Pid::from_child(&asking);
    rustix::process::kill_process(pid, rustix::process::Signal::INT)?;
    let status = eventually("it ends", || Ok(asking.try_wait()?))?;
    ensure!(status.code() == Some(7), "{status}");
    let queue = agent.queue()?;
    ensure!(queue.len() == 1 && queue[0]["state"] == "cancelled", "{queue:?}");
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_counts_among_the_cards_survives_a_restart_and_lets_no_message_go() -> Result<()> {
    let config = CONFIG.replace("[approval]", "[approval]\ncards_per_hour = 1");
    let mut fixture = TestHub::start(&config).await?;
    let agent = fixture.agent("engineer").await?;
    let key = [("idempotency-key", "monday")];
    let post = |question: &str, agent: &gatepost_tests::hub::Client| {
        agent.raw("POST", "/v1/questions", &key, json!({"question": question}).to_string().as_bytes())
    };
    let first = post("First?", &agent)?.body;
    ensure!(post("First?", &agent)?.body["id"] == first["id"], "it was asked twice");
    ensure!(post("Another?", &agent)?.status == 409);
    let later = agent.post("/v1/questions", &json!({"question": "Second?"}))?.body;
    ensure!(later["state"] == "waiting" && later["code"] == "rate_limited", "{later}");
    let message = agent.send(&json!({"to": "local:team", "message": "First?"}))?;
    ensure!(message["state"] == "held" && message["code"] == "rate_limited", "{message}");

    fixture.restart().await?;
    let agent = fixture.agent("engineer").await?;
    fixture.decide(Verdict::Approve).await?;
    let answered = agent.get(&format!("/v1/questions/{}?wait=20", text(&first, "id")))?;
    ensure!(answered.body["state"] == "approved", "{answered:?}");
    ensure!(agent.message(text(&message, "id"))?["state"] == "held", "an answer let a message go");
    ensure!(agent.get(&format!("/v1/questions/{}", text(&message, "id")))?.status == 404);
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_a_question_goes_to_a_person_and_no_entry_is_needed_for_one() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    for (to, status) in [("person:owner", 422), ("owner", 400)] {
        let refused = agent.post("/v1/messages", &json!({"to": to, "message": "Deploy?"}))?;
        ensure!(refused.status == status, "{to}: {refused:?}");
    }
    let refused =
        agent.post("/v1/messages", &json!({"action": "ask", "to": "local:team", "message": "x"}))?;
    ensure!(refused.status == 400 && refused.body["reason"] == "unknown_action", "{refused:?}");
    for (question, reason) in [
        (json!({}), "wrong_shape"),
        (json!({"question": ""}), "missing"),
        (json!({"question": "x", "ttl_seconds": 0}), "ttl_seconds"),
        (json!({"question": "x", "to": "local:team"}), "wrong_shape"),
        (json!({"question": "x", "wait": 601}), "query"),
    ] {
        let refused = agent.post("/v1/questions", &question)?;
        ensure!(refused.status == 400 && refused.body["reason"] == reason, "{question}: {refused:?}");
    }
    let long = agent.post("/v1/questions", &json!({"question": "x".repeat(5_000)}))?;
    ensure!(long.status == 200 && long.body["state"] == "failed", "{long:?}");
    ensure!(text(&long.body, "reason").contains("a companion shows at most"), "{long:?}");
    let context = agent.post("/v1/questions", &json!({"question": "x", "context": "nobody's"}))?;
    ensure!(context.status == 403, "{context:?}");

    // An agent without a section asks, and no person reads what it did not ask.
    let other = fixture.agent("unconfigured").await?;
    let asked = other.tool("ask_person", &json!({"question": "May I?\u{202e}", "wait": 0}))?;
    ensure!(asked["state"] == "waiting", "{asked}");
    fixture.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    thread::sleep(Duration::from_millis(50));
    fixture.decide(Verdict::Approve).await?;
    ensure!(other.tool("receipt", &json!({"id": asked["id"], "wait": 20}))?["state"] == "approved");
    fixture.audit_is_whole().await
}
