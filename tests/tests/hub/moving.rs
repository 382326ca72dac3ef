//! A hub that moves: a backup of it while it runs, put back on another card.
//!
//! Installed by `tests/run --setup-only`: pyrage.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{SpawnedHub, TestHub, agents, client::text, eventually, gatepost, program::program},
    main_job,
    peers::python,
};
use serde_json::json;
use tempfile::TempDir;

const PASSPHRASE: &str = "a long way to the new house";

/// A mail server that is away, and a hook with a secret beside the configuration.
fn config() -> String {
    let away = "[channels.email.away]\nhost = \"127.0.0.1\"\nport = 1\nfrom = \"hub@example.org\"\n";
    let door = "[channels.webhook.door]\nurl = \"http://127.0.0.1:1/\"\nsecret = \"file:door.secret\"\n";
    agents(&format!("{away}{door}"))
}

/// A file that its owner alone can read.
fn private(path: &Path, content: &str) -> Result<()> {
    fs::write(path, content)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o600))?)
}

fn secret() -> String {
    format!("whsec_{}", STANDARD.encode([7; 32]))
}

/// What is beside a hub: its secret, the passphrase, and where the backup goes.
struct Beside {
    backup: PathBuf,
    passphrase: PathBuf,
}

impl Beside {
    fn new(folder: &Path) -> Result<Self> {
        private(&folder.join("door.secret"), &secret())?;
        let beside = Self { backup: folder.join("hub.backup"), passphrase: folder.join("passphrase") };
        private(&beside.passphrase, &format!("{PASSPHRASE}\n"))?;
        Ok(beside)
    }

    fn backup(&self) -> &str {
        self.backup.to_str().expect("a temporary folder is UTF-8")
    }

    fn passphrase(&self) -> &str {
        self.passphrase.to_str().expect("a temporary folder is UTF-8")
    }

    fn with_keys(&self, hub: &SpawnedHub) -> Result<()> {
        let arguments = ["backup", self.backup(), "--with-keys", "--passphrase-file", self.passphrase()];
        let made = hub.cli(&arguments)?;
        ensure!(made.stdout.trim() == self.backup() && made.stderr.contains("sealed"), "{made:?}");
        made.well().map(drop)
    }
}

/// Another machine, with the configuration and no data.
fn elsewhere() -> Result<SpawnedHub> {
    let folder = Arc::new(tempfile::tempdir()?);
    private(&folder.path().join("door.secret"), &secret())?;
    SpawnedHub::at_rest(folder, &config())
}

#[test]
fn a_hub_goes_on_elsewhere_from_a_backup_with_keys_and_sends_nothing_by_itself() -> Result<()> {
    let folder = Arc::new(tempfile::tempdir()?);
    let beside = Beside::new(folder.path())?;
    let mut hub = SpawnedHub::at_rest(folder, &config())?;
    hub.run()?;
    let (courier, engineer) = (hub.agent("courier")?, hub.agent("engineer")?);
    let sent = courier.send_and_wait(&json!({"to": "local:team", "message": "Arrived."}))?;
    let held = engineer.send(&json!({"to": "local:team", "message": "Held."}))?;
    let waits = courier.send(&json!({"to": "email:ann@example.org", "message": "Waits.", "attachments": [
        {"base64": STANDARD.encode("a,b\n1,2\n"), "name": "figures.csv", "mime": "text/csv"},
    ]}))?;
    let [sent, held, waits] = [&sent, &held, &waits].map(|message| text(message, "id").to_owned());
    eventually("its server is away, so it waits for its next attempt", || {
        let message = courier.message(&waits)?;
        Ok((message["state"] == "ready" && message["attempts"] == 1).then_some(()))
    })?;
    let file = text(&courier.message(&waits)?["attachments"][0], "sha256").to_owned();
    beside.with_keys(&hub)?;
    ensure!(fs::metadata(&beside.backup)?.permissions().mode() & 0o777 == 0o600);
    // What happens after it is not in it.
    let later =
        text(&courier.send_and_wait(&json!({"to": "local:team", "message": "Later."}))?, "id").to_owned();
    let keys = |hub: &SpawnedHub| -> Result<[Vec<u8>; 3]> {
        let read = |name| fs::read(hub.data_dir().join(name));
        Ok([read("hub.key")?, read("hub.seal")?, read("operator.token")?])
    };
    let before = keys(&hub)?;
    hub.terminate()?;

    let mut other = elsewhere()?;
    // It ran once, as a new card's hub does: then it has keys and an audit of its own.
    other.run()?;
    let own = keys(&other)?;
    let running = other.cli(&["restore", beside.backup(), "--passphrase-file", beside.passphrase()])?;
    ensure!(running.status == 1 && running.stderr.contains("in use by process"), "{running:?}");
    other.terminate()?;
    let undecided = other.cli(&["restore", beside.backup(), "--passphrase-file", beside.passphrase()])?;
    ensure!(undecided.status == 1 && undecided.stderr.contains("--access keep"), "{undecided:?}");
    ensure!(keys(&other)? == own && !other.data_dir().join("restored.part").exists(), "it was touched");
    let arguments =
        ["restore", beside.backup(), "--access", "keep", "--passphrase-file", beside.passphrase()];
    let restored = other.cli(&arguments)?;
    ensure!(restored.stderr.contains("start one hub alone"), "{restored:?}");
    ensure!(!restored.stderr.contains("pair all companions again"), "{restored:?}");
    restored.well()?;
    ensure!(keys(&other)? == before, "the keys did not come along");
    let replaced = fs::read_dir(other.data_dir())?.filter_map(Result::ok);
    let replaced = replaced.map(|entry| entry.path().join("hub.key")).find(|key| key.exists());
    ensure!(fs::read(replaced.context("what was there is kept")?)? == own[0]);

    other.run()?;
    let operator = other.operator()?;
    ensure!(operator.message(&sent)?["state"] == "sent");
    for id in [&held, &waits] {
        let message = operator.message(id)?;
        ensure!(message["state"] == "unknown" && message["code"] == "unknown_outcome", "{message}");
    }
    ensure!(operator.get(&format!("/v1/messages/{later}"))?.status == 404);
    ensure!(operator.arrived("team")?.len() == 1, "something was sent by itself");
    ensure!(fs::read(other.data_dir().join("files").join(&file))? == b"a,b\n1,2\n");
    // The agent's token is as good as before, and what it sent can be released, with its file.
    let courier = other.anybody(Some(courier.token()));
    other.cli(&["queue", "retry", "--may-duplicate", &waits])?.well()?;
    eventually("it is tried again", || {
        let message = courier.message(&waits)?;
        // A file that had not come along would end it.
        ensure!(message["state"] != "failed", "{message}");
        Ok((message["state"] == "ready" && message["attempts"] == 2).then_some(()))
    })?;
    courier.send_and_wait(&json!({"to": "local:team", "message": "Here."}))?;
    let verified = other.cli(&["audit", "verify"])?;
    ensure!(verified.status == 0, "{verified:?}");
    Ok(())
}

