//! What a server says of the Mac and of people, asked when it matters and then remembered.
//!
//! For what it says of the Mac the server runs programs, one of which asks Apple for the time (`FileSystem.getTimeSync`,
//! `fileSystem/index.ts` at a0ab860), and waits for them however long they take. One that had no answer was asked for each page of rows, and
//! each page waited for it. So it is asked beside the rows, which wait for it a moment at the beginning and never again.

use std::{collections::HashMap, sync::OnceLock, time::Duration};

use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, MutexGuard, watch},
    time::{Instant, sleep, timeout, timeout_at},
};

use super::super::place;
use crate::channels::{RateHints, imessage::api::Api, kit::pause::pause};

/// The first macOS whose Messages edits (`isMinVentura`).
const VENTURA: u32 = 13;
/// Handles that are asked for at a time, and how often: a home's Mac knows some hundred.
const PAGE: usize = 1000;
const PAGES: usize = 5;
/// How long rows wait for what is asked besides: at the beginning for what is said of the Mac, and then for who is meant by a number.
const MOMENT: Duration = Duration::from_secs(3);
/// How long it is until a server that does not say is asked for the Mac again.
const FIRST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_mins(1);

/// What is known.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Its own handles, as far as the server tells.
    own: Vec<String>,
    /// Whether its Messages edits; nothing while that is not known.
    edits: Option<bool>,
    /// Handles by the numbers of their rows.
    people: HashMap<i64, String>,
}

impl Facts {
    /// Whether this is the account itself.
    pub(super) fn is_own(&self, handle: &str) -> bool {
        self.own.iter().any(|own| own == handle)
    }

    /// One of the account's own handles.
    pub(super) fn own(&self) -> Option<&str> {
        self.own.first().map(String::as_str)
    }

    /// The handle in a row of this number.
    pub(super) fn person(&self, number: i64) -> Option<&str> {
        self.people.get(&number).map(String::as_str)
    }

    /// Whether messages may have been edited, as far as that is known.
    pub(super) fn has_edits(&self) -> bool {
        self.edits.unwrap_or(false)
    }

    /// Asks what these rows need: who is meant by a number.
    pub(super) async fn learn(&mut self, api: &Api, rows: &[Value]) {
        let needs = |row: &Value| {
            row["itemType"] == 1
                && row["otherHandle"].as_i64().is_some_and(|other| self.person(other).is_none())
        };
        if rows.iter().any(needs) {
            let _ = timeout(MOMENT, self.ask_for_people(api)).await;
        }
    }

    /// `HandleInterface.get` (`interfaces/handleInterface.ts` at 560b1e5), at `handle/query`.
    async fn ask_for_people(&mut self, api: &Api) {
        for page in 0..PAGES {
            let query = json!({ "limit": PAGE, "offset": page * PAGE });
            let Ok(answer) = api.ask(&["handle", "query"], &query, &mut RateHints::default()).await else {
                return;
            };
            let handles = answer["data"].as_array().map_or(&[][..], Vec::as_slice);
            for handle in handles {
                if let (Some(number), Some(address)) =
                    (handle["originalROWID"].as_i64(), handle["address"].as_str())
                {
                    self.people.insert(number, address.to_owned());
                }
            }
            if handles.len() < PAGE {
                return;
            }
        }
    }
}

/// What is known, and whether the server said already what Mac it is.
#[derive(Debug)]
pub(super) struct Known {
    facts: Mutex<Facts>,
    said: watch::Sender<bool>,
    /// Until when rows wait for that, once there are some.
    until: OnceLock<Instant>,
}

impl Default for Known {
    fn default() -> Self {
        let (said, _) = watch::channel(false);
        Self { facts: Mutex::default(), said, until: OnceLock::new() }
    }
}

impl Known {
    /// What is known.
    pub(super) async fn facts(&self) -> MutexGuard<'_, Facts> {
        let until = *self.until.get_or_init(|| Instant::now() + MOMENT);
        let _ = timeout_at(until, self.said.subscribe().wait_for(|said| *said)).await;
        self.facts.lock().await
    }

    /// Asks what Mac it is until the server says so.
    pub(super) async fn ask(&self, api: &Api) {
        for failures in 0.. {
            let Facts { own, edits, .. } = of_the_mac(api).await;
            let is_said = edits.is_some();
            if is_said || !own.is_empty() {
                let mut facts = self.facts.lock().await;
                (facts.own, facts.edits) = (own, edits);
            }
            if is_said {
                self.said.send_replace(true);
                return;
            }
            sleep(pause(FIRST, LONGEST, failures)).await;
        }
    }
}

/// What the server says of the Mac: `GeneralInterface.getServerMetadata` (`interfaces/generalInterface.ts` at 560b1e5).
async fn of_the_mac(api: &Api) -> Facts {
    let request = api.http.client.get(api.at(&["server", "info"]));
    let Ok(answer) = api.http.ask(request, &mut RateHints::default()).await else { return Facts::default() };
    let data = &answer.body["data"];
    let major =
        data["os_version"].as_str().and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    let own = [&data["detected_imessage"], &data["detected_icloud"]];
    Facts {
        own: own.into_iter().filter_map(|own| place::handle(own.as_str()?)).collect(),
        edits: major.map(|major| major >= VENTURA),
        people: HashMap::new(),
    }
}
