//! The automatic path: the text of a turn goes to where the turn came from, and its blocks to whom they name.
//!
//! The agent writes no call and needs no tool. What is sent is one thing only: the response where there is one, else the
//! text; nothing else is looked at, and nothing here touches the agent's own history. Every message of a turn is taken like
//! a call of the `message` tool, by the same checks.

pub mod blocks;
#[cfg(test)]
mod growth;
mod speech;

use std::{
    borrow::Cow,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use self::blocks::Block;
use super::{
    message_service::{Answer, Incoming, TargetResult, broken},
    turns::not_held,
};
use crate::{
    admission::{places::Place, submit::Idempotency},
    agents::Caller,
    blocking,
    heartbeat::deliver::Delivery,
    message::{
        call::MAX_TEXT,
        quiet,
        refusal::{Code, Refusal},
    },
    pipeline::{Pipeline, SendOptions},
    policy::Origin,
    sessions,
};

/// The longest text of a turn, in bytes: several messages, and what is meant for nobody.
const MAX_TURN: usize = 2 * MAX_TEXT;

/// Why a turn with a malformed block is not sent as a whole, and what to do.
const BROKEN_BLOCK: &str =
    "a message block does not end, or names nobody: neither it nor anything else but whole blocks was sent";
const NOTHING_TO_SAY: &str = "there was nothing to say";
const WRITE_BLOCKS: &str =
    "write <message to=\"name\">…</message>; a block shown as code stands in backticks";

/// What a runner hands over at the end of a turn.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Turn {
    /// The context of the turn. One that is in no conversation has none; then it gives `turn` and `lease`.
    #[serde(default)]
    context: Option<String>,
    /// The turn that this ends, for whoever took it from the hub.
    #[serde(default)]
    turn: Option<String>,
    /// The lease that came with it.
    #[serde(default)]
    lease: Option<String>,
    /// What the model wrote.
    #[serde(default)]
    text: Option<String>,
    /// What is to be sent, where the runner has decided that; the text then counts for nothing.
    #[serde(default)]
    response: Option<Response>,
    /// The turn goes on elsewhere: nothing is sent.
    #[serde(default)]
    skill_transition: Option<Value>,
}

impl Turn {
    fn goes_on_elsewhere(&self) -> bool {
        self.skill_transition.as_ref().is_some_and(|transition| !transition.is_null() && *transition != false)
    }
}

/// All that a turn sends.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = TurnResponse)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Response {
    #[serde(deserialize_with = "or_nothing")]
    text: String,
    #[serde(deserialize_with = "or_nothing")]
    voice_requested: bool,
    #[serde(deserialize_with = "or_nothing")]
    voice_text: String,
    #[serde(deserialize_with = "or_nothing")]
    attachments: Vec<Value>,
    skip_assistant_history: Option<bool>,
}

/// A member that is null is left out: so writes who has a class with members that are not set.
fn or_nothing<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(member: D) -> Result<T, D::Error> {
    Option::deserialize(member).map(Option::unwrap_or_default)
}

/// What became of what a turn says.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = TurnOutcome)]
pub(super) struct Outcome {
    /// Whether every message of it was taken, and every block was whole.
    ok: bool,
    /// Each message: first those of its blocks, then what is for the conversation of the turn.
    #[schema(value_type = Vec<TargetResult>)]
    sent: Vec<Value>,
    /// Why nothing was sent, if there was nothing to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    quiet: Option<Cow<'static, str>>,
    /// Text beside blocks, which is sent to nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<String>,
    /// Why words that were to be spoken were sent as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    voice: Option<String>,
    /// What is wrong with the turn as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    /// What to do about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

/// What a turn says, taken apart.
struct Read {
    parsed: blocks::Parsed,
    /// The blocks that say something.
    blocks: Vec<Block>,
    /// The bare text, if it says something.
    bare_text: Option<String>,
    /// The words to be spoken.
    words: Option<String>,
}

impl Read {
    fn of(response: &Response, options: &SendOptions) -> Self {
        let parsed = blocks::parse(&response.text);
        let block = |block: &Block| {
            let text = quiet::without_tokens(&block.text, &options.quiet)?;
            Some(Block { to: block.to.clone(), text })
        };
        // Past the bound none is sent.
        let blocks = parsed.blocks.iter().take(blocks::MOST).filter_map(block).collect();
        let bare_text = quiet::without_tokens(&parsed.bare, &options.quiet);
        let sent = bare_text.as_deref().filter(|_| !parsed.is_scratch(options));
        let words = speech::words(response, sent, &options.quiet);
        Self { parsed, blocks, bare_text, words }
    }
}

impl blocks::Parsed {
    /// Whether its bare text is for nobody. Words of a block that is written wrongly are somebody's, and not those of this
    /// conversation.
    fn is_scratch(&self, options: &SendOptions) -> bool {
        !self.blocks.is_empty() || options.blocks_only || self.broken
    }
}

/// Hands a turn's words over.
pub(super) struct Reply<'a> {
    pub pipeline: Pipeline,
    pub caller: &'a Caller,
    /// The turn that it ends.
    turn: Option<Held>,
    /// Why some of it is not taken now, and may be in a moment.
    put_off: OnceLock<Refusal>,
}

