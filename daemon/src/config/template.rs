//! The files that `gatepost init` writes: a short one to begin with ([`SHORT`]), and one with every key ([`full`]).
//!
//! In the full one, a line that begins with `#: ` is a setting that is switched off; without the mark it is valid as it stands.

use std::fmt::Write as _;

use super::keys::{HOOK, SECTIONS, Section, WAKE};
use crate::{
    channels::{account, registry::KINDS},
    settings::Key,
};

const WIDTH: usize = 100;

/// The keys that a first hub needs, and no more.
pub const SHORT: &str = include_str!("first.toml");

/// The same file for the service that a package installs: its data and its secrets are where the package has them.
pub fn of_service(file: &str) -> String {
    let changes = [
        (
            "data_dir = \"gatepost-data\"       # queue, keys and audit, in a folder beside this file",
            "data_dir = \"/var/lib/gatepost\"   # queue, keys and audit",
        ),
        ("#: data_dir = \"gatepost-data\"", "data_dir = \"/var/lib/gatepost\""),
        (
            "token = \"file:secrets/telegram\"   # secrets are in files of their own, never here",
            "token = \"credential:telegram\"    # the file telegram in /etc/gatepost/credentials; never here",
        ),
    ];
    changes.iter().fold(file.to_owned(), |file, (from, to)| file.replace(from, to))
}

/// The file with every key and its explanation.
pub fn full() -> String {
    let mut file = String::from(
        "# Gatepost: what may leave this house, and who is asked.\n\
         #\n\
         # A line that begins with \"#: \" is a setting at its default or an example: take the mark away to change it.\n\
         # Unknown keys are errors. Check the file with: gatepost check\n\
         # After a change, have the running hub read it again with: gatepost reload\n\
         #\n\
         # Secrets are never in this file, which is copied and shown around. \"file:secrets/telegram\" is the file of that name beside\n\
         # this one; make it so, paste the secret, and end with Enter and Ctrl-D:\n\
         #     (umask 077; mkdir -p secrets; cat > secrets/telegram)\n\
         # \"env:NAME\" is a variable of the hub's environment, \"credential:NAME\" one of systemd's credentials (LoadCredential=).\n\n",
    );
    for Section { name, about, keys } in SECTIONS {
        comment(&mut file, about);
        match *name {
            "voice" => voice(&mut file, keys),
            "agents.NAME" => agents(&mut file, keys),
            "hooks.NAME" => hooks(&mut file),
            "wake.NAME" => wake(&mut file),
            "people.NAME" => section(&mut file, "people.ann", keys, false),
            "routes.NAME" => routes(&mut file, keys),
            "heartbeat.NAME" => heartbeat(&mut file, keys),
            name => section(&mut file, name, keys, true),
        }
    }
    comment(&mut file, "Channels: [channels.CHANNEL.ACCOUNT], as many accounts as you like.");
    for kind in KINDS {
        let name = if kind.name == "local" { "home" } else { "work" };
        let keys: Vec<Key> = kind.keys.iter().chain(account::KEYS).copied().collect();
        section(&mut file, &format!("channels.{}.{name}", kind.name), &keys, kind.name == "local");
    }
    file
}

fn voice(file: &mut String, keys: &[Key]) {
    // A program excludes the keys that describe a service's voice: it is shown, and not among what can be switched on.
    let (program, keys): (Vec<Key>, Vec<Key>) = keys.iter().copied().partition(|key| key.name == "command");
    shown(file, program.iter());
    section(file, "voice", &keys, true);
}

fn agents(file: &mut String, keys: &[Key]) {
    section(file, "agents.engineer", keys, false);
    comment(
        file,
        "You, at the shell: gatepost send --as-operator. Your own messages are never cross-context.",
    );
    file.push_str("[agents.shell]\nallow = [\"local:*\"]\ncross_context = \"allow\"\ndecorate = false\n\n");
}

/// A route that is woken by mentions, and one by a pattern.
fn routes(file: &mut String, keys: &[Key]) {
    let (pattern, others): (Vec<Key>, Vec<Key>) = keys.iter().copied().partition(|key| key.name == "pattern");
    section(file, "routes.home", &others, false);
    file.pop();
    shown(file, pattern.iter());
    file.push('\n');
}

/// One that is a program; the keys of the other two exclude its own.
fn wake(file: &mut String) {
    let goes_with = |key: &&Key| ["agent", "command", "input", "timeout", "at_once"].contains(&key.name);
    let keys: Vec<Key> = WAKE.iter().filter(goes_with).copied().collect();
    section(file, "wake.engineer", &keys, false);
    file.pop();
    shown(file, WAKE.iter().filter(|key| !goes_with(key)));
    file.push('\n');
}

/// One to a target, for which alone an account can be named.
fn heartbeat(file: &mut String, keys: &[Key]) {
    let (account, others): (Vec<Key>, Vec<Key>) = keys.iter().copied().partition(|key| key.name == "account");
    section(file, "heartbeat.engineer", &others, false);
    file.pop();
    shown(file, account.iter());
    file.push('\n');
}

/// A hook of each sort: their keys exclude one another.
fn hooks(file: &mut String) {
    for (name, sort) in [("10-secrets", "builtin"), ("20-redact", "command"), ("30-archive", "url")] {
        let keys: Vec<Key> = HOOK
            .iter()
            .filter(|key| {
                !["builtin", "command", "url", "token", "tools"].contains(&key.name)
                    || key.name == sort
                    || (sort == "url" && key.name == "token")
            })
            .copied()
            .collect();
        section(file, &format!("hooks.{name}"), &keys, false);
    }
    // It goes with hooks around a tool, and these are around a message.
    shown(file, HOOK.iter().filter(|key| key.name == "tools"));
    file.push('\n');
}

fn section(file: &mut String, name: &str, keys: &[Key], on: bool) {
    let mark = if on { "" } else { "#: " };
    let _ = writeln!(file, "{mark}[{name}]");
    for key in keys {
        comment(file, key.doc);
        let _ = writeln!(file, "#: {} = {}", key.name, key.value);
    }
    file.push('\n');
}

/// Keys that are documented, and not among what can be switched on as it stands.
fn shown<'a>(file: &mut String, keys: impl Iterator<Item = &'a Key>) {
    for key in keys {
        comment(file, key.doc);
        let _ = writeln!(file, "#   {} = {}", key.name, key.value);
    }
}

fn comment(file: &mut String, text: &str) {
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            let _ = writeln!(file, "{line}");
            line.truncate(1);
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(file, "{line}");
}
