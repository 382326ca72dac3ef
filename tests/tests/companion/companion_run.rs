//! `gatepost companion run`: a hub without a board. Somebody sits at a terminal, compares six digits, reads and decides;
//! the hub is a process of its own.
//!
//! Installed by `tests/run --setup-only`: a terminal.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, thread};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{Client, Ended, SpawnedHub, client::text, database, eventually, gatepost},
    main_job::CONFIG,
    peers::{Left, Terminal},
};
use serde_json::{Value, json};

const PASSPHRASE: &str = "correct horse";
const WINDOW: (u16, u16) = (40, 100);
const DONE: Left = Left { status: 0, restored: true };
const PAIRED: &str = r"paired\. What waits for you appears below";
const APPROVED: &str = "approved, and the hub has taken it";
/// The header of a card: which page of how many.
const PAGE: &str = r"(\d+)/(\d+) (?:request|text)";

/// A hub, and what a companion at a terminal keeps beside it.
struct Fixture {
    hub: SpawnedHub,
    agent: Client,
}

impl Fixture {
    fn new(config: &str) -> Result<Self> {
        let hub = SpawnedHub::start(config)?;
        let agent = hub.agent("engineer")?;
        Ok(Self { hub, agent })
    }

    fn keys(&self) -> PathBuf {
        self.hub.folder().path().join("companion")
    }

    /// `gatepost companion run` at a terminal.
    fn run(&self, kind: &str, window: (u16, u16), more: &[&str]) -> Result<Terminal> {
        let (config, keys) = (self.hub.config(), self.keys());
        let mut arguments = vec!["--config", config.to_str().context("UTF-8")?, "companion", "run"];
        arguments.extend(["--dir", keys.to_str().context("UTF-8")?]);
        Terminal::start(kind, window, &[&arguments[..], more].concat(), &[])
    }

    /// A new companion at a terminal, under a passphrase, that is paired as `server`.
    fn paired(&self, kind: &str) -> Result<Terminal> {
        let mut terminal = self.run(kind, WINDOW, &[])?;
        for _ in 0..2 {
            terminal.wait("passphrase: $|the same again: $")?;
            terminal.mark()?;
            terminal.types(&format!("{PASSPHRASE}\r"))?;
        }
        terminal.wait("not paired")?;
        terminal.wait("run `gatepost companion pair` there")?;
        self.pair(&mut terminal)?;
        Ok(terminal)
    }

    /// Both people compare the number, and say that it is the same.
    fn pair(&self, terminal: &mut Terminal) -> Result<()> {
        terminal.mark()?;
        let ended = thread::scope(|scope| {
            let shell =
                scope.spawn(|| self.hub.cli_with(&["companion", "pair", "--name", "desk"], b"yes\n", &[]));
            let number = terminal.wait(r"(\d{3}) (\d{3})")?;
            terminal.wait("The same at the hub")?;
            terminal.look(0.5)?;
            terminal.hold_until('a', PAIRED)?;
            let ended: Ended = shell.join().expect("it does not panic")?;
            anyhow::Ok((ended, number))
        })?;
        let (ended, number) = ended;
        ensure!(ended.status == 0 && ended.stdout.trim() == number[0], "{number:?}: {ended:?}");
        ensure!(ended.stderr.contains("It is software, not a device"), "{ended:?}");
        ensure!(ended.stderr.contains("paired: desk (software "), "{ended:?}");
        Ok(())
    }

    fn held(&self, message: &str) -> Result<String> {
        let held = self.agent.send(&json!({"to": "local:team", "message": message}))?;
        ensure!(held["state"] == "held", "{held}");
        Ok(text(&held, "id").to_owned())
    }

    fn audit(&self, event: &str) -> Result<Vec<Value>> {
        let lines = database::audit(&database::open(&self.hub.data_dir())?)?;
        Ok(lines.into_iter().filter(|line| line.event == event).map(|line| line.detail).collect())
    }

    /// Starts the hub anew with a change of its configuration.
    fn reconfigure(&mut self, from: &str, to: &str) -> Result<()> {
        self.hub.terminate()?;
        let config = fs::read_to_string(self.hub.config())?;
        ensure!(config.contains(from), "{config}");
        fs::write(self.hub.config(), config.replace(from, to))?;
        self.hub.run()
    }
}

