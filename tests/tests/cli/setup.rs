//! `gatepost setup`: from nothing to the first approved message, as a person at a terminal goes through it, and as a script does.
//!
//! Installed by `tests/run --setup-only`: a terminal, Telegram's parser.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{Ended, SpawnedHub, client::text, eventually, gatepost},
    peers::{Left, Mock, Terminal, free_port},
};
use serde_json::{Value, json};
use tempfile::TempDir;

const WINDOW: (u16, u16) = (45, 120);
const PASSPHRASE: &str = "correct horse";
const PERSON: i64 = 777;
/// The transcript of the first hour; `GATEPOST_GOLDEN=write` keeps a new one.
const TRANSCRIPT: &str = "tests/golden/setup.txt";

/// A folder with nothing in it, in which somebody begins.
struct Beginning {
    folder: TempDir,
    mock: Mock,
}

impl Beginning {
    fn new() -> Result<Self> {
        Ok(Self { folder: tempfile::tempdir()?, mock: Mock::telegram()? })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn config(&self) -> Result<String> {
        Ok(fs::read_to_string(self.path("gatepost.toml"))?)
    }

    /// A command of this folder, at a terminal.
    fn at_a_terminal(&self, arguments: &[&str]) -> Result<Terminal> {
        at_a_terminal(self.folder.path(), arguments)
    }

    /// `gatepost setup` at a terminal, of whose Telegram the address is the mock's.
    fn setup(&self, more: &[&str]) -> Result<Terminal> {
        let base = self.base();
        self.at_a_terminal(&[&["setup", "--set", &base], more].concat())
    }

    fn base(&self) -> String {
        format!("base_url={}", self.mock.base_url())
    }

    /// The file with the token.
    fn token_file(&self, token: &str) -> Result<String> {
        let file = self.path("given");
        fs::write(&file, format!("{token}\n"))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
        Ok(file.to_str().context("UTF-8")?.to_owned())
    }

    /// `gatepost setup` without a terminal, in this folder's configuration.
    fn script(&self, more: &[&str]) -> Result<Ended> {
        let (config, data) = (self.path("gatepost.toml"), self.path("xdg"));
        let own = ["-c", config.to_str().context("UTF-8")?, "setup"];
        let data = [("XDG_DATA_HOME", data.to_str().context("UTF-8")?)];
        gatepost(&[&own[..], more].concat(), b"", &data)
    }

    /// Somebody writes to the bot.
    fn writes(&self, chat: Value, from: Value, words: &str) -> Result<()> {
        self.mock.happen(json!({"chat": chat, "from": from, "text": words})).map(drop)
    }

    fn ann_writes(&self) -> Result<()> {
        let ann = json!({"id": PERSON, "is_bot": false, "first_name": "Ann"});
        self.writes(json!({"id": PERSON, "type": "private", "first_name": "Ann"}), ann, "Hello, bot!")
    }

    /// What is in the folder, but for what was put there for the test.
    fn left(&self) -> Result<Vec<String>> {
        let mut names = vec![];
        for entry in fs::read_dir(self.folder.path())? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.retain(|name| name != "given");
        names.sort();
        Ok(names)
    }

    /// What was sent to the person.
    fn sent(&self) -> Result<Vec<String>> {
        let sent = self.mock.done("/sendMessage")?;
        Ok(sent.iter().map(|request| text(&request["body"], "text").to_owned()).collect())
    }
}

pub(super) fn at_a_terminal(folder: &Path, arguments: &[&str]) -> Result<Terminal> {
    let data = folder.join("xdg");
    let environment = [("XDG_DATA_HOME", data.to_str().context("UTF-8")?)];
    Terminal::start_in(folder, "plain", WINDOW, arguments, &environment)
}

/// Answers a question, once it stands there.
pub(super) fn answer(terminal: &mut Terminal, question: &str, answer: &str) -> Result<()> {
    terminal.wait(question)?;
    terminal.mark()?;
    terminal.types(&format!("{answer}\r"))
}

/// Has a configuration of this folder listen where nobody else does: other hubs run beside this test.
fn move_ports(folder: &Path) -> Result<()> {
    let file = folder.join("gatepost.toml");
    let (hub, broker) = (free_port()?, free_port()?);
    let text = fs::read_to_string(&file)?;
    let text = text.replace(":8787\"", &format!(":{hub}\"")).replace(":1883\"", &format!(":{broker}\""));
    Ok(fs::write(&file, text)?)
}

/// Starts the hub of this folder, and a companion in a second terminal, with its passphrase.
fn hub_and_companion(folder: &Path) -> Result<(Terminal, Terminal)> {
    let mut hub = at_a_terminal(folder, &["run"])?;
    hub.wait("ready at")?;
    let mut companion = at_a_terminal(folder, &["companion", "run"])?;
    answer(&mut companion, "passphrase of the companion's keys: $", PASSPHRASE)?;
    companion.wait("nothing waits|Nothing waits|\\d\\d:\\d\\d:\\d\\d")?;
    Ok((hub, companion))
}

/// Reads the card that is open to its end, and holds Approve.
fn approve(companion: &mut Terminal) -> Result<()> {
    const PAGE: &str = r"(\d+)/(\d+) (?:request|text)";
    let found = companion.wait(PAGE)?;
    let (mut now, last): (u32, u32) = (found[1].parse()?, found[2].parse()?);
    while now < last {
        companion.mark()?;
        companion.tap('a')?;
        now = companion.wait(PAGE)?[1].parse()?;
        companion.look(0.2)?;
    }
    companion.look(0.8)?;
    companion.mark()?;
    companion.hold_until('a', "approved, and the hub has taken it").map(drop)
}

fn ends(mut terminal: Terminal, key: &str) -> Result<()> {
    terminal.types(key)?;
    let left = terminal.end()?;
    ensure!(left == Left { status: 0, restored: true }, "{left:?}");
    Ok(())
}

/// What a person saw, without what differs from run to run.
fn tidy(seen: &str, beginning: &Beginning) -> String {
    let folder = beginning.folder.path();
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let seen = seen
        .replace(&*real.to_string_lossy(), "FOLDER")
        .replace(&*folder.to_string_lossy(), "FOLDER")
        .replace(&beginning.mock.base_url(), "MOCK");
    let lines: Vec<&str> = seen.split('\n').map(|line| line.trim_end_matches([' ', '\r'])).collect();
    format!("{}\n", lines.join("\n").trim())
}

fn matches_the_kept_one(transcript: &str) -> Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(TRANSCRIPT);
    if std::env::var("GATEPOST_GOLDEN").is_ok_and(|what| what == "write") {
        return Ok(fs::write(file, transcript)?);
    }
    let kept = fs::read_to_string(&file)?;
    ensure!(
        kept == transcript,
        "{TRANSCRIPT} differs (GATEPOST_GOLDEN=write keeps the new one):\n{transcript}"
    );
    Ok(())
}

