//! `imsg`: a program on a Mac, which hands a message to Messages and looks for it in its database. By its own description
//! (openclaw/imsg, docs/send.md and docs/rpc.md; 0.9.0 to 0.15):
//!
//! - An error says whether trying again is safe (`retry_safe`, from 0.14.0). "No matching row was observed" and a script that
//!   timed out are not: the message may be there. So nothing is ever sent a second time; it is looked for.
//! - 0.9.0 says `ok` and by which way, also of what Messages lost. No id is no proof.
//! - With its bridge, `send.tracked` takes an id of ours for the message. From 0.10.0, `message.send_status` says of a GUID
//!   whether that message left: a row in the history may be one that Messages could not send.
//!
//! A look counts only rows that were written after the message was begun: the number of the conversation's latest row is read
//! before, and kept with the part. A file cannot be looked for: a lost one is unknown.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    answer::{CallError, SendStatus, send_status, short},
    program::{Program, Run},
    request::{ProgramFile, ProgramRequest},
    rpc::{INVALID_PARAMS, NO_METHOD, Session},
};
use crate::{
    channels::{
        Attempt, Failure, PartKey,
        kit::{
            history::{History, since},
            json::taken,
        },
    },
    files::kept::{Checked, Kept},
    message::attachment::{clean_name, referred},
};

/// For a run that sends: Messages is given ten seconds or so to write the message down, by `imsg` itself.
const SENDING: Duration = Duration::from_secs(90);
/// For a run that only reads.
const READING: Duration = Duration::from_secs(30);
/// Conversations that are read, the latest first.
const CHATS: usize = 500;
/// Messages of one that are read, the latest first; half as many as long as their texts are more than is read.
const MESSAGES: usize = 50;
/// The oldest that works: `imsg rpc` with chats, history and send.
const OLDEST: (u32, u32) = (0, 9);
/// The first that says whether trying again is safe.
const CERTAIN: (u32, u32) = (0, 14);

/// The program, and where it finds files.
pub(super) struct Imsg {
    program: Program,
    /// Where a file stands under its name while it is sent.
    folder: PathBuf,
    history: History,
}

impl Imsg {
    /// The program; `folder` is the account's own.
    pub(super) fn new(program: Program, folder: PathBuf) -> Self {
        Self { program, folder, history: History::default() }
    }

    /// One that gives Messages no time.
    #[cfg(test)]
    pub(super) fn hasty(program: Program, folder: PathBuf) -> Self {
        Self { history: History::hasty(), ..Self::new(program, folder) }
    }

    /// The program itself.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// Sends a message; its GUID.
    pub(super) async fn send(
        &self,
        request: &ProgramRequest,
        key: &PartKey,
        kept: &Kept,
    ) -> Result<String, Failure> {
        let to = request.to.as_str();
        let mut laid_out = None;
        if let Some(ProgramFile { file, name }) = &request.file {
            let file = referred(file).ok_or_else(broken)?;
            let checked = kept.open(&file).await.map_err(|error| Failure::Permanent(error.to_string()))?;
            let failed = |error| Failure::Retry(format!("cannot lay the file out for imsg: {error}"));
            laid_out = Some(self.lay_out(key, name, checked).await.map_err(failed)?);
        }
        let mut session = Session::open(&self.program, SENDING).await?;
        let mut params = match to.contains(';') {
            false => json!({ "to": to, "service": "imessage" }),
            true => match chat(&mut session, to).await.map_err(|error| Failure::Retry(error.words()))? {
                Found::One(chat) => json!({ "chat_id": chat }),
                Found::None | Found::Unread => {
                    return Err(Failure::Permanent(format!(
                        "imsg knows no conversation {to}: write to it once on the Mac"
                    )));
                }
            },
        };
        if let Some(text) = &request.text {
            params["text"] = json!(text);
        }
        let mut method = "send";
        if let Some((_, path)) = &laid_out {
            params["file"] = json!(path.display().to_string());
        } else if session.has("send.tracked")
            && let Some(id) = tracked(key)
        {
            method = "send.tracked";
            params["attempt_id"] = json!(id);
        }
        let mut sent = session.call(method, params.clone()).await;
        if sent.as_ref().is_err_and(needs_a_chat) {
            params.as_object_mut().map(|params| params.remove("attempt_id"));
            sent = session.call("send", params).await;
        }
        drop(laid_out);
        let answer = sent.map_err(|error| classify(&error))?;
        let guid = answer["guid"].as_str().or(answer["message_id"].as_str()).filter(|guid| !guid.is_empty());
        let id = guid.ok_or_else(|| {
            Failure::Unknown("imsg says that it has sent it, and not as which message".into())
        })?;
        self.history.remember(id);
        Ok(id.to_owned())
    }

