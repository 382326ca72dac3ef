//! Who is who. WhatsApp names a person by their number or, towards those who do not have it, by an id that hides it (a LID); where it
//! names both, they stand beside each other (`remoteJidAlt`, `participantAlt` of a key:
//! <https://github.com/WhiskeySockets/Baileys>, `WAMessageKey` in `src/Types/Message.ts`).

use serde_json::Value;

use super::super::number;
use crate::channels::{
    received::{Author, AuthorKind},
    whatsapp::target::is_lid,
};

/// Ids of the account that are remembered: its number, and one hidden id for all places.
const MAX_OWN: usize = 8;

/// A person, by one or both of their names. One is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Somebody {
    pub(super) number: Option<String>,
    pub(super) lid: Option<String>,
}

/// The part before the `@`, without the device that stands behind a `:`, and the part behind it.
fn parts(jid: &str) -> Option<(&str, &str)> {
    let (user, server) = jid.split_once('@')?;
    Some((user.split([':', '_']).next()?, server))
}

impl Somebody {
    /// The person of whom these are names; nothing if none is one.
    pub(super) fn of<'a>(names: impl IntoIterator<Item = &'a Value>) -> Option<Self> {
        let (mut found, mut lid) = (None, None);
        for (user, server) in names.into_iter().filter_map(|name| parts(name.as_str()?)) {
            match server {
                "s.whatsapp.net" | "c.us" => found = found.or_else(|| number(user)),
                "lid" => lid = lid.or_else(|| Some(format!("{user}@lid")).filter(|lid| is_lid(lid))),
                _ => {}
            }
        }
        (found.is_some() || lid.is_some()).then_some(Self { number: found, lid })
    }

    /// All of their ids, the lasting one first.
    pub(super) fn ids(&self) -> Vec<String> {
        let number = self.number.iter().map(|number| format!("+{number}"));
        number.chain(self.lid.clone()).collect()
    }

    /// Where an answer goes.
    pub(super) fn address(&self) -> String {
        self.number.clone().or_else(|| self.lid.clone()).unwrap_or_default()
    }

    /// As the author of something.
    pub(super) fn author(&self, name: Option<String>) -> Author {
        let mut ids = self.ids().into_iter();
        let id = ids.next().unwrap_or_default();
        Author { id, same_as: ids.collect(), name, ..Author::default() }
    }
}

/// The account's own ids.
#[derive(Debug, Clone, Default)]
pub(super) struct Me(Vec<String>);

impl Me {
    /// Takes in a name of the account.
    pub(super) fn learn(&mut self, name: &Value) {
        for id in Somebody::of([name]).iter().flat_map(Somebody::ids) {
            if self.0.len() < MAX_OWN && !self.0.contains(&id) {
                self.0.push(id);
            }
        }
    }

    /// Takes in under which name the account itself wrote to a group, which is where it may have another one.
    pub(super) fn learn_from(&mut self, record: &Value) {
        let key = &record["key"];
        if key["fromMe"] == true {
            [&key["participant"], &key["participantAlt"]].into_iter().for_each(|name| self.learn(name));
        }
    }

    /// Whether its number is known.
    pub(super) fn is_known(&self) -> bool {
        self.0.iter().any(|id| id.starts_with('+'))
    }

    /// Whether that is the account.
    pub(super) fn is(&self, somebody: &Somebody) -> bool {
        somebody.ids().iter().any(|id| self.0.contains(id))
    }

    /// As the author of something.
    pub(super) fn author(&self) -> Author {
        let id = self.0.first().cloned().unwrap_or_else(|| "me".to_owned());
        Author { id, kind: AuthorKind::Myself, ..Author::default() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_person_is_their_number_where_it_is_told_under_whichever_name() {
        let of = |names: &[Value]| Somebody::of(names).map(|somebody| (somebody.address(), somebody.ids()));
        let (lid, pn) = (json!("175105850253361:3@lid"), json!("4915112345679:12@s.whatsapp.net"));
        let both = ["+4915112345679".to_owned(), "175105850253361@lid".to_owned()];
        assert_eq!(of(&[lid.clone(), pn.clone()]), Some(("4915112345679".into(), both.to_vec())));
        assert_eq!(of(&[pn, lid.clone()]), Some(("4915112345679".into(), both.to_vec())));
        assert_eq!(of(&[lid, Value::Null]), Some((both[1].clone(), vec![both[1].clone()])));
        // Brazil's optional digit, as it is written everywhere else.
        assert_eq!(of(&[json!("551187654321@s.whatsapp.net")]).unwrap().0, "5511987654321");
        for nobody in [
            "",
            "x",
            "@lid",
            "120363012345678901@g.us",
            "status@broadcast",
            "0@s.whatsapp.net",
            "1@newsletter",
        ] {
            assert_eq!(of(&[json!(nobody)]), None, "{nobody}");
        }
    }
}
