//! iMessage: an account on a Mac, by a BlueBubbles server or by the program `imsg`.
//!
//! Both drive Apple's Messages; neither recognises a message that comes twice, so neither is ever given one a second time.
//! Both are asked, for texts, whether a lost one arrived: what is not seen is unknown.
//!
//! - `target`: addresses; `request`: what a message becomes for either;
//! - `caf`: a voice note as Messages plays it;
//! - `bluebubbles`, `chats` and `api`: the server; `imsg`, `rpc` and `program`: the program, here or by ssh;
//! - [`receive`]: what people write, by either; `receiver`: by which door.

pub(super) mod answer;
mod api;
mod bluebubbles;
pub mod caf;
mod chats;
#[cfg(test)]
pub(super) mod contract;
pub(super) mod imsg;
pub(super) mod profile;
mod program;
pub mod receive;
mod receiver;
mod request;
mod rpc;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod spellings;
mod target;

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

pub(in crate::channels) use self::target::person_id;
use self::{
    bluebubbles::Server,
    imsg::Imsg,
    profile::{PLAIN, PRIVATE, REMOTE},
    program::Program,
    receive::{Listener, Tempo},
    request::{Request, ServerRequest},
};
use super::{
    Adapter, Attempt, Capabilities, Delivered, Failure, IdScope, Located, NotReady, OperationRequest,
    OutgoingPart, PartKey, RateHints, Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    identity::{Identity, Spelling, Unidentified},
    kit::http::{Decode, base::Base, token::Token},
};
use crate::{files::kept::Kept, settings::secret::SecretSource};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Bluebubbles,
    Imsg,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    kind: Kind,
    url: Option<String>,
    password: Option<SecretSource>,
    #[serde(default = "yes")]
    private_api: bool,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    ssh: Vec<String>,
    #[serde(default)]
    receive: bool,
    webhook_secret: Option<SecretSource>,
}

fn yes() -> bool {
    true
}

enum Bridge {
    Server { server: Server, private: bool },
    Program { imsg: Imsg, remote: bool },
}

struct IMessage {
    bridge: Bridge,
    kept: Kept,
    /// What keeps it receiving, if it is to.
    listener: Option<Listener>,
    /// The secret that a BlueBubbles server sends with its webhooks.
    webhook: Option<Token>,
}

/// What the answers of its platform mean, each as a function of the answer alone: any answer is tried on all of them.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] =
    &[("BlueBubbles", |reader, answer| match answer.status.is_success() {
        true => answer::sent(&answer.body),
        false => Err(answer::verdict(reader, answer)),
    })];

/// What a line of `imsg rpc` says to its first call, if it is an answer at all.
pub fn imsg_line(line: &[u8]) -> Option<Result<Value, Failure>> {
    let said = answer::line(line, 1)?;
    Some(said.map_err(|error| imsg::classify(&error)))
}

/// Opens an account. Connects to nothing.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let missing =
        |key: &str| OpenError::Invalid(format!("{key} is missing, which this kind of account needs"));
    let (receive, platform) = match settings.kind {
        Kind::Bluebubbles => (settings.receive, "BlueBubbles"),
        Kind::Imsg => (settings.receive, "imsg"),
    };
    let webhook = match settings.webhook_secret {
        Some(_) if settings.kind == Kind::Imsg => {
            return Err(OpenError::Invalid(
                "webhook_secret is for BlueBubbles: imsg says by itself that something came".into(),
            ));
        }
        Some(_) if !receive => {
            return Err(OpenError::Invalid("webhook_secret needs receive = true, or leave it out".into()));
        }
        secret => secret.map(Token::read).transpose()?,
    };
    let bridge = match settings.kind {
        Kind::Bluebubbles => {
            let url = Base::parse("url", &settings.url.ok_or_else(|| missing("url"))?)
                .map_err(OpenError::Invalid)?;
            let password = Token::read(settings.password.ok_or_else(|| missing("password"))?)?;
            Bridge::Server { server: Server::new(opening.http, url, password), private: settings.private_api }
        }
        Kind::Imsg => {
            if settings.command.first().is_none_or(String::is_empty) {
                return Err(missing("command"));
            }
            let remote = !settings.ssh.is_empty();
            let program = Program { command: settings.command, ssh: settings.ssh };
            let folder = opening.store.directory().join("imsg").join(opening.account);
            Bridge::Program { imsg: Imsg::new(program, folder), remote }
        }
    };
    let listener = receive.then(|| Listener::new(platform, opening.account, Tempo::USUAL));
    Ok(Arc::new(IMessage { bridge, kept: Kept::of(&opening.store), listener, webhook }))
}

fn changed() -> Failure {
    Failure::Permanent("the account has changed its kind since this message was stored".into())
}

