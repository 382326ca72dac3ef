//! A webhook. The server posts `{type, data}` to an address, and that is all one can set: neither a header nor a signature
//! (`services/webhookService/index.ts` at 14a1ec1). But axios, by which it posts, sends what stands before the host in an address as
//! `Authorization: Basic` (`lib/adapters/http.js` of <https://github.com/axios/axios>, "HTTP basic authentication"): so the secret is
//! the password there, and in no path that anybody writes down.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost_link::Digest;
use serde_json::Value;

use crate::channels::kit::http::token::Token;

/// What says that there is something to read (`server/events.ts`); the rest is of the server itself, or of FaceTime.
const WAKING: [&str; 7] = [
    "new-message",
    "updated-message",
    "participant-added",
    "participant-removed",
    "participant-left",
    "group-name-change",
    "chat-read-status-changed",
];

/// Whether this is the secret, as the password of any user. Digests are compared: the time says nothing of how far they agree.
pub(in crate::channels::imessage) fn is_proof(secret: &Token, proof: &str) -> bool {
    let given = proof.strip_prefix("Basic ").and_then(|basic| STANDARD.decode(basic.trim()).ok());
    let Some(given) = given else { return false };
    let Some(at) = given.iter().position(|byte| *byte == b':') else { return false };
    let given = Digest::of(&given[at + 1..]);
    let agrees = || Digest::of(secret.now().expose().as_bytes()) == given;
    // It may have been replaced.
    agrees() || (secret.renewed() && agrees())
}

/// Whether there is something to read.
pub(in crate::channels::imessage) fn wakes(told: &Value) -> bool {
    told["type"].as_str().is_some_and(|kind| WAKING.contains(&kind))
}
