//! The automatic path: the text of a turn goes to where the turn came from, and its blocks to whom they name.
//!
//! The agent writes no call and needs no tool. What is sent is one thing only: the response where there is one, else the
//! text; nothing else is looked at, and nothing here touches the agent's own history. Every message of a turn is taken like
//! a call of the `message` tool, by the same checks.

pub mod blocks;
pub mod quiet;
mod speech;

use serde::Deserialize;
use serde_json::{Value, json};

use super::desk::{Answer, Incoming};
use crate::{
    agents::Caller,
    delivery::{Pipeline, Place, submit::Idempotency},
    message::{
        call::MAX_TEXT,
        refusal::{Code, Refusal},
    },
    policy::Origin,
    sessions,
};

/// The longest text of a turn, in bytes: several messages, and what is meant for nobody.
const MAX_TURN: usize = 2 * MAX_TEXT;

/// What a runner hands over at the end of a turn.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Turn {
    /// The context of the turn.
    context: String,
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

/// All that a turn sends.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = TurnResponse)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Response {
    text: String,
    voice_requested: bool,
    voice_text: String,
    attachments: Vec<Value>,
    skip_assistant_history: Option<bool>,
}

/// Hands a turn's words over.
pub(super) struct Reply<'a> {
    pub pipeline: Pipeline,
    pub caller: &'a Caller,
}

impl Reply<'_> {
    /// Takes what a turn says; what became of each message of it.
    pub(super) async fn take(&self, turn: Turn) -> Result<Value, Refusal> {
        let origin = self.pipeline.origin(self.caller.agent(), &turn.context).await?;
        let origin = self.pipeline.identified_origin(origin).await?;
        // A turn that goes on elsewhere says there what it has to say.
        if turn
            .skill_transition
            .as_ref()
            .is_some_and(|transition| !transition.is_null() && *transition != false)
        {
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
        let manners = self.pipeline.manners(self.caller.agent());
        let parsed = blocks::parse(&response.text);
        if parsed.blocks.len() > blocks::MOST {
            let error = format!("the text has more than {} message blocks", blocks::MOST);
            return Err(Refusal::input(error, "write fewer").because("too_many"));
        }
        // Words of a block that is written wrongly are somebody's, and not those of this conversation.
        let scratch = !parsed.blocks.is_empty() || manners.blocks_only || parsed.broken;
        let mut calls = Vec::new();
        for block in &parsed.blocks {
            if let Some(text) = quiet::said(&block.text, &manners.quiet) {
                calls.push(self.addressed(&block.to, text, &turn.context, &origin).await);
            }
        }
        let said = quiet::said(&parsed.bare, &manners.quiet);
        if scratch && said.is_some() {
            tracing::info!(agent = self.caller.agent(), scratchpad = parsed.bare, "bare text is not sent");
        }
        let (said, dropped) = if scratch { (None, said) } else { (said, None) };
        let words = speech::words(&response, said.as_deref(), &manners.quiet);
        let mut sent = Vec::with_capacity(calls.len() + 1);
        for call in calls {
            sent.push(self.send(&call).await.unwrap_or_else(|refusal| not_sent(&refusal, &call)));
        }
        let mut unspoken = None;
        if !parsed.broken {
            let own;
            (own, unspoken) = self.say(said.as_deref(), words.as_deref(), &response, &turn.context).await;
            sent.extend(own);
        }
        let ok = sent.iter().all(|told| told["ok"] == true) && !parsed.broken;
        let mut answer = json!({"ok": ok, "sent": sent});
        if sent_nothing(&answer) && !parsed.broken {
            answer["quiet"] = "there was nothing to say".into();
        }
        if let Some(dropped) = dropped {
            answer["dropped"] = dropped.into();
        }
        if let Some(why) = unspoken {
            answer["voice"] = format!("{why}: it was sent as text").into();
        }
        if parsed.broken {
            answer["error"] =
                "a message block does not end, or names nobody: neither it nor anything else but whole blocks was sent".into();
            answer["hint"] =
                "write <message to=\"name\">…</message>; a block shown as code stands in backticks".into();
        }
        Ok(answer)
    }

    /// Sends what is for the conversation of the turn; what became of it, and why it was not spoken where it was to be.
    async fn say(
        &self,
        said: Option<&str>,
        words: Option<&str>,
        response: &Response,
        context: &str,
    ) -> (Option<Value>, Option<String>) {
        let (files, mut unspoken) = (&response.attachments, None);
        if words.is_some() {
            match self.send(&own(said, words, files, context)).await {
                Ok(receipt) => return (Some(receipt), None),
                // Nothing of it was taken: it goes without a voice.
                Err(refusal) => unspoken = Some(refusal.error),
            }
        }
        // Words to be spoken are words: a voice that cannot be had must not lose them.
        let written = said.or(words);
        if written.is_none() && files.is_empty() {
            return (None, None);
        }
        let call = own(written, None, files, context);
        match self.send(&call).await {
            Ok(receipt) => (Some(receipt), unspoken),
            Err(refusal) => (Some(not_sent(&refusal, &call)), None),
        }
    }

    async fn send(&self, call: &Value) -> Result<Value, Refusal> {
        let idempotency = Idempotency::NONE;
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
    async fn addressed(&self, to: &str, text: String, context: &str, origin: &Origin) -> Value {
        let mut call = json!({"to": to, "message": text, "context": context});
        let mut found = Vec::new();
        let places = self.pipeline.places(self.caller.agent(), &call, Some(origin)).await;
        for place in &places {
            let heard = sessions::Heard {
                agent: self.caller.agent().to_owned(),
                session: origin.session.clone(),
                account: place.account.clone(),
                place: place.target.clone(),
                within_thread: place.within_thread,
            };
            match heard.latest(self.pipeline.outbox().store()).await {
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
        let heard = sessions::latest_account(
            self.pipeline.outbox().store(),
            self.caller.agent(),
            session,
            &first.target.channel,
        );
        let account = heard.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot look for the account of a session");
            None
        })?;
        places.iter().find(|place| place.account == account).map(|place| place.account.clone())
    }
}

/// The call for the conversation of the turn.
fn own(text: Option<&str>, words: Option<&str>, attachments: &[Value], context: &str) -> Value {
    let mut call = json!({"to": "current", "context": context});
    if let Some(text) = text {
        call["message"] = text.into();
    }
    if let Some(words) = words {
        call["voice"] = json!({"text": words});
    }
    if !attachments.is_empty() {
        call["attachments"] = attachments.into();
    }
    call
}

fn not_sent(refusal: &Refusal, call: &Value) -> Value {
    let mut told = json!(refusal);
    (told["ok"], told["to"]) = (false.into(), call["to"].clone());
    told
}

fn sent_nothing(answer: &Value) -> bool {
    answer["sent"].as_array().is_some_and(Vec::is_empty)
}