/// Reads the card from the first page to the last; how many there were.
fn read(terminal: &mut Terminal) -> Result<u32> {
    let found = terminal.wait(PAGE)?;
    let (mut now, last): (u32, u32) = (found[1].parse()?, found[2].parse()?);
    while now < last {
        terminal.mark()?;
        terminal.tap('a')?;
        now = terminal.wait(PAGE)?[1].parse()?;
        terminal.look(0.2)?;
    }
    // On a plain terminal a tap counts as down for 0.7 s.
    terminal.look(0.8)?;
    Ok(last)
}

#[test]
fn a_terminal_of_either_kind_is_paired_reads_and_decides_and_finds_its_hub_again() -> Result<()> {
    for kind in ["plain", "kitty"] {
        let mut fixture = Fixture::new(CONFIG)?;
        let mut terminal = fixture.paired(kind)?;
        let listed = fixture.hub.cli(&["companion", "list"])?.well()?;
        ensure!(listed.contains("desk") && listed.contains("software  online"), "{listed}");
        ensure!(fixture.audit("device.added")?[0]["software"] == true);

        terminal.mark()?;
        let words = (1..=60).map(|n| format!("Line {n} of it.")).collect::<Vec<_>>().join("\n\n");
        let id = fixture.held(&words)?;
        ensure!(read(&mut terminal)? > 2, "it has several pages");
        terminal.mark()?;
        terminal.hold_until('a', APPROVED)?;
        let sent = fixture.agent.ended(&id, "sent")?;
        ensure!(sent["decided_by_software"] == true, "{sent}");
        let shown = fixture.hub.cli(&["queue", "show", &id])?.well()?;
        ensure!(shown.contains("decided by a software companion"), "{shown}");
        ensure!(fixture.audit("message.ready")?[0]["facts"]["software"] == true);

        terminal.mark()?;
        let id = fixture.held("No.")?;
        terminal.wait(PAGE)?;
        terminal.look(1.0)?;
        terminal.tap('d')?;
        terminal.wait("denied, and the hub has taken it")?;
        fixture.agent.ended(&id, "denied")?;

        // The hub goes and comes back.
        terminal.mark()?;
        fixture.hub.kill()?;
        terminal.wait("does the hub run\\? It is tried again")?;
        fixture.hub.run()?;
        terminal.wait("connected again")?;
        terminal.mark()?;
        let id = fixture.held("Still there?")?;
        read(&mut terminal)?;
        terminal.hold_until('a', APPROVED)?;
        fixture.agent.ended(&id, "sent")?;

        terminal.types("q")?;
        ensure!(terminal.end()? == DONE, "{kind}");
        eventually("the hub has heard that it went", || {
            let listed = fixture.hub.cli(&["companion", "list"])?.well()?;
            Ok(listed.contains("software  offline").then_some(()))
        })?;
        let verified = fixture.hub.cli(&["audit", "verify"])?;
        ensure!(verified.status == 0, "{verified:?}");
    }
    Ok(())
}

