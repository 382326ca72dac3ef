//! What an answer means, decided by the answer alone.
//!
//! Decoding asks nobody and changes nothing, so that any bytes can be tried on it without a socket: a [`Reader`] knows whose words they
//! are and which secrets must not be repeated, and the outcome is a value or a [`Verdict`]. What is to be done about a verdict, such
//! as to note a limit or to read a refused token anew, [`Http::settle`](super::Http::settle) does afterwards.

use std::time::Duration;

use super::{Answer, masked};
use crate::{channels::limits::Scope, settings::secret::Secret};

/// The longest words of a server that are passed on, in characters.
pub(super) const MAX_WORDS: usize = 300;

/// Reads the answers of one platform.
#[derive(Debug, Clone)]
pub struct Reader {
    platform: &'static str,
    secrets: Vec<Secret>,
}

/// What an answer that says no means for the request. Its words are the platform's, bounded and without a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It was not done, and may be later.
    Retry(String),
    /// The platform said when to come back.
    Wait {
        /// Whom the limit counts, where it is one.
        by: Option<Scope>,
        /// How long to wait at least.
        after: Duration,
        /// The platform's words.
        why: String,
    },
    /// It was not done and never will be.
    Permanent(String),
    /// It may have been done.
    Unknown(String),
    /// The token is refused: there may be a new one.
    Token(String),
}

/// What an answer says: the id of what was made, or why there is none.
pub type Decode = fn(&Reader, &Answer) -> Result<String, Verdict>;

impl Verdict {
    /// On a question: whether it arrived does not matter, it is asked again.
    #[must_use]
    pub fn harmless(self) -> Self {
        match self {
            Self::Unknown(why) => Self::Retry(why),
            verdict => verdict,
        }
    }
}

impl Reader {
    /// One that reads what `platform` says, for people `the homeserver`, and never repeats `secret`.
    pub fn new(platform: &'static str, secret: Secret) -> Self {
        Self { platform, secrets: vec![secret] }
    }

    /// The same, which does not repeat this either.
    #[must_use]
    pub fn hiding(mut self, secret: Secret) -> Self {
        self.secrets.push(secret);
        self
    }

    /// Words from outside, on one line, bounded, without the secrets.
    pub fn words(&self, text: &str) -> String {
        // A platform on this machine may ask for none.
        let text = self.secrets.iter().fold(text.to_owned(), |text, secret| masked(&text, secret.expose()));
        let text = text.replace(char::is_control, " ");
        match text.char_indices().nth(MAX_WORDS) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        }
    }

    /// That the platform answered with this status, and its words, if it has any.
    pub fn answered(&self, status: u16, words: &str) -> String {
        let platform = self.platform;
        match self.words(words) {
            words if words.trim().is_empty() => format!("{platform} answered {status}"),
            words => format!("{platform} answered {status}, {words}"),
        }
    }

    /// What an answer means that says no, by its status alone; `said` are the platform's words, `by` whom a limit without a
    /// name of its own counts. What a platform's own codes say goes before it.
    pub fn classify(&self, answer: &Answer, said: &str, by: Scope) -> Verdict {
        let status = answer.status.as_u16();
        let said = self.answered(status, said);
        match status {
            429 => match answer.retry_after {
                Some(after) => Verdict::Wait { by: Some(by), after, why: said },
                None => Verdict::Retry(said),
            },
            // It never got the request as a whole (RFC 9110 §15.5.9).
            408 => Verdict::Retry(said),
            // "currently unable to handle the request" (§15.6.4), if it is the platform that says so, as it speaks, or names
            // a time. A proxy gives the same status where the line behind it broke.
            503 => match (answer.retry_after, answer.body.is_object()) {
                (Some(after), _) => Verdict::Wait { by: None, after, why: said },
                (None, true) => Verdict::Retry(said),
                (None, false) => Verdict::Unknown(said),
            },
            // Something kept it from doing all of it (§15.6.1), or who stands before it got no answer (§15.6.3, §15.6.5): how
            // far the request came nobody says. Under a key it goes again, and a question settles it, as after a silence.
            500..=599 => Verdict::Unknown(said),
            400..=499 => Verdict::Permanent(said),
            300..=399 => {
                Verdict::Permanent(format!("{said}; set the address of {} to where it points", self.platform))
            }
            _ => Verdict::Unknown(said),
        }
    }
}
