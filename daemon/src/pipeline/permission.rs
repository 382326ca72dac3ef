//! Whether a message may still go that was accepted: asked when its lane takes it, for by then an entry, an agent or a token may be
//! gone. No platform is asked: the answers that it was accepted by are there.
//!
//! An approval does not outlive its agent's rights: what is not allowed any more is not sent, whoever approved it. A question that
//! became necessary after a message was accepted ends it likewise, unless a person has approved this very message: that is the
//! answer to it, so nobody is asked twice.

use rusqlite::Transaction;

use super::{
    Pipeline,
    identities::{Account, Found},
};
use crate::{
    agents,
    message::refusal::Code,
    outbox::row::MessageRow,
    policy::{self, Entries, Rights, Subject, Verdict},
    store::StoreError,
};

/// Why a message may not go any more that was accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Forbidden {
    /// Its agent has no token any more.
    #[error("the token of {0} was revoked since it was accepted")]
    Revoked(String),
    /// Its agent's rights.
    #[error("it is not allowed any more: {0}")]
    NotAllowed(String),
    /// It would be held now.
    #[error("a person has to approve it by now, and was not asked: {0}")]
    NotAsked(String),
    /// The name of its account stands for another identity or another server.
    #[error(
        "the configuration gives channels.{channel}.{account} another identity or server than it had when this was accepted: submit it anew if it may go from there"
    )]
    AccountChanged {
        /// The channel.
        channel: String,
        /// The account.
        account: String,
    },
}

impl Forbidden {
    /// The kind of error that a caller is told.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Revoked(_) | Self::NotAllowed(_) | Self::NotAsked(_) => Code::NotAllowed,
            Self::AccountChanged { .. } => Code::AccountChanged,
        }
    }
}

impl Pipeline {
    /// Whether the account is another one than the one that a message was accepted for. One that is not there is none.
    pub(crate) fn account_changed(&self, message: &MessageRow) -> Option<Forbidden> {
        let (channel, account) = (&message.channel, &message.account);
        let changed = message.account_is? != self.0.accounts.fingerprint(channel, account)?;
        changed.then(|| Forbidden::AccountChanged { channel: channel.clone(), account: account.clone() })
    }

    /// Why a message may not go any more that was accepted, as far as the hub knows without asking anybody.
    pub(crate) fn forbidden_now(
        &self,
        tx: &Transaction<'_>,
        message: &MessageRow,
        approved: bool,
    ) -> Result<Option<Forbidden>, StoreError> {
        if agents::is_revoked(tx, &message.agent, message.accepted_at)? {
            return Ok(Some(Forbidden::Revoked(message.agent.clone())));
        }
        if let Some(changed) = self.account_changed(message) {
            return Ok(Some(changed));
        }
        let rights = &self.rules(&message.agent).rights;
        Ok(match self.judged_now(message, rights)? {
            Some(Verdict::Deny(refusal)) => Some(Forbidden::NotAllowed(refusal.error)),
            Some(Verdict::Hold(held)) if !approved => Some(Forbidden::NotAsked(held.why)),
            Some(Verdict::Hold(_) | Verdict::Allow(_)) | None => None,
        })
    }

    /// What policy says of an accepted message under these rights, as far as the hub knows without asking anybody; nothing if its
    /// account is not there.
    pub(super) fn judged_now(
        &self,
        message: &MessageRow,
        rights: &Rights,
    ) -> Result<Option<Verdict>, StoreError> {
        let target = message.target();
        let Ok((account, adapter)) = self.0.accounts.pick(&target.channel, Some(&message.account)) else {
            return Ok(None);
        };
        let at = Account { channel: &target.channel, account, adapter: adapter.as_ref() };
        let mut known = Vec::new();
        for address in rights.addresses(&target.channel) {
            known.push((address.to_owned(), self.0.identities.remembered(at, address)?));
        }
        // An old answer allows what it allowed when the message was accepted.
        let known = known.into_iter().map(|(address, found)| match found {
            Found::Unknown { last: Some(identity), .. } => (address, Found::Known(identity)),
            found => (address, found),
        });
        let held_with = adapter.held_with(&target.address);
        let subject = Subject {
            account: &message.account,
            target: &target,
            written_as: message.written_as.as_deref(),
            unidentified: message.unidentified.as_deref(),
            held_with: &held_with,
            touched: &message.touched,
            moderates: message.operation.moderates(),
        };
        Ok(Some(policy::judge(rights, message.provenance(), &subject, &entries(known))))
    }
}

/// The entries of an agent's lists, each with whose it is or why nobody knows.
pub(crate) fn entries(found: impl IntoIterator<Item = (String, Found)>) -> Entries {
    let entry = |(address, found)| match found {
        Found::Known(identity) => (address, Ok(identity.into())),
        Found::Unknown { why, .. } => (address, Err(why)),
    };
    found.into_iter().map(entry).collect()
}
