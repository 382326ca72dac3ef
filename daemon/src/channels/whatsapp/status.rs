//! What the Cloud API tells later of a message: that it was sent, delivered, read, or failed after all.
//!
//! A notification carries the part's key in `biz_opaque_callback_data`, so one settles a part whose answer was lost. It is
//! believed only if it is signed with the app's secret
//! (<https://developers.facebook.com/docs/graph-api/webhooks/getting-started#validate-payloads>), over the bytes as they
//! came. The hub's HTTP interface receives it.

use gatepost_link::Digest;
use ring::hmac;
use serde_json::Value;

use crate::{
    channels::{
        PartKey,
        callback::{CallbackRefused, DeliveryStatus, Lost},
        kit::slices,
        received::Seen,
    },
    message::attachment,
    settings::secret::Secret,
};

use super::codes::{OUTSIDE_WINDOW, WINDOW_HINT};

/// The longest notification that is read, in bytes (webhooks' payloads have 3 MB at most).
const MAX_BODY: usize = 3 * 1024 * 1024;

/// How deep messages and statuses stand in one: `entry`, one of it, `changes`, one of them, `value`, `messages`, one of those.
const DEPTH: usize = 7;
/// Of one notification. Meta puts up to a thousand updates into one.
const MOST_SEEN: usize = 1000;

/// What is told of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The part, where the message was one of ours.
    pub key: Option<PartKey>,
    /// The message's id.
    pub id: String,
    /// What became of it.
    pub standing: Standing,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The platform has it, or the person has, or has read it.
    Arrived,
    /// It will not arrive; the platform's code and words.
    Failed {
        /// The number of the error.
        code: u64,
        /// The platform's words.
        why: String,
    },
}

impl Notice {
    /// What became of the part, where it was one of ours. `knew_not` notes that a part is outside of the 24 hours, and says
    /// whether a template may go for it, which it may once.
    pub(super) fn told(self, knew_not: impl Fn(&PartKey) -> bool) -> Option<DeliveryStatus> {
        let key = self.key?;
        let outcome = match self.standing {
            Standing::Arrived => Ok(self.id),
            Standing::Failed { code, why } => {
                let outside = code == OUTSIDE_WINDOW;
                let hint = if outside { format!("; {WINDOW_HINT}") } else { String::new() };
                let why = format!("the Cloud API said later {code}, {why}{hint}");
                Err(Lost { id: self.id, why, again: outside && knew_not(&key) })
            }
        };
        Some(DeliveryStatus { key, outcome })
    }
}

/// Reads a notification: the value of its `X-Hub-Signature-256` and its body.
///
/// # Errors
/// It is not signed with `secret`, or none at all.
pub fn read(secret: &Secret, signature: &str, body: &[u8]) -> Result<Vec<Notice>, CallbackRefused> {
    Ok(notices(&verified(secret, signature, body)?))
}

/// What a notification says, if it is signed with `secret`: a message or status in it that cannot be read is null, and so is the whole
/// if nothing can be.
pub(super) fn verified(secret: &Secret, signature: &str, body: &[u8]) -> Result<Value, CallbackRefused> {
    if body.len() > MAX_BODY {
        return Err(CallbackRefused::Body);
    }
    let signature = parse(signature).ok_or(CallbackRefused::Signature)?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    hmac::verify(&key, body, &signature.0).map_err(|_| CallbackRefused::Signature)?;
    // What cannot be read is no better when Meta tells it again, for days.
    Ok(std::str::from_utf8(body).map_or(Value::Null, |body| slices::readable(body, DEPTH)))
}

/// What it tells of messages that were sent.
pub(super) fn notices(body: &Value) -> Vec<Notice> {
    statuses(body).filter_map(notice).collect()
}

/// What people have seen of what was sent to them
/// (<https://developers.facebook.com/docs/whatsapp/cloud-api/webhooks/components#statuses-object>). Meta says it of each message, so it is
/// whomever that went to.
pub(super) fn seen(body: &Value) -> Vec<Seen> {
    statuses(body).filter_map(sight).take(MOST_SEEN).collect()
}

