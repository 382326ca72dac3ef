//! A scripted person at a board: reads every page, then holds Approve or presses Deny.
//!
//! There are two keys and a screen and no other way in. A press that did not count on a busy machine is made again; whether
//! the decision counts, the board shows only once the hub has said so.

use std::time::Duration;

use gatepost_companion::{buttons, card};
use gatepost_link::decision::Verdict;
use tokio::time::{sleep, timeout};

use super::{Board, BoardError, screen::Seen};

/// The two keys, as on the desktop.
const APPROVE: &str = "a";
const DENY: &str = "d";
/// A short press.
const TAP: Duration = Duration::from_millis(120);
/// A hold that approves, and a little more.
const HOLD: Duration = Duration::from_millis(buttons::HOLD + 300);
/// How long a card is looked at before Deny is pressed.
const LOOK: Duration = Duration::from_millis(card::GRACE + 100);
/// How long the screen may take to follow a press before it is pressed again.
const AGAIN: Duration = Duration::from_secs(2);

impl Board {
    /// Confirms the number on the screen.
    pub(in crate::demo) async fn confirm(&self) -> Result<(), BoardError> {
        self.press(APPROVE, HOLD).await
    }

    /// Waits for the next card, reads all of it, and decides on it. Returns once the board shows that the hub has taken
    /// the decision.
    pub(in crate::demo) async fn decide(&self, verdict: Verdict, within: Duration) -> Result<(), BoardError> {
        match timeout(within, self.decides(verdict)).await {
            Ok(decided) => decided,
            Err(_) => Err(BoardError::Late("a decision", self.tail.text())),
        }
    }

    async fn decides(&self, verdict: Verdict) -> Result<(), BoardError> {
        let longest = Duration::MAX;
        let request = self.card(longest).await?;
        let over = |seen: &Seen| seen.ended.as_ref().is_some_and(|(ended, _)| *ended == request);
        loop {
            let before = self.until("a decision", longest, |seen| over(seen) || open(seen, &request)).await?;
            let Some(card) = before.screen.card().filter(|_| !over(&before)) else { break };
            match verdict {
                Verdict::Deny => {
                    sleep(LOOK).await;
                    self.press(DENY, TAP).await?;
                }
                Verdict::Approve if card.armed => self.press(APPROVE, HOLD).await?,
                Verdict::Approve => self.press(APPROVE, TAP).await?,
            }
            let mut seen = self.seen.clone();
            // One that did not count is made again.
            let _ = timeout(AGAIN, seen.wait_for(|seen| seen.screen != before.screen)).await;
        }
        let taken = self.ended(&request, longest).await?;
        match taken == verdict {
            true => Ok(()),
            false => Err(BoardError::Closed(format!("the hub took {taken:?} for {verdict:?}"))),
        }
    }

    /// Presses a key and releases it. Never given up in between: a key that stays down spoils the other's presses.
    async fn press(&self, key: &str, long: Duration) -> Result<(), BoardError> {
        self.monitor.key(key, true).await?;
        sleep(long).await;
        Ok(self.monitor.key(key, false).await?)
    }
}

fn open(seen: &Seen, request: &str) -> bool {
    seen.screen.card().is_some_and(|card| card.request == request)
}
