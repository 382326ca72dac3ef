//! Matrix: one account on a homeserver, over the client-server API.
//!
//! A part's key is the request's transaction id, so the homeserver recognises a request that comes again and answers
//! with the event it made the first time; a lost answer therefore costs nothing while the server remembers. The
//! account must be a device of its own, for transaction ids belong to a device.
//!
//! An encrypted room is refused: this adapter holds no keys, and a plain event in such a room would go round the
//! encryption that its members rely on. A file is uploaded before its event leaves, every time that it is tried: a second
//! upload is in no room and nobody sees it. Aliases and names can be pointed elsewhere between the approval and the sending,
//! a room id cannot: they are looked up before anything is judged ([`target`]).
//!
//! What people write to the account is [`receive`]'s.

pub(super) mod answer;
mod client;
#[cfg(test)]
pub(super) mod contract;
mod media;
mod names;
mod operations;
pub(super) mod profile;
pub mod receive;
#[cfg(test)]
mod scenarios;
mod state;
mod target;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub(in crate::channels) use self::target::person_id;
use self::{
    client::Client,
    operations::Act,
    profile::CAPABILITIES,
    receive::{Receiving, TYPING, Tempo},
};
use super::{
    Adapter, Capabilities, Delivered, Failure, IdScope, Located, NotReady, OperationRequest, OutgoingPart,
    PartKey, RateHints, Receiver, Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    hub_handle::HubHandle,
    identity::{Identity, Spelling, Unidentified},
    kit::http::{Decode, base::Base, token::Token},
    receiver::Hearing,
    sender::members,
};
use crate::{
    files::kept::Kept,
    message::target::Target,
    render::{Flavour, Part},
    settings::secret::SecretSource,
};

/// For readers; the server would take more.
const DEFAULT_LIMIT: usize = match profile::FORMAT.flavour.limit {
    Some(limit) => limit,
    None => MAX_LIMIT,
};
/// An event has at most 65,536 bytes (<https://spec.matrix.org/v1.18/client-server-api/#size-limits>). A character takes
/// at most 4 bytes in each of `body` and `formatted_body`, or 2 and 6 where JSON and HTML escape it: 48,000 bytes in
/// all, which leaves 17,000 for markup and envelope.
const MAX_LIMIT: usize = 6000;
const MIN_LIMIT: usize = 200;

/// Synapse forgets transaction ids after 24 hours (`_cleanup_old_transaction_ids` in
/// `synapse/storage/databases/main/events_worker.py`); an hour less for clocks and requests that take their time.
const DEFAULT_RESEND: u64 = 23 * 60;

/// What the default push rules keep quiet: `.m.rule.suppress_notices`
/// (<https://spec.matrix.org/v1.18/client-server-api/#default-override-rules>).
const QUIET: &str = "m.notice";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    homeserver: String,
    token: SecretSource,
    #[serde(default = "default_limit")]
    limit: usize,
    #[serde(default = "default_resend")]
    resend_minutes: u64,
    #[serde(default)]
    receive: bool,
    #[serde(default)]
    join_invites_from: Vec<String>,
}

fn default_limit() -> usize {
    DEFAULT_LIMIT
}

fn default_resend() -> u64 {
    DEFAULT_RESEND
}

struct Matrix {
    client: Client,
    kept: Kept,
    limit: usize,
    resend: Duration,
    receiving: Receiving,
}

/// The user that a token is of, as far as it says: Synapse makes them as `syt_`, the name in base64, and what is secret
/// (`generate_access_token_for_user_id`, synapse/handlers/auth.py). Of any other server's, all of it.
fn user_of(token: &str) -> String {
    match token.strip_prefix("syt_").and_then(|rest| rest.split_once('_')) {
        Some((name, _)) if !name.is_empty() => format!("syt_{name}"),
        _ => token.to_owned(),
    }
}

/// What the answers of its platform mean, each as a function of the answer alone: any answer is tried on all of them.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] =
    &[("send", answer::sent), ("upload", answer::uploaded)];

/// Opens an account. Connects to nothing.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let homeserver = Base::parse("homeserver", &settings.homeserver).map_err(OpenError::Invalid)?;
    if !(MIN_LIMIT..=MAX_LIMIT).contains(&settings.limit) {
        return Err(OpenError::Invalid(format!(
            "limit: {} is not between {MIN_LIMIT} and {MAX_LIMIT}",
            settings.limit
        )));
    }
    if settings.resend_minutes > DEFAULT_RESEND {
        return Err(OpenError::Invalid(format!(
            "resend_minutes: no server is known to recognise a message for longer than {DEFAULT_RESEND} minutes"
        )));
    }
    let receiving =
        Receiving::new(opening.account, settings.receive, settings.join_invites_from, Tempo::USUAL)
            .map_err(OpenError::Invalid)?;
    Ok(Arc::new(Matrix {
        receiving,
        kept: Kept::of(&opening.store),
        client: Client::new(opening.http, homeserver, Token::read_with_identity(settings.token, user_of)?),
        limit: settings.limit,
        resend: Duration::from_secs(settings.resend_minutes * 60),
    }))
}

