//! The hub's tools, as functions that a model calls. Each call goes through the same checks as an agent's own, in the turn's context.

use serde_json::{Value, json};

use super::wire::{Function, Message, ToolCall};
use crate::{
    intake::tool::{Described, Tools, refused},
    message::refusal::{Code, Refusal},
    policy::Scope,
    turns::items::TurnView,
};

/// The longest result that a model is given, in bytes.
const MAX_RESULT_BYTES: usize = 16 * 1024;
/// Calls of one answer that are made; the rest is refused.
const MAX_CALLS: usize = 8;

/// What the hub does by itself for a model: it takes its turns and ends them.
const NOT_OFFERED: [&str; 2] = ["reply", "next_turn"];

/// The tools that a model has in a turn.
pub(super) struct Functions {
    names: Vec<String>,
    /// As the request has them.
    pub described: Vec<Value>,
}

impl Functions {
    /// Those of the agent's tools that a model is offered in this turn.
    ///
    /// # Errors
    /// The turn's context does not count any more.
    pub(super) async fn of(tools: &Tools<'_>, turn: &TurnView) -> Result<Self, Refusal> {
        let (all, _) = tools.list(turn.context.as_deref()).await?;
        let offered: Vec<Described> =
            all.into_iter().filter(|tool| is_offered(&tool.name, turn.scope)).collect();
        let names = offered.iter().map(|tool| tool.name.clone()).collect();
        Ok(Self { names, described: offered.into_iter().map(function).collect() })
    }

    /// Calls what the model calls; the results, in that order.
    pub(super) async fn call(&self, tools: &Tools<'_>, turn: &TurnView, calls: &[ToolCall]) -> Vec<Message> {
        let mut results = Vec::with_capacity(calls.len());
        for (at, call) in calls.iter().enumerate() {
            let answer = match at < MAX_CALLS {
                true => self.one(tools, turn, &call.function).await,
                false => {
                    let error = format!("only {MAX_CALLS} calls of one answer are made");
                    Err(Refusal::new(Code::RateLimited, error, "call it again by itself"))
                }
            };
            let answer = answer.unwrap_or_else(|refusal| refused(&refusal));
            results.push(Message::result(call.id.clone(), bounded(answer.to_string())));
        }
        results
    }

    async fn one(&self, tools: &Tools<'_>, turn: &TurnView, call: &Function) -> Result<Value, Refusal> {
        if !self.names.contains(&call.name) {
            let known = format!("tools are: {}", self.names.join(", "));
            return Err(Refusal::new(Code::NotFound, "there is no such tool", known));
        }
        let arguments = match call.arguments.trim() {
            "" => Ok(json!({})),
            text => serde_json::from_str::<Value>(text),
        };
        let mut arguments = arguments.ok().filter(Value::is_object).ok_or_else(|| {
            Refusal::input("the arguments are no JSON object", "write them as the schema says")
        })?;
        if ["message", "send_message"].contains(&call.name.as_str()) {
            in_context(&mut arguments, turn);
        }
        tools.call(&call.name, arguments, None).await
    }
}

/// Whatever the model writes there, it acts in the turn that it was given, and is judged by whose words that has.
fn in_context(arguments: &mut Value, turn: &TurnView) {
    let Some(arguments) = arguments.as_object_mut() else { return };
    match &turn.context {
        Some(context) => _ = arguments.insert("context".into(), context.as_str().into()),
        None => _ = arguments.remove("context"),
    }
}

/// The inbox tells of messages to others: nothing for the eyes of who answers a stranger.
fn is_offered(name: &str, scope: Scope) -> bool {
    !NOT_OFFERED.contains(&name) && (name != "inbox" || scope >= Scope::Known)
}

fn function(Described { name, description, mut input_schema }: Described) -> Value {
    if let Some(properties) = input_schema["properties"].as_object_mut() {
        properties.remove("context");
    }
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": input_schema}})
}

fn bounded(mut result: String) -> String {
    if result.len() > MAX_RESULT_BYTES {
        result.truncate(result.floor_char_boundary(MAX_RESULT_BYTES));
        result.push_str("… (the rest is left out)");
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{super::conversation::tests::turn, *};

    #[test]
    fn a_model_acts_in_its_turn_whatever_it_writes() {
        let mut turn = turn(vec![]);
        let mut arguments = json!({"to": "local:ann", "context": "gpc_anothers"});
        in_context(&mut arguments, &turn);
        assert_eq!(arguments, json!({"to": "local:ann", "context": "gpc_1"}));
        turn.context = None;
        in_context(&mut arguments, &turn);
        assert_eq!(arguments, json!({"to": "local:ann"}));
    }

    #[test]
    fn what_the_hub_does_itself_and_what_strangers_should_not_hear_is_not_offered() {
        for scope in [Scope::Unknown, Scope::Known, Scope::Owner] {
            assert!(
                !is_offered("reply", scope)
                    && !is_offered("next_turn", scope)
                    && is_offered("message", scope)
            );
        }
        assert!(!is_offered("inbox", Scope::Unknown) && is_offered("inbox", Scope::Known));
    }

    #[test]
    fn a_function_has_the_tools_schema_without_its_context() {
        let schema = json!({"type": "object", "properties": {"to": {}, "context": {}}});
        let described =
            Described { name: "message".into(), description: "Sends.".into(), input_schema: schema };
        let function = function(described);
        assert_eq!(function["function"]["parameters"], json!({"type": "object", "properties": {"to": {}}}));
        assert_eq!(
            bounded("ä".repeat(MAX_RESULT_BYTES)).chars().filter(|c| *c == 'ä').count(),
            MAX_RESULT_BYTES / 2
        );
    }
}