/// A turn that its agent has.
struct Held {
    id: String,
    lease: String,
    /// Whether its bare text is for the target of the agent's heartbeat.
    is_heartbeat: bool,
    /// How many messages of it were handed in: by its number each is known when it is handed in again.
    messages: AtomicU32,
}

impl Held {
    /// The turn that a reply ends, if it ends one.
    fn of(turn: &mut Turn) -> Result<Option<Self>, Refusal> {
        match (turn.turn.take(), turn.lease.take()) {
            (Some(id), Some(lease)) => {
                Ok(Some(Self { id, lease, is_heartbeat: false, messages: AtomicU32::new(0) }))
            }
            (None, None) => Ok(None),
            _ => {
                let hint = "give both as they came with the turn, or none";
                Err(Refusal::input("turn and lease go together", hint).because("wrong_shape"))
            }
        }
    }

    /// The name of its next message.
    fn next_key(&self) -> String {
        format!("turn/{}/{}", self.id, self.messages.fetch_add(1, Ordering::Relaxed))
    }
}

impl<'a> Reply<'a> {
    /// Of this caller.
    pub(super) fn new(pipeline: Pipeline, caller: &'a Caller) -> Self {
        Self { pipeline, caller, turn: None, put_off: OnceLock::new() }
    }

    /// Takes what a turn says; what became of each message of it. A turn that was taken from the hub ends with it: from a lease that
    /// was lost nothing is taken, and a message that an earlier taker handed in is not taken twice. What is refused for now alone leaves the
    /// turn with whoever has it: handed in again, what was taken before is not taken twice either.
    pub(super) async fn take(mut self, mut turn: Turn) -> Result<Value, Refusal> {
        self.turn = Held::of(&mut turn)?;
        let Some(Held { id, lease, .. }) = &self.turn else { return self.say_all(turn).await };
        let agent = self.caller.agent();
        self.pipeline.holds_turn(agent, id, lease).await.map_err(broken)?.map_err(not_held)?;
        if self.pipeline.is_heartbeat(agent, id).map_err(broken)? {
            refuse_in_heartbeat(&turn)?;
            if let Some(held) = &mut self.turn {
                held.is_heartbeat = true;
            }
        }
        let Some(Held { id, lease, .. }) = &self.turn else { return self.say_all(turn).await };
        if turn.context.is_none() && self.pipeline.has_conversation(id).map_err(broken)? {
            let hint = "give the context that came with the turn, or end the turn without words: POST /v1/turns/{id}/end";
            return Err(Refusal::input("the turn is in a conversation, and its context is missing", hint)
                .because("wrong_shape"));
        }
        let outcome = self.say_all(turn).await?;
        if let Some(refusal) = self.put_off.get() {
            let hint = "hand the whole reply in again in a moment: the turn is still yours, and what was taken is not taken twice";
            return Err(Refusal { hint: hint.into(), ..refusal.clone() });
        }
        let word = match (outcome["ok"].as_bool(), outcome.get("quiet").is_some_and(|quiet| !quiet.is_null()))
        {
            (_, true) => "nothing to say",
            (Some(true), false) => "answered",
            _ => "answered in part",
        };
        self.pipeline.end_turn(agent, id, lease, word).await.map_err(broken)?.map_err(not_held)?;
        Ok(outcome)
    }

