//! The formatting guide of a channel, given once: with the answer to a session's first use of it, and again after a
//! mistake. In a prompt it would be read at every turn, and change what is cached.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

use crate::channels::formats::format;

/// The most sessions and channels that are remembered; past this it begins anew, and some guides are given twice.
const MOST: usize = 10_000;

/// Who has been given which guide.
#[derive(Default)]
pub(super) struct Guides(Mutex<HashSet<(String, String, String)>>);

impl Guides {
    /// The guide of the channel that `to` is on, if this session of the agent has not had it.
    pub(super) fn first_use(&self, agent: &str, session: &str, to: &str) -> Option<&'static str> {
        let channel = to.split(':').next()?;
        let guide = format(channel)?.guide;
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if given.len() >= MOST {
            given.clear();
        }
        given.insert((agent.to_owned(), session.to_owned(), channel.to_owned())).then_some(guide)
    }

    /// The guide to give with the refusal of a call, if it names a channel.
    pub(super) fn after_a_mistake(call: &Value) -> Option<&'static str> {
        let named = |name: &str| call[name].as_str();
        let channel = named("channel").or_else(|| named("platform"));
        let target = || named("to").or_else(|| named("target"))?.split(':').next();
        format(channel.or_else(target)?).map(|format| format.guide)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_is_given_a_channels_guide_once() {
        let guides = Guides::default();
        let first = |session: &str, to: &str| guides.first_use("a", session, to).is_some();
        assert!(first("s", "discord:5"));
        assert!(!first("s", "discord:6"));
        assert!(first("s", "telegram:5"));
        assert!(first("t", "discord:5"));
        assert!(!first("t", "pigeon:5"));
    }

    #[test]
    fn after_a_mistake_it_is_given_again() {
        assert!(Guides::after_a_mistake(&json!({"to": "discord:5"})).is_some());
        assert!(Guides::after_a_mistake(&json!({"platform": "slack", "target": "#x"})).is_some());
        assert!(Guides::after_a_mistake(&json!({"to": "current"})).is_none());
        assert!(Guides::after_a_mistake(&json!([])).is_none());
    }
}