fn sight(status: &Value) -> Option<Seen> {
    let read = match status["status"].as_str()? {
        "delivered" => false,
        "read" | "played" => true,
        _ => return None,
    };
    // In seconds, as a text.
    let at = status["timestamp"].as_str().and_then(|at| at.parse::<i64>().ok());
    let at = at.map(|at| at.saturating_mul(1000));
    Some(Seen { by: Vec::new(), ids: vec![status["id"].as_str()?.to_owned()], and_before: false, read, at })
}

fn statuses(body: &Value) -> impl Iterator<Item = &Value> {
    fn list(value: &Value) -> impl Iterator<Item = &Value> {
        value.as_array().into_iter().flatten()
    }
    let changes = list(&body["entry"]).flat_map(|entry| list(&entry["changes"]));
    changes.flat_map(|change| list(&change["value"]["statuses"]))
}

/// Whether this has the form of a signature, whatever it signs.
pub(super) fn is_signature(signature: &str) -> bool {
    parse(signature).is_some()
}

fn parse(signature: &str) -> Option<Digest> {
    signature.strip_prefix("sha256=").and_then(attachment::digest)
}

fn notice(status: &Value) -> Option<Notice> {
    let standing = match status["status"].as_str()? {
        "sent" | "delivered" | "read" | "played" => Standing::Arrived,
        "failed" => {
            let error = &status["errors"][0];
            let why = error["error_data"]["details"].as_str().or(error["title"].as_str());
            let why =
                why.unwrap_or("it gave no reason").chars().filter(|c| !c.is_control()).take(300).collect();
            Standing::Failed { code: error["code"].as_u64().unwrap_or(0), why }
        }
        _ => return None,
    };
    let is_key = |key: &&str| key.len() == 32 && key.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let key = status["biz_opaque_callback_data"].as_str().filter(is_key).map(|key| PartKey(key.into()));
    Some(Notice { key, id: status["id"].as_str()?.to_owned(), standing })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn signed(secret: &str, body: &[u8]) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        format!("sha256={}", crate::random::to_hex(hmac::sign(&key, body).as_ref()))
    }

    fn told(statuses: Value) -> Vec<u8> {
        let value = json!({"messaging_product": "whatsapp", "statuses": statuses});
        let entry = json!([{"id": "1", "changes": [{"field": "messages", "value": value}]}]);
        json!({"object": "whatsapp_business_account", "entry": entry}).to_string().into_bytes()
    }

    #[test]
    fn a_notification_settles_a_part_by_its_key() {
        let key = "00112233445566778899aabbccddeeff";
        let body = told(json!([
            {"id": "wamid.1", "status": "delivered", "biz_opaque_callback_data": key},
            {"id": "wamid.2", "status": "failed", "biz_opaque_callback_data": "somebody else's",
             "errors": [{"code": 131_047, "title": "Re-engagement message", "error_data": {"details": "24 hours\n"}}]},
            {"id": "wamid.3", "status": "warning"},
        ]));
        let secret = Secret::from("app secret");
        let failed = Standing::Failed { code: 131_047, why: "24 hours".into() };
        assert_eq!(
            read(&secret, &signed("app secret", &body), &body).unwrap(),
            [
                Notice { key: Some(PartKey(key.into())), id: "wamid.1".into(), standing: Standing::Arrived },
                Notice { key: None, id: "wamid.2".into(), standing: failed },
            ]
        );
    }

    #[test]
    fn what_is_not_signed_with_the_apps_secret_says_nothing() {
        let (secret, body) = (Secret::from("app secret"), told(json!([])));
        let good = signed("app secret", &body);
        for signature in
            ["", "sha256=", "sha256=00", &good[7..], &signed("another", &body), &good.to_uppercase()]
        {
            assert_eq!(read(&secret, signature, &body), Err(CallbackRefused::Signature), "{signature}");
        }
        let mut other = body.clone();
        other.push(b' ');
        assert_eq!(read(&secret, &good, &other), Err(CallbackRefused::Signature));
        assert_eq!(read(&secret, &signed("app secret", b"x"), b"x"), Ok(vec![]));
        assert_eq!(read(&secret, &signed("app secret", b"{}"), b"{}"), Ok(vec![]));
    }

    /// RFC 4231, test case 2.
    #[test]
    fn the_signature_is_the_standards() {
        let mac = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signed("Jefe", b"what do ya want for nothing?"), mac);
    }
}
