//! The commented file that `gatepost init` writes.
//!
//! A line that begins with `#: ` is a setting that is switched off; without the mark it is valid as it stands.

use std::fmt::Write as _;

use super::keys::{AGENT, APPROVAL, BROKER, CONTEXTS, FILES, HOOK, HUB, QUEUE, REPLY, VOICE};
use crate::{
    channels::{account, registry::KINDS},
    settings::Key,
};

const WIDTH: usize = 100;

/// The whole file.
pub fn template() -> String {
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
    section(&mut file, "hub", HUB, true);
    section(&mut file, "queue", QUEUE, true);
    section(&mut file, "files", FILES, true);
    section(&mut file, "broker", BROKER, true);
    section(&mut file, "approval", APPROVAL, true);
    section(&mut file, "contexts", CONTEXTS, true);
    section(&mut file, "reply", REPLY, true);
    comment(
        &mut file,
        "A voice, for voice messages in the words of an agent. Without a word here they are spoken by espeak-ng and opusenc, if this \
         machine has both when the hub starts (Debian: espeak-ng, opus-tools); else what was to be spoken is sent as text.",
    );
    // A program goes with none of the keys that say more of a voice: it is shown, and not among what can be switched on.
    let (program, keys): (Vec<Key>, Vec<Key>) = VOICE.iter().copied().partition(|key| key.name == "command");
    shown(&mut file, program.iter());
    section(&mut file, "voice", &keys, true);
    comment(
        &mut file,
        "Names for targets: an agent may write to \"ann\" where it would write to the target behind it. The allowlists count for that \
         target, and whoever approves sees both.",
    );
    file.push_str("[book]\n#: ann = \"local:ann\"\n\n");
    comment(
        &mut file,
        "Agents. Each has a token (gatepost agent add NAME) and a section here; without a section it may send nothing. \
         A turn in no conversation, such as a timer's or the shell's, crosses with everything that it sends.",
    );
    section(&mut file, "agents.engineer", AGENT, false);
    comment(
        &mut file,
        "You, at the shell: gatepost send --as-operator. Yours are no agent's messages, so they cross freely.",
    );
    file.push_str("[agents.shell]\nallow = [\"local:*\"]\ncross_context = \"allow\"\ndecorate = false\n\n");
    comment(
        &mut file,
        "Hooks: [hooks.NAME], run in the order of their names, each on what the one before it left. A message that they \
         rewrite is stored, judged, shown and sent as they left it.",
    );
    for (name, way) in [("10-secrets", "builtin"), ("20-redact", "command"), ("30-archive", "url")] {
        let keys: Vec<Key> = HOOK
            .iter()
            .filter(|key| {
                !["builtin", "command", "url", "token", "tools"].contains(&key.name)
                    || key.name == way
                    || (way == "url" && key.name == "token")
            })
            .copied()
            .collect();
        section(&mut file, &format!("hooks.{name}"), &keys, false);
    }
    // It goes with hooks around a tool, and these are around a message.
    shown(&mut file, HOOK.iter().filter(|key| key.name == "tools"));
    file.push('\n');
    comment(&mut file, "Channels: [channels.CHANNEL.ACCOUNT], as many accounts as you like.");
    for kind in KINDS {
        let name = if kind.name == "local" { "home" } else { "work" };
        let keys: Vec<Key> = kind.keys.iter().chain(account::KEYS).copied().collect();
        section(&mut file, &format!("channels.{}.{name}", kind.name), &keys, kind.name == "local");
    }
    file
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
