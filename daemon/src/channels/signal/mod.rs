//! Signal: one account of a signal-cli daemon, over its JSON-RPC interface on HTTP.
//!
//! - `target`: addresses and ids; `request`: what a message becomes;
//! - `client`: the requests and their order; `classify`: what an error means; `reached`: whom a group's message reached;
//! - `version`: what an older signal-cli lacks;
//! - [`receive`]: what people write to the account.
//!
//! A message's id is the time at which signal-cli sent it; until it answers nobody knows that time, and nothing finds the
//! message again. So a lost answer to a new message is unknown. What is done to a message that is there (a reaction, another
//! text, its removal) comes to the same when it is done twice.
//!
//! The daemon has no login of its own: whoever reaches it writes as its accounts. Let it listen on this machine, or put
//! something in front of it that asks who comes.

pub(super) mod classify;
mod client;
#[cfg(test)]
pub(super) mod contract;
mod directory;
mod lookup;
pub(super) mod profile;
mod reached;
pub mod receive;
mod request;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod spellings;
mod target;
mod version;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::Deserialize;

pub(in crate::channels) use self::target::person_id;
use self::{
    client::Client,
    profile::{CAPABILITIES, WITHOUT_POLLS},
    receive::{Listener, TYPING, Tempo},
    request::Request,
};
use super::{
    Adapter, Capabilities, Delivered, Failure, IdScope, NotReady, OperationRequest, OutgoingPart, PartKey,
    RateHints, Receiver, Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    hub_handle::HubHandle,
    identity::{Identity, Spelling, Unidentified},
    kit::http::{Answer, Decode, Reader, Verdict, base::Base},
    receiver::Hearing,
};
use crate::{files::kept::Kept, message::target::Target};

/// How long after one question for its version a signal-cli that did not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_mins(1);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    url: String,
    account: String,
    #[serde(default)]
    receive: bool,
}

struct Signal {
    client: Client,
    account: String,
    kept: Kept,
    /// Where the account hears what people write.
    listener: Option<Listener>,
}

/// What the answers of its platform mean, each as a function of the answer alone: any answer is tried on all of them.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] = &[
    ("person", |reader, answer| sent(reader, answer, false)),
    ("group", |reader, answer| sent(reader, answer, true)),
];

fn sent(reader: &Reader, answer: &Answer, group: bool) -> Result<String, Verdict> {
    classify::decode(reader, answer, "send", group).map(|result| result["timestamp"].to_string())
}

/// Opens an account. Connects to nothing.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let url = Base::parse("url", &settings.url).map_err(OpenError::Invalid)?;
    // signal-cli finds an account by its number and by nothing else (`MultiAccountManagerImpl.getManager`).
    let account = target::canonical(&settings.account)
        .ok()
        .filter(|account| account.starts_with('+'))
        .ok_or_else(|| {
            OpenError::Invalid(
                "account: write its number, such as +4915112345678, by which signal-cli knows it".into(),
            )
        })?;
    Ok(Arc::new(Signal {
        client: Client::new(opening.http, url, account.clone()),
        account,
        kept: Kept::of(&opening.store),
        listener: settings.receive.then(|| Listener::new(opening.account, Tempo::USUAL)),
    }))
}

