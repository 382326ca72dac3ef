//! The states of a message, and every legal way between them.
//!
//! [`next`] is the table of the design, as code: whatever it does not name cannot happen. A queue whose states were
//! strings set from many places marked an offline channel's messages as delivered; here a change that the table does
//! not know is an error, and the row stays as it was.

use std::fmt;

use serde::Serialize;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, utoipa::ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$item_doc])* $item,)* }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$item),*];

            /// The word in the database and on the wire.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$item => $word),* }
            }

            /// The one with this word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$item),)* _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

words! {
    /// Where a message is on its way.
    State {
        /// On disk, not yet judged.
        Accepted = "accepted",
        /// Waits for a person.
        Held = "held",
        /// Waits for its lane, or for its next attempt.
        Ready = "ready",
        /// Its parts are on their way.
        Sending = "sending",
        /// Every part is confirmed.
        Sent = "sent",
        /// It did not arrive, or only in part; the reason says.
        Failed = "failed",
        /// A person refused it.
        Denied = "denied",
        /// Nobody decided in time.
        Expired = "expired",
        /// Its agent or an operator took it back.
        Cancelled = "cancelled",
        /// A part may or may not have arrived.
        Unknown = "unknown",
    }
}

words! {
    /// What can happen to a message.
    Event {
        /// Policy allows it.
        Allow = "allow",
        /// Policy wants a person to decide.
        Hold = "hold",
        /// Hook, policy or rendering refuses it.
        Refuse = "refuse",
        /// A valid approval completed the quorum.
        Approve = "approve",
        /// A valid denial.
        Deny = "deny",
        /// The hold's deadline passed.
        Expire = "expire",
        /// Taken back.
        Cancel = "cancel",
        /// Its lane took it.
        Take = "take",
        /// Every part was confirmed.
        Confirm = "confirm",
        /// A retryable error or a rate limit: due later.
        Postpone = "postpone",
        /// A permanent error, or attempts or deadline over.
        Fail = "fail",
        /// A request left, no answer came, and nothing settles it.
        Lose = "lose",
        /// The database is a restored backup: nobody knows what became of it since.
        Restore = "restore",
        /// The rest of it is sent again, by an operator, or because its platform did not deliver what it had taken.
        Retry = "retry",
        /// An operator sends it again and accepts that it may arrive twice.
        RetryMayDuplicate = "retry_may_duplicate",
        /// An operator says whether the part arrived of which nobody knew; the rest goes on.
        Settle = "settle",
        /// An operator lets a message of a restored backup begin anew, of which nothing had left in it.
        Readmit = "readmit",
    }
}

words! {
    /// Who makes something happen.
    Actor {
        /// The hub itself.
        Hub = "hub",
        /// A person at a companion.
        Approver = "approver",
        /// The agent whose message it is.
        Agent = "agent",
        /// A person at the shell or the page.
        Operator = "operator",
        /// A platform, by a request that its account's secret signs.
        Platform = "platform",
    }
}

words! {
    /// Where a part is on its way.
    PartState {
        /// Not yet sent.
        Planned = "planned",
        /// The request is leaving; written down before it does.
        InFlight = "in_flight",
        /// The platform has it.
        Confirmed = "confirmed",
        /// The platform does not have it.
        Failed = "failed",
        /// Nobody knows.
        Unknown = "unknown",
    }
}

/// A change that the table does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message that is {state} cannot {event} by {actor}")]
pub struct IllegalTransition {
    /// Where the message is.
    pub state: State,
    /// What was to happen.
    pub event: Event,
    /// Who wanted it.
    pub actor: Actor,
}

