//! `gatepost run` as a process of its own, which can be killed.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{
    Client, PATIENCE, eventually,
    program::{Ended, bare, ended, gatepost, gatepost_without_a_reader, lonely, program, unread},
};
use crate::peers::free_port;

const KILLED: i32 = 9;

/// What a file of a test's secret loses, as a hub wants it: the bits of others.
const NOT_OTHERS: u32 = 0o770;

/// Takes from others the right to read the temporary files that a configuration names as secrets.
fn hide_secrets(config: &str) -> Result<()> {
    let named = config.split("\"file:").skip(1).filter_map(|rest| rest.split('"').next());
    for path in named.map(Path::new).filter(|path| path.starts_with(std::env::temp_dir())) {
        if let Ok(file) = fs::metadata(path) {
            let mode = file.permissions().mode() & NOT_OTHERS;
            fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

/// `gatepost run` as a process of its own.
pub struct SpawnedHub {
    folder: Arc<TempDir>,
    port: u16,
    broker: u16,
    child: Option<Child>,
    environment: Vec<(String, String)>,
    /// What runs the program, with its arguments; nothing where the machine does.
    emulator: Vec<OsString>,
    /// Whether its log is a pipe that nobody reads.
    unread: bool,
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
        let (environment, emulator) = (Vec::new(), Vec::new());
        let hub = Self { folder, port, broker, child: None, environment, emulator, unread: false };
        hub.configure(config)?;
        Ok(hub)
    }

    /// Writes another configuration, whole but for addresses and folders. Whether it runs or not, it reads it when it is told to.
    ///
    /// # Errors
    /// The file system's.
    pub fn configure(&self, config: &str) -> Result<()> {
        let Self { port, broker, .. } = self;
        // Its own keys of `[hub]` stand beside these, and keys before its first section are the broker's.
        let (hub, rest) = match config.strip_prefix("[hub]\n") {
            Some(own) => own.find("\n[").map_or((own, ""), |end| own.split_at(end + 1)),
            None => ("", config),
        };
        let own = format!(
            "[hub]\ndata_dir = \"data\"\nlisten = \"127.0.0.1:{port}\"\n{hub}[broker]\nlisten = \"127.0.0.1:{broker}\"\n"
        );
        hide_secrets(config)?;
        Ok(fs::write(self.config(), own + rest)?)
    }

    /// Tells it to read its configuration again, by SIGHUP.
    ///
    /// # Errors
    /// It does not run.
    pub fn hang_up(&self) -> Result<()> {
        let child = self.child.as_ref().context("it does not run")?;
        Ok(kill_process(Pid::from_child(child), Signal::HUP)?)
    }

    /// From its next start on it is this program, run by this command: `emulator` ends with the program.
    pub fn is_run_by(&mut self, emulator: impl IntoIterator<Item = OsString>) {
        self.emulator = emulator.into_iter().collect();
    }

    /// From its next start on it may have so many descriptors.
    ///
    /// # Errors
    /// The program cannot be built.
    pub fn limit_descriptors(&mut self, most: u32) -> Result<()> {
        let script = format!("ulimit -n {most}; exec \"$0\" \"$@\"");
        self.is_run_by(["sh".into(), "-c".into(), script.into(), program()?.into()]);
        Ok(())
    }

    /// From its next start on it logs and prints into a pipe whose reader has left.
    pub fn lose_its_reader(&mut self) {
        self.unread = true;
    }

    /// Where its HTTP interface listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its embedded broker listens.
    pub fn broker_port(&self) -> u16 {
        self.broker
    }

    /// From its next start on this is in its environment.
    pub fn knows(&mut self, name: &str, value: &str) {
        self.environment.push((name.into(), value.into()));
    }

    /// From its next start on it logs everything at this level.
    pub fn log_at(&mut self, level: &str) {
        self.environment.push(("GATEPOST_LOG".into(), level.into()));
    }

    /// From its next start on it reaches what is outside the local network by this proxy.
    pub fn reaches_out_by(&mut self, proxy: &str) {
        self.environment.push(("http_proxy".into(), proxy.into()));
    }

    /// Everything that it has logged and printed.
    ///
    /// # Errors
    /// The file system's.
    pub fn log(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.folder.path().join("log"))?).into_owned())
    }

    /// Starts it, for the first time or again.
    ///
    /// # Errors
    /// It did not start; the error shows its log.
    pub fn run(&mut self) -> Result<()> {
        self.run_without_waiting()?;
        let port = self.anybody(None);
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
            Ok(port.get("/readyz").is_ok_and(|answer| answer.status == 200).then_some(()))
        })
    }

    /// The same, whether it becomes ready or not.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn run_without_waiting(&mut self) -> Result<()> {
        ensure!(self.child.is_none(), "it runs already");
        hide_secrets(&fs::read_to_string(self.config())?)?;
        let log = File::options().create(true).append(true).open(self.folder.path().join("log"))?;
        let mut command = match self.emulator.split_first() {
            Some((first, rest)) => {
                let mut command = lonely(Command::new(first));
                command.args(rest);
                command
            }
            None => bare()?,
        };
        command
            .envs(self.environment.iter().cloned())
            .arg("run")
            .arg("--config")
            .arg(self.config())
            .stdin(Stdio::null());
        match self.unread {
            true => command.stdout(unread()?).stderr(unread()?),
            false => command.stdout(log.try_clone()?).stderr(log),
        };
        let child = command.spawn()?;
        self.child = Some(child);
        Ok(())
    }

    /// `kill -9`.
    ///
    /// # Errors
    /// It does not run, or had ended otherwise.
    pub fn kill(&mut self) -> Result<()> {
        let mut child = self.child.take().context("it does not run")?;
        child.kill()?;
        let status = child.wait()?;
        ensure!(status.signal() == Some(KILLED), "the hub ended by itself, with {status}:\n{}", self.log()?);
        Ok(())
    }

    /// Runs a command with this hub's configuration, and `kill -9`s it after so long; whether that was before its end.
    ///
    /// # Errors
    /// It cannot be run, or failed.
    pub fn cli_killed(&self, arguments: &[&str], after: Duration) -> Result<bool> {
        self.cli_killed_once(arguments, || true, after)
    }

    /// The same so long after `has_begun`, which is asked again and again.
    ///
    /// # Errors
    /// It cannot be run, or failed.
    pub fn cli_killed_once(
        &self,
        arguments: &[&str],
        has_begun: impl Fn() -> bool,
        after: Duration,
    ) -> Result<bool> {
        let log = File::options().create(true).append(true).open(self.folder.path().join("log"))?;
        let mut child = bare()?
            .arg("--config")
            .arg(self.config())
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        while !has_begun() && child.try_wait()?.is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(after);
        child.kill()?;
        let status = child.wait()?;
        ensure!(status.success() || status.signal() == Some(KILLED), "{status}: {}", self.log()?);
        Ok(!status.success())
    }

    /// Asks it to stop, as systemd does, and waits until it has.
    ///
    /// # Errors
    /// It did not end well.
    pub fn terminate(&mut self) -> Result<()> {
        let child = self.child.as_ref().context("it does not run")?;
        kill_process(Pid::from_child(child), Signal::TERM)?;
        let mut child = self.child.take().context("it does not run")?;
        let status = ended(&mut child, PATIENCE)?.context("the hub did not stop when it was asked to")?;
        ensure!(status.success(), "the hub ended with {status}");
        Ok(())
    }

    /// The process.
    ///
    /// # Errors
    /// It does not run.
    pub fn pid(&self) -> Result<u32> {
        Ok(self.child.as_ref().context("it does not run")?.id())
    }

    /// A figure of its memory, in bytes, as `/proc/PID/status` names it, such as `VmRSS`.
    ///
    /// # Errors
    /// It does not run, or there is no such figure.
    pub fn memory(&self, name: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()?))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kib: u64 = line.context("no such figure")?.trim().trim_end_matches(" kB").parse()?;
        Ok(kib * 1024)
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

    /// A bridge, which vouches for nobody.
    ///
    /// # Errors
    /// The command line did not make its token.
    pub fn bridge(&self, name: &str) -> Result<Client> {
        let token = self.cli(&["agent", "add", name, "--role", "bridge"])?.well()?;
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

    /// The same, but nobody reads what it prints, nor, if `deaf`, what it says beside.
    ///
    /// # Errors
    /// It cannot be run, or does not end.
    pub fn cli_without_a_reader(&self, arguments: &[&str], stdin: &[u8], deaf: bool) -> Result<Ended> {
        let config = self.config();
        let mut all: Vec<&OsStr> = vec!["--config".as_ref(), config.as_os_str()];
        all.extend(arguments.iter().map(AsRef::<OsStr>::as_ref));
        gatepost_without_a_reader(&all, stdin, deaf)
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