    /// The number of the latest row of a text's conversation; nothing, where the database cannot be read.
    pub(super) async fn position(&self, request: &ProgramRequest) -> Result<Option<String>, Failure> {
        if request.text.is_none() || request.file.is_some() {
            return Ok(None);
        }
        let to = request.to.as_str();
        let mut session = Session::open(&self.program, READING).await?;
        let row = match chat(&mut session, to).await {
            // Whatever is in it later is new.
            Ok(Found::None) => Some(0),
            Ok(Found::Unread) => None,
            Ok(Found::One(chat)) => match latest(&mut session, chat, None).await {
                Ok(rows) => Some(rows.iter().filter_map(|row| row["id"].as_i64()).max().unwrap_or(0)),
                Err(CallError::Gone(why)) => return Err(Failure::Retry(why)),
                Err(_) => None,
            },
            Err(CallError::Gone(why)) => return Err(Failure::Retry(why)),
            // It may not read the database, and sends without it.
            Err(_) => None,
        };
        Ok(row.map(|row| row.to_string()))
    }

    /// Whether a text arrived, after its answer was lost.
    pub(super) async fn find(
        &self,
        request: &ProgramRequest,
        attempt: &Attempt<'_>,
    ) -> Result<Option<String>, Failure> {
        let patience = self.history.patience(attempt.left);
        loop {
            let seen = self.look(request, attempt).await?;
            match seen {
                Seen::Sent(id) => {
                    self.history.remember(&id);
                    return Ok(Some(id));
                }
                Seen::Failed(why) => return Err(Failure::NotDelivered(why)),
                Seen::Pending | Seen::Nothing => {}
            }
            if !patience.again().await {
                return match seen {
                    // It is in the database, and may leave at any time: nobody knows.
                    Seen::Pending => Err(Failure::Permanent(PENDING.into())),
                    _ => Ok(None),
                };
            }
        }
    }

    async fn look(&self, request: &ProgramRequest, attempt: &Attempt<'_>) -> Result<Seen, Failure> {
        let asked = |error: CallError| Failure::Retry(error.words());
        let (to, text) = (request.to.as_str(), request.text.as_deref().unwrap_or_default());
        let mut session = Session::open(&self.program, READING).await?;
        if let Some(id) = tracked(attempt.key) {
            // The program gives the message its id in lower case (`handleSend`), and Messages may write it in upper case. Since
            // 21c981d `messageSendStatus` (openclaw/imsg, `Sources/IMsgCore/MessageStore+Messages.swift`) finds either by either;
            // before, as it stands.
            for id in [id.to_lowercase(), id] {
                match status(&mut session, &id).await.map_err(asked)? {
                    None | Some((SendStatus::Missing, _)) => {}
                    Some((status, guid)) => return Ok(Seen::of(status, guid)),
                }
            }
        }
        // Without a row to begin behind, an earlier message would be taken for this one.
        let Some(after) = attempt.position.and_then(|row| row.parse::<i64>().ok()) else {
            return Ok(Seen::Nothing);
        };
        let Found::One(chat) = chat(&mut session, to).await.map_err(asked)? else { return Ok(Seen::Nothing) };
        let rows = latest(&mut session, chat, Some(since(attempt.left))).await.map_err(asked)?;
        let ours = |row: &&Value| {
            row["id"].as_i64().is_some_and(|id| id > after)
                && row["is_from_me"] == true
                && row["guid"].as_str().is_some_and(|id| self.history.may_be(id, row["text"].as_str(), text))
        };
        let mut best = Seen::Nothing;
        for id in rows.iter().filter(ours).filter_map(|row| row["guid"].as_str()) {
            // A row says that Messages has it. Whether it left is known by its status alone; before 0.10.0 nobody can ask.
            match status(&mut session, id).await.map_err(asked)? {
                None | Some((SendStatus::Sent, _)) => return Ok(Seen::Sent(id.to_owned())),
                Some((status, _)) => best = best.or(Seen::of(status, id.to_owned())),
            }
        }
        Ok(best)
    }

