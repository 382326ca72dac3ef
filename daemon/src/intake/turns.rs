//! How an interface refuses what is asked of a turn.

use crate::{
    message::refusal::{Code, Refusal},
    turns::lease::NotHeld,
};

/// There is none, or none that this caller may see.
pub(super) fn no_turn() -> Refusal {
    let hint = "see gatepost turns list, or GET /v1/turns: those that there are, as long as they are kept";
    Refusal::new(Code::NotFound, "there is no such turn", hint)
}

/// The turn is not the caller's.
pub(super) fn not_held(not_held: NotHeld) -> Refusal {
    match not_held {
        NotHeld::Unknown => no_turn(),
        NotHeld::Lost => {
            let hint = "nothing of this call was done; take the next turn with GET /v1/turns";
            Refusal::new(Code::Conflict, not_held.to_string(), hint).because("lease_lost")
        }
    }
}
