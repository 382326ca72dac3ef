//! Both ends of a webhook, as Standard Webhooks has it
//! (<https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>): whoever signs and posts, and a
//! receiver that verifies what comes and knows a `webhook-id` again.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost::store::now_ms;
use ring::hmac;
use serde_json::{Value, json};

use super::{MockServer, Request};

/// How far a time may be off, in milliseconds.
const TOLERANCE_MS: i64 = 5 * 60 * 1000;

/// The value of `webhook-signature`, at this time in seconds since 1970.
///
/// # Errors
/// The secret is none of the standard.
pub fn signed(secret: &str, id: &str, at: i64, body: &[u8]) -> Result<String> {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").context("a secret of the standard")?)?;
    let said = [format!("{id}.{at}.").as_bytes(), body].concat();
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &said);
    Ok(format!("v1,{}", STANDARD.encode(signature)))
}

/// What a receiver has: each message once.
#[derive(Clone, Default)]
pub struct Taken(Arc<Mutex<Vec<(String, Value)>>>);

impl Taken {
    /// Ids and bodies, in order.
    pub fn all(&self) -> Vec<(String, Value)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes a message, or knows it; its number.
    fn take(&self, id: &str, body: Value) -> usize {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().position(|(known, _)| known == id).unwrap_or_else(|| {
            all.push((id.to_owned(), body));
            all.len() - 1
        })
    }
}

/// Starts a receiver at `/hook` that takes what is signed with this secret, and answers `w` and a number.
///
/// # Errors
/// There is no port to listen on.
pub fn receiver(secret: &str) -> Result<(MockServer, Taken)> {
    let (taken, secret) = (Taken::default(), secret.to_owned());
    let taking = taken.clone();
    let server = MockServer::open(move |request| {
        if request.method == "HEAD" {
            return (200, Value::Null);
        }
        match is_signed(request, &secret) && request.path == "/hook" {
            true => (
                200,
                json!({"id": format!("w{}", taking.take(request.header("webhook-id"), request.json()))}),
            ),
            false => (400, json!({"error": "not signed"})),
        }
    })?;
    Ok((server, taken))
}

fn is_signed(request: &Request, secret: &str) -> bool {
    let (id, Ok(at)) = (request.header("webhook-id"), request.header("webhook-timestamp").parse::<i64>())
    else {
        return false;
    };
    let is_now = (now_ms() - at * 1000).abs() < TOLERANCE_MS;
    let signature = signed(secret, id, at, &request.body).ok();
    is_now
        && !id.is_empty()
        && request.header("webhook-signature").split(' ').any(|one| signature.as_deref() == Some(one))
}
