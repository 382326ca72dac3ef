//! `ask_person`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Tools, WAIT, read};
use crate::{
    admission::submit::Idempotency,
    intake::questions::{self, Asking},
    message::{parameters::LONGEST_WAIT, refusal::Refusal},
};

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "description": "What a person can answer with yes or no. They see it on a small \
                         display: say first what is to be done."},
            "ttl_seconds": {"type": "integer", "minimum": 1, "description": "How long they have; as long as the hub gives them, where it is \
                            left out, and never longer."},
            "wait": {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT, "description": "For how many seconds to wait for the answer; \
                     20 where it is left out."},
            "context": {"type": "string", "description": "The token of the conversation that the turn came from."},
        },
        "required": ["question"],
        "additionalProperties": false,
    })
}

pub(super) async fn ask(tools: &Tools<'_>, arguments: &Value) -> Result<Value, Refusal> {
    let asking: Asking = read(arguments, "{\"question\": …}")?;
    let wait = match asking.wait {
        None => WAIT,
        Some(seconds) if seconds <= LONGEST_WAIT => Duration::from_secs(seconds),
        Some(_) => {
            let hint = format!("give {LONGEST_WAIT} at most, and look again with receipt");
            return Err(Refusal::input(format!("\"wait\" is over {LONGEST_WAIT}"), hint).because("wait"));
        }
    };
    let question =
        questions::ask(&tools.pipeline, tools.caller.agent(), asking, Idempotency::NONE, wait).await?;
    Ok(json!(question))
}
