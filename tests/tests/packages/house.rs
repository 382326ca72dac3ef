//! A Debian with the hub installed, and an agent that hands messages in whatever happens to it.

use std::{
    path::Path,
    process::{Child, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::peers::debian::Debian;

/// A Debian with the hub, however it runs there.
pub(crate) struct House {
    pub(crate) debian: Debian,
    /// The hub, where there is no systemd to run it.
    hub: Option<Child>,
}

impl House {
    /// Without the hub.
    pub(crate) fn fresh() -> Result<Self> {
        Ok(Self { debian: Debian::fresh()?, hub: None })
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String> {
        self.debian.run(arguments)?.well().with_context(|| format!("{arguments:?}"))
    }

    pub(crate) fn install(&self, package: &Path) -> Result<String> {
        let file = self.debian.take(package)?;
        self.run(&["dpkg", "--install", &file])
    }

    /// Starts the hub, as its unit does.
    pub(crate) fn start(&mut self) -> Result<()> {
        if self.debian.is_booted() {
            self.run(&["systemctl", "enable", "--now", "gatepost"])?;
        } else {
            self.run(&["install", "-d", "-o", "gatepost", "-m", "700", "/var/lib/gatepost"])?;
            let as_hub = ["setpriv", "--reuid=gatepost", "--regid=gatepost", "--init-groups"];
            let mut command = self.debian.command(&[&as_hub[..], &["gatepost", "run"]].concat());
            self.hub = Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        }
        self.run(&["gatepost", "health", "--wait", "60"])?;
        Ok(())
    }

    /// What an upgrade does to a hub that runs, where no systemd does it.
    pub(crate) fn restart_by_hand(&mut self) -> Result<()> {
        self.stop();
        if self.debian.is_booted() { Ok(()) } else { self.start() }
    }

    pub(crate) fn stop(&mut self) {
        if let Some(mut hub) = self.hub.take() {
            let _ = hub.kill();
            let _ = hub.wait();
        }
    }

    /// Hands messages in one after the other; each until the hub has taken it, however often it is away meanwhile. What it took before
    /// it could say so is the same message again, and is sent once.
    pub(crate) fn hand_in(&self, messages: usize) -> Result<Child> {
        let script = format!(
            "for n in $(seq 1 {messages}); do tries=0; \
               until gatepost send --as-operator --to local:me word$n. >/tmp/said 2>&1; do \
                 tries=$((tries + 1)); if [ $tries -gt 100 ]; then cat /tmp/said; exit 1; fi; sleep 0.2; \
               done; \
             done"
        );
        Ok(self.debian.command(&["sh", "-c", &script]).stdout(Stdio::piped()).spawn()?)
    }

    /// The inbox, in which each of so many messages is there once.
    pub(crate) fn each_arrived_once(&self, messages: usize) -> Result<String> {
        let inbox = self.inbox()?;
        for n in 1..=messages {
            let times = inbox.matches(&format!("word{n}.")).count();
            ensure!(times == 1, "word{n} is there {times} times: {inbox}");
        }
        Ok(inbox)
    }

    /// What arrived in the inbox of the shell.
    pub(crate) fn inbox(&self) -> Result<String> {
        self.run(&["gatepost", "local", "read", "me"])
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.stop();
    }
}
