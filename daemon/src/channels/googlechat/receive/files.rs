//! Files that people send, fetched at once, with the app's own token from the Chat API alone
//! (<https://developers.google.com/workspace/chat/api/reference/rest/v1/media/download>). What lies in somebody's Drive the app may not
//! read.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::super::client::Client;
use crate::{
    channels::{
        hub_handle::HubHandle,
        kit::body::Body,
        received::{self, MAX_FILES, Words},
    },
    message::attachment::Attachment,
};

/// For all files of a message together; meanwhile Pub/Sub waits for its acknowledgement.
pub(super) const IN_ALL: Duration = Duration::from_mins(2);
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
        let name = attachment["contentName"].as_str().map(str::trim).filter(|name| !name.is_empty());
        let name: String = name.unwrap_or("file").chars().take(MAX_NAME).collect();
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

/// Fetches files, one after the other, and says which are missing.
pub(super) async fn fetch_all(client: &Client, hub: &dyn HubHandle, files: Vec<Sent>, words: &mut Words) {
    let until = Instant::now() + IN_ALL;
    for sent in files {
        let fetched = timeout_at(until, fetch(client, hub, &sent)).await;
        match fetched.unwrap_or_else(|_| Err("it takes too long".into())) {
            Ok(file) => words.files.push(file),
            Err(why) => words.missing.push(received::missing(&sent.name, &why)),
        }
    }
}

async fn fetch(client: &Client, hub: &dyn HubHandle, sent: &Sent) -> Result<Attachment, String> {
    let response = client.download(&sent.resource, IN_ALL).await?;
    // The hub has a bound of its own.
    let body = Box::new(Body::of(response, u64::MAX));
    let kept = hub.keep_file(Some(&sent.name), sent.kind.as_deref(), body).await;
    kept.map_err(|why| why.to_string())
}
