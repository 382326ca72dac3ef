//! What a row of the audit says that happened: one list for those who write rows and those who prove by them.
//!
//! The words are stored and hashed, so they never change; a variant may be renamed, and every reader with it. A word that is not in
//! the list is nobody's: readers pass it over, and the chain names a row in which somebody put one.

use rusqlite::{
    ToSql,
    types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef},
};

use crate::message::state::State;

macro_rules! events {
    ($($(#[$doc:meta])* $item:ident = $word:literal,)*) => {
        /// What happened.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Event {
            /// A message came to a state.
            Message(State),
            $($(#[$doc])* $item,)*
        }

        impl Event {
            /// All but those of states.
            #[cfg(test)]
            const OTHERS: &[Self] = &[$(Self::$item),*];

            /// The word that is stored.
            pub const fn word(self) -> &'static str {
                match self {
                    Self::Message(state) => came_to(state),
                    $(Self::$item => $word,)*
                }
            }

            /// The one with this word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$item),)*
                    _ => State::ALL.iter().copied().find(|state| came_to(*state) == word).map(Self::Message),
                }
            }
        }
    };
}

events! {
    /// A person let somebody in, or shut them out.
    AccessDecided = "access.decided",
    /// A person is to be asked whether somebody is let in.
    AccessRequested = "access.requested",
    /// Nobody is asked about an agent's messages for a while.
    AgentMuted = "agent.muted",
    /// People are asked about an agent's messages again, before the time was over.
    AgentUnmuted = "agent.unmuted",
    /// The rows of messages have hashes from here on.
    AuditBegan = "audit.began",
    /// A call was refused on admission.
    CallRefused = "call.refused",
    /// The clock is settled after a start.
    ClockSettled = "clock.settled",
    /// Another configuration holds. Watchers hear of it by this word too.
    ConfigurationReloaded = "configuration.reloaded",
    /// A context was issued.
    ContextIssued = "context.issued",
    /// People are asked about a message that had to wait for that.
    DecisionAsked = "decision.asked",
    /// An approval that was not the last.
    DecisionCounted = "decision.counted",
    /// A decision that does not count.
    DecisionRejected = "decision.rejected",
    /// An approval went with its device's right to give it.
    DecisionWithdrawn = "decision.withdrawn",
    /// A companion was registered.
    DeviceAdded = "device.added",
    /// Two devices have the same keys.
    DeviceCloned = "device.cloned",
    /// A companion's display ceased to work, or works again.
    DeviceDisplay = "device.display",
    /// A companion has another name.
    DeviceRenamed = "device.renamed",
    /// A companion may not decide any more.
    DeviceRevoked = "device.revoked",
    /// Somebody entered something into a form.
    FormEntered = "form.entered",
    /// A hook did not hear how a message ended.
    HookFailed = "hook.failed",
    /// The database is a restored backup.
    HubRestored = "hub.restored",
    /// Something was refused that came in a companion's name.
    LinkRefused = "link.refused",
    /// Somebody signed in to the page.
    LoginBegan = "login.began",
    /// A login to the page is over.
    LoginEnded = "login.ended",
    /// Hooks are through with a message.
    MessageHooked = "message.hooked",
    /// Somebody added a release of firmware for companions.
    OtaAdded = "ota.added",
    /// A companion has confirmed itself with a release.
    OtaConfirmed = "ota.confirmed",
    /// A person said yes at a companion: it restarts with a release.
    OtaInstalled = "ota.installed",
    /// A companion was offered a release.
    OtaOffered = "ota.offered",
    /// Somebody lets roll-outs rest.
    OtaPaused = "ota.paused",
    /// A companion did not take a release, or a person said no there.
    OtaRefused = "ota.refused",
    /// Somebody lets roll-outs go on.
    OtaResumed = "ota.resumed",
    /// Somebody rolls a release out.
    OtaRolledOut = "ota.rolled_out",
    /// A companion runs what it ran before: a release did not confirm itself there.
    OtaWentBack = "ota.went_back",
    /// Nobody was paired.
    PairingFailed = "pairing.failed",
    /// An operator said what became of a part.
    PartSettled = "part.settled",
    /// A platform did not deliver what it had taken.
    PartUndelivered = "part.undelivered",
    /// An operator added a passkey.
    PasskeyAdded = "passkey.added",
    /// A passkey signs nobody in any more, and decides nothing.
    PasskeyRemoved = "passkey.removed",
    /// Messages were removed.
    QueuePurged = "queue.purged",
    /// An agent, or an operator, took a task back.
    TaskCancelled = "task.cancelled",
    /// A task was due, and woke its agent.
    TaskDue = "task.due",
    /// An agent scheduled a task.
    TaskScheduled = "task.scheduled",
    /// A token was issued.
    TokenAdded = "token.added",
    /// A token is void.
    TokenRevoked = "token.revoked",
    /// An agent ended a turn.
    TurnEnded = "turn.ended",
    /// Nobody ended a turn.
    TurnFailed = "turn.failed",
    /// A turn that had failed waits again.
    TurnRetried = "turn.retried",
    /// A turn waits for its agent.
    TurnWaiting = "turn.waiting",
}

