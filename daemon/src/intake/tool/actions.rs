//! Delivery actions: what an agent has the hub do in place of a delivery, by name. This table is the one place where they are registered;
//! a name that is not in it is an error to the agent that names those that are.

use std::pin::Pin;

use serde_json::{Value, json};

use super::{Described, Tools, questions, tasks};
use crate::message::refusal::Refusal;

/// What a handler comes to.
pub(super) type Handled<'a> = Pin<Box<dyn Future<Output = Result<Value, Refusal>> + Send + 'a>>;

/// An action.
pub(super) struct DeliveryAction {
    /// By which it is called: a tool's name.
    pub(super) name: &'static str,
    /// What a model is told of it.
    pub(super) description: &'static str,
    /// The schema of its arguments.
    pub(super) schema: fn() -> Value,
    /// Does it.
    pub(super) handler: for<'a> fn(&'a Tools<'a>, &'a Value) -> Handled<'a>,
}

/// All of them.
pub(super) const ACTIONS: &[DeliveryAction] = &[
    DeliveryAction {
        name: "ask_person",
        description: "Ask a person who runs this hub a question that they answer with yes or no on a device of theirs, before you do \
                      something that should not be done without them. It sends nothing and approves no message. The state is approved, \
                      denied, expired (nobody answered: no yes) or waiting; receipt with its id waits on.",
        schema: questions::schema,
        handler: |tools, arguments| Box::pin(questions::ask(tools, arguments)),
    },
    DeliveryAction {
        name: "schedule_task",
        description: "Be woken later with a prompt of your own, once or again and again. With the context of your turn it is due in this \
                      conversation, and you answer there; without one it is in no conversation, and what you send then may wait for a \
                      person's approval.",
        schema: tasks::schedule_schema,
        handler: |tools, arguments| Box::pin(tasks::schedule(tools, arguments)),
    },
    DeliveryAction {
        name: "cancel_task",
        description: "Take a task back that you scheduled: it is not due any more.",
        schema: tasks::cancel_schema,
        handler: |tools, arguments| Box::pin(tasks::cancel(tools, arguments)),
    },
    DeliveryAction {
        name: "list_tasks",
        description: "Your tasks: when each is due next, and what you will be told.",
        schema: || json!({"type": "object", "properties": {}, "additionalProperties": false}),
        handler: |tools, arguments| Box::pin(tasks::list(tools, arguments)),
    },
];

/// The action of this name.
pub(super) fn find(name: &str) -> Option<&'static DeliveryAction> {
    ACTIONS.iter().find(|action| action.name == name)
}

/// All of them, as a model is told.
pub(super) fn described() -> impl Iterator<Item = Described> {
    ACTIONS.iter().map(|action| Described {
        name: action.name.into(),
        description: action.description.into(),
        input_schema: (action.schema)(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::TOOLS;

    #[test]
    fn every_action_is_a_tool_by_its_name_and_has_a_schema() {
        for action in ACTIONS {
            assert!(
                TOOLS.contains(&action.name),
                "{}: hooks and programs know tools by message::TOOLS",
                action.name
            );
            assert_eq!((action.schema)()["type"], "object", "{}", action.name);
            assert_eq!(ACTIONS.iter().filter(|other| other.name == action.name).count(), 1);
        }
        assert!(find("schedule_task").is_some() && find("schedule_tasks").is_none());
    }
}
