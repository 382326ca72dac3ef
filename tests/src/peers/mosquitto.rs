//! An MQTT broker that is not ours: mosquitto, with passwords and topic rules.

use std::{
    fs,
    net::{Ipv4Addr, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use super::{leash::Leash, ports};

const START: Duration = Duration::from_secs(15);
const HUB: Credentials = Credentials { username: "hub", password: "the hub's word" };
const COMPANION: Credentials = Credentials { username: "companion", password: "the companion's word" };

const HOUSE: Credentials = Credentials { username: "gatepost", password: "the hub's word in the house" };
const HOME_ASSISTANT: Credentials =
    Credentials { username: "homeassistant", password: "Home Assistant's word" };

/// What a client logs in with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credentials {
    /// MQTT's user name.
    pub username: &'static str,
    /// MQTT's password.
    pub password: &'static str,
}

/// A running broker, MQTT 3.1.1 and 5, on `127.0.0.1`.
///
/// The hub may use every topic below `gatepost/`. A companion hears `gatepost/1/HUB/DEVICE/down` and speaks on `up` and
/// `presence` beside it: what it may not do, the broker drops in silence, as mosquitto does.
#[derive(Debug)]
pub struct Mosquitto {
    leash: Leash,
    port: u16,
    secured: Option<u16>,
}

impl Mosquitto {
    /// Starts a broker.
    ///
    /// # Errors
    /// It is not installed, or did not come up; the error shows the end of its log.
    pub fn start() -> Result<Self> {
        ports::retrying(|| Self::start_once(ports::free()?, false))
    }

    /// Stops it, for good and for all who are connected; the port that it leaves.
    pub fn stop(self) -> u16 {
        self.port
    }

    /// Starts a broker where another one stopped, with the same logins.
    ///
    /// # Errors
    /// As [`start`](Self::start); somebody else has the port by now.
    pub fn start_at(port: u16) -> Result<Self> {
        Self::start_once(port, false)
    }

    /// Starts a broker that has a second listener, by TLS, for clients with a certificate of its authority.
    ///
    /// # Errors
    /// As [`start`](Self::start); openssl is not installed.
    pub fn start_secured() -> Result<Self> {
        ports::retrying(|| Self::start_once(ports::free()?, true))
    }

    fn start_once(port: u16, secured: bool) -> Result<Self> {
        let dir = Leash::folder("mosquitto")?;
        let path = dir.path().to_str().context("the temporary folder's path is not UTF-8")?;
        let config = dir.path().join("mosquitto.conf");
        super::fill_in("mosquitto/mosquitto.conf", &config, &[("DIR", path), ("PORT", &port.to_string())])?;
        let secured = secured.then(|| secure(&dir, &config)).transpose()?;
        super::fill_in("mosquitto/acl", &dir.path().join("acl"), &[])?;

        let passwords = dir.path().join("passwords");
        std::fs::write(&passwords, "")?;
        for Credentials { username, password } in [HUB, COMPANION, HOUSE, HOME_ASSISTANT] {
            let made = Command::new("mosquitto_passwd")
                .arg("-b")
                .arg(&passwords)
                .args([username, password])
                .output()
                .context("cannot run mosquitto_passwd: run `tests/run --setup-only`")?;
            ensure!(
                made.status.success(),
                "mosquitto_passwd failed: {}",
                String::from_utf8_lossy(&made.stderr)
            );
        }
        // A broker started by root reads its files as the user `mosquitto`.
        std::fs::set_permissions(&passwords, std::fs::Permissions::from_mode(0o644))?;

        let mut leash =
            Leash::start("mosquitto", dir, &["mosquitto".as_ref(), "-c".as_ref(), config.as_os_str()])?;
        let listens = |port: u16| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        leash.wait_until(START, || listens(port) && secured.is_none_or(listens))?;
        Ok(Self { leash, port, secured })
    }

    /// Where it listens, on `127.0.0.1`, without TLS.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it listens by TLS; its certificate is for `localhost` alone.
    ///
    /// # Errors
    /// It does not.
    pub fn secured_port(&self) -> Result<u16> {
        self.secured.context("this broker was started without TLS")
    }

    /// A file of those that `peers/mosquitto/certificates` makes.
    pub fn file(&self, name: &str) -> PathBuf {
        self.leash.dir().join(name)
    }

    /// For the hub.
    pub fn hub_credentials(&self) -> Credentials {
        HUB
    }

    /// For a hub at Home Assistant's broker, with the access rules that its guide names.
    pub fn house_credentials(&self) -> Credentials {
        HOUSE
    }

    /// For Home Assistant, which may say and hear all.
    pub fn home_assistant_credentials(&self) -> Credentials {
        HOME_ASSISTANT
    }

    /// For a companion.
    pub fn companion_credentials(&self) -> Credentials {
        COMPANION
    }
}

/// Adds a listener by TLS to a broker's configuration; its port.
fn secure(dir: &TempDir, config: &Path) -> Result<u16> {
    let made = Command::new(super::file("mosquitto/certificates")).current_dir(dir.path()).output()?;
    ensure!(made.status.success(), "cannot make certificates: {}", String::from_utf8_lossy(&made.stderr));
    let port = ports::free()?;
    let path = dir.path().to_str().context("the temporary folder's path is not UTF-8")?;
    let more = dir.path().join("secured.conf");
    super::fill_in("mosquitto/secured.conf", &more, &[("DIR", path), ("SECURED_PORT", &port.to_string())])?;
    let whole = fs::read_to_string(config)? + &fs::read_to_string(more)?;
    fs::write(config, whole)?;
    Ok(port)
}

#[cfg(test)]
mod tests {
    use std::process::Output;

    use super::*;

    /// One of mosquitto's own clients, logged in as `who`.
    fn client(broker: &Mosquitto, program: &str, who: Credentials, arguments: &[&str]) -> Command {
        let mut client = Command::new(program);
        client
            .args([
                "-h",
                "127.0.0.1",
                "-p",
                &broker.port().to_string(),
                "-u",
                who.username,
                "-P",
                who.password,
            ])
            .args(["-q", "1"])
            .args(arguments);
        client
    }

    /// What `listener` hears on `topic` when `speaker` says `text` there.
    fn heard(
        broker: &Mosquitto,
        speaker: Credentials,
        listener: Credentials,
        topic: &str,
        text: &str,
    ) -> String {
        // A session that outlives its connection: what is said between the two calls waits in it.
        let session = ["-i", "listener", "-c", "-t", topic];
        let run = |mut command: Command| -> Output { command.output().unwrap() };
        run(client(broker, "mosquitto_sub", listener, &[&session[..], &["-E"]].concat()));
        run(client(broker, "mosquitto_pub", speaker, &["-t", topic, "-m", text]));
        let sub =
            run(client(broker, "mosquitto_sub", listener, &[&session[..], &["-C", "1", "-W", "1"]].concat()));
        String::from_utf8(sub.stdout).unwrap().trim_end().to_owned()
    }

    #[test]
    fn mosquitto_carries_each_direction_for_those_who_may() {
        let broker = Mosquitto::start().unwrap();
        let (hub, companion) = (broker.hub_credentials(), broker.companion_credentials());
        assert_eq!(heard(&broker, hub, companion, "gatepost/1/h/d/down", "a card"), "a card");
        assert_eq!(heard(&broker, companion, hub, "gatepost/1/h/d/up", "a press"), "a press");
        assert_eq!(heard(&broker, companion, hub, "gatepost/1/h/d/presence", "1"), "1");
        assert_eq!(heard(&broker, companion, hub, "gatepost/1/h/d/down", "a forged card"), "");
    }

    #[test]
    fn mosquitto_refuses_a_wrong_password() {
        let broker = Mosquitto::start().unwrap();
        let guess = Credentials { password: "guess", ..broker.hub_credentials() };
        let refused =
            client(&broker, "mosquitto_pub", guess, &["-t", "gatepost/x", "-m", "x"]).output().unwrap();
        assert!(!refused.status.success());
        assert!(String::from_utf8_lossy(&refused.stderr).contains("not authorised"), "{refused:?}");
    }
}