#[test]
fn a_person_comes_from_nothing_to_the_first_approved_message() -> Result<()> {
    let beginning = Beginning::new()?;
    let mut terminal = beginning.setup(&[])?;
    let mut transcript = String::new();
    let step =
        |terminal: &mut Terminal, transcript: &mut String, question: &str, typed: &str| -> Result<()> {
            terminal.wait(question)?;
            transcript.push_str(&terminal.look(0.0)?);
            terminal.mark()?;
            terminal.types(&format!("{typed}\r"))
        };
    step(&mut terminal, &mut transcript, "Which platform.*: $", "")?;
    step(&mut terminal, &mut transcript, "Paste the token.*: $", "123456:a-wrong_one")?;
    step(&mut terminal, &mut transcript, "(?s)401.*Paste the token.*: $", beginning.mock.token())?;
    terminal.wait("write a message to @HubTestBot")?;
    // Somebody with a name that would steer the terminal is first.
    beginning.writes(
        json!({"id": -1_001_000_000_001_i64, "type": "supergroup", "title": "Evil\u{1b}[2J\u{202e}"}),
        json!({"id": 5, "is_bot": false, "first_name": "Mal\u{9b}1A\u{200b}", "last_name": "\u{2067}y"}),
        "Press y\u{1b}[1A\nIs this the chat? [Y/n]: y",
    )?;
    step(&mut terminal, &mut transcript, r"Is this the chat\? \[Y/n\]: $", "n")?;
    beginning.ann_writes()?;
    step(&mut terminal, &mut transcript, r"(?s)777.*Is this the chat\? \[Y/n\]: $", "y")?;
    step(&mut terminal, &mut transcript, "your agent called.*: $", "")?;
    step(&mut terminal, &mut transcript, "be your companion.*: $", "y")?;
    step(&mut terminal, &mut transcript, "passphrase: $", PASSPHRASE)?;
    step(&mut terminal, &mut transcript, "the same again: $", PASSPHRASE)?;
    let left = terminal.end()?;
    transcript.push_str(&terminal.look(0.0)?);
    ensure!(left == Left { status: 0, restored: true }, "{left:?}: {transcript}");
    for secret in [beginning.mock.token(), "a-wrong_one", PASSPHRASE, "gp_", "\u{202e}", "\u{9b}"] {
        ensure!(!transcript.contains(secret), "{secret:?}: {transcript}");
    }
    matches_the_kept_one(&tidy(&transcript, &beginning))?;

    let mode =
        |name: &str| -> Result<u32> { Ok(fs::metadata(beginning.path(name))?.permissions().mode() & 0o777) };
    for file in ["gatepost.toml", "secrets/telegram", "engineer.token"] {
        ensure!(mode(file)? == 0o600, "{file}");
    }
    ensure!(beginning.sent()?.len() == 1, "the test message");
    ensure!(!beginning.config()?.contains("a-token"), "the secret is in the configuration");

    move_ports(beginning.folder.path())?;
    let (hub, mut companion) = hub_and_companion(beginning.folder.path())?;
    companion.mark()?;
    let token = fs::read_to_string(beginning.path("engineer.token"))?;
    let config = beginning.path("gatepost.toml");
    let config = config.to_str().context("UTF-8")?;
    let send = ["-c", config, "send", "--to", "telegram:777", "Hello from my agent"];
    let held = gatepost(&send, b"", &[("GATEPOST_TOKEN", token.trim())])?.well()?;
    ensure!(held.contains("held to telegram:777"), "{held}");
    approve(&mut companion)?;
    eventually("the approved message was sent", || {
        Ok(beginning.sent()?.iter().any(|sent| sent.contains("Hello from my agent")).then_some(()))
    })?;
    ends(companion, "q")?;
    ends(hub, "\u{3}")?;
    let verified = gatepost(&["-c", config, "audit", "verify"], b"", &[])?;
    ensure!(verified.status == 0, "{verified:?}");
    Ok(())
}

