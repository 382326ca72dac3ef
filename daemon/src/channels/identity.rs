//! Who an address means, however it is written.
//!
//! One person or place has many addresses: a number, a user name and a UUID; the id of a person and of the conversation with
//! them; a public name and a number. Elsewhere a list of people that need an approval was evaded by writing to the same person
//! by another address, so nothing is judged, queued or recognised by an address: it is brought to its [`Identity`] first.
//! Where the spelling does not tell, the platform is asked ([`Adapter::identify`]); who asks keeps the answers.
//!
//! A new channel cannot leave this out: [`Adapter::identity`] has no default, and a contract lists addresses that are the same
//! one.
//!
//! [`Adapter::identity`]: super::Adapter::identity
//! [`Adapter::identify`]: super::Adapter::identify

use std::{fmt, time::Duration};

use super::Failure;

/// What all addresses of one person or place on a platform have in common: an address itself, by which it can be written to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(String);

impl Identity {
    /// The identity that this address is.
    pub fn new(address: impl Into<String>) -> Self {
        Self(address.into())
    }

    /// As an address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Identity> for String {
    fn from(identity: Identity) -> Self {
        identity.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an address in its one spelling tells of its identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spelling {
    /// All of it. No question is asked.
    Known(Identity),
    /// Nothing certain: the platform has to be asked. It can be written to as it is, too.
    Ask,
    /// It only stands for an address, which the platform has to be asked for: without it nothing can be sent.
    LookUp,
}

impl Spelling {
    /// The address is the identity.
    pub fn known(address: impl Into<String>) -> Self {
        Self::Known(Identity::new(address))
    }
}

/// Ids that are said at most of an address that is the name of several.
pub(super) const MOST_NAMED: usize = 5;

/// Why nobody can say whose address it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unidentified {
    /// In words for whoever approves: of the platform, without a secret.
    pub why: String,
    /// What the answer is worth.
    pub again: Again,
}

/// When it is worth asking again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The platform answered that it does not know this address: it is not asked for it again at once.
    NotKnown,
    /// The platform gave no answer: it is left alone for a moment, or as long as it said.
    Away(Option<Duration>),
}

impl Unidentified {
    /// The platform says that it does not know this address.
    pub fn not_known(why: impl Into<String>) -> Self {
        Self { why: why.into(), again: Again::NotKnown }
    }

    /// The platform says that the address is the name of several of this kind, by these ids.
    pub fn several(address: &str, kind: &str, ids: &str) -> Self {
        Self::not_known(format!("{address} is the name of more than one {kind} ({ids}): write the id"))
    }
}

impl From<Failure> for Unidentified {
    fn from(failure: Failure) -> Self {
        let again = match &failure {
            Failure::Permanent(_) | Failure::NotDelivered(_) => Again::NotKnown,
            Failure::Wait { after, .. } => Again::Away(Some(*after)),
            Failure::Retry(_) | Failure::Unknown(_) => Again::Away(None),
        };
        Self { why: failure.to_string(), again }
    }
}
