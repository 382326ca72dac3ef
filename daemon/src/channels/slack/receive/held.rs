//! What waits until its conversation is read up to it: what comes over a connection after a gap would overtake what was said before,
//! which is still asked for.
//!
//! It waits in the order in which it came, is not acknowledged meanwhile, and does not move the place up to which its conversation is
//! read. So a hub that is killed asks for it again, or is told again. It waits for a while only: where Slack answers
//! slowly, late and in order is worse than in time.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use super::{
    WAITING,
    draft::Draft,
    known::{Known, Spot},
    reception::Ack,
};

/// So much waits at most: as much again as is not read yet. What finds no room is left to Slack, which tells it again, and to the
/// question that is asked again for it.
const MOST: usize = WAITING;

/// What one envelope brought.
#[derive(Debug)]
pub(super) struct Brought {
    pub(super) since: Instant,
    pub(super) drafts: Vec<Draft>,
    pub(super) ack: Option<Ack>,
}

/// What waits.
#[derive(Debug, Default)]
pub(super) struct Held(VecDeque<Brought>);

impl Brought {
    /// The conversations and threads in which it stands.
    pub(super) fn spots(&self) -> impl Iterator<Item = Spot> {
        self.drafts.iter().filter_map(Draft::spot)
    }
}

impl Held {
    /// Whether this has to wait. Of what is told without its thread, such as a reaction, the message may wait.
    pub(super) fn concerns(&self, brought: &Brought, known: &Known) -> bool {
        brought.drafts.iter().any(|draft| match draft.spot() {
            Some(spot) => known.behind(&spot).is_some(),
            None => self.0.iter().flat_map(|held| &held.drafts).any(|held| held.channel == draft.channel),
        })
    }

    /// Lets it wait, if there is room.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn push(&mut self, brought: Brought) -> Result<(), Brought> {
        if self.0.len() >= MOST {
            return Err(brought);
        }
        self.0.push_back(brought);
        Ok(())
    }

    /// Where something waits, the longest first.
    pub(super) fn spots(&self) -> impl Iterator<Item = Spot> {
        self.0.iter().flat_map(Brought::spots)
    }

    /// All of it, which waits no longer unless it has to.
    pub(super) fn take(&mut self) -> VecDeque<Brought> {
        std::mem::take(&mut self.0)
    }

    /// When the first has waited for so long.
    pub(super) fn ends(&self, patience: Duration) -> Option<Instant> {
        Some(self.0.front()?.since + patience)
    }

    /// The first, if it has waited for so long.
    pub(super) fn overdue(&mut self, patience: Duration) -> Option<Brought> {
        self.ends(patience).filter(|ends| *ends <= Instant::now())?;
        self.0.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::message, *};
    use crate::channels::slack::client::Me;

    const A: &str = "C012AB3CD";

    fn brought(second: u64) -> Brought {
        let me = Me { user: "U0HUB0001".into(), bot: None, team: "T0HOUSE01".into() };
        let said = json!({"user": "U012AB3CD", "text": "x", "ts": format!("{second}.000000")});
        let drafts = vec![message::written(A.into(), &said, &me).unwrap()];
        Brought { since: Instant::now(), drafts, ack: None }
    }

    #[tokio::test(start_paused = true)]
    async fn so_much_waits_and_so_long_in_the_order_in_which_it_came() {
        const PATIENCE: Duration = Duration::from_secs(60);
        let mut held = Held::default();
        assert!(held.ends(PATIENCE).is_none() && held.overdue(PATIENCE).is_none());
        for second in 0..MOST as u64 {
            held.push(brought(second)).unwrap();
        }
        assert!(held.push(brought(500)).is_err());
        assert!(held.overdue(PATIENCE).is_none());
        tokio::time::advance(PATIENCE).await;
        assert_eq!(held.overdue(PATIENCE).unwrap().drafts, brought(0).drafts);
        assert_eq!(held.take().len(), MOST - 1);
        assert_eq!(held.spots().count(), 0);
    }
}
