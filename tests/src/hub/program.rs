//! The `gatepost` program: built once, and run as a command line.

use std::{
    ffi::OsStr,
    fs::File,
    io::{PipeWriter, Seek as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::Value;

use crate::peers;

/// The longest that a command may take.
const LONGEST: Duration = Duration::from_secs(180);

/// The program, built once a test binary; Cargo has nothing to do if it is fresh.
static PROGRAM: LazyLock<Result<PathBuf, String>> =
    LazyLock::new(|| build("gatepost").map_err(|error| format!("{error:#}")));
/// The program that writes boards, which it starts.
static FLASHER: LazyLock<Result<PathBuf, String>> =
    LazyLock::new(|| build("gatepost-flash").map_err(|error| format!("{error:#}")));
/// What makes a card slow.
static SLOW_CARD: LazyLock<Result<PathBuf, String>> =
    LazyLock::new(|| build("gatepost-slow-card").map_err(|error| format!("{error:#}")));

/// Builds a package: its program, or its library where it has none.
fn build(name: &str) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--package", name, "--locked", "--message-format", "json"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    // What Cargo says of this package to its tests, build scripts would take for news about theirs.
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"]
            .iter()
            .any(|p| name_text.starts_with(p))
        {
            command.env_remove(&name);
        }
    }
    let built = command.stderr(Stdio::piped()).output().context("cannot run cargo")?;
    ensure!(built.status.success(), "cargo build: {}", String::from_utf8_lossy(&built.stderr));
    String::from_utf8(built.stdout)?
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        // A library's name has no dashes.
        .filter(|message| message["target"]["name"].as_str().is_some_and(|it| it.replace('_', "-") == name))
        .find_map(|message| {
            let mut files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
            let shared = files.find(|file| file.ends_with(".so"));
            message["executable"].as_str().or(shared).map(PathBuf::from)
        })
        .with_context(|| format!("cargo built no {name}"))
}

/// The program that writes boards, beside [`program`].
///
/// # Errors
/// It cannot be built.
pub fn flasher() -> Result<&'static Path> {
    let (flasher, program) = (FLASHER.as_deref().map_err(|error| anyhow!("{error}"))?, program()?);
    ensure!(flasher.parent() == program.parent(), "{} is elsewhere", flasher.display());
    Ok(flasher)
}

/// A library that makes what a program syncs slow, for who is started with it: see `tests/slow-card`.
///
/// # Errors
/// It cannot be built.
pub fn slow_card() -> Result<&'static Path> {
    SLOW_CARD.as_deref().map_err(|error| anyhow!("{error}"))
}

/// The program that the tests run, built as this workspace has it.
///
/// # Errors
/// It cannot be built.
pub fn program() -> Result<&'static Path> {
    PROGRAM.as_deref().map_err(|error| anyhow!("{error}"))
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The exit status; -1 where a signal ended it.
    pub status: i32,
    /// What it printed.
    pub stdout: String,
    /// What it said beside.
    pub stderr: String,
}

impl Ended {
    /// What it printed, if it did well.
    ///
    /// # Errors
    /// It did not.
    pub fn well(self) -> Result<String> {
        ensure!(self.status == 0, "exit status {}: {}", self.status, self.stderr);
        Ok(self.stdout)
    }

    /// What it printed, as JSON, if it did well.
    ///
    /// # Errors
    /// It did not, or that is no JSON.
    pub fn json(self) -> Result<Value> {
        let printed = self.well()?;
        let value: Value = serde_json::from_str(&printed).with_context(|| printed)?;
        super::client::no_error_where_all_is_well(&value)?;
        Ok(value)
    }
}

/// Runs `gatepost` with these arguments, without a terminal, `stdin` as its input; `environment` beside ours, less
/// what would lead it to another hub.
///
/// # Errors
/// It cannot be run, or does not end.
pub fn gatepost<A: AsRef<OsStr>>(
    arguments: &[A],
    stdin: &[u8],
    environment: &[(&str, &str)],
) -> Result<Ended> {
    run(bare()?.args(arguments).envs(environment.iter().copied()), stdin)
}

/// The same, but nobody reads what it prints: where whoever does has left, as `head` does at its end. `deaf`: nor what it says
/// beside, so that this is empty.
///
/// # Errors
/// It cannot be run, or does not end.
pub fn gatepost_without_a_reader<A: AsRef<OsStr>>(
    arguments: &[A],
    stdin: &[u8],
    deaf: bool,
) -> Result<Ended> {
    let errors = if deaf { Some(unread()?.into()) } else { None };
    into(bare()?.args(arguments), stdin, unread()?, errors)
}

/// The same, and what it prints goes to a disk that is full.
///
/// # Errors
/// It cannot be run, or does not end.
pub fn gatepost_to_a_full_disk<A: AsRef<OsStr>>(arguments: &[A]) -> Result<Ended> {
    into(bare()?.args(arguments), b"", File::options().write(true).open("/dev/full")?, None)
}

/// Runs it with these streams; what it says beside is read where that goes nowhere else.
fn into(
    command: &mut Command,
    stdin: &[u8],
    stdout: impl Into<Stdio>,
    stderr: Option<Stdio>,
) -> Result<Ended> {
    let (mut input, mut errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
    input.write_all(stdin)?;
    input.rewind()?;
    let stderr = stderr.map_or_else(|| errors.try_clone().map(Stdio::from), Ok)?;
    let mut child = command.stdin(input).stdout(stdout).stderr(stderr).spawn()?;
    let Some(status) = ended(&mut child, LONGEST)? else {
        bail!("gatepost did not end: {}", read(&mut errors)?);
    };
    Ok(Ended { status: status.code().unwrap_or(-1), stdout: String::new(), stderr: read(&mut errors)? })
}

/// The end of a pipe that nobody reads.
pub(super) fn unread() -> Result<PipeWriter> {
    let (_, writer) = std::io::pipe()?;
    Ok(writer)
}

/// Runs `gatepost` on a terminal of this kind, `plain` or `kitty`, before which a person sits who approves the first card
/// and denies the second.
///
/// # Errors
/// It cannot be run, or does not end.
pub fn gatepost_at_a_terminal(kind: &str, arguments: &[&str]) -> Result<Ended> {
    let mut command = Command::new(peers::python()?);
    run(command.arg(peers::file("terminal/person.py")).arg(kind).arg(program()?).args(arguments), b"")
}

fn run(command: &mut Command, stdin: &[u8]) -> Result<Ended> {
    // Files and not pipes: a full pipe would stop it.
    let mut output = tempfile::tempfile()?;
    let ended = into(command, stdin, output.try_clone()?, None)?;
    Ok(Ended { stdout: read(&mut output)?, ..ended })
}

/// How a process ended, if it did within so long; else it is killed.
pub(crate) fn ended(child: &mut Child, longest: Duration) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    while start.elapsed() < longest {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// The program, with nothing in its environment that would lead it to another hub.
pub(super) fn bare() -> Result<Command> {
    Ok(lonely(Command::new(program()?)))
}

/// The same command without what would lead it to another hub.
pub(super) fn lonely(mut command: Command) -> Command {
    for name in ["GATEPOST_CONFIG", "GATEPOST_HUB", "GATEPOST_TOKEN", "GATEPOST_LOG"] {
        command.env_remove(name);
    }
    command
}

fn read(file: &mut File) -> Result<String> {
    file.rewind()?;
    Ok(std::io::read_to_string(file)?)
}