#[async_trait]
impl Adapter for IMessage {
    fn capabilities(&self) -> &'static Capabilities {
        match self.bridge {
            Bridge::Server { private: true, .. } => &PRIVATE,
            Bridge::Server { .. } | Bridge::Program { remote: false, .. } => &PLAIN,
            Bridge::Program { remote: true, .. } => &REMOTE,
        }
    }

    fn flavour(&self) -> crate::render::Flavour {
        profile::FORMAT.flavour
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        target::canonical(address).map_err(TargetError::at(PLAIN.channel, address))
    }

    /// By which service a message goes is not who it goes to: all conversations with one handle are one.
    fn identity(&self, address: &str) -> Spelling {
        target::identity(address).map_or(Spelling::Ask, Spelling::known)
    }

    async fn identify(&self, address: &str) -> Result<Identity, Unidentified> {
        Err(Unidentified::not_known(format!(
            "{address} is neither a number, a mailbox nor a group: {}",
            target::HINT
        )))
    }

    fn held_with(&self, identity: &str) -> Vec<String> {
        target::held_with(identity)
    }

    fn recipient<'a>(&self, identity: &'a str, written_as: Option<&'a str>) -> &'a str {
        written_as.unwrap_or(identity)
    }

    fn scope(&self, _: &str) -> IdScope {
        // A GUID is the account's, and the server finds the chat by it (`MessageRouter.edit`, `MessageRouter.unsend` of
        // `messageRouter.ts`, BlueBubbles 1.9.9).
        IdScope::Account
    }

    async fn locate(&self, address: &str, message: &str) -> Result<Located, Failure> {
        match &self.bridge {
            Bridge::Server { server, .. } => server.locate(address, message).await,
            Bridge::Program { .. } => Ok(Located::Unknown),
        }
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        let ready = match &self.bridge {
            Bridge::Server { server, private } => server.who_am_i(*private).await,
            Bridge::Program { imsg, .. } => imsg.who_am_i().await,
        };
        // Messages go all the same.
        let hears = self.listener.as_ref().map(|listener| listener.hearing().standing);
        ready.map(|who| hears.into_iter().fold(who, |who, hears| format!("{who}; {hears}"))).map_err(NotReady)
    }
}

#[async_trait]
impl Sender for IMessage {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        match self.bridge {
            Bridge::Server { private, .. } => request::bluebubbles(outgoing, private),
            Bridge::Program { .. } => Ok(request::imsg(outgoing)),
        }
    }

    fn compose_operation(&self, op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
        match self.bridge {
            Bridge::Server { private: true, .. } => request::compose_operation(op),
            _ => None,
        }
    }

    async fn deliver(
        &self,
        request: &Request,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        let note = request.note();
        match (&self.bridge, request) {
            (Bridge::Server { server, .. }, Request::BlueBubbles(request)) => {
                let sent = server.send(request, key, &self.kept, hints).await?;
                Ok(Delivered { note: sent.note.or(note), ..Delivered::from(sent.id) })
            }
            (Bridge::Program { imsg, .. }, Request::Imsg(request)) => {
                let id = imsg.send(request, key, &self.kept).await?;
                Ok(Delivered { note, ..Delivered::from(id) })
            }
            _ => Err(changed()),
        }
    }

    /// "Do not retry", says `imsg` of an outcome that it does not know (openclaw/imsg, docs/send.md).
    fn may_resend(&self, request: &Request) -> bool {
        matches!(request, Request::BlueBubbles(_))
    }

    fn redelivery(&self, request: &Request) -> Redelivery {
        let is_text = match request {
            Request::BlueBubbles(ServerRequest { of: Some(_), .. }) => return Redelivery::SEEN_ONCE,
            Request::BlueBubbles(request) => request.file.is_none() && request.text("message").is_some(),
            Request::Imsg(request) => request.file.is_none() && request.text.is_some(),
        };
        // Neither recognises what comes again, and what is not seen may be on its way.
        if is_text { Redelivery::Look } else { Redelivery::Never }
    }

    async fn find(
        &self,
        request: &Request,
        attempt: &Attempt<'_>,
        hints: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        match (&self.bridge, request) {
            (Bridge::Program { imsg, .. }, Request::Imsg(request)) => imsg.find(request, attempt).await,
            (Bridge::Server { server, .. }, Request::BlueBubbles(request)) => {
                server.find(request, attempt, hints).await
            }
            _ => Err(changed()),
        }
    }

    async fn position(&self, request: &Request, hints: &mut RateHints) -> Result<Option<String>, Failure> {
        match (&self.bridge, request) {
            (Bridge::Program { imsg, .. }, Request::Imsg(request)) => imsg.position(request).await,
            (Bridge::Server { server, .. }, Request::BlueBubbles(request)) => {
                server.position(request, hints).await
            }
            _ => Err(changed()),
        }
    }
}