#[async_trait]
impl Adapter for Matrix {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn flavour(&self) -> Flavour {
        Flavour { limit: Some(self.limit), ..profile::FORMAT.flavour }
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        target::canonical(address).map_err(TargetError::at(CAPABILITIES.channel, address))
    }

    /// A room by its id. An alias, a person or a name only stands for one, and can stand for another tomorrow.
    fn identity(&self, address: &str) -> Spelling {
        match (target::tells(address), address.starts_with('!')) {
            (true, _) => Spelling::known(address),
            (false, true) => Spelling::Ask,
            (false, false) => Spelling::LookUp,
        }
    }

    fn is_name(&self, address: &str) -> bool {
        names::is_name(address)
    }

    fn is_mentionable(&self, id: &str) -> bool {
        target::is_person(id)
    }

    async fn identify(&self, address: &str) -> Result<Identity, Unidentified> {
        self.client.room_of(address).await
    }

    fn scope(&self, _: &str) -> IdScope {
        // An event relates to events of its own room alone, and so does a redaction
        // (<https://spec.matrix.org/v1.18/client-server-api/#forming-relationships-between-events>).
        IdScope::Conversation
    }

    async fn locate(&self, room: &str, event: &str) -> Result<Located, Failure> {
        self.client.locate(room, event).await
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        let who = self.client.who_am_i().await.map_err(NotReady)?;
        Ok(self.receiving.trouble().map_or(who.clone(), |trouble| format!("{who}; {trouble}")))
    }
}

#[async_trait]
impl Sender for Matrix {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        // A file's msgtype says what it is, and none of those is quiet.
        if outgoing.silent && !outgoing.files.is_empty() {
            return Err(Refused::because(
                "a file on Matrix always notifies: leave silent out, or send a link to it",
            ));
        }
        let mut content = json!({
            "msgtype": if outgoing.silent { QUIET } else { "m.text" },
            "body": body(outgoing.part),
            "m.mentions": mentions(outgoing.part),
        });
        if let Some(html) = &outgoing.part.html {
            content["format"] = json!("org.matrix.custom.html");
            content["formatted_body"] = json!(html);
        }
        if let Some(file) = outgoing.files.first() {
            media::describe(&mut content, file);
        }
        if let Some(relation) = relation(outgoing.thread, outgoing.reply_to) {
            content["m.relates_to"] = relation;
        }
        Ok(Event::new(outgoing.address, "m.room.message", content).into())
    }

    fn compose_operation(&self, op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
        operations::compose(op)
    }

    async fn deliver(
        &self,
        request: &Request,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        let Event { room, kind, mut content } = match request.clone() {
            Request::Act(act) => return self.client.perform(act, key, hints).await.map(Delivered::from),
            Request::Event(event) => event,
        };
        self.client.refuse_encrypted(&room, hints).await?;
        media::hand_over(&mut content, &self.kept, &self.client, hints).await?;
        self.client.send(&room, &kind, key, &content, hints).await.map(Delivered::from)
    }

    fn redelivery(&self, request: &Request) -> Redelivery {
        match request {
            Request::Act(_) => Redelivery::SEEN_ONCE,
            Request::Event(_) if self.resend.is_zero() => Redelivery::Never,
            Request::Event(_) => Redelivery::Keyed(self.resend),
        }
    }
}

#[async_trait]
impl Receiver for Matrix {
    fn hearing(&self) -> Option<Hearing> {
        self.receiving.hearing()
    }

    async fn listen(&self, hub: &dyn HubHandle) {
        self.receiving.keep(&self.client, hub).await;
    }

    fn typing_lasts(&self) -> Option<Duration> {
        Some(TYPING)
    }

    async fn show_typing(&self, conversation: &Target) {
        self.receiving.show_typing(&self.client, &conversation.address).await;
    }

    async fn mark_read(&self, conversation: &Target, message_id: &str) {
        self.client.mark_read(&conversation.address, message_id).await;
    }
}

/// What a part or an operation becomes. The two are told by their members: an [`Act`] has `do`, which no event has.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Request {
    /// What is no event.
    Act(Act),
    /// An event of a room.
    Event(Event),
}

/// An event of a room.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    room: String,
    #[serde(rename = "type")]
    kind: String,
    content: Map<String, Value>,
}

impl Event {
    fn new(room: &str, kind: &str, content: Value) -> Self {
        Self { room: room.to_owned(), kind: kind.to_owned(), content: members(content) }
    }
}

