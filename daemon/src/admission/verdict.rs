//! Who a message is to, and what policy says of that.
//!
//! It is judged three times, each time by the identities of its target and of the entries of its agent's lists: before it is
//! written down, so that a refusal leaves nothing in the queue; with what its hooks made of it; and when its lane takes it
//! ([`crate::pipeline::permission`]).

use super::plan::{Content, Resolved};
use crate::{
    channels::identity::Again,
    message::{
        call::Call,
        operation::Operation,
        refusal::{Code, Refusal},
        target::Target,
    },
    pipeline::{
        Pipeline,
        identities::{Account, Found},
        permission::entries,
        unavailable,
    },
    policy::{self, CrossContext, Entries, Origin, Rights, Subject, Verdict},
};

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
            let Ok(source) = self.source_of(agent, call).await else { continue };
            let Ok(resolved) = self.resolved(agent, call, source.origin.as_ref()).await else { continue };
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
        self.verdict_by(&self.rules(content.agent).rights, content).await
    }

    /// Whether a target is one about which a person is always asked, whatever crossing does.
    ///
    /// # Errors
    /// The database.
    pub(super) async fn is_under_hold(&self, content: &Content<'_>) -> Result<bool, Refusal> {
        let rights =
            Rights { cross_context: CrossContext::Allow, ..self.rules(content.agent).rights.clone() };
        Ok(matches!(self.verdict_by(&rights, content).await?, Verdict::Hold(_)))
    }

    async fn verdict_by(&self, rights: &Rights, content: &Content<'_>) -> Result<Verdict, Refusal> {
        let (target, account) = (content.target, content.account);
        let Ok((_, adapter)) = self.0.accounts.pick(&target.channel, Some(account)) else {
            return Ok(judged(rights, content, &[], &Entries::new()));
        };
        let held_with = adapter.held_with(&target.address);
        let stays = !policy::crosses(content.from.origin, account, target, content.touched);
        // Who decides may depend on whose the addresses in its lists are.
        let anybody_decides =
            ![&rights.by_companion, &rights.by_web].into_iter().any(|by| by.touches(&target.channel));
        if stays && anybody_decides && rights.permits(&subject(content, &held_with), &Entries::new()) {
            return Ok(judged(rights, content, &held_with, &Entries::new()));
        }
        let at = Account { channel: &target.channel, account, adapter: adapter.as_ref() };
        let addresses = rights.addresses(&target.channel);
        let found = self.0.identities.of_entries(at, addresses).await.map_err(unavailable)?;
        Ok(judged(rights, content, &held_with, &entries(found)))
    }
}

fn judged(rights: &Rights, content: &Content<'_>, held_with: &[String], entries: &Entries) -> Verdict {
    policy::judge(rights, content.from, &subject(content, held_with), entries)
}

fn subject<'a>(content: &Content<'a>, held_with: &'a [String]) -> Subject<'a> {
    Subject {
        account: content.account,
        target: content.target,
        written_as: content.written_as,
        unidentified: content.unidentified,
        held_with,
        touched: content.touched,
        moderates: content.operation.moderates(),
    }
}
