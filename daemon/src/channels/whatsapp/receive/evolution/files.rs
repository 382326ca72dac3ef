//! Files: the API fetches one from WhatsApp, decrypts it, and hands it over as base64 in its answer (`getBase64FromMediaMessage` of
//! `whatsapp.baileys.service.ts`), which is decoded as it comes: a file is not in memory as a whole here.

use std::{io, time::Duration};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use reqwest::Method;
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::content::Sent;
use crate::{
    channels::{
        RateHints,
        hub_handle::HubHandle,
        kit::{
            body::Body,
            http::{Http, Silence},
        },
        whatsapp::instance::Instance,
    },
    message::attachment::Attachment,
};

/// The longest that one file is waited for: what came after it waits as well. All files of one reading have a bound together too.
const LONGEST: Duration = Duration::from_mins(2);
/// What of an answer may stand before the file, in bytes: a name, a type and a caption.
const MAX_HEAD: usize = 64 * 1024;
/// Behind it the file begins. In a caption there would be a backslash before each quotation mark.
const BEGINS: &[u8] = b"\"base64\":\"";

/// Fetches the file of the message with this key and gives it to the hub, until then at the longest; else a line that says why not.
pub(super) async fn keep(
    instance: &Instance,
    hub: &dyn HubHandle,
    (jid, id): (&str, &str),
    sent: &Sent,
    until: Instant,
) -> Result<Attachment, String> {
    let left = until.saturating_duration_since(Instant::now());
    let longest = Http::longest(sent.size.unwrap_or(u64::MAX)).min(LONGEST).min(left);
    let kept = match longest.is_zero() {
        true => Err("other files took all the time there was".into()),
        false => timeout(longest, fetch(instance, hub, (jid, id), sent, longest))
            .await
            .unwrap_or_else(|_| Err("it takes too long".into())),
    };
    kept.map(|kept| Attachment { voice: sent.voice, ..kept }).map_err(|why| {
        let name: String = sent.name.as_deref().unwrap_or(sent.what).chars().take(40).collect();
        format!("{name}: {}", instance.http().words(&why))
    })
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
    let mut base64 = Base64::default();
    let body = Body::through(response, Box::new(move |bytes| base64.decode(bytes)));
    let kept = hub.keep_file(sent.name.as_deref(), sent.kind.as_deref(), Box::new(body)).await;
    kept.map_err(|why| why.to_string())
}

/// Whole groups of four; what is left at the end may have its padding or not.
const STANDARD: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The file in an answer that comes in pieces.
#[derive(Debug, Default)]
struct Base64 {
    /// What stands before the file, or of the file and is no group of four yet.
    kept: Vec<u8>,
    begun: bool,
    ended: bool,
}

impl Base64 {
    /// The bytes of the file in the next piece of the answer; of its end where there is none.
    fn decode(&mut self, piece: Option<&[u8]>) -> io::Result<Vec<u8>> {
        let broken = |why: &str| Err(io::Error::other(why.to_owned()));
        let Some(piece) = piece else {
            return match (self.ended, self.begun) {
                (true, _) => Ok(Vec::new()),
                (false, true) => broken("the answer broke off"),
                (false, false) => broken("there is no file in the answer"),
            };
        };
        if self.ended {
            return Ok(Vec::new());
        }
        self.kept.extend_from_slice(piece);
        if !self.begun {
            let Some(begins) = self.kept.windows(BEGINS.len()).position(|window| window == BEGINS) else {
                return if self.kept.len() > MAX_HEAD {
                    broken("there is no file in the answer")
                } else {
                    Ok(Vec::new())
                };
            };
            self.kept.drain(..begins + BEGINS.len());
            self.begun = true;
        }
        let end = self.kept.iter().position(|byte| *byte == b'"');
        self.ended = end.is_some();
        let whole = end.unwrap_or(self.kept.len() / 4 * 4);
        let decoded =
            STANDARD.decode(&self.kept[..whole]).map_err(|_| io::Error::other("it is no base64"))?;
        self.kept.drain(..whole);
        Ok(decoded)
    }
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose;
    use serde_json::Value;

    use super::*;

    fn decoded(pieces: &[&[u8]]) -> io::Result<Vec<u8>> {
        let mut base64 = Base64::default();
        let mut whole = Vec::new();
        for piece in pieces {
            whole.extend(base64.decode(Some(piece))?);
        }
        whole.extend(base64.decode(None)?);
        Ok(whole)
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
            (&"x".repeat(MAX_HEAD + 1), "no file"),
        ] {
            let error = decoded(&[answer.as_bytes()]).unwrap_err().to_string();
            assert!(error.contains(why), "{answer:.40}: {error}");
        }
    }
}
