//! Another configuration without a restart: all of it or nothing, by SIGHUP, by `gatepost reload` and over HTTP.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{COURIER, Client, SpawnedHub, TestHub, client::text, eventually, gatepost, webhook},
    mocks::{Answer, MockServer},
};
use serde_json::{Value, json};

/// The lines of addresses and folders that stand before a configuration.
const OWN: usize = 5;

/// A figure of the hub.
fn figure(hub: &SpawnedHub, sample: &str) -> Result<f64> {
    hub.operator()?.figure(sample)?.with_context(|| format!("no {sample}"))
}

/// How many reloads were `taken` or `refused`.
fn reloads(hub: &SpawnedHub, result: &str) -> Result<f64> {
    figure(hub, &format!("gatepost_config_reloads_total{{result=\"{result}\"}}"))
}

/// Sends one to the webhook that is answered "later", and waits for the first attempt; its id.
fn waiting(server: &MockServer, agent: &Client) -> Result<String> {
    let before = server.heard().len();
    server.next([Answer::With(503, "Retry-After: 3", json!({"error": "later"}))]);
    let sent = agent.send(&json!({"to": "webhook:kitchen", "message": "Tea?"}))?;
    eventually("the first attempt", || Ok((server.heard().len() == before + 1).then_some(())))?;
    Ok(text(&sent, "id").to_owned())
}

fn changed(hub: &SpawnedHub) -> Result<Value> {
    Ok(serde_json::from_str(&hub.cli(&["reload", "--json"])?.well()?)?)
}

