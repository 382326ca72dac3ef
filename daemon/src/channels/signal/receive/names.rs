//! What people and groups are called: as envelopes tell it, and else as signal-cli knows it, which asks nobody else.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{envelope, words::mentioned};
use crate::channels::{
    RateHints,
    signal::{client::Client, reached::name_of, target::person},
};

/// How many are remembered of each. When there are more, all are asked for anew.
const MAX_NAMES: usize = 4096;
/// How many are asked for because of one event.
const AT_ONCE: usize = 8;

/// The names, by a person's id and a group's. One that nobody knows is remembered too.
#[derive(Debug, Default)]
pub(super) struct Names {
    people: HashMap<String, Option<String>>,
    groups: HashMap<String, Option<String>>,
}

fn remember(names: &mut HashMap<String, Option<String>>, id: String, name: Option<String>) {
    if names.len() >= MAX_NAMES && !names.contains_key(&id) {
        names.clear();
    }
    names.insert(id, name);
}

fn name(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned)
}

impl Names {
    pub(super) fn person(&self, id: &str) -> Option<&str> {
        self.people.get(id)?.as_deref()
    }

    pub(super) fn group(&self, id: &str) -> Option<&str> {
        self.groups.get(id)?.as_deref()
    }

    /// Takes in what an event tells, and asks for the names that it needs and nobody has told yet.
    pub(super) async fn learn(&mut self, event: &Value, client: &Client) {
        let envelope = &event["envelope"];
        let source = envelope["sourceUuid"].as_str().and_then(person);
        if let Some((source, called)) = source.zip(name(&envelope["sourceName"])) {
            remember(&mut self.people, source, Some(called));
        }
        for data in [&envelope["dataMessage"], &envelope["editMessage"]["dataMessage"]] {
            for id in mentioned(data).take(AT_ONCE) {
                if !self.people.contains_key(&id) {
                    let called = client.person_called(&id).await;
                    remember(&mut self.people, id, called);
                }
            }
            if let Some(group) = envelope::group(data) {
                self.learn_group(group, &data["groupInfo"], client).await;
            }
        }
    }

    async fn learn_group(&mut self, group: &str, told: &Value, client: &Client) {
        // Newer programs say it with each message.
        if let Some(called) = name(&told["groupName"]) {
            return remember(&mut self.groups, group.to_owned(), Some(called));
        }
        if !self.groups.contains_key(group) || told["type"] == "UPDATE" {
            let called = client.group_called(group).await;
            remember(&mut self.groups, group.to_owned(), called);
        }
    }
}

impl Client {
    /// `listContacts` (<https://github.com/AsamK/signal-cli/blob/master/man/signal-cli.1.adoc>).
    async fn person_called(&self, id: &str) -> Option<String> {
        let params = json!({ "account": self.account(), "recipient": [id], "allRecipients": true });
        let answer = self.brief("listContacts", params, &mut RateHints::default()).await.ok()?;
        answer.body["result"].as_array()?.iter().find(|one| one["uuid"] == id).and_then(name_of)
    }

    /// `listGroups` (<https://github.com/AsamK/signal-cli/blob/master/man/signal-cli.1.adoc>).
    async fn group_called(&self, group: &str) -> Option<String> {
        let params = json!({ "account": self.account(), "groupId": [group] });
        let answer = self.brief("listGroups", params, &mut RateHints::default()).await.ok()?;
        let groups = answer.body["result"].as_array()?;
        groups.iter().find(|one| one["id"] == group).and_then(|one| name(&one["name"]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_the_newest_stays() {
        let mut names = HashMap::new();
        for number in 0..3 * MAX_NAMES {
            remember(&mut names, number.to_string(), None);
            assert!(names.len() <= MAX_NAMES && names.contains_key(&number.to_string()));
        }
        assert_eq!(name(&json!("  ")), None);
    }
}