/// The commands in the first section of the README, without those that install.
fn commands_of_the_readme() -> Result<Vec<String>> {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md"))?;
    let (_, section) = readme.split_once("## A hub in five minutes").context("the section")?;
    let section = section.split("\n## ").next().unwrap_or_default();
    let blocks = section.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).filter(|line| !line.starts_with("cargo install"));
    Ok(lines.map(str::to_owned).collect())
}

#[test]
fn the_readmes_first_section_is_all_that_a_stranger_needs() -> Result<()> {
    const SEND: &str =
        "GATEPOST_TOKEN=\"$(cat engineer.token)\" gatepost send --to local:me 'Hello from my agent'";
    let commands = commands_of_the_readme()?;
    ensure!(
        commands == ["gatepost setup", "gatepost run", "gatepost companion run", SEND, "gatepost local read"],
        "{commands:?}: this test goes through other ones"
    );
    let folder = tempfile::tempdir()?;
    let mut setup = at_a_terminal(folder.path(), &["setup"])?;
    answer(&mut setup, "Which platform.*: $", "local")?;
    answer(&mut setup, "your agent called.*: $", "")?;
    answer(&mut setup, "be your companion.*: $", "")?;
    answer(&mut setup, "passphrase: $", PASSPHRASE)?;
    answer(&mut setup, "the same again: $", PASSPHRASE)?;
    // It says the same steps.
    let told = setup.wait(r"(?s)Next:.*")?.remove(0);
    ensure!(setup.end()? == Left { status: 0, restored: true });
    for command in &commands[1..] {
        ensure!(told.contains(command), "{command} is not among:\n{told}");
    }
    move_ports(folder.path())?;
    let (hub, mut companion) = hub_and_companion(folder.path())?;
    companion.mark()?;
    let config = folder.path().join("gatepost.toml");
    let config = config.to_str().context("UTF-8")?;
    let token = fs::read_to_string(folder.path().join("engineer.token"))?;
    let send = ["-c", config, "send", "--to", "local:me", "Hello from my agent"];
    gatepost(&send, b"", &[("GATEPOST_TOKEN", token.trim())])?.well()?;
    approve(&mut companion)?;
    eventually("it arrived", || {
        let read = gatepost(&["-c", config, "local", "read"], b"", &[])?.well()?;
        Ok(read.contains("Hello from my agent").then_some(()))
    })?;
    ends(companion, "q")?;
    ends(hub, "\u{3}")
}

