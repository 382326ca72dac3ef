//! The values as they were parsed when they were checked: the hub is built from these, and nothing is parsed a second time.

use std::collections::BTreeMap;

use super::{Agent, Config, hooks::Transport, voice::Speaks, wake::Way};
use crate::{
    files::{Sources, fetch_policy::Private},
    heartbeat,
    homeassistant::Plan,
    message::target::Destination,
    notify::Notify,
    policy::Rights,
    router::Routing,
};

/// The values that are more than they look like in the file. The default is that of an empty file.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// `[book]`: names for targets.
    pub book: BTreeMap<String, Destination>,
    /// How each hook is asked.
    pub hooks: BTreeMap<String, Transport>,
    /// How each agent is brought its turns that does not ask for them, by the name of the section.
    pub wakes: BTreeMap<String, Way>,
    /// Who speaks.
    pub speaks: Speaks,
    /// Where inside the local network files may be fetched from.
    pub private_urls: Private,
    /// Whose words wake which agent, with addresses as they are written.
    pub routing: Routing,
    /// The heartbeats that are on, by their agents.
    pub heartbeats: BTreeMap<String, heartbeat::Plan>,
    /// Who is told that something waits for a person.
    pub notify: Option<Notify>,
    /// What Home Assistant is told, and what it may.
    pub home_assistant: Option<Plan>,
    pub(super) agents: BTreeMap<String, CheckedAgent>,
}

/// An agent's lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedAgent {
    /// Where it may write.
    pub rights: Rights,
    /// Where its files may come from.
    pub sources: Sources,
}

impl Config {
    /// What was read out of the values.
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// The agents, each with its lists. One that was added to a configuration that is checked already is none.
    pub fn checked_agents(&self) -> impl Iterator<Item = (&str, &Agent, &CheckedAgent)> {
        let agents = self.agents.iter();
        agents.filter_map(|(name, agent)| Some((name.as_str(), agent, self.checked.agents.get(name)?)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_an_empty_file_says_is_the_default() {
        let empty = Config::parse("", Path::new("f")).unwrap();
        assert_eq!(format!("{:?}", empty.checked()), format!("{:?}", Checked::default()));
    }

    #[test]
    fn what_is_checked_is_what_the_paths_are_in_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("gatepost.toml");
        let text = "[agents.a]\nallow = [\"local:x\"]\n[hooks.h]\non = \"message_sent\"\nurl = \"https://h.example\"\ntoken = \"file:t\"\n";
        let config = Config::read(text, &file).unwrap();
        let token = match &config.checked().hooks["h"] {
            Transport::Url(_, token) => token.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(token, config.hooks["h"].token);
        assert!(format!("{token:?}").contains(directory.path().to_str().unwrap()), "{token:?}");
        assert_eq!(config.checked_agents().count(), 1);
    }
}
