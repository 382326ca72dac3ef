//! Where a message is that an operation names.
//!
//! An operation on an existing message names it by the platform's id. A turn may touch messages of its own conversation
//! only; if it is bound to a thread, messages of that thread only. Where it names one of another thread, or one of which
//! nobody knows the thread, it leaves its conversation like a message that is sent elsewhere: some platforms take such
//! an id from anywhere, and none of them knows which thread an agent is bound to.
//!
//! A message of another conversation is refused before anything is judged, so it has no place here.

use serde::{Deserialize, Serialize};

/// A message that an operation names, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// The platform's id of it, as the call named it.
    pub message: String,
    /// Where it is in the conversation that the operation goes to.
    pub location: Location,
}

/// Where a message is in its conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Location {
    /// In this thread.
    Thread(String),
    /// In no thread.
    Outside,
    /// In some thread or in none: nobody can say.
    Unknown,
}

impl Location {
    /// Of a message whose thread is known.
    pub fn of(thread: Option<String>) -> Self {
        thread.map_or(Self::Outside, Self::Thread)
    }
}

impl Touched {
    /// Whether it is a message of this thread. The message that a thread began with is one of its own: several platforms
    /// name the thread by that message's id.
    pub fn is_in(&self, thread: &str) -> bool {
        self.message == thread || matches!(&self.location, Location::Thread(of) if of == thread)
    }

    /// Where it is, for whoever approves: nothing, where it is in `thread` as the operation says.
    pub fn described(&self, thread: Option<&str>) -> Option<String> {
        if thread.is_some_and(|thread| self.is_in(thread)) {
            return None;
        }
        match (&self.location, thread) {
            (Location::Thread(of), _) => Some(format!("message {} is in the thread {of}", self.message)),
            (Location::Outside, None) => None,
            (Location::Outside, Some(_)) => Some(format!("message {} is in no thread", self.message)),
            (Location::Unknown, _) => {
                Some(format!("message {} is in another thread or an unknown one", self.message))
            }
        }
    }

    /// Why touching it leaves a conversation that is bound to `thread`, if it does.
    pub(super) fn leaves(&self, thread: &str) -> Option<String> {
        if self.is_in(thread) {
            return None;
        }
        Some(match self.location {
            Location::Unknown => format!("the thread of message {} is not known", self.message),
            Location::Thread(_) | Location::Outside => {
                format!("message {} is in another thread, or in none", self.message)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(location: Location) -> Touched {
        Touched { message: "5".into(), location }
    }

    #[test]
    fn a_thread_has_its_own_messages_and_the_one_that_it_began_with() {
        assert_eq!(touched(Location::Thread("7".into())).leaves("7"), None);
        assert_eq!(touched(Location::Outside).leaves("5"), None);
        assert!(touched(Location::Thread("9".into())).leaves("7").unwrap().contains("another thread"));
        assert!(touched(Location::Outside).leaves("7").unwrap().contains("none"));
        assert!(touched(Location::Unknown).leaves("7").unwrap().contains("not known"));
    }

    #[test]
    fn whoever_approves_reads_where_a_message_is_that_is_not_where_the_call_says() {
        let reads = |location, thread| touched(location).described(thread);
        assert_eq!(reads(Location::Thread("7".into()), Some("7")), None);
        assert_eq!(reads(Location::Outside, None), None);
        assert_eq!(reads(Location::Thread("9".into()), Some("7")).unwrap(), "message 5 is in the thread 9");
        assert!(reads(Location::Unknown, Some("7")).unwrap().contains("unknown"));
        assert!(reads(Location::Outside, Some("7")).unwrap().contains("no thread"));
    }

    #[test]
    fn a_stored_one_reads_back_as_it_was() {
        for location in [Location::Thread("9".into()), Location::Outside, Location::Unknown] {
            let stored = serde_json::to_string(&touched(location.clone())).unwrap();
            assert_eq!(serde_json::from_str::<Touched>(&stored).unwrap(), touched(location), "{stored}");
        }
    }
}
