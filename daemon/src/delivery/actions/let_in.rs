//! `let-in/CODE`: a person has approved the card of a request for access, and whoever asked is let in.
//!
//! What was written meanwhile goes its way afterwards ([`crate::receiving::cards`]): that needs the accounts and the routes of
//! the moment, and is found again after a crash.

use rusqlite::Transaction;

use super::{Action, LET_IN, Order, Undone};
use crate::{approval, people::requests};

/// The action.
pub(super) struct LetIn;

impl Action for LetIn {
    fn name(&self) -> &'static str {
        LET_IN
    }

    fn perform(&self, tx: &Transaction<'_>, order: &Order<'_>) -> Result<String, Undone> {
        let Some(by) = approval::decided_by(tx, order.message.seq)? else {
            return Err(Undone::Never("nobody has approved this".into()));
        };
        let outcome = || format!("{LET_IN}:{}", order.argument);
        if requests::decide(tx, order.argument, true, &by, order.now)?.is_some() {
            return Ok(outcome());
        }
        // Somebody else answered between the press and this.
        match requests::get(tx, order.argument)?.and_then(|request| request.decided) {
            Some(decided) if decided == "allowed" => Ok(outcome()),
            Some(decided) => Err(Undone::Never(format!("the request was {decided} before"))),
            None => Err(Undone::Never("there is no such request any more".into())),
        }
    }
}