#[test]
fn an_entry_that_is_gone_refuses_the_next_message_and_ends_the_one_that_waits() -> Result<()> {
    let (server, secrets) = (MockServer::saying(json!({"id": "7"}))?, tempfile::tempdir()?);
    let config = format!("{COURIER}{}", webhook(secrets.path(), &server.url())?);
    let hub = SpawnedHub::start(&config)?;
    let agent = hub.agent("courier")?;
    let id = waiting(&server, &agent)?;
    hub.configure(&config.replace("webhook:*", "webhook:cellar"))?;
    hub.hang_up()?;
    eventually("the hub has read it", || Ok((reloads(&hub, "taken")? == 1.0).then_some(())))?;
    let refused = agent.post("/v1/messages", &json!({"to": "webhook:kitchen", "message": "And now?"}))?;
    ensure!(refused.body["reason"] == "not_allowed", "{refused:?}");
    let failed = agent.ended(&id, "failed")?;
    ensure!(failed["code"] == "not_allowed", "{failed}");
    ensure!(agent.told_of(&id)?["code"] == "not_allowed", "the agent was told something else");
    ensure!(server.heard().len() == 1, "it was sent after all");
    let sent = agent.send_and_wait(&json!({"to": "webhook:cellar", "message": "Wine?"}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    Ok(())
}

#[test]
fn an_agent_that_is_gone_may_send_nothing_more_with_its_token() -> Result<()> {
    let hub = SpawnedHub::start(COURIER)?;
    let agent = hub.agent("courier")?;
    agent.send(&json!({"to": "local:ann", "message": "While I may."}))?;
    hub.configure(&COURIER.replace("agents.courier", "agents.heir"))?;
    ensure!(changed(&hub)?["changed"] == json!(["agents.courier", "agents.heir"]));
    let refused = agent.post("/v1/messages", &json!({"to": "local:ann", "message": "And now?"}))?;
    ensure!(refused.status == 400 && refused.body["reason"] == "not_allowed", "{refused:?}");
    ensure!(text(&refused.body, "hint").contains("gatepost reload"), "{refused:?}");
    let heir = hub.agent("heir")?.send_and_wait(&json!({"to": "local:ann", "message": "I may."}))?;
    ensure!(heir["state"] == "sent", "{heir}");
    Ok(())
}

#[test]
fn an_account_comes_and_goes_without_a_restart() -> Result<()> {
    let (server, secrets) = (MockServer::saying(json!({"id": "7"}))?, tempfile::tempdir()?);
    let hub = SpawnedHub::start(COURIER)?;
    let agent = hub.agent("courier")?;
    let refused = agent.post("/v1/messages", &json!({"to": "webhook:kitchen", "message": "Early."}))?;
    ensure!(refused.body["reason"] == "no_account", "{refused:?}");
    let config =
        format!("{COURIER}{}[book]\ncook = \"webhook:kitchen\"\n", webhook(secrets.path(), &server.url())?);
    hub.configure(&config)?;
    let answer = changed(&hub)?;
    ensure!(answer["changed"] == json!(["book.cook", "channels.webhook.home"]), "{answer}");
    let sent = agent.send_and_wait(&json!({"to": "cook", "message": "Now."}))?;
    ensure!(sent["state"] == "sent" && sent["to"] == "webhook:kitchen", "{sent}");
    let id = waiting(&server, &agent)?;
    hub.configure(COURIER)?;
    hub.cli(&["reload"])?.well()?;
    // As after a restart without it.
    let failed = agent.ended(&id, "failed")?;
    ensure!(failed["code"] == "execution_failed" && text(&failed, "error").contains("webhook"), "{failed}");
    ensure!(server.heard().len() == 2, "{:?}", server.heard());
    Ok(())
}

#[test]
fn a_file_that_is_not_valid_changes_nothing_and_the_error_names_its_line() -> Result<()> {
    let hub = SpawnedHub::start(COURIER)?;
    let (agent, operator) = (hub.agent("courier")?, hub.operator()?);
    let more = "[agents.other]\nallow = [\"local:*\"]\n";
    let lines = OWN + COURIER.lines().count();
    let mut refused = 0.0;
    for (broken, line, says) in [
        ("[agents.x\n", lines + 3, ""),
        ("[agents.x]\ncross_contxt = \"allow\"\n", lines + 4, "did you mean `cross_context`"),
        ("[agents.x]\nhold = [\"emial:*\"]\n", lines + 4, "no channel"),
        ("[book]\nann = \"ann\"\n", lines + 4, "book.ann"),
        ("[agents.x]\nallow = [\"local:ann#5\"]\n", lines + 4, "without a thread"),
        ("[agents.x.accounts]\nlocal = \"attic\"\n", lines + 3, "attic"),
        ("[channels.telegram.home]\ntoken = \"file:/nowhere/token\"\n", lines + 3, "/nowhere/token"),
        (
            "[hooks.h]\non = \"message_sent\"\nurl = \"http://[::1]:1/\"\ntoken = \"file:/nowhere/h\"\n",
            lines + 6,
            "/nowhere/h",
        ),
    ] {
        hub.configure(&format!("{COURIER}{more}{broken}"))?;
        let at = format!("gatepost.toml:{line}: ");
        let answer = operator.post("/v1/reload", &json!({}))?;
        let error = text(&answer.body, "error");
        ensure!(answer.status == 400 && answer.body["reason"] == "configuration", "{broken}: {answer:?}");
        ensure!(error.contains(&at) && error.contains(says), "{broken}: {at} {answer:?}");
        let ended = hub.cli(&["reload"])?;
        ensure!(ended.status == 1 && ended.stderr.contains(&at), "{broken}: {ended:?}");
        refused += 1.0;
        ensure!(reloads(&hub, "refused")? >= refused, "{broken}: it was not counted");
        ensure!(figure(&hub, "gatepost_config_last_reload_successful")? == 0.0, "{broken}");
        // The part that is valid was not taken either.
        let other = operator.get("/v1/tools").is_ok()
            && operator
                .post(
                    "/v1/inbound",
                    &json!({"agent": "other", "channel": "local", "peer": "ann", "text": "?"}),
                )?
                .status
                == 201;
        ensure!(!other, "{broken}: half of it was taken");
        let sent = agent.send_and_wait(&json!({"to": "local:ann", "message": format!("After {broken}")}))?;
        ensure!(sent["state"] == "sent", "{sent}");
    }
    // For a signal, the log says it.
    let before = reloads(&hub, "refused")?;
    hub.hang_up()?;
    eventually("it was refused", || Ok((reloads(&hub, "refused")? == before + 1.0).then_some(())))?;
    eventually("the log says so", || {
        let log = hub.log()?;
        let said = log.lines().any(|line| line.contains("the old one holds") && line.contains("operator"));
        Ok(said.then_some(()))
    })?;
    hub.configure(COURIER)?;
    let printed = hub.cli(&["reload"])?.well()?;
    ensure!(printed == "nothing changed\n", "{printed}");
    ensure!(figure(&hub, "gatepost_config_last_reload_successful")? == 1.0);
    Ok(())
}

#[test]
fn what_needs_a_restart_is_named_until_there_was_one() -> Result<()> {
    let mut hub = SpawnedHub::start(COURIER)?;
    let config =
        format!("{COURIER}[queue]\nmax_messages = 1000\nretention = \"48h\"\n[voice]\nenabled = false\n");
    hub.configure(&config)?;
    let answer = changed(&hub)?;
    ensure!(answer["changed"] == json!(["queue.max_messages"]), "{answer}");
    ensure!(answer["at_next_start"] == json!(["queue.retention", "voice"]), "{answer}");
    let printed = hub.cli(&["reload"])?.well()?;
    let wanted =
        "nothing changed\nthese keys changed and take effect at the next start: queue.retention, voice\n";
    ensure!(printed == wanted, "{printed}");
    let row = hub.cli(&["audit", "show", "--json"])?.well()?;
    ensure!(row.contains("configuration.reloaded") && row.contains("queue.max_messages"), "{row}");
    hub.terminate()?;
    hub.run()?;
    ensure!(changed(&hub)? == json!({"ok": true, "changed": [], "at_next_start": []}));
    hub.cli(&["audit", "verify"])?.well()?;
    Ok(())
}

#[test]
fn only_the_operator_may_have_the_configuration_read() -> Result<()> {
    let hub = SpawnedHub::start(COURIER)?;
    let agent = hub.agent("courier")?;
    ensure!(agent.post("/v1/reload", &json!({}))?.status == 403);
    ensure!(hub.anybody(None).post("/v1/reload", &json!({}))?.status == 401);
    ensure!(reloads(&hub, "taken")? == 0.0);
    Ok(())
}

#[test]
fn an_account_that_changes_ends_what_it_began_before_the_new_one_goes_on_in_the_lane() -> Result<()> {
    let (release, released) = mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let old = MockServer::open(move |_| {
        // Whoever holds the other end lets it answer.
        let _ = released.lock().map(|released| released.recv());
        (200, json!({}))
    })?;
    let (new, secrets) = (MockServer::saying(json!({}))?, tempfile::tempdir()?);
    let config = |server: &MockServer| {
        Ok::<_, anyhow::Error>(format!("{COURIER}{}", webhook(secrets.path(), &server.url())?))
    };
    let hub = SpawnedHub::start(&config(&old)?)?;
    let agent = hub.agent("courier")?;
    let first = agent.send(&json!({"to": "webhook:kitchen", "message": "First."}))?;
    eventually("it is on its way", || Ok((old.heard().len() == 1).then_some(())))?;
    hub.configure(&config(&new)?)?;
    hub.cli(&["reload"])?.well()?;
    let second = agent.send(&json!({"to": "webhook:kitchen", "message": "Second."}))?;
    let elsewhere = agent.send_and_wait(&json!({"to": "webhook:cellar", "message": "Elsewhere."}))?;
    ensure!(elsewhere["state"] == "sent", "{elsewhere}");
    ensure!(new.heard().len() == 1, "the second overtook the first, or the first went twice");
    release.send(())?;
    for receipt in [&first, &second] {
        agent.ended(text(receipt, "id"), "sent")?;
    }
    ensure!(old.heard().len() == 1 && new.heard().len() == 2);
    ensure!(String::from_utf8_lossy(&new.heard()[1].body).contains("Second."));
    Ok(())
}

#[test]
fn what_waits_is_not_sent_by_an_account_that_a_reload_leads_to_another_server() -> Result<()> {
    let (old, new) = (MockServer::saying(json!({}))?, MockServer::saying(json!({}))?);
    let secrets = tempfile::tempdir()?;
    let config = |server: &MockServer| {
        Ok::<_, anyhow::Error>(format!("{COURIER}{}", webhook(secrets.path(), &server.url())?))
    };
    let hub = SpawnedHub::start(&config(&old)?)?;
    let agent = hub.agent("courier")?;
    let id = waiting(&old, &agent)?;
    hub.configure(&config(&new)?)?;
    hub.cli(&["reload"])?.well()?;
    let failed = agent.ended(&id, "failed")?;
    let error = text(&failed, "error");
    ensure!(failed["code"] == "account_changed", "{failed}");
    ensure!(error.contains("channels.webhook.home") && error.contains("submit it anew"), "{failed}");
    ensure!(agent.told_of(&id)?["code"] == "account_changed", "the agent was told something else");
    // An operator's retry does not lead it there either.
    hub.cli(&["queue", "retry", &id])?.well()?;
    agent.ended(&id, "failed")?;
    ensure!(old.heard().len() == 1 && new.heard().is_empty(), "it was sent after all");
    let anew = agent.send_and_wait(&json!({"to": "webhook:kitchen", "message": "Tea, there?"}))?;
    ensure!(anew["state"] == "sent" && new.heard().len() == 1, "{anew}");
    Ok(())
}

#[test]
fn what_waits_is_sent_by_an_account_that_stays_the_same_but_for_its_secret() -> Result<()> {
    let (server, secrets) = (MockServer::saying(json!({}))?, tempfile::tempdir()?);
    let config = format!("{COURIER}{}", webhook(secrets.path(), &server.url())?);
    let hub = SpawnedHub::start(&config)?;
    let agent = hub.agent("courier")?;
    let id = waiting(&server, &agent)?;
    fs::write(secrets.path().join("secret"), "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3")?;
    ensure!(changed(&hub)?["changed"] == json!(["channels.webhook.home"]));
    agent.ended(&id, "sent")?;
    ensure!(server.heard().len() == 2, "{:?}", server.heard());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_approved_is_not_sent_by_an_account_that_a_restart_leads_to_another_server()
-> Result<()> {
    let (old, new) = (MockServer::saying(json!({}))?, MockServer::saying(json!({}))?);
    let secrets = tempfile::tempdir()?;
    let asks = COURIER.replace("cross_context = \"allow\"", "cross_context = \"hold\"")
        + "[approval]\nallow_software_companion = true\n";
    let config = |server: &MockServer| {
        Ok::<_, anyhow::Error>(format!("{asks}{}", webhook(secrets.path(), &server.url())?))
    };
    let mut fixture = TestHub::start(&config(&old)?).await?;
    let agent = fixture.agent("courier").await?;
    old.next([Answer::With(503, "Retry-After: 3", json!({"error": "later"}))]);
    let held = agent.send(&json!({"to": "webhook:kitchen", "message": "Tea?"}))?;
    ensure!(held["state"] == "held", "{held}");
    fixture.decide(Verdict::Approve).await?;
    eventually("the first attempt", || Ok((old.heard().len() == 1).then_some(())))?;
    let token = agent.token().to_owned();
    fixture.stop().await;

    let mut hub = SpawnedHub::at_rest(Arc::clone(fixture.folder()), &config(&new)?)?;
    hub.run()?;
    let failed = hub.anybody(Some(&token)).ended(text(&held, "id"), "failed")?;
    ensure!(failed["code"] == "account_changed", "{failed}");
    ensure!(new.heard().is_empty() && old.heard().len() == 1, "it was sent after all");
    hub.cli(&["audit", "verify"])?.well()?;
    hub.kill()
}

#[test]
fn a_secret_that_was_renewed_in_its_file_is_used_after_a_reload() -> Result<()> {
    let (server, secrets) = (MockServer::saying(json!({}))?, tempfile::tempdir()?);
    let config = format!("{COURIER}{}", webhook(secrets.path(), &server.url())?);
    let hub = SpawnedHub::start(&config)?;
    ensure!(changed(&hub)?["changed"] == json!([]));
    fs::write(secrets.path().join("secret"), "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3")?;
    ensure!(changed(&hub)?["changed"] == json!(["channels.webhook.home"]));
    Ok(())
}

#[test]
fn a_file_that_is_a_pipe_refuses_the_reload_and_is_named() -> Result<()> {
    let files = tempfile::tempdir()?;
    let pipe = files.path().join("pipe");
    ensure!(Command::new("mkfifo").args(["-m", "600"]).arg(&pipe).status()?.success());
    let hub = SpawnedHub::start(COURIER)?;
    let pipe = pipe.display();
    let mail = "[channels.email.home]\nhost = \"127.0.0.1\"\nport = 9\nfrom = \"hub@hub.test\"\n";
    for named in [
        // They follow [broker], where the test's own part ends.
        format!("password = \"file:{pipe}\"\nuser = \"hub\"\nurl = \"mqtt://127.0.0.1:9\"\n{COURIER}"),
        format!("ca = \"{pipe}\"\nurl = \"mqtts://127.0.0.1:9\"\n{COURIER}"),
        format!("{COURIER}[channels.webhook.home]\nurl = \"http://127.0.0.1:9\"\nsecret = \"file:{pipe}\"\n"),
        format!("{COURIER}[channels.telegram.home]\ntoken = \"file:{pipe}\"\n"),
        format!("{COURIER}{mail}ca_file = \"{pipe}\"\n"),
        format!(
            "{COURIER}[hooks.h]\non = \"message_sent\"\nurl = \"http://127.0.0.1:9/\"\ntoken = \"file:{pipe}\"\n"
        ),
        format!("{COURIER}[voice]\nurl = \"http://127.0.0.1:9/\"\ntoken = \"file:{pipe}\"\n"),
    ] {
        hub.configure(&named)?;
        let ended = hub.cli(&["reload"])?;
        let says = format!("{pipe} is a pipe: put a regular file there");
        ensure!(ended.status == 1 && ended.stderr.contains(&says), "{named}: {ended:?}");
    }
    hub.configure(COURIER)?;
    let own = fs::read_to_string(hub.config())?;
    fs::write(hub.config(), own.replace("[hub]\n", &format!("[hub]\nallowlists = \"{pipe}\"\n")))?;
    let ended = hub.cli(&["reload"])?;
    ensure!(ended.status == 1 && ended.stderr.contains("is a pipe"), "{ended:?}");
    // The file itself, for every command that reads it.
    let ended = gatepost(&["--config", &pipe.to_string(), "check"], b"", &[])?;
    ensure!(ended.status == 1 && ended.stderr.contains("is a pipe"), "{ended:?}");
    hub.configure(COURIER)?;
    hub.cli(&["reload"])?.well()?;
    Ok(())
}

#[test]
fn a_secret_of_kubernetes_is_taken_and_changes_with_its_volume() -> Result<()> {
    let volume = tempfile::tempdir()?;
    let at = |name: &str| volume.path().join(name);
    // As kubelet's atomic writer lays it out: FILE -> ..data/FILE, ..data -> ..TIME, which is replaced whole.
    let write = |folder: &str, secret: &str| -> Result<()> {
        fs::create_dir(at(folder))?;
        fs::write(at(folder).join("secret"), secret)?;
        fs::set_permissions(at(folder).join("secret"), fs::Permissions::from_mode(0o400))?;
        symlink(folder, at("..data_tmp"))?;
        Ok(fs::rename(at("..data_tmp"), at("..data"))?)
    };
    write("..2026_01", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")?;
    symlink("..data/secret", at("secret"))?;
    let secret = at("secret");
    let account = format!("url = \"http://127.0.0.1:9\"\nsecret = \"file:{}\"\n", secret.display());
    let hub = SpawnedHub::start(&format!("{COURIER}[channels.webhook.home]\n{account}"))?;
    write("..2026_02", "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3")?;
    ensure!(changed(&hub)?["changed"] == json!(["channels.webhook.home"]));
    // Kubernetes' own default, 0644, is everybody's.
    fs::set_permissions(volume.path(), fs::Permissions::from_mode(0o755))?;
    fs::set_permissions(at("..2026_02/secret"), fs::Permissions::from_mode(0o644))?;
    let ended = hub.cli(&["reload"])?;
    ensure!(ended.status == 1 && ended.stderr.contains("everybody on this machine"), "{ended:?}");
    Ok(())
}

#[test]
fn a_hub_that_uses_another_data_directory_is_told_from_one_that_is_away() -> Result<()> {
    let hub = SpawnedHub::start(COURIER)?;
    let agent = hub.agent("courier")?;
    let token = hub.operator()?.token().to_owned();
    let own = fs::read_to_string(hub.config())?;
    let name = |directory: &str| {
        fs::write(hub.config(), own.replace("data_dir = \"data\"", &format!("data_dir = \"{directory}\"")))
    };
    let elsewhere = hub.folder().path().join("elsewhere");
    name("elsewhere")?;
    let commands: [&[&str]; 4] = [
        &["reload"],
        &["queue", "list"],
        &["companion", "list"],
        &["send", "--as-operator", "--to", "local:ann", "Hi"],
    ];
    for command in commands {
        let ended = hub.cli(command)?;
        let says = format!("{}/operator.token", elsewhere.display());
        ensure!(ended.status == 4 && ended.stderr.contains(&says), "{command:?}: {ended:?}");
        ensure!(ended.stderr.contains("another [hub] data_dir"), "{command:?}: {ended:?}");
    }
    // With a token it is found, and it does not pretend that it could move.
    let ended = hub.cli_with(&["reload"], b"", &[("GATEPOST_TOKEN", &token)])?;
    ensure!(
        ended.status == 1 && ended.stderr.contains("gatepost.toml:2: hub.data_dir needs a restart"),
        "{ended:?}"
    );
    hub.cli_with(&["queue", "list"], b"", &[("GATEPOST_TOKEN", &token)])?.well()?;
    // No token is made where the hub does not look.
    for command in [&["agent", "add", "heir"][..], &["agent", "list"], &["agent", "revoke", "courier"]] {
        let ended = hub.cli(command)?;
        let says = format!("does not use the data directory {}", elsewhere.display());
        ensure!(ended.status == 1 && ended.stderr.contains(&says), "{command:?}: {ended:?}");
    }
    ensure!(!elsewhere.exists(), "a data directory was made");
    // The directory of another hub, whose token this one does not know.
    fs::create_dir(&elsewhere)?;
    fs::write(elsewhere.join("operator.token"), format!("gp_{}", "5".repeat(64)))?;
    for command in commands {
        let ended = hub.cli(command)?;
        let says = format!("does not use the data directory {}", elsewhere.display());
        ensure!(ended.status == 1 && ended.stderr.contains(&says), "{command:?}: {ended:?}");
    }
    // Another spelling of the same directory is no other.
    name("./data/../data")?;
    hub.cli(&["reload"])?.well()?;
    let sent = agent.send_and_wait(&json!({"to": "local:ann", "message": "Still here."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    Ok(())
}

const LANES: usize = 4;
const RELOADS: usize = 100;
/// After these, what a reload leaves behind would show.
const WARM: usize = 20;
/// What the hub may hold more after the last reload than after the first ones, in bytes.
const GROWTH: f64 = 8.0 * 1024.0 * 1024.0;

/// Sends one after the other to a lane of the webhook until it is told to stop; how many.
fn stream(agent: &Client, lane: usize, stop: &AtomicBool) -> Result<usize> {
    let mut sent = 0;
    while !stop.load(Ordering::SeqCst) {
        let message = format!("lane {lane} message {sent}.");
        agent.send(&json!({"to": format!("webhook:lane-{lane}"), "message": message}))?;
        sent += 1;
    }
    Ok(sent)
}

#[test]
fn a_hundred_reloads_in_a_stream_of_messages_lose_and_double_none_and_leave_nothing_behind() -> Result<()> {
    let (server, secrets) = (MockServer::saying(json!({}))?, tempfile::tempdir()?);
    // Every time the account is opened anew, with another secret; and another agent.
    let config = |n: usize| {
        fs::write(secrets.path().join("secret"), format!("whsec_{n:0>32}"))?;
        let account = webhook(secrets.path(), &server.url())?;
        Ok::<_, anyhow::Error>(format!(
            "{COURIER}{account}[agents.number-{n}]\nallow = [\"local:*\"]\n[book]\nname-{n} = \"local:ann\"\n"
        ))
    };
    let hub = SpawnedHub::start(&config(0)?)?;
    let (agent, operator) = (hub.agent("courier")?, hub.operator()?);
    let stop = Arc::new(AtomicBool::new(false));
    let senders: Vec<_> = (0..LANES)
        .map(|lane| {
            let (agent, stop) = (agent.clone(), Arc::clone(&stop));
            thread::spawn(move || stream(&agent, lane, &stop))
        })
        .collect();
    let mut warm = 0.0;
    for n in 1..=RELOADS {
        hub.configure(&config(n)?)?;
        match n % 2 {
            0 => hub.hang_up()?,
            _ => drop(operator.post("/v1/reload", &json!({}))?.taken()?),
        }
        eventually("it was read", || Ok((reloads(&hub, "taken")? == n as f64).then_some(())))?;
        if n == WARM {
            warm = figure(&hub, "process_resident_memory_bytes")?;
        }
    }
    let grown = figure(&hub, "process_resident_memory_bytes")? - warm;
    stop.store(true, Ordering::SeqCst);
    let sent: Vec<usize> = senders
        .into_iter()
        .map(|sender| sender.join().map_err(|_| anyhow!("a sender panicked"))?)
        .collect::<Result<_>>()?;
    eventually("all have come to an end", || {
        let depth = figure(&hub, "gatepost_queue_text_bytes")?;
        Ok((depth == 0.0).then_some(()))
    })?;
    let mut arrived: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for request in server.heard() {
        let body = request.json();
        let words = text(&body["data"], "text").trim().to_owned();
        let lane = words.split(" message").next().context("a lane")?.to_owned();
        arrived.entry(lane).or_default().push(words);
    }
    for (lane, sent) in sent.iter().enumerate() {
        let wanted: Vec<String> = (0..*sent).map(|n| format!("lane {lane} message {n}.")).collect();
        let got = arrived.remove(&format!("lane {lane}")).unwrap_or_default();
        ensure!(*sent > 0 && got == wanted, "lane {lane}: {sent} were sent; {} arrived", got.len());
    }
    println!("{} messages, {RELOADS} reloads, {grown} bytes more", sent.iter().sum::<usize>());
    ensure!(grown < GROWTH, "after {RELOADS} reloads the hub holds {grown} bytes more");
    Ok(())
}