impl From<Event> for Request {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

/// Whom a text calls. An empty one says that it is nobody, whatever the text looks like
/// (<https://spec.matrix.org/v1.18/client-server-api/#user-and-room-mentions>).
fn mentions(part: &Part) -> Value {
    match part.mentions.as_slice() {
        [] => json!({}),
        people => json!({ "user_ids": people }),
    }
}

/// What programs show that know no markup, and what notifications read: without the text of spoilers. The specification would
/// have that uploaded and linked, and wants no program to have to (`#spoiler-messages`, MSC2557): a file outlives the message
/// that it belongs to, which nobody could take back then.
fn body(part: &Part) -> &str {
    part.preview.as_deref().unwrap_or(&part.text)
}

/// <https://spec.matrix.org/v1.18/client-server-api/#threading> and `#rich-replies`.
fn relation(thread: Option<&str>, reply_to: Option<&str>) -> Option<Value> {
    match (thread, reply_to) {
        // In a thread without an answer: the reply is there for programs that know no threads.
        (Some(root), None) => Some(json!({
            "rel_type": "m.thread",
            "event_id": root,
            "is_falling_back": true,
            "m.in_reply_to": { "event_id": root },
        })),
        (Some(root), Some(event)) => Some(json!({
            "rel_type": "m.thread",
            "event_id": root,
            "is_falling_back": false,
            "m.in_reply_to": { "event_id": event },
        })),
        (None, Some(event)) => Some(json!({ "m.in_reply_to": { "event_id": event } })),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{profile::KEYS, *};
    use crate::channels::testing::sample::AsJson as _;
    use crate::channels::{
        matrix::scenarios::{matrix, outgoing},
        testing::sample::{marked, part},
    };

    #[test]
    fn a_letter_becomes_this_event() {
        let matrix = matrix(1);
        let part = marked("<b>Hello</b>", "Hello");
        assert_eq!(
            matrix.composed(&outgoing(&part)),
            json!({
                "room": "!room:hub.test",
                "type": "m.room.message",
                "content": {
                    "msgtype": "m.text",
                    "body": "Hello",
                    "format": "org.matrix.custom.html",
                    "formatted_body": "<b>Hello</b>",
                    "m.mentions": {},
                },
            })
        );
    }

    #[test]
    fn the_body_has_no_text_of_a_spoiler() {
        let matrix = matrix(1);
        let document = crate::render::parse("It was ||the butler||.");
        let parts = crate::render::render(&document, &matrix.flavour()).unwrap();
        let content = &matrix.composed(&outgoing(&parts[0]))["content"];
        assert_eq!(content["body"], "It was [Spoiler].");
        assert_eq!(content["formatted_body"], "<p>It was <span data-mx-spoiler>the butler</span>.</p>");
        let operation = crate::message::operation::Operation::Edit { message: "$e".into() };
        let op = matrix.composed_operation(&crate::channels::testing::sample::op(
            "!room:hub.test",
            &operation,
            Some(&parts[0]),
        ));
        assert!(!op.unwrap().to_string().replace("the butler</span>", "").contains("butler"));
    }

    #[test]
    fn silent_replies_and_threads_have_their_own_forms() {
        let matrix = matrix(1);
        let part = part("Hello");
        let mut outgoing = outgoing(&part);
        outgoing.silent = true;
        assert_eq!(
            matrix.composed(&outgoing)["content"],
            json!({ "msgtype": "m.notice", "body": "Hello", "m.mentions": {} })
        );
        outgoing.reply_to = Some("$e");
        let relates =
            |outgoing: &OutgoingPart<'_>| matrix.composed(outgoing)["content"]["m.relates_to"].clone();
        assert_eq!(relates(&outgoing), json!({ "m.in_reply_to": { "event_id": "$e" } }));
        outgoing.thread = Some("$root");
        let mut thread = json!({
            "rel_type": "m.thread",
            "event_id": "$root",
            "is_falling_back": false,
            "m.in_reply_to": { "event_id": "$e" },
        });
        assert_eq!(relates(&outgoing), thread);
        outgoing.reply_to = None;
        thread["is_falling_back"] = json!(true);
        thread["m.in_reply_to"]["event_id"] = json!("$root");
        assert_eq!(relates(&outgoing), thread);
    }

    #[test]
    fn every_setting_is_documented_and_every_documented_key_is_a_setting() {
        let all = KEYS.iter().map(|key| format!("{} = {}\n", key.name, key.value)).collect::<String>();
        let all: Settings = toml::from_str(&all).unwrap();
        assert_eq!((all.limit, all.resend_minutes), (DEFAULT_LIMIT, DEFAULT_RESEND));
        assert_eq!((all.receive, all.join_invites_from), (false, Vec::new()));
        assert!(toml::from_str::<Settings>("homeserver = \"h\"\ntoken = \"env:T\"\nlimits = 3").is_err());
    }
}
