//! Files: the API fetches one from WhatsApp, decrypts it, and hands it over as base64 in its answer (`getBase64FromMediaMessage` of
//! `whatsapp.baileys.service.ts`), which is decoded as it comes: a file is not in memory as a whole here.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tokio::time::Instant;

use super::content::Sent;
use crate::{
    channels::{
        RateHints,
        hub_handle::HubHandle,
        kit::{
            base64::{Base64, Head, NoFile},
            body::Body,
            http::Silence,
            in_time::{time_for, within},
        },
        received::missing,
        whatsapp::instance::Instance,
    },
    message::attachment::Attachment,
};

/// A name, a type and a caption stand before the file. In a caption there would be a backslash before each quotation mark.
const HEAD: Head = Head { ends: b"\"base64\":\"", most: 64 * 1024, is_spaced: false };

/// Fetches the file of the message with this key and gives it to the hub, until then at the longest; else a line that says why not.
pub(super) async fn keep(
    instance: &Instance,
    hub: &dyn HubHandle,
    (jid, id): (&str, &str),
    sent: &Sent,
    until: Instant,
) -> Result<Attachment, String> {
    let longest = time_for(sent.size, until);
    let kept = within(longest, fetch(instance, hub, (jid, id), sent, longest)).await;
    kept.map(|kept| Attachment { voice: sent.voice, ..kept })
        .map_err(|why| missing(sent.name.as_deref().unwrap_or(sent.what), &instance.http().words(&why)))
}

async fn fetch(
    instance: &Instance,
    hub: &dyn HubHandle,
    (jid, id): (&str, &str),
    sent: &Sent,
    longest: Duration,
) -> Result<Attachment, String> {
    let path = "chat/getBase64FromMediaMessage";
    let key = json!({ "id": id, "remoteJid": jid, "fromMe": false });
    let request = instance
        .request(Method::POST, path)
        .json(&json!({ "message": { "key": key }, "convertToMp4": false }));
    let hints = &mut RateHints::default();
    let response = match instance.http().stream(request, longest, hints).await {
        Ok(Ok(response)) => response,
        Ok(Err(answer)) => return Err(instance.classify(path, &answer, hints).to_string()),
        Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(why),
    };
    let mut base64 = Base64::behind(HEAD, says);
    let body = Body::through(response, Box::new(move |bytes| base64.decode(bytes)));
    let kept = hub.keep_file(sent.name.as_deref(), sent.kind.as_deref(), Box::new(body)).await;
    kept.map_err(|why| why.to_string())
}

fn says(none: NoFile<'_>) -> String {
    let why = match none {
        NoFile::BrokeOff => "the answer broke off",
        NoFile::Head(_) => "there is no file in the answer",
    };
    why.into()
}

#[cfg(test)]
mod tests {
    use std::io;

    use ::base64::{Engine as _, engine::general_purpose};
    use serde_json::Value;

    use super::*;
    use crate::channels::kit::base64;

    fn decoded(pieces: &[&[u8]]) -> io::Result<Vec<u8>> {
        base64::decoded(Base64::behind(HEAD, says), pieces)
    }

    fn answer(file: &[u8]) -> Vec<u8> {
        let base64 = general_purpose::STANDARD.encode(file);
        // As the server orders it; a caption may say anything.
        let caption = Value::from("\"base64\":\"aGk=\"");
        format!(r#"{{"mediaType":"imageMessage","caption":{caption},"base64":"{base64}","buffer":null}}"#)
            .into_bytes()
    }

    #[test]
    fn a_file_is_the_same_however_its_answer_is_cut() {
        for size in 0..40_u8 {
            let file: Vec<u8> = (0..size).map(|n| n.wrapping_mul(37)).collect();
            let answer = answer(&file);
            for at in 0..answer.len() {
                assert_eq!(
                    decoded(&[&answer[..at], &answer[at..]]).unwrap(),
                    file,
                    "{size} bytes, cut at {at}"
                );
            }
        }
    }

    #[test]
    fn half_a_file_and_an_error_are_none() {
        for (answer, why) in [
            ("{\"base64\":\"aGk", "broke off"),
            ("{\"base64\":\"a?k=\"}", "no base64"),
            ("{\"status\":400}", "no file"),
            (&"x".repeat(HEAD.most + 1), "no file"),
        ] {
            let error = decoded(&[answer.as_bytes()]).unwrap_err().to_string();
            assert!(error.contains(why), "{answer:.40}: {error}");
        }
    }
}