#[test]
fn a_script_gives_every_answer_as_an_option_and_again_it_adds() -> Result<()> {
    let beginning = Beginning::new()?;
    let (base, token) = (beginning.base(), beginning.token_file(beginning.mock.token())?);
    let telegram = ["--platform", "telegram", "--token-file", &token, "--set", &base];
    let chat = ["--to", "telegram:777", "--json"];
    let companion = ["--companion", "terminal", "--no-passphrase"];
    let made = beginning.script(&[&telegram[..], &chat, &companion].concat())?.json()?;
    ensure!(
        made["to"] == "telegram:777" && made["companion"] == true && made["as"] == "@HubTestBot",
        "{made}"
    );
    let line = text(&made["mcp"], "command");
    ensure!(
        line.starts_with("claude mcp add gatepost -- gatepost mcp --hub http://127.0.0.1:8787"),
        "{line}"
    );
    ensure!(beginning.left()? == ["engineer.token", "gatepost-data", "gatepost.toml", "secrets", "xdg"]);
    ensure!(beginning.sent()?.len() == 1, "the test message");
    let first = beginning.config()?;

    // The same again changes nothing.
    let again = ["--platform", "telegram", "--to", "777", "--no-test"];
    let same = beginning.script(&again)?.well()?;
    ensure!(same.contains("engineer has its token already") && beginning.config()? == first, "{same}");
    // Of an account that is there nothing is changed.
    let refused = beginning.script(&[&telegram[..], &chat].concat())?;
    ensure!(refused.status == 2 && refused.stderr.contains("--account"), "{refused:?}");

    // With a hub that runs: another agent, whose token works at once.
    move_ports(beginning.folder.path())?;
    let text_before = format!("# Mine.\n{}", beginning.config()?);
    fs::write(beginning.path("gatepost.toml"), &text_before)?;
    let mut hub = beginning.at_a_terminal(&["run"])?;
    hub.wait("ready at")?;
    let cook = beginning.script(&[&again[..], &["--agent", "cook"]].concat())?.well()?;
    ensure!(!cook.contains("gatepost run") && cook.contains("cook.token"), "{cook}");
    ensure!(beginning.config()?.starts_with(text_before.trim_end()), "what was there stays");
    let token = fs::read_to_string(beginning.path("cook.token"))?;
    let config = beginning.path("gatepost.toml");
    let send = ["-c", config.to_str().context("UTF-8")?, "send", "--to", "telegram:777", "Dinner?"];
    let held = gatepost(&send, b"", &[("GATEPOST_TOKEN", token.trim())])?.well()?;
    ensure!(held.contains("held to telegram:777"), "{held}");
    let refused = beginning.script(&[&again[..], &companion].concat())?;
    ensure!(refused.status == 2 && refused.stderr.contains("the hub runs"), "{refused:?}");
    ends(hub, "\u{3}")
}

#[test]
fn nobody_to_ask_and_answers_that_are_missing_or_wrong_leave_nothing_behind() -> Result<()> {
    let beginning = Beginning::new()?;
    let (base, wrong) = (beginning.base(), beginning.token_file("123456:a-wrong_one")?);
    for (more, status, words) in [
        (&[][..], 2, "--platform, --token-file, --to"),
        (&["--platform", "telegram"], 2, "--token-file, --to"),
        (&["--platform", "matrix", "--to", "!a:b"], 2, "--token-file, --set homeserver=…"),
        (&["--platform", "whatsapp"], 2, "gatepost channels setup whatsapp"),
        (&["--platform", "telegram", "--token-file", &wrong, "--set", &base, "--to", "777"], 1, "401"),
        (
            &["--platform", "telegram", "--token-file", &wrong, "--set", "x=1", "--to", "777"],
            2,
            "a key of telegram",
        ),
        (&["--platform", "local", "--companion", "terminal"], 2, "--passphrase-file or --no-passphrase"),
        (&["--platform", "local", "--agent", "a b"], 2, "--agent: a name has"),
        // Before anything else is asked for or found wrong.
        (&["--agent=-n"], 2, "does not begin with `-`"),
        (&["--agent", "hub"], 2, "the hub's own name"),
    ] {
        let refused = beginning.script(more)?;
        ensure!(refused.status == status && refused.stderr.contains(words), "{more:?}: {refused:?}");
        ensure!(!refused.stderr.contains("a-wrong_one"), "{refused:?}");
    }
    let token = beginning.token_file(beginning.mock.token())?;
    let telegram = ["--platform", "telegram", "--token-file", &token, "--set", &base, "--to"];
    for (to, words) in
        [("5", "chat not found"), ("778", "bot was blocked by the user"), ("Ann", "is not an address")]
    {
        let refused = beginning.script(&[&telegram[..], &[to]].concat())?;
        ensure!(refused.status == 1 && refused.stderr.contains(words), "{to}: {refused:?}");
    }
    ensure!(beginning.left()?.is_empty(), "{:?}", beginning.left()?);
    Ok(())
}

