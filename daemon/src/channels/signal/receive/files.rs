//! Files that people send. signal-cli has fetched them already; `getAttachment` hands one over as base64 in its answer
//! (<https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/commands/GetAttachmentCommand.java>), which is decoded as it
//! comes: a file is not in memory as a whole.

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    channels::{
        hub_handle::HubHandle,
        kit::{
            base64::{Base64, Head, NoFile},
            body::Body,
            http::Http,
        },
        received::{MAX_FILES, MORE_FILES, missing},
        signal::{client::Client, target::parameters},
    },
    message::attachment::Attachment,
};

/// What stands before the file (`JsonRpcResponse`, `JsonAttachmentData`). An error is no longer.
const HEAD: Head = Head { ends: b"\"result\":{\"data\":\"", most: 2048, is_spaced: true };
/// As Signal's applications send the whole of a text that is too long for a message; signal-cli puts it into the message
/// (`MimeUtils.LONG_TEXT`).
const LONG_TEXT: &str = "text/x-signal-plain";
/// A text of which the rest is in a file has so many bytes (`MAX_MESSAGE_SIZE_BYTES` in signal-cli's `ManagerImpl`).
const CUT_AT: usize = 2000;

/// A file that is still at signal-cli.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) size: Option<u64>,
}

impl Sent {
    /// Its name, for whoever misses it.
    pub(super) fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }
}

/// The files of a message, and a line for each that is more than are kept
/// (<https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/json/JsonAttachment.java>).
pub(super) fn sent(data: &Value) -> (Vec<Sent>, Vec<String>) {
    let whole = data["message"].as_str().is_some_and(|text| text.len() > CUT_AT);
    let files = data["attachments"].as_array().into_iter().flatten();
    let mut files: Vec<Sent> = files
        .filter(|file| !(whole && file["contentType"] == LONG_TEXT))
        .filter_map(|file| {
            let word = |name: &str, most: usize| -> Option<String> {
                file[name]
                    .as_str()
                    .filter(|word| !word.is_empty())
                    .map(|word| word.chars().take(most).collect())
            };
            let id = word("id", 300)?;
            Some(Sent {
                id,
                name: word("filename", 200),
                kind: word("contentType", 100),
                size: file["size"].as_u64(),
            })
        })
        .collect();
    let more = files.drain(files.len().min(MAX_FILES)..);
    let more = more.map(|file| missing(file.called(), MORE_FILES)).collect();
    (files, more)
}

/// Fetches a file of a conversation and gives it to the hub; else a line that says why not.
pub(super) async fn keep(
    client: &Client,
    hub: &dyn HubHandle,
    address: &str,
    sent: &Sent,
) -> Result<Attachment, String> {
    let named = |why: String| missing(sent.called(), &why);
    let longest = Http::longest(sent.size.unwrap_or(0));
    let kept = timeout(longest, fetch(client, hub, address, sent)).await;
    kept.unwrap_or_else(|_| Err("it takes too long".into())).map_err(named)
}

async fn fetch(
    client: &Client,
    hub: &dyn HubHandle,
    address: &str,
    sent: &Sent,
) -> Result<Attachment, String> {
    let mut params = json!({ "account": client.account(), "id": sent.id });
    // Where it came from, which the command wants to be told.
    let at = parameters(client.account(), address);
    for name in ["recipient", "groupId"] {
        if let Some(one) = at[name].get(0) {
            params[name] = one.clone();
        }
    }
    let answer = client.file(params).await?;
    let mut base64 = Base64::behind(HEAD, says);
    let body = Body::through(answer, Box::new(move |bytes| base64.decode(bytes)));
    let kept = hub.keep_file(sent.name.as_deref(), sent.kind.as_deref(), Box::new(body)).await;
    kept.map_err(|why| client.http().words(&why.to_string()))
}

/// Why there is no file in an answer.
fn says(none: NoFile<'_>) -> String {
    let NoFile::Head(kept) = none else { return "signal-cli's answer broke off".into() };
    let answer: Value = serde_json::from_slice(kept).unwrap_or_default();
    match answer["error"]["code"].as_i64() {
        // Its words had their blanks taken out, and may have a path in them.
        Some(code) => format!("signal-cli does not hand it over (error {code})"),
        None => "signal-cli's answer is none".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use ::base64::{Engine as _, engine::general_purpose};

    use super::*;
    use crate::channels::kit::base64;

    fn decoded(pieces: &[&[u8]]) -> io::Result<Vec<u8>> {
        base64::decoded(Base64::behind(HEAD, says), pieces)
    }

    #[test]
    fn a_file_is_the_same_however_its_answer_is_cut() {
        for size in 0..70_u8 {
            let file: Vec<u8> = (0..size).map(|n| n.wrapping_mul(37)).collect();
            let answer = json!({"jsonrpc": "2.0", "result": {"data": general_purpose::STANDARD.encode(&file)}, "id": "f"});
            let answer = answer.to_string().into_bytes();
            for at in 0..answer.len() {
                let pieces = [&answer[..at], &answer[at..]];
                assert_eq!(decoded(&pieces).unwrap(), file, "{size} bytes, cut at {at}");
            }
            let bytes: Vec<&[u8]> = answer.chunks(1).collect();
            assert_eq!(decoded(&bytes).unwrap(), file);
        }
        assert_eq!(decoded(&[b"{ \"result\" : {\n\"data\": \"aGk=\" } }"]).unwrap(), b"hi");
    }

    #[test]
    fn half_a_file_and_an_error_are_none() {
        for (answer, why) in [
            ("{\"result\":{\"data\":\"aGk", "broke off"),
            ("{\"error\":{\"code\":-1,\"message\":\"Could not find attachment with ID: x\"}}", "error -1"),
            ("{\"result\":{\"data\":\"a?k=\"}}", "no base64"),
            ("<html>", "answer is none"),
            ("", "answer is none"),
            (&"x".repeat(HEAD.most + 1), "answer is none"),
        ] {
            let error = decoded(&[answer.as_bytes()]).unwrap_err().to_string();
            assert!(error.contains(why), "{answer}: {error}");
        }
    }

    #[test]
    fn files_beyond_those_that_are_kept_are_named() {
        let file = |n: usize| json!({"contentType": "image/png", "id": format!("{n}"), "filename": format!("{n}.png")});
        let (files, more) = sent(&json!({"attachments": (0..20).map(file).collect::<Vec<_>>()}));
        assert_eq!((files.len(), more.len()), (MAX_FILES, 4));
        assert_eq!(more[0], format!("16.png: {MORE_FILES}"));
    }

    #[test]
    fn a_long_text_that_is_in_the_message_is_no_file() {
        let long = json!({"contentType": LONG_TEXT, "id": "l"});
        let whole = json!({"message": "x".repeat(CUT_AT + 1), "attachments": [long, {"contentType": "image/png", "id": "p.png"}]});
        assert_eq!(sent(&whole).0.into_iter().map(|file| file.id).collect::<Vec<_>>(), ["p.png"]);
        let cut = json!({"message": "x".repeat(CUT_AT), "attachments": [long, {"contentType": "image/png", "id": null}]});
        assert_eq!(sent(&cut).0.len(), 1, "an older program leaves the rest in the file");
    }
}
