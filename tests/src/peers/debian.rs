//! A Debian 12 of its own, in which packages are installed: booted under systemd in a container where the machine can, or else a
//! chroot without one.
//!
//! `tests/run --setup-only` unpacks it into `tests/.debian`; each test takes a copy. It takes root.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

use crate::hub::Ended;

/// How long a boot may take.
const BOOT: Duration = Duration::from_secs(60);
/// Where programs are, for who inherits nothing from here.
const PATH: &str = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";

/// The system. What was started in it ends when it is dropped.
pub struct Debian {
    folder: TempDir,
    container: Option<Container>,
}

/// The container in which it is booted.
struct Container {
    nspawn: Child,
    bus: Child,
    /// The process id of its `init`, as it is here.
    init: String,
}

impl Debian {
    /// A fresh one, booted if that can be; why it cannot be is printed.
    ///
    /// # Errors
    /// There is none to copy.
    pub fn fresh() -> Result<Self> {
        let mut debian = Self::files()?;
        match debian.boot() {
            Ok(container) => debian.container = Some(container),
            Err(error) => println!("no container here, so a chroot: {error:#}"),
        }
        Ok(debian)
    }

    /// Its files alone: nothing runs.
    ///
    /// # Errors
    /// There is none to copy.
    pub fn files() -> Result<Self> {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(".debian/root");
        ensure!(from.is_dir(), "there is no {}: run `tests/run --setup-only`, as root", from.display());
        let folder = tempfile::tempdir()?;
        let copied =
            Command::new("cp").args(["-a", "--reflink=auto"]).arg(&from).arg(folder.path()).status()?;
        ensure!(copied.success(), "cp: {copied}");
        Ok(Self { folder, container: None })
    }

    /// Whether this process may change its root.
    pub fn may_be() -> bool {
        rustix::process::geteuid().is_root()
    }

    /// Its root, as it is here.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Whether systemd runs in it.
    pub fn is_booted(&self) -> bool {
        self.container.is_some()
    }

    /// Copies a file into its root's home; its path there.
    ///
    /// # Errors
    /// The file system's.
    pub fn take(&self, file: &Path) -> Result<String> {
        let name = file.file_name().and_then(|name| name.to_str()).context("a file")?;
        fs::copy(file, self.root().join("root").join(name))?;
        Ok(format!("/root/{name}"))
    }

    /// Has apt forget the lists of packages that it has read, if it has read any.
    ///
    /// # Errors
    /// The file system's.
    pub fn forget_lists(&self) -> Result<()> {
        match fs::remove_dir_all(self.root().join("var/lib/apt/lists")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// A command in it, as root.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = match &self.container {
            Some(container) => {
                let mut command = Command::new("nsenter");
                command.args(["--target", &container.init, "--all", "--"]);
                command
            }
            None => {
                let mut command = Command::new("unshare");
                command.args(["--mount", "--pid", "--fork", "--kill-child"]);
                command.arg(format!("--mount-proc={}", self.root().join("proc").display()));
                command.arg("chroot").arg(self.root());
                command
            }
        };
        command.args(["/usr/bin/env", "-i", PATH, "HOME=/root", "LC_ALL=C.UTF-8"]).args(arguments);
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command in it, as root.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(&self, arguments: &[&str]) -> Result<Ended> {
        let output = self.command(arguments).output().with_context(|| format!("{arguments:?}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Ended {
            status: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        })
    }

    fn boot(&self) -> Result<Container> {
        // It asks for a system bus, whose owner it then needs for nothing.
        let socket = format!("unix:path={}", self.folder.path().join("bus").display());
        let mut bus = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--nopidfile", "--address", &socket])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot run dbus-daemon")?;
        let log = self.folder.path().join("boot.log");
        let mut nspawn = Command::new("systemd-nspawn");
        nspawn.args(["--quiet", "--boot", "--keep-unit", "--register=no", "--private-network", "--machine"]);
        nspawn.arg(format!("gatepost-{}", std::process::id())).arg("--directory").arg(self.root());
        nspawn.env("DBUS_SYSTEM_BUS_ADDRESS", &socket).stdin(Stdio::null());
        nspawn
            .stdout(fs::File::create(&log)?)
            .stderr(fs::File::create(self.folder.path().join("boot.errors"))?);
        let nspawn = nspawn.process_group(0).spawn();
        let mut container = match nspawn {
            Ok(nspawn) => Container { nspawn, bus, init: String::new() },
            Err(error) => {
                end(&mut bus);
                return Err(error).context("cannot run systemd-nspawn");
            }
        };
        match container.wait() {
            Ok(()) => Ok(container),
            Err(error) => {
                container.end();
                let said = fs::read_to_string(self.folder.path().join("boot.errors")).unwrap_or_default();
                Err(error.context(said))
            }
        }
    }
}

impl Container {
    /// Waits until it has booted.
    fn wait(&mut self) -> Result<()> {
        let start = Instant::now();
        let mut state = String::new();
        while start.elapsed() < BOOT {
            if let Some(status) = self.nspawn.try_wait()? {
                bail!("systemd-nspawn: {status}");
            }
            thread::sleep(Duration::from_millis(200));
            let children = Command::new("pgrep").args(["-P", &self.nspawn.id().to_string()]).output()?;
            let Some(init) = String::from_utf8(children.stdout)?.lines().next().map(str::to_owned) else {
                continue;
            };
            let asked = Command::new("nsenter")
                .args(["--target", &init, "--all", "--", "/usr/bin/systemctl", "is-system-running"])
                .output()?;
            state = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
            // What a container cannot have (a mount, a device) degrades it.
            if ["running", "degraded"].contains(&state.as_str()) {
                self.init = init;
                return Ok(());
            }
        }
        bail!("not booted within {BOOT:?}: {state}")
    }

    fn end(&mut self) {
        if !self.init.is_empty() {
            // Its end is the end of all that runs in its namespace.
            let _ = Command::new("kill").args(["-9", &self.init]).status();
            let _ = self.nspawn.wait();
        }
        end(&mut self.nspawn);
        end(&mut self.bus);
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

impl Drop for Debian {
    fn drop(&mut self) {
        if let Some(container) = &mut self.container {
            container.end();
        }
    }
}
