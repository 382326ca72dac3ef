//! Signatures as Standard Webhooks has them.
//!
//! The HMAC-SHA256 of `ID.TIMESTAMP.BODY`, in base64 behind `v1,`; one for each secret, with a blank between them. The id is
//! within what is signed: a request that somebody captured cannot be sent again under another one. What the hub sends it signs by
//! [`Secrets`]; what comes in is verified by a [`Verifier`].
//! <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>

use std::{fmt::Write as _, ops::RangeInclusive};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::hmac;

use super::{masked, token::Token};
use crate::settings::secret::{Secret, SecretError, SecretSource};

/// How a secret begins.
const PREFIX: &str = "whsec_";
/// How long a secret is when decoded, in bytes (the specification, "Signature scheme").
const SECRET_BYTES: RangeInclusive<usize> = 24..=64;
/// Most signatures of one request that are looked at: whoever changes the secret signs with two.
const MAX_SIGNATURES: usize = 8;
/// Secrets beside the first. A change needs one; each makes the header longer by 48 bytes.
pub const MAX_OLD_SECRETS: usize = 4;

/// Why a secret cannot sign. Never contains any part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is not whsec_ and the base64 of {} to {} bytes; make one and give it to the receiver too: (umask 077; echo whsec_$(head -c 32 /dev/urandom | base64) > FILE)",
    SECRET_BYTES.start(), SECRET_BYTES.end()
)]
pub struct Unusable;

/// What requests are signed with: the secret, and those that receivers may still have.
pub struct Secrets {
    current: Token,
    old: Vec<Secret>,
}

impl Secrets {
    /// Reads them. The old ones are read once: they are on their way out.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn read(current: SecretSource, old: &[SecretSource]) -> Result<Self, SecretError> {
        let old = old.iter().map(SecretSource::read).collect::<Result<_, _>>()?;
        Ok(Self { current: Token::read(current)?, old })
    }

    /// One that stays as it is.
    #[cfg(test)]
    pub fn signing(current: Token) -> Self {
        Self { current, old: Vec::new() }
    }

    /// The one that is read again when the receiver refuses it.
    pub fn current(&self) -> Token {
        self.current.clone()
    }

    /// What stands in `webhook-signature`.
    ///
    /// # Errors
    /// A secret is none of the standard.
    pub fn sign(&self, id: &str, timestamp: i64, body: &str) -> Result<String, Unusable> {
        let signed = format!("{id}.{timestamp}.{body}");
        let mut signatures = String::new();
        for secret in [&self.current.now()].into_iter().chain(&self.old) {
            let mac = hmac::sign(&key(secret)?, signed.as_bytes());
            let blank = if signatures.is_empty() { "" } else { " " };
            let _ = write!(signatures, "{blank}v1,{}", STANDARD.encode(mac));
        }
        Ok(signatures)
    }

    /// A receiver's words without any of them, also without the prefix.
    pub fn masked(&self, words: &str) -> String {
        let bare = |secret: &Secret| secret.expose().trim_start_matches(PREFIX).to_owned();
        let all = [&self.current.now()].into_iter().chain(&self.old).map(bare).collect::<Vec<_>>();
        all.iter().fold(words.to_owned(), |words, secret| masked(&words, secret))
    }
}

/// Verifies what others sign.
pub struct Verifier(Vec<hmac::Key>);

impl Verifier {
    /// By any of these secrets.
    ///
    /// # Errors
    /// One is none of the standard.
    pub fn new(secrets: &[Secret]) -> Result<Self, Unusable> {
        Ok(Self(secrets.iter().map(key).collect::<Result<_, _>>()?))
    }

