//! The token by which a request to the bot is believed: taken apart, looked at, verified, in this order and no other.
//!
//! Each step is a type that only the one before it makes, and asks nobody: [`Parsed`] has the form of a token, [`Meant`] says that it is
//! the Connector's for this bot and now, which anybody can say, and only [`Claims`] were signed with a key that was published for
//! it. So nobody's key is looked for on behalf of a token for somebody else, and nothing that a token says is acted on before its
//! signature held
//! (<https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication#connector-to-bot>).
//!
//! `jsonwebtoken` 11.1.0 was weighed and not taken. Its `aws_lc_rs` backend is refused by `deny.toml`, and `rust_crypto` brings a
//! second implementation of what ring does for TLS (`rsa`, `p256`, `p384`, `rand`). Without either it panics at the first token
//! unless a provider for the whole process is installed, which we would write over ring ourselves: for one algorithm that is longer
//! than the one call to ring below. It does not look at endorsements nor at the service, and its claims may be lists (`iss`, `aud`),
//! while the Connector's are texts. What it would save is splitting at two dots and comparing four claims.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde::Deserialize;
use serde_json::Value;

use crate::channels::callback::CallbackRefused;

/// Who issues the Connector's tokens.
const ISSUER: &str = "https://api.botframework.com";
/// The channel whose activities it vouches for, of all that the Connector serves.
const CHANNEL: &str = "msteams";
/// "Industry-standard clock-skew is 5 minutes".
const SKEW: Duration = Duration::from_secs(300);
/// The longest token, in bytes; the Connector's have about 1,200.
const MAX_TOKEN: usize = 8 * 1024;

/// Why a token is not believed. Whoever sent it is told nothing of this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It has not the form of a token.
    #[error("the Authorization header has no token of at most {MAX_TOKEN} bytes")]
    Form,
    /// It is signed in a way that is not accepted: neither "none" nor a secret that both would know.
    #[error("the token is not signed with RS256")]
    Algorithm,
    /// It is another issuer's, for another bot, or for another time.
    #[error("the token is not the Connector's for this bot and this time")]
    Claims,
    /// The key did not sign it.
    #[error("the token's signature does not hold")]
    Signature,
    /// The key signs for other channels only.
    #[error("the token's key does not vouch for Teams")]
    Endorsement,
}

impl From<TokenError> for CallbackRefused {
    fn from(_: TokenError) -> Self {
        Self::Signature
    }
}

/// A published key (RFC 7517, with Microsoft's `endorsements`).
#[derive(Debug, Clone, Deserialize)]
pub struct Key {
    /// Its name.
    #[serde(default)]
    pub kid: String,
    #[serde(default)]
    n: String,
    #[serde(default)]
    e: String,
    /// Channels whose activities it may vouch for.
    #[serde(default)]
    endorsements: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Header {
    alg: String,
    kid: String,
}

/// What a verified token says.
#[derive(Debug, Deserialize)]
pub struct Claims {
    iss: String,
    aud: String,
    exp: u64,
    nbf: u64,
    #[serde(alias = "serviceUrl")]
    serviceurl: String,
}

/// What has the form of a token. Nothing in it is believed.
#[derive(Debug)]
pub struct Parsed<'t> {
    kid: String,
    claims: Claims,
    signed: &'t str,
    signature: Vec<u8>,
}

/// A token that says it is for this bot and now. That is not believed yet.
#[derive(Debug)]
pub struct Meant<'t>(Parsed<'t>);

impl<'t> Parsed<'t> {
    /// Takes the value of an `Authorization` header apart.
    ///
    /// # Errors
    /// There is no token in it that could be verified.
    pub fn parse(authorization: &'t str) -> Result<Self, TokenError> {
        let token = authorization.strip_prefix("Bearer ").filter(|token| token.len() <= MAX_TOKEN);
        let (signed, signature) = token.and_then(|token| token.rsplit_once('.')).ok_or(TokenError::Form)?;
        let (header, claims) = signed.split_once('.').ok_or(TokenError::Form)?;
        let header: Header = read(header)?;
        if header.alg != "RS256" {
            return Err(TokenError::Algorithm);
        }
        Ok(Self { kid: header.kid, claims: read(claims)?, signed, signature: bytes(signature)? })
    }

    /// Looks at whether it says that it is the Connector's, for this bot and at this time, in seconds since 1970.
    ///
    /// # Errors
    /// It says something else.
    pub fn claims(self, app_id: &str, now: u64) -> Result<Meant<'t>, TokenError> {
        let (said, skew) = (&self.claims, SKEW.as_secs());
        let holds = said.iss == ISSUER
            && said.aud == app_id
            && said.nbf <= now.saturating_add(skew)
            && now <= said.exp.saturating_add(skew);
        if holds { Ok(Meant(self)) } else { Err(TokenError::Claims) }
    }
}

