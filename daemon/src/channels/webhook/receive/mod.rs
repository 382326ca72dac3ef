//! What programs outside post to an account: a build server, a camera, an automation in the house.
//!
//! The invariants:
//!
//! - who sends is proved by a secret ([`proof`]), and by nothing that is said; an account without one takes nothing;
//! - what is said ([`body`]) is data of a [program](AuthorKind::Program) and never a person's words: it wakes an agent only where a
//!   route's pattern says so, and nobody is asked about it;
//! - a delivery that comes again under its id is the first one. Without an id it is known for a moment by all that it says.
//!
//! A program's words are never an owner's: who reads them may be misled by whoever writes what a program hands on, such as the title of
//! an issue. An account whose program hands on what strangers write says `trust = "unknown"`.

pub mod body;
pub(super) mod open;
pub mod proof;
#[cfg(test)]
mod tests;

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use reqwest::header::{HeaderMap, HeaderName};

use self::{body::Pointer, proof::Proof};
use crate::{
    channels::{
        incoming::{Incoming, NotTaken},
        received::{Author, AuthorKind, Conversation, Event, Received, Words},
    },
    clock,
    message::target::fits_an_id,
    rate_limit::bucket::{Bucket, Rate},
};

/// 30 a minute, all at once if it must be: as many as the router takes of anybody.
const RATE: Rate = Rate { burst: 30, every: Duration::from_secs(2) };
/// Where the id of a delivery stands if the settings do not say: as Standard Webhooks has it, or as many interfaces do
/// (<https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/>).
const USUAL_IDS: [&str; 2] = ["webhook-id", "idempotency-key"];
/// Which event GitHub tells of, which does not stand in the body
/// (<https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers>).
const GITHUB_EVENT: &str = "x-github-event";
/// The longest word for one, in characters; GitHub's own have some thirty.
const MAX_EVENT_CHARS: usize = 60;

/// What an account takes.
pub struct Taking {
    /// The account, by whose name it is posted to.
    pub account: String,
    /// What proves who sends.
    pub proof: Proof,
    /// Where the id of a delivery stands, if the settings say so.
    pub id_header: Option<HeaderName>,
    /// Where the text stands in what is said; all of it is the text where nothing stands here.
    pub text_at: Option<Pointer>,
    /// Whether it is trusted as somebody known is.
    pub trusted: bool,
    state: Mutex<State>,
}

struct State {
    bucket: Bucket,
    /// When something was taken last, in milliseconds since 1970.
    taken: Option<i64>,
    /// When something was refused last, and why.
    refused: Option<(i64, NotTaken)>,
}

impl Taking {
    /// Of an account, by this proof.
    pub fn new(account: &str, proof: Proof) -> Self {
        let state = State { bucket: Bucket::full(Instant::now()), taken: None, refused: None };
        let state = Mutex::new(state);
        Self { account: account.to_owned(), proof, id_header: None, text_at: None, trusted: true, state }
    }

    /// How it stands, for people.
    pub fn standing(&self) -> String {
        let State { taken, refused, .. } = *self.state();
        let mut said = format!("takes what is posted to /v1/hooks/{}", self.account);
        match taken {
            Some(at) => said.push_str(&format!(", last {}", clock::rfc3339(at))),
            None => said.push_str(", nothing since it was opened"),
        }
        // What is older has been mended.
        if let Some((at, why)) = refused.filter(|(at, _)| taken.is_none_or(|taken| taken < *at)) {
            said.push_str(&format!("; refused {}: {why}", clock::rfc3339(at)));
        }
        said
    }

    /// Reads a request, with this time as the hub's.
    ///
    /// # Errors
    /// It proves nothing, or nothing can be taken of it.
    pub fn take(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        (now, now_ms): (Instant, i64),
    ) -> Result<Received, NotTaken> {
        if !self.proof.holds(headers, body, now_ms / 1000) {
            return Err(NotTaken::Proof);
        }
        // Only what is proved counts: else whoever knows the address could keep others out.
        self.state().bucket.take(RATE, now).map_err(NotTaken::TooMany)?;
        let id = self.id(headers)?;
        let media = body::Media::of(headers).ok_or(NotTaken::Type)?;
        let mut text = body::text(media, body, self.text_at.as_ref()).ok_or(NotTaken::Body)?;
        if let (Proof::GitHub(_), None, Some(event)) =
            (&self.proof, &self.text_at, proof::one(headers, GITHUB_EVENT))
        {
            let event: String = event.chars().take(MAX_EVENT_CHARS).collect();
            text.insert_str(0, &format!("event: {event}\n"));
        }
        Ok(Received {
            key: id.clone().unwrap_or_default(),
            conversation: Conversation { address: self.account.clone(), ..Conversation::default() },
            author: Author {
                id: self.account.clone(),
                name: Some(self.account.clone()),
                kind: AuthorKind::Program,
                ..Author::default()
            },
            message_id: id,
            said_at: self.proof.said_at(headers),
            mentions_me: false,
            event: Event::Webhook(Words { text, ..Words::default() }),
        })
    }

    /// By what the sender names this delivery, if it does.
    fn id(&self, headers: &HeaderMap) -> Result<Option<String>, NotTaken> {
        let named = match (&self.proof, &self.id_header) {
            (Proof::Standard(_), _) => proof::one(headers, proof::ID),
            (_, Some(header)) => proof::one(headers, header.as_str()),
            (Proof::GitHub(_), None) => proof::one(headers, proof::GITHUB_DELIVERY),
            (Proof::Token(_), None) => USUAL_IDS.iter().find_map(|header| proof::one(headers, header)),
        };
        match named {
            Some(id) if id.is_empty() || !fits_an_id(id) => Err(NotTaken::Id),
            named => Ok(named.map(str::to_owned)),
        }
    }

    fn note(&self, why: NotTaken) -> NotTaken {
        let now = clock::now_ms();
        // How long somebody is to wait differs each time, and is no news.
        let is_new = |(_, before)| mem::discriminant(&before) != mem::discriminant(&why);
        if self.state().refused.replace((now, why)).is_none_or(is_new) {
            tracing::warn!(account = self.account, "what is posted is refused: {why}");
        }
        why
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Incoming for Taking {
    fn is_trusted(&self) -> bool {
        self.trusted
    }

    fn signs_body(&self) -> bool {
        !matches!(self.proof, Proof::Token(_))
    }

    fn admits(&self, headers: &HeaderMap) -> Result<(), NotTaken> {
        match self.proof.may_hold(headers, clock::now_ms() / 1000) {
            true => Ok(()),
            false => Err(self.note(NotTaken::Proof)),
        }
    }

    fn read(&self, headers: &HeaderMap, body: &[u8], now: Instant) -> Result<Received, NotTaken> {
        let now_ms = clock::now_ms();
        let taken = self.take(headers, body, (now, now_ms));
        if taken.is_ok() {
            self.state().taken = Some(now_ms);
        }
        taken.map_err(|why| self.note(why))
    }
}
