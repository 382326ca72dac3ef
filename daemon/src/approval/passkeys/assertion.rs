//! What a passkey signs, and whether it counts (<https://www.w3.org/TR/webauthn-3/#sctn-verifying-assertion>).
//!
//! A browser puts into the signed bytes at which origin it was asked, and for what; the authenticator, for which site, and whether a
//! person was there and was verified. Each of these is asked for. What the signature is over, the caller says: the challenge. Whether the
//! counter rose, whoever knows the last one says.
//!
//! Attestation is not asked for: the hub trusts a passkey because the operator's token came with it, and not because of its maker.

use gatepost_link::Digest;
use serde::Deserialize;

use super::key::Key;
use crate::unique_keys;

/// The longest id of a credential, in bytes (WebAuthn, 5.8.3).
pub const MAX_CREDENTIAL: usize = 1023;
/// The longest of what else a browser hands over, in bytes: an RSA key with its attested data has some 700.
pub const MAX_BYTES: usize = 2048;
/// Before what an authenticator adds: the hash of the site, flags and counter.
const HEAD: usize = 37;
/// Before the id of a credential in the attested data: the maker's id and a length.
const ATTESTED: usize = HEAD + 18;
const PRESENT: u8 = 1;
const VERIFIED: u8 = 1 << 2;
const WITH_ATTESTED: u8 = 1 << 6;

/// Where a page of the hub is, from which passkeys are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// As a browser writes it: `https://hub.example.org`.
    pub origin: String,
    /// The name that the passkeys belong to.
    pub rp_id: String,
}

/// What is known of a passkey that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// SubjectPublicKeyInfo.
    pub spki: Vec<u8>,
    /// COSE's number of its algorithm.
    pub algorithm: i64,
    /// The name that it belongs to.
    pub rp_id: String,
}

/// What `navigator.credentials.get` gives, without the credential's id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// JSON, as the browser wrote it.
    pub client_data: Vec<u8>,
    /// The authenticator's own words.
    pub authenticator_data: Vec<u8>,
    /// Over both.
    pub signature: Vec<u8>,
}

/// Why something that a passkey signed, or is to be, does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsigned {
    /// It cannot be read.
    #[error("what the browser gave cannot be read")]
    Unreadable,
    /// It is another call's.
    #[error("the passkey was asked for another thing")]
    Kind,
    /// It is over another challenge.
    #[error("the passkey signed something else: another document, verdict, hub or request")]
    Challenge,
    /// A page elsewhere asked.
    #[error("the passkey was used at another address than the hub's page")]
    Origin,
    /// A page within another asked.
    #[error("the passkey was used by a page inside another one")]
    Framed,
    /// It is for another name.
    #[error("the passkey belongs to another name")]
    Site,
    /// Nobody touched it.
    #[error("nobody was there when the passkey was used")]
    Absent,
    /// Nobody's finger, face or PIN was checked.
    #[error("the passkey did not check who used it: it must ask for a finger, a face or a PIN")]
    Unverified,
    /// The signature.
    #[error("the signature is not this passkey's")]
    Signature,
    /// Not one that the hub verifies.
    #[error("the passkey's key is of a kind that the hub does not verify")]
    Key,
    /// The counter is not above the last.
    #[error("the passkey's counter went back: there may be a copy of it")]
    Counter,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    r#type: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
    /// Of the page around it, where there is one.
    top_origin: Option<serde::de::IgnoredAny>,
}

impl ClientData {
    fn read(bytes: &[u8]) -> Option<Self> {
        // An array would be read as its values in their order.
        let is_object = bytes.trim_ascii_start().starts_with(b"{");
        is_object.then(|| unique_keys::from_slice(bytes).ok())?
    }

    /// Reads and checks what the browser says: that it was asked to do this, over this challenge.
    fn checked(bytes: &[u8], kind: &str, challenge: &[u8]) -> Result<Self, Unsigned> {
        use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
        let read = Self::read(bytes).ok_or(Unsigned::Unreadable)?;
        if read.r#type != kind {
            return Err(Unsigned::Kind);
        }
        let signed = URL_SAFE_NO_PAD.decode(&read.challenge).map_err(|_| Unsigned::Unreadable)?;
        match (signed == challenge, read.cross_origin || read.top_origin.is_some()) {
            (false, _) => Err(Unsigned::Challenge),
            (true, true) => Err(Unsigned::Framed),
            (true, false) => Ok(read),
        }
    }
}

/// Checks what an authenticator says of this site, and of who used it: its counter.
fn checked(authenticator: &[u8], rp_id: &str) -> Result<u32, Unsigned> {
    let [site @ .., flags, a, b, c, d] = authenticator.get(..HEAD).ok_or(Unsigned::Unreadable)? else {
        return Err(Unsigned::Unreadable);
    };
    match (site == Digest::of(rp_id.as_bytes()).0, flags & PRESENT != 0, flags & VERIFIED != 0) {
        (false, ..) => Err(Unsigned::Site),
        (true, false, _) => Err(Unsigned::Absent),
        (true, true, false) => Err(Unsigned::Unverified),
        (true, true, true) => Ok(u32::from_be_bytes([*a, *b, *c, *d])),
    }
}