    async fn say_all(&self, turn: Turn) -> Result<Value, Refusal> {
        let origin = match &turn.context {
            Some(context) => {
                let origin = self.pipeline.origin(self.caller.agent(), context).await?;
                if self.turn.as_ref().is_some_and(|held| origin.turn.as_ref() != Some(&held.id)) {
                    let hint = "give the context that came with this turn";
                    return Err(
                        Refusal::input("the context is that of another turn", hint).because("wrong_context")
                    );
                }
                Some(self.pipeline.identified_origin(origin).await?)
            }
            None if self.turn.is_some() => None,
            None => {
                let hint = "give the context that came with the message of this turn";
                return Err(Refusal::input("the context is missing", hint).because("wrong_shape"));
            }
        };
        let context = turn.context.as_deref();
        // A turn that goes on elsewhere says there what it has to say.
        if turn.goes_on_elsewhere() {
            return Ok(json!({"ok": true, "sent": [], "quiet": "a skill transition sends nothing"}));
        }
        let response = match turn.response {
            Some(response) if response.skip_assistant_history == Some(false) => {
                let error = "the hub writes nobody's history but its own transcript";
                return Err(Refusal::input(error, "leave skipAssistantHistory out").because("history"));
            }
            Some(response) => response,
            None => Response { text: turn.text.unwrap_or_default(), ..Response::default() },
        };
        let given = response.text.len().max(response.voice_text.len());
        if given > MAX_TURN {
            let error = format!("the turn's text has {given} bytes, at most {MAX_TURN} are taken");
            return Err(Refusal::new(Code::TooLarge, error, "shorten it"));
        }
        let options = self.pipeline.options(self.caller.agent());
        let bytes = response.text.len() + response.voice_text.len();
        let Read { parsed, blocks, bare_text, words } =
            blocking::run(bytes, || Read::of(&response, &options)).await;
        if parsed.blocks.len() > blocks::MOST {
            let error = format!("the text has more than {} message blocks", blocks::MOST);
            return Err(Refusal::input(error, "write fewer").because("too_many"));
        }
        let heartbeat = self.turn.as_ref().filter(|held| held.is_heartbeat && !parsed.is_scratch(&options));
        // What is for the conversation of a turn in none is for nobody.
        let scratch = parsed.is_scratch(&options) || context.is_none();
        let mut calls = Vec::new();
        for Block { to, text } in blocks {
            calls.push(self.addressed(&to, text, context.zip(origin.as_ref())).await);
        }
        if scratch && bare_text.is_some() && heartbeat.is_none() {
            tracing::info!(agent = self.caller.agent(), scratchpad = parsed.bare, "bare text is not sent");
        }
        let (text, dropped) = if scratch { (None, bare_text) } else { (bare_text, None) };
        let mut sent = Vec::with_capacity(calls.len() + 1);
        for call in calls {
            sent.push(self.send(&call).await.unwrap_or_else(|refusal| self.not_sent(&refusal, &call)));
        }
        let (mut unspoken, mut why_quiet, mut dropped) = (None, None, dropped);
        if let Some(held) = heartbeat {
            dropped = None;
            why_quiet = self.say_of_heartbeat(held, &parsed.bare, &mut sent).await?;
        }
        if let Some(context) = context.filter(|_| !parsed.broken) {
            let message = OwnMessage { text: text.as_deref(), words: words.as_deref(), context };
            let own;
            (own, unspoken) = self.say(message, &response.attachments).await;
            sent.extend(own);
        }
        let ok = sent.iter().all(|answer| answer["ok"] == true) && !parsed.broken;
        let is_quiet = sent.is_empty() && !parsed.broken;
        let (error, hint) = parsed.broken.then_some((BROKEN_BLOCK, WRITE_BLOCKS)).unzip();
        Ok(json!(Outcome {
            ok,
            sent,
            quiet: is_quiet.then(|| why_quiet.map_or(NOTHING_TO_SAY.into(), Cow::Owned)),
            dropped,
            voice: unspoken.map(|why| format!("{why}: it was sent as text")),
            error,
            hint,
        }))
    }

