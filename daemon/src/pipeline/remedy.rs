//! What in the configuration would have let a held message go: shown to whoever is asked about it, as TOML to copy.
//!
//! Found by trying. Each change that could matter is made to the agent's rights, and the same policy that holds messages is asked
//! again: what is shown is never a guess of a second book of rules. Nothing is shown where no change of the agent's section would have
//! let it go, such as for words of somebody who is no owner.

use std::fmt::Write as _;

use super::Pipeline;
use crate::{
    outbox::row::MessageRow,
    policy::{Allowlist, CrossContext, Pattern, Rights, Verdict},
    store::StoreError,
};

/// Entries of a `hold` list that are tried.
const MOST_TRIED: usize = 64;

impl Pipeline {
    /// What would have let a held message go; nothing if nothing in its agent's section would.
    ///
    /// # Errors
    /// The database.
    pub fn remedy(&self, message: &MessageRow) -> Result<Option<String>, StoreError> {
        let Some(rights) = self.rights(&message.agent) else { return Ok(None) };
        for change in changes(rights, &message.channel) {
            if matches!(self.judged_now(message, &change.rights)?, Some(Verdict::Allow(_))) {
                return Ok(Some(change.toml(&message.agent)));
            }
        }
        Ok(None)
    }
}

/// A change of an agent's rights.
struct Change {
    rights: Rights,
    /// Whether its lists are others.
    lists: bool,
    /// Whether crossing is another.
    crossing: bool,
}

/// The changes that could matter, the smallest first: crossing alone, one entry of `hold`, both.
fn changes(rights: &Rights, channel: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    let crossing = |rights: &Rights| Rights { cross_context: CrossContext::Allow, ..rights.clone() };
    let is_crossing = rights.cross_context != CrossContext::Allow;
    if is_crossing {
        changes.push(Change { rights: crossing(rights), lists: false, crossing: true });
    }
    let here = rights.hold.iter().filter(|pattern| pattern.is_on(channel)).take(MOST_TRIED);
    let without: Vec<Rights> = here.map(|pattern| moved(rights, pattern)).collect();
    changes.extend(without.iter().map(|rights| Change {
        rights: rights.clone(),
        lists: true,
        crossing: false,
    }));
    if is_crossing {
        changes.extend(without.iter().map(|rights| Change {
            rights: crossing(rights),
            lists: true,
            crossing: true,
        }));
    }
    changes
}

/// The same with an entry of `hold` under `allow`.
fn moved(rights: &Rights, entry: &Pattern) -> Rights {
    let (mut allow, mut hold): (Vec<Pattern>, Vec<Pattern>) =
        (rights.allow.iter().cloned().collect(), rights.hold.iter().cloned().collect());
    hold.retain(|other| other != entry);
    if !allow.contains(entry) {
        allow.push(entry.clone());
    }
    Rights { allow: Allowlist::from(allow), hold: Allowlist::from(hold), ..rights.clone() }
}

impl Change {
    fn toml(&self, agent: &str) -> String {
        let mut text = format!("[agents.{agent}]\n");
        if self.lists {
            let _ = writeln!(text, "allow = {}", list(&self.rights.allow));
            let _ = writeln!(text, "hold = {}", list(&self.rights.hold));
        }
        if self.crossing {
            text.push_str("cross_context = \"allow\"\n");
        }
        text
    }
}

fn list(of: &Allowlist) -> String {
    // What JSON escapes, TOML reads (https://toml.io/en/v1.0.0#string).
    let entries = of.iter().map(|pattern| serde_json::Value::from(pattern.to_string()).to_string());
    format!("[{}]", entries.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_of(entries: &[&str]) -> Allowlist {
        Allowlist::parse(entries.iter().map(|entry| (*entry).to_owned())).unwrap()
    }

    #[test]
    fn the_smallest_change_comes_first_and_what_is_copied_is_toml() {
        let rights = Rights {
            allow: list_of(&["slack:*"]),
            hold: list_of(&["email:*", "slack:C1"]),
            cross_context: CrossContext::Hold,
            ..Rights::default()
        };
        let tomls: Vec<String> =
            changes(&rights, "slack").iter().map(|change| change.toml("engineer")).collect();
        let lists = "allow = [\"slack:*\", \"slack:C1\"]\nhold = [\"email:*\"]\n";
        let crossing = "cross_context = \"allow\"\n";
        let section = "[agents.engineer]\n";
        assert_eq!(
            tomls,
            [
                format!("{section}{crossing}"),
                format!("{section}{lists}"),
                format!("{section}{lists}{crossing}")
            ]
        );
        for text in tomls {
            toml::from_str::<toml::Table>(&text).unwrap();
        }
    }
}
