//! Names for targets, and the allowlists that other houses have.

use std::{collections::BTreeMap, path::Path};

use super::{Agent, Config, ConfigError};
use crate::{
    channels::registry,
    message::target::Destination,
    settings::{file::read_text, is_name},
};

/// The longest file of allowlists, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

impl Config {
    /// `[book]`, read.
    ///
    /// # Errors
    /// A name, and what is wrong with it or its target.
    pub fn book(&self) -> Result<BTreeMap<String, Destination>, (String, String)> {
        let read = |(name, target): (&String, &String)| {
            let wrong = |problem: &str| (name.clone(), problem.to_owned());
            if !is_name(name) || name == "current" {
                return Err(wrong("names have letters, digits, `-` and `_`, at most 40 of them"));
            }
            match Destination::parse(target, &registry::NAMES) {
                Ok(meant @ Destination::Address { channel: Some(_), .. }) => Ok((name.clone(), meant)),
                _ => Err(wrong("write \"channel:address\" or \"channel:address#thread\"")),
            }
        };
        self.book.iter().map(read).collect()
    }
}

/// Adds the entries of a file such as the seeds' `messaging.json` to the agents.
pub(super) fn import(path: &Path, agents: &mut BTreeMap<String, Agent>) -> Result<(), ConfigError> {
    let text = read_text(path, MAX_FILE).map_err(ConfigError::Read)?;
    let lists: BTreeMap<String, Vec<String>> =
        serde_json::from_str(&text).map_err(|error| ConfigError::Invalid {
            at: String::new(),
            key: path.display().to_string(),
            problem: format!("{error}; write {{\"agent\": [\"channel:target\"]}}"),
        })?;
    let mut named: BTreeMap<String, String> = BTreeMap::new();
    for (agent, entries) in lists {
        let name = without_spaces(&agent);
        // One agent must not get what is allowed to another.
        if let Some(other) = named.insert(name.clone(), agent.clone()) {
            return Err(ConfigError::Invalid {
                at: String::new(),
                key: path.display().to_string(),
                problem: format!(
                    "{other:?} and {agent:?} are both {name:?} here: give one of them another name"
                ),
            });
        }
        agents.entry(name).or_default().allow.extend(entries);
    }
    Ok(())
}

/// A name of another house, as it is one here: names there may have spaces, and stand in URLs, commands and cards here.
fn without_spaces(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_file_is_read_as_it_is_and_adds_to_what_is_written_here() {
        let directory = tempfile::tempdir().unwrap();
        let seeds =
            "{\n\"engineer\": [\"slack:C0123ABC\", \"telegram:-100123\"],\n\"researcher\": [\"*\"]\n}";
        std::fs::write(directory.path().join("messaging.json"), seeds).unwrap();
        let file = directory.path().join("gatepost.toml");
        let text = "[hub]\nallowlists = \"messaging.json\"\n[agents.engineer]\nallow = [\"local:ann\"]\n";
        std::fs::write(&file, text).unwrap();
        let config = Config::load(&file).unwrap();
        assert_eq!(config.agents["engineer"].allow, ["local:ann", "slack:C0123ABC", "telegram:-100123"]);
        assert_eq!(config.agents["researcher"].allow, ["*"]);
        for broken in [
            "[]",
            "{\"a\": \"*\"}",
            "{\"a\": [\"nonsense\"]}",
            "{",
            "{\" \": [\"*\"]}",
            "{\"a/b\": [\"*\"]}",
            "{\"a b\": [\"local:ann\"], \"a-b\": [\"*\"]}",
        ] {
            std::fs::write(directory.path().join("messaging.json"), broken).unwrap();
            assert!(Config::load(&file).is_err(), "{broken}");
        }
    }

    #[test]
    fn an_agent_whose_name_has_spaces_has_dashes_here() {
        let directory = tempfile::tempdir().unwrap();
        let seeds = "{\"Head  Gardener\": [\"slack:C0123ABC\"], \"cook\": [\"*\"]}";
        std::fs::write(directory.path().join("messaging.json"), seeds).unwrap();
        let file = directory.path().join("gatepost.toml");
        let text = "[hub]\nallowlists = \"messaging.json\"\n[agents.Head-Gardener]\ndecorate = false\n";
        std::fs::write(&file, text).unwrap();
        let config = Config::load(&file).unwrap();
        let gardener = &config.agents["Head-Gardener"];
        assert_eq!(
            (gardener.allow.as_slice(), gardener.decorate),
            (["slack:C0123ABC".to_owned()].as_slice(), false)
        );
        assert_eq!(config.agents.len(), 2);
    }

    #[test]
    fn a_name_stands_for_a_target_on_a_channel() {
        let config = |book: &str| Config::parse(&format!("[book]\n{book}\n"), Path::new("x"));
        assert!(config("ann = \"local:ann\"").is_ok());
        for wrong in
            ["ann = \"ann\"", "ann = \"pigeon:x\"", "current = \"local:ann\"", "\"a b\" = \"local:ann\""]
        {
            assert!(config(wrong).is_err(), "{wrong}");
        }
    }
}
