//! Who writes to agents: what the configuration says of people, and whom a person let in or shut out while the hub runs.
//!
//! - [`users`]: everybody who wrote, and what was granted to them;
//! - [`requests`]: asking a person whether a stranger is let in.

pub mod requests;
pub mod users;

use std::collections::HashMap;

use crate::policy::Scope;

/// Channels that go by another name in the id of a user: as people know it, and one for all that go by telephone numbers.
const PREFIXES: &[(&str, &str)] =
    &[("telegram", "tg"), ("whatsapp", "phone"), ("signal", "phone"), ("imessage", "phone")];

/// The id of a user: the channel and the platform's id, such as `tg:123456`, `phone:+15551234567` or `discord:789012`. What is no
/// number on a channel of numbers keeps the channel's own name.
pub fn user_id(channel: &str, handle: &str) -> String {
    let prefix = PREFIXES.iter().find(|(named, _)| *named == channel).map_or(channel, |(_, prefix)| prefix);
    let is_number = handle.starts_with('+');
    let prefix = if prefix == "phone" && !is_number { channel } else { prefix };
    format!("{prefix}:{handle}")
}

/// Whether ids of users begin like this: with a channel, or with what stands for one.
pub fn is_prefix(prefix: &str, channels: &[&str]) -> bool {
    channels.contains(&prefix) || PREFIXES.iter().any(|(_, short)| *short == prefix)
}

/// The same id from how a person writes it in the configuration: `telegram:123456` is `tg:123456`.
pub fn user_id_of(written: &str) -> Option<String> {
    let (channel, handle) = written.split_once(':')?;
    let named = !channel.is_empty() && !handle.is_empty() && handle != "*";
    named.then(|| user_id(channel, handle))
}

/// A person of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Their name there.
    pub name: String,
    /// How far they are trusted.
    pub scope: Scope,
}

/// The people of the configuration, by the ids that are theirs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct People(HashMap<String, Person>);

impl People {
    /// These people, each with ids as [`user_id`] has them.
    ///
    /// # Errors
    /// An id that is two people's.
    pub fn new(people: impl IntoIterator<Item = (Person, Vec<String>)>) -> Result<Self, String> {
        let mut by_id = HashMap::new();
        for (person, ids) in people {
            for id in ids {
                if by_id.get(&id).is_some_and(|other: &Person| other.name != person.name) {
                    return Err(id);
                }
                by_id.insert(id, person.clone());
            }
        }
        Ok(Self(by_id))
    }

    /// Who has this id.
    pub fn get(&self, id: &str) -> Option<&Person> {
        self.0.get(id)
    }

    /// Whether anybody is an owner.
    pub fn have_owner(&self) -> bool {
        self.0.values().any(|person| person.scope == Scope::Owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_as_people_know_them() {
        for (channel, handle, id) in [
            ("telegram", "123456", "tg:123456"),
            ("whatsapp", "+15551234567", "phone:+15551234567"),
            ("signal", "+15551234567", "phone:+15551234567"),
            ("imessage", "ann@example.org", "imessage:ann@example.org"),
            ("discord", "789012", "discord:789012"),
            ("matrix", "@ann:example.org", "matrix:@ann:example.org"),
        ] {
            assert_eq!(user_id(channel, handle), id);
            assert_eq!(user_id_of(&format!("{channel}:{handle}")).as_deref(), Some(id));
            assert_eq!(user_id_of(id).as_deref(), Some(id), "an id is its own spelling");
        }
        for none in ["ann", "telegram:", ":5", "telegram:*"] {
            assert_eq!(user_id_of(none), None, "{none}");
        }
    }

    #[test]
    fn an_id_is_one_persons() {
        let person = |name: &str| Person { name: name.into(), scope: Scope::Known };
        let two = [(person("ann"), vec!["tg:1".into()]), (person("bob"), vec!["tg:1".into()])];
        assert_eq!(People::new(two), Err("tg:1".into()));
    }
}
