//! iMessage with a mock of BlueBubbles and a program that stands for `imsg`: neither runs without a Mac.
//!
//! Slow: what is uncertain is looked for over a minute.

use gatepost::channels::envelope::Envelope;
use std::{fs, path::Path};

use anyhow::{Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{SpawnedHub, TestHub, agents_on, client::text},
    main_job,
    mocks::{
        Answer, bluebubbles,
        imsg::{self, Version},
    },
};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_message_arrives_by_bluebubbles_and_all_that_is_done_to_it() -> Result<()> {
    let (server, secrets) = (bluebubbles::start()?, tempfile::tempdir()?);
    let channel = bluebubbles::account(&server, secrets.path())?;
    let mut fixture = TestHub::start(&agents_on("imessage", &channel)).await?;
    let engineer = fixture.agent("engineer").await?;
    let to = "imessage:+49 151 12345679";
    let held = engineer.send(&json!({"to": to, "message": main_job::report()}))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = engineer.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    let all = server.heard();
    let heard: Vec<_> = all.iter().filter(|request| request.json()["message"].is_string()).collect();
    ensure!(heard.len() == parts.len(), "{} requests for {} parts", heard.len(), parts.len());
    for (part, request) in parts.iter().zip(heard) {
        let (wire, body) = (Envelope::read(&part.request)?.request, request.json());
        ensure!(wire["body"]["message"] == body["message"] && body["tempGuid"] == part.key, "{body}");
    }

    let agent = fixture.agent("courier").await?;
    let sent = agent.send_and_wait(&json!({
        "action": "sendWithEffect", "to": to, "message": "Done!", "effect": "confetti",
        "attachments": [{"base64": "aGVsbG8=", "name": "a.txt", "caption": "a list"}],
    }))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let id = text(&sent["parts"][0], "platform_id");
    for call in [
        json!({"action": "react", "to": to, "messageId": id, "emoji": "❤️"}),
        json!({"action": "edit", "to": to, "messageId": id, "message": "Nearly done."}),
        json!({"action": "delete", "to": to, "messageId": id}),
        json!({"action": "reply", "to": to, "replyTo": id, "message": "As I said."}),
    ] {
        let done = agent.send_and_wait(&call)?;
        ensure!(done["state"] == "sent", "{done}");
    }
    // It arrived, and its answer was lost: it is found, and nobody gets it twice.
    server.next_for("/message/text", Answer::Lost);
    let found = agent.send_and_wait(&json!({"to": to, "message": "Once."}))?;
    ensure!(found["state"] == "sent", "{found}");
    let sent = server.heard().iter().filter(|request| request.json()["message"] == "Once.").count();
    ensure!(sent == 1, "{sent}");
    // A file has nothing to be known by.
    server.next_for("/message/attachment", Answer::Lost);
    let file = json!([{"base64": "aGVsbG8=", "name": "b.txt"}]);
    let unknown = agent.send_and_wait(&json!({"to": to, "attachments": file}))?;
    ensure!(unknown["state"] == "unknown", "{unknown}");
    // What Messages could not send: of a text the Private API's number gets lost, and of a file the server says yes.
    for (answer, why) in [
        (bluebubbles::text_not_sent_by_script(22), "not on iMessage"),
        (bluebubbles::text_not_sent_by_helper(), "Messages did not send it"),
    ] {
        server.next_for("/message/text", answer);
        let failed = agent.send_and_wait(&json!({"to": to, "message": why}))?;
        ensure!(failed["state"] == "failed" && text(&failed, "error").contains(why), "{failed}");
    }
    server.next_for("/message/attachment", bluebubbles::file_not_sent(22));
    let file = json!([{"base64": "aGVsbG8=", "name": "c.txt"}]);
    let failed = agent.send_and_wait(&json!({"to": to, "attachments": file}))?;
    ensure!(failed["state"] == "failed" && text(&failed, "error").contains("not on iMessage"), "{failed}");
    // Its helper goes away between a caption and its file: the file waits, and the caption does not go again.
    server.next_for("/message/attachment", bluebubbles::file_without_helper());
    let file = json!([{"base64": "aGVsbG8=", "name": "d.txt", "caption": "Only once."}]);
    let sent = agent.send_and_wait(&json!({"to": to, "attachments": file}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let all = server.heard();
    let captions = all.iter().filter(|request| request.json()["message"] == "Only once.").count();
    let is_file = |body: &[u8]| String::from_utf8_lossy(body).contains("filename=\"d.txt\"");
    let files = all.iter().filter(|request| is_file(&request.body)).count();
    ensure!((captions, files) == (1, 2), "{captions} captions, {files} files");
    // What the hub speaks itself is a voice note, in the form in which Messages has its own.
    let sent = agent.send_and_wait(&json!({"to": to, "voice": {"text": "Good morning."}}))?;
    ensure!(sent["state"] == "sent" && !sent.to_string().contains("as a file"), "{sent}");
    let note = server.heard().pop().map(|request| String::from_utf8_lossy(&request.body).into_owned());
    let is_note = |note: &str| {
        ["name=\"isAudioMessage\"\r\n\r\ntrue", "filename=\"voice.caf\"", "\r\n\r\ncaff\0\u{1}", "opus"]
            .iter()
            .all(|piece| note.contains(piece))
    };
    ensure!(note.as_deref().is_some_and(is_note), "{note:?}");

    fs::write(secrets.path().join("password"), "a-wrong-password")?;
    let refused = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &channel)?.cli(&["check"])?;
    ensure!(refused.status == 1 && refused.stdout.contains("401"), "{refused:?}");
    ensure!(
        !refused.stdout.contains("a-wrong-password") && !refused.stderr.contains("a-wrong-password"),
        "{refused:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_contact_without_the_private_api_arrives_once_though_bluebubbles_says_no() -> Result<()> {
    let (server, secrets) = (bluebubbles::start()?, tempfile::tempdir()?);
    let channel = format!("{}private_api = false\n", bluebubbles::account(&server, secrets.path())?);
    let mut fixture = TestHub::start(&agents_on("imessage", &channel)).await?;
    let agent = fixture.agent("courier").await?;
    let to = "imessage:+4915112345679";
    // The server sends it, does not find the chat that Messages has made, and answers 500.
    let sent = agent.send_and_wait(&json!({"to": to, "message": "We do not know each other."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let sent = agent.send_and_wait(&json!({"to": to, "message": "Now we do."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let sends: Vec<_> = server.heard().into_iter().filter(|one| one.json()["message"].is_string()).collect();
    let paths: Vec<&str> = sends.iter().map(|one| one.path.as_str()).collect();
    ensure!(paths == ["/api/v1/chat/new", "/api/v1/message/text"], "{paths:?}");
    ensure!(sends.iter().all(|one| one.json()["method"] == "apple-script"));
    ensure!(sends[1].json()["chatGuid"] == "any;-;+4915112345679", "{}", sends[1].json());
    Ok(())
}

/// A hub whose account is such a program.
async fn with_imsg(folder: &Path, version: Version) -> Result<TestHub> {
    imsg::install(folder, version)?;
    // The same words several times are what this is about.
    let queue = "[queue]\ndedup = \"0s\"\n";
    TestHub::start(&agents_on("imessage", &format!("{queue}{}", by_imsg(folder)))).await
}

fn by_imsg(folder: &Path) -> String {
    format!("[channels.imessage.mac]\nkind = \"imsg\"\ncommand = [\"{}\"]\n", folder.join("imsg").display())
}

fn calls(folder: &Path) -> Result<usize> {
    Ok(fs::read_to_string(folder.join("calls"))?.lines().count())
}

/// What an uncertain answer of this version leaves behind. The hub asks for minutes, so the versions are asked side by side.
async fn is_looked_for_and_never_sent_again(version: Version) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut fixture = with_imsg(folder.path(), version).await?;
    let agent = fixture.agent("courier").await?;
    let to = "imessage:+4915112345679";
    let send = |text: &str| agent.send_and_wait(&json!({"to": to, "message": text}));
    let sent = send("ok")?;
    ensure!(sent["state"] == "sent", "{version:?}: {sent}");
    for mishap in ["breaks", "unseen"] {
        fs::write(folder.path().join(mishap), "")?;
        let sent = send("ok")?;
        ensure!(sent["state"] == "sent", "{version:?}, {mishap}: {sent}");
        let rows = fs::read_to_string(folder.path().join("rows"))?;
        let last = rows.lines().last().and_then(|row| row.split(' ').next()).unwrap_or_default();
        ensure!(text(&sent["parts"][0], "platform_id").eq_ignore_ascii_case(last), "{rows}: {sent}");
    }
    // What Messages lost is nowhere; the "ok" of before is not taken for it.
    fs::write(folder.path().join("lost"), "")?;
    let lost = agent.send(&json!({"to": to, "message": "ok"}))?;
    let lost = agent.ended(text(&lost, "id"), "unknown")?;
    ensure!(text(&lost, "error").contains("does not show it"), "{version:?}: {lost}");
    ensure!(calls(folder.path())? == 4, "{version:?}: each went once");
    // Nor if its sender prefers two copies to none.
    fs::write(folder.path().join("lost"), "")?;
    let lost = agent.send(&json!({"to": to, "message": "ok then", "onUnknown": "resend"}))?;
    agent.ended(text(&lost, "id"), "unknown")?;
    ensure!(calls(folder.path())? == 5, "{version:?}: it went once");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_old_imsg_leaves_uncertain_is_looked_for_and_never_sent_again() -> Result<()> {
    is_looked_for_and_never_sent_again(Version::Old).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_imsg_leaves_uncertain_is_looked_for_and_never_sent_again() -> Result<()> {
    is_looked_for_and_never_sent_again(Version::Plain).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_imsg_with_its_bridge_leaves_uncertain_is_looked_for_and_never_sent_again() -> Result<()> {
    is_looked_for_and_never_sent_again(Version::Bridged).await
}

#[tokio::test(flavor = "multi_thread")]
async fn check_names_an_imsg_that_is_too_old() -> Result<()> {
    let folder = tempfile::tempdir()?;
    imsg::install(folder.path(), Version::Old)?;
    let home = tempfile::tempdir()?.into();
    let ready = SpawnedHub::at_rest(home, &by_imsg(folder.path()))?.cli(&["check"])?.well()?;
    ensure!(ready.contains("imsg 0.9.0 on this machine; older than 0.14.0"), "{ready}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_messages_marks_as_failed_is_never_told_as_sent() -> Result<()> {
    for version in [Version::Plain, Version::Bridged] {
        let folder = tempfile::tempdir()?;
        let mut fixture = with_imsg(folder.path(), version).await?;
        let agent = fixture.agent("courier").await?;
        fs::write(folder.path().join("failed"), "")?;
        let failed = agent.send(&json!({"to": "imessage:+4915112345679", "message": "To a telephone."}))?;
        let failed = agent.ended(text(&failed, "id"), "failed")?;
        let why = text(&failed, "error");
        ensure!(why.contains("error 22, the recipient is not on iMessage"), "{version:?}: {failed}");
        ensure!(calls(folder.path())? == 1, "{version:?}: it went once");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_of_imsg_that_goes_meanwhile_takes_no_message_along() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut fixture = with_imsg(folder.path(), Version::Bridged).await?;
    let agent = fixture.agent("courier").await?;
    let to = "imessage:+4915112345679";
    let before = agent.send_and_wait(&json!({"to": to, "message": "By the bridge."}))?;
    ensure!(before["state"] == "sent", "{before}");
    // It is there when it is asked what it can do, and not when it is to do it.
    fs::write(folder.path().join("leaves"), "")?;
    let sent = agent.send_and_wait(&json!({"to": to, "message": "By AppleScript."}))?;
    ensure!(sent["state"] == "sent" && !folder.path().join("leaves").exists(), "{sent}");
    ensure!(calls(folder.path())? == 2, "each went once");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_new_is_written_to_with_and_without_the_bridge_of_imsg() -> Result<()> {
    for version in [Version::Old, Version::Plain, Version::Bridged] {
        let folder = tempfile::tempdir()?;
        let mut fixture = with_imsg(folder.path(), version).await?;
        let agent = fixture.agent("courier").await?;
        let to = "imessage:+4915112345670";
        let sent = agent.send_and_wait(&json!({"to": to, "message": "We do not know each other."}))?;
        ensure!(sent["state"] == "sent", "{version:?}: {sent}");
        ensure!(calls(folder.path())? == 1, "{version:?}: it went once");
    }
    Ok(())
}
