//! What `imsg rpc` hands over of Messages' database: the rows behind a number (`messages.after`, from 0.14.0;
//! <https://github.com/openclaw/imsg/blob/main/docs/rpc.md>), and, of its own accord, that there is a new one (`watch.subscribe`). The
//! program runs for as long as the hub listens; one that has ended, or does not answer in time, is begun again.
//!
//! A row without a conversation it hands over with an empty one (`MessagesAfterQuery`, `Sources/IMsgCore/MessageStore+Queries.swift` at
//! 21c981d, and `messagePayload`). It hands over neither edits nor removals, nor who came to a group. A file lies on the Mac: it is read there by `cat`, by the way that
//! brings the program there. Which file that is, the program says; only what lies where Messages keeps files is read.

use std::{io, time::Duration};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::{
    io::AsyncReadExt as _,
    sync::Mutex,
    time::{Instant, sleep},
};

use super::{
    place,
    source::{Mark, Page, Row, Sent, Since, Source},
    tapback,
};
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
        received::{AuthorKind, Dropped, Event, Received, ReplyTo, Words, missing, not_used, unreadable},
    },
    message::attachment::Attachment,
};

/// For one call.
const ANSWERING: Duration = Duration::from_secs(30);
/// Rows that are asked for at a time. Where they are more than is read of a line, they are asked for one by one.
const PAGE: usize = 50;
/// How often a file is asked for that is not there yet.
const TRIES: u32 = 4;
/// Where Messages keeps what people send.
const FILES: &str = "/Library/Messages/Attachments/";
const PLACE_OF_FILE: char = '\u{fffc}';

/// What an answer to `messages.after` tells, for tests with any bytes: what an account would hand over, without its files.
pub fn read(body: &[u8]) -> (Vec<Received>, Vec<Dropped>) {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let (mut received, mut dropped) = (Vec::new(), Vec::new());
    for one in body["messages"].as_array().into_iter().flatten() {
        let row = row(one);
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
        let mut rows: Vec<Row> = messages.iter().map(self::row).collect();
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
        Ok(written(&self.newest_by_time().await?).map(|at| at.min(now)))
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
        kept.map_err(|why| missing(sent.name.as_deref().unwrap_or("file"), &short(&why)))
    }

    async fn came(&self) {
        let mut place = self.session.lock().await;
        match place.as_mut() {
            Some(session) => session.hear().await,
            None => std::future::pending().await,
        }
    }
}

impl Rows<'_> {
    async fn fetch(&self, hub: &dyn HubHandle, sent: &Sent, pause: Duration) -> Result<Attachment, String> {
        let mut tries = 1;
        loop {
            match self.cat(hub, sent).await {
                Err(_) if tries < TRIES => tries += 1,
                kept => return kept,
            }
            sleep(pause).await;
        }
    }

    async fn cat(&self, hub: &dyn HubHandle, sent: &Sent) -> Result<Attachment, String> {
        if !is_kept_by_messages(&sent.at) {
            return Err("it does not lie where Messages keeps files".into());
        }
        let cat = Program { command: vec!["/bin/cat".into()], ssh: self.program.ssh.clone() };
        let mut running = cat.start(std::slice::from_ref(&sent.at))?;
        let (stdin, stdout, stderr) = running.pipes();
        drop(stdin);
        let Some(stdout) = stdout else { return Err("cat has no pipes".into()) };
        let said = tokio::spawn(crate::channels::imessage::program::read(stderr, 2048));
        // Half a file has an end too: how much it is, Messages says.
        let most = sent.size.map_or(u64::MAX, |size| size.saturating_add(1));
        let kept =
            hub.keep_file(sent.name.as_deref(), sent.kind.as_deref(), Box::new(stdout.take(most))).await;
        let kept = kept.map_err(|why| why.to_string());
        let well = running.ended().await.is_ok_and(|status| status.success());
        if !well {
            let said = said.await.ok().and_then(io::Result::ok).unwrap_or_default();
            return Err(kept.err().unwrap_or_else(|| short(&format!("cat failed: {}", said.trim()))));
        }
        let kept = kept?;
        match sent.size {
            Some(size) if size != kept.size => Err("not all of it is there".into()),
            _ => Ok(Attachment { voice: sent.voice, ..kept }),
        }
    }
}

/// Whether a path is of a file that somebody sent: the name at its end is a stranger's.
fn is_kept_by_messages(path: &str) -> bool {
    path.starts_with('/')
        && path.contains(FILES)
        && !path.split('/').any(|part| part == "..")
        && !path.contains(char::is_control)
}

