//! A voice: words become a recording that others can play, after the text and before the files; and one that cannot be had
//! loses no word.
//!
//! Installed by `tests/run --setup-only`: espeak-ng, opus-tools, Telegram's parser.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, ensure};
use gatepost_link::{Digest, decision::Verdict, document::Document};
use gatepost_tests::{
    hub::{Client, TestHub, client::text, secret},
    main_job,
    mocks::{Answer, MockServer},
    peers::Mock,
};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:*", "ntfy:*"]

[agents.free]
allow = ["local:*"]
cross_context = "allow"
decorate = false

[approval]
allow_software_companion = true

[channels.local.home]
"#;

fn hand_in(agent: &Client, context: &str, response: &Value) -> Result<Value> {
    let answer = agent.post("/v1/reply", &json!({"context": context, "response": response}))?.taken()?;
    for sent in answer["sent"].as_array().context("what was sent")? {
        agent.ended(text(sent, "id"), "sent")?;
    }
    Ok(answer)
}

/// What `opusinfo` says of a file in the hub's folder: somebody else's judgement of what the hub calls a recording.
fn opusinfo(fixture: &TestHub, attachment: &Value) -> Result<String> {
    let file = fixture.data_dir().join("files").join(text(attachment, "sha256"));
    let told = Command::new("opusinfo").arg(&file).output().context("opusinfo; tests/run installs it")?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    ensure!(!told.contains("WARNING") && told.contains("type opus"), "{told}");
    Ok(told)
}