    /// Whether one of a request's `signatures`, as they stand in `webhook-signature`, is by one of the secrets. Those of other versions
    /// than `v1`, which are by keys that nobody gave the hub, are passed over.
    pub fn verifies(&self, (id, timestamp): (&str, &str), body: &[u8], signatures: &str) -> bool {
        let given = signatures.split(' ').take(MAX_SIGNATURES).filter_map(|one| one.strip_prefix("v1,"));
        let given: Vec<Vec<u8>> = given.filter_map(|one| STANDARD.decode(one).ok()).collect();
        if given.is_empty() {
            return false;
        }
        let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat();
        self.0.iter().any(|key| given.iter().any(|mac| hmac::verify(key, &signed, mac).is_ok()))
    }
}

fn key(secret: &Secret) -> Result<hmac::Key, Unusable> {
    let encoded = secret.expose().strip_prefix(PREFIX).ok_or(Unusable)?;
    let bytes = STANDARD.decode(encoded).map_err(|_| Unusable)?;
    if !SECRET_BYTES.contains(&bytes.len()) {
        return Err(Unusable);
    }
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(current: &str, old: &[&str]) -> Secrets {
        let old = old.iter().map(|secret| Secret::from(*secret)).collect();
        Secrets { current: Token::from(Secret::from(current)), old }
    }

    /// The example of the specification's own libraries
    /// (<https://github.com/standard-webhooks/standard-webhooks/blob/main/libraries/javascript/src/index.test.ts>).
    #[test]
    fn the_signature_is_the_standards() {
        let secrets = secrets("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", &[]);
        let signature =
            secrets.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature.unwrap(), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn what_is_signed_is_verified_by_any_secret_and_under_its_own_id_and_time_alone() {
        let (one, other) =
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_hushhushhushhushhushhushhushhush");
        let verifier = Verifier::new(&[Secret::from(one), Secret::from(other)]).unwrap();
        let at = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330");
        let (body, signature) =
            (r#"{"test": 2432232314}"#, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let verifies = |at, body: &str, signature: &str| verifier.verifies(at, body.as_bytes(), signature);
        assert!(verifies(at, body, signature));
        assert!(verifies(at, body, &format!("v1a,AAAA v1,AAAA v1,! {signature}")));
        assert!(verifies(at, body, &secrets(other, &[]).sign(at.0, 1_614_265_330, body).unwrap()));
        let third = secrets("whsec_c3RyYW5nZXJzdHJhbmdlcnN0cmFuZ2Vy", &[]);
        for (at, body, signature) in [
            (("msg_other", at.1), body, signature),
            ((at.0, "1614265331"), body, signature),
            (at, r#"{"test": 2432232315}"#, signature),
            (at, body, signature.trim_start_matches("v1,")),
            (at, body, &third.sign(at.0, 1_614_265_330, body).unwrap()),
            (at, body, &format!("{}{signature}", "v1,AAAA ".repeat(MAX_SIGNATURES))),
            (at, body, ""),
        ] {
            assert!(!verifies(at, body, signature), "{at:?} {body} {signature}");
        }
    }

    #[test]
    fn each_secret_signs_and_none_is_in_an_error() {
        let (one, other) =
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_hushhushhushhushhushhushhushhush");
        let both = secrets(one, &[other]).sign("a", 1, "{}").unwrap();
        let apart = [one, other].map(|secret| secrets(secret, &[]).sign("a", 1, "{}").unwrap());
        assert_eq!(both, apart.join(" "));
        let said = secrets(one, &[other]).masked("not hushhushhushhushhushhushhushhush");
        assert_eq!(said, "not ***");
    }

    #[test]
    fn what_is_no_secret_of_the_standard_signs_nothing_and_the_error_has_a_command_that_makes_one() {
        for bad in ["hush hush", "whsec_", "whsec_hush", "whsec_!", "hushhushhushhushhushhushhushhush"] {
            let error = secrets(bad, &[]).sign("a", 1, "{}").unwrap_err().to_string();
            assert!(error.contains("head -c 32 /dev/urandom | base64") && !error.contains("hush"), "{error}");
        }
    }
}
