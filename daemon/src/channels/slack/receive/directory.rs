//! What people and conversations are called. Names are only shown, so nobody waits for one: where Slack does not tell in time,
//! there is none.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::draft::id;
use crate::channels::{Failure, RateHints, slack::client::Client};

/// How many are remembered at most; then it begins anew.
const MOST: usize = 2048;
/// For how long.
const FRESH: Duration = Duration::from_hours(1);
/// How long one question may take: an event is acknowledged within three seconds.
const PATIENCE: Duration = Duration::from_millis(1200);
/// For how long nobody is asked after Slack did not tell.
const REST: Duration = Duration::from_mins(1);

/// A conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// What it is called.
    pub(super) title: Option<String>,
    /// With whom it is, if with one person.
    pub(super) person: Option<String>,
}

/// What is known so far.
#[derive(Debug, Default)]
pub(super) struct Directory {
    people: Remembered<Option<String>>,
    places: Remembered<Place>,
    /// Until when nobody is asked.
    resting: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Remembered<T>(Mutex<HashMap<String, (Instant, T)>>);

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Remembered<T> {
    fn get(&self, id: &str) -> Option<T> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(id).filter(|(since, _)| since.elapsed() < FRESH).map(|(_, what)| what.clone())
    }

    fn keep(&self, id: &str, what: T) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(id.to_owned(), (Instant::now(), what));
    }
}

impl Directory {
    /// What somebody is called: as they want to be, or by their full name (<https://docs.slack.dev/reference/methods/users.info>).
    pub(super) async fn name(&self, client: &Client, person: &str) -> Option<String> {
        if let Some(known) = self.people.get(person) {
            return known;
        }
        let said = self.ask(client, "users.info", ("user", person)).await?;
        let profile = &said["user"]["profile"];
        let names = [&profile["display_name"], &profile["real_name"], &said["user"]["name"]];
        let name = names.into_iter().filter_map(Value::as_str).find(|name| !name.is_empty());
        let name = name.map(str::to_owned);
        self.people.keep(person, name.clone());
        name
    }

    /// What a conversation is (<https://docs.slack.dev/reference/methods/conversations.info>).
    pub(super) async fn place(&self, client: &Client, channel: &str) -> Place {
        if let Some(known) = self.places.get(channel) {
            return known;
        }
        let Some(said) = self.ask(client, "conversations.info", ("channel", channel)).await else {
            return Place::default();
        };
        let said = &said["channel"];
        let title = said["name"].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        let place = Place { title, person: id(&said["user"]).filter(|_| said["is_im"] == true) };
        self.places.keep(channel, place.clone());
        place
    }

    /// Asks; null where Slack says no, such as where a scope is missing, and nothing where it does not say.
    async fn ask(&self, client: &Client, method: &str, about: (&str, &str)) -> Option<Value> {
        let now = Instant::now();
        let resting = *self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        if resting.is_some_and(|until| now < until) {
            return None;
        }
        let hints = &mut RateHints::default();
        match timeout(PATIENCE, client.question(method, &[about], hints)).await {
            Ok(Ok(said)) => Some(said),
            Ok(Err(Failure::Permanent(_))) => Some(Value::Null),
            Ok(Err(_)) | Err(_) => {
                *self.resting.lock().unwrap_or_else(PoisonError::into_inner) = Some(now + REST);
                None
            }
        }
    }
}