    /// Sends the bare text of a heartbeat to its target; why not, if it is not sent.
    async fn say_of_heartbeat(
        &self,
        held: &Held,
        text: &str,
        sent: &mut Vec<Value>,
    ) -> Result<Option<String>, Refusal> {
        let delivered = self.pipeline.deliver_heartbeat(self.caller.agent(), &held.id, text).await;
        match delivered.map_err(broken)? {
            Delivery::Taken(receipt) => sent.push(json!(receipt)),
            Delivery::Quiet(why) => return Ok(Some(why)),
            Delivery::Refused(refusal) => sent.push(not_sent(&refusal, &json!({"to": "heartbeat"}))),
        }
        Ok(None)
    }

    /// Sends what is for the conversation of the turn; what became of it, and why it was not spoken where it was to be.
    ///
    /// All of it is one message. If that is refused, the words go without the files, and each file by itself: a wrong file takes
    /// neither the words nor the other files with it.
    async fn say(&self, message: OwnMessage<'_>, files: &[Value]) -> (Vec<Value>, Option<String>) {
        let (whole, unspoken) = self.speak(message, files).await;
        let (call, refusal) = match whole {
            None => return (Vec::new(), None),
            Some(Ok(receipt)) => return (vec![receipt], unspoken),
            Some(Err(refused)) => *refused,
        };
        if files.is_empty() || passes(&refusal) || (message.is_silent() && files.len() == 1) {
            return (vec![self.not_sent(&refusal, &call)], None);
        }
        let (words, unspoken) = self.speak(message, &[]).await;
        // It is not a file that is wrong.
        if matches!(words, Some(Err(_))) {
            return (vec![self.not_sent(&refusal, &call)], None);
        }
        let mut sent: Vec<Value> = words.into_iter().filter_map(Result::ok).collect();
        for file in files {
            let call =
                OwnMessage { text: None, words: None, ..message }.with(std::slice::from_ref(file), false);
            sent.push(self.send(&call).await.unwrap_or_else(|refusal| self.not_sent(&refusal, &call)));
        }
        (sent, unspoken)
    }

    /// Sends the words with these files: spoken if they are to be, else written; nothing if there are neither words nor files.
    /// Words to be spoken are words: a voice that cannot be had does not lose them.
    async fn speak(&self, message: OwnMessage<'_>, files: &[Value]) -> (Option<Taken>, Option<String>) {
        let mut unspoken = None;
        if message.words.is_some() {
            match self.send(&message.with(files, true)).await {
                Ok(receipt) => return (Some(Ok(receipt)), None),
                // Nothing of it was taken: it goes without a voice.
                Err(refusal) => unspoken = Some(refusal.error),
            }
        }
        if message.is_silent() && files.is_empty() {
            return (None, None);
        }
        let call = OwnMessage { text: message.text.or(message.words), ..message }.with(files, false);
        match self.send(&call).await {
            Ok(receipt) => (Some(Ok(receipt)), unspoken),
            Err(refusal) => (Some(Err(Box::new((call, refusal)))), None),
        }
    }

    fn not_sent(&self, refusal: &Refusal, call: &Value) -> Value {
        if self.turn.is_some() && passes(refusal) {
            self.put_off.get_or_init(|| refusal.clone());
        }
        not_sent(refusal, call)
    }

    async fn send(&self, call: &Value) -> Result<Value, Refusal> {
        let idempotency = match &self.turn {
            Some(held) => Idempotency::of(Some(held.next_key()), call)?,
            None => Idempotency::NONE,
        };
        let incoming = Incoming { caller: self.caller, call, idempotency, wait: std::time::Duration::ZERO };
        incoming.take(&self.pipeline).await.map(|answer| match answer {
            Answer::One(receipt) => json!(receipt),
            other => json!(other),
        })
    }

