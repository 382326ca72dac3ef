//! Files that go along: where they may come from, who is told of them, and that a crash leaves none behind and loses none.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::{
        fs::{MetadataExt as _, chown, symlink},
        net::UnixListener,
    },
    path::Path,
    process::Command,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost_link::{Digest, decision::Verdict, document::Document};
use gatepost_tests::{
    files::{PNG, config, noise, refused, staged},
    hub::{Client, SpawnedHub, TestHub, client::text, database, eventually},
    main_job,
};
use serde_json::{Value, json};

fn with(files: Value) -> Value {
    json!({"to": "local:anna", "message": "See below.", "attachments": files})
}

/// Answers every request at `host` as told, and says at which address.
fn server(host: &str, answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> Result<String> {
    let listener = TcpListener::bind((host, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut request, mut byte) = (Vec::new(), [0]);
            while !request.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                request.push(byte[0]);
            }
            answer(&String::from_utf8_lossy(&request), &mut stream);
        }
    });
    Ok(format!("http://{address}"))
}

fn says(host: &str, head: String, body: Vec<u8>) -> Result<String> {
    server(host, move |_, stream| {
        let _ = stream.write_all(format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").as_bytes());
        let _ = stream.write_all(&body);
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_out_of_an_agents_folder() -> Result<()> {
    let house_of = tempfile::tempdir()?;
    let folder = house_of.path().join("agent");
    fs::create_dir_all(folder.join("sub"))?;
    fs::create_dir(house_of.path().join("agent-2"))?;
    fs::write(house_of.path().join("secret"), "the secret")?;
    fs::write(house_of.path().join("agent-2/secret"), "the secret")?;
    symlink("../secret", folder.join("link"))?;
    symlink("..", folder.join("sub/up"))?;
    ensure!(Command::new("mkfifo").arg(folder.join("pipe")).status()?.success());
    let mut fixture = TestHub::start(&config(&folder)).await?;
    let agent = fixture.agent("courier").await?;
    let absolute = house_of.path().join("secret");
    for path in [
        "../secret",
        "sub/../../secret",
        "../agent-2/secret",
        "link",
        "sub/up/secret",
        "/etc/hostname",
        absolute.to_str().context("UTF-8")?,
        "/proc/self/environ",
        "pipe",
        "sub",
        "nothing",
    ] {
        let answer = agent.post("/v1/messages", &with(json!([{"path": path}])))?;
        refused(&answer, 400, "path").with_context(|| path.to_owned())?;
    }
    let other = fixture.agent("other").await?;
    refused(&other.post("/v1/messages", &with(json!([{"path": "link"}])))?, 403, "attach_from")?;
    ensure!(agent.queue()?.is_empty() && staged(&fixture.data_dir())?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hard_link_to_a_file_elsewhere_is_refused_unless_the_operator_allows_it() -> Result<()> {
    let house_of = tempfile::tempdir()?;
    let folder = house_of.path().join("agent");
    fs::create_dir(&folder)?;
    fs::write(house_of.path().join("secret"), "the secret")?;
    fs::hard_link(house_of.path().join("secret"), folder.join("report.txt"))?;
    fs::write(folder.join("note.txt"), "a note")?;
    let plain = config(&folder);
    let mut fixture = TestHub::start(&plain).await?;
    let agent = fixture.agent("courier").await?;
    let calls = |path: &str| {
        [
            with(json!([{"path": path}])),
            json!({"to": "local:anna", "message": "See below.", "media": path}),
            json!({"to": "local:anna", "voice": path}),
        ]
    };
    for call in calls("report.txt") {
        let answer = agent.post("/v1/messages", &call)?;
        refused(&answer, 403, "linked_file").with_context(|| call.to_string())?;
        ensure!(text(&answer.body, "hint").contains("cp"), "{answer:?}");
    }
    ensure!(agent.queue()?.is_empty() && staged(&fixture.data_dir())?.is_empty());
    let sent = agent.send_and_wait(&with(json!([{"path": "note.txt"}])))?;
    ensure!(sent["state"] == "sent", "{sent}");

    let allowed = plain.replacen("attach_from", "allow_linked_files = true\nattach_from", 1);
    let mut fixture = TestHub::start(&allowed).await?;
    let sent = fixture.agent("courier").await?.send_and_wait(&with(json!([{"path": "report.txt"}])))?;
    ensure!(sent["state"] == "sent", "{sent}");
    Ok(())
}

/// Its source was removed since: one name is left, and the owner tells.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_another_owner_is_refused_unless_the_operator_allows_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("report.txt"), "of somebody else")?;
    if fs::metadata(folder.path())?.uid() != 0 {
        eprintln!("only root can give a file another owner; the rule itself is tested beside its code");
        return Ok(());
    }
    chown(folder.path().join("report.txt"), Some(65_534), None)?;
    let plain = config(folder.path());
    let mut fixture = TestHub::start(&plain).await?;
    let agent = fixture.agent("courier").await?;
    let call = with(json!([{"path": "report.txt"}]));
    let answer = agent.post("/v1/messages", &call)?;
    refused(&answer, 403, "file_owner")?;
    ensure!(text(&answer.body, "hint").contains("allow_other_owners"), "{answer:?}");
    // The hub's own files in an agent's folder are another owner's too.
    chown(folder.path(), Some(65_534), None)?;
    fs::write(folder.path().join("of-the-hub.txt"), "operator.token")?;
    refused(&agent.post("/v1/messages", &with(json!([{"path": "of-the-hub.txt"}])))?, 403, "file_owner")?;
    let sent = agent.send_and_wait(&call)?;
    ensure!(sent["state"] == "sent", "it is the folder's owner's now: {sent}");

    let allowed = plain.replacen("attach_from", "allow_other_owners = true\nattach_from", 1);
    let mut fixture = TestHub::start(&allowed).await?;
    let call = with(json!([{"path": "of-the-hub.txt"}]));
    let sent = fixture.agent("courier").await?.send_and_wait(&call)?;
    ensure!(sent["state"] == "sent", "{sent}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_or_a_device_is_refused_without_waiting_for_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let _socket = UnixListener::bind(folder.path().join("socket"))?;
    ensure!(Command::new("mkfifo").arg(folder.path().join("pipe")).status()?.success());
    let mut fixture = TestHub::start(&config(folder.path())).await?;
    let agent = fixture.agent("courier").await?;
    let start = std::time::Instant::now();
    for path in ["socket", "pipe"] {
        let answer = agent.post("/v1/messages", &with(json!([{"path": path}])))?;
        refused(&answer, 400, "path").with_context(|| path.to_owned())?;
    }
    ensure!(start.elapsed() < Duration::from_secs(20), "it waited: {:?}", start.elapsed());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_public_addresses_are_fetched_from_and_those_that_the_operator_names() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = config(folder.path());
    // Of this machine, only one address is open.
    let open = "[files]\nmax_size = 1000\nurl_timeout = \"1s\"\nallow_private_urls = [\"127.0.0.2\"]\n";
    let mut fixture = TestHub::start(&format!("{open}{config}")).await?;
    let agent = fixture.agent("courier").await?;
    let send = |url: &str| agent.post("/v1/messages", &with(json!([{"url": url}])));
    let inside = says("127.0.0.1", "200 OK\r\nContent-Length: 6".into(), b"secret".to_vec())?;
    let port = inside.rsplit(':').next().context("a port")?.to_owned();
    for host in
        ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "10.0.0.1", "169.254.169.254"]
    {
        refused(&send(&format!("http://{host}:{port}/"))?, 403, "private_url").context(host)?;
    }
    for target in [inside.clone(), format!("http://localhost:{port}/"), "http://169.254.169.254/".into()] {
        let redirect = format!("307 Temporary Redirect\r\nContent-Length: 0\r\nLocation: {target}");
        refused(&send(&says("127.0.0.2", redirect, vec![])?)?, 403, "private_url").context(target)?;
    }
    let fine = says("127.0.0.2", "200 OK\r\nContent-Length: 5".into(), b"hello".to_vec())?;
    let sent = agent.send_and_wait(&with(json!([{"url": format!("{fine}/dir/note.txt")}])))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let arrived = fixture.operator()?.arrived("anna")?;
    ensure!(arrived.len() == 2 && arrived[1]["attachment"]["name"] == "note.txt", "{arrived:?}");
    ensure!(text(&arrived[1]["attachment"], "sha256") == Digest::of(b"hello").to_string());
    ensure!(sent["attachments"][0]["kind"] == "text/plain", "the receipt says what was found: {sent}");
    // Who has no leave to fetch asks nobody anything.
    let other = fixture.agent("other").await?;
    refused(&other.post("/v1/messages", &with(json!([{"url": fine}])))?, 403, "attach_urls")?;

    let too_large = [
        says("127.0.0.2", "200 OK\r\nContent-Length: 1001".into(), vec![])?,
        says("127.0.0.2", "200 OK".into(), vec![b'x'; 1001])?,
    ];
    for url in too_large {
        refused(&send(&url)?, 413, "files")?;
    }
    let short = says("127.0.0.2", "200 OK\r\nContent-Length: 500".into(), vec![b'x'; 499])?;
    refused(&send(&short)?, 502, "fetch")?;
    let slow = server("127.0.0.2", |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    })?;
    let start = std::time::Instant::now();
    refused(&send(&slow)?, 502, "fetch")?;
    ensure!(start.elapsed() < Duration::from_secs(20));
    ensure!(
        agent.queue()?.len() == 1 && staged(&fixture.data_dir())?.len() == 1,
        "nothing is left of what was refused"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_much_is_refused_and_the_hub_goes_on() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("large"), vec![0; 60_001])?;
    fs::write(folder.path().join("empty"), "")?;
    fs::write(folder.path().join("a"), "a")?;
    let bounds = "[files]\nmax_size = 60000\nmax_together = 90000\nmax_count = 2\n";
    let mut fixture = TestHub::start(&format!("{bounds}{}", config(folder.path()))).await?;
    let agent = fixture.agent("courier").await?;
    let send = |files: Value| agent.post("/v1/messages", &with(files));
    refused(&send(json!([{"path": "large"}]))?, 413, "files")?;
    refused(&send(json!([{"path": "empty"}]))?, 400, "file")?;
    refused(&send(json!([{"path": "a"}, {"path": "a"}, {"path": "a"}]))?, 413, "files")?;
    let half = STANDARD.encode(noise(b"", 50_000));
    refused(&send(json!([{"base64": half}, {"base64": half}]))?, 413, "files")?;
    // In the body, its own bound holds.
    let body = agent.post("/v1/messages", &with(json!([{"base64": STANDARD.encode(vec![0; 300_000])}])))?;
    ensure!(body.status == 413 && text(&body.body, "error").contains("262144"), "{body:?}");
    let upload = agent.raw("POST", "/v1/files", &[], &vec![0; 60_001])?;
    refused(&upload, 413, "files")?;
    let voice = agent.post("/v1/messages", &json!({"to": "local:anna", "voice": "a"}))?;
    refused(&voice, 400, "file")?;
    ensure!(agent.queue()?.is_empty());
    let sent = agent.send_and_wait(&json!({"to": "local:anna", "attachments": ["a"]}))?;
    ensure!(sent["state"] == "sent" && sent["sent"] == "1 of 1", "a file needs no text: {sent}");
    ensure!(agent.post("/v1/messages", &json!({"to": "local:anna"}))?.status == 400);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handed_in_file_is_its_callers_alone_and_a_repeated_call_is_one_message() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut fixture = TestHub::start(&config(folder.path())).await?;
    let (agent, other) = (fixture.agent("courier").await?, fixture.agent("other").await?);
    let file = agent.raw("POST", "/v1/files", &[], b"of the courier")?.taken()?["file"].clone();
    let call = with(json!([{"file": file}]));
    refused(&other.post("/v1/messages", &call)?, 400, "file")?;
    ensure!(fixture.anybody(None)?.raw("POST", "/v1/files", &[], b"x")?.status == 401);
    let once = |body: &Value| {
        let body = body.to_string();
        agent.raw("POST", "/v1/messages?wait=30", &[("idempotency-key", "k")], body.as_bytes())
    };
    let first = once(&call)?.taken()?;
    ensure!(once(&call)?.taken()?["id"] == first["id"]);
    let another = agent.raw("POST", "/v1/files", &[], b"another")?.taken()?["file"].clone();
    ensure!(once(&with(json!([{"file": another}])))?.status == 409, "another file is another call");
    ensure!(fixture.operator()?.arrived("anna")?.len() == 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_told_of_every_file_and_its_approval_holds_for_those_bytes_only() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("plan.pdf"), b"%PDF-1.7 the plan")?;
    fs::write(folder.path().join("photo.png"), b"MZ\x90\0 a program")?;
    let mut fixture = TestHub::start(&config(folder.path())).await?;
    let agent = fixture.agent("asker").await?;
    let call = json!({"to": "local:anna", "message": "The plan.", "attachments": [
        {"path": "plan.pdf", "caption": "Read it."}, {"path": "photo.png", "mime": "image/png"},
    ]});
    let held = agent.send(&call)?;
    ensure!(held["state"] == "held", "{held}");
    let id = text(&held, "id");
    let approval = database::approval(&fixture.database()?, id)?;
    let document = Document::decode(&approval.document).map_err(|error| anyhow::anyhow!("{error}"))?;
    let listed: Vec<_> =
        document.attachments.iter().map(|file| (file.name, file.size, file.digest)).collect();
    let digest = |name: &str| Ok::<_, anyhow::Error>(Digest::of(&fs::read(folder.path().join(name))?));
    ensure!(listed == [("plan.pdf", 17, digest("plan.pdf")?), ("photo.png", 14, digest("photo.png")?)]);
    ensure!(document.attachments[0].kind == "application/pdf" && document.attachments[1].kind != "image/png");
    ensure!(document.parts[1].text == "Read it.\n[file, application/pdf, 17 bytes] plan.pdf");
    ensure!(document.parts[2].text.contains("said to be image/png"), "{:?}", document.parts[2].text);
    // Nobody approves on a device what it cannot show.
    let error = fixture.decide(Verdict::Approve).await.err().context("it was approved")?;
    ensure!(error.to_string().contains("files"), "{error}");
    fixture.decide(Verdict::Deny).await?;
    agent.ended(id, "denied")?;

    fixture.approve_unseen_files();
    fixture.restart().await?;
    let agent = fixture.agent("asker").await?;
    let held = agent.send(&call)?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&fixture, text(&sent, "id"), &seen)?;
    ensure!(parts.len() == 3 && parts[1].request.contains(&digest("plan.pdf")?.to_string()), "{parts:?}");
    ensure!(seen.pages.concat().contains("plan.pdf"), "{:?}", seen.pages);

    // Between the approval and the sending, somebody exchanges the file for another.
    let mut call = call;
    call["message"] = "The plan, once more.".into();
    let held = agent.send(&call)?;
    let id = text(&held, "id").to_owned();
    let row = database::approval(&fixture.database()?, &id)?.request;
    ensure!(row != approval.request);
    let path = fixture.data_dir().join("files").join(digest("plan.pdf")?.to_string());
    fs::write(&path, b"%PDF-1.7 a worm..")?;
    fixture.decide(Verdict::Approve).await?;
    let failed = agent.ended(&id, "failed")?;
    ensure!(text(&failed, "error").contains("changed") && failed["sent"] == "1 of 3", "{failed}");
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_beside_a_file_passes_the_same_hook_as_the_text() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let hook = "[hooks.secrets]\non = \"message_sending\"\nbuiltin = \"secrets\"\n";
    let mut fixture = TestHub::start(&format!("{}{hook}", config(folder.path()))).await?;
    let agent = fixture.agent("courier").await?;
    let token = format!("gp_{}", "ab".repeat(32));
    for beside in ["caption", "name"] {
        let file = json!({"base64": "aGk=", beside: token});
        let failed = agent.send_and_wait(&with(json!([file])))?;
        ensure!(failed["state"] == "failed" && text(&failed, "error").contains("secrets"), "{failed}");
    }
    let sent = agent.send_and_wait(&with(json!([{"base64": "aGk=", "caption": "no token"}])))?;
    ensure!(sent["state"] == "sent", "{sent}");
    Ok(())
}

/// A hub that goes on with a message when a file is there, and stands still until then.
fn gated(folder: &Path) -> String {
    let wait = format!(
        "while [ ! -e {}/go ]; do sleep 0.05; done; echo '{{\\\"action\\\": \\\"pass\\\"}}'",
        folder.display()
    );
    format!(
        "[queue]\nretention = \"1s\"\n[files]\nallow_private_urls = [\"127.0.0.1\"]\n{}\
         [hooks.gate]\non = \"message_sending\"\ntimeout = \"2m\"\ncommand = [\"/bin/sh\", \"-c\", \"{wait}\"]\n",
        config(folder)
    )
}

#[test]
fn a_hub_that_is_killed_sends_the_file_after_its_restart_and_lets_it_go_with_its_message() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let picture = noise(PNG, 200_000);
    fs::write(folder.path().join("a.png"), &picture)?;
    let mut hub = SpawnedHub::start(&gated(folder.path()))?;
    let agent = hub.agent("courier")?;
    // Its receipt comes while the message stands before the hook.
    let id = accepted_while_gated(&agent, &with(json!([{"path": "a.png"}])))?;
    hub.kill()?;
    fs::remove_file(folder.path().join("a.png"))?;
    fs::write(folder.path().join("go"), "")?;
    hub.run()?;
    let hash = Digest::of(&picture).to_string();
    let arrived = eventually("it arrives", || {
        let arrived = hub.operator()?.arrived("anna")?;
        Ok((arrived.len() == 2).then_some(arrived))
    })?;
    ensure!(text(&arrived[1]["attachment"], "sha256") == hash, "{arrived:?}");
    ensure!(fs::read(hub.data_dir().join("files").join(&hash))? == picture);
    // The message is past its retention at once; what arrived in the hub stays, and so does its file.
    eventually("its retention is over", || {
        Ok((agent.get(&format!("/v1/messages/{id}"))?.status == 404).then_some(()))
    })?;
    thread::sleep(Duration::from_secs(3));
    ensure!(staged(&hub.data_dir())? == [hash.as_str()]);
    let db = rusqlite::Connection::open(hub.data_dir().join("gatepost.db"))?;
    db.execute("DELETE FROM local", [])?;
    eventually("the file goes", || Ok(staged(&hub.data_dir())?.is_empty().then_some(())))
}

/// Hands a message in without waiting for its receipt, and says its id once it is written down.
fn accepted_while_gated(agent: &Client, call: &Value) -> Result<String> {
    let (sender, call) = (agent.clone(), call.clone());
    thread::spawn(move || sender.post("/v1/messages", &call));
    eventually("it is accepted", || {
        let message = agent.queue()?.pop().filter(|message| message["state"] == "accepted");
        Ok(message.map(|message| text(&message, "id").to_owned()))
    })
}

#[test]
fn a_crash_between_staging_and_accepting_leaves_nothing_behind() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("go"), "")?;
    fs::write(folder.path().join("whole.txt"), "staged whole")?;
    let stalls = server("127.0.0.1", |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it");
        thread::sleep(Duration::from_secs(15));
    })?;
    let mut hub = SpawnedHub::start(&gated(folder.path()))?;
    let agent = hub.agent("courier")?;
    let call = with(json!([{"path": "whole.txt"}, {"url": stalls}]));
    let sender = agent.clone();
    thread::spawn(move || sender.post("/v1/messages", &call));
    let whole = Digest::of(b"staged whole").to_string();
    eventually("one file is whole and the other half there", || {
        let names = staged(&hub.data_dir())?;
        let half = names.iter().any(|name| name.starts_with('.'));
        Ok((names.contains(&whole) && half).then_some(()))
    })?;
    // As long as somebody stages it, no sweep takes it.
    thread::sleep(Duration::from_secs(3));
    ensure!(staged(&hub.data_dir())?.len() == 2);
    hub.kill()?;
    ensure!(staged(&hub.data_dir())?.len() == 2, "there is something to sweep");
    hub.run()?;
    ensure!(staged(&hub.data_dir())?.iter().all(|name| !name.starts_with('.')));
    eventually("nothing is left", || Ok(staged(&hub.data_dir())?.is_empty().then_some(())))?;
    ensure!(agent.queue()?.is_empty());
    Ok(())
}

#[test]
fn a_file_that_is_gone_when_it_is_to_be_sent_fails_its_message_for_good() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("a.txt"), "here today")?;
    let hub = SpawnedHub::start(&gated(folder.path()).replace("retention = \"1s\"\n", ""))?;
    let agent = hub.agent("courier")?;
    let id = accepted_while_gated(&agent, &with(json!([{"path": "a.txt"}])))?;
    fs::remove_file(hub.data_dir().join("files").join(Digest::of(b"here today").to_string()))?;
    fs::write(folder.path().join("go"), "")?;
    let failed = agent.ended(&id, "failed")?;
    ensure!(failed["code"] == "execution_failed" && failed["sent"] == "1 of 2", "{failed}");
    ensure!(text(&failed, "error").contains("not in the hub's files any more"), "{failed}");
    ensure!(agent.told_of(&id)?["state"] == "failed");
    Ok(())
}