#[test]
fn its_keys_open_with_their_passphrase_alone_and_one_process_has_them() -> Result<()> {
    let fixture = Fixture::new(CONFIG)?;
    let mut first = fixture.paired("plain")?;
    let passphrase = fixture.hub.folder().path().join("passphrase");
    let file = passphrase.to_str().context("UTF-8")?.to_owned();
    let ends_with = |more: &[&str], environment: &[(&str, &str)], status: i64, words: &str| -> Result<()> {
        let (config, keys) = (fixture.hub.config(), fixture.keys());
        let own = [config.to_str().unwrap_or(""), "companion", "run", "--dir", keys.to_str().unwrap_or("")];
        let arguments = [&["--config"], &own[..], more].concat();
        let mut terminal = Terminal::start("plain", WINDOW, &arguments, environment)?;
        terminal.wait(words)?;
        let left = terminal.end()?;
        ensure!(left == Left { status, restored: true }, "{words}: {left:?}");
        Ok(())
    };
    fs::write(&passphrase, format!("{PASSPHRASE}\n"))?;
    fs::set_permissions(&passphrase, fs::Permissions::from_mode(0o600))?;
    ends_with(&["--passphrase-file", &file], &[], 1, "another companion runs with the keys in")?;
    // Ctrl-C leaves too.
    first.types("\u{3}")?;
    ensure!(first.end()? == DONE);

    let mut again = fixture.run("plain", WINDOW, &["--passphrase-file", &file])?;
    again.wait("nothing waits|held 0|Nothing|\\d\\d:\\d\\d")?;
    again.hang_up()?;
    ensure!(again.end()? == DONE);
    let named = [("GATEPOST_COMPANION_PASSPHRASE", PASSPHRASE)];
    let mut again = Terminal::start(
        "plain",
        WINDOW,
        &[
            "--config",
            fixture.hub.config().to_str().unwrap_or(""),
            "companion",
            "run",
            "--dir",
            fixture.keys().to_str().unwrap_or(""),
        ],
        &named,
    )?;
    again.wait("A software companion of the hub at")?;
    again.types("q")?;
    ensure!(again.end()? == DONE);

    fs::write(&passphrase, "correct mule")?;
    ends_with(&["--passphrase-file", &file], &[], 1, "the passphrase is wrong")?;
    ends_with(&["--passphrase-credential", "companion"], &[], 1, "no systemd credential companion")?;
    ends_with(&["--no-passphrase"], &[], 2, "are under a passphrase: leave out --no-passphrase")?;
    let mut typed = fixture.run("plain", WINDOW, &[])?;
    for wrong in ["wrong", "worse", "worst"] {
        typed.wait("passphrase of the companion's keys: $")?;
        typed.mark()?;
        typed.types(&format!("{wrong}\r"))?;
        typed.wait("the passphrase is wrong")?;
    }
    ensure!(typed.end()? == Left { status: 1, restored: true });

    // Nothing of them can be read.
    for file in ["keys", "bond"] {
        let bytes = fs::read(fixture.keys().join(file))?;
        let login = b"device-";
        ensure!(!bytes.windows(login.len()).any(|part| part == login), "{file}");
    }
    Ok(())
}

#[test]
fn without_a_terminal_or_a_hub_it_says_so() -> Result<()> {
    let keys = tempfile::tempdir()?;
    let dir = keys.path().to_str().context("UTF-8")?;
    let refused = gatepost(&["companion", "run", "--dir", dir], b"", &[])?;
    ensure!(refused.status == 2 && refused.stderr.contains("needs a terminal"), "{refused:?}");

    let port = gatepost_tests::peers::free_port()?.to_string();
    let broker = format!("127.0.0.1:{port}");
    let run = ["companion", "run", "--dir", dir, "--broker", &broker, "--no-passphrase"];
    let mut alone = Terminal::start("plain", WINDOW, &run, &[])?;
    alone.wait("are not encrypted: whoever can read them can approve")?;
    alone.wait(&format!("nothing listens at {broker}: does the hub run\\?"))?;
    alone.types("q")?;
    ensure!(alone.end()? == DONE);
    // Keys that lie open are not taken for sealed ones.
    let run = ["companion", "run", "--dir", dir, "--broker", &broker];
    let mut open = Terminal::start("plain", WINDOW, &run, &[])?;
    open.wait("are not under a passphrase: say --no-passphrase")?;
    ensure!(open.end()? == Left { status: 2, restored: true });
    let mut small = Terminal::start("plain", (7, 20), &run, &[])?;
    small.wait("window is too small")?;
    ensure!(small.end()? == Left { status: 2, restored: true });
    Ok(())
}