/// A recording of somebody else's, made by the real programs without the hub.
fn recording(folder: &Path) -> Result<Vec<u8>> {
    let (wave, opus) = (folder.join("a.wav"), folder.join("a.opus"));
    ensure!(
        Command::new("espeak-ng").arg("-w").args([&wave]).arg("Somebody else speaks.").status()?.success()
    );
    ensure!(Command::new("opusenc").arg("--quiet").args([&wave, &opus]).status()?.success());
    Ok(fs::read(opus)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_spoken_after_its_text_and_before_its_files() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("free").await?;
    let context = fixture.bridge("porch").await?.heard("free", "ann")?;
    let hostile = "Die Prüfung ist grün; $(touch /tmp/x) \"--help\" -v | [[x]] <speak>";
    let response = json!({
        "text": "The build is **green**.", "voiceRequested": true, "voiceText": hostile,
        "attachments": [{"base64": "aGVsbG8=", "name": "log.txt"}],
    });
    let answer = hand_in(&agent, &context, &response)?;
    ensure!(answer["ok"] == true && answer["voice"].is_null(), "{answer}");
    let arrived = fixture.operator()?.arrived("ann")?;
    ensure!(arrived.len() == 3 && arrived[0]["text"] == "The build is green.", "{arrived:?}");
    let voice = &arrived[1]["attachment"];
    ensure!(
        voice["voice"] == true && voice["kind"] == "audio/ogg" && voice["name"] == "voice.ogg",
        "{voice}"
    );
    ensure!(voice["spoken"] == hostile && arrived[2]["attachment"]["name"] == "log.txt", "{arrived:?}");
    let told = opusinfo(&fixture, voice)?;
    ensure!(told.contains("Channels: 1") && !told.contains("Playback length: 0m:00"), "{told}");

    // Without words of its own the text is spoken, and a voice alone needs no text.
    hand_in(&agent, &context, &json!({"text": "All is **well**.", "voiceRequested": true}))?;
    hand_in(&agent, &context, &json!({"voiceRequested": true, "voiceText": "Only spoken."}))?;
    let arrived = fixture.operator()?.arrived("ann")?;
    ensure!(arrived.len() == 6, "{arrived:?}");
    ensure!(arrived[3]["text"] == "All is well." && arrived[4]["attachment"]["spoken"] == "All is well.");
    ensure!(arrived[5]["text"] == "" && arrived[5]["attachment"]["spoken"] == "Only spoken.", "{arrived:?}");
    // The same words are the same recording.
    hand_in(
        &agent,
        &context,
        &json!({"text": "Again.", "voiceRequested": true, "voiceText": "Only spoken."}),
    )?;
    let again = fixture.operator()?.arrived("ann")?;
    ensure!(again[7]["attachment"]["sha256"] == arrived[5]["attachment"]["sha256"], "{again:?}");
    // What was said is in the transcript, spoken or written.
    let said = agent.get("/v1/transcript")?.taken()?;
    ensure!(said.to_string().contains("[it says] Only spoken."), "{said}");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voice_that_fails_loses_no_word_and_says_why() -> Result<()> {
    for (voice, why) in [
        ("enabled = false", "no voice is set up"),
        ("command = [\"/bin/sh\", \"-c\", \"echo no >&2; exit 3\"]", "ended with exit status: 3"),
        ("command = [\"/nonexistent/voice\"]", "cannot be run"),
        ("command = [\"/bin/cat\"]", "no recording"),
        ("command = [\"/bin/sleep\", \"60\"]\ntimeout = \"1s\"", "not spoken within 1 s"),
        ("max_text = 5", "at most 5 are spoken"),
        ("url = \"http://127.0.0.1:1/v1\"", "cannot be reached"),
    ] {
        let mut fixture = TestHub::start(&format!("{CONFIG}\n[voice]\n{voice}\n")).await?;
        let agent = fixture.agent("free").await?;
        let context = fixture.bridge("porch").await?.heard("free", "ann")?;
        let both = json!({
            "text": "Written.", "voiceRequested": true, "voiceText": "Only spoken.", "attachments": [{"base64": "aGk="}],
        });
        let answer = hand_in(&agent, &context, &both)?;
        ensure!(answer["ok"] == true && text(&answer, "voice").contains(why), "{voice}: {answer}");
        let answer =
            hand_in(&agent, &context, &json!({"voiceRequested": true, "voiceText": "Only spoken."}))?;
        ensure!(text(&answer, "voice").contains("it was sent as text"), "{voice}: {answer}");
        let arrived = fixture.operator()?.arrived("ann")?;
        let texts: Vec<&str> = arrived.iter().map(|part| text(part, "text")).collect();
        ensure!(
            texts == ["Written.", "", "Only spoken."] && arrived[1]["attachment"]["voice"].is_null(),
            "{arrived:?}"
        );
        // Who asks for a recording and nothing else is told so, and nothing is taken.
        let spoken = json!({"to": "local:ann", "voice": {"text": "Hello, Ann."}});
        let refused = agent.post("/v1/messages", &spoken)?;
        ensure!(refused.body["ok"] == false && refused.body["reason"] == "voice", "{voice}: {refused:?}");
        ensure!(agent.queue()?.len() == 2, "{voice}");
        fixture.stop().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_speaks_and_only_a_whole_recording_counts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let sound = recording(folder.path())?;
    let service = MockServer::saying(Value::Null)?;
    let speech = |bytes: &[u8]| Answer::Bytes(200, "audio/ogg", bytes.to_vec());
    service.next([
        speech(&sound),
        Answer::Says(429, json!({})),
        speech(&sound[..sound.len() - 100]),
        Answer::Says(200, json!({"error": "no credit"})),
        Answer::With(307, "Location: http://127.0.0.1:1/", Value::Null),
    ]);
    let (url, token) = (service.url(), secret(folder.path(), "token", "a-token-of-the-voice\n")?);
    let voice =
        format!("[voice]\nurl = \"{url}/v1/\"\ntoken = {token}\nmodel = \"kokoro\"\nvoice = \"ann\"\n");
    let mut fixture = TestHub::start(&format!("{CONFIG}\n{voice}")).await?;
    let agent = fixture.agent("free").await?;
    let context = fixture.bridge("porch").await?.heard("free", "ann")?;
    let turn =
        |n: u32| json!({"text": format!("Turn {n}."), "voiceRequested": true, "voiceText": "Hello, Ann."});
    hand_in(&agent, &context, &turn(0))?;
    let arrived = fixture.operator()?.arrived("ann")?;
    ensure!(arrived[1]["attachment"]["sha256"] == Digest::of(&sound).to_string(), "{arrived:?}");
    opusinfo(&fixture, &arrived[1]["attachment"])?;
    for (n, why) in
        [(1, "HTTP status 429"), (2, "it breaks off"), (3, "it is no Ogg"), (4, "HTTP status 307")]
    {
        let answer = hand_in(&agent, &context, &turn(n))?;
        ensure!(text(&answer, "voice").contains(why), "{n}: {answer}");
    }
    ensure!(fixture.arrived("ann")?.len() == 6, "each text arrived");
    let asked = service.heard();
    ensure!(asked.len() == 5 && asked[0].method == "POST", "{asked:?}");
    ensure!(asked[0].path == "/v1/audio/speech", "{}", asked[0].path);
    let bearer = asked[0].header("authorization");
    ensure!(bearer == "Bearer a-token-of-the-voice", "{bearer}");
    let wanted =
        json!({"model": "kokoro", "input": "Hello, Ann.", "voice": "ann", "response_format": "opus"});
    ensure!(asked[0].json() == wanted, "{}", asked[0].json());
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_spoken_elsewhere_is_held_with_its_words_and_its_very_bytes() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    fixture.approve_unseen_files();
    fixture.restart().await?;
    let agent = fixture.agent("engineer").await?;
    let call = json!({"to": "local:team", "message": "Listen.", "voice": {"text": "The door is\nopen."}});
    let held = agent.send(&call)?;
    ensure!(held["state"] == "held", "{held}");
    let stored: Vec<u8> =
        fixture.database()?.query_row("SELECT document FROM approvals", [], |row| row.get(0))?;
    let document = Document::decode(&stored).context("the document")?;
    let shown: String = document.parts.iter().map(|part| part.text).collect::<Vec<_>>().join("\n");
    ensure!(shown.contains("[it says] The door is open."), "{shown}");
    ensure!(document.attachments.len() == 1, "{document:?}");
    let digest = document.attachments[0].digest.to_string();
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&held, "id"), "sent")?;
    let arrived = fixture.operator()?.arrived("team")?;
    ensure!(arrived[1]["attachment"]["sha256"] == digest, "{arrived:?}");
    fixture.audit_is_whole().await
}

/// A hub that writes to Telegram.
async fn on_telegram(mock: &Mock, folder: &Path) -> Result<TestHub> {
    let config = CONFIG.replace("\"local:*\"", "\"telegram:*\"");
    TestHub::start(&format!("{config}{}", mock.account(folder, mock.token())?)).await
}

/// Whoever wants no recordings has this said to those who send one
/// (<https://core.telegram.org/method/messages.sendMedia>, possible errors).
fn unwelcome() -> Value {
    let said = "Bad Request: VOICE_MESSAGES_FORBIDDEN";
    json!({"match": "sendVoice", "status": 400, "body": {"ok": false, "error_code": 400, "description": said}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_that_is_refused_goes_as_the_words_that_were_approved_and_no_file_is_lost() -> Result<()>
{
    let (mock, folder) = (Mock::telegram()?, tempfile::tempdir()?);
    let mut fixture = on_telegram(&mock, folder.path()).await?;
    fixture.approve_unseen_files();
    fixture.restart().await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({
        "to": "telegram:777", "message": "Listen.", "voice": {"text": "The door is *open*.\nCome <b>in</b>."},
        "attachments": [{"base64": "aGVsbG8=", "name": "log.txt"}],
    }))?;
    ensure!(held["state"] == "held", "{held}");
    mock.plan(json!([unwelcome()]))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    // Both ways were in what was signed.
    let parts = main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    ensure!(parts.len() == 3 && parts[1].shown.contains("[it says] The door is *open*. Come <b>in</b>."));
    ensure!(
        parts[1].request.contains("sendVoice") && parts[1].request.contains("sendMessage"),
        "{}",
        parts[1].request
    );
    let said = text(&sent["parts"][1], "reason");
    ensure!(said.contains("was sent as text") && said.contains("VOICE_MESSAGES_FORBIDDEN"), "{sent}");
    ensure!(sent["sent"] == "3 of 3" && sent["parts"][1]["platform_id"].is_string(), "{sent}");
    let heard = mock.heard()?;
    let called = methods(&heard, 0);
    ensure!(called == ["sendMessage", "sendVoice", "sendMessage", "sendDocument"], "{called:?}");
    // As it stands: no mark in what was to be heard means anything.
    let written = text(&heard[2]["body"], "text");
    ensure!(written == "The door is *open*.\nCome &lt;b&gt;in&lt;/b&gt;.", "{written}");
    fixture.audit_is_whole().await
}

/// The methods of the Bot API that were called since `from`.
fn methods(heard: &[Value], from: usize) -> Vec<&str> {
    heard[from..].iter().filter_map(|request| request["path"].as_str()?.rsplit('/').next()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_recording_of_the_text_itself_does_not_send_that_text_twice() -> Result<()> {
    let (mock, folder) = (Mock::telegram()?, tempfile::tempdir()?);
    let mut fixture = on_telegram(&mock, folder.path()).await?;
    let agent = fixture.agent("free").await?;
    let context = fixture.bridge("porch").await?.heard_there("free", ("telegram", "777"), "5")?;
    let once = |response: Value| -> Result<Value> {
        let before = mock.heard()?.len();
        mock.plan(json!([unwelcome()]))?;
        let answer = hand_in(&agent, &context, &response)?;
        let heard = mock.heard()?;
        let called = methods(&heard, before);
        ensure!(called == ["sendMessage", "sendVoice", "sendDocument"], "{response}: {called:?}");
        agent.ended(text(&answer["sent"][0], "id"), "sent")
    };
    let files = json!([{"base64": "aGVsbG8=", "name": "log.txt"}]);
    let said = "The build is **green**.\n\n- See <https://ci.test/1>";
    let receipt = once(json!({"text": said, "voiceRequested": true, "attachments": files}))?;
    ensure!(receipt["sent"] == "3 of 3" && receipt["parts"][1]["platform_id"].is_null(), "{receipt}");
    let why = text(&receipt["parts"][1], "reason");
    ensure!(why.contains("the text before it") && why.contains("VOICE_MESSAGES_FORBIDDEN"), "{receipt}");
    // The same words, given as words of its own.
    once(json!({
        "text": "It is *done*.", "voiceRequested": true, "voiceText": "It is\ndone.", "attachments": files,
    }))?;

    // A recording that is not refused goes, and one whose words are others has them sent.
    let before = mock.heard()?.len();
    hand_in(&agent, &context, &json!({"text": "All is well.", "voiceRequested": true}))?;
    mock.plan(json!([unwelcome()]))?;
    hand_in(&agent, &context, &json!({"text": "Done.", "voiceRequested": true, "voiceText": "All done."}))?;
    let heard = mock.heard()?;
    let called = methods(&heard, before);
    ensure!(called == ["sendMessage", "sendVoice", "sendMessage", "sendVoice", "sendMessage"], "{called:?}");
    fixture.audit_is_whole().await
}

/// Sends what is spoken, and again where the machine was too busy to speak it in time: of that, nothing was taken.
fn speak(agent: &Client, call: &Value) -> Result<Value> {
    for _ in 0..3 {
        match agent.send_and_wait(call) {
            Err(error) if error.to_string().contains("it was not spoken within") => {}
            sent => return sent,
        }
    }
    agent.send_and_wait(call)
}

#[tokio::test(flavor = "multi_thread")]
async fn words_for_which_one_message_is_too_small_are_spoken_one_after_the_other_and_none_is_lost()
-> Result<()> {
    let (mock, folder) = (Mock::discord()?, tempfile::tempdir()?);
    let config = CONFIG.replace("\"local:*\"", "\"discord:*\"");
    let account = mock.account(folder.path(), mock.token())?;
    let mut fixture = TestHub::start(&format!("{config}{account}")).await?;
    let agent = fixture.agent("free").await?;
    let words: Vec<String> = (1..=122).map(|n| format!("Door {n} of *this* house is open.")).collect();
    let spoken = words.join(" ");
    ensure!((4_000..4_096).contains(&spoken.len()), "{}", spoken.len());

    // JSON error codes of https://docs.discord.com/developers/topics/opcodes-and-status-codes.
    let said = json!({"code": 50_173, "message": "Cannot send voice message in this channel"});
    let refused = json!({"match": "200/messages", "files": true, "status": 400, "body": said});
    mock.plan(json!([refused, refused, refused]))?;
    let sent = speak(&agent, &json!({"to": "discord:200", "voice": {"text": spoken}}))?;
    ensure!(sent["state"] == "sent" && sent["sent"] == "3 of 3", "{sent}");
    for part in sent["parts"].as_array().context("parts")? {
        ensure!(text(part, "reason").contains("was sent as text"), "{sent}");
    }
    let posted = mock.done("channels/200/messages")?;
    let written: Vec<&str> = posted.iter().map(|request| text(&request["body"], "content")).collect();
    ensure!(written.iter().all(|part| part.ends_with("open.") && part.len() <= 2_000), "{written:#?}");
    ensure!(written.join(" ").replace('\\', "") == spoken, "{written:#?}");

    let other = spoken.replace("house", "home");
    let heard = speak(&agent, &json!({"to": "discord:200", "voice": {"text": other}}))?;
    ensure!(heard["sent"] == "3 of 3" && heard.get("error").is_none(), "{heard}");
    ensure!(mock.done("channels/200/messages")?.len() == 6);
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn words_do_not_go_after_a_recording_that_may_have_arrived_and_a_refusal_of_both_says_both()
-> Result<()> {
    let (mock, folder) = (Mock::telegram()?, tempfile::tempdir()?);
    let mut fixture = on_telegram(&mock, folder.path()).await?;
    let agent = fixture.agent("free").await?;
    let say = |words: &str| {
        let files = json!([{"base64": "aGVsbG8=", "name": "log.txt"}]);
        agent.send_and_wait(&json!({"to": "telegram:777", "voice": {"text": words}, "attachments": files}))
    };
    mock.plan(json!([{"match": "sendVoice", "lose": "after"}]))?;
    let lost = say("Was that heard?")?;
    ensure!(lost["state"] == "unknown" && mock.heard()?.len() == 1, "{lost}");

    let muted = json!({
        "ok": false, "error_code": 400, "description": "Bad Request: not enough rights to send text messages to the chat",
    });
    mock.plan(json!([unwelcome(), {"match": "sendMessage", "status": 400, "body": muted}]))?;
    let failed = say("Or that?")?;
    ensure!(failed["state"] == "failed" && mock.heard()?.len() == 3, "{failed}");
    let why = text(&failed, "error");
    ensure!(why.contains("VOICE_MESSAGES_FORBIDDEN") && why.contains("not enough rights"), "{why}");

    // Where it is the words that have to wait, all of it goes again.
    let wait = json!({
        "ok": false, "error_code": 429, "description": "Too Many Requests: retry after 1", "parameters": {"retry_after": 1},
    });
    let again = json!({"match": "sendMessage", "status": 429, "body": wait});
    mock.plan(json!([unwelcome(), again, unwelcome()]))?;
    let sent = say("And now?")?;
    ensure!(sent["state"] == "sent", "{sent}");
    ensure!(mock.done("/sendMessage")?.len() == 1 && mock.done("/sendDocument")?.len() == 1, "{sent}");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_leaves_room_for_as_many_files_as_a_message_may_have_also_where_a_person_is_asked()
-> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    fixture.approve_unseen_files();
    fixture.restart().await?;
    let file = |n: u32| json!({"base64": "aGVsbG8=", "name": format!("{n}.txt")});
    let call = |to: &str, files: u32| {
        let files: Vec<Value> = (0..files).map(file).collect();
        json!({"to": to, "message": "Look.", "voice": {"text": "Listen."}, "attachments": files})
    };
    let sent = fixture.agent("free").await?.send_and_wait(&call("local:ann", 8))?;
    ensure!(sent["sent"] == "10 of 10", "{sent}");
    let refused = fixture.agent("free").await?.post("/v1/messages", &call("local:ann", 9))?;
    ensure!(refused.body["ok"] == false && refused.body.to_string().contains("9 files"), "{refused:?}");
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&call("local:team", 8))?;
    ensure!(held["state"] == "held", "{held}");
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&held, "id"), "sent")?;
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_read_what_is_spoken_and_a_text_that_they_rewrite_is_not_spoken_as_it_was() -> Result<()> {
    let hooks = r#"
[hooks.10-secrets]
on = "message_sending"
builtin = "secrets"
[hooks.20-redact]
on = "message_sending"
command = ["/bin/sh", "-c", '''if grep -q '"spoken":"Secret word'; then echo '{"action": "rewrite", "message": "Redacted."}'; else echo '{"action": "pass"}'; fi''']
"#;
    let mut fixture = TestHub::start(&format!("{CONFIG}{hooks}")).await?;
    let agent = fixture.agent("free").await?;
    let say = |message: &str, words: &str| {
        agent.send_and_wait(&json!({"to": "local:ann", "message": message, "voice": {"text": words}}))
    };
    let token = format!("It is gp_{}.", "ab".repeat(32));
    let cancelled = say("Listen.", &token)?;
    ensure!(
        cancelled["state"] == "failed" && text(&cancelled, "error").contains("a token of the hub"),
        "{cancelled}"
    );
    let rewritten = say("Secret word.", "Secret word.")?;
    ensure!(rewritten["state"] == "sent", "{rewritten}");
    let arrived = fixture.operator()?.arrived("ann")?;
    ensure!(arrived.len() == 1 && arrived[0]["text"] == "Redacted.", "{arrived:?}");
    ensure!(fixture.audit("message.hooked")?[0].detail["voice_left_out"] == true);
    say("Passed.", "Passed.")?;
    ensure!(fixture.operator()?.arrived("ann")?.len() == 3);
    fixture.audit_is_whole().await
}
