//! Hooks around a tool: `before_tool_call` sees what an agent asks for before anything is done, and may change or refuse it;
//! `tool_result` sees what came of it, and may add to it or change it.
//!
//! The first fails closed, as `message_sending` does: no answer, no call. The second cannot: what was done is done, and an
//! agent that did not hear of it would do it again. So what a tool answered goes to its caller as it is where a hook fails,
//! and says so. What the interface itself refuses was not run, and has no result.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{
    channels::{formats::Format, guide::written, registry::format},
    hooks::{Hook, HookError, Shared, Transport, guide},
    message::refusal::{Code, Refusal},
    pipeline::Pipeline,
    policy::Origin,
    random,
};

/// The longest note that a hook adds to a result, in characters.
const MAX_NOTE: usize = 2_000;
/// The tools whose answer tells of a message, and so of a channel.
const SENDING: [&str; 2] = ["message", "send_message"];
/// What a program is told the id of a call by.
const ID: &str = "GATEPOST_CALL_ID";

/// A call of a tool that hooks want to hear of.
pub struct Around<'a> {
    pipeline: &'a Pipeline,
    hooks: &'a Shared,
    /// By which hooks know what they were asked before when they see what came of it.
    id: String,
    agent: &'a str,
    tool: &'a str,
    /// The session of the model that reads the answer, as its interface knows it; none, where a program does.
    reader: Option<&'a str>,
}

/// What a `before_tool_call` hook says.
#[derive(Debug, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
enum Before {
    /// It is run as it is.
    Pass {},
    /// It is run with other arguments.
    Rewrite { arguments: Map<String, Value> },
    /// It is not run.
    Cancel { reason: String },
}

/// What a `tool_result` hook says.
#[derive(Debug, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
enum After {
    /// It stays as it is.
    Pass {},
    /// Something is said beside it.
    Annotate { note: String },
    /// It is another.
    Rewrite { result: Map<String, Value> },
}

const BEFORE: &str =
    "{\"action\": \"pass\"}, \"rewrite\" with \"arguments\", or \"cancel\" with a \"reason\"";
const AFTER: &str = "{\"action\": \"pass\"}, \"annotate\" with a \"note\", or \"rewrite\" with a \"result\"";

impl Hook {
    fn is_for(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|named| named == tool)
    }

    /// What it says; `wanted` is what it may say, in words.
    async fn say<T: DeserializeOwned>(&self, facts: &Value, wanted: &'static str) -> Result<T, HookError> {
        let answer = self.tell((ID, facts["id"].as_str().unwrap_or_default()), facts).await?;
        serde_json::from_slice(&answer).map_err(|_| HookError::Garbage(wanted))
    }
}

impl Pipeline {
    /// The hooks around a call of `tool`; nothing, where no hook wants to hear of it. `reader` is the session of the model that
    /// reads the answer, as its interface knows it (nothing in it where it knows of none), or none where a program does.
    pub fn around<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        reader: Option<&'a str>,
    ) -> Option<Around<'a>> {
        let hooks = &*self.0.hooks.0;
        let is_around = |hook: &&Hook| {
            hook.is_for(tool) && (reader.is_some() || !matches!(hook.way, Transport::Builtin(_)))
        };
        let mut all = hooks.before_call.iter().chain(&hooks.result);
        let id = || random::hex::<8>();
        all.find(is_around).map(|_| Around { pipeline: self, hooks, id: id(), agent, tool, reader })
    }
}

impl Pipeline {
    /// The guide of the channel that a turn came from, for the description of `message` in that turn; none if the operator has
    /// switched guides off. It does not come a second time with a result in the turn's session.
    pub fn guide_for_turn(&self, agent: &str, origin: &Origin) -> Option<String> {
        let hooks = &*self.0.hooks.0;
        let guides = |hook: &Hook| matches!(hook.way, Transport::Builtin(_)) && hook.is_for("message");
        if !hooks.result.iter().any(guides) {
            return None;
        }
        let channel = origin.place.channel.as_str();
        if let Some(session) = &origin.session {
            hooks.guides.first_use(agent, &of_the_agent(session), [channel].into_iter());
        }
        let can = self
            .accounts()
            .pick(channel, Some(&origin.account))
            .ok()
            .map(|(_, adapter)| adapter.capabilities());
        let guide = written(format(channel)?, can, self.files().into());
        Some(guide)
    }

    /// The guide of a channel, by what its first account does.
    pub fn guide(&self, format: &Format) -> String {
        written(format, self.can(format.channel), self.files().into())
    }
}

/// An agent's own session, among those of doors.
fn of_the_agent(session: &str) -> String {
    format!("of the agent: {session}")
}

