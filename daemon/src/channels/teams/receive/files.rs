//! Files that people send, fetched at once: the address of a file is good for some minutes, and Teams waits 15 s for its answer.
//!
//! A file of somebody's conversation with the bot is in their OneDrive, at an address that is all the proof that it takes
//! (<https://learn.microsoft.com/microsoftteams/platform/bots/how-to/bots-filesv4#receive-files-in-personal-chat>). A picture in a message
//! is at the Connector, which wants the bot's token
//! (<https://learn.microsoft.com/microsoftteams/platform/bots/how-to/bots-filesv4#receive-inline-images>): that goes to the account's own service alone.
//! Nobody else is asked, wherever an activity points.

use std::time::Duration;

use reqwest::Url;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::{
    channels::{
        hub_handle::{HubHandle, NO_PLACE},
        kit::body::Body,
        received::{self, MAX_FILES, Words},
        teams::{client::Client, consent::is_stored},
    },
    message::attachment::Attachment,
};

/// For all files of a message together: the Connector gives a bot 15 s
/// (<https://learn.microsoft.com/azure/bot-service/bot-service-troubleshoot-general-problems>, "timeout"), and the row is to be written in them.
const IN_ALL: Duration = Duration::from_secs(10);
/// The longest name of a file, in characters.
const MAX_NAME: usize = 200;
/// Attachments that are looked at.
const MOST: usize = 50;

/// A file in somebody's OneDrive.
const DOWNLOAD: &str = "application/vnd.microsoft.teams.file.download.info";
/// Attachments that are no files: the message once more, cards, and messages that are pointed to.
const NO_FILES: [&str; 5] = [
    "text/html",
    "application/vnd.microsoft.card.",
    "application/vnd.microsoft.teams.card.",
    "messageReference",
    "forwardedMessageReference",
];

/// A file that is still at Microsoft.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) name: String,
    kind: Option<String>,
    /// Where it is. Whoever has the address has the file.
    url: String,
    /// Whether it takes the bot's token.
    is_at_service: bool,
}

impl std::fmt::Debug for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "file {:?} (***)", self.name)
    }
}

/// The files of a message, and a line for each that Teams does not hand over.
pub(super) fn sent<'a>(attachments: impl Iterator<Item = &'a Value>) -> (Vec<Sent>, Vec<String>) {
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    for attachment in attachments.take(MOST) {
        let kind = attachment["contentType"].as_str().unwrap_or_default();
        if NO_FILES.iter().any(|none| kind.starts_with(none)) {
            continue;
        }
        let given = attachment["name"].as_str().map(str::trim).filter(|name| !name.is_empty());
        let is_picture = kind.starts_with("image/");
        let name: String =
            given.unwrap_or(if is_picture { "picture" } else { "file" }).chars().take(MAX_NAME).collect();
        let url = match kind {
            DOWNLOAD => attachment["content"]["downloadUrl"].as_str(),
            _ if is_picture => attachment["contentUrl"].as_str(),
            _ => None,
        };
        match url {
            Some(url) if files.len() < MAX_FILES => files.push(Sent {
                name,
                kind: is_picture.then(|| kind.to_owned()).filter(|kind| !kind.ends_with('*')),
                url: url.to_owned(),
                is_at_service: is_picture,
            }),
            Some(_) => missing.push(received::missing(&name, received::MORE_FILES)),
            None => missing.push(received::missing(
                &name,
                "Teams hands a bot files of its conversations with one person only",
            )),
        }
    }
    (files, missing)
}

/// Fetches files, one after the other, and says which are missing. When the hub stops, the rest is: Teams would not tell the words
/// again, and the hub is killed before the time for files is over.
pub(super) async fn fetch_all(client: &Client, hub: &dyn HubHandle, files: Vec<Sent>, words: &mut Words) {
    let until = Instant::now() + IN_ALL;
    for sent in files {
        let fetched = tokio::select! {
            biased;
            fetched = timeout_at(until, fetch(client, hub, &sent)) =>
                fetched.unwrap_or_else(|_| Err("it takes longer than Teams waits for the hub".into())),
            () = hub.stops() => Err("the hub stopped meanwhile".into()),
        };
        match fetched {
            Ok(file) => words.files.push(file),
            Err(why) => words.missing.push(received::missing(&sent.name, &why)),
        }
    }
}

/// Says of all files that they are missing, for there was no place to fetch them in.
pub(super) fn leave_out(files: &[Sent], words: &mut Words) {
    words.missing.extend(files.iter().map(|sent| received::missing(&sent.name, NO_PLACE)));
}

async fn fetch(client: &Client, hub: &dyn HubHandle, sent: &Sent) -> Result<Attachment, String> {
    let allowed = |url: &Url| match sent.is_at_service {
        true => client.is_service(url),
        false => is_stored(url, client.tried_out_at()),
    };
    let url =
        Url::parse(&sent.url).ok().filter(allowed).ok_or("it is at no address of Teams' or OneDrive's")?;
    let response = client.fetch(url, sent.is_at_service, IN_ALL).await?;
    // The hub has a bound of its own.
    let body = Box::new(Body::of(response, u64::MAX));
    let kept = hub.keep_file(Some(&sent.name), sent.kind.as_deref(), body).await;
    kept.map_err(|why| client.words(&why.to_string()))
}
