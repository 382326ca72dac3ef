//! Channels: how a message leaves the house.
//!
//! An [`Adapter`] is one account on one platform. It knows its platform and nothing of the queue. How it sends is its
//! [`Sender`]: `compose` turns a rendered part into the platform's request without credentials, and `deliver` performs exactly
//! that request. Between the two the request is stored, in an [`envelope`], hashed into the approval document and shown to a
//! person; that is why they are apart, and why `deliver` must not change what it is given. What it hears is its [`Receiver`].
//!
//! A channel is a folder here, and a line in [`registry`]: its `profile` (keys of the configuration, capabilities, format and
//! limits), its set-up guide, how it makes requests and performs them, and a contract, which says what its platform answers in
//! each case and by which all are tested alike. `cargo xtask new-channel` begins one. What several channels share is in [`kit`]:
//! one that speaks HTTP does so by [`kit::http`], which notes the limits that answers tell of in the delivery's [`RateHints`]. The other modules
//! here are what the rest of the hub knows of channels.

pub mod account;
pub mod attempt;
pub mod callback;
pub mod capabilities;
pub mod discord;
pub mod email;
pub mod envelope;
pub mod fingerprint;
pub mod formats;
pub mod googlechat;
pub mod guide;
pub mod hub_handle;
pub mod identity;
pub mod imessage;
pub mod incoming;
pub mod kit;
pub mod limits;
pub mod local;
pub mod located;
pub mod matrix;
pub mod ntfy;
pub mod rate_hints;
pub mod received;
pub mod receiver;
pub mod registry;
pub mod sender;
pub mod signal;
pub mod slack;
pub mod teams;
pub mod telegram;
#[cfg(test)]
pub(crate) mod testing;
pub mod webhook;
pub mod whatsapp;

use std::{collections::HashSet, time::Duration};

use async_trait::async_trait;
pub use attempt::{Attempt, Delivered};
pub use capabilities::{Capabilities, DeliveryMode, EditForm, FileForm, FileRules};
use identity::{Identity, Spelling, Unidentified};
pub use located::{IdScope, Located};
pub use rate_hints::RateHints;
pub use receiver::Receiver;
pub use sender::{ErasedSender, PlatformRequest, Refused, Sender};

use crate::{
    message::{
        attachment::Attachment,
        operation::{Extras, Operation},
    },
    render::{Flavour, Part},
};

/// One rendered part and where it goes.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingPart<'a> {
    /// The address, as [`Adapter::recipient`] returned it.
    pub address: &'a str,
    /// The thread within the conversation.
    pub thread: Option<&'a str>,
    /// The platform id of the message being answered. Given for the first part only, but where answers are threads.
    pub reply_to: Option<&'a str>,
    /// What is known of the message being answered. Given wherever `reply_to` is, where something is known.
    pub quoted: Option<Quoted<'a>>,
    /// Without a notification.
    pub silent: bool,
    /// The message's first visible line, for platforms with a subject.
    pub headline: &'a str,
    /// The message that the part is of.
    pub source: Source<'a>,
    /// The part itself; without text only where files go along.
    pub part: &'a Part,
    /// Files that go along with it: none, one with those [beside](Adapter::beside) it, or all of them, as [`FileRules`] says.
    pub files: &'a [Attachment],
    /// What goes with the text, within the bounds of the [`Capabilities`]. Given for the last part with text only; for all
    /// others it is empty.
    pub extras: &'a Extras,
    /// Which part it is, counted from zero.
    pub index: usize,
    /// How many parts the message has.
    pub of: usize,
}

/// A message that is answered, as the hub knows it: one of its own, or one that it heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted<'a> {
    /// Who wrote it, as its platform or the bridge named them; nothing of one of the account's own.
    pub author: Option<&'a str>,
    /// What it says.
    pub text: &'a str,
}

/// The message that a part is of, for channels whose receivers are told of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Source<'a> {
    /// Its id; none in a dry run, where there is no message.
    pub id: Option<&'a str>,
    /// Whose it is.
    pub agent: &'a str,
    /// All of its text, as the agent wrote it or the hooks left it. Only where [`Capabilities::source`] says so is an approver
    /// shown this.
    pub markdown: &'a str,
}