impl Around<'_> {
    /// Asks the hooks about the call that is about to be run: other arguments, or none if they stay.
    ///
    /// # Errors
    /// A hook refuses it, or does not say that it may be run. It must not be.
    pub async fn before(&self, arguments: &Value) -> Result<Option<Value>, Refusal> {
        let refused = |code, error, hint| Err(Refusal::new(code, error, hint).because("hook"));
        let mut other = None;
        for hook in self.hooks.before_call.iter().filter(|hook| hook.is_for(self.tool)) {
            let _one = self.hooks.at_once.acquire().await.expect("the semaphore is never closed");
            let facts = self.facts("before_tool_call", other.as_ref().unwrap_or(arguments));
            match hook.say(&facts, BEFORE).await {
                Ok(Before::Pass {}) => {}
                Ok(Before::Rewrite { arguments }) => other = Some(arguments.into()),
                Ok(Before::Cancel { reason }) => {
                    let reason: String = reason.chars().take(300).collect();
                    let error = format!("the hook {} refused the call: {reason}", hook.name);
                    return refused(Code::Forbidden, error, "do not make it again unchanged");
                }
                Err(error) => {
                    tracing::warn!(hook = hook.name, %error, "a hook failed, and its call with it");
                    let error = format!("the hook {} failed, and nothing was done: {error}", hook.name);
                    return refused(Code::ExecutionFailed, error, "tell the operator");
                }
            }
        }
        Ok(other)
    }

    /// What the hooks make of what the tool answered to these arguments.
    pub async fn after(&self, arguments: &Value, mut result: Value) -> Value {
        for hook in self.hooks.result.iter().filter(|hook| hook.is_for(self.tool)) {
            if let Transport::Builtin(_) = hook.way {
                // There is one for results.
                if let (Some(guide), Value::Object(members)) =
                    (self.guide(arguments, &result).await, &mut result)
                {
                    members.insert("guide".into(), guide.into());
                }
                continue;
            }
            let _one = self.hooks.at_once.acquire().await.expect("the semaphore is never closed");
            let mut facts = self.facts("tool_result", arguments);
            facts["result"] = result;
            let answer = hook.say(&facts, AFTER).await;
            result = facts["result"].take();
            match answer {
                Ok(After::Pass {}) => {}
                Ok(After::Annotate { note }) => annotate(&mut result, &note),
                Ok(After::Rewrite { result: other }) => result = other.into(),
                Err(error) => {
                    tracing::warn!(hook = hook.name, %error, "a hook failed, and a result goes as it was");
                    annotate(
                        &mut result,
                        &format!("the hook {} failed: this is the result as it was", hook.name),
                    );
                }
            }
        }
        result
    }

    /// What a model is told beside the refusal of a call with these arguments, if anything.
    pub async fn guide_after_a_mistake(&self, arguments: &Value) -> Option<String> {
        let guides = |hook: &Hook| matches!(hook.way, Transport::Builtin(_)) && hook.is_for(self.tool);
        if self.reader.is_none() || !SENDING.contains(&self.tool) || !self.hooks.result.iter().any(guides) {
            return None;
        }
        let origin = self.origin(arguments).await;
        let current = origin.as_ref().map(|origin| origin.place.channel.as_str());
        let formats = guide::after_a_mistake(arguments, current);
        guide::written(&formats, |format| self.pipeline.guide(format))
    }

    /// The guides of the channels that messages went to, where this is their first use.
    async fn guide(&self, arguments: &Value, result: &Value) -> Option<String> {
        let reader = self.reader.filter(|_| SENDING.contains(&self.tool))?;
        // What was refused at its target has used no channel.
        let used =
            |result: &&Value| result["id"].is_string() || (result["dry_run"] == true && result["ok"] == true);
        let several = result["targets"].as_array().into_iter().flatten();
        let all = std::iter::once(result).chain(several).filter(used);
        let to: Vec<&str> = all.filter_map(|result| result["to"].as_str()).collect();
        // The agent's own session; where a call has no conversation, the one of whoever calls.
        let session = match self.origin(arguments).await.and_then(|origin| origin.session) {
            Some(session) => of_the_agent(&session),
            None => format!("of the door: {reader}"),
        };
        let formats = self.hooks.guides.first_use(self.agent, &session, to.into_iter());
        guide::written(&formats, |format| self.pipeline.guide(format))
    }

    async fn origin(&self, arguments: &Value) -> Option<Origin> {
        self.pipeline.origin(self.agent, arguments["context"].as_str()?).await.ok()
    }

    fn facts(&self, hook: &str, arguments: &Value) -> Value {
        json!({
            "hook": hook, "id": self.id, "agent": self.agent, "tool": self.tool, "arguments": arguments,
        })
    }
}

/// Says something beside a result.
fn annotate(result: &mut Value, note: &str) {
    let note: String = note.chars().take(MAX_NOTE).collect();
    let Value::Object(members) = result else { return };
    if let Value::Array(notes) = members.entry("notes").or_insert_with(|| json!([])) {
        notes.push(note.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_answer_counts() {
        let before = |text: &str| serde_json::from_str::<Before>(text).is_ok();
        let after = |text: &str| serde_json::from_str::<After>(text).is_ok();
        assert!(before("{\"action\": \"pass\"}") && after("{\"action\": \"pass\"}"));
        assert!(before("{\"action\": \"rewrite\", \"arguments\": {}}"));
        assert!(after("{\"action\": \"annotate\", \"note\": \"n\"}"));
        for garbage in [
            "",
            "{}",
            "{\"action\": \"rewrite\"}",
            "{\"action\": \"rewrite\", \"arguments\": [], \"result\": []}",
            "{\"action\": \"pass\", \"note\": \"n\"}",
            "{\"action\": \"cancel\"}",
            "{\"action\": \"annotate\"}",
        ] {
            assert!(!before(garbage) && !after(garbage), "{garbage}");
        }
    }

    #[test]
    fn notes_stand_beside_a_result_and_are_bounded() {
        let mut result = json!({"ok": true});
        annotate(&mut result, "one");
        annotate(&mut result, &"x".repeat(MAX_NOTE + 1));
        assert_eq!(result["notes"][0], "one");
        assert_eq!(result["notes"][1].as_str().unwrap().len(), MAX_NOTE);
    }
}
