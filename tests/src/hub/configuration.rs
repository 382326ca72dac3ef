//! Configurations of hubs under test, in pieces: who may write where, and what an account needs.
//!
//! A test joins the pieces that it stands on, and writes out what it is about.

use std::{fs, path::Path};

use anyhow::Result;

/// The hub's own inbox.
pub const INBOX: &str = "[channels.local.home]\n";
/// Companions that are programs may decide.
pub const SOFTWARE: &str = "[approval]\nallow_software_companion = true\n";
/// A secret of a webhook.
pub const WEBHOOK_SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// `courier`, who asks nobody in the hub's own inbox and by a webhook.
pub const COURIER: &str = r#"
[agents.courier]
allow = ["webhook:*", "local:*"]
cross_context = "allow"
decorate = false
per_minute = 0
[channels.local.home]
"#;

/// An agent that may write to these, and is held where no turn of a conversation lets it.
pub fn asks(name: &str, addresses: &[&str]) -> String {
    format!("[agents.{name}]\nallow = {addresses:?}\n")
}

/// An agent that may write to these and asks nobody; what it writes arrives without its name.
pub fn free(name: &str, addresses: &[&str]) -> String {
    format!("{}cross_context = \"allow\"\ndecorate = false\n", asks(name, addresses))
}

/// `engineer`, who asks, and the hub's own inbox. `approval` and `inbox` are what stands in their sections.
pub fn engineer(approval: &str, inbox: &str) -> String {
    format!("{}[approval]\n{approval}\n{INBOX}{inbox}\n", asks("engineer", &["local:*"]))
}

/// Two agents and the hub's own inbox: `courier` asks nobody, and may mail as well; `engineer` asks.
/// `inbox` is what stands under `[channels.local.home]`, and whatever comes after it.
pub fn agents(inbox: &str) -> String {
    let courier = free("courier", &["local:*", "email:*"]);
    format!("{courier}per_minute = 0\n{}{INBOX}{inbox}\n", asks("engineer", &["local:*"]))
}

/// Two agents on one channel: `courier` asks nobody, `engineer` asks. `accounts` comes after them.
pub fn agents_on(channel: &str, accounts: &str) -> String {
    let all: &[&str] = &[&format!("{channel}:*")];
    format!("{}{}{SOFTWARE}{accounts}", free("courier", all), asks("engineer", all))
}

/// Writes a secret into a file of this name; what a key says that is to read it.
///
/// # Errors
/// The file system's.
pub fn secret(folder: &Path, name: &str, holds: &str) -> Result<String> {
    let file = folder.join(name);
    fs::write(&file, holds)?;
    Ok(format!("\"file:{}\"", file.display()))
}

/// `[channels.webhook.home]`, which posts to `url`. Its secret is in `secret` in this folder; one that is there stays.
///
/// # Errors
/// The file system's.
pub fn webhook(folder: &Path, url: &str) -> Result<String> {
    let there = fs::read_to_string(folder.join("secret"));
    let secret = secret(folder, "secret", there.as_deref().unwrap_or(WEBHOOK_SECRET))?;
    Ok(format!("[channels.webhook.home]\nurl = \"{url}\"\nsecret = {secret}\n"))
}
