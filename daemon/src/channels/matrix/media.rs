//! Files in a room: an event that names them, and the upload that must precede it.
//!
//! The stored event holds `attachment:` and the file's hash where the room sees a `mxc:` address. An upload by itself is in
//! no room, so one whose answer was lost is [`Failure::Retry`] and never unknown.

use gatepost_link::Digest;
use serde_json::{Map, Value, json};

use super::client::Client;
use crate::{
    channels::{Failure, RateHints},
    files::kept::Kept,
    message::attachment::{Attachment, referred},
};

/// Makes a message event one of a file: its text becomes the caption
/// (<https://spec.matrix.org/v1.18/client-server-api/#media-captions>).
pub(super) fn describe(content: &mut Value, file: &Attachment) {
    content["msgtype"] = match file.kind.split('/').next() {
        Some("image") => json!("m.image"),
        Some("audio") => json!("m.audio"),
        Some("video") => json!("m.video"),
        _ => json!("m.file"),
    };
    content["filename"] = json!(file.name);
    if content["body"] == "" {
        content["body"] = json!(file.name);
    }
    content["url"] = json!(file.reference());
    content["info"] = json!({ "mimetype": file.kind, "size": file.size });
    if file.voice {
        // MSC3245, by whose unstable name clients know a voice message.
        content["org.matrix.msc3245.voice"] = json!({});
    }
}

/// Uploads the file of an event, if it has one, and puts its address in.
pub(super) async fn hand_over(
    content: &mut Map<String, Value>,
    kept: &Kept,
    client: &Client,
    hints: &mut RateHints,
) -> Result<(), Failure> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let Some(url) = text(content.get("url")) else { return Ok(()) };
    let digest: Digest = referred(&url)
        .ok_or_else(|| Failure::Permanent("the stored event names its file by no hash".into()))?;
    let name = text(content.get("filename")).unwrap_or_default();
    let kind = text(content.get("info").and_then(|info| info.get("mimetype"))).unwrap_or_default();
    let file = kept.open(&digest).await.map_err(|error| Failure::Permanent(error.to_string()))?;
    let address = client.upload(&name, &kind, file, hints).await?;
    content.insert("url".into(), address.into());
    Ok(())
}
