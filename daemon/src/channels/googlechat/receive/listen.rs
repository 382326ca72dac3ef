//! The loop: pull, write down what came, acknowledge it, and pull again.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{
    super::client::Client,
    event::{self, Draft},
    files,
    pull::{Pulled, Subscription, TOO_LONG},
};
use crate::channels::{
    Failure,
    hub_handle::HubHandle,
    kit::{
        in_time::FileTime,
        pause::{chance, doubled},
        rest::{Rest, rest, unwritten},
        rounds::Rounds,
        standing::Standing,
    },
    received::{AuthorKind, Batch, Event, Received, unreadable},
    receiver::Hearing,
};

/// While the files of what was pulled are fetched it is not told again: they have less time than that.
const HELD: Duration = Duration::from_mins(4);

/// How long things take.
#[derive(Debug, Clone, Copy)]
pub(in crate::channels::googlechat) struct Tempo {
    /// A pull that has not ended after so long never will.
    pub(super) silence: Duration,
    /// From one pull that brought nothing to the next, if it did not wait.
    pub(super) between: Duration,
    /// After the first failure; it doubles.
    pub(super) first: Duration,
    /// At most, where Google is not there.
    pub(super) longest: Duration,
    /// Where somebody has to do something.
    pub(super) refused: Duration,
}

impl Tempo {
    /// A pull ends within about 90 s
    /// (<https://cloud.google.com/pubsub/docs/pull#unary_pull>).
    pub(in crate::channels::googlechat) const USUAL: Self = Self {
        silence: Duration::from_mins(2),
        between: Duration::from_secs(5),
        first: Duration::from_secs(1),
        longest: Duration::from_mins(1),
        refused: Duration::from_mins(5),
    };
}

/// What keeps an account receiving.
pub(in crate::channels::googlechat) struct Listener {
    subscription: Subscription,
    standing: Standing,
    tempo: Tempo,
}

impl Listener {
    pub(in crate::channels::googlechat) fn new(
        account: &str,
        subscription: Subscription,
        tempo: Tempo,
    ) -> Self {
        Self { subscription, standing: Standing::new("Google Chat", account), tempo }
    }

    /// What there is to say of it to who asks whether the account is ready.
    pub(in crate::channels::googlechat) fn hearing(&self) -> Hearing {
        self.standing.hearing(
            "receives, and after a stop what Pub/Sub has kept (7 days unless the subscription is set otherwise)",
        )
    }

    /// Receives for as long as anybody waits.
    pub(in crate::channels::googlechat) async fn listen(&self, client: &Client, hub: &dyn HubHandle) {
        let (mut failures, mut alone, mut rounds) = (0, false, Rounds::default());
        loop {
            rounds.next().await;
            let begun = Instant::now();
            match self.round(client, hub, alone).await {
                Ok(count) => {
                    (failures, alone) = (0, false);
                    self.standing.receives();
                    let left = self.tempo.between.saturating_sub(begun.elapsed());
                    if count == 0 {
                        sleep(left).await;
                    }
                }
                Err(failure) => {
                    // The one that is so long comes alone, with more room.
                    alone = failure.to_string().contains(TOO_LONG);
                    self.rest(hub, failures, failure).await;
                    failures += 1;
                }
            }
        }
    }

    /// One pull, and all that follows: how many came.
    async fn round(&self, client: &Client, hub: &dyn HubHandle, alone: bool) -> Result<usize, Failure> {
        let all = self.subscription.pull(client, alone, self.tempo.silence).await?;
        if all.is_empty() {
            return Ok(0);
        }
        let acks: Vec<String> = all.iter().map(|pulled| pulled.ack.clone()).collect();
        let (mut batch, mut held) = (Batch::default(), true);
        let mut time = FileTime::usual();
        for read in all.into_iter().map(|Pulled { event, .. }| match event {
            Some(bytes) => event::read(&bytes),
            None => Err(unreadable("message of Pub/Sub")),
        }) {
            match read {
                Ok(drafts) => {
                    for draft in drafts {
                        if held && !draft.files.is_empty() {
                            // A courtesy: without it Pub/Sub may tell them once more, and they are known by their keys.
                            let asked = self.subscription.hold(client, &acks, HELD).await;
                            held = asked
                                .inspect_err(|why| tracing::debug!(%why, "Pub/Sub does not wait"))
                                .is_ok();
                        }
                        batch.received.push(settle(client, hub, draft, &mut time).await);
                    }
                }
                Err(dropped) => batch.dropped.push(dropped),
            }
        }
        hub.receive(batch).await.map_err(unwritten)?;
        self.subscription.acknowledge(client, &acks).await?;
        Ok(acks.len())
    }

    async fn rest(&self, hub: &dyn HubHandle, failures: u32, failure: Failure) {
        let Tempo { first, longest, refused, .. } = self.tempo;
        let usual = doubled(first, longest, failures);
        let Rest { kind, why, wait } = Rest::after(failure, usual, first, refused);
        self.standing.away(kind, why);
        rest(hub, kind, wait + wait.min(longest).mul_f64(chance() / 4.0)).await;
    }
}

/// Makes a draft what the hub is told; a program's files are not fetched.
async fn settle(client: &Client, hub: &dyn HubHandle, draft: Draft, time: &mut FileTime) -> Received {
    let Draft { mut received, files } = draft;
    if files.is_empty() || received.author.kind != AuthorKind::Person {
        return received;
    }
    let place = hub.place_for_files(&received).await;
    if let Event::Message(words) = &mut received.event {
        files::fetch_all((client, hub), files, place.as_ref(), time, words).await;
    }
    received
}