    /// The call for a block: in the thread of the latest that its destination has written, and as an answer to that; where
    /// the block names a thread, to the latest in it. What the turn's session heard comes before what another one did, and
    /// the conversation of the turn is never without such a message: the turn's own. It goes from the
    /// account that heard that message.
    async fn addressed(&self, to: &str, text: String, of: Option<(&str, &Origin)>) -> Value {
        let mut call = json!({"to": to, "message": text});
        let Some((context, origin)) = of else { return call };
        call["context"] = context.into();
        let mut found = Vec::new();
        let places = self.pipeline.places(self.caller.agent(), &call, Some(origin)).await;
        for place in &places {
            let peer = sessions::Heard {
                agent: self.caller.agent().to_owned(),
                session: origin.session.clone(),
                account: place.account.clone(),
                place: place.target.clone(),
                within_thread: place.within_thread,
            };
            match peer.latest(self.pipeline.outbox().store()).await {
                Ok(latest) => found.extend(latest.map(|latest| (latest, place))),
                Err(error) => tracing::error!(%error, "cannot look for the latest message of a destination"),
            }
        }
        let newest = found.into_iter().max_by_key(|(latest, _)| (latest.own, latest.seq));
        let Some((latest, place)) = newest else {
            if let Some(account) = self.account_of_session(&places, origin).await {
                call["accountId"] = account.into();
            }
            return call;
        };
        call["accountId"] = place.account.as_str().into();
        if let Some(thread) = latest.thread.filter(|_| place.threads && !place.within_thread) {
            call["threadId"] = thread.into();
        }
        if let Some(id) = latest.platform_id.filter(|_| place.replies) {
            call["replyToId"] = id.into();
        }
        call
    }
}

impl Reply<'_> {
    /// Of a destination that nobody has written from, the session's own route tells the account: the one by which the session last
    /// heard something on that channel, if the call may go from it. Its thread and the message to answer belong to the conversation
    /// that they were heard in, and to no other.
    async fn account_of_session(&self, places: &[Place], origin: &Origin) -> Option<String> {
        let (first, session) = (places.first()?, origin.session.as_ref()?);
        let account = sessions::latest_account(
            self.pipeline.outbox().store(),
            self.caller.agent(),
            session,
            &first.target.channel,
        );
        let account = account.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot look for the account of a session");
            None
        })?;
        places.iter().find(|place| place.account == account).map(|place| place.account.clone())
    }
}

/// The receipt of a call, or the call and why it was refused.
type Taken = Result<Value, Box<(Value, Refusal)>>;

/// What a turn says in its own conversation.
#[derive(Clone, Copy)]
struct OwnMessage<'a> {
    text: Option<&'a str>,
    /// To be spoken.
    words: Option<&'a str>,
    context: &'a str,
}

impl OwnMessage<'_> {
    fn is_silent(self) -> bool {
        self.text.is_none() && self.words.is_none()
    }

    /// The call for it, with these files.
    fn with(self, files: &[Value], spoken: bool) -> Value {
        let mut call = json!({"to": "current", "context": self.context});
        if let Some(text) = self.text {
            call["message"] = text.into();
        }
        if let Some(words) = self.words.filter(|_| spoken) {
            call["voice"] = json!({"text": words});
        }
        if !files.is_empty() {
            call["attachments"] = files.into();
        }
        call
    }
}

/// A heartbeat is in no conversation, and what it returns is text: nothing else of it is dropped without a word.
fn refuse_in_heartbeat(turn: &Turn) -> Result<(), Refusal> {
    if turn.context.is_some() {
        let hint = "leave the context out; its text goes to the target of the heartbeat";
        return Err(Refusal::input("a heartbeat is in no conversation", hint).because("context"));
    }
    let more = turn.response.as_ref();
    if more.is_some_and(|response| response.voice_requested || !response.attachments.is_empty()) {
        let hint = "send files and recordings by the message tool, where a person is asked about them";
        return Err(Refusal::input("a heartbeat returns text", hint).because("wrong_shape"));
    }
    Ok(())
}

/// Whether the same may be taken in a moment.
fn passes(refusal: &Refusal) -> bool {
    matches!(refusal.code, Code::QueueFull | Code::RateLimited)
}

fn not_sent(refusal: &Refusal, call: &Value) -> Value {
    let mut answer = json!(refusal);
    (answer["ok"], answer["to"]) = (false.into(), call["to"].clone());
    answer
}
