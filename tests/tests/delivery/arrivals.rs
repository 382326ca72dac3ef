//! Files that go along arrive as they were, behind their text and in their order: in the hub, in a mailbox, in a room.
//!
//! Installed by `tests/run --setup-only`: Postfix, Dovecot, Synapse.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost_link::Digest;
use gatepost_tests::{
    files::{OGG, PNG, config, noise, refused},
    hub::{SpawnedHub, TestHub, client::text, database, secret},
    peers::{Mail, Mime, Synapse},
};
use serde_json::{Value, json};

fn files_of(message: &Value) -> impl Iterator<Item = &Value> {
    message["attachments"].as_array().into_iter().flatten()
}

#[tokio::test(flavor = "multi_thread")]
async fn text_goes_first_then_voice_then_files_and_each_arrives_as_it_was() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (picture, voice, report) = (noise(PNG, 300_000), noise(OGG, 5_000), b"a,b\n1,2\n".to_vec());
    fs::create_dir(folder.path().join("out"))?;
    fs::write(folder.path().join("out/chart.png"), &picture)?;
    let mut fixture = TestHub::start(&config(folder.path())).await?;
    let agent = fixture.agent("courier").await?;
    let handed_in = agent.raw("POST", "/v1/files", &[], &voice)?;
    ensure!(handed_in.status == 201 && handed_in.body["kind"] == "audio/ogg", "{handed_in:?}");

    let sent = agent.send_and_wait(&json!({
        "to": "local:anna",
        "message": "The figures.",
        "voice": {"file": handed_in.body["file"], "name": "note.ogg"},
        "attachments": [
            {"path": "out/chart.png", "caption": "**June**"},
            {"base64": STANDARD.encode(&report), "name": "../../figures.csv", "mime": "text/csv"},
        ],
    }))?;
    ensure!(sent["state"] == "sent" && sent["sent"] == "4 of 4", "{sent}");
    // Whatever becomes of the place that it came from.
    fs::write(folder.path().join("out/chart.png"), "another")?;
    let arrived = fixture.operator()?.arrived("anna")?;
    let texts: Vec<&str> = arrived.iter().map(|part| text(part, "text")).collect();
    ensure!(texts == ["The figures.", "", "June", ""], "{texts:?}");
    ensure!(arrived[0]["attachment"].is_null(), "{arrived:?}");
    let files = [
        ("note.ogg", "audio/ogg", &voice),
        ("chart.png", "image/png", &picture),
        ("figures.csv", "text/csv", &report),
    ];
    for (part, (name, kind, bytes)) in arrived[1..].iter().zip(files) {
        let file = &part["attachment"];
        ensure!(file["name"] == name && file["kind"] == kind && file["size"] == bytes.len(), "{file}");
        ensure!(text(file, "sha256") == Digest::of(bytes).to_string(), "{file}");
        ensure!(fs::read(fixture.data_dir().join("files").join(text(file, "sha256")))? == *bytes, "{name}");
    }
    ensure!(arrived[1]["attachment"]["voice"] == true, "{arrived:?}");

    let shown = agent.message(text(&sent, "id"))?;
    ensure!(files_of(&shown).count() == 3, "{shown}");
    let picture = format!("June\n[file, image/png, {} bytes] chart.png", picture.len());
    ensure!(text(&shown["parts"][2], "text") == picture, "{shown}");
    let accepted = fixture.audit("message.accepted")?.pop().context("a line")?;
    for (fact, file) in accepted.detail["files"].as_array().into_iter().flatten().zip(files_of(&shown)) {
        ensure!(
            fact["sha256"] == file["sha256"] && fact["name"] == file["name"] && fact["caption"].is_null()
        );
    }
    ensure!(accepted.detail["files"][2]["sha256"] == shown["attachments"][2]["sha256"], "{accepted:?}");
    fixture.audit_is_whole().await
}

