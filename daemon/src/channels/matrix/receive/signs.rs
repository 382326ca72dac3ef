//! What others see of the account while it reads and writes. Nobody waits for it, and nothing is tried twice.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::channels::{RateHints, matrix::client::Client, sender::members};

/// How long one sign of writing is seen. Clients let it stand when the message has come, so it is short.
pub(in crate::channels::matrix) const TYPING: Duration = Duration::from_secs(10);

impl Client {
    /// <https://spec.matrix.org/v1.18/client-server-api/#put_matrixclientv3roomsroomidtypinguserid>
    pub(super) async fn show_typing(&self, room: &str, me: &str) {
        let milliseconds = u64::try_from(TYPING.as_millis()).unwrap_or_default();
        let body = members(json!({"typing": true, "timeout": milliseconds}));
        self.sign(Method::PUT, &["rooms", room, "typing", me], &body).await;
    }

    /// Those before it are read as well, in whichever thread: the receipt names none.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#post_matrixclientv3roomsroomidreceiptreceipttypeeventid>
    pub(in crate::channels::matrix) async fn mark_read(&self, room: &str, event: &str) {
        self.sign(Method::POST, &["rooms", room, "receipt", "m.read", event], &Map::new()).await;
    }

    async fn sign(&self, method: Method, path: &[&str], body: &Map<String, Value>) {
        // It was seen or it was not.
        let _ = self.ask(method, path, Some(body), &mut RateHints::default()).await;
    }
}