/// Something else than a new text, and where it is done. The [`Capabilities`] have it, and it keeps within their bounds.
#[derive(Debug, Clone, Copy)]
pub struct OperationRequest<'a> {
    /// The address, as [`Adapter::recipient`] returned it. Of [`Operation::Presence`], `self`.
    pub address: &'a str,
    /// The thread within the conversation.
    pub thread: Option<&'a str>,
    /// The platform id of the message being answered, for a poll.
    pub reply_to: Option<&'a str>,
    /// Without a notification, for a poll.
    pub silent: bool,
    /// What is done; never [`Operation::Send`].
    pub operation: &'a Operation,
    /// The new text of [`Operation::Edit`], always there; the first message of [`Operation::Thread`], where there is one.
    pub part: Option<&'a Part>,
}

/// Names one part for good: the same at every attempt. 32 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartKey(pub String);

/// Whether a request may be sent again when nobody knows if the first one arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redelivery {
    /// The platform recognises the part's key and delivers it once, for this long.
    Keyed(Duration),
    /// The platform can be asked whether it arrived: [`Sender::find`].
    Ask,
    /// It can be looked for with [`Sender::find`]. If it is seen it arrived; if not, nobody knows.
    Look,
    /// It would arrive twice.
    Never,
}

impl Redelivery {
    /// Of what is seen once however often it is done: a reaction, a pin, an edit, a deletion. Platforms set no bound; after
    /// an hour somebody else may have changed it, and doing it again would undo that. Of a removal, [`kit::removals`] knows what
    /// a platform's second answer means.
    pub const SEEN_ONCE: Self = Self::Keyed(Duration::from_hours(1));
}

/// Why a part did not arrive, sorted by what the queue may do about it. Holds the platform's own words, no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It did not arrive, and may later: no connection, a temporary refusal.
    #[error("{0}")]
    Retry(String),
    /// The platform said when to come back. Spends no attempt.
    #[error("{why} (come back in {} s)", after.as_secs())]
    Wait {
        /// How long to wait at least.
        after: Duration,
        /// The platform's words.
        why: String,
    },
    /// It did not arrive and never will.
    #[error("{0}")]
    Permanent(String),
    /// The request may have arrived; no answer came.
    #[error("{0}")]
    Unknown(String),
    /// Only from [`Sender::find`]: the platform knows the request and says that it was not delivered.
    #[error("{0}")]
    NotDelivered(String),
}

impl Failure {
    /// The failure of a question: whether it arrived does not matter, it is asked again.
    #[must_use]
    pub fn harmless(self) -> Self {
        match self {
            Self::Unknown(why) => Self::Retry(why),
            failure => failure,
        }
    }
}

/// Characters of a refused address that its error repeats: enough to know it again.
const LONGEST_SHOWN: usize = 120;

/// Why a target is not one on this channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address:?} is not an address on {channel}: {hint}")]
pub struct TargetError {
    /// The channel.
    pub channel: &'static str,
    /// What was given.
    pub address: String,
    /// What to write instead.
    pub hint: &'static str,
}

impl TargetError {
    /// With the hint that the capabilities have.
    pub fn of(can: &'static Capabilities, address: &str) -> Self {
        Self::at(can.channel, address)(can.address_hint)
    }

    /// Makes a hint about this address the error.
    pub fn at(channel: &'static str, address: &str) -> impl Fn(&'static str) -> Self {
        move |hint| Self { channel, address: address.chars().take(LONGEST_SHOWN).collect(), hint }
    }
}

/// An address that is a name of at most 64 letters, digits and `signs`, for channels whose addresses are no more than that.
///
/// # Errors
/// It is none.
pub fn plain_name(can: &'static Capabilities, address: &str, signs: &str) -> Result<String, TargetError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
    let is_one = (1..=64).contains(&address.len()) && address.chars().all(fits);
    is_one.then(|| address.to_owned()).ok_or_else(|| TargetError::of(can, address))
}

/// The first of these names that comes a second time, for platforms on which each may come once.
pub fn twice<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

/// Why a channel is not ready, in words for the person who set it up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotReady(pub String);

/// One account on one platform.
#[async_trait]
pub trait Adapter: ErasedSender + Receiver {
    /// What the platform can do.
    fn capabilities(&self) -> &'static Capabilities;