#[test]
fn what_is_said_of_approval_is_what_the_agents_rules_are() -> Result<()> {
    for (rules, said, sends) in [
        ("cross_context = \"hold\"", "a person approves each message first", Some("which you approve")),
        ("cross_context = \"allow\"", "nobody approves its messages first", Some("nobody has to approve")),
        (
            "cross_context = \"allow\"\nhold = [\"telegram:777\"]",
            "a person approves each message first",
            Some("which you approve"),
        ),
        ("cross_context = \"deny\"", "only to answer in that conversation", None),
    ] {
        let beginning = Beginning::new()?;
        fs::write(beginning.path("gatepost.toml"), format!("[agents.engineer]\n{rules}\n"))?;
        let (base, token) = (beginning.base(), beginning.token_file(beginning.mock.token())?);
        let telegram = ["--platform", "telegram", "--token-file", &token, "--set", &base, "--to", "777"];
        let told = beginning.script(&telegram)?.well()?;
        ensure!(told.contains(said), "{rules}: {told}");
        ensure!(told.contains("as your agent") == sends.is_some(), "{rules}: {told}");
        ensure!(sends.is_none_or(|sends| told.contains(sends)), "{rules}: {told}");
        let sent = beginning.sent()?;
        ensure!(
            sent.len() == 1 && !sent[0].contains("approve"),
            "the test message promises nothing: {sent:?}"
        );
    }
    Ok(())
}

#[test]
fn a_signal_or_a_terminal_that_goes_ends_it_at_a_hidden_question_and_nothing_is_written() -> Result<()> {
    let beginning = Beginning::new()?;
    let local = ["setup", "--platform", "local", "--agent", "cook", "--companion", "terminal"];
    let at = |question: &str| -> Result<Terminal> {
        let mut terminal = match question {
            "passphrase: $" => beginning.at_a_terminal(&local)?,
            _ => beginning.setup(&["--platform", "telegram"])?,
        };
        terminal.wait(question)?;
        terminal.look(0.3)?;
        Ok(terminal)
    };
    for question in ["passphrase: $", "Paste the token.*: $"] {
        for signal in ["SIGTERM", "SIGHUP", "SIGINT"] {
            let mut terminal = at(question)?;
            terminal.signal(signal)?;
            terminal.wait("stopped; nothing was written")?;
            let left = terminal.end()?;
            ensure!(left == Left { status: 1, restored: true }, "{question} {signal}: {left:?}");
        }
        let status = at(question)?.close()?;
        ensure!(status == 1, "{question}: {status}");
    }
    let mut terminal = at("passphrase: $")?;
    terminal.types("\u{3}")?;
    terminal.wait("stopped; nothing was written")?;
    ensure!(terminal.end()? == Left { status: 1, restored: true });
    ensure!(beginning.left()?.is_empty(), "{:?}", beginning.left()?);
    Ok(())
}

