//! The owner's hooks at the gates of the way in: asked about each event before it is written down, and never within the transaction.
//!
//! They come in the order of the gates: `inbound_sender` says who wrote; then for each agent `inbound_access`, and
//! `inbound_scope` if that let it pass; `inbound_request` where no agent is. Each but the first can only take something back of what
//! the hub's own rules say ([`crate::router::gates`]). A hook that fails or is late lets nothing through: the whole batch is left
//! with whoever hands it over, nothing is acknowledged, and it is asked again when it comes again. An event on which hooks failed
//! [`MAX_ATTEMPTS`](crate::pipeline::gate_attempts::MAX_ATTEMPTS) times goes no further, and is counted: what comes behind it must not wait for ever.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    channels::received::{AuthorKind, Batch, Event, Received},
    hooks::{GateHooks, Hook, HookError},
    message::{
        refusal::{Code, Refusal},
        target::fits_an_id,
    },
    people::user_id_of,
    pipeline::{Pipeline, unavailable},
    policy::Scope,
    random::to_hex,
    router::{
        arrival::{Receiving, place_of, sender_of, wirings},
        gates::{Said, Sender},
        repeats::{key_of, was_received},
    },
    store::{StoreError, now_ms},
};

/// The member that holds the hub's name of an event.
const EVENT_ID: &str = "GATEPOST_EVENT_ID";

/// What an `inbound_sender` hook says.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
enum Who {
    /// It does not know; or they are who they seem.
    Pass {},
    /// It is this one: `channel:id`.
    Is {
        /// Who.
        user: String,
    },
}

/// What a hook at another gate says.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
enum Passes {
    /// As the hub's own rules have it.
    Pass {},
    /// It does not pass.
    Drop {
        /// Why, for the log.
        reason: String,
    },
}

impl Who {
    fn read(bytes: &[u8]) -> Result<Option<String>, HookError> {
        const SHAPE: &str = "{\"action\": \"pass\"} or \"is\" with a \"user\", such as \"telegram:123456\"";
        match serde_json::from_slice(bytes) {
            Ok(Self::Pass {}) => Ok(None),
            Ok(Self::Is { user }) if fits_an_id(&user) => {
                user_id_of(&user).map(Some).map_err(|_| HookError::Garbage(SHAPE))
            }
            _ => Err(HookError::Garbage(SHAPE)),
        }
    }
}

impl Passes {
    fn read(bytes: &[u8]) -> Result<Self, HookError> {
        let shape = "{\"action\": \"pass\"} or \"drop\" with a \"reason\"";
        serde_json::from_slice(bytes).map_err(|_| HookError::Garbage(shape))
    }
}

/// One event, as hooks are told of it.
struct Asking<'a> {
    pipeline: &'a Pipeline,
    id: String,
    facts: Value,
}

