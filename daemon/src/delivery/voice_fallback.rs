//! A recording that the hub made of words, and the words: where a platform refuses the one for good, the other goes.
//!
//! Platforms refuse recordings that they would take from somebody else: people on Telegram may forbid them, a file may be too
//! long there. Both requests are planned at once and stored as one, so both are what a person approved, who has read the
//! words. They go under one key: where that makes a second delivery harmless, it does so for whichever of the two arrived.
//! Words that are more than one message there were spoken as several recordings.
//!
//! A recording of the message's own text needs no words in its place: the text has gone before it, and sent again it would
//! stand there twice.

use serde_json::{Value, json};

use crate::{
    channels::{Adapter, Attempt, Delivered, Failure, PartKey, Redelivery},
    message::recipients::Recipients,
};

/// The members of a stored request of this kind. No adapter's own has them.
const RECORDING: &str = "recording";
const WORDS: &str = "or_words";
/// Instead of [`WORDS`].
const TEXT_BEFORE: &str = "or_text_before";

/// The request for a recording, and the one for its words.
pub(crate) fn planned(recording: &Value, words: &Value) -> Value {
    json!({RECORDING: recording, WORDS: words})
}

/// The request for a recording of the text that goes before it.
pub(crate) fn repeating(recording: &Value) -> Value {
    json!({RECORDING: recording, TEXT_BEFORE: true})
}

/// A stored request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planned<'a> {
    /// What goes.
    request: &'a Value,
    /// What goes where that is refused for good.
    words: Option<&'a Value>,
    /// Whether the text before it says the same.
    repeats_text: bool,
}

/// What arrived of a part.
pub(super) struct Arrived {
    /// The platform's id of it; none where the text before it stands in for it.
    pub(super) id: Option<String>,
    /// What is to be said of how, where it is not as it was asked for.
    pub(super) note: Option<String>,
    /// Whom it reached, where it went to several people.
    pub(super) recipients: Option<Recipients>,
}

impl From<Delivered> for Arrived {
    fn from(Delivered { id, note, recipients }: Delivered) -> Self {
        Self { id: Some(id), note, recipients }
    }
}

impl<'a> Planned<'a> {
    pub(crate) fn read(request: &'a Value) -> Self {
        match (request.get(RECORDING), request.get(WORDS), request.get(TEXT_BEFORE)) {
            (Some(request), words @ Some(_), None) => Self { request, words, repeats_text: false },
            (Some(request), None, Some(_)) => Self { request, words: None, repeats_text: true },
            _ => Self { request, words: None, repeats_text: false },
        }
    }

    /// The request that goes first.
    pub(crate) fn first(self) -> &'a Value {
        self.request
    }

    /// What makes a second delivery harmless, whichever of the two the first one was.
    pub(super) fn redelivery(self, adapter: &dyn Adapter) -> Redelivery {
        let one = adapter.redelivery(self.request);
        match (one, self.words.map(|words| adapter.redelivery(words))) {
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
    pub(super) fn may_resend(self, adapter: &dyn Adapter) -> bool {
        adapter.may_resend(self.request) && self.words.is_none_or(|words| adapter.may_resend(words))
    }

    /// Asks the platform whether either arrived.
    pub(super) async fn find(
        self,
        adapter: &dyn Adapter,
        attempt: &Attempt<'_>,
    ) -> Result<Option<Delivered>, Failure> {
        for (request, note) in [(Some(self.request), None), (self.words, Some(WENT_AS_TEXT))] {
            if let Some(request) = request
                && let Some(id) = adapter.find(request, attempt).await?
            {
                return Ok(Some(Delivered { note: note.map(str::to_owned), ..Delivered::from(id) }));
            }
        }
        Ok(None)
    }

    /// Performs it. `open` says that an earlier request may have arrived: the words do not go after a recording of which
    /// nobody knows.
    pub(super) async fn deliver(
        self,
        adapter: &dyn Adapter,
        key: &PartKey,
        open: bool,
    ) -> Result<Arrived, Failure> {
        let refused = match (adapter.deliver_with_details(self.request, key).await, self.words) {
            (Ok(delivered), _) => {
                let remark = || adapter.remark(self.request).map(str::to_owned);
                return Ok(Delivered { note: delivered.note.or_else(remark), ..delivered }.into());
            }
            (Err(Failure::Permanent(why)), None) if self.repeats_text && !open => {
                tracing::warn!(why, "a recording was refused; the text before it says the same");
                let note = Some(format!("{TEXT_STANDS}: {why}"));
                return Ok(Arrived { id: None, note, recipients: None });
            }
            (Err(Failure::Permanent(why)), Some(words)) if !open => (why, words),
            (Err(failure), _) => return Err(failure),
        };
        let (why, words) = refused;
        tracing::warn!(why, "a recording was refused; its words go as text");
        match adapter.deliver_with_details(words, key).await {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapters_own_request_is_read_as_it_is() {
        for request in [json!({"method": "sendVoice"}), json!("text"), json!({"recording": 1})] {
            let planned = Planned::read(&request);
            assert!(
                planned.request == &request && planned.words.is_none() && !planned.repeats_text,
                "{request}"
            );
        }
        let repeating = repeating(&json!({"a": 1}));
        let read = Planned::read(&repeating);
        assert!(read.request == &json!({"a": 1}) && read.words.is_none() && read.repeats_text);
        let both = planned(&json!({"a": 1}), &json!({"b": 2}));
        let read = Planned::read(&both);
        assert_eq!((read.request, read.words), (&json!({"a": 1}), Some(&json!({"b": 2}))));
    }
}
