//! Who a message is to, and what policy says of that.
//!
//! It is judged three times, each time by the identities of its target and of the entries of its agent's lists: before it is
//! written down, so that a refusal leaves nothing in the queue; with what its hooks made of it; and when its lane takes it, for by
//! then an entry, an agent or a token may be gone. The last time asks no platform: the answers that it was accepted by are there.
//!
//! An approval does not outlive its agent's rights: what is not allowed any more is not sent, whoever approved it. A question that
//! became necessary after a message was accepted ends it likewise, unless a person has approved this very message: that is the
//! answer to it, so nobody is asked twice.

use rusqlite::Transaction;

use super::{
    Pipeline,
    identities::{Account, Found},
    plan::{Content, Resolved},
    submit::unavailable,
};
use crate::{
    agents,
    channels::identity::Again,
    message::{
        call::Call,
        operation::Operation,
        refusal::{Code, Refusal},
        target::Target,
    },
    outbox::row::MessageRow,
    policy::{self, Entries, Origin, Rights, Subject, Verdict},
    store::StoreError,
};

/// Why a message may not go any more that was accepted.
#[derive(Debug, thiserror::Error)]
pub(super) enum Forbidden {
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
    pub(super) fn code(&self) -> Code {
        match self {
            Self::Revoked(_) | Self::NotAllowed(_) | Self::NotAsked(_) => Code::NotAllowed,
            Self::AccountChanged { .. } => Code::AccountChanged,
        }
    }
}

impl Pipeline {
    /// Brings a call's target to its identity.
    ///
    /// # Errors
    /// It only stands for an address, and nobody can say now for which; the database.
    pub(super) async fn identified(
        &self,
        resolved: Resolved,
        operation: &Operation,
    ) -> Result<Resolved, Refusal> {
        // It is done to the account itself.
        if matches!(operation, Operation::Presence { .. }) {
            return Ok(resolved);
        }
        let written = &resolved.target.address;
        let found = self.who(&resolved.target.channel, &resolved.account, written).await?;
        let (identity, unidentified) = match found {
            None => return Ok(resolved),
            Some(Found::Known(identity)) => (Some(identity), None),
            Some(Found::Unknown { why, needed: Some(Again::NotKnown), .. }) => {
                let error = format!("{written} leads nowhere on {}: {why}", resolved.target.channel);
                let hint = "use an address that is somebody's, such as the room id that an alias stands for";
                return Err(Refusal::input(error, hint).because("bad_address"));
            }
            Some(Found::Unknown { why, needed: Some(Again::Away(_)), .. }) => {
                let error = format!("nobody can say now where {written} leads: {why}");
                let hint = "try again later, or use the address that it stands for";
                return Err(Refusal::new(Code::ExecutionFailed, error, hint).because("no_identity"));
            }
            Some(Found::Unknown { why, last, .. }) => (last, Some(why)),
        };
        let Resolved { mut target, account, known_as, .. } = resolved;
        let mut written_as = None;
        if let Some(identity) = identity.map(String::from).filter(|identity| *identity != target.address) {
            written_as = Some(std::mem::replace(&mut target.address, identity));
        }
        Ok(Resolved { target, account, known_as, written_as, unidentified })
    }

    /// The same for the conversation that a turn came from.
    ///
    /// # Errors
    /// The database.
    pub async fn identified_origin(&self, mut origin: Origin) -> Result<Origin, Refusal> {
        let address = self.identity_of(&origin.place.channel, &origin.account, &origin.place.address).await?;
        origin.place.address = address;
        Ok(origin)
    }

    /// The identity of an address as its adapter spells it; the address itself while nobody knows.
    ///
    /// # Errors
    /// The database.
    pub async fn identity_of(&self, channel: &str, account: &str, address: &str) -> Result<String, Refusal> {
        Ok(match self.who(channel, account, address).await? {
            Some(Found::Known(identity) | Found::Unknown { last: Some(identity), .. }) => identity.into(),
            Some(Found::Unknown { last: None, .. }) | None => address.to_owned(),
        })
    }

