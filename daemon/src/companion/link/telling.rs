//! What companions are told without being asked: what waits for them, and how the hub is.

use std::{borrow::Cow, collections::HashMap, time::Instant};

use gatepost_link::{
    RequestId,
    decision::PublicKey,
    frame::{Report, Withdrawal},
};

use super::{Companion, Serving};
use crate::{
    approval::{Approvals, Waiting},
    clock,
    companion::session::Condition,
    message::state::State,
    outbox::Totals,
    store::{StoreError, now_ms},
};

impl Serving {
    /// Tells every companion what waits now.
    pub(super) async fn update(&mut self) {
        if self.companions.is_empty() {
            return;
        }
        match self.facts().await {
            Ok((waiting, over, totals)) => {
                let (now, now_ms) = (Instant::now(), now_ms());
                let report = self.report(waiting.len(), &totals);
                let condition = self.condition(totals);
                for companion in self.companions.values_mut() {
                    let requests = asked_of(companion.device.key, &waiting);
                    companion.session.update(now, now_ms, &requests, |request| {
                        over.get(&request).copied().unwrap_or(Withdrawal::DecidedElsewhere)
                    });
                    companion.session.condition(&condition);
                    companion.session.status(now, report);
                }
            }
            Err(error) => tracing::error!(%error, "cannot read what waits"),
        }
    }

    /// What an idle companion shows. The time of day not while it waits to be set.
    fn report(&self, held: usize, totals: &Totals) -> Report {
        let age = totals.arrivals.last.map(|last| last.elapsed().as_secs());
        let clock_s = self.outbox.store().unsettled_since().is_none().then(clock::local_s);
        Report {
            held: u16::try_from(held).unwrap_or(u16::MAX),
            queued: totals.queued,
            sent: totals.arrivals.count,
            last_s: age.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX)),
            clock_s,
        }
    }

    /// What an idle companion shows beside that.
    fn condition(&self, totals: Totals) -> Condition {
        Condition {
            takes_messages: self.outbox.store().space().look().accepts(),
            paused: totals.paused,
            last_channel: totals.arrivals.channel,
        }
    }

    async fn facts(&self) -> Result<(Vec<Waiting>, HashMap<RequestId, Withdrawal>, Totals), StoreError> {
        let waiting = self.approvals.waiting().await?;
        let mut over = HashMap::new();
        for request in self.companions.values().flat_map(|companion| companion.session.offered()) {
            if let Some(state) = self.approvals.state_of(request).await? {
                over.insert(request, withdrawal(state));
            }
        }
        Ok((waiting, over, self.outbox.totals().await?))
    }
}

/// Tells a companion whose session begins that its word counts: it may not have heard so, and is not asked again.
pub(super) async fn remind(approvals: &Approvals, companion: &mut Companion) {
    match approvals.waiting().await {
        Ok(waiting) => {
            let voted = waiting.iter().filter(|waiting| waiting.voted.contains(&companion.device.key));
            voted.for_each(|waiting| companion.session.consumed(Instant::now(), waiting.request));
        }
        Err(error) => tracing::error!(%error, "cannot read what waits"),
    }
}

/// What waits for the word of this companion: not that which it has given already.
fn asked_of(device: PublicKey, waiting: &[Waiting]) -> Cow<'_, [Waiting]> {
    match waiting.iter().any(|waiting| waiting.voted.contains(&device)) {
        false => Cow::Borrowed(waiting),
        true => waiting.iter().filter(|waiting| !waiting.voted.contains(&device)).cloned().collect(),
    }
}

/// What a companion is told of a request whose message is in this state.
pub(super) fn withdrawal(state: State) -> Withdrawal {
    match state {
        State::Cancelled => Withdrawal::Cancelled,
        State::Expired | State::Held => Withdrawal::Expired,
        _ => Withdrawal::DecidedElsewhere,
    }
}
