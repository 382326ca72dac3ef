//! Files that people send, fetched at once, with the app's own token from the Chat API alone
//! (<https://developers.google.com/workspace/chat/api/reference/rest/v1/media/download>). What lies in somebody's Drive the app may not
//! read.

use serde_json::Value;
use tokio::time::Instant;

use super::super::client::Client;
use crate::{
    channels::{
        hub_handle::{FilePlace, HubHandle, NO_PLACE},
        kit::{
            body::Body,
            in_time::{FileTime, LONGEST, time_for, within},
        },
        received::{self, MAX_FILES, Words},
    },
    message::attachment::Attachment,
};

/// The longest name of a file, in characters.
const MAX_NAME: usize = 200;
/// The longest name of what is downloaded.
const MAX_RESOURCE: usize = 2_000;
/// Attachments that are looked at.
const MOST: usize = 50;

/// A file that is still at Google.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) name: String,
    kind: Option<String>,
    resource: String,
}

/// The files of a message, and a line for each that the app cannot have.
pub(super) fn sent(attachments: &Value) -> (Vec<Sent>, Vec<String>) {
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    for attachment in attachments.as_array().into_iter().flatten().take(MOST) {
        let name = name_of(attachment);
        let resource = attachment["attachmentDataRef"]["resourceName"].as_str();
        let is_name = |name: &&str| {
            (1..=MAX_RESOURCE).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic())
        };
        match resource.filter(is_name) {
            Some(resource) if files.len() < MAX_FILES => files.push(Sent {
                name,
                kind: attachment["contentType"].as_str().map(str::to_owned),
                resource: resource.to_owned(),
            }),
            Some(_) => missing.push(received::missing(&name, received::MORE_FILES)),
            None if attachment["driveDataRef"].is_object() => {
                missing.push(received::missing(&name, "it lies in Google Drive, where the app may not read"));
            }
            None => missing.push(received::missing(&name, "Google does not say where it is")),
        }
    }
    (files, missing)
}

/// A line for each file of a message that was handed on: nothing is fetched for it.
pub(super) fn forwarded(attachments: &Value) -> Vec<String> {
    let all = attachments.as_array().into_iter().flatten().take(MAX_FILES);
    let why = "it is in a message that was forwarded: ask for the file itself";
    all.map(|attachment| received::missing(&name_of(attachment), why)).collect()
}

fn name_of(attachment: &Value) -> String {
    let name = attachment["contentName"].as_str().map(str::trim).filter(|name| !name.is_empty());
    name.unwrap_or("file").chars().take(MAX_NAME).collect()
}

/// Fetches files of whoever has this place, one after the other, in the time that is left; and says which are missing.
pub(super) async fn fetch_all(
    (client, hub): (&Client, &dyn HubHandle),
    files: Vec<Sent>,
    place: Option<&FilePlace>,
    time: &mut FileTime,
    words: &mut Words,
) {
    for sent in files {
        let fetched = match place {
            Some(place) => time.fetch(place, |until| keep(client, hub, &sent, until)).await,
            None => Err(NO_PLACE.into()),
        };
        match fetched {
            Ok(file) => words.files.push(file),
            Err(why) => words.missing.push(received::missing(&sent.name, &why)),
        }
    }
}

async fn keep(
    client: &Client,
    hub: &dyn HubHandle,
    sent: &Sent,
    until: Instant,
) -> Result<Attachment, String> {
    within(time_for(None, until), fetch(client, hub, sent)).await
}

async fn fetch(client: &Client, hub: &dyn HubHandle, sent: &Sent) -> Result<Attachment, String> {
    let response = client.download(&sent.resource, LONGEST).await?;
    // The hub has a bound of its own.
    let body = Box::new(Body::of(response, u64::MAX));
    let kept = hub.keep_file(Some(&sent.name), sent.kind.as_deref(), body).await;
    kept.map_err(|why| why.to_string())
}
