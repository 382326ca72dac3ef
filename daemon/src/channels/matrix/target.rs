//! Addresses: a room's id, and what only stands for one: an alias, a person with whom the account has a direct room, or a
//! name of either ([`names`](super::names)).
//!
//! An alias can be pointed at another room at any time, so it is looked up before anything is judged, and what is judged,
//! approved and sent to is the room.

use reqwest::Method;
use serde_json::Value;

use super::{client::Client, names};
use crate::channels::{
    RateHints,
    identity::{Identity, Unidentified},
    kit::{http::Silence, json::taken},
};

/// <https://spec.matrix.org/v1.18/appendices/#common-identifier-format>, in bytes.
const MAX_ID_BYTES: usize = 255;

/// The one spelling of an address, or what is wrong with it. Ids are compared byte by byte, names by their letters.
///
/// `!opaque:server`, or `!opaque` since room version 12 (<https://spec.matrix.org/v1.18/appendices/#room-ids>);
/// `#alias:server` and `@person:server`.
pub(super) fn canonical(address: &str) -> Result<String, &'static str> {
    if names::is_name(address) {
        return Ok(address.to_lowercase());
    }
    let mut rest = address.chars();
    let sign = rest.next();
    let rest = rest.as_str();
    let fits = !rest.is_empty()
        && address.len() <= MAX_ID_BYTES
        && !rest.starts_with(':')
        && !rest.ends_with(':')
        && !rest.contains(|c: char| c.is_whitespace() || c.is_control());
    let is_one = match sign {
        Some('!') => fits,
        Some('#' | '@') => fits && rest.contains(':'),
        _ => false,
    };
    match is_one {
        true => Ok(address.to_owned()),
        false => Err(
            "use a room id such as !abcdef:example.org, an alias such as #kitchen:example.org, or a name such as #Kitchen",
        ),
    }
}

/// Whether an address is a person's id.
pub(super) fn is_person(address: &str) -> bool {
    address.starts_with('@') && !names::is_name(address) && canonical(address).is_ok()
}

/// A person's id as rows have it, byte by byte.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    is_person(written)
        .then(|| written.to_owned())
        .ok_or("write the whole id, such as matrix:@ann:example.org")
}

/// Whether an address is a room's id with the signs that servers put in one. What a server makes of others nobody knows.
pub(super) fn tells(address: &str) -> bool {
    address.starts_with('!')
        && address[1..].bytes().all(|b| b.is_ascii_alphanumeric() || b"._=/+:-~$[]".contains(&b))
}

impl Client {
    /// The room that an alias, a person or a name stands for now.
    pub(super) async fn room_of(&self, address: &str) -> Result<Identity, Unidentified> {
        if names::is_name(address) {
            return self.named(address).await;
        }
        match address.as_bytes().first() {
            Some(b'#') => self.aliased(address).await,
            Some(b'@') => self.direct_room(address).await,
            _ => Err(Unidentified::not_known("no homeserver gives a room such an id")),
        }
    }

    /// <https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv3directoryroomroomalias>
    async fn aliased(&self, alias: &str) -> Result<Identity, Unidentified> {
        let found = self.tells(&["directory", "room", alias]).await?;
        match found["room_id"].as_str().filter(|id| id.starts_with('!') && canonical(id).is_ok()) {
            Some(room) => Ok(Identity::new(room)),
            None => Err(Unidentified::not_known("the homeserver does not say which room that is")),
        }
    }

    /// The one joined room that the account's own list of direct rooms has for a person
    /// (<https://spec.matrix.org/v1.18/client-server-api/#mdirect>).
    pub(super) async fn direct_room(&self, person: &str) -> Result<Identity, Unidentified> {
        let (direct, joined) = self.direct_rooms().await?;
        let joined = joined.as_array().map_or(&[][..], Vec::as_slice);
        let rooms = direct[person].as_array().map_or(&[][..], Vec::as_slice);
        let mut rooms = rooms.iter().filter(|room| joined.contains(room)).filter_map(Value::as_str);
        match (rooms.next(), rooms.next()) {
            (Some(room), None) if canonical(room).is_ok() => Ok(Identity::new(room)),
            (None, _) => Err(Unidentified::not_known(format!(
                "the account has no direct room with {person}: use the id of a room that you share with them"
            ))),
            _ => Err(Unidentified::not_known(format!(
                "the account has several direct rooms with {person}: use the id of one"
            ))),
        }
    }

    /// The account's own list of direct rooms, by person, and the rooms that it is in.
    pub(super) async fn direct_rooms(&self) -> Result<(Value, Value), Unidentified> {
        let me = self.tells(&["account", "whoami"]).await?;
        let me = me["user_id"].as_str().unwrap_or_default();
        let direct = self.tells(&["user", me, "account_data", "m.direct"]).await?;
        let mut joined = self.tells(&["joined_rooms"]).await?;
        Ok((direct, taken(&mut joined, "joined_rooms")))
    }

    pub(super) async fn tells(&self, path: &[&str]) -> Result<Value, Unidentified> {
        let hints = &mut RateHints::default();
        let answer = self.ask(Method::GET, path, None, hints).await.map_err(Silence::harmless)?;
        match answer.status.is_success() {
            true => Ok(answer.body),
            false => Err(self.classify(&answer, hints).harmless().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_aliases_and_people_are_addresses() {
        for address in [
            "!abc:hub.test",
            "!abc:hub.test:8448",
            "!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM",
            "#kitchen:hub.test",
            "@ada:hub.test",
        ] {
            assert_eq!(canonical(address).unwrap(), address);
        }
        for other in [
            "",
            "!",
            "!:hub.test",
            "!a:",
            "#",
            "@ada ",
            "#a,b",
            "#:hub.test",
            "!a b:c",
            "!a\n:c",
            "abc",
            "äbc",
        ] {
            assert!(canonical(other).is_err(), "{other:?}");
        }
        assert!(canonical(&format!("!{}", "a".repeat(255))).is_err());
        for (name, one) in [("#Living Room", "#living room"), ("@Ada Löve", "@ada löve")] {
            assert_eq!(canonical(name).as_deref(), Ok(one));
            assert!(names::is_name(one));
        }
        assert!(!names::is_name("#kitchen:hub.test") && !names::is_name("@ada:hub.test"));
    }
}