#[test]
fn a_hub_that_takes_no_software_says_so_when_it_is_paired_and_when_it_was_before() -> Result<()> {
    let (on, off) = ("allow_software_companion = true", "allow_software_companion = false");
    let mut fixture = Fixture::new(&CONFIG.replace(on, off))?;
    let mut terminal = fixture.run("plain", WINDOW, &["--no-passphrase"])?;
    terminal.wait("does not say \\[approval\\] allow_software_companion = true")?;
    terminal.wait("not paired")?;
    let refused = fixture.hub.cli(&["companion", "pair"])?;
    ensure!(refused.status == 1, "{refused:?}");
    ensure!(refused.stderr.contains("set [approval] allow_software_companion = true"), "{refused:?}");
    terminal.wait("a hub takes software\\s+only with|only with \\[approval\\]")?;
    ensure!(fixture.audit("device.added")?.is_empty());

    fixture.reconfigure(off, on)?;
    fixture.pair(&mut terminal)?;
    terminal.mark()?;
    fixture.reconfigure(on, off)?;
    terminal.wait("the hub does not let this companion in")?;
    let id = fixture.held("Anybody?")?;
    let told = fixture.agent.message(&id)?;
    ensure!(text(&told["asked"], "problem").contains("1 is software while"), "{told}");
    let checked = fixture.hub.cli(&["check", "--offline"])?;
    ensure!(checked.stderr.contains("1 companion that is paired is software"), "{checked:?}");
    terminal.types("q")?;
    ensure!(terminal.end()? == DONE);
    Ok(())
}

#[test]
fn a_revoked_one_says_so_at_once_and_can_be_paired_again_as_another() -> Result<()> {
    let fixture = Fixture::new(CONFIG)?;
    let mut terminal = fixture.paired("plain")?;
    terminal.mark()?;
    fixture.hub.cli(&["companion", "revoke", "desk"])?.well()?;
    terminal.wait("the hub has revoked this companion")?;
    fixture.pair(&mut terminal)?;
    terminal.types("q")?;
    ensure!(terminal.end()? == DONE);

    // While it is away, and back only with new keys.
    fixture.hub.cli(&["companion", "revoke", "desk"])?.well()?;
    let named = fixture.hub.folder().path().join("passphrase");
    fs::write(&named, PASSPHRASE)?;
    fs::set_permissions(&named, fs::Permissions::from_mode(0o600))?;
    let file = ["--passphrase-file", named.to_str().context("UTF-8")?];
    let mut terminal = fixture.run("plain", WINDOW, &file)?;
    terminal.wait("the hub does not let this companion in: it was revoked")?;
    terminal.types("q")?;
    ensure!(terminal.end()? == DONE);
    let mut terminal = fixture.run("plain", WINDOW, &[&file[..], &["--forget"]].concat())?;
    terminal.wait("not paired")?;
    fixture.pair(&mut terminal)?;
    Ok(())
}

/// Nothing but a hold of 1.5 s on the last page, with the window large enough to see it, lets a message go.
#[test]
fn no_press_but_a_whole_hold_approves() -> Result<()> {
    let fixture = Fixture::new(CONFIG)?;
    let mut terminal = fixture.paired("plain")?;
    terminal.mark()?;
    let id = fixture.held("Shall I?")?;
    read(&mut terminal)?;
    let waits = |why: &str| -> Result<()> {
        let message = fixture.agent.message(&id)?;
        ensure!(message["state"] == "held", "{why}: {message}");
        Ok(())
    };
    terminal.mark()?;
    terminal.press('a', 1.2)?;
    ensure!(terminal.look(1.0)?.contains("hold"), "the progress of the hold is shown");
    waits("a hold of 1.2 s")?;
    // Everything at once, as a paste or a connection that stood still brings it.
    terminal.types(&"a".repeat(200))?;
    terminal.look(1.0)?;
    waits("200 at once")?;
    for _ in 0..8 {
        terminal.types("a")?;
        terminal.look(0.3)?;
    }
    terminal.look(1.0)?;
    waits("presses 0.3 s apart")?;
    // In a window too small to show the page nothing is approved, and the hub knows that nobody can be asked there.
    terminal.mark()?;
    terminal.resize(10, 30)?;
    terminal.wait("too small: make it")?;
    eventually("nobody can be asked there", || {
        let problem = "no companion can be asked: 1 has a display that does not answer";
        Ok((fixture.agent.message(&id)?["asked"]["problem"] == problem).then_some(()))
    })?;
    terminal.hold('a')?;
    terminal.look(1.0)?;
    waits("nobody can see it")?;
    terminal.resize(WINDOW.0, WINDOW.1)?;
    terminal.wait(PAGE)?;
    terminal.look(1.0)?;
    terminal.mark()?;
    terminal.hold_until('a', APPROVED)?;
    fixture.agent.ended(&id, "sent")?;
    Ok(())
}
