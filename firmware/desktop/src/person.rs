//! A scripted person, for unattended demos and tests: reads every page, then holds Approve or presses Deny.
//!
//! It uses only the two buttons and the screen, as a person does. It returns what the screen showed, so that a test can
//! compare it with what was sent.

use std::time::Duration;

use gatepost_companion::{
    Button::{self, Approve, Deny},
    CardView, Edge, Ended, Screen, View, buttons, card,
};
use gatepost_link::{RequestId, decision::Verdict};
use tokio::{
    sync::{mpsc, watch},
    time::{sleep, timeout},
};

use crate::link::Companion;

/// A short press.
const TAP: Duration = Duration::from_millis(80);
/// The longest hold; it ends when the screen changes.
const MAX_HOLD: Duration = Duration::from_millis(buttons::HOLD + 1_000);
/// How long the screen may take to react before the press is repeated.
const REACTION_TIMEOUT: Duration = Duration::from_millis(1_000);
/// How long to wait before Deny is pressed on a card.
const DENY_DELAY: Duration = Duration::from_millis(card::GRACE + 100);

/// What the person saw and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The request decided on.
    pub request: RequestId,
    /// The rows of each page between header and footer.
    pub pages: Vec<String>,
}

/// Why the person could not decide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PersonError {
    /// There was no card, or the hub did not confirm, in time.
    #[error(
        "no decision was made and confirmed within {0:?}; see whether the hub holds a message for this companion"
    )]
    Timeout(Duration),
    /// The card closed without a decision that counts.
    #[error("the card closed before the decision counted: {0:?}")]
    Closed(Ended),
    /// The message carries files that the companion cannot show.
    #[error(
        "a message with files that cannot be shown cannot be approved here; allow it in the settings or deny it"
    )]
    UnseenFiles,
    /// The companion cannot store its counter.
    #[error("the companion cannot store its counter, so it cannot decide; check its storage")]
    Fault,
    /// The hub confirmed another verdict.
    #[error("the companion decided otherwise: {0:?}")]
    Otherwise(Verdict),
    /// The companion was stopped.
    #[error("the companion was stopped")]
    Stopped,
}

/// Waits for the next card, reads all of it, and decides on it. Returns once the hub has confirmed.
pub async fn decide(companion: &Companion, verdict: Verdict, within: Duration) -> Result<Seen, PersonError> {
    let mut person = Person { screens: companion.screens(), buttons: companion.buttons() };
    match timeout(within, person.decide(verdict)).await {
        Ok(result) => result,
        Err(_) => Err(PersonError::Timeout(within)),
    }
}

struct Person {
    screens: watch::Receiver<Screen>,
    buttons: mpsc::Sender<(Button, Edge)>,
}

impl Person {
    async fn decide(&mut self, verdict: Verdict) -> Result<Seen, PersonError> {
        loop {
            let screen = self.until(|screen| matches!(screen.view, View::Card(_))).await?;
            let View::Card(card) = screen.view else { continue };
            if card.fault {
                return Err(PersonError::Fault);
            }
            if card.unseen_files && verdict == Verdict::Approve {
                return Err(PersonError::UnseenFiles);
            }
            let pages = self.read(card).await?;
            if let Some(pages) = pages
                && self.answer(card.request, verdict).await?
            {
                return Ok(Seen { request: card.request, pages });
            }
        }
    }

    /// Reads the card from the first page to the last; `None` if another card replaced it.
    async fn read(&mut self, card: CardView) -> Result<Option<Vec<String>>, PersonError> {
        let mut pages = vec![None; usize::from(card.pages)];
        loop {
            let screen = self.screens.borrow_and_update().clone();
            let now = self.open(&screen, card.request)?;
            let Some(now) = now else { return Ok(None) };
            if let Some(page) = pages.get_mut(usize::from(now.page).saturating_sub(1)) {
                let rows: Vec<&str> = screen.body.iter().map(|row| row.text.as_str()).collect();
                *page = Some(rows.join("\n"));
            }
            if pages.iter().all(Option::is_some) {
                return Ok(pages.into_iter().collect());
            }
            self.press(Approve, TAP).await?;
            let turned = |screen: &Screen| !matches!(screen.view, View::Card(card) if card.page == now.page);
            // A press that did not count is repeated.
            let _ = timeout(REACTION_TIMEOUT, self.until(turned)).await;
        }
    }