/// The most memory that a process has had so far, in KB.
fn peak(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

#[test]
fn the_shell_hands_its_own_files_in_also_large_ones() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let hub = SpawnedHub::start(
        "[agents.shell]\nallow = [\"local:*\"]\ncross_context = \"allow\"\ndecorate = false\n[channels.local.home]\n",
    )?;
    let large = noise(PNG, 25 * 1024 * 1024);
    let (path, voice) = (folder.path().join("large.png"), folder.path().join("note.ogg"));
    fs::write(&path, &large)?;
    fs::write(&voice, OGG)?;
    let (path, voice) = (path.to_str().context("UTF-8")?, voice.to_str().context("UTF-8")?);
    let before = peak(hub.pid()?)?;
    let receipt = hub
        .cli(&[
            "send",
            "--as-operator",
            "--to",
            "local:me",
            "--wait",
            "30",
            "--json",
            "--attach",
            path,
            "--voice",
            voice,
            "Look",
        ])?
        .well()?;
    let receipt: Value = serde_json::from_str(&receipt)?;
    ensure!(receipt["state"] == "sent" && receipt["sent"] == "3 of 3", "{receipt}");
    let grown = peak(hub.pid()?)? - before;
    ensure!(grown < 12 * 1024, "the hub held the file in memory: {grown} KB more than before");
    let hash = Digest::of(&large).to_string();
    ensure!(fs::read(hub.data_dir().join("files").join(&hash))? == large);
    let line = format!("file: large.png (image/png, 26214400 bytes, sha256 {hash})");
    for listing in [&["queue", "show", text(&receipt, "id")][..], &["local", "read"]] {
        let printed = hub.cli(listing)?.well()?;
        ensure!(printed.contains(&line) && printed.contains("voice: note.ogg (audio/ogg"), "{printed}");
    }
    // One byte more is refused in the hub's words.
    fs::write(path, [&large[..], b"x"].concat())?;
    let refused = hub.cli(&["send", "--as-operator", "--to", "local:me", "--attach", path])?;
    ensure!(refused.status == 1 && refused.stderr.contains("26214400"), "{refused:?}");
    let missing = hub.cli(&["send", "--as-operator", "--to", "local:me", "--attach", "/nonexistent", "x"])?;
    ensure!(missing.status == 2 && missing.stderr.contains("/nonexistent"), "{missing:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_carries_its_files_behind_its_text_byte_for_byte() -> Result<()> {
    let (mail, folder) = (Mail::start()?, tempfile::tempdir()?);
    let channel = format!("{}{}", config(folder.path()), mail.account(folder.path(), mail.password())?);
    let mut fixture = TestHub::start(&channel).await?;
    let agent = fixture.agent("courier").await?;
    let name = "Grüße \"aus\" Köln, Teil 1; und ein Name, der länger ist als eine Zeile eines Kopfes.png";
    let (picture, odd) = (noise(PNG, 600_000), b".\r\n..\r\n.\n\xff last line without an end".to_vec());
    fs::write(folder.path().join("a.png"), &picture)?;
    fs::write(folder.path().join("odd.bin"), &odd)?;
    let sent = agent.send_and_wait(
        &json!({"to": "email:anna@hub.test", "message": "Two **files**.", "attachments": [
            {"path": "a.png", "name": name, "caption": "The *square*."}, {"path": "odd.bin"},
        ]}),
    )?;
    ensure!(sent["state"] == "sent" && sent["sent"] == "1 of 1", "a message is one mail: {sent}");
    let mime = Mime::read(&mail.wait_for_inbox("anna", 1)?.remove(0))?;
    ensure!(mime.defects.is_empty() && mime.kind == "multipart/mixed", "{:?} {}", mime.defects, mime.kind);
    ensure!(mime.header("subject") == "Two files.", "{mime:?}");
    let plain = mime.part("text/plain");
    ensure!(plain.trim_end() == format!("Two files.\n\n{name}: The square."), "{plain:?}");
    ensure!(mime.part("text/html").contains("<em>square</em>"), "{mime:?}");
    let files: Vec<(&str, &str, Vec<u8>)> = mime
        .files
        .iter()
        .map(|[name, kind, bytes]| Ok((name.as_str(), kind.as_str(), STANDARD.decode(bytes)?)))
        .collect::<Result<_>>()?;
    let kinds: Vec<_> = files.iter().map(|(name, kind, bytes)| (*name, *kind, bytes.len())).collect();
    ensure!(
        kinds == [(name, "image/png", picture.len()), ("odd.bin", "application/octet-stream", odd.len())],
        "{kinds:?}"
    );
    ensure!(files[0].2 == picture && files[1].2 == odd, "the bytes are others");

    // Without any text too.
    let sent = agent.send_and_wait(&json!({"to": "email:bert@hub.test", "attachments": ["odd.bin"]}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let mime = Mime::read(&mail.wait_for_inbox("bert", 1)?.remove(0))?;
    ensure!(
        mime.defects.is_empty() && mime.header("subject") == "odd.bin" && mime.files.len() == 1,
        "{mime:?}"
    );
    // More than the server takes (1 MiB) fails in its words.
    fs::write(folder.path().join("large.png"), noise(PNG, 1_500_000))?;
    let failed = agent.send_and_wait(&json!({"to": "email:anna@hub.test", "attachments": ["large.png"]}))?;
    ensure!(failed["state"] == "failed" && text(&failed, "error").contains("552"), "{failed}");
    // More than any mail may carry is refused when it is handed in.
    fs::write(folder.path().join("b.png"), noise(PNG, 25 * 1024 * 1024))?;
    let refusal = agent
        .post("/v1/messages", &json!({"to": "email:anna@hub.test", "attachments": ["b.png", "a.png"]}))?;
    refused(&refusal, 413, "files")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_gets_text_then_voice_then_files_byte_for_byte() -> Result<()> {
    let (synapse, folder) = (Synapse::start()?, tempfile::tempdir()?);
    let (bot, anna) =
        (synapse.register("gatepost", "a password")?, synapse.register("anna", "another password")?);
    let room = synapse.create_room(&bot.access_token)?;
    synapse.invite(&bot.access_token, &room, &anna.user_id)?;
    synapse.join(&anna.access_token, &room)?;
    let channel = format!(
        "{}[channels.matrix.home]\nhomeserver = \"{}\"\ntoken = {}\n",
        config(folder.path()),
        synapse.base_url(),
        secret(folder.path(), "token", &bot.access_token)?
    );
    let mut fixture = TestHub::start(&channel).await?;
    let agent = fixture.agent("courier").await?;
    let (picture, voice, data) = (noise(PNG, 2_000_000), noise(OGG, 20_000), noise(b"\0\x01", 100_000));
    for (name, bytes) in [("a b.png", &picture), ("note.ogg", &voice), ("data.bin", &data)] {
        fs::write(folder.path().join(name), bytes)?;
    }
    let sent = agent
        .send_and_wait(&json!({"to": format!("matrix:{room}"), "message": "Look:", "voice": "note.ogg",
        "attachments": [{"path": "a b.png", "caption": "A **square**."}, {"path": "data.bin"}]}))?;
    ensure!(sent["state"] == "sent" && sent["sent"] == "4 of 4", "{sent}");
    let events = synapse.messages(&anna.access_token, &room)?;
    let events: Vec<&Value> = events.iter().filter(|event| event["type"] == "m.room.message").collect();
    let kinds: Vec<&str> = events.iter().map(|event| text(&event["content"], "msgtype")).collect();
    ensure!(kinds == ["m.text", "m.audio", "m.image", "m.file"], "{events:#?}");
    let expected = [
        ("note.ogg", "audio/ogg", &voice),
        ("a b.png", "image/png", &picture),
        ("data.bin", "application/octet-stream", &data),
    ];
    for (event, (name, kind, bytes)) in events[1..].iter().zip(expected) {
        let content = &event["content"];
        ensure!(
            content["filename"] == name && content["info"] == json!({"mimetype": kind, "size": bytes.len()}),
            "{content}"
        );
        let (downloaded, served) = synapse.download(&anna.access_token, text(content, "url"))?;
        ensure!(downloaded == *bytes && served == kind, "{name}: {} bytes of {served}", downloaded.len());
    }
    ensure!(
        events[1]["content"]["org.matrix.msc3245.voice"].is_object()
            && events[1]["content"]["body"] == "note.ogg"
    );
    ensure!(events[2]["content"]["body"] == "A square.", "{}", events[2]);
    ensure!(
        text(&events[2]["content"], "formatted_body").contains("<strong>square</strong>"),
        "{}",
        events[2]
    );
    let parts = database::parts(&fixture.database()?, text(&sent, "id"))?;
    ensure!(parts[2].request.contains(&format!("attachment:{}", Digest::of(&picture))), "{parts:?}");
    Ok(())
}
