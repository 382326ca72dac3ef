//! A recording that the hub made of words, and the words: where a platform refuses the one for good, the other goes.
//!
//! Platforms refuse recordings that they would take from somebody else: people on Telegram may forbid them, a file may be too
//! long there. Both requests are planned at once and stored in one [`Envelope`], so both are what a person approved, who has read the
//! words. They go under one key: where that makes a second delivery harmless, it does so for whichever of the two arrived.
//! Words that are more than one message there were spoken as several recordings.
//!
//! A recording of the message's own text needs no words in its place: the text has gone before it, and sent again it would
//! stand there twice.

use crate::{
    channels::{
        Adapter, Attempt, Delivered, Failure, PartKey, PlatformRequest, RateHints, Redelivery,
        envelope::{Envelope, Fallback, Substitute},
        local,
        sender::Unreadable,
    },
    message::recipients::Recipients,
};

/// A part's stored request, read by its channel: once for all that an attempt asks of it.
pub(super) struct Planned<'a> {
    /// The request that is sent.
    request: Box<dyn PlatformRequest + 'a>,
    /// What goes if that is refused for good.
    fallback: Fallback<Substitute<Box<dyn PlatformRequest + 'a>>>,
}

/// What arrived of a part.
pub(super) struct Arrived {
    /// The platform's id of it; none where the text before it stands in for it.
    pub(super) id: Option<String>,
    /// What is to be said of how, where it is not as it was asked for.
    pub(super) note: Option<String>,
    /// Whom it reached, where it went to several people.
    pub(super) recipients: Option<Recipients>,
    /// What is written with its end, and gives it its id.
    pub(super) row: Option<local::Row>,
}

impl From<Delivered> for Arrived {
    fn from(Delivered { id, note, recipients, row }: Delivered) -> Self {
        Self { id: Some(id), note, recipients, row }
    }
}

impl<'a> Planned<'a> {
    /// Reads what is stored. What cannot be read is never sent, and says why if it is to be.
    pub(super) fn read(adapter: &'a dyn Adapter, stored: &str) -> Self {
        let Envelope { request, fallback } = match Envelope::read(stored) {
            Ok(envelope) => envelope,
            Err(why) => {
                let request = Box::new(Unreadable(why.to_string()));
                return Self { request, fallback: Fallback::default() };
            }
        };
        let fallback = fallback.map(|substitute| match substitute {
            Substitute::Request(words) => Substitute::Request(adapter.read(&words)),
            Substitute::TextBefore => Substitute::TextBefore,
        });
        Self { request: adapter.read(&request), fallback }
    }

    /// The words, as another request.
    fn words(&self) -> Option<&(dyn PlatformRequest + 'a)> {
        match self.fallback.get()? {
            Substitute::Request(words) => Some(words.as_ref()),
            Substitute::TextBefore => None,
        }
    }

    /// Has it name the newest revision of what it is done to.
    pub(super) fn revise(&mut self, newest: &str) {
        self.request.revise(newest);
    }

    /// Where the conversation stands before the request leaves.
    pub(super) async fn position(&self, hints: &mut RateHints) -> Result<Option<String>, Failure> {
        self.request.position(hints).await
    }

    /// What makes a second delivery harmless, whichever of the two the first one was.
    pub(super) fn redelivery(&self) -> Redelivery {
        match (self.request.redelivery(), self.words().map(PlatformRequest::redelivery)) {
            (one, None) => one,
            (Redelivery::Keyed(one), Some(Redelivery::Keyed(other))) => Redelivery::Keyed(one.min(other)),
            (Redelivery::Ask, Some(Redelivery::Ask)) => Redelivery::Ask,
            (Redelivery::Ask | Redelivery::Look, Some(Redelivery::Ask | Redelivery::Look)) => {
                Redelivery::Look
            }
            _ => Redelivery::Never,
        }
    }

    /// Whether it may go twice where its sender prefers that: each of the two requests may.
    pub(super) fn may_resend(&self) -> bool {
        self.request.may_resend() && self.words().is_none_or(PlatformRequest::may_resend)
    }

    /// Asks the platform whether either arrived.
    pub(super) async fn find(
        &self,
        attempt: &Attempt<'_>,
        hints: &mut RateHints,
    ) -> Result<Option<Delivered>, Failure> {
        if let Some(id) = self.request.find(attempt, hints).await? {
            return Ok(Some(id.into()));
        }
        let Some(words) = self.words() else { return Ok(None) };
        let found = words.find(attempt, hints).await?;
        Ok(found.map(|id| Delivered { note: Some(WENT_AS_TEXT.into()), ..Delivered::from(id) }))
    }

    /// Performs it. `open` says that an earlier request may have arrived: the words do not go after a recording of which
    /// nobody knows.
    pub(super) async fn deliver(
        &self,
        key: &PartKey,
        open: bool,
        hints: &mut RateHints,
    ) -> Result<Arrived, Failure> {
        let refused = match (self.request.deliver(key, hints).await, self.fallback.get()) {
            (Ok(delivered), _) => {
                let remark = || self.request.remark().map(str::to_owned);
                return Ok(Delivered { note: delivered.note.or_else(remark), ..delivered }.into());
            }
            (Err(Failure::Permanent(why)), Some(Substitute::TextBefore)) if !open => {
                tracing::warn!(why, "a recording was refused; the text before it says the same");
                let note = Some(format!("{TEXT_STANDS}: {why}"));
                return Ok(Arrived { id: None, note, recipients: None, row: None });
            }
            (Err(Failure::Permanent(why)), Some(Substitute::Request(words))) if !open => (why, words),
            (Err(failure), _) => return Err(failure),
        };
        let (why, words) = refused;
        tracing::warn!(why, "a recording was refused; its words go as text");
        match words.deliver(key, hints).await {
            Ok(delivered) => {
                Ok(Delivered { note: Some(format!("{WENT_AS_TEXT}: {why}")), ..delivered }.into())
            }
            // Both say the same where it is not the recording that is unwelcome.
            Err(Failure::Permanent(same)) if same == why => Err(Failure::Permanent(why)),
            Err(Failure::Permanent(other)) => {
                Err(Failure::Permanent(format!("{why}; and of its words as text: {other}")))
            }
            Err(failure) => Err(failure),
        }
    }
}

/// What the receipt says then.
const WENT_AS_TEXT: &str = "the recording was refused, and what it says was sent as text";
const TEXT_STANDS: &str = "the recording was refused; the text before it, which says the same, was sent";