    /// Refuses a broadcast that names one person or place by two addresses: nobody is written to twice for that.
    ///
    /// # Errors
    /// It does.
    pub async fn refuse_twice(&self, agent: &str, calls: &[Call]) -> Result<(), Refusal> {
        let mut seen: Vec<(Target, String, &Call)> = Vec::with_capacity(calls.len());
        for call in calls {
            // What is refused for another reason is told so for itself.
            let Ok(origin) = self.origin_of(agent, call).await else { continue };
            let Ok(resolved) = self.resolved(agent, call, origin.as_ref()).await else { continue };
            let Resolved { target, account, .. } = resolved;
            if let Some((.., before)) =
                seen.iter().find(|(other, from, _)| *other == target && *from == account)
            {
                let error = format!(
                    "the broadcast names one conversation twice: {} and {} are {target}",
                    before.destination, call.destination
                );
                return Err(Refusal::input(error, "name each target once").because("contradictory"));
            }
            seen.push((target, account, call));
        }
        Ok(())
    }

    async fn who(&self, channel: &str, account: &str, address: &str) -> Result<Option<Found>, Refusal> {
        let Ok((account, adapter)) = self.0.accounts.pick(channel, Some(account)) else { return Ok(None) };
        let at = Account { channel, account, adapter: adapter.as_ref() };
        self.0.identities.of(at, address).await.map(Some).map_err(unavailable)
    }

    /// What policy says of a message; platforms are asked whose the entries of the agent's lists are.
    ///
    /// # Errors
    /// The database.
    pub(super) async fn verdict(&self, content: &Content<'_>) -> Result<Verdict, Refusal> {
        let rights = &self.rules(content.agent).rights;
        let (target, account) = (content.target, content.account);
        let Ok((_, adapter)) = self.0.accounts.pick(&target.channel, Some(account)) else {
            return Ok(judged(rights, content, &[], &Entries::new()));
        };
        let held_with = adapter.held_with(&target.address);
        let stays = !policy::crosses(content.origin, account, target, content.touched);
        if stays && rights.permits(&subject(content, &held_with), &Entries::new()) {
            return Ok(judged(rights, content, &held_with, &Entries::new()));
        }
        let at = Account { channel: &target.channel, account, adapter: adapter.as_ref() };
        let addresses = rights.addresses(&target.channel);
        let found = self.0.identities.of_entries(at, addresses).await.map_err(unavailable)?;
        Ok(judged(rights, content, &held_with, &entries(found)))
    }

    /// Whether the account is another one than the one that a message was accepted for. One that is not there is none.
    pub(super) fn account_changed(&self, message: &MessageRow) -> Option<Forbidden> {
        let (channel, account) = (&message.channel, &message.account);
        let changed = message.account_is? != self.0.accounts.fingerprint(channel, account)?;
        changed.then(|| Forbidden::AccountChanged { channel: channel.clone(), account: account.clone() })
    }

    /// Why a message may not go any more that was accepted, as far as the hub knows without asking anybody.
    pub(super) fn forbidden_now(
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
        let (rights, target) = (&self.rules(&message.agent).rights, message.target());
        let content = Content::of(message, &target);
        let Ok((account, adapter)) = self.0.accounts.pick(&target.channel, Some(content.account)) else {
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
        Ok(match judged(rights, &content, &held_with, &entries(known)) {
            Verdict::Deny(refusal) => Some(Forbidden::NotAllowed(refusal.error)),
            Verdict::Hold(why) if !approved => Some(Forbidden::NotAsked(why)),
            Verdict::Hold(_) | Verdict::Allow(_) => None,
        })
    }
}

fn judged(rights: &Rights, content: &Content<'_>, held_with: &[String], entries: &Entries) -> Verdict {
    policy::judge(rights, content.origin, &subject(content, held_with), entries)
}

fn subject<'a>(content: &Content<'a>, held_with: &'a [String]) -> Subject<'a> {
    Subject {
        account: content.account,
        target: content.target,
        written_as: content.written_as,
        unidentified: content.unidentified,
        held_with,
        touched: content.touched,
    }
}

fn entries(found: impl IntoIterator<Item = (String, Found)>) -> Entries {
    let entry = |(address, found)| match found {
        Found::Known(identity) => (address, Ok(identity.into())),
        Found::Unknown { why, .. } => (address, Err(why)),
    };
    found.into_iter().map(entry).collect()
}
