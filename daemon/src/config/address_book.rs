//! Names for targets, and the allowlists that other houses have.

use std::{borrow::Cow, collections::BTreeMap, fmt, path::Path};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

use super::{
    Agent, Config, ConfigError,
    entries::{Places, readable},
    locate::line_at,
};
use crate::{
    channels::registry,
    message::target::Destination,
    settings::{file::read_text, is_name},
};

/// The longest file of allowlists, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

impl Config {
    /// `[book]`, read.
    ///
    /// # Errors
    /// A name, and what is wrong with it or its target.
    pub(super) fn book(&self) -> Result<BTreeMap<String, Destination>, (String, String)> {
        let read = |(name, target): (&String, &String)| {
            let wrong = |problem: &str| (name.clone(), problem.to_owned());
            if !is_name(name) || name == "current" {
                return Err(wrong("names have letters, digits, `-` and `_`, at most 40 of them"));
            }
            match Destination::parse(target, &registry::TARGETS) {
                Ok(meant @ Destination::Address { channel: Some(_), .. }) => Ok((name.clone(), meant)),
                _ => Err(wrong("write \"channel:address\" or \"channel:address#thread\"")),
            }
        };
        self.book.iter().map(read).collect()
    }
}

/// Adds the entries of a file such as the seeds' `messaging.json` to the agents.
pub(super) fn import(
    path: &Path,
    agents: &mut BTreeMap<String, Agent>,
    places: &mut Places,
) -> Result<(), ConfigError> {
    let text = read_text(path, MAX_FILE_BYTES).map_err(ConfigError::Read)?;
    let lists: Lists<'_> = serde_json::from_str(&text).map_err(|error| ConfigError::Invalid {
        at: String::new(),
        key: path.display().to_string(),
        problem: format!("{error}; write {{\"agent\": [\"channel:target\"]}}"),
    })?;
    let at = |word: &Word<'_>| match word.line(&text) {
        Some(line) => format!("{}:{line}: ", path.display()),
        None => format!("{}: ", path.display()),
    };
    let mut named: BTreeMap<String, &Word<'_>> = BTreeMap::new();
    for (agent, entries) in &lists.0 {
        let refused =
            |word, problem| ConfigError::Invalid { at: at(word), key: format!("{:?}", agent.0), problem };
        let name = without_spaces(&agent.0);
        if !is_name(&name) {
            let problem = "names have letters, digits, `-` and `_`, at most 40 of them";
            return Err(refused(agent, problem.to_owned()));
        }
        // Other readers of the file keep the last list of an agent, and people read the first. And one agent must not get what is
        // allowed to another.
        if let Some(other) = named.insert(name.clone(), agent) {
            let (before, other) = (other.line(&text).unwrap_or_default(), &other.0);
            let problem = match *other == agent.0 {
                true => format!("it is there already, on line {before}: make one list of both"),
                false => format!("this and {other:?} are both {name:?} here: give one of them another name"),
            };
            return Err(refused(agent, problem));
        }
        let key = format!("agents.{name}.allow");
        let allow = &mut agents.entry(name).or_default().allow;
        for entry in entries {
            readable(&entry.0).map_err(|problem| refused(entry, problem))?;
            places.add(&key, &entry.0, at(entry));
            allow.push(entry.0.clone().into_owned());
        }
    }
    Ok(())
}

/// A text of the file, borrowed from it where it has no escapes.
struct Word<'a>(Cow<'a, str>);

impl Word<'_> {
    /// The line of `file` that it stands on, if it is a piece of it.
    fn line(&self, file: &str) -> Option<usize> {
        let Cow::Borrowed(piece) = self.0 else { return None };
        let at = (piece.as_ptr() as usize).checked_sub(file.as_ptr() as usize)?;
        (at <= file.len()).then(|| line_at(file, at))
    }
}

impl<'de> Deserialize<'de> for Word<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reads;
        impl<'de> Visitor<'de> for Reads {
            type Value = Word<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Word(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Word(Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_str(Reads)
    }
}

/// The file's lists in their order, with those of a name that stands there twice: a map would keep the last one, without a word.
struct Lists<'a>(Vec<(Word<'a>, Vec<Word<'a>>)>);

impl<'de> Deserialize<'de> for Lists<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reads;
        impl<'de> Visitor<'de> for Reads {
            type Value = Lists<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of lists")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut lists = vec![];
                while let Some(list) = map.next_entry()? {
                    lists.push(list);
                }
                Ok(Lists(lists))
            }
        }
        from.deserialize_map(Reads)
    }
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
    #[test]
    fn an_agent_that_stands_twice_in_the_seeds_file_is_refused_and_its_entries_have_lines() {
        let directory = tempfile::tempdir().unwrap();
        let (lists, file) = (directory.path().join("messaging.json"), directory.path().join("gatepost.toml"));
        std::fs::write(&file, "[hub]\nallowlists = \"messaging.json\"\n[channels.local.home]\n").unwrap();
        let load = |text: &str| {
            std::fs::write(&lists, text).unwrap();
            Config::load(&file)
        };
        for (twice, at, says) in [
            (
                "{\n\"a\": [\"local:ann\"],\n\"a\": [\"*\"]\n}",
                ":3: \"a\": ",
                "it is there already, on line 2",
            ),
            ("{\n\"a\": [],\n\n\"\\u0061\": [\"*\"]\n}", ": \"a\": ", "it is there already, on line 2"),
            ("{\n\"a b\": [],\n\"a-b\": []}", ":3: \"a-b\": ", "give one of them another name"),
            ("{\"a\": [\n\"local:ann\",\n\"local\"]}", ":3: \"a\": ", "\"local\" is not an allowlist entry"),
            ("{\n\"a/b\": []}", ":2: \"a/b\": ", "names have letters"),
        ] {
            let error = load(twice).unwrap_err().to_string();
            let at = format!("{}{at}", lists.display());
            assert!(error.starts_with(&at) && error.contains(says), "{twice}: {at} {error}");
        }
        let warnings =
            load("{\n\"a\": [\n\"local:ann\",\n\"local:x*\",\n\"emial:ann\"\n]}").unwrap().warnings();
        for (line, entry) in [(4, "local:x*"), (5, "emial:ann")] {
            let wanted = format!("{}:{line}: agents.a.allow: {entry:?}: ", lists.display());
            assert!(warnings.iter().any(|warning| warning.starts_with(&wanted)), "{wanted}: {warnings:?}");
        }
        std::fs::remove_file(&lists).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&lists).status().unwrap().success());
        assert!(Config::load(&file).unwrap_err().to_string().contains("put a regular file there"));
    }
}