    /// Puts a file where it has its name, for as long as the folder lives.
    async fn lay_out(&self, key: &PartKey, name: &str, file: Checked) -> std::io::Result<(Folder, PathBuf)> {
        let (place, name) = (self.folder.join(&key.0), clean_name(name).unwrap_or_else(|| "file".into()));
        tokio::task::spawn_blocking(move || {
            // What a hub that was killed left of the same part.
            let _ = fs::remove_dir_all(&place);
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&place)?;
            let folder = Folder(place);
            let path = folder.0.join(name);
            let mut copy = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            let mut file = file.file;
            std::io::copy(&mut file, &mut copy)?;
            Ok((folder, path))
        })
        .await
        .map_err(std::io::Error::other)?
    }

    /// Whether it runs, is new enough and may read.
    pub(super) async fn who_am_i(&self) -> Result<String, String> {
        let place = if self.program.ssh.is_empty() { "on this machine" } else { "by ssh" };
        let mac = "on the Mac, imsg needs Full Disk Access and leave to control Messages";
        let said = match self.program.run(&["--version".to_owned()], READING).await {
            Run::Well(written) => written,
            Run::Ill(said) => return Err(format!("imsg failed: {}; {mac}", short(&said))),
            Run::NotStarted(why) | Run::Lost(why) => return Err(format!("{why}; {mac}")),
        };
        let version = version(&said).ok_or_else(|| format!("what answers is no imsg: {}", short(&said)))?;
        if version < OLDEST {
            return Err(format!("imsg {} is too old: install 0.9.0 or later, best 0.14.0", short(&said)));
        }
        let mut session =
            Session::open(&self.program, READING).await.map_err(|failure| format!("{failure}; {mac}"))?;
        session
            .call("chats.list", json!({ "limit": 1 }))
            .await
            .map_err(|error| format!("{}; {mac}", error.words()))?;
        let lacks = match version < CERTAIN {
            true => "; older than 0.14.0, which says whether a message that failed may have been sent",
            false => "",
        };
        Ok(format!("imsg {} {place}{lacks}", short(&said)))
    }
}

/// What is still waiting after all the time that Messages is given.
const PENDING: &str = "its answer was lost; Messages has it and has not sent it yet: look at the Mac";

fn broken() -> Failure {
    Failure::Permanent("the stored run cannot be made".into())
}

/// `imsg 0.14.0` or `0.14.0`.
fn version(said: &str) -> Option<(u32, u32)> {
    let word = said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut numbers = word.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// The id that a message is given by `send.tracked`: the part's key, as Messages writes ids.
fn tracked(key: &PartKey) -> Option<String> {
    Some(uuid::Uuid::try_parse(&key.0).ok()?.hyphenated().to_string().to_uppercase())
}

/// Whether `send.tracked` refused a message to somebody with whom there is no conversation yet: the bridge cannot begin one, and
/// `send` can, by AppleScript. In the same words it refuses where the bridge has gone since it was asked. It is refused before
/// anything is sent (openclaw/imsg at ed7ee42, `Sources/imsg/RPCServer+SendHandlers.swift`, `handleSend`, lines 181 to 183 and 218
/// to 219: "bridge transport requires an existing chat target").
fn needs_a_chat(error: &CallError) -> bool {
    matches!(error, CallError::Refused { code: INVALID_PARAMS, words, .. } if words.contains("existing chat"))
}

/// What an error means for a message (docs/rpc.md, "Delivery failures").
pub(in crate::channels) fn classify(error: &CallError) -> Failure {
    let said = error.words();
    let CallError::Refused { code, words, data } = error else { return Failure::Unknown(said) };
    // Its `retry_safe` is about the one before it, which is still at it; this one was not begun (`rejectMutationBlocked`,
    // openclaw/imsg at 11dd3d8, `Sources/imsg/RPCServer+Dispatch.swift`; `mutationLaneBlocked`, `RPCServer+Support.swift` at
    // 1f64309).
    if *code == -32004 {
        return Failure::Retry(said);
    }
    if let Some(safe) = data["retry_safe"].as_bool() {
        return if safe { Failure::Retry(said) } else { Failure::Unknown(said) };
    }
    let is = |parts: &[&str]| parts.iter().any(|part| words.to_lowercase().contains(part));
    match *code {
        // Parse error, invalid request, unknown method, invalid params.
        -32700 | -32600 | NO_METHOD | INVALID_PARAMS => Failure::Permanent(said),
        // Too much at once, no database, no bridge: before anything is begun.
        -32000 | -32002 | -32003 => Failure::Retry(said),
        // The script may not control Messages (errAEEventNotPermitted): it was not run. `shouldFallbackToOsascript` of
        // `Sources/IMsgCore/MessageSender.swift` knows both spellings.
        _ if is(&["not authorized", "not authorised", "-1743"]) => Failure::Permanent(format!(
            "{said}; on the Mac, let imsg control Messages (Privacy & Security, Automation)"
        )),
        _ => Failure::Unknown(said),
    }
}

/// What became of a message, as far as the database shows it.
enum Seen {
    /// It left: its GUID.
    Sent(String),
    /// It is there and has not left yet.
    Pending,
    /// It is there and marked as failed: why.
    Failed(String),
    /// It is not there.
    Nothing,
}

impl Seen {
    fn of(status: SendStatus, id: String) -> Self {
        match status {
            SendStatus::Sent => Self::Sent(id),
            SendStatus::Pending => Self::Pending,
            SendStatus::Missing => Self::Nothing,
            SendStatus::Failed(why) => Self::Failed(why),
        }
    }

    /// Of two rows with the same words that did not leave: one that may still leave counts more than one that failed.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Pending, _) | (_, Self::Pending) => Self::Pending,
            (Self::Nothing, other) => other,
            (first, _) => first,
        }
    }
}

