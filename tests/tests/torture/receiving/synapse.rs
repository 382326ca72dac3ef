//! People on Matrix, at Synapse.
//!
//! Installed by `tests/run --setup-only`: Synapse.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::secret,
    peers::{Account, Synapse},
};
use tempfile::TempDir;

use super::killed::{House, PEOPLE, Passed, in_the_midst_of_what_people_write};

/// How many lines of a room are asked for: more than one has.
const ALL: usize = 10_000;

struct Homeserver {
    synapse: Synapse,
    bot: Account,
    /// Each with the room that they share with the bot alone.
    people: Vec<(Account, String)>,
    account: String,
    /// How often it was asked what is still to come.
    asked: AtomicUsize,
    _secrets: TempDir,
}

impl Homeserver {
    fn build() -> Result<Self> {
        let synapse = Synapse::start()?;
        let bot = synapse.register("gatepost", "a password")?;
        let people = (0..PEOPLE).map(|n| {
            let person = synapse.register(&format!("p{n}"), "a password")?;
            let room = synapse.create_room(&person.access_token)?;
            synapse.invite(&person.access_token, &room, &bot.user_id)?;
            synapse.join(&bot.access_token, &room)?;
            Ok((person, room))
        });
        let people = people.collect::<Result<_>>()?;
        let secrets = tempfile::tempdir()?;
        let token = secret(secrets.path(), "token", &bot.access_token)?;
        let account = format!(
            "[channels.matrix.home]\nhomeserver = \"{}\"\ntoken = {token}\nreceive = true\n",
            synapse.base_url()
        );
        Ok(Self { synapse, bot, people, account, asked: AtomicUsize::new(0), _secrets: secrets })
    }
}

impl House for Homeserver {
    const CHANNEL: &'static str = "matrix";
    const HAS_NO_KEYS: bool = false;

    fn account(&self) -> String {
        self.account.clone()
    }

    fn id(&self, person: usize) -> String {
        format!("matrix:{}", self.people[person].0.user_id)
    }

    fn address(&self, person: usize) -> String {
        self.people[person].1.clone()
    }

    fn write(&self, person: usize, _: &str, words: &str) -> Result<()> {
        let (person, room) = &self.people[person];
        self.synapse.send_text(&person.access_token, room, words).map(drop)
    }

    fn reached(&self, person: usize) -> Result<Vec<String>> {
        let (person, room) = &self.people[person];
        let events = self.synapse.messages(&person.access_token, room)?;
        let replies = events.iter().filter(|event| event["sender"] == self.bot.user_id.as_str());
        Ok(replies.filter_map(|event| event["content"]["body"].as_str().map(str::to_owned)).collect())
    }

    /// What Synapse still tells behind this position is not passed; of all else it has told.
    fn passed(&self, position: &str, written: &[String]) -> Result<Passed> {
        let filter = format!("%7B%22room%22%3A%7B%22timeline%22%3A%7B%22limit%22%3A{ALL}%7D%7D%7D");
        // Synapse answers the same question within two minutes as before (`sync_response_cache_duration`): no two are the same.
        let wait = self.asked.fetch_add(1, Ordering::Relaxed);
        let path = format!("v3/sync?timeout={wait}&since={position}&filter={filter}");
        let (status, answer) = self.synapse.call("GET", &path, Some(&self.bot.access_token), None)?;
        ensure!(status == 200, "{status}: {answer}");
        let mut to_come = HashSet::new();
        for (_, room) in answer["rooms"]["join"].as_object().into_iter().flatten() {
            ensure!(room["timeline"]["limited"] != true, "Synapse tells not all of it: {room}");
            let events = room["timeline"]["events"].as_array().context("a timeline")?;
            to_come.extend(
                events.iter().filter_map(|event| event["content"]["body"].as_str().map(str::to_owned)),
            );
        }
        Ok(Passed::Words(written.iter().filter(|word| !to_come.contains(*word)).cloned().collect()))
    }
}

#[test]
fn kills_before_synapse_leave_every_message_in_one_turn_and_every_reply_there_once() -> Result<()> {
    in_the_midst_of_what_people_write(&Homeserver::build()?)
}
