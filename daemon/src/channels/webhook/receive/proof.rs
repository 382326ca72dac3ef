//! What proves who posts: a signature as Standard Webhooks has it, one as GitHub has it, or a token.
//!
//! The standard's alone is of the time and the id of a delivery as well, so that a captured request is worth nothing five minutes later.
//! A token is compared by its digest, in time that tells nothing of it.

use gatepost_link::Digest;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use ring::hmac;

use crate::{
    channels::kit::http::signature::{Unusable, Verifier},
    message::attachment,
    settings::secret::Secret,
};

/// The id of a delivery, its time in seconds since 1970, and its signatures
/// (<https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>).
pub(super) const ID: &str = "webhook-id";
const TIMESTAMP: &str = "webhook-timestamp";
const SIGNATURES: &str = "webhook-signature";
/// How far the sender's clock may be from the hub's, in seconds: as in the standard's own libraries.
const TOLERANCE_S: i64 = 5 * 60;
/// GitHub's signature of the body, `sha256=` and 64 hexadecimal digits
/// (<https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>), and its id of a delivery.
const GITHUB_SIGNATURE: &str = "x-hub-signature-256";
pub(super) const GITHUB_DELIVERY: &str = "x-github-delivery";
/// The shortest token, or secret of GitHub's, in characters: 16 hexadecimal digits have 64 bits, which nobody tries at 30 a minute.
pub(super) const LEAST_CHARS: usize = 16;

/// What proves it.
pub enum Proof {
    /// A signature as Standard Webhooks has it.
    Standard(Verifier),
    /// A token, in `Authorization` or a header of the sender's own.
    Token(Tokens),
    /// A signature as GitHub has it.
    GitHub(Vec<hmac::Key>),
}

/// Tokens that are taken.
pub struct Tokens {
    digests: Vec<Digest>,
    header: Option<HeaderName>,
}

impl Proof {
    /// Signatures of the standard by these secrets.
    ///
    /// # Errors
    /// One is none of the standard.
    pub fn standard(secrets: &[Secret]) -> Result<Self, Unusable> {
        Ok(Self::Standard(Verifier::new(secrets)?))
    }

    /// One of these tokens, also in `header`.
    pub fn token(tokens: &[Secret], header: Option<HeaderName>) -> Self {
        let digests = tokens.iter().map(|token| Digest::of(token.expose().as_bytes())).collect();
        Self::Token(Tokens { digests, header })
    }

    /// Signatures of GitHub's by these secrets.
    pub fn github(secrets: &[Secret]) -> Self {
        let key = |secret: &Secret| hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
        Self::GitHub(secrets.iter().map(key).collect())
    }

    /// Whether a request with these headers may be proved, at this time in seconds since 1970: a token is there, a signature has the form
    /// of one, and is not of long ago.
    pub fn may_hold(&self, headers: &HeaderMap, now_s: i64) -> bool {
        match self {
            Self::Standard(_) => signed_at(headers, now_s).is_some() && one(headers, SIGNATURES).is_some(),
            Self::Token(tokens) => tokens.are_given(headers),
            Self::GitHub(_) => github_signature(headers).is_some(),
        }
    }

    /// Whether it is.
    pub fn holds(&self, headers: &HeaderMap, body: &[u8], now_s: i64) -> bool {
        match self {
            Self::Standard(verifier) => signed_at(headers, now_s)
                .zip(one(headers, SIGNATURES))
                .is_some_and(|(at, signatures)| verifier.verifies(at, body, signatures)),
            Self::Token(tokens) => tokens.are_given(headers),
            Self::GitHub(keys) => github_signature(headers)
                .is_some_and(|mac| keys.iter().any(|key| hmac::verify(key, body, &mac.0).is_ok())),
        }
    }

    /// When it was said, if the proof is of that too; in milliseconds since 1970.
    pub(super) fn said_at(&self, headers: &HeaderMap) -> Option<i64> {
        match self {
            Self::Standard(_) => one(headers, TIMESTAMP)?.parse::<i64>().ok()?.checked_mul(1000),
            Self::Token(_) | Self::GitHub(_) => None,
        }
    }
}

impl Tokens {
    fn are_given(&self, headers: &HeaderMap) -> bool {
        let bearer = one(headers, AUTHORIZATION.as_str()).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token)
        });
        let own = self.header.as_ref().and_then(|header| one(headers, header.as_str()));
        // Digests tell nothing of what they are of, whichever byte they differ in first.
        [bearer, own]
            .into_iter()
            .flatten()
            .any(|token| self.digests.contains(&Digest::of(token.trim().as_bytes())))
    }
}

/// The id and the time of a delivery, as they are signed; nothing if it is of another time.
fn signed_at(headers: &HeaderMap, now_s: i64) -> Option<(&str, &str)> {
    let (id, timestamp) = (one(headers, ID)?, one(headers, TIMESTAMP)?);
    let at: i64 = timestamp.parse().ok()?;
    (!id.is_empty() && at.abs_diff(now_s) <= TOLERANCE_S as u64).then_some((id, timestamp))
}

fn github_signature(headers: &HeaderMap) -> Option<Digest> {
    one(headers, GITHUB_SIGNATURE)?.strip_prefix("sha256=").and_then(attachment::digest)
}

/// The value of a header that stands there once: of two, nobody knows which one the sender meant.
pub(super) fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let only = values.next()?;
    values.next().is_none().then(|| only.to_str().ok())?
}