#[async_trait]
impl Adapter for Signal {
    fn capabilities(&self) -> &'static Capabilities {
        match self.client.version() {
            Some(version) if version < version::POLLS => &WITHOUT_POLLS,
            _ => &CAPABILITIES,
        }
    }

    fn flavour(&self) -> crate::render::Flavour {
        profile::FORMAT.flavour
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        target::canonical(address).map_err(TargetError::at(CAPABILITIES.channel, address))
    }

    fn repeats_quotes(&self) -> bool {
        true
    }

    /// A person is their account's UUID (ACI): a number may be given to somebody else, and a user name be taken by one.
    fn identity(&self, address: &str) -> Spelling {
        if target::is_name(address) {
            return Spelling::LookUp;
        }
        match address.starts_with('+') || address.starts_with("u:") {
            true => Spelling::Ask,
            false => Spelling::known(address),
        }
    }

    fn is_name(&self, address: &str) -> bool {
        target::is_name(address)
    }

    /// By a number or a UUID: a user name can be taken by another.
    fn is_mentionable(&self, id: &str) -> bool {
        target::person(id).is_some_and(|person| person.eq_ignore_ascii_case(id))
    }

    async fn identify(&self, address: &str) -> Result<Identity, Unidentified> {
        match target::is_name(address) {
            true => self.client.named(address).await,
            false => self.client.account_of(address).await,
        }
    }

    fn scope(&self, _: &str) -> IdScope {
        // A message is its author and its time, and a device takes a removal from anywhere: Signal-Android finds what is to go by
        // these two alone (`DataMessageProcessor.handleRemoteDelete`), in whichever conversation.
        IdScope::Account
    }

    fn recorded_as(&self, _: &str, message: &str) -> Vec<String> {
        target::recorded_as(&self.account, message)
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        let who = self.client.who_am_i().await.map_err(NotReady)?;
        // Messages go all the same.
        let trouble = self.listener.as_ref().and_then(Listener::trouble);
        Ok(trouble.into_iter().fold(who, |who, trouble| format!("{who}; {trouble}")))
    }
}

#[async_trait]
impl Sender for Signal {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        request::compose(&self.account, outgoing)
    }

    fn compose_operation(&self, op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
        request::compose_operation(&self.account, op, |author| self.client.is_self(author))
    }

    fn revise(&self, request: &mut Request, newest: &str) {
        request::revise(request, newest);
    }

    fn keeping(&self, request: Request, made: &Request) -> Request {
        request::keeping(request, made)
    }

    async fn deliver(
        &self,
        request: &Request,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        let performed = self.client.perform(&key.0, request, &self.kept, hints).await?;
        let params = &request.params;
        // An edit has a time of its own, which the next one names.
        let Some(time) = params["targetTimestamp"].as_u64().or(performed.result["timestamp"].as_u64()) else {
            return Err(Failure::Unknown("signal-cli said yes, but not as which message".into()));
        };
        let own = |author: &&str| self.client.is_self(author) == Some(true);
        let id = match params["targetAuthor"].as_str().filter(|author| !own(author)) {
            Some(author) => format!("{author}/{time}"),
            None => time.to_string(),
        };
        let note = if params["voiceNote"] == true { self.voice_note_is_a_file(hints).await } else { None };
        Ok(Delivered { note, recipients: performed.recipients, ..Delivered::from(id) })
    }

    fn redelivery(&self, request: &Request) -> Redelivery {
        if request.is_new() { Redelivery::Never } else { Redelivery::SEEN_ONCE }
    }
}

#[async_trait]
impl Receiver for Signal {
    fn hearing(&self) -> Option<Hearing> {
        self.listener.as_ref().map(Listener::hearing)
    }

    async fn listen(&self, hub: &dyn HubHandle) {
        if let Some(listener) = &self.listener {
            return listener.listen(&self.client, hub).await;
        }
        while self.client.learn_version(&mut RateHints::default()).await.is_none() {
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    async fn leave(&self) {
        if let Some(listener) = &self.listener {
            listener.leave().await;
        }
    }

    fn typing_lasts(&self) -> Option<Duration> {
        Some(TYPING)
    }

    async fn show_typing(&self, conversation: &Target) {
        self.client.show_typing(&conversation.address).await;
    }

    async fn mark_read(&self, _: &Target, message: &str) {
        self.client.mark_read(message).await;
    }
}

impl Signal {
    /// What is said of a voice note that an older signal-cli sent.
    async fn voice_note_is_a_file(&self, hints: &mut RateHints) -> Option<String> {
        let version =
            self.client.learn_version(hints).await.filter(|version| *version < version::VOICE_NOTES)?;
        let since = version::VOICE_NOTES;
        Some(format!("signal-cli {version} sent the voice note as a file; {since} and later send it as one"))
    }
}