/// What `message.send_status` says of a message, and its id as Messages has it; nothing, if the program lacks the method (before
/// 0.10.0) or cannot tell.
async fn status(session: &mut Session, id: &str) -> Result<Option<(SendStatus, String)>, CallError> {
    match session.call("message.send_status", json!({ "guid": id })).await {
        Ok(answer) => {
            let guid = answer["guid"].as_str().filter(|guid| guid.eq_ignore_ascii_case(id)).unwrap_or(id);
            Ok(Some((send_status(&answer), guid.to_owned())))
        }
        Err(CallError::Refused { code: NO_METHOD, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What reading a list found.
enum Found<T> {
    /// It is there.
    One(T),
    /// It is not: the list was read to its end.
    None,
    /// It is not among as many as were asked for, and there may be more.
    Unread,
}

/// The number that `imsg` has for a conversation.
async fn chat(session: &mut Session, to: &str) -> Result<Found<i64>, CallError> {
    let list = match session.call("chats.list", json!({ "limit": CHATS })).await {
        Err(CallError::TooLong) => return Ok(Found::Unread),
        list => list?,
    };
    let list = list["chats"].as_array().map_or(&[][..], Vec::as_slice);
    // Since macOS 26 a conversation has "any" for its service (`any;-;+49…`).
    let tail = |guid: &str| guid.split_once(';').map(|(_, tail)| tail.to_owned());
    let is_it = |chat: &&Value| match tail(to) {
        None => chat["identifier"] == to && chat["is_group"] != true,
        Some(wanted) => chat["guid"].as_str().and_then(tail) == Some(wanted),
    };
    match list.iter().find(is_it).and_then(|chat| chat["id"].as_i64()) {
        Some(chat) => Ok(Found::One(chat)),
        None if list.len() < CHATS => Ok(Found::None),
        None => Ok(Found::Unread),
    }
}

/// The latest messages of a conversation, as many as can be read.
async fn latest(
    session: &mut Session,
    chat: i64,
    since: Option<jiff::Timestamp>,
) -> Result<Vec<Value>, CallError> {
    let mut most = MESSAGES;
    loop {
        let mut params = json!({ "chat_id": chat, "limit": most });
        if let Some(since) = since {
            params["start"] = json!(since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        }
        match session.call("messages.history", params).await {
            Err(CallError::TooLong) if most > 1 => most /= 2,
            rows => {
                return Ok(match taken(&mut rows?, "messages") {
                    Value::Array(rows) => rows,
                    _ => Vec::new(),
                });
            }
        }
    }
}

/// A folder that goes when this does.
struct Folder(PathBuf);

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is taken away when the part is tried again.
        let _ = fs::remove_dir_all(&self.0);
    }
}