impl Asking<'_> {
    async fn tell(&self, hook: &Hook, gate: &str, agent: Option<&str>) -> Result<Vec<u8>, HookError> {
        let _one = self.pipeline.0.hooks.0.at_once.acquire().await.expect("the semaphore is never closed");
        let mut facts = self.facts.clone();
        facts["hook"] = gate.into();
        facts["agent"] = json!(agent);
        hook.tell((EVENT_ID, &self.id), &facts).await
    }

    /// Whether all hooks of a gate let it pass.
    async fn passes(&self, hooks: &[Hook], gate: &str, agent: &str) -> Result<bool, HookError> {
        for hook in hooks {
            let answer = self.tell(hook, gate, Some(agent)).await;
            if let Passes::Drop { reason } =
                answer.and_then(|bytes| Passes::read(&bytes)).map_err(told(hook))?
            {
                let reason: String = reason.chars().take(300).collect();
                tracing::info!(hook = hook.name, agent, reason, "an event does not pass a gate");
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn who(&self, hooks: &[Hook]) -> Result<Option<String>, HookError> {
        for hook in hooks {
            let answer = self.tell(hook, "inbound_sender", None).await;
            let user = answer.and_then(|bytes| Who::read(&bytes)).map_err(told(hook))?;
            if user.is_some() {
                return Ok(user);
            }
        }
        Ok(None)
    }
}

fn told(hook: &Hook) -> impl Fn(HookError) -> HookError + '_ {
    move |error| {
        tracing::warn!(hook = hook.name, %error, "a hook failed, and lets nothing through");
        error
    }
}

/// What the hub knows of an event before it asks about agents.
struct Looked {
    sender: Sender,
    agents: BTreeSet<String>,
    unwired: bool,
}

impl Pipeline {
    /// What the hooks say of each event of a batch, in their order; nothing where there are none.
    ///
    /// # Errors
    /// One of them failed, or the database: nothing may be taken.
    pub(super) async fn ask_gates(&self, at: &Receiving, batch: &Batch) -> Result<Vec<Said>, Refusal> {
        let hooks = &self.0.hooks.0.gates;
        if hooks.is_empty() {
            return Ok(vec![]);
        }
        let mut all = Vec::with_capacity(batch.received.len());
        for received in &batch.received {
            let key = key_of(at, received);
            let before = self.outbox().store().look(|db| was_received(db, &key, received, now_ms()));
            if received.author.kind != AuthorKind::Person || before.map_err(unavailable)? {
                all.push(Said::default());
                continue;
            }
            match self.ask_hooks(hooks, at, received, &key).await.map_err(unavailable)? {
                Ok(said) => {
                    self.0.attempts.done(&key);
                    all.push(said);
                }
                Err(_) if !self.0.attempts.failed(key) => {
                    tracing::error!(
                        at.channel,
                        at.account,
                        "hooks failed too often on an event: it goes no further"
                    );
                    all.push(Said { given_up: true, ..Said::default() });
                }
                Err(error) => {
                    let error = format!("a hook failed, and nothing was taken: {error}");
                    let refusal = Refusal::new(Code::ExecutionFailed, error, "hand it over again later");
                    return Err(refusal.because("gate"));
                }
            }
        }
        Ok(all)
    }

    async fn ask_hooks(
        &self,
        hooks: &GateHooks,
        at: &Receiving,
        received: &Received,
        key: &[u8; 32],
    ) -> Result<Result<Said, HookError>, StoreError> {
        let mut asking = Asking { pipeline: self, id: to_hex(key), facts: facts(at, received) };
        let user = match asking.who(&hooks.sender).await {
            Ok(user) => user,
            Err(error) => return Ok(Err(error)),
        };
        let Looked { sender, agents, unwired } = self.look_at(at, received, user.as_deref())?;
        let mut said = Said { user, asked: Some(agents.clone()), ..Said::default() };
        // Nothing of theirs is read.
        if sender.scope == Scope::Blocked {
            return Ok(Ok(said));
        }
        asking.facts["user"] = json!(sender.user);
        asking.facts["scope"] = json!(sender.scope);
        for agent in agents {
            let outcome = asking.at_the_gates(hooks, &agent, unwired, &mut said).await;
            if let Err(error) = outcome {
                return Ok(Err(error));
            }
        }
        Ok(Ok(said))
    }

    /// The agents that an event may come to: those that are wired to its conversation, or the one about which a person would be asked.
    fn look_at(&self, at: &Receiving, received: &Received, user: Option<&str>) -> Result<Looked, StoreError> {
        let routing = &self.0.routing;
        self.outbox().store().look(|db| {
            let sender = sender_of(db, at, received, user, routing)?;
            let wired = wirings(db, routing, &place_of(at, received))?;
            let unwired = wired.is_empty();
            let mut agents: BTreeSet<String> = wired.into_iter().map(|route| route.agent).collect();
            if unwired && may_call(received) {
                agents.extend(routing.default_agent.clone());
            }
            Ok(Looked { sender, agents, unwired })
        })
    }
}

impl Asking<'_> {
    async fn at_the_gates(
        &self,
        hooks: &GateHooks,
        agent: &str,
        unwired: bool,
        said: &mut Said,
    ) -> Result<(), HookError> {
        if !self.passes(&hooks.access, "inbound_access", agent).await? {
            said.barred.insert(agent.to_owned());
        } else if !self.passes(&hooks.scope, "inbound_scope", agent).await? {
            said.quiet.insert(agent.to_owned());
        } else if unwired {
            said.silent = !self.passes(&hooks.request, "inbound_request", agent).await?;
        }
        Ok(())
    }
}

/// Whether the account may be meant: chatter where no agent is leaves no trace, also at no hook.
fn may_call(received: &Received) -> bool {
    let Event::Message(words) = &received.event else { return false };
    received.mentions_me || received.conversation.direct || words.reply_to.is_some()
}

fn facts(at: &Receiving, received: &Received) -> Value {
    let Received { conversation, author, message_id, mentions_me, event, .. } = received;
    json!({
        "channel": at.channel,
        "account": at.account,
        "address": conversation.address,
        "thread": conversation.thread,
        "direct": conversation.direct,
        "title": conversation.title,
        "sender": author.id,
        "same_as": author.same_as,
        "name": author.name,
        "unverified": author.unverified,
        "kind": event.word(),
        "message_id": message_id,
        "mention": mentions_me,
        "text": event.words().map(|words| &words.text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_answer_counts() {
        assert_eq!(Who::read(b"{\"action\": \"pass\"}").unwrap(), None);
        let ann = Who::read(b"{\"action\": \"is\", \"user\": \"telegram:5\"}").unwrap();
        assert_eq!(ann.as_deref(), Some("tg:5"), "as people are known by it");
        let long = format!("{{\"action\": \"is\", \"user\": \"telegram:{}\"}}", "x".repeat(400));
        for garbage in
            ["", "{}", "null", "{\"action\": \"is\", \"user\": \"ann\"}", "{\"action\": \"drop\"}", &long]
        {
            assert!(matches!(Who::read(garbage.as_bytes()), Err(HookError::Garbage(_))), "{garbage}");
        }
        assert_eq!(Passes::read(b"{\"action\": \"pass\"}").unwrap(), Passes::Pass {});
        for garbage in ["", "true", "{\"action\": \"allow\"}", "{\"action\": \"drop\"}"] {
            assert!(matches!(Passes::read(garbage.as_bytes()), Err(HookError::Garbage(_))), "{garbage}");
        }
    }
}
