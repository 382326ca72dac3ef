//! What a BlueBubbles server hands over of Messages' database.
//!
//! Its webhooks are sent once and not again (<https://github.com/BlueBubblesApp/bluebubbles-server>, `services/webhookService/index.ts`
//! at 14a1ec1), and what it tells again after a restart is of a whole week. So they only wake: the rows are asked for.
//!
//! - `asking`: the questions; `failing`: rows over which the server fails; `row`: a row; `facts`: what it says of the Mac and of people; `files`: files; `signs`: what people see
//!   meanwhile; `notice`: a webhook.

mod asking;
mod facts;
mod failing;
mod files;
mod notice;
mod row;
mod signs;

use serde_json::Value;

pub(in crate::channels::imessage) use self::{
    notice::{is_proof, wakes},
    signs::TYPING,
};
use super::source::Row;
use crate::channels::{
    imessage::bluebubbles::Server,
    received::{Dropped, Received},
};

/// What an answer tells, for tests with any bytes: what an account would hand over, without its files.
pub fn read(body: &[u8]) -> (Vec<Received>, Vec<Dropped>) {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let (mut received, mut dropped) = (Vec::new(), Vec::new());
    let facts = facts::Facts::default();
    for one in body["data"].as_array().into_iter().flatten() {
        let Row { received: events, dropped: not, .. } = row::read(one, &facts);
        received.extend(events);
        dropped.extend(not);
    }
    (received, dropped)
}

/// A server whose rows are read.
pub(in crate::channels::imessage) struct Rows<'a> {
    server: &'a Server,
    known: facts::Known,
    failing: tokio::sync::Mutex<failing::Failing>,
}

impl<'a> Rows<'a> {
    pub(in crate::channels::imessage) fn of(server: &'a Server) -> Self {
        Self { server, known: facts::Known::default(), failing: tokio::sync::Mutex::default() }
    }
}

impl super::Listener {
    /// Receives from a server for as long as anybody waits.
    pub(in crate::channels::imessage) async fn listen_to_server(
        &self,
        server: &Server,
        hub: &dyn crate::channels::hub_handle::HubHandle,
    ) {
        let rows = Rows::of(server);
        tokio::join!(self.listen(&rows, hub), rows.known.ask(&server.api));
    }
}
