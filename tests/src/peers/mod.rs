//! Servers that we did not write, started by the tests that talk to them.
//!
//! A stand-in of our own agrees with our own mistakes; these do not. Each peer listens on loopback, on ports and in a
//! folder of its own, so tests and test binaries run side by side; each is ready when `start` returns, and is stopped
//! when its value is dropped, when its test panics, and when the test's process is killed.
//!
//! A peer that is not installed fails the test that wants it: `tests/run --setup-only` installs them all.
//!
//! Platforms that nobody can run here are played by `mock`: ours, and as strict as their documentation.
//!
//! Parts that were rendered go to the judges of `html` and `judges`, which are no servers but libraries. The doors go to
//! `schemathesis` and `judged`, which are clients; `reader` are clients of the platforms, which judge the mocks.
//!
//! Read `leash` first: it is how a peer lives and dies.

mod cable;
pub mod debian;
pub mod esp_rom;
mod home_assistant;
mod html;
mod judged;
mod judges;
mod leash;
mod mail;
mod man;
mod mcp;
mod mime;
mod mock;
mod mosquitto;
mod openai;
mod overheard;
mod playground;
mod ports;
mod postbag;
pub mod qemu;
mod reader;
mod schemathesis;
mod signal_cli;
mod slack;
mod synapse;
mod terminal;
mod webhooks;

pub use cable::Cable;
pub use home_assistant::{HomeAssistant, House};
pub use html::html_check;
pub use judged::{mcp_conformance, mcp_inspect, step};
pub use judges::{JUDGED, Verdict, judge};
pub use mail::Mail;
pub use man::Man;
pub use mcp::McpClient;
pub use mime::Mime;
pub use mock::Mock;
pub use mosquitto::{Credentials, Mosquitto};
pub use openai::{Asked, OpenAi, well_typed};
pub use overheard::{Overheard, Said};
pub use playground::{Playground, cards_check};
pub use ports::free as free_port;
pub use postbag::{Mailbox, Postbag};
pub use reader::Reader;
pub use schemathesis::schemathesis;
pub use signal_cli::SignalCli;
pub use slack::Slack;
pub use synapse::{Account, Synapse};
pub use terminal::{Left, Terminal};
pub use webhooks::WebhookReceiver;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};

/// A file below `tests/peers`.
pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name)
}

/// The Python that `tests/run` installed Synapse and the judges' libraries into.
///
/// # Errors
/// It was not installed: `tests/run --setup-only` does that.
pub fn python() -> Result<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv/bin/python");
    if !python.exists() {
        bail!("{} is missing: run `tests/run --setup-only`", python.display());
    }
    Ok(python)
}

/// Has `cargo xtask` make something, which is fresh or within its budget or fails; where that is.
///
/// # Errors
/// It failed; the error has all that it said.
pub fn chore(arguments: &[&str]) -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the repository is above")?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let made = Command::new(cargo).arg("xtask").args(arguments).current_dir(root).output()?;
    let (output, errors) = (String::from_utf8_lossy(&made.stdout), String::from_utf8_lossy(&made.stderr));
    ensure!(
        made.status.success(),
        "cargo xtask {arguments:?}: run `tests/run --setup-only`\n{output}{errors}"
    );
    Ok(output.lines().next_back().context("it says last what it made")?.into())
}

/// Writes the template `name` of `tests/peers` to `to`, each `@WORD@` replaced.
///
/// # Errors
/// A placeholder without a value, or the file system's errors.
fn fill_in(name: &str, to: &Path, values: &[(&str, &str)]) -> Result<()> {
    let template = file(name);
    let mut text =
        fs::read_to_string(&template).with_context(|| format!("cannot read {}", template.display()))?;
    for (word, value) in values {
        text = text.replace(&format!("@{word}@"), value);
    }
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    if let Some(word) = text.split('@').find(|word| is_word(word)) {
        bail!("{name} wants a value for @{word}@");
    }
    fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))
}
