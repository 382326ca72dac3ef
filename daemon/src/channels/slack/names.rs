//! Who or what a name stands for, as the workspace's directory has it now.
//!
//! People choose what they are called, and two may choose the same; so a name that means several is refused, with their ids. Guests,
//! people of other organisations and programs are written to by their id alone: none of them takes the name of somebody of the house.
//! Only conversations that the bot is in are looked at, for it can write in no other.

use serde_json::Value;

use super::client::Client;
use crate::channels::{
    RateHints,
    identity::{Identity, Unidentified},
    kit::names::{Found, Name, the_one},
};

/// Entries of an answer. A person's has some 2 KB, and an answer fits 256 KB.
const AT_ONCE: &str = "100";
/// Questions at most: these methods take twenty in a minute (Tier 2, <https://docs.slack.dev/apis/web-api/rate-limits>).
const MOST_PAGES: usize = 15;

/// Something that is listed.
struct List {
    method: &'static str,
    arguments: &'static [(&'static str, &'static str)],
    /// The member of an answer that has the entries.
    member: &'static str,
    is_called: fn(&Value, &str, &Name) -> bool,
    /// Why one is not written to by its name.
    barred: fn(&Value) -> Option<&'static str>,
    /// What one is, for people.
    kind: &'static str,
}

/// <https://docs.slack.dev/reference/methods/users.conversations>
const CHANNELS: List = List {
    method: "users.conversations",
    arguments: &[
        ("types", "public_channel,private_channel"),
        ("exclude_archived", "true"),
        ("limit", AT_ONCE),
    ],
    member: "channels",
    // Slack has each name once, in small letters.
    is_called: |channel, name, _| channel["name"] == name,
    barred: |_| None,
    kind: "channel with the bot in it",
};

/// <https://docs.slack.dev/reference/methods/users.list>
const PEOPLE: List = List {
    method: "users.list",
    arguments: &[("limit", AT_ONCE)],
    member: "members",
    is_called: |person, _, name| {
        let profile = &person["profile"];
        let names = [&person["name"], &profile["display_name"], &profile["real_name"]];
        names.into_iter().any(|one| name.is_in(one))
    },
    // <https://docs.slack.dev/reference/objects/user-object>; the second restriction is a guest's of one channel.
    barred: |person| {
        let whys = [
            ("deleted", "was deactivated"),
            ("is_bot", "is a program"),
            ("is_restricted", "is a guest"),
            ("is_ultra_restricted", "is a guest"),
            ("is_stranger", "is of another organisation"),
        ];
        whys.into_iter().find(|(what, _)| person[what] == true).map(|(_, why)| why)
    },
    kind: "person",
};

/// The id behind `#general` or `@ann`.
///
/// # Errors
/// There is none, or several; or Slack does not say.
pub(super) async fn find(client: &Client, address: &str) -> Result<Identity, Unidentified> {
    let list = if address.starts_with('#') { CHANNELS } else { PEOPLE };
    let name = &address[1..];
    let looked_for = Name::new(name);
    let (mut found, mut cursor) = (Vec::new(), String::new());
    for _ in 0..MOST_PAGES {
        let mut arguments = list.arguments.to_vec();
        if !cursor.is_empty() {
            arguments.push(("cursor", &cursor));
        }
        let said = client.question(list.method, &arguments, &mut RateHints::default()).await?;
        let entries = said[list.member].as_array().into_iter().flatten();
        let called = entries.filter(|entry| (list.is_called)(entry, name, &looked_for));
        found.extend(called.filter_map(|entry| {
            Some(Found { id: entry["id"].as_str()?.into(), barred: (list.barred)(entry) })
        }));
        cursor = said["response_metadata"]["next_cursor"].as_str().unwrap_or_default().to_owned();
        if cursor.is_empty() {
            let is_id = |id: &str| super::target::canonical(id).as_deref() == Ok(id);
            return the_one(found, address, list.kind, is_id);
        }
    }
    let most = MOST_PAGES * 100;
    Err(Unidentified::not_known(format!("Slack has more than {most} of them to look through: write the id")))
}
