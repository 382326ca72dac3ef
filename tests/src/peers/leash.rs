//! How a peer lives and dies.
//!
//! The invariant: a peer never outlives the test that started it. Destructors alone cannot keep it, since none runs in
//! a killed process nor for a value in a static, so a small script (`peers/leash`) stands between the two: it holds the
//! read end of a pipe, and when the write end, here, closes for whatever reason, it stops the peer with all that it
//! forked and removes its folder.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

/// How much of a peer's log an error shows, in lines.
const TAIL: usize = 30;

/// A running peer.
#[derive(Debug)]
pub(super) struct Leash {
    peer: &'static str,
    dir: PathBuf,
    /// The script. Its standard input is the pipe that keeps the peer alive.
    script: Child,
}

impl Leash {
    /// A folder for a peer, which its unprivileged processes can enter too.
    pub(super) fn folder(peer: &str) -> Result<TempDir> {
        let dir = tempfile::Builder::new().prefix(&format!("gatepost-{peer}-")).tempdir()?;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755))?;
        Ok(dir)
    }

    /// Starts `program` as `peer`. From here on the leash owns `dir`.
    pub(super) fn start<P: AsRef<OsStr>>(peer: &'static str, dir: TempDir, program: &[P]) -> Result<Self> {
        Self::spawn(peer, dir, program, Command::new(super::file("leash")))
    }

    /// The peer's folder.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Starts `program` as root: as it is if we are root, else through a `sudo` that asks nothing.
    pub(super) fn start_as_root<P: AsRef<OsStr>>(
        peer: &'static str,
        dir: TempDir,
        program: &[P],
    ) -> Result<Self> {
        let script = super::file("leash");
        if fs::metadata("/proc/self")?.uid() == 0 {
            return Self::spawn(peer, dir, program, Command::new(script));
        }
        let may = Command::new("sudo").args(["-n", "true"]).output().is_ok_and(|sudo| sudo.status.success());
        if !may {
            bail!("{peer} needs root: run the tests as root, or as a user whose sudo asks for no password");
        }
        let mut sudo = Command::new("sudo");
        sudo.arg("-n").arg(script);
        Self::spawn(peer, dir, program, sudo)
    }

    fn spawn<P: AsRef<OsStr>>(
        peer: &'static str,
        dir: TempDir,
        program: &[P],
        mut script: Command,
    ) -> Result<Self> {
        let script = script
            .arg(dir.path())
            .args(program)
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {peer}"))?;
        Ok(Self { peer, dir: dir.keep(), script })
    }

    /// Asks `ready` until it says yes.
    ///
    /// # Errors
    /// The peer ended, or was not ready within `limit`; the error shows the end of its log.
    pub(super) fn wait_until(&mut self, limit: Duration, mut ready: impl FnMut() -> bool) -> Result<()> {
        let start = Instant::now();
        loop {
            if self.dir.join("ended").exists() || self.script.try_wait()?.is_some() {
                bail!("{} ended before it was ready. Its log ends with:\n{}", self.peer, self.log_tail());
            }
            if ready() {
                return Ok(());
            }
            if start.elapsed() > limit {
                bail!(
                    "{} was not ready within {limit:?}. Its log ends with:\n{}",
                    self.peer,
                    self.log_tail()
                );
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The last lines that the peer printed.
    pub(super) fn log_tail(&self) -> String {
        let log = fs::read(self.dir.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(TAIL)..].join("\n")
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // The script ends within seconds of this, by killing what does not stop when told.
        drop(self.script.stdin.take());
        // Nothing to do about an error here: the script goes on without us.
        let _ = self.script.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> Leash {
        Leash::start("sleeper", Leash::folder("sleeper").unwrap(), &["bash", "-c", script]).unwrap()
    }

    /// Starts a peer with a child that ignores being told to stop; returns both process ids too.
    fn stubborn() -> (Leash, Vec<String>) {
        let mut leash = start("(trap '' TERM; while :; do sleep 1; done) & echo $$ $! >pids; wait");
        let pids = leash.dir.join("pids");
        let mut text = String::new();
        leash
            .wait_until(Duration::from_secs(5), || {
                text = fs::read_to_string(&pids).unwrap_or_default();
                text.ends_with('\n')
            })
            .unwrap();
        (leash, text.split_whitespace().map(str::to_owned).collect())
    }

    fn is_alive(pid: &str) -> bool {
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn a_dropped_peer_is_gone_with_what_it_forked_and_its_folder() {
        let (leash, pids) = stubborn();
        let dir = leash.dir.to_owned();
        assert!(pids.iter().all(|pid| is_alive(pid)));
        drop(leash);
        assert!(!pids.iter().any(|pid| is_alive(pid)));
        assert!(!dir.exists());
    }

    #[test]
    fn a_peer_is_gone_after_its_test_panicked() {
        let mut pids = Vec::new();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let (_leash, started) = stubborn();
            pids = started;
            std::panic::resume_unwind(Box::new("as a failed assertion would"));
        }));
        assert!(outcome.is_err() && pids.len() == 2);
        assert!(!pids.iter().any(|pid| is_alive(pid)));
    }

    #[test]
    fn a_peer_that_ends_too_early_shows_why() {
        let error = start("echo the port is cursed; exit 3")
            .wait_until(Duration::from_secs(5), || false)
            .unwrap_err();
        assert!(error.to_string().contains("ended before it was ready"), "{error}");
        assert!(error.to_string().contains("the port is cursed"), "{error}");
    }

    #[test]
    fn a_peer_that_is_never_ready_is_waited_for_no_longer_than_allowed() {
        let error =
            start("echo thinking; sleep 60").wait_until(Duration::from_millis(500), || false).unwrap_err();
        assert!(error.to_string().contains("not ready within 500ms"), "{error}");
        assert!(error.to_string().contains("thinking"), "{error}");
    }
}
