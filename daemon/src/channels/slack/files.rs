//! Files: asked for a place, brought there, and only then shared.
//!
//! Until the last of the three requests a file is in no conversation, so whatever goes wrong before is tried again. The
//! last one has no key. When its answer is lost, the file itself is asked where it is shared: if it says where, it
//! arrived; if it does not, nobody knows, for Slack shares it a while after it has answered.
//!
//! The place is an address that Slack names. It gets the bytes and nothing else, no token above all, and only where it is
//! as well protected as Slack's own.

use std::time::Duration;

use reqwest::{Url, header::CONTENT_LENGTH};
use serde_json::{Map, Value, json};

use super::{
    client::Client,
    refusal::Outcome,
    request::{File, Request},
    target::is_person,
};
use crate::{
    cause::innermost,
    channels::{Failure, RateHints, kit::http::Http},
    files::kept::{Checked, Kept},
    message::attachment::referred,
};

/// Between two questions where a file is shared.
const PAUSES: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];

/// Shares a file; returns the time of its message, by which it is answered and deleted, or the file's own id where Slack
/// does not tell; by that nothing can be done to it.
pub(super) async fn share(
    client: &Client,
    kept: &Kept,
    request: &Request,
    file: &File,
    hints: &mut RateHints,
) -> Result<String, Failure> {
    let digest = referred(&file.source)
        .ok_or_else(|| Failure::Permanent("the stored request names its file by no hash".into()))?;
    let checked = kept.open(&digest).await.map_err(|error| Failure::Permanent(error.to_string()))?;
    let mut body = request.body.clone();
    let channel = match request.text("channel_id") {
        Some(person) if is_person(person) => client.direct(person, hints).await?,
        Some(channel) => channel.to_owned(),
        None => return Err(Failure::Permanent("the stored request names no conversation".into())),
    };
    let id = upload(client, &file.name, checked, hints).await?;
    body.insert("channel_id".into(), json!(channel));
    body.insert("files".into(), json!([{ "id": id, "title": file.name }]));
    match client.write(&request.method, &body, hints).await {
        Ok(Outcome::Yes(said)) => match message(&said["files"][0], &channel) {
            Some(ts) => Ok(ts),
            None => Ok(shared(client, &id, &channel, hints).await.unwrap_or(id)),
        },
        Ok(Outcome::Already) => Ok(id),
        Err(Failure::Unknown(why)) => shared(client, &id, &channel, hints).await.ok_or(Failure::Unknown(why)),
        Err(failure) => Err(failure),
    }
}

/// <https://docs.slack.dev/messaging/working-with-files#upload>
async fn upload(
    client: &Client,
    name: &str,
    file: Checked,
    hints: &mut RateHints,
) -> Result<String, Failure> {
    let size = file.size.to_string();
    let said = client
        .question("files.getUploadURLExternal", &[("filename", name), ("length", &size)], hints)
        .await?;
    let lacks = || Failure::Retry("Slack takes the file, but does not say where".into());
    let id = said["file_id"].as_str().ok_or_else(lacks)?.to_owned();
    let place = Url::parse(said["upload_url"].as_str().ok_or_else(lacks)?).map_err(|_| lacks())?;
    let own = client.base.at(&[]);
    if place.scheme() != "https" && (place.scheme(), place.host_str()) != (own.scheme(), own.host_str()) {
        return Err(Failure::Permanent("Slack wants the file at an address without protection".into()));
    }
    let longest = Http::longest(file.size);
    let request = client.http.client.post(place).header(CONTENT_LENGTH, file.size).body(Http::body(file));
    // Its answer is a word and no JSON; the status is all that counts.
    let answer = request.timeout(longest).send().await.map_err(|error| {
        let cause = client.http.words(&innermost(&error.without_url()).to_string());
        Failure::Retry(format!("the file did not reach Slack: {cause}"))
    })?;
    match answer.status() {
        status if status.is_success() => Ok(id),
        status if status.is_client_error() && status != 429 && status != 408 => {
            Err(Failure::Permanent(format!("Slack's store refused the file with {status}")))
        }
        status => Err(Failure::Retry(format!("Slack's store answered {status}"))),
    }
}

/// The message in which a file stands, as the file says.
///
/// <https://docs.slack.dev/reference/methods/files.info>
async fn shared(client: &Client, id: &str, channel: &str, hints: &mut RateHints) -> Option<String> {
    for pause in PAUSES {
        tokio::time::sleep(pause).await;
        let said = client.question("files.info", &[("file", id)], hints).await.ok()?;
        if let Some(ts) = message(&said["file"], channel) {
            return Some(ts);
        }
    }
    None
}

/// <https://docs.slack.dev/reference/objects/file-object>: by kind of conversation, by conversation, a list.
fn message(file: &Value, channel: &str) -> Option<String> {
    let kinds = file["shares"].as_object()?;
    let ts = kinds.values().find_map(|kind: &Value| {
        let conversations: &Map<String, Value> = kind.as_object()?;
        conversations.get(channel)?[0]["ts"].as_str()
    });
    ts.map(str::to_owned)
}