#[test]
fn a_backup_without_keys_has_none_and_says_what_that_means() -> Result<()> {
    let folder = Arc::new(tempfile::tempdir()?);
    let beside = Beside::new(folder.path())?;
    let mut hub = SpawnedHub::at_rest(folder, &config())?;
    hub.run()?;
    hub.agent("courier")?.send_and_wait(&json!({"to": "local:team", "message": "Arrived."}))?;
    let made = hub.cli(&["backup", beside.backup()])?;
    ensure!(made.stderr.contains("without keys") && made.stderr.contains("door.secret"), "{made:?}");
    made.well()?;
    let again = hub.cli(&["backup", beside.backup()])?;
    ensure!(again.status == 1 && again.stderr.contains("is there already"), "{again:?}");
    hub.cli(&["backup", beside.backup(), "--force"])?.well()?;
    let backup = fs::read(&beside.backup)?;
    let token = fs::read_to_string(hub.data_dir().join("operator.token"))?;
    let secrets = [fs::read(hub.data_dir().join("hub.key"))?, fs::read(hub.data_dir().join("hub.seal"))?];
    for secret in secrets.iter().map(Vec::as_slice).chain([token.trim().as_bytes(), secret().as_bytes()]) {
        ensure!(!backup.windows(secret.len()).any(|window| window == secret), "a secret is in it");
    }
    let listed = Command::new("tar").args(["-tf", beside.backup()]).output()?;
    let listed = String::from_utf8(listed.stdout)?;
    let names: Vec<&str> = listed.lines().collect();
    ensure!(
        names == ["gatepost-backup", "gatepost.db", "configuration/gatepost.toml", "manifest.json"],
        "{names:?}"
    );

    let key = fs::read(hub.data_dir().join("hub.key"))?;
    hub.terminate()?;
    let mut other = elsewhere()?;
    let restored = other.cli(&["restore", beside.backup(), "--access", "keep"])?;
    ensure!(restored.stderr.contains("pair all companions again"), "{restored:?}");
    let verify =
        restored.stderr.split("audit verify --key ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let old = verify.context("the old key is named")?.to_owned();
    restored.well()?;
    let verified = other.cli(&["audit", "verify", "--key", &old])?;
    ensure!(verified.status == 0, "{verified:?}");
    other.run()?;
    ensure!(fs::read(other.data_dir().join("hub.key"))? != key);
    ensure!(other.operator()?.arrived("team")?.len() == 1);
    Ok(())
}

#[test]
fn a_backup_that_is_damaged_or_opened_wrongly_changes_nothing_and_is_refused() -> Result<()> {
    let folder = Arc::new(tempfile::tempdir()?);
    let beside = Beside::new(folder.path())?;
    let mut hub = SpawnedHub::at_rest(folder.clone(), &config())?;
    let nothing = hub.cli(&["backup", beside.backup()])?;
    ensure!(nothing.status == 1 && nothing.stderr.contains("there is no database"), "{nothing:?}");
    hub.run()?;
    hub.agent("courier")?;
    let weak = folder.path().join("weak");
    private(&weak, "secret")?;
    let weak =
        ["backup", beside.backup(), "--with-keys", "--passphrase-file", weak.to_str().context("UTF-8")?];
    let weak = hub.cli(&weak)?;
    ensure!(weak.status == 2 && weak.stderr.contains("at least 12 characters"), "{weak:?}");
    // Nobody is at a terminal.
    let asked = hub.cli(&["backup", beside.backup(), "--with-keys"])?;
    ensure!(asked.status == 2 && asked.stderr.contains("--passphrase-file"), "{asked:?}");
    ensure!(!beside.backup.exists());
    beside.with_keys(&hub)?;
    hub.terminate()?;

    let whole = fs::read(&beside.backup)?;
    let wrong = folder.path().join("wrong");
    private(&wrong, "a long way to another house")?;
    let database = fs::read(hub.data_dir().join("gatepost.db"))?;
    let mut turned = whole.clone();
    let middle = whole.len() / 2;
    turned[middle] ^= 1;
    let cut = whole[..whole.len() - 100].to_vec();
    for (bytes, passphrase, said) in [
        (&whole, wrong.as_path(), "the passphrase is wrong"),
        (&turned, &beside.passphrase, "damaged"),
        (&cut, &beside.passphrase, "not complete"),
    ] {
        fs::write(&beside.backup, bytes)?;
        let passphrase = passphrase.to_str().context("UTF-8")?;
        let refused = hub.cli(&["restore", beside.backup(), "--passphrase-file", passphrase])?;
        ensure!(refused.status == 1 && refused.stderr.contains(said), "{said}: {refused:?}");
        ensure!(refused.stderr.contains("Nothing was changed"), "{refused:?}");
        ensure!(fs::read(hub.data_dir().join("gatepost.db"))? == database);
        ensure!(!hub.data_dir().join("restored.part").exists());
    }
    Ok(())
}

/// Opens it without Gatepost: by the `rage` library, from Python.
const OPEN: &str = "import sys, pyrage
sys.stdout.buffer.write(pyrage.passphrase.decrypt(sys.stdin.buffer.read(), sys.argv[1]))";
/// Seals something without Gatepost.
const SEAL: &str = "import sys, pyrage
sys.stdout.buffer.write(pyrage.passphrase.encrypt(sys.stdin.buffer.read(), sys.argv[1]))";

/// The work factor in the header of a file that is sealed with a passphrase: `-> scrypt SALT WORK`.
fn work_of(sealed: &Path) -> Result<u8> {
    let bytes = fs::read(sealed)?;
    let header = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    let line = header.lines().nth(1).context("a stanza")?;
    line.rsplit(' ').next().context("a factor")?.parse().context("a factor")
}

fn pyrage(script: &str, from: &Path, to: &Path) -> Result<()> {
    let done = Command::new(python()?)
        .args(["-c", script, PASSPHRASE])
        .stdin(fs::File::open(from)?)
        .stdout(fs::File::create(to)?)
        .output()?;
    ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}

#[test]
fn a_sealed_backup_is_opened_by_another_program_and_one_that_it_seals_by_us() -> Result<()> {
    let folder = Arc::new(tempfile::tempdir()?);
    let beside = Beside::new(folder.path())?;
    let mut hub = SpawnedHub::at_rest(folder.clone(), &config())?;
    hub.run()?;
    hub.agent("courier")?.send_and_wait(&json!({"to": "local:team", "message": "Arrived."}))?;
    beside.with_keys(&hub)?;
    let (opened, sealed) = (folder.path().join("opened.tar"), folder.path().join("sealed.age"));
    pyrage(OPEN, &beside.backup, &opened)?;
    let listed = Command::new("tar").arg("-tf").arg(&opened).output()?;
    ensure!(String::from_utf8_lossy(&listed.stdout).contains("keys/hub.key"), "{listed:?}");
    pyrage(SEAL, &opened, &sealed)?;

    // Without a configuration, as on a new card.
    let unpacked = folder.path().join("unpacked");
    // It takes a second's work of the machine that it runs on: on a fast one that is more memory than a hub's machine has.
    let is_too_much = work_of(&sealed)? > 18;
    let arguments = |into: &Path| -> Result<Vec<String>> {
        let words = ["restore", "--passphrase-file", beside.passphrase(), "--extract"].map(str::to_owned);
        let from = if is_too_much && into == unpacked { &beside.backup } else { &sealed };
        let paths = [into, from].map(|path| path.to_str().map(str::to_owned).context("UTF-8"));
        Ok(words.into_iter().chain(paths.into_iter().collect::<Result<Vec<_>>>()?).collect())
    };
    if is_too_much {
        let refused = gatepost(&arguments(&folder.path().join("refused"))?, b"", &[])?;
        ensure!(refused.status == 1 && refused.stderr.contains("open it with age -d first"), "{refused:?}");
    }
    gatepost(&arguments(&unpacked)?, b"", &[])?.well()?;
    ensure!(fs::read_to_string(unpacked.join("configuration/door.secret"))? == secret());
    ensure!(fs::read(unpacked.join("configuration/gatepost.toml"))? == fs::read(hub.config())?);
    for (name, mode) in [("", 0o700), ("keys", 0o700), ("keys/hub.key", 0o600)] {
        let found = fs::metadata(unpacked.join(name))?.permissions().mode() & 0o777;
        ensure!(found == mode, "{name}: {found:o}");
    }
    let again = gatepost(&arguments(&unpacked)?, b"", &[])?;
    ensure!(again.status == 2 && again.stderr.contains("is there already"), "{again:?}");
    // A folder that comes while the backup is read stays what it is.
    let late = folder.path().join("late");
    let extracting = Command::new(program()?)
        .args(["restore", beside.backup(), "--passphrase-file", beside.passphrase(), "--extract"])
        .arg(&late)
        .stderr(Stdio::piped())
        .spawn()?;
    // The passphrase alone takes it about a second.
    thread::sleep(Duration::from_millis(200));
    fs::create_dir_all(late.join("precious"))?;
    let ended = extracting.wait_with_output()?;
    ensure!(!ended.status.success() && late.join("precious").is_dir(), "{ended:?}");
    ensure!(
        fs::read_dir(folder.path())?
            .flatten()
            .all(|entry| !entry.file_name().to_string_lossy().ends_with(".part"))
    );
    Ok(())
}

/// A hub whose companion is at hand, its configuration in a file as the command line wants it, and the backup of it.
async fn with_companion() -> Result<(TestHub, Arc<TempDir>, Beside)> {
    let folder = Arc::new(tempfile::tempdir()?);
    let fixture = TestHub::start_in(Arc::clone(&folder), main_job::CONFIG).await?;
    let beside = Beside::new(folder.path())?;
    fs::write(
        folder.path().join("gatepost.toml"),
        format!("[hub]\ndata_dir = \"{}\"\n{}", fixture.data_dir().display(), main_job::CONFIG),
    )?;
    Ok((fixture, folder, beside))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_companion_decides_at_the_new_place_as_if_nothing_had_happened() -> Result<()> {
    let (mut fixture, folder, beside) = with_companion().await?;
    let agent = fixture.agent("engineer").await?;
    let send = |agent: &gatepost_tests::hub::Client, message: &str| -> Result<String> {
        Ok(text(&agent.send(&json!({"to": "local:team", "message": message}))?, "id").to_owned())
    };
    let first = send(&agent, "Before.")?;
    fixture.decide(Verdict::Approve).await?;
    agent.ended(&first, "sent")?;
    let held = send(&agent, "Held.")?;
    let config = folder.path().join("gatepost.toml");
    let run = |arguments: &[&str]| {
        let config = ["-c", config.to_str().expect("UTF-8")];
        gatepost(&[&config, arguments, &["--passphrase-file", beside.passphrase()]].concat(), b"", &[])
    };
    run(&["backup", beside.backup(), "--with-keys"])?.well()?;
    let keys = (fixture.hub()?.key(), fixture.hub()?.seal_key());
    fixture.stop().await;
    // The old card.
    fs::rename(fixture.data_dir(), folder.path().join("old"))?;
    eventually("the old hub lets go", || {
        let restored = run(&["restore", beside.backup(), "--access", "keep"])?;
        Ok((restored.status == 0).then_some(()))
    })?;

    fixture.restart().await?;
    // All that a pairing leaves with a companion is the same, and the hub knows its key.
    ensure!((fixture.hub()?.key(), fixture.hub()?.seal_key()) == keys);
    let agent = fixture.agent("engineer").await?;
    ensure!(agent.message(&first)?["state"] == "sent" && agent.message(&held)?["state"] == "unknown");
    let after = agent.send(&json!({"to": "local:office", "message": "After."}))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&after, "id"), "sent")?;
    main_job::arrived_as_shown(&fixture, &sent, &seen, "office")?;
    ensure!(fixture.arrived("team")?.len() == 1, "each message once, and the held one not at all");
    fixture.audit_is_whole().await
}