impl Meant<'_> {
    /// The name of the key that it says it is signed with.
    pub fn kid(&self) -> &str {
        &self.0.kid
    }

    /// What it says, if `key` signed it and may.
    ///
    /// # Errors
    /// It did not, or may not.
    pub fn verify(self, key: &Key) -> Result<Claims, TokenError> {
        let Parsed { claims, signed, signature, .. } = self.0;
        let public = |text: &str| bytes(text).map_err(|_| TokenError::Signature);
        RsaPublicKeyComponents { n: public(&key.n)?, e: public(&key.e)? }
            .verify(&RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), &signature)
            .map_err(|_| TokenError::Signature)?;
        let endorsed = key.endorsements.iter().any(|one| one == CHANNEL);
        if endorsed { Ok(claims) } else { Err(TokenError::Endorsement) }
    }
}

impl Claims {
    /// Whether this activity is of the service that they name, and of Teams.
    pub fn vouch_for(&self, activity: &Value) -> bool {
        activity["serviceUrl"] == self.serviceurl && activity["channelId"] == CHANNEL
    }
}

/// A part of a token.
fn read<T: for<'a> Deserialize<'a>>(part: &str) -> Result<T, TokenError> {
    serde_json::from_slice(&bytes(part)?).map_err(|_| TokenError::Form)
}

fn bytes(text: &str) -> Result<Vec<u8>, TokenError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Form)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn token(header: &Value, claims: &Value, signature: &str) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("Bearer {}.{}.{signature}", part(header), part(claims))
    }

    fn header() -> Value {
        json!({ "alg": "RS256", "kid": "k-1" })
    }

    fn claims() -> Value {
        json!({ "iss": ISSUER, "aud": "app-1", "nbf": 1_000, "exp": 2_000, "serviceurl": "https://service.test/" })
    }

    fn key() -> Key {
        serde_json::from_value(json!({ "kid": "k-1", "n": "", "e": "AQAB", "endorsements": [CHANNEL] }))
            .unwrap()
    }

    #[test]
    fn each_step_refuses_what_is_its_own_to_refuse() {
        let parsed = |text: &str| Parsed::parse(text).map(drop);
        for text in ["", "Bearer ", "Bearer a.b", "Bearer a.b.c", "Basic e30.e30.", "Bearer e30.e30.!"] {
            assert_eq!(parsed(text), Err(TokenError::Form), "{text}");
        }
        let long = token(&header(), &claims(), &"A".repeat(MAX_TOKEN));
        assert_eq!(parsed(&long), Err(TokenError::Form));
        for alg in ["none", "HS256", "rs256"] {
            let header = json!({ "alg": alg, "kid": "k-1" });
            assert_eq!(parsed(&token(&header, &claims(), "")), Err(TokenError::Algorithm), "{alg}");
        }
        let good = token(&header(), &claims(), "AAAA");
        let meant = |app_id: &str, now| Parsed::parse(&good).unwrap().claims(app_id, now).map(drop);
        for now in [700, 1_000, 2_300] {
            assert_eq!(meant("app-1", now), Ok(()), "{now}");
        }
        for (app_id, now) in [("app-1", 699), ("app-1", 2_301), ("app-2", 1_500), ("", 1_500)] {
            assert_eq!(meant(app_id, now), Err(TokenError::Claims), "{app_id} {now}");
        }
        let verified = Parsed::parse(&good).unwrap().claims("app-1", 1_500).unwrap().verify(&key());
        assert_eq!(verified.map(drop), Err(TokenError::Signature));
    }

    proptest! {
        #[test]
        fn any_header_is_a_token_or_a_typed_refusal_and_none_is_believed(
            text in "(Bearer )?[A-Za-z0-9_.-]{0,60}|.{0,60}",
            now: u64,
        ) {
            if let Ok(parsed) = Parsed::parse(&text)
                && let Ok(meant) = parsed.claims("app-1", now)
            {
                prop_assert!(meant.verify(&key()).is_err());
            }
        }

        #[test]
        fn any_claims_and_any_signature_are_refused_without_the_key(
            nbf: u64, exp: u64, now: u64, signature in "[A-Za-z0-9_-]{0,400}", n in "[A-Za-z0-9_-]{0,400}",
        ) {
            let mut said = claims();
            (said["nbf"], said["exp"]) = (json!(nbf), json!(exp));
            let text = token(&header(), &said, &signature);
            let key = Key { n, ..key() };
            if let Ok(parsed) = Parsed::parse(&text)
                && let Ok(meant) = parsed.claims("app-1", now)
            {
                prop_assert!(meant.verify(&key).is_err());
            }
        }
    }
}
