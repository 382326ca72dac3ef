//! Who or which group a name stands for, as signal-cli knows the account's contacts and groups, which asks nobody else.
//!
//! People choose what they are called, and signal-cli lists whoever the account has answered, or whose messages disappear, beside those
//! that it was told to keep (`SQL_IS_CONTACT` in
//! <https://github.com/AsamK/signal-cli/blob/master/lib/src/main/java/org/asamk/signal/manager/storage/recipients/RecipientStore.java>).
//! So a person is written to by the name that the account has given to them. Who calls themselves so is one of two, and both are said.

use serde_json::{Value, json};

use super::{client::Client, target::canonical};
use crate::channels::{
    RateHints,
    identity::{Identity, Unidentified},
    kit::names::{Found, Name, the_one},
};

impl Client {
    /// The UUID behind `@Ann Lee`, or the group behind `#The house`
    /// (<https://github.com/AsamK/signal-cli/blob/master/man/signal-cli.1.adoc>, `listContacts` and `listGroups`; the members of
    /// what they answer are those of `JsonContact` and of `ListGroupsCommand`'s `JsonGroup`).
    pub(super) async fn named(&self, address: &str) -> Result<Identity, Unidentified> {
        let hints = &mut RateHints::default();
        // One that was started for another account knows that one's contacts.
        self.serves_all(hints).await?;
        let params = json!({ "account": self.account() });
        let (kind, found) = match address.strip_prefix('@') {
            Some(name) => {
                ("contact of the account", people(&self.tell("listContacts", &params, hints).await?, name))
            }
            None => (
                "group of the account",
                groups(&self.tell("listGroups", &params, hints).await?, &address[1..]),
            ),
        };
        the_one(found, address, kind, |id| canonical(id).is_ok())
    }
}

fn people(list: &Value, name: &str) -> Vec<Found> {
    let name = Name::new(name);
    let found = |one: &Value| {
        let called = |names: &[String]| names.iter().any(|said| name.is(said));
        let given = called(&given(one));
        if !given && !called(&[chosen(one)]) {
            return None;
        }
        let barred = match (one["isBlocked"] == true, given) {
            (true, _) => Some("is blocked"),
            (false, false) => Some("has chosen that name, and the account has given them none"),
            (false, true) => None,
        };
        // Of some, Signal has not said the UUID yet. Somebody without either is there all the same.
        let ids = ["uuid", "number"].into_iter().filter_map(|id| canonical(one[id].as_str()?).ok());
        Some(Found { id: ids.into_iter().next().unwrap_or_else(|| "?".into()), barred })
    };
    list.as_array().into_iter().flatten().filter_map(found).collect()
}

/// What the account calls somebody.
fn given(contact: &Value) -> [String; 4] {
    [
        word(&contact["nickName"]),
        word(&contact["name"]),
        whole(contact, "nickGivenName", "nickFamilyName"),
        whole(contact, "givenName", "familyName"),
    ]
}

/// What they call themselves.
fn chosen(contact: &Value) -> String {
    whole(&contact["profile"], "givenName", "familyName")
}

fn whole(of: &Value, given: &str, family: &str) -> String {
    format!("{} {}", word(&of[given]), word(&of[family]))
}

fn word(of: &Value) -> String {
    of.as_str().unwrap_or_default().to_owned()
}

fn groups(list: &Value, name: &str) -> Vec<Found> {
    let name = Name::new(name);
    let called = list.as_array().into_iter().flatten().filter(|one| name.is_in(&one["name"]));
    let found = called.filter_map(|one| {
        let barred = match (one["isMember"] == false, one["isBlocked"] == true) {
            (true, _) => Some("has not the account in it"),
            (false, true) => Some("is blocked"),
            (false, false) => None,
        };
        Some(Found { id: canonical(&format!("group:{}", one["id"].as_str()?)).ok()?, barred })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: &str = "aaaaaaaa-0000-4000-8000-00000000000b";
    const BOB: &str = "bbbbbbbb-0000-4000-8000-00000000000b";
    const CY: &str = "cccccccc-0000-4000-8000-00000000000b";

    fn one(list: &Value, name: &str) -> Result<String, String> {
        let found = the_one(people(list, name), name, "contact", |id| canonical(id).is_ok());
        found.map(|id| id.to_string()).map_err(|error| error.why)
    }

    #[test]
    fn people_are_known_by_what_the_account_calls_them_and_nobody_takes_that() {
        let list = json!([
            {"uuid": ANN, "nickName": null, "name": "Ann Lee", "profile": {"givenName": "A."}},
            {"uuid": BOB, "name": "Bob", "givenName": "Robert", "familyName": null, "profile": {"givenName": "Ann  Lee\u{1f337}"}},
            {"uuid": CY, "name": "Bob", "isBlocked": true}, {"uuid": CY, "number": "+4915112345678", "profile": {"givenName": "Cy"}},
            {"uuid": null, "number": "+4915112345679", "name": "Dad"}, {"uuid": ANN, "profile": {"givenName": "Mum"}},
            {"uuid": null, "number": null, "name": "Mum"},
        ]);
        assert_eq!(one(&list, "robert").unwrap(), BOB);
        assert!(one(&list, "ann lee").unwrap_err().contains(&format!("({ANN}, {BOB})")), "two are called so");
        assert!(one(&list, "bob").unwrap_err().contains(&format!("({BOB}, {CY})")), "one of them is blocked");
        assert!(one(&list, "cy").unwrap_err().contains(&format!("({CY}) has chosen that name")));
        assert_eq!(one(&list, "dad").unwrap(), "+4915112345679");
        assert!(
            one(&list, "mum").unwrap_err().contains("more than one"),
            "whose id is not known is one of two"
        );
        assert!(one(&list, "eve").is_err() && one(&json!({"a": 1}), "bob").is_err());
    }

    #[test]
    fn groups_are_known_by_their_title_while_the_account_is_in_them() {
        const ONE: &str = "Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=";
        let list = json!([
            {"id": ONE, "name": "The House", "isMember": true},
            {"id": ONE, "name": "the garden", "isMember": false},
            {"id": "../x", "name": "The Attic", "isMember": true},
        ]);
        assert_eq!(groups(&list, "the house"), [Found::new(format!("group:{ONE}"))]);
        assert!(groups(&list, "the garden")[0].barred.is_some() && groups(&list, "the attic").is_empty());
    }
}