#[test]
fn a_companion_that_cannot_be_is_found_out_before_anything_is_written() -> Result<()> {
    let (other, beginning) = (Beginning::new()?, Beginning::new()?);
    let local = ["--platform", "local", "--companion", "terminal"];
    other.script(&[&local[..], &["--no-passphrase"]].concat())?.well()?;
    let others = other.path("xdg/gatepost/companion");
    let others = others.to_str().context("UTF-8")?;
    for (more, words) in [
        (&["--passphrase-file", "/nowhere/at/all"][..], "/nowhere/at/all"),
        (&["--no-passphrase", "--dir", others], "is paired with another hub"),
    ] {
        let refused = beginning.script(&[&local[..], more].concat())?;
        ensure!(refused.status != 0 && refused.stderr.contains(words), "{more:?}: {refused:?}");
    }
    let config = beginning.path("gatepost.toml");
    let homeless = ["-c", config.to_str().context("UTF-8")?, "setup", "--no-passphrase"];
    let refused = gatepost(&[&homeless[..], &local].concat(), b"", &[("HOME", ""), ("XDG_DATA_HOME", "")])?;
    ensure!(refused.status == 2 && refused.stderr.contains("HOME is not set"), "{refused:?}");
    ensure!(beginning.left()?.is_empty(), "{:?}", beginning.left()?);
    // Whoever said yes to a question goes on without it.
    let arguments = ["setup", "--platform", "local", "--agent", "cook", "--no-passphrase", "--dir", others];
    let mut terminal = beginning.at_a_terminal(&arguments)?;
    answer(&mut terminal, "be your companion.*: $", "y")?;
    answer(&mut terminal, r"(?s)another hub.*Go on without it\? \[Y/n\]: $", "y")?;
    terminal.wait("gatepost companion pair")?;
    ensure!(terminal.end()? == Left { status: 0, restored: true });
    Ok(())
}

#[test]
fn a_configuration_here_that_root_does_not_trust_is_no_reason_to_change_the_services() -> Result<()> {
    let beginning = Beginning::new()?;
    let file = beginning.path("gatepost.toml");
    fs::write(&file, "")?;
    // Only root distrusts files, and only root can make one that is another's.
    if std::os::unix::fs::chown(&file, Some(4000), None).is_err() {
        return Ok(());
    }
    let mut terminal = beginning.at_a_terminal(&["setup", "--yes"])?;
    terminal.wait("setup changes no other one unawares.*-c FILE")?;
    ensure!(terminal.end()? == Left { status: 2, restored: true });
    // Whoever names it means it.
    beginning.script(&["--platform", "local", "--yes"])?.well()?;
    ensure!(beginning.config()?.contains("[agents.engineer]"), "{}", beginning.config()?);
    Ok(())
}

#[test]
fn nobody_who_writes_and_a_ctrl_c_anywhere_leave_nothing_behind() -> Result<()> {
    let beginning = Beginning::new()?;
    let token = beginning.token_file(beginning.mock.token())?;
    let temporary = beginning.path("tmp");
    fs::create_dir(&temporary)?;
    let (base, scratch) = (beginning.base(), temporary.to_str().context("UTF-8")?);
    let start = |more: &[&str]| {
        let own = ["setup", "--set", &base, "--platform", "telegram", "--token-file", &token];
        Terminal::start_in(
            beginning.folder.path(),
            "plain",
            WINDOW,
            &[&own[..], more].concat(),
            &[("TMPDIR", scratch)],
        )
    };
    let mut terminal = start(&["--wait", "1"])?;
    terminal.wait("nobody wrote to @HubTestBot within 1 second; nothing was written")?;
    ensure!(terminal.end()? == Left { status: 1, restored: true });

    // While it waits, at a question, and at one that is not shown.
    let mut terminal = start(&[])?;
    terminal.wait("This waits 3 minutes")?;
    terminal.types("\u{3}")?;
    terminal.wait("stopped; nothing was written")?;
    ensure!(terminal.end()? == Left { status: 1, restored: true });
    let mut terminal = start(&["--to", "777", "--no-test"])?;
    terminal.wait("your agent called")?;
    terminal.types("\u{3}")?;
    terminal.wait("stopped; nothing was written")?;
    ensure!(terminal.end()? == Left { status: 1, restored: true });
    let mut terminal = beginning.setup(&["--platform", "telegram"])?;
    terminal.wait("Paste the token")?;
    terminal.look(0.3)?;
    terminal.types("\u{3}")?;
    terminal.wait("stopped; nothing was written")?;
    ensure!(terminal.end()? == Left { status: 1, restored: true });

    ensure!(fs::read_dir(&temporary)?.next().is_none(), "a temporary folder is left");
    fs::remove_dir(&temporary)?;
    ensure!(beginning.left()?.is_empty(), "{:?}", beginning.left()?);
    Ok(())
}