    /// Whether its settings let it send anything: where one account does, messages that name none are its, however many others hear.
    fn sends(&self) -> bool {
        true
    }

    /// How text is rendered and split for this account: as its channel's [`format`](formats::Format) says, unless the account's
    /// settings say otherwise.
    fn flavour(&self) -> Flavour;

    /// Checks an address and returns its one canonical spelling. Who that is, [`identity`](Self::identity) tells.
    fn resolve(&self, address: &str) -> Result<String, TargetError>;

    /// The same for the id of a person, where that is told from a conversation's.
    fn resolve_person(&self, id: &str) -> Result<String, TargetError> {
        self.resolve(id)
    }

    /// The canonical spelling of an address, or of the id of a person where it is known to be one.
    fn spell(&self, address: &str, person: bool) -> Result<String, TargetError> {
        if person { self.resolve_person(address) } else { self.resolve(address) }
    }

    /// An address as targets are compared by it: the identity that its spelling tells, or else its canonical spelling, of which the
    /// platform is asked when a message is judged.
    fn canonical(&self, address: &str, person: bool) -> Result<String, TargetError> {
        let spelling = self.spell(address, person)?;
        Ok(match self.identity(&spelling) {
            Spelling::Known(identity) => identity.into(),
            Spelling::Ask | Spelling::LookUp => spelling,
        })
    }

    /// Whether a request repeats who wrote the message that it answers, and what that says.
    fn repeats_quotes(&self) -> bool {
        false
    }

    /// What an address that [`resolve`](Self::resolve) returned tells of who it is: see [`identity`]. Asks nobody.
    fn identity(&self, address: &str) -> Spelling;

    /// Whether an address is a name that people give, and may give to another: it is looked up whenever something goes there, and no
    /// list of the configuration may have it.
    fn is_name(&self, _address: &str) -> bool {
        false
    }

    /// Whether an id is one person's, in the spelling by which a text calls them there: neither a group's nor a conversation's.
    fn is_mentionable(&self, _id: &str) -> bool {
        false
    }

    /// Asks the platform who an address is whose spelling does not tell. Nobody sees the question, and it is answered soon or
    /// given up: whoever asks waits for seconds.
    async fn identify(&self, _address: &str) -> Result<Identity, Unidentified> {
        Err(Unidentified::not_known("this platform cannot be asked whose address it is"))
    }

    /// Identities whose entry of a `hold` list holds what is sent to this one, too.
    fn held_with(&self, _identity: &str) -> Vec<String> {
        Vec::new()
    }

    /// The address that a request names: the identity, unless the platform goes by an address as it was written. Only an
    /// address whose identity is known by its spelling may be used so, for any other may be somebody else's by then.
    fn recipient<'a>(&self, identity: &'a str, _written_as: Option<&'a str>) -> &'a str {
        identity
    }

    /// Where the platform looks for a message that is named so by a composed operation, or is answered by one of a
    /// composed part.
    fn scope(&self, message: &str) -> IdScope;

    /// How the hub may have recorded a message of this conversation that is named so: as it is, and by its other names.
    fn recorded_as(&self, _address: &str, message: &str) -> Vec<String> {
        vec![message.to_owned()]
    }

    /// Asks the platform where a message is: whether in this conversation, and in which thread of it. Changes nothing that
    /// anybody sees. Where [`scope`](Self::scope) says [`IdScope::Account`] and this tells nothing, only messages that the hub
    /// has sent or heard itself can be named.
    ///
    /// # Errors
    /// It could not be asked.
    async fn locate(&self, _address: &str, _message: &str) -> Result<Located, Failure> {
        Ok(Located::Unknown)
    }

    /// Whether a file goes in one request with those before it, where the platform shows several as one message.
    fn joins_album(&self, _files: &[Attachment], _file: &Attachment) -> bool {
        false
    }

    /// Asks the platform whether this account could send now; says as what.
    async fn check_ready(&self) -> Result<String, NotReady>;
}

/// Whether an account could send now: as what, or why not and where to look.
///
/// # Errors
/// It could not.
pub async fn ready(adapter: &dyn Adapter) -> Result<String, NotReady> {
    let can = adapter.capabilities();
    adapter.check_ready().await.map_err(|NotReady(why)| NotReady(can.mode.not_ready(can.channel, &why)))
}
