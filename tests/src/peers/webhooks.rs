//! A receiver of webhooks that verifies them with the library of Standard Webhooks: the program that `daemon/docs/channels.md` shows.

use std::{fs, os::unix::fs::symlink, path::Path, time::Duration};

use anyhow::{Context as _, Result, bail};

use super::{leash::Leash, ports};

/// For Node to start.
const START: Duration = Duration::from_secs(60);

/// The receiver.
pub struct WebhookReceiver {
    leash: Leash,
    port: u16,
}

impl WebhookReceiver {
    /// Starts one that has this secret.
    ///
    /// # Errors
    /// The library is not installed, the guide has no such program, or it did not come up.
    pub fn start(secret: &str) -> Result<Self> {
        ports::retrying(|| Self::start_once(secret))
    }

    fn start_once(secret: &str) -> Result<Self> {
        let modules = super::file("node_modules");
        if !modules.join("standardwebhooks").exists() {
            bail!("standardwebhooks is missing: run `tests/run --setup-only`");
        }
        let dir = Leash::folder("webhooks")?;
        // Node looks for libraries beside the program.
        symlink(modules, dir.path().join("node_modules"))?;
        let program = dir.path().join("receiver.mjs");
        fs::write(&program, example()?)?;
        let port = ports::free()?;
        let program = [
            "env".into(),
            format!("WEBHOOK_SECRET={secret}"),
            format!("PORT={port}"),
            "node".into(),
            program.display().to_string(),
        ];
        let mut leash = Leash::start("webhooks", dir, &program)?;
        leash.wait_until(START, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(Self { leash, port })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it printed.
    pub fn printed(&self) -> Result<String> {
        Ok(fs::read_to_string(self.leash.dir().join("log"))?)
    }
}

/// The only JavaScript in the guide to channels.
fn example() -> Result<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../daemon/docs/channels.md");
    let readme = fs::read_to_string(readme)?;
    let (_, behind) = readme.split_once("```js\n").context("the guide shows no receiver")?;
    let (example, _) = behind.split_once("```").context("the guide's receiver has no end")?;
    Ok(example.to_owned())
}