#[test]
fn a_hub_that_runs_has_a_new_account_at_once() -> Result<()> {
    let beginning = Beginning::new()?;
    let token = beginning.token_file(beginning.mock.token())?;
    let mut hub = SpawnedHub::at_rest(
        std::sync::Arc::new(tempfile::tempdir()?),
        "[agents.engineer]\nallow = [\"local:*\"]\n[channels.local.home]\n",
    )?;
    hub.run()?;
    let agent = hub.agent("engineer")?;
    let before = fs::read_to_string(hub.config())?;
    let base = beginning.base();
    let config = hub.config();
    let setup = ["-c", config.to_str().context("UTF-8")?, "setup", "--platform", "telegram", "--to", "777"];
    let account = ["--token-file", &token, "--set", &base, "--no-test"];
    // Whom the hub does not believe changes nothing.
    let refused = gatepost(&[&setup[..], &account].concat(), b"", &[("GATEPOST_TOKEN", "gp_wrong")])?;
    ensure!(refused.status == 1 && refused.stderr.contains("all is as it was"), "{refused:?}");
    ensure!(fs::read_to_string(&config)? == before, "the old configuration is back");
    for name in ["secrets/telegram", "engineer.token"] {
        ensure!(!hub.folder().path().join(name).exists(), "{name} is left");
    }
    let added = gatepost(&[&setup[..], &account].concat(), b"", &[])?.well()?;
    ensure!(added.contains("engineer may write to telegram:777"), "{added}");
    let added = before.replace("\"local:*\"]", "\"local:*\", \"telegram:777\"]");
    ensure!(fs::read_to_string(hub.config())?.starts_with(&added), "what was there stays");
    let held = agent.send(&json!({"to": "telegram:777", "message": "Hello"}))?;
    ensure!(held["state"] == "held", "{held}");
    Ok(())
}

#[test]
fn a_chat_on_discord_is_found_by_a_message_too() -> Result<()> {
    let (folder, mock) = (tempfile::tempdir()?, Mock::discord()?);
    let base = format!("base_url={}/api/v10", mock.base_url());
    let mut setup = at_a_terminal(
        folder.path(),
        &["setup", "--platform", "discord", "--set", &base, "--companion", "none"],
    )?;
    answer(&mut setup, "Paste the token.*: $", mock.token())?;
    setup.wait("write a message to hub")?;
    eventually("it listens", || {
        let said = mock.happen(json!("said"))?;
        Ok(said.as_array().into_iter().flatten().any(|one| one["op"] == 2).then_some(()))
    })?;
    let message = json!({
        "id": "1200000000000000001", "channel_id": "200", "guild_id": "100", "type": 0, "content": "Here, bot",
        "timestamp": "2026-11-26T12:00:00Z", "mentions": [{"id": "123456"}], "author": {"id": "99", "username": "ann"},
    });
    mock.happen(json!({"tell": "MESSAGE_CREATE", "data": message}))?;
    answer(
        &mut setup,
        r"(?s)ann \(id 99\) wrote in a group, chat 200: .*Is this the chat\? \[Y/n\]: $",
        "y",
    )?;
    answer(&mut setup, "your agent called.*: $", "")?;
    setup.wait("engineer may write to discord:200 now")?;
    ensure!(setup.end()? == Left { status: 0, restored: true });
    let config = fs::read_to_string(folder.path().join("gatepost.toml"))?;
    ensure!(config.contains("discord:200") && config.contains("file:secrets/discord"), "{config}");
    Ok(())
}

#[test]
fn what_people_write_to_an_account_that_receives_stays_the_hubs() -> Result<()> {
    let beginning = Beginning::new()?;
    let (base, token) = (beginning.base(), beginning.token_file(beginning.mock.token())?);
    beginning.ann_writes()?;
    let telegram = ["--platform", "telegram", "--token-file", &token, "--set", &base, "--to", "777"];
    let made = beginning.script(&[&telegram[..], &["--set", "receive=true"]].concat())?;
    ensure!(made.status == 0 && made.stderr.contains("No test message"), "{made:?}");
    ensure!(beginning.mock.done("/getUpdates")?.is_empty(), "nothing was heard, and nothing acknowledged");
    // A second account makes it ambiguous which one is meant, and that is said.
    let second = ["--account", "work", "--agent", "cook"];
    let second = beginning.script(&[&telegram[..], &second].concat())?.well()?;
    ensure!(
        second.contains("telegram has several accounts") && second.contains("--account work"),
        "{second}"
    );
    ensure!(second.contains("which names no account is refused: engineer\n"), "{second}");
    Ok(())
}
