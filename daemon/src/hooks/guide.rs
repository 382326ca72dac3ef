//! The formatting guide of a channel, given once: with the answer to a session's first use of it, and again after a
//! mistake. In a prompt it would be read at every turn, and change what is cached.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

use crate::channels::{formats::Format, registry::format};

/// The most sessions and channels that are remembered; past this it begins anew, and some guides are given twice.
const MAX_REMEMBERED: usize = 10_000;

/// Which sessions have been given which guide.
#[derive(Default)]
pub(crate) struct Guides(Mutex<HashSet<(String, String, &'static str)>>);

impl Guides {
    /// Those of these targets' channels of which this session of the agent has had no guide; it counts as given from here on.
    pub(crate) fn first_use<'a>(
        &self,
        agent: &str,
        session: &str,
        to: impl Iterator<Item = &'a str>,
    ) -> Vec<&'static Format> {
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fresh = Vec::new();
        for format in to.filter_map(channel_of) {
            if given.len() >= MAX_REMEMBERED {
                given.clear();
            }
            if given.insert((agent.to_owned(), session.to_owned(), format.channel)) {
                fresh.push(format);
            }
        }
        fresh
    }
}

/// The channels whose guides go with the refusal of a call: those that it names, or its turn's own.
pub(crate) fn after_a_mistake(call: &Value, current: Option<&str>) -> Vec<&'static Format> {
    let texts = |name: &str| match &call[name] {
        Value::String(text) => vec![text.as_str()],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut named = Vec::new();
    for text in ["channel", "platform", "channels", "to", "target", "targets"].into_iter().flat_map(texts) {
        if let Some(format) = channel_of(text).filter(|found| !named.contains(found)) {
            named.push(format);
        }
    }
    if named.is_empty() {
        named.extend(current.and_then(channel_of));
    }
    named
}

/// The channel that a target, or a name of a channel, is on.
fn channel_of(to: &str) -> Option<&'static Format> {
    format(to.split(':').next()?)
}

/// The guides of these channels as one text, each by what `guide` says of it.
pub(crate) fn written(formats: &[&Format], guide: impl Fn(&Format) -> String) -> Option<String> {
    match formats {
        [] => None,
        [one] => Some(guide(one)),
        several => {
            let each = several.iter().map(|format| format!("{}:\n{}", format.channel, guide(format)));
            Some(each.collect::<Vec<_>>().join("\n\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Of a hub without accounts.
    fn bare(formats: &[&Format]) -> Option<String> {
        written(formats, |format| format.guide.to_owned())
    }

    #[test]
    fn a_session_is_given_a_channels_guide_once() {
        let guides = Guides::default();
        let first = |session: &str, to: &str| !guides.first_use("a", session, [to].into_iter()).is_empty();
        assert!(first("s", "discord:5"));
        assert!(!first("s", "discord:6"));
        assert!(first("s", "telegram:5"));
        assert!(first("t", "discord:5"));
        assert!(!first("t", "pigeon:5"));
    }

    #[test]
    fn several_targets_bring_the_guide_of_each_channel_that_is_new() {
        let guides = Guides::default();
        let told = |to: &[&str]| bare(&guides.first_use("a", "s", to.iter().copied()));
        let discord = format("discord").unwrap().guide;
        assert_eq!(told(&["discord:5", "discord:6"]).as_deref(), Some(discord));
        let others = told(&["discord:5", "slack:C1", "signal:+49", "slack:C2"]).unwrap();
        assert!(others.starts_with("slack:\n- ") && others.contains("\n\nsignal:\n- "), "{others}");
        assert!(!others.contains("discord:"), "{others}");
        assert_eq!(told(&["slack:C1", "signal:+49"]), None);
    }

    #[test]
    fn after_a_mistake_it_is_given_again() {
        let given = |call: Value, current: Option<&str>| bare(&after_a_mistake(&call, current));
        let discord = Some(format("discord").unwrap().guide.to_owned());
        assert_eq!(given(json!({"to": "discord:5"}), None), discord);
        assert_eq!(given(json!({"platform": "discord", "target": "#x"}), Some("slack")), discord);
        assert_eq!(
            given(json!({"action": "broadcast", "targets": ["discord:5", 6, "discord:7"]}), None),
            discord
        );
        assert_eq!(given(json!({"to": "current"}), Some("discord")), discord);
        assert_eq!(given(json!({"to": "current"}), None), None);
        assert_eq!(given(json!([]), None), None);
    }
}