/// The challenge that a browser says was signed, as it was given out: to look up whether it was. Nothing, if it cannot be read.
pub fn challenge_in(client_data: &[u8]) -> Option<String> {
    ClientData::read(client_data).map(|read| read.challenge)
}

impl Assertion {
    /// Whether this passkey signed this challenge: its counter.
    ///
    /// `is_own`: whether this origin is one of the hub's.
    ///
    /// # Errors
    /// It did not, or not so that it counts.
    pub fn verify(
        &self,
        key: &PublicKey,
        challenge: &[u8],
        is_own: impl FnOnce(&str) -> bool,
    ) -> Result<u32, Unsigned> {
        let client = ClientData::checked(&self.client_data, "webauthn.get", challenge)?;
        if !is_own(&client.origin) {
            return Err(Unsigned::Origin);
        }
        let counter = checked(&self.authenticator_data, &key.rp_id)?;
        let signed = [&self.authenticator_data, &Digest::of(&self.client_data).0[..]].concat();
        let public = Key::read(&key.spki, key.algorithm).ok_or(Unsigned::Key)?;
        match public.signed(&signed, &self.signature) {
            true => Ok(counter),
            false => Err(Unsigned::Signature),
        }
    }

    /// One text of bytes, to be stored where a device's signature is.
    pub(in crate::approval) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![];
        for piece in [&self.client_data, &self.authenticator_data] {
            // Both are bounded, as they come.
            bytes.extend(u16::try_from(piece.len()).unwrap_or(u16::MAX).to_be_bytes());
            bytes.extend(piece);
        }
        bytes.extend(&self.signature);
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    pub(in crate::approval) fn read(bytes: &[u8]) -> Option<Self> {
        let piece = |bytes: &[u8]| -> Option<(Vec<u8>, Vec<u8>)> {
            let (length, rest) = bytes.split_first_chunk::<2>()?;
            let (piece, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
            Some((piece.to_vec(), rest.to_vec()))
        };
        let (client_data, rest) = piece(bytes)?;
        let (authenticator_data, signature) = piece(&rest)?;
        Some(Self { client_data, authenticator_data, signature })
    }
}

/// Whether an origin is one at which a browser uses passkeys of this name: what remains to be asked when it is no more known at which
/// addresses the hub was.
pub(in crate::approval) fn belongs(origin: &str, rp_id: &str) -> bool {
    let at = |scheme: &str| {
        let rest = origin.strip_prefix(scheme)?.strip_prefix(rp_id)?;
        (rest.is_empty() || rest.strip_prefix(':')?.bytes().all(|digit| digit.is_ascii_digit())).then_some(())
    };
    at("https://").is_some() || (rp_id == "localhost" && at("http://").is_some())
}

/// What `navigator.credentials.create` gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The credential's id.
    pub credential: Vec<u8>,
    /// JSON, as the browser wrote it.
    pub client_data: Vec<u8>,
    /// The authenticator's own words.
    pub authenticator_data: Vec<u8>,
    /// SubjectPublicKeyInfo.
    pub spki: Vec<u8>,
    /// COSE's number of its algorithm.
    pub algorithm: i64,
}

impl Made {
    /// Whether this passkey was made for this challenge at one of these sites: its key, and its counter.
    ///
    /// # Errors
    /// It was not, or can verify nobody.
    pub fn checked(&self, challenge: &[u8], sites: &[Site]) -> Result<(PublicKey, u32), Unsigned> {
        let client = ClientData::checked(&self.client_data, "webauthn.create", challenge)?;
        let site = sites.iter().find(|site| site.origin == client.origin).ok_or(Unsigned::Origin)?;
        let counter = checked(&self.authenticator_data, &site.rp_id)?;
        // The id that it says is its own is the one by which it will be asked for.
        let attested = self.authenticator_data.get(ATTESTED..).ok_or(Unsigned::Unreadable)?;
        let [.., high, low] = self.authenticator_data[..ATTESTED] else { return Err(Unsigned::Unreadable) };
        let id = attested.get(..usize::from(u16::from_be_bytes([high, low])));
        if self.authenticator_data[32] & WITH_ATTESTED == 0 || id != Some(&self.credential) {
            return Err(Unsigned::Unreadable);
        }
        if Key::read(&self.spki, self.algorithm).is_none() {
            return Err(Unsigned::Key);
        }
        let rp_id = site.rp_id.clone();
        Ok((PublicKey { spki: self.spki.clone(), algorithm: self.algorithm, rp_id }, counter))
    }
}

#[cfg(test)]
mod tests;
