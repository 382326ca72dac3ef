//! `imsg`: a program on a Mac, which hands a message to Messages and looks for it in its database.
//!
//! A run that was lost is settled by asking: whether the conversation has this text since the part was made ([`history`] says
//! how certain that is). A file cannot be asked about: a lost one is unknown.
//!
//! [`history`]: crate::channels::history

use std::{
    fs,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;

use super::program::{Program, Run};
use crate::{
    channels::{
        Failure, PartKey,
        history::{History, since},
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
/// Messages of one that are read, the latest first.
const MESSAGES: usize = 50;
/// The longest words that are passed on, in characters.
const MAX_WORDS: usize = 300;

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

    /// Performs a run; the message's GUID.
    pub(super) async fn send(&self, wire: &Value, key: &PartKey, kept: &Kept) -> Result<String, Failure> {
        let broken = || Failure::Permanent("the stored run cannot be made".into());
        let list = wire["arguments"].as_array().ok_or_else(broken)?;
        let mut arguments: Vec<String> = list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let mut folder = None;
        if let Some(file) = wire["file"]["file"].as_str() {
            let file = referred(file).ok_or_else(broken)?;
            let checked = kept.open(&file).await.map_err(|error| Failure::Permanent(error.to_string()))?;
            let (place, path) = self
                .lay_out(key, wire["file"]["name"].as_str().unwrap_or("file"), checked)
                .await
                .map_err(|error| Failure::Retry(format!("cannot lay the file out for imsg: {error}")))?;
            folder = Some(place);
            arguments.extend(["--file".to_owned(), path.display().to_string()]);
        }
        let run = self.program.run(&arguments, SENDING).await;
        drop(folder);
        let written = self.judge(run)?;
        let answer: Value =
            written.lines().rev().find_map(|line| serde_json::from_str(line).ok()).unwrap_or_default();
        if answer["status"] != "sent" {
            return Err(Failure::Unknown(
                "imsg did well, but did not say that it has sent the message".into(),
            ));
        }
        let guid = answer["guid"].as_str().or(answer["message_id"].as_str());
        // An imsg without access to the database knows no more.
        let id = guid.map_or_else(|| key.0.clone(), str::to_owned);
        self.history.remember(&id);
        Ok(id)
    }

    /// Whether a text arrived, after its run was lost.
    pub(super) async fn find(&self, wire: &Value, left: i64) -> Result<Option<String>, Failure> {
        let text = wire["text"].as_str().unwrap_or_default();
        let to = wire["to"].as_str().unwrap_or_default();
        let patience = self.history.patience();
        loop {
            let found = match self.chat(to).await? {
                Found::One(chat) => self.look(chat, text, since(left)).await?,
                // There is no such conversation: nothing of it arrived.
                Found::None => Found::None,
                Found::Unread => Found::Unread,
            };
            match found {
                Found::One(id) => {
                    self.history.remember(&id);
                    return Ok(Some(id));
                }
                Found::None | Found::Unread if patience.again().await => {}
                Found::None => return Ok(None),
                Found::Unread => {
                    return Err(Failure::Unknown(
                        "imsg does not show it among the latest messages, and there are more than it was asked for".into(),
                    ));
                }
            }
        }
    }

    /// The number that `imsg` has for a conversation.
    async fn chat(&self, to: &str) -> Result<Found<i64>, Failure> {
        let arguments = ["chats", "--limit", &CHATS.to_string(), "--json"].map(str::to_owned);
        let written = self.judge(self.program.run(&arguments, READING).await).map_err(Failure::harmless)?;
        Ok(Found::among(&written, CHATS, |chat| {
            chat["id"].as_i64().filter(|_| chat["identifier"] == to || chat["guid"] == to)
        }))
    }

    async fn look(&self, chat: i64, text: &str, since: jiff::Timestamp) -> Result<Found<String>, Failure> {
        let (chat, since) = (chat.to_string(), since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        let most = MESSAGES.to_string();
        let arguments =
            ["history", "--chat-id", &chat, "--limit", &most, "--start", &since, "--json"].map(str::to_owned);
        let written = self.judge(self.program.run(&arguments, READING).await).map_err(Failure::harmless)?;
        Ok(Found::among(&written, MESSAGES, |message| {
            let ours = |guid: &&str| {
                message["is_from_me"] == true && self.history.may_be(guid, message["text"].as_str(), text)
            };
            message["guid"].as_str().filter(ours).map(str::to_owned)
        }))
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

    /// What a run wrote, or what its end means for a message.
    fn judge(&self, run: Run) -> Result<String, Failure> {
        let short = |said: String| {
            let said = said.replace(char::is_control, " ");
            said.chars().take(MAX_WORDS).collect::<String>()
        };
        Err(match run {
            Run::Well(written) => return Ok(written),
            Run::NotStarted(why) => Failure::Retry(why),
            Run::Lost(why) => Failure::Unknown(why),
            Run::Ill(status, said) => {
                let is = |words: &[&str]| words.iter().any(|word| said.to_lowercase().contains(word));
                // ssh(1): 255 if an error occurred in ssh itself.
                let never_there = !self.program.ssh.is_empty()
                    && status == Some(255)
                    && is(&[
                        "resolve",
                        "refused",
                        "denied",
                        "no route",
                        "timed out",
                        "host key",
                        "unreachable",
                    ]);
                let refused = is(&[
                    "invalid",
                    "missing",
                    "unknown chat",
                    "unknown option",
                    "not authorized",
                    "permission",
                ]);
                let said = short(format!("imsg failed: {said}"));
                match (never_there, refused) {
                    (true, _) => Failure::Retry(said),
                    (false, true) => Failure::Permanent(said),
                    (false, false) => Failure::Unknown(said),
                }
            }
        })
    }

    /// Whether it runs and may read.
    pub(super) async fn who_am_i(&self) -> Result<String, String> {
        let arguments = ["chats", "--limit", "1", "--json"].map(str::to_owned);
        match self.judge(self.program.run(&arguments, READING).await) {
            Ok(_) if self.program.ssh.is_empty() => Ok("imsg on this machine".into()),
            Ok(_) => Ok("imsg by ssh".into()),
            Err(failure) => Err(format!(
                "{failure}; on the Mac, imsg needs Full Disk Access and leave to control Messages"
            )),
        }
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

impl<T> Found<T> {
    /// Looks at what was written, an object a line, `most` of them asked for.
    fn among(written: &str, most: usize, is_it: impl Fn(&Value) -> Option<T>) -> Self {
        let mut read = 0;
        for line in written.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            read += 1;
            if let Some(found) = is_it(&line) {
                return Self::One(found);
            }
        }
        if read < most { Self::None } else { Self::Unread }
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