const fn came_to(state: State) -> &'static str {
    match state {
        State::Accepted => "message.accepted",
        State::Held => "message.held",
        State::Ready => "message.ready",
        State::Sending => "message.sending",
        State::Sent => "message.sent",
        State::Failed => "message.failed",
        State::Denied => "message.denied",
        State::Expired => "message.expired",
        State::Cancelled => "message.cancelled",
        State::Unknown => "message.unknown",
    }
}

impl Event {
    /// The state that a message came to, where this says so.
    pub const fn state(self) -> Option<State> {
        match self {
            Self::Message(state) => Some(state),
            _ => None,
        }
    }
}

/// A row's event; none for a word that is not in the list.
impl FromSql for Event {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::from_word(value.as_str()?).ok_or(rusqlite::types::FromSqlError::InvalidType)
    }
}

impl ToSql for Event {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.word().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands in databases out there.
    const STORED: [(Event, &str); 59] = [
        (Event::Message(State::Accepted), "message.accepted"),
        (Event::Message(State::Held), "message.held"),
        (Event::Message(State::Ready), "message.ready"),
        (Event::Message(State::Sending), "message.sending"),
        (Event::Message(State::Sent), "message.sent"),
        (Event::Message(State::Failed), "message.failed"),
        (Event::Message(State::Denied), "message.denied"),
        (Event::Message(State::Expired), "message.expired"),
        (Event::Message(State::Cancelled), "message.cancelled"),
        (Event::Message(State::Unknown), "message.unknown"),
        (Event::AccessDecided, "access.decided"),
        (Event::AccessRequested, "access.requested"),
        (Event::AgentMuted, "agent.muted"),
        (Event::AgentUnmuted, "agent.unmuted"),
        (Event::AuditBegan, "audit.began"),
        (Event::CallRefused, "call.refused"),
        (Event::ClockSettled, "clock.settled"),
        (Event::ConfigurationReloaded, "configuration.reloaded"),
        (Event::ContextIssued, "context.issued"),
        (Event::DecisionAsked, "decision.asked"),
        (Event::DecisionCounted, "decision.counted"),
        (Event::DecisionRejected, "decision.rejected"),
        (Event::DecisionWithdrawn, "decision.withdrawn"),
        (Event::DeviceAdded, "device.added"),
        (Event::DeviceCloned, "device.cloned"),
        (Event::DeviceDisplay, "device.display"),
        (Event::DeviceRenamed, "device.renamed"),
        (Event::DeviceRevoked, "device.revoked"),
        (Event::FormEntered, "form.entered"),
        (Event::HookFailed, "hook.failed"),
        (Event::HubRestored, "hub.restored"),
        (Event::LinkRefused, "link.refused"),
        (Event::LoginBegan, "login.began"),
        (Event::LoginEnded, "login.ended"),
        (Event::MessageHooked, "message.hooked"),
        (Event::OtaAdded, "ota.added"),
        (Event::OtaConfirmed, "ota.confirmed"),
        (Event::OtaInstalled, "ota.installed"),
        (Event::OtaOffered, "ota.offered"),
        (Event::OtaPaused, "ota.paused"),
        (Event::OtaRefused, "ota.refused"),
        (Event::OtaResumed, "ota.resumed"),
        (Event::OtaRolledOut, "ota.rolled_out"),
        (Event::OtaWentBack, "ota.went_back"),
        (Event::PairingFailed, "pairing.failed"),
        (Event::PartSettled, "part.settled"),
        (Event::PartUndelivered, "part.undelivered"),
        (Event::PasskeyAdded, "passkey.added"),
        (Event::PasskeyRemoved, "passkey.removed"),
        (Event::QueuePurged, "queue.purged"),
        (Event::TaskCancelled, "task.cancelled"),
        (Event::TaskDue, "task.due"),
        (Event::TaskScheduled, "task.scheduled"),
        (Event::TokenAdded, "token.added"),
        (Event::TokenRevoked, "token.revoked"),
        (Event::TurnEnded, "turn.ended"),
        (Event::TurnFailed, "turn.failed"),
        (Event::TurnRetried, "turn.retried"),
        (Event::TurnWaiting, "turn.waiting"),
    ];

    #[test]
    fn every_event_is_stored_as_the_word_that_databases_have_and_read_back_from_it() {
        for (event, word) in STORED {
            assert_eq!((event.word(), Event::from_word(word)), (word, Some(event)));
        }
        assert_eq!(STORED.len(), State::ALL.len() + Event::OTHERS.len(), "and the table has all of them");
        for &state in State::ALL {
            assert_eq!(Event::Message(state).word(), format!("message.{state}"));
        }
        for none in ["", "sent", "message.", "message.retried", "Message.sent", "message.sent "] {
            assert_eq!(Event::from_word(none), None, "{none}");
        }
    }
}
