//! What a server says of the Mac and of people, asked when it matters and then remembered.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::super::place;
use crate::channels::{RateHints, imessage::api::Api};

/// The first macOS whose Messages edits (`isMinVentura`).
const VENTURA: u32 = 13;
/// Handles that are asked for at a time, and how often: a home's Mac knows some hundred.
const PAGE: usize = 1000;
const PAGES: usize = 5;

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

    /// Whether messages may have been edited. A server that does not say is asked again.
    pub(super) async fn has_edits(&mut self, api: &Api) -> bool {
        if self.edits.is_none() {
            self.ask(api).await;
        }
        self.edits.unwrap_or(false)
    }

    /// Asks what these rows need: who is meant by a number.
    pub(super) async fn learn(&mut self, api: &Api, rows: &[Value]) {
        if self.edits.is_none() {
            self.ask(api).await;
        }
        let needs = |row: &Value| {
            row["itemType"] == 1
                && row["otherHandle"].as_i64().is_some_and(|other| self.person(other).is_none())
        };
        if rows.iter().any(needs) {
            self.ask_for_people(api).await;
        }
    }

    /// `GeneralInterface.getServerMetadata` (`interfaces/generalInterface.ts` at 560b1e5).
    async fn ask(&mut self, api: &Api) {
        let request = api.http.client.get(api.at(&["server", "info"]));
        let Ok(answer) = api.http.ask(request, &mut RateHints::default()).await else { return };
        let data = &answer.body["data"];
        let major =
            data["os_version"].as_str().and_then(|version| version.split('.').next()?.parse::<u32>().ok());
        self.edits = major.map(|major| major >= VENTURA);
        let own = [&data["detected_imessage"], &data["detected_icloud"]];
        self.own = own.into_iter().filter_map(|own| place::handle(own.as_str()?)).collect();
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
