//! iMessage: an account on a Mac, by a BlueBubbles server or by the program `imsg`.
//!
//! Both drive Apple's Messages; neither recognises a message that comes twice, so neither is ever given one a second time.
//! Both are asked, for texts, whether a lost one arrived: what is not seen is unknown.
//!
//! - `target`: addresses; `request`: what a message becomes for either;
//! - `caf`: a voice note as Messages plays it;
//! - `bluebubbles` and `chats`: the server; `imsg`, `rpc` and `program`: the program, here or by ssh.

pub(super) mod answer;
mod bluebubbles;
pub mod caf;
mod chats;
#[cfg(test)]
pub(super) mod contract;
pub(super) mod imsg;
mod program;
mod request;
mod rpc;
#[cfg(test)]
mod scenarios;
mod target;

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;

use self::{
    bluebubbles::Server,
    imsg::Imsg,
    program::Program,
    request::{Request, ServerRequest},
};
use super::{
    Adapter, Attempt, Capabilities, Delivered, Failure, FileForm, FileRules, IdScope, Located, NotReady,
    OperationRequest, OutgoingPart, PartKey, Receiver, Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    capabilities::DeliveryMode,
    http::{base::Base, token::Token},
    identity::{Identity, Spelling, Unidentified},
};
use crate::{
    files::kept::Kept,
    message::action::Action,
    settings::{Key, example, key, secret::SecretSource},
};

/// `[channels.imessage.ACCOUNT]`.
pub const KEYS: &[Key] = &[
    key("kind", "\"bluebubbles\"", "\"bluebubbles\": a BlueBubbles server. \"imsg\": the program imsg."),
    example(
        "url",
        "\"https://mac.example.org:1234\"",
        "BlueBubbles: its address. With http:// its password crosses the network unprotected.",
    ),
    example("password", "\"file:secrets/bluebubbles\"", "BlueBubbles: the server's password.").no_identity(),
    key(
        "private_api",
        "true",
        "BlueBubbles: whether its Private API is set up. Replies, reactions, edits, removals and effects need it.",
    ).no_identity(),
    example(
        "command",
        "[\"/opt/homebrew/bin/imsg\"]",
        "imsg: the program, 0.9.0 or later, best 0.14.0; and arguments that come first.",
    ),
    example(
        "ssh",
        "[\"ssh\", \"-o\", \"BatchMode=yes\", \"-o\", \"ConnectTimeout=10\", \"me@mac.local\"]",
        "imsg: what brings the command to the Mac, where the hub runs elsewhere. Files cannot go that way.",
    ),
];

const INSTEAD: &[(Action, &str)] = &[
    (Action::Poll, "ask in a message"),
    (Action::Thread, "iMessage has no threads: use reply where the account has replies"),
    (Action::ThreadReply, "iMessage has no threads: use reply where the account has replies"),
    (Action::React, "answer in a message"),
    (Action::Edit, "send the correction as a message"),
    (Action::Delete, "send a correction as a message"),
    (Action::SendWithEffect, "send it without an effect"),
    (Action::Pin, "send it again"),
];

/// Messages takes files of 100 MB or so (<https://support.apple.com/guide/messages>); what is larger it refuses itself.
const FILES: FileRules = FileRules {
    max_size: 100 * 1024 * 1024,
    everywhere: None,
    max_together: u64::MAX,
    form: FileForm::Captioned,
    kinds: &[],
};

const PLAIN: Capabilities = Capabilities {
    channel: "imessage",
    address_hint: target::HINT,
    files: Some(FILES),
    instead: INSTEAD,
    mode: DeliveryMode::Gateway,
    ..Capabilities::PLAIN
};

const PRIVATE: Capabilities = Capabilities {
    replies: true,
    actions: &[Action::React, Action::Edit, Action::Delete],
    effects: request::EFFECTS,
    ..PLAIN
};

const REMOTE: Capabilities = Capabilities { files: None, ..PLAIN };

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
}

/// Opens an account. Connects to nothing.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let missing =
        |key: &str| OpenError::Invalid(format!("{key} is missing, which this kind of account needs"));
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
    Ok(Arc::new(IMessage { bridge, kept: Kept::of(&opening.store) }))
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
        match &self.bridge {
            Bridge::Server { server, private } => server.who_am_i(*private).await,
            Bridge::Program { imsg, .. } => imsg.who_am_i().await,
        }
        .map_err(NotReady)
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

    async fn deliver(&self, request: &Request, key: &PartKey) -> Result<Delivered, Failure> {
        let note = request.note();
        match (&self.bridge, request) {
            (Bridge::Server { server, .. }, Request::BlueBubbles(request)) => {
                let sent = server.send(request, key, &self.kept).await?;
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

    async fn find(&self, request: &Request, attempt: &Attempt<'_>) -> Result<Option<String>, Failure> {
        match (&self.bridge, request) {
            (Bridge::Program { imsg, .. }, Request::Imsg(request)) => imsg.find(request, attempt).await,
            (Bridge::Server { server, .. }, Request::BlueBubbles(request)) => {
                server.find(request, attempt).await
            }
            _ => Err(changed()),
        }
    }

    async fn position(&self, request: &Request) -> Result<Option<String>, Failure> {
        match (&self.bridge, request) {
            (Bridge::Program { imsg, .. }, Request::Imsg(request)) => imsg.position(request).await,
            (Bridge::Server { server, .. }, Request::BlueBubbles(request)) => server.position(request).await,
            _ => Err(changed()),
        }
    }
}

impl Receiver for IMessage {}