    /// Decides and waits for the hub; `false` if the card is no longer open.
    async fn answer(&mut self, request: RequestId, verdict: Verdict) -> Result<bool, PersonError> {
        loop {
            let ready = |screen: &Screen| match screen.view {
                View::Card(card) if card.request == request => match verdict {
                    Verdict::Approve => card.armed,
                    Verdict::Deny => card.deniable,
                },
                _ => true,
            };
            let screen = self.until(ready).await?;
            if self.open(&screen, request)?.is_none() {
                return Ok(false);
            }
            match verdict {
                Verdict::Approve if self.hold(request).await? => {}
                // The hold was discarded: the session changed, or the machine was too slow.
                Verdict::Approve => continue,
                Verdict::Deny => {
                    sleep(DENY_DELAY).await;
                    self.press(Deny, TAP).await?;
                }
            }
            let left = |screen: &Screen| !matches!(screen.view, View::Card(card) if card.request == request);
            if timeout(REACTION_TIMEOUT, self.until(left)).await.is_err() {
                continue;
            }
            let over = |screen: &Screen| !matches!(screen.view, View::Sending { .. });
            return match self.until(over).await?.view {
                View::Done { request: done, verdict: said } if done == request && said == verdict => Ok(true),
                View::Done { request: done, verdict: said } if done == request => {
                    Err(PersonError::Otherwise(said))
                }
                View::Closed { request: closed, why } if closed == request => Err(PersonError::Closed(why)),
                _ => Ok(false),
            };
        }
    }

    /// The card of `request` if it is open; an error if it closed.
    fn open(&self, screen: &Screen, request: RequestId) -> Result<Option<CardView>, PersonError> {
        match screen.view {
            View::Card(card) if card.request == request => Ok(Some(card)),
            View::Closed { request: closed, why } if closed == request => Err(PersonError::Closed(why)),
            _ => Ok(None),
        }
    }

    /// Holds Approve until the card is gone or the progress bar disappears; returns whether the hold counted.
    async fn hold(&mut self, request: RequestId) -> Result<bool, PersonError> {
        self.edge(Approve, Edge::Pressed).await?;
        let left = |screen: &Screen| !matches!(screen.view, View::Card(card) if card.request == request);
        let begun =
            timeout(REACTION_TIMEOUT, self.until(|screen| left(screen) || screen.hold.is_some())).await;
        let over = |screen: &Screen| left(screen) || screen.hold.is_none();
        let counted = match begun {
            Ok(_) => timeout(MAX_HOLD, self.until(over))
                .await
                .ok()
                .transpose()?
                .is_some_and(|screen| left(&screen)),
            Err(_) => false,
        };
        self.edge(Approve, Edge::Released).await?;
        Ok(counted)
    }

    async fn press(&mut self, button: Button, length: Duration) -> Result<(), PersonError> {
        self.edge(button, Edge::Pressed).await?;
        sleep(length).await;
        self.edge(button, Edge::Released).await
    }

    async fn edge(&mut self, button: Button, edge: Edge) -> Result<(), PersonError> {
        self.buttons.send((button, edge)).await.map_err(|_| PersonError::Stopped)
    }

    async fn until(&mut self, wanted: impl FnMut(&Screen) -> bool) -> Result<Screen, PersonError> {
        self.screens.wait_for(wanted).await.map(|screen| screen.clone()).map_err(|_| PersonError::Stopped)
    }
}
