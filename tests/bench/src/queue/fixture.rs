//! A hub in a process of its own, and other processes that end with their handle.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use gatepost::{
    agents::{self, Role},
    store::Store,
};
use tempfile::TempDir;

use super::Outcome;

/// Nothing here takes longer.
const PATIENCE: Duration = Duration::from_secs(60);
const AGENT: &str = "bench";

/// A process that ends with this.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Outcome<Self> {
        Ok(Self(command.stdin(Stdio::null()).spawn()?))
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    fn has_ended(&mut self) -> Outcome<bool> {
        Ok(self.0.try_wait()?.is_some())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended by itself is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A hub's configuration and data, and the hub while it runs.
pub(crate) struct Fixture {
    folder: TempDir,
    token: String,
    listen: SocketAddr,
    broker: SocketAddr,
    environment: Vec<(&'static str, String)>,
    hub: Option<Process>,
}

impl Fixture {
    /// A hub with an agent, all channels that there are, and a Matrix account at this homeserver.
    pub(crate) fn build(platform: Option<SocketAddr>) -> Outcome<Self> {
        let secrets = tempfile::tempdir()?;
        // In the form that the strictest of them wants.
        fs::write(secrets.path().join("token"), "123456789:AAABBBCCCDDDEEEFFFGGGHHHIIIJJJKKKLL")?;
        let nowhere = free_address()?;
        let space = format!("http://{nowhere}/v1/spaces/AAAA/messages?key=key&token=token");
        fs::write(secrets.path().join("space"), space)?;
        fs::write(secrets.path().join("signing"), "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")?;
        // Of those who are nowhere, nobody asks.
        let platform = platform.map_or(free_address()?, |platform| platform);
        let accounts = format!(
            "[channels.email.home]\nhost = \"localhost\"\nfrom = \"hub@example.org\"\n\
             [channels.matrix.home]\nhomeserver = \"http://{platform}\"\ntoken = \"file:{token}\"\n{others}",
            token = secrets.path().join("token").display(),
            others = others(nowhere, secrets.path()),
        );
        Self::with(secrets, &accounts)
    }

    /// A hub with an agent, the channel `local`, and these accounts, whose secrets are in this folder.
    pub(crate) fn with(folder: TempDir, accounts: &str) -> Outcome<Self> {
        // There are secrets in it.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
        let store = Store::open(&folder.path().join("data"))?;
        let token = block_on(agents::add(&store, AGENT, Role::Agent, "bench"))??;
        store.close();
        let (listen, broker) = (free_address()?, free_address()?);
        let text = format!(
            "[hub]\ndata_dir = {data:?}\nlisten = \"{listen}\"\n\
             [broker]\nlisten = \"{broker}\"\n\
             [agents.{AGENT}]\nper_minute = 0\nallow = [\"*\"]\ncross_context = \"allow\"\ndecorate = false\n\
             [channels.local.home]\n{accounts}",
            data = folder.path().join("data"),
        );
        fs::write(folder.path().join("gatepost.toml"), text)?;
        Ok(Self { folder, token, listen, broker, environment: vec![], hub: None })
    }

    /// From its next start on the hub has this in its environment, and nothing else.
    pub(crate) fn has_in_its_environment(&mut self, environment: Vec<(&'static str, String)>) {
        self.environment = environment;
    }

    /// Starts the hub; it is ready when this returns.
    pub(crate) fn run(&mut self) -> Outcome<()> {
        let program = program()?;
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(self.environment.iter().cloned())
            .arg("run")
            .arg("--config")
            .arg(self.config());
        let mut hub = Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
        let began = Instant::now();
        while !is_ready(self.listen) {
            if hub.has_ended()? || began.elapsed() > PATIENCE {
                return Err(format!("the hub does not start: run gatepost with {:?}", self.config()).into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.hub = Some(hub);
        Ok(())
    }

    /// Asks the hub to stop, and waits until it has.
    pub(crate) fn stop(&mut self) -> Outcome<()> {
        let Some(mut hub) = self.hub.take() else { return Ok(()) };
        Command::new("kill").args(["-TERM", &hub.id().to_string()]).status()?;
        let began = Instant::now();
        while !hub.has_ended()? {
            if began.elapsed() > PATIENCE {
                return Err("the hub does not stop".into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Ends the hub at once: what it waits for does not come.
    pub(crate) fn kill(&mut self) {
        self.hub = None;
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.folder.path().join("gatepost.toml")
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listen
    }

    /// Where companions go.
    pub(crate) fn broker(&self) -> SocketAddr {
        self.broker
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Bytes that the hub has had written to the disk, as the kernel counts them: whole pages of its cache, when they are first changed
    /// (proc_pid_io(5)). A file system in memory counts none.
    pub(crate) fn written(&self) -> Outcome<u64> {
        let io = fs::read_to_string(format!("/proc/{}/io", self.id()?))?;
        number_after(&io, "write_bytes:").and_then(|written| {
            // What was cut off before it reached the disk was never written.
            Ok(written.saturating_sub(number_after(&io, "cancelled_write_bytes:")?))
        })
    }

    /// Bytes that the hub has in memory.
    pub(crate) fn resident(&self) -> Outcome<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id()?))?;
        Ok(number_after(&status, "VmRSS:")? * 1024)
    }

    /// How often each of its threads has gone to sleep of its own accord.
    pub(crate) fn sleeps(&self) -> Outcome<BTreeMap<OsString, u64>> {
        let mut sleeps = BTreeMap::new();
        for thread in fs::read_dir(format!("/proc/{}/task", self.id()?))? {
            let thread = thread?;
            let status = fs::read_to_string(thread.path().join("status"))?;
            sleeps.insert(thread.file_name(), number_after(&status, "voluntary_ctxt_switches:")?);
        }
        Ok(sleeps)
    }

    fn id(&self) -> Outcome<u32> {
        Ok(self.hub.as_ref().ok_or("the hub does not run")?.id())
    }
}

/// An account on each of the other channels, at platforms that are nowhere: what an adapter holds in memory, it holds once
/// it is open.
fn others(nowhere: SocketAddr, secrets: &Path) -> String {
    let file = |name: &str| format!("\"file:{}\"", secrets.join(name).display());
    let secret = file("token");
    let token = |channel: &str, more: &str| format!("[channels.{channel}.home]\ntoken = {secret}\n{more}\n");
    let at = |key: &str| format!("{key} = \"http://{nowhere}\"");
    [
        token("telegram", &at("base_url")),
        token("discord", &at("base_url")),
        token("slack", &at("base_url")),
        token("whatsapp", &format!("phone_number_id = \"1\"\n{}", at("graph_url"))),
        format!("[channels.signal.home]\naccount = \"+15550100\"\n{}\n", at("url")),
        format!("[channels.imessage.home]\npassword = {secret}\n{}\n", at("url")),
        format!(
            "[channels.teams.home]\napp_id = \"app\"\nsecret = {secret}\n{}\n{}\n",
            at("service_url"),
            at("login_url")
        ),
        format!("[channels.googlechat.home]\nwebhook = {}\n", file("space")),
        token("ntfy", &at("url")),
        format!("[channels.webhook.home]\nsecret = {}\n{}\n", file("signing"), at("url")),
    ]
    .concat()
}

fn number_after(text: &str, name: &str) -> Outcome<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).ok_or(name.to_owned())?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// The hub's program, which `tests/bench/run` has built.
fn program() -> Outcome<PathBuf> {
    let named = std::env::var_os("GATEPOST_BENCH_HUB").ok_or("start this with tests/bench/run")?;
    let program = PathBuf::from(named);
    match program.exists() {
        true => Ok(program),
        false => Err(format!("there is no {}: start this with tests/bench/run", program.display()).into()),
    }
}

/// This program with other arguments.
pub(crate) fn this(arguments: &[&str], path: Option<&Path>) -> Outcome<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments);
    if let Some(path) = path {
        command.arg(path);
    }
    Ok(command)
}

pub(crate) fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

fn is_ready(address: SocketAddr) -> bool {
    use std::io::{Read as _, Write as _};
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let mut answer = [0; 12];
    stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").is_ok()
        && stream.read_exact(&mut answer).is_ok()
        && answer.ends_with(b" 200")
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> Outcome<T> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work))
}
