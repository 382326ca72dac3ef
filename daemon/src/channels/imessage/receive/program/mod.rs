//! What `imsg rpc` hands over of Messages' database: the rows behind a number (`messages.after`, from 0.14.0;
//! <https://github.com/openclaw/imsg/blob/main/docs/rpc.md>), and, of its own accord, that there is a new one (`watch.subscribe`). The
//! program runs for as long as the hub listens; one that has ended, or does not answer in time, is begun again.
//!
//! A row without a conversation it hands over with an empty one (`MessagesAfterQuery`, `Sources/IMsgCore/MessageStore+Queries.swift` at
//! 21c981d, and `messagePayload`). It hands over neither edits nor removals, nor who came to a group.
//!
//! - `row`: a message; `files`: a file, which lies on the Mac.

mod files;
mod row;

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::{sync::Mutex, time::Instant};

use super::source::{Mark, Page, Row, Sent, Since, Source};
use crate::{
    channels::{
        Failure,
        hub_handle::HubHandle,
        imessage::{
            answer::{CallError, short},
            program::Program,
            rpc::{NO_METHOD, Session},
        },
        kit::in_time::{time_for, within},
        received::{Dropped, Received},
    },
    message::attachment::Attachment,
};

/// For one call.
const ANSWERING: Duration = Duration::from_secs(30);
/// Rows that are asked for at a time. Where they are more than is read of a line, they are asked for one by one.
const PAGE: usize = 50;

/// What an answer to `messages.after` tells, for tests with any bytes: what an account would hand over, without its files.
pub fn read(body: &[u8]) -> (Vec<Received>, Vec<Dropped>) {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let (mut received, mut dropped) = (Vec::new(), Vec::new());
    for one in body["messages"].as_array().into_iter().flatten() {
        let row = row::read(one);
        received.extend(row.received);
        dropped.extend(row.dropped);
    }
    (received, dropped)
}

impl super::Listener {
    /// Receives from a program for as long as anybody waits.
    pub(in crate::channels::imessage) async fn listen_to_program(
        &self,
        program: &Program,
        hub: &dyn HubHandle,
    ) {
        self.listen(&Rows { program, session: Mutex::default(), quiet: Mutex::default() }, hub).await;
    }
}

/// The program, and the sessions with it while there are some.
struct Rows<'a> {
    program: &'a Program,
    /// Which says of its own accord that something came, with all of its words (`watch.subscribe`).
    session: Mutex<Option<Session>>,
    /// Which says nothing but answers: a line that is too long is one there. In the other it may have been a notice, and whoever takes
    /// that for the answer gives up a row that can be read.
    quiet: Mutex<Option<Session>>,
}

impl Rows<'_> {
    /// Calls a method; nothing where the answer is longer than is read.
    async fn call(&self, method: &str, params: Value) -> Result<Option<Value>, Failure> {
        let told = call(&mut *self.session.lock().await, self.open(), method, &params).await?;
        match told {
            Some(answer) => Ok(Some(answer)),
            // The answer may still come there. By its number it is none to another call.
            None => {
                let open = Session::open(self.program, ANSWERING);
                call(&mut *self.quiet.lock().await, open, method, &params).await
            }
        }
    }

    async fn open(&self) -> Result<Session, Failure> {
        let mut session = Session::open(self.program, ANSWERING).await?;
        // One that says nothing of its own accord is asked each minute all the same.
        let _ = session.call("watch.subscribe", json!({ "include_reactions": true })).await;
        Ok(session)
    }

    /// The message with the newest time, which its sender chose; nothing where there is none.
    async fn newest_by_time(&self) -> Result<Value, Failure> {
        let chats = self.call("chats.list", json!({ "limit": 1 })).await?.unwrap_or_default();
        let Some(chat) = chats["chats"][0]["id"].as_i64() else { return Ok(Value::Null) };
        let history = self.call("messages.history", json!({ "chat_id": chat, "limit": 1 })).await?;
        Ok(history.unwrap_or_default()["messages"][0].clone())
    }

    /// The number of the last row behind this one, or this one: by steps that double until nothing is behind, and then by halves, so that it
    /// takes at most some hundred questions however many rows there are.
    async fn last_behind(&self, row: i64) -> Result<i64, Failure> {
        let (mut last, mut step) = (row.max(0), 1);
        let mut none = loop {
            let at = last.saturating_add(step - 1);
            match self.first_behind(at).await? {
                Some(found) => (last, step) = (found, step.saturating_mul(2)),
                None => break at,
            }
        };
        while last < none {
            let middle = last + (none - last) / 2;
            match self.first_behind(middle).await? {
                Some(found) => last = found,
                None => none = middle,
            }
        }
        Ok(last)
    }

    /// The number of the first row behind this one, as far as anybody can say; nothing where none is.
    async fn first_behind(&self, row: i64) -> Result<Option<i64>, Failure> {
        Ok(match self.after(row, 1).await? {
            Some((rows, ..)) => rows.first().map(|first| first.mark.row).filter(|first| *first > row),
            None => row.checked_add(1),
        })
    }

    /// The rows behind a number, this many at most; nothing where they are too much together.
    async fn after(&self, row: i64, limit: usize) -> Result<Option<(Vec<Row>, i64, bool)>, Failure> {
        let params = json!({
            "since_rowid": row, "limit": limit, "attachments": true, "include_reactions": true,
        });
        let Some(answer) = self.call("messages.after", params).await? else { return Ok(None) };
        let Some(messages) = answer["messages"].as_array() else {
            return Err(Failure::Retry("what answers is no imsg".into()));
        };
        let mut rows: Vec<Row> = messages.iter().map(row::read).collect();
        rows.sort_by_key(|row| row.mark);
        let next = answer["next_rowid"].as_i64().unwrap_or(row).max(row);
        Ok(Some((rows, next, answer["has_more"] == true)))
    }
}