/// The state after `event`, if `actor` may make it happen to a message in `state`.
pub const fn next(state: State, event: Event, actor: Actor) -> Result<State, IllegalTransition> {
    use Actor::{Agent, Approver, Hub, Operator, Platform};
    use State as S;
    Ok(match (state, event, actor) {
        (S::Accepted, Event::Allow, Hub) => S::Ready,
        (S::Accepted, Event::Hold, Hub) => S::Held,
        (S::Accepted, Event::Refuse, Hub) => S::Failed,
        (S::Held, Event::Approve, Approver) => S::Ready,
        (S::Held, Event::Deny, Approver) => S::Denied,
        (S::Held, Event::Expire, Hub) => S::Expired,
        (S::Accepted | S::Held | S::Ready, Event::Cancel, Agent | Operator) => S::Cancelled,
        (S::Ready, Event::Take, Hub) => S::Sending,
        // A deadline that passes while a message waits for its next attempt.
        (S::Ready, Event::Fail, Hub) => S::Failed,
        (S::Sending, Event::Confirm, Hub) => S::Sent,
        (S::Sending, Event::Postpone, Hub) => S::Ready,
        (S::Sending, Event::Fail, Hub) => S::Failed,
        (S::Sending, Event::Lose, Hub) => S::Unknown,
        (S::Accepted | S::Held | S::Ready | S::Sending, Event::Restore, Hub) => S::Unknown,
        // It tells later what nobody knew.
        (S::Unknown, Event::Confirm, Platform) => S::Sent,
        (S::Unknown, Event::Fail, Platform) => S::Failed,
        // Or that what it had taken did not arrive after all; and where what was approved has something else for that, it goes.
        (S::Sent, Event::Fail, Platform) => S::Failed,
        (S::Sent | S::Unknown, Event::Retry, Platform) => S::Ready,
        (S::Failed, Event::Retry, Operator) => S::Ready,
        (S::Unknown, Event::RetryMayDuplicate, Operator) => S::Ready,
        (S::Unknown, Event::Settle, Operator) => S::Ready,
        // Not past what had not let it out: hooks, policy and a person are asked as the first time.
        (S::Unknown, Event::Readmit, Operator) => S::Accepted,
        _ => return Err(IllegalTransition { state, event, actor }),
    })
}

impl State {
    /// Whether nothing more happens to it by itself.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Accepted | Self::Held | Self::Ready | Self::Sending)
    }

    /// Whether nothing is wrong with it: it was sent, or may still be.
    pub const fn is_ok(self) -> bool {
        !self.is_final() || matches!(self, Self::Sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the design, written down a second time and by hand, as `state event actor -> state`.
    const TABLE: &str = "
        accepted allow hub -> ready
        accepted hold hub -> held
        accepted refuse hub -> failed
        accepted cancel agent -> cancelled
        accepted cancel operator -> cancelled
        held approve approver -> ready
        held deny approver -> denied
        held expire hub -> expired
        held cancel agent -> cancelled
        held cancel operator -> cancelled
        ready take hub -> sending
        ready fail hub -> failed
        ready cancel agent -> cancelled
        ready cancel operator -> cancelled
        sending confirm hub -> sent
        sending postpone hub -> ready
        sending fail hub -> failed
        sending lose hub -> unknown
        accepted restore hub -> unknown
        held restore hub -> unknown
        ready restore hub -> unknown
        sending restore hub -> unknown
        unknown confirm platform -> sent
        unknown fail platform -> failed
        sent fail platform -> failed
        sent retry platform -> ready
        unknown retry platform -> ready
        failed retry operator -> ready
        unknown retry_may_duplicate operator -> ready
        unknown settle operator -> ready
        unknown readmit operator -> accepted
    ";

    #[test]
    fn every_pair_of_state_and_event_goes_where_the_table_says_and_nowhere_else() {
        let lines: Vec<&str> = TABLE.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let (mut legal, mut tried) = (0, 0);
        for &state in State::ALL {
            for &event in Event::ALL {
                for &actor in Actor::ALL {
                    tried += 1;
                    let prefix = format!("{state} {event} {actor} -> ");
                    let expected = lines.iter().find_map(|line| line.strip_prefix(&prefix));
                    let got = next(state, event, actor);
                    assert_eq!(got.ok().map(State::word), expected, "{prefix}");
                    legal += usize::from(expected.is_some());
                }
            }
        }
        assert_eq!(legal, lines.len(), "a line of the table was never reached");
        assert_eq!(tried, 10 * 17 * 5);
    }

    #[test]
    fn an_illegal_transition_says_what_was_tried() {
        let error = next(State::Sent, Event::Take, Actor::Hub).unwrap_err();
        assert_eq!(error.to_string(), "a message that is sent cannot take by hub");
    }

    #[test]
    fn final_states_have_no_way_on_for_the_hub() {
        for &state in State::ALL.iter().filter(|state| state.is_final()) {
            for &event in Event::ALL {
                assert!(next(state, event, Actor::Hub).is_err(), "{state} {event}");
            }
        }
    }

    #[test]
    fn words_are_read_back() {
        for &state in State::ALL {
            assert_eq!(State::from_word(state.word()), Some(state));
        }
        assert_eq!(State::from_word("lost"), None);
    }
}
