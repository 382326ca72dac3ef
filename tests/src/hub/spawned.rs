//! The `gatepost` program: as a hub that is a process of its own and can be killed, and as a command line.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{Seek as _, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, LazyLock},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::{Client, PATIENCE, eventually};
use crate::peers::free_port;

/// The longest that a command may take.
const LONGEST: Duration = Duration::from_secs(180);
const KILLED: i32 = 9;

/// The program, built once a test binary; Cargo has nothing to do if it is fresh.
static PROGRAM: LazyLock<Result<PathBuf, String>> =
    LazyLock::new(|| build().map_err(|error| format!("{error:#}")));

fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--package", "gatepost", "--locked", "--message-format", "json"])
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
        .find(|message| message["target"]["name"] == "gatepost" && message["executable"].is_string())
        .and_then(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo built no gatepost")
}

fn program() -> Result<&'static Path> {
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
        serde_json::from_str(&printed).with_context(|| printed)
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
    // Files and not pipes: a full pipe would stop it.
    let (mut input, mut output, mut errors) =
        (tempfile::tempfile()?, tempfile::tempfile()?, tempfile::tempfile()?);
    input.write_all(stdin)?;
    input.rewind()?;
    let mut child = bare()?
        .args(arguments)
        .envs(environment.iter().copied())
        .stdin(input)
        .stdout(output.try_clone()?)
        .stderr(errors.try_clone()?)
        .spawn()?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > LONGEST {
            child.kill()?;
            child.wait()?;
            bail!("gatepost did not end: {}", read(&mut errors)?);
        }
        thread::sleep(Duration::from_millis(5));
    };
    Ok(Ended { status: status.code().unwrap_or(-1), stdout: read(&mut output)?, stderr: read(&mut errors)? })
}

fn bare() -> Result<Command> {
    let mut command = Command::new(program()?);
    for name in ["GATEPOST_CONFIG", "GATEPOST_HUB", "GATEPOST_TOKEN", "GATEPOST_LOG"] {
        command.env_remove(name);
    }
    Ok(command)
}

fn read(file: &mut File) -> Result<String> {
    file.rewind()?;
    Ok(std::io::read_to_string(file)?)
}

/// `gatepost run` as a process of its own.
pub struct SpawnedHub {
    folder: Arc<TempDir>,
    port: u16,
    child: Option<Child>,
}

impl SpawnedHub {
    /// Starts a hub; when this returns it takes messages. `config` is a whole configuration, but for addresses and
    /// folders.
    ///
    /// # Errors
    /// It did not start; the error shows its log.
    pub fn start(config: &str) -> Result<Self> {
        let mut hub = Self::at_rest(Arc::new(tempfile::tempdir()?), config)?;
        hub.run()?;
        Ok(hub)
    }

    /// The configuration is written, and nothing runs.
    ///
    /// # Errors
    /// The file system's.
    pub fn at_rest(folder: Arc<TempDir>, config: &str) -> Result<Self> {
        let (port, broker) = (free_port()?, free_port()?);
        let hub = Self { folder, port, child: None };
        let own = format!(
            "[hub]\ndata_dir = \"data\"\nlisten = \"127.0.0.1:{port}\"\n[broker]\nlisten = \"127.0.0.1:{broker}\"\n"
        );
        fs::write(hub.config(), own + config)?;
        Ok(hub)
    }

    /// Starts it, for the first time or again.
    ///
    /// # Errors
    /// It did not start; the error shows its log.
    pub fn run(&mut self) -> Result<()> {
        ensure!(self.child.is_none(), "it runs already");
        let log = File::options().create(true).append(true).open(self.folder.path().join("log"))?;
        let child = bare()?
            .arg("run")
            .arg("--config")
            .arg(self.config())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.child = Some(child);
        let door = self.anybody(None);
        eventually("the hub is ready", || {
            if let Some(child) = &mut self.child
                && let Some(status) = child.try_wait()?
            {
                self.child = None;
                bail!(
                    "the hub ended with {status}:\n{}",
                    fs::read_to_string(self.folder.path().join("log"))?
                );
            }
            Ok(door.get("/readyz").is_ok_and(|answer| answer.status == 200).then_some(()))
        })
    }

    /// `kill -9`.
    ///
    /// # Errors
    /// It does not run, or had ended otherwise.
    pub fn kill(&mut self) -> Result<()> {
        let mut child = self.child.take().context("it does not run")?;
        child.kill()?;
        let status = child.wait()?;
        ensure!(status.signal() == Some(KILLED), "the hub ended by itself, with {status}");
        Ok(())
    }

    /// Asks it to stop, as systemd does, and waits until it has.
    ///
    /// # Errors
    /// It did not end well.
    pub fn terminate(&mut self) -> Result<()> {
        let mut child = self.child.take().context("it does not run")?;
        let told = Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
        ensure!(told.success(), "kill: {told}");
        let start = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                ensure!(status.success(), "the hub ended with {status}");
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                child.kill()?;
                child.wait()?;
                bail!("the hub did not stop when it was asked to");
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The process.
    ///
    /// # Errors
    /// It does not run.
    pub fn pid(&self) -> Result<u32> {
        Ok(self.child.as_ref().context("it does not run")?.id())
    }

    /// The configuration file.
    pub fn config(&self) -> PathBuf {
        self.folder.path().join("gatepost.toml")
    }

    /// The folder that all of it lives in.
    pub fn folder(&self) -> &Arc<TempDir> {
        &self.folder
    }

    /// The hub's data directory.
    pub fn data_dir(&self) -> PathBuf {
        super::inside::data_dir(&self.folder)
    }

    /// Whoever has this token, or none.
    pub fn anybody(&self, token: Option<&str>) -> Client {
        Client::new(&format!("http://127.0.0.1:{}", self.port), token)
    }

    /// The operator.
    ///
    /// # Errors
    /// There is no token.
    pub fn operator(&self) -> Result<Client> {
        let token = fs::read_to_string(self.data_dir().join("operator.token"))?;
        Ok(self.anybody(Some(token.trim())))
    }

    /// The agent of this name, with a new token.
    ///
    /// # Errors
    /// It has one already.
    pub fn agent(&self, name: &str) -> Result<Client> {
        let token = self.cli(&["agent", "add", name])?.well()?;
        Ok(self.anybody(Some(token.trim())))
    }

    /// Runs a command with this hub's configuration.
    ///
    /// # Errors
    /// It cannot be run, or does not end.
    pub fn cli(&self, arguments: &[&str]) -> Result<Ended> {
        self.cli_with(arguments, b"", &[])
    }

    /// The same, with something to read and something in the environment.
    ///
    /// # Errors
    /// It cannot be run, or does not end.
    pub fn cli_with(&self, arguments: &[&str], stdin: &[u8], environment: &[(&str, &str)]) -> Result<Ended> {
        let config = self.config();
        let mut all: Vec<&OsStr> = vec!["--config".as_ref(), config.as_os_str()];
        all.extend(arguments.iter().map(AsRef::<OsStr>::as_ref));
        gatepost(&all, stdin, environment)
    }
}

impl Drop for SpawnedHub {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Nothing to do about an error here: it may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
