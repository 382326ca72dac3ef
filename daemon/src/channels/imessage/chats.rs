//! Which chat a message goes to, at a BlueBubbles server: by asking it, for nobody else knows.
//!
//! Messages names the chat with a person `iMessage;-;HANDLE`, and since macOS 26 `any;-;HANDLE`; a request with the other name
//! finds no chat, and the server waits in vain for a message that nobody sends (BlueBubbles 1.9.9, `chatRouter.ts` `query` takes
//! one GUID as it stands). With somebody who was never written to there is none at all: it comes with the first text
//! (`ChatInterface.create`, which needs one).

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::json;

use super::{api::Api, target};
use crate::channels::{Failure, RateHints};

/// For so long a chat is believed to have the name that it had.
const BELIEVED: Duration = Duration::from_mins(10);
/// Chats that are remembered.
const REMEMBERED: usize = 512;

/// The chats that a server has named.
#[derive(Debug, Default)]
pub(super) struct Chats(Mutex<HashMap<String, (Instant, String)>>);

impl Chats {
    /// The GUID of the chat with this address; none, where there is no such chat.
    pub(super) async fn of(
        &self,
        api: &Api,
        address: &str,
        hints: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        if let Some((at, guid)) = self.known().get(address)
            && at.elapsed() < BELIEVED
        {
            return Ok(Some(guid.clone()));
        }
        for guid in target::guids(address) {
            let query = json!({ "guid": guid, "limit": 1, "offset": 0 });
            let answer = api.ask(&["chat", "query"], &query, hints).await?;
            let chats = answer["data"].as_array().map_or(&[][..], Vec::as_slice);
            let found = chats.iter().filter_map(|chat| chat["guid"].as_str());
            if let Some(guid) = found.into_iter().find(|guid| target::is_chat_of(guid, address)) {
                let mut known = self.known();
                if known.len() >= REMEMBERED {
                    known.clear();
                }
                known.insert(address.to_owned(), (Instant::now(), guid.to_owned()));
                return Ok(Some(guid.to_owned()));
            }
        }
        Ok(None)
    }

    /// It is asked anew: what went there went wrong.
    pub(super) fn forget(&self, address: &str) {
        self.known().remove(address);
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Instant, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
