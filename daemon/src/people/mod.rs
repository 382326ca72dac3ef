//! Who writes to agents: what the configuration says of people, and whom a person let in or shut out while the hub runs.
//!
//! - [`id`]: how people are named, in one spelling;
//! - [`users`]: everybody who wrote, and what was granted to them;
//! - [`requests`]: asking a person whether a stranger is let in;
//! - [`respelling`]: ids that an earlier hub stored in another spelling.

pub mod id;
pub mod requests;
pub mod respelling;
pub mod users;

use std::collections::HashMap;

pub use id::{BadId, user_id, user_id_of};

use crate::policy::Scope;

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
    fn an_id_is_one_persons() {
        let person = |name: &str| Person { name: name.into(), scope: Scope::Known };
        let two = [(person("ann"), vec!["tg:1".into()]), (person("bob"), vec!["tg:1".into()])];
        assert_eq!(People::new(two), Err("tg:1".into()));
    }
}