/// Calls a method, in the session that there is or in a new one; nothing where a longer line came than is read.
async fn call(
    place: &mut Option<Session>,
    open: impl Future<Output = Result<Session, Failure>>,
    method: &str,
    params: &Value,
) -> Result<Option<Value>, Failure> {
    let mut session = match place.take() {
        Some(session) => session,
        None => open.await?,
    };
    session.within(ANSWERING);
    let answer = session.call(method, params.clone()).await;
    // What has ended, or said too little in its time, is left there: a new one begins.
    if !matches!(answer, Err(CallError::Gone(_))) {
        *place = Some(session);
    }
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(CallError::TooLong) => Ok(None),
        Err(CallError::Refused { code: NO_METHOD, .. }) => {
            Err(Failure::Permanent("this imsg cannot receive: install 0.14.0 or later".into()))
        }
        Err(error) => Err(Failure::Retry(error.words())),
    }
}

#[async_trait]
impl Source for Rows<'_> {
    async fn newest(&self) -> Result<i64, Failure> {
        // Of the rows it may be the first, for its sender chose its time, and a reaction is none there.
        let newest = self.newest_by_time().await?["id"].as_i64().unwrap_or(0);
        self.last_behind(newest).await
    }

    async fn latest(&self, now: i64) -> Result<Option<i64>, Failure> {
        Ok(row::written(&self.newest_by_time().await?).map(|at| at.min(now)))
    }

    async fn behind(&self, mark: Mark) -> Result<Page, Failure> {
        let page = |(rows, next, more): (Vec<Row>, i64, bool)| Page { rows, next: Mark::behind(next), more };
        if let Some(found) = self.after(mark.row, PAGE).await? {
            return Ok(page(found));
        }
        match self.after(mark.row, 1).await? {
            Some((rows, next, _)) => Ok(page((rows, next, true))),
            // Which row it is nobody says; it is no earlier than the next number.
            None => {
                let next = Mark::behind(mark.row.saturating_add(1));
                Ok(Page { rows: vec![Row::unreadable(next)], next, more: true })
            }
        }
    }

    async fn changed(&self, _: Since) -> Result<Vec<Row>, Failure> {
        // It is asked for last: nothing is in doubt any more.
        *self.quiet.lock().await = None;
        Ok(Vec::new())
    }

    async fn keep(
        &self,
        hub: &dyn HubHandle,
        sent: &Sent,
        until: Instant,
        pause: Duration,
    ) -> Result<Attachment, String> {
        let kept = within(time_for(sent.size, until), self.fetch(hub, sent, pause)).await;
        kept.map_err(|why| sent.missing(&short(&why)))
    }

    async fn came(&self) {
        let mut place = self.session.lock().await;
        match place.as_mut() {
            Some(session) => session.hear().await,
            None => std::future::pending().await,
        }
    }
}
