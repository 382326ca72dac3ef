//! Who or which group a name stands for, as signal-cli knows the account's contacts and groups, which asks nobody else.
//!
//! People choose what they are called, and whoever writes to the account is none of its contacts by that; a contact who takes the
//! name of another is one of two, and both are said.

use serde_json::{Value, json};

use super::{client::Client, target::canonical};
use crate::channels::{
    RateHints,
    identity::{Identity, Unidentified},
    kit::names::{is_called, the_one},
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

fn people(list: &Value, name: &str) -> Vec<String> {
    let is_it =
        |one: &&Value| one["isBlocked"] != true && names_of(one).any(|said| is_called(&said.into(), name));
    let people = list.as_array().into_iter().flatten().filter(is_it);
    people.filter_map(|one| canonical(one["uuid"].as_str()?).ok()).collect()
}

/// What the account calls somebody, and what they call themselves.
fn names_of(contact: &Value) -> impl Iterator<Item = String> {
    let one = |of: &Value, name: &str| of[name].as_str().unwrap_or_default().trim().to_owned();
    let whole = |of: &Value, given: &str, family: &str| format!("{} {}", one(of, given), one(of, family));
    [
        one(contact, "nickName"),
        one(contact, "name"),
        whole(contact, "nickGivenName", "nickFamilyName"),
        whole(contact, "givenName", "familyName"),
        whole(&contact["profile"], "givenName", "familyName"),
    ]
    .into_iter()
}

fn groups(list: &Value, name: &str) -> Vec<String> {
    let is_it =
        |one: &&Value| one["isMember"] != false && one["isBlocked"] != true && is_called(&one["name"], name);
    let groups = list.as_array().into_iter().flatten().filter(is_it);
    groups.filter_map(|one| canonical(&format!("group:{}", one["id"].as_str()?)).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: &str = "aaaaaaaa-0000-4000-8000-00000000000b";
    const BOB: &str = "bbbbbbbb-0000-4000-8000-00000000000b";

    #[test]
    fn people_are_known_by_what_they_and_the_account_call_them() {
        let list = json!([
            {"uuid": ANN, "nickName": null, "profile": {"givenName": "Ann", "familyName": "Lee"}},
            {"uuid": BOB, "name": "Bob", "givenName": "Robert", "familyName": null, "profile": {"givenName": "Ann Lee"}},
            {"uuid": "no uuid", "name": "Cy"}, {"uuid": null, "name": "Cy"},
            {"uuid": "cccccccc-0000-4000-8000-00000000000b", "name": "Bob", "isBlocked": true},
        ]);
        assert_eq!(people(&list, "bob"), [BOB]);
        assert_eq!(people(&list, "robert"), [BOB]);
        assert_eq!(people(&list, "ann lee"), [ANN, BOB], "whoever takes the name of another is one of two");
        assert_eq!(people(&list, "cy"), [""; 0]);
        assert_eq!(people(&json!({"a": 1}), "bob"), [""; 0]);
    }

    #[test]
    fn groups_are_known_by_their_title_while_the_account_is_in_them() {
        const ONE: &str = "Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=";
        let list = json!([
            {"id": ONE, "name": "The House", "isMember": true},
            {"id": ONE, "name": "the garden", "isMember": false},
            {"id": "../x", "name": "The Attic", "isMember": true},
        ]);
        assert_eq!(groups(&list, "the house"), [format!("group:{ONE}")]);
        assert!(groups(&list, "the garden").is_empty() && groups(&list, "the attic").is_empty());
    }
}