/// Reads a message as the program hands it over (`MessagePayload`, `Sources/imsg/OutputModels.swift` at 11dd3d8, and `messagePayload`,
/// `RPCPayloads.swift` at 387e015).
fn row(message: &Value) -> Row {
    let mark = Mark::behind(message["id"].as_i64().unwrap_or(0));
    match said(message) {
        Ok((received, files)) => Row { mark, received: vec![received], files, ..Row::default() }.bounded(),
        Err(dropped) => {
            let is_nowhere = message["chat_guid"].as_str().is_none_or(str::is_empty);
            Row { mark, dropped: Some(dropped), is_nowhere, ..Row::default() }
        }
    }
}

fn said(message: &Value) -> Result<(Received, Vec<Sent>), Dropped> {
    let text = |name: &str| message[name].as_str().filter(|text| !text.is_empty());
    let guid = text("guid").ok_or_else(|| unreadable("message"))?;
    let chat = text("chat_guid").ok_or_else(|| unreadable("conversation"))?;
    let conversation =
        place::conversation(chat, text("chat_name")).ok_or_else(|| unreadable("conversation"))?;
    let own = text("destination_caller_id");
    let author = match message["is_from_me"] == true {
        true => place::myself(own),
        false => {
            // By which service a message came stands nowhere else.
            let service = chat.split(';').next().filter(|service| *service != "any");
            let author = text("sender").and_then(|sender| place::author(sender, service));
            let author = author.ok_or_else(|| unreadable("sender"))?;
            match own.and_then(place::handle) == Some(author.id.clone()) {
                true => place::myself(own),
                false => crate::channels::received::Author {
                    name: text("sender_name").map(str::to_owned),
                    ..author
                },
            }
        }
    };
    let received = |message_id: &str, event: Event| Received {
        key: guid.to_owned(),
        conversation: conversation.clone(),
        author: author.clone(),
        message_id: Some(message_id.to_owned()),
        said_at: written(message),
        mentions_me: false,
        event,
    };
    if message["is_reaction"] == true {
        let target = text("reacted_to_guid").map(tapback::target).filter(|target| !target.is_empty());
        let target = target.ok_or_else(|| unreadable("reaction"))?;
        let emoji = text("reaction_emoji").or_else(|| text("reaction_type")).unwrap_or("emoji").to_owned();
        let event = Event::Reaction { emoji, removed: message["is_reaction_add"] == false };
        return Ok((received(target, event), Vec::new()));
    }
    let attachments = message["attachments"].as_array().map_or(&[][..], Vec::as_slice);
    let files: Vec<Sent> = attachments.iter().filter_map(sent).collect();
    let words = text("text").unwrap_or_default().replace(PLACE_OF_FILE, "").trim().to_owned();
    if words.is_empty() && files.is_empty() {
        return Err(not_used(text("balloon_bundle_id").unwrap_or("message without words")));
    }
    let reply_to = text("thread_originator_guid").map(|id| ReplyTo {
        id: id.to_owned(),
        mine: false,
        author: text("reply_to_sender").and_then(place::handle),
        text: text("reply_to_text").map(str::to_owned),
    });
    let is_own = author.kind == AuthorKind::Myself;
    let event = Event::Message(Words { text: words, reply_to, ..Words::default() });
    Ok((received(guid, event), if is_own { Vec::new() } else { files }))
}

/// When a message was written, in milliseconds since 1970.
fn written(message: &Value) -> Option<i64> {
    let at = message["created_at"].as_str()?.parse::<jiff::Timestamp>().ok()?;
    Some(at.as_millisecond())
}

fn sent(attachment: &Value) -> Option<Sent> {
    let text = |name: &str| attachment[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Some(Sent {
        at: text("original_path")?,
        name: text("transfer_name"),
        kind: text("mime_type"),
        size: attachment["total_bytes"].as_u64().filter(|size| *size > 0),
        voice: text("uti").is_some_and(|uti| uti == "com.apple.coreaudio-format"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_where_messages_keeps_files_is_read() {
        let kept = "/Users/me/Library/Messages/Attachments/0a/10/AB/IMG_1.heic";
        assert!(is_kept_by_messages(kept));
        for other in [
            "",
            "/etc/passwd",
            "Library/Messages/Attachments/x",
            "/Users/me/Library/Messages/Attachments/../../../.ssh/id_ed25519",
            "/Users/me/Library/Messages/chat.db",
            "/Users/me/Library/Messages/Attachments/a\nb",
            "-/Library/Messages/Attachments/x",
        ] {
            assert!(!is_kept_by_messages(other), "{other:?}");
        }
    }
}
