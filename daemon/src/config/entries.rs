//! Entries of allowlists that do less than they seem to.
//!
//! One of `hold` that can match nothing is refused: whoever wrote it believes that a person is asked. One of `allow` that can
//! match nothing allows nothing, which is safe, and a warning; so is one that another entry makes superfluous. Entries of an
//! imported file ([`super::book`]) are held to the same rules, and each is named with the file and the line that it stands on.

use std::{collections::BTreeMap, path::Path};

use toml::de::{DeTable, DeValue};

use super::{Agent, Config, ConfigError, locate::line_at};
use crate::{
    channels::registry::{NAMES, kind},
    message::target::{AGENT, HUB, PERSON, channel_of},
    policy::Pattern,
    settings::is_name,
    spelling::nearest,
};

/// Where values stand, as `FILE:LINE: `, by their keys and texts.
#[derive(Debug, Clone, Default)]
pub(super) struct Places(BTreeMap<(String, String), String>);

impl Places {
    /// Those of the agents' values and of the address book in a configuration file.
    pub(super) fn of(text: &str, path: &Path) -> Self {
        let mut places = Self::default();
        let Ok(document) = DeTable::parse(text) else { return places };
        let section = |wanted: &str| {
            let found = document.get_ref().iter().find(|(name, _)| name.get_ref().as_ref() == wanted);
            match found.map(|(_, section)| section.get_ref()) {
                Some(DeValue::Table(section)) => section.iter().collect(),
                _ => vec![],
            }
        };
        for (name, target) in section("book") {
            let line = line_at(text, name.span().start);
            if let DeValue::String(target) = target.get_ref() {
                places.add(
                    &format!("book.{}", name.get_ref()),
                    target,
                    format!("{}:{line}: ", path.display()),
                );
            }
        }
        for (name, agent) in section("agents") {
            let DeValue::Table(values) = agent.get_ref() else { continue };
            for (key, value) in values {
                let key = format!("agents.{}.{}", name.get_ref(), key.get_ref());
                let one = std::slice::from_ref(value);
                let all: &[_] = match value.get_ref() {
                    DeValue::Array(values) => values,
                    _ => one,
                };
                for value in all {
                    if let DeValue::String(text_of_it) = value.get_ref() {
                        let line = line_at(text, value.span().start);
                        places.add(&key, text_of_it, format!("{}:{line}: ", path.display()));
                    }
                }
            }
        }
        places
    }

    /// Adds one, unless its like stands somewhere already.
    pub(super) fn add(&mut self, key: &str, value: &str, at: String) {
        self.0.entry((key.to_owned(), value.to_owned())).or_insert(at);
    }

    /// The place of a value; nothing, if it is not known.
    pub(super) fn at(&self, key: &str, value: &str) -> &str {
        self.0.get(&(key.to_owned(), value.to_owned())).map_or("", String::as_str)
    }

    /// Where the only value of a key stands.
    pub(super) fn at_key(&self, key: &str) -> &str {
        self.0.iter().find(|((known, _), _)| known == key).map_or("", |(_, at)| at)
    }
}

/// The lists of an agent, by the names of their keys.
fn lists(agent: &Agent) -> [(&'static str, &[String]); 4] {
    [
        ("allow", &agent.allow),
        ("hold", &agent.hold),
        ("by_companion", &agent.by_companion),
        ("by_web", &agent.by_web),
    ]
}

/// Whether these are the targets that need a person, and not those that are allowed.
fn asks(list: &str) -> bool {
    list != "allow"
}

impl Config {
    /// Refuses what is no entry, and an entry of `hold` that holds nothing.
    pub(super) fn refuse_entries(&self) -> Result<(), ConfigError> {
        for (name, agent) in &self.agents {
            for (list, entries) in lists(agent) {
                for entry in entries {
                    let problem = match readable(entry) {
                        Ok(pattern) if pattern.channel() == Some(HUB) => {
                            Some("what is done there is the hub's own, and no agent's".into())
                        }
                        Ok(pattern) if pattern.channel() == Some(PERSON) && list.starts_with("by_") => None,
                        Ok(pattern) if pattern.channel() == Some(PERSON) => {
                            Some("every agent may ask a person, without an entry".into())
                        }
                        Ok(pattern) if asks(list) => unmatchable(&pattern)
                            .map(|problem| format!("{problem}; as it is, nobody is asked because of it")),
                        Ok(_) => None,
                        Err(problem) => Some(problem),
                    };
                    if let Some(problem) = problem {
                        let key = format!("agents.{name}.{list}");
                        return Err(ConfigError::Invalid { at: String::new(), key, problem });
                    }
                }
            }
        }
        Ok(())
    }

    /// Where an entry of a list stands, as `FILE:LINE: `; nothing, if nobody knows.
    pub(crate) fn place_of(&self, key: &str, entry: &str) -> &str {
        self.places.at(key, entry)
    }

    /// Entries that can be left as they are, and do less than they seem to.
    pub(super) fn doubtful_entries(&self) -> Vec<String> {
        let mut found = vec![];
        for (name, agent) in &self.agents {
            for (list, entries) in lists(agent) {
                let key = format!("agents.{name}.{list}");
                for (entry, problem) in self.problems(entries) {
                    found.push(format!("{}{key}: {entry:?}: {problem}", self.places.at(&key, entry)));
                }
            }
            let key = format!("agents.{name}.allow");
            for entry in &agent.allow {
                let Some(holding) = agent.hold.iter().find(|held| covers(held, entry)) else { continue };
                let at = self.places.at(&key, entry);
                found.push(format!(
                    "{at}{key}: {entry:?}: it allows nothing more: `hold` has {holding:?}, and a person is asked"
                ));
            }
        }
        found
    }

    /// Whether some agent's list names the channel on which agents write to each other.
    pub(crate) fn agents_meet(&self) -> bool {
        let mut all = self.agents.values().flat_map(|agent| agent.allow.iter().chain(&agent.hold));
        all.any(|entry| readable(entry).is_ok_and(|pattern| pattern.channel() == Some(AGENT)))
    }

    /// Names of the address book on channels without an account.
    pub(super) fn unreachable_names(&self) -> Vec<String> {
        let mut found = vec![];
        for (name, target) in &self.book {
            let Some((channel, _)) = channel_of(target, &NAMES) else { continue };
            if !self.channels.contains_key(channel) {
                let key = format!("book.{name}");
                let at = self.places.at(&key, target);
                found.push(format!("{at}{key}: {target:?}: {}", without_account(channel)));
            }
        }
        found
    }

    /// Entries of one list, and what is wrong with each.
    fn problems<'a>(&self, entries: &'a [String]) -> Vec<(&'a String, String)> {
        let mut found = vec![];
        for (n, entry) in entries.iter().enumerate() {
            let Ok(pattern) = readable(entry) else { continue };
            if let Some(problem) = unmatchable(&pattern) {
                found.push((entry, format!("{problem}; nothing can be sent there")));
            } else if let Some(channel) =
                pattern.channel().filter(|name| *name != AGENT && !self.channels.contains_key(*name))
            {
                found.push((entry, without_account(channel)));
            }
            if entries[..n].contains(entry) {
                found.push((entry, "it stands there twice: remove one".into()));
            }
            let covered = |other: &&String| *other != entry && covers(entry, other);
            let covered: Vec<String> =
                entries.iter().filter(covered).map(|other| format!("{other:?}")).collect();
            if !covered.is_empty() && !entries[..n].contains(entry) {
                let problem =
                    format!("it matches all that {} would: remove one or the other", covered.join(", "));
                found.push((entry, problem));
            }
        }
        found
    }
}

/// Reads an entry.
pub(super) fn readable(entry: &str) -> Result<Pattern, String> {
    let pattern = Pattern::parse(entry).map_err(|error| error.to_string())?;
    match pattern.channel().is_none_or(is_name) {
        true => Ok(pattern),
        false => Err(format!("{entry:?} does not begin with the name of a channel")),
    }
}

/// How the operator can mend a channel without an account.
fn without_account(channel: &str) -> String {
    format!("there is no account on {channel}: add [channels.{channel}.home]; nothing can be sent there")
}

/// Why an entry matches no target that there can be, and what to write.
fn unmatchable(pattern: &Pattern) -> Option<String> {
    let channel = pattern.channel()?;
    if kind(channel).is_none() && channel != AGENT {
        let near = nearest(channel, NAMES.iter().copied());
        return Some(match near {
            Some(meant) => format!("there is no channel {channel:?}, did you mean {meant:?}?"),
            None => format!("there is no channel {channel:?}: there are {}", NAMES.join(", ")),
        });
    }
    match pattern {
        Pattern::Address(_, address) if address.contains('*') => Some(format!(
            "\"*\" stands for any address only by itself, and {pattern} would be an address with a star in it: write each address, \
             or {channel}:* for all of them"
        )),
        _ => None,
    }
}

/// Whether an entry matches every target that another one matches.
fn covers(entry: &str, other: &str) -> bool {
    match (Pattern::parse(entry), Pattern::parse(other)) {
        (Ok(Pattern::Any), Ok(_)) => true,
        (Ok(Pattern::Channel(all)), Ok(other)) => other.channel() == Some(all.as_str()),
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<Config, ConfigError> {
        Config::parse(&format!("[channels.local.home]\n[agents.a]\n{text}\n"), Path::new("gatepost.toml"))
    }

    #[test]
    fn an_entry_that_can_hold_nothing_is_refused_with_what_to_write() {
        for (entry, says) in [
            ("local:x*", "local:* for all of them"),
            ("local:*x", "would be an address with a star in it"),
            ("email:*@example.org", "email:* for all of them"),
            ("emial:*", "there is no channel \"emial\", did you mean \"email\"?"),
            ("Local:ann", "there is no channel \"Local\", did you mean \"local\"?"),
            ("tg:5", "there is no channel \"tg\""),
            (" local:ann", "does not begin with the name of a channel"),
            ("ann", "is not an allowlist entry"),
        ] {
            let error =
                config(&format!("hold = [\n  \"local:bob\",\n  {entry:?},\n]")).unwrap_err().to_string();
            assert!(error.starts_with("gatepost.toml:3: agents.a.hold: ") && error.contains(says), "{error}");
        }
    }

    #[test]
    fn an_entry_that_allows_nothing_is_a_warning_with_its_own_line() {
        let config = config("allow = [\n  \"local:ann\",\n  \"local:x*\",\n  \"emial:ann\",\n]").unwrap();
        let [star, unknown] = &config.doubtful_entries()[..] else {
            panic!("{:?}", config.doubtful_entries())
        };
        assert!(star.starts_with("gatepost.toml:5: agents.a.allow: \"local:x*\": \"*\" stands"), "{star}");
        assert!(
            unknown.starts_with("gatepost.toml:6: agents.a.allow: \"emial:ann\": there is no"),
            "{unknown}"
        );
    }

    #[test]
    fn an_entry_that_adds_nothing_is_a_warning_and_others_are_none() {
        for (lists, says) in [
            ("allow = [\"local:ann\", \"local:ann\"]", "\"local:ann\": it stands there twice"),
            ("allow = [\"local:ann\", \"local:*\"]", "\"local:*\": it matches all that \"local:ann\" would"),
            ("allow = [\"*\", \"local:*\"]", "\"*\": it matches all that \"local:*\" would"),
            (
                "allow = [\"local:ann\"]\nhold = [\"local:*\"]",
                "\"local:ann\": it allows nothing more: `hold` has \"local:*\"",
            ),
            ("allow = [\"local:ann\"]\nhold = [\"local:ann\"]", "`hold` has \"local:ann\""),
        ] {
            let found = config(lists).unwrap().doubtful_entries();
            assert!(found.len() == 1 && found[0].contains(says), "{lists}: {found:?}");
        }
        for fine in ["allow = [\"*\"]\nhold = [\"local:*\"]", "allow = [\"local:*\"]\nhold = [\"local:ann\"]"]
        {
            assert!(config(fine).unwrap().doubtful_entries().is_empty(), "{fine}");
        }
    }
    #[test]
    fn a_name_of_the_address_book_that_leads_nowhere_is_a_warning() {
        let config = config("[book]\nbob = \"local:bob\"\nann = \"tg:5\"").unwrap();
        let [found] = &config.unreachable_names()[..] else { panic!("{:?}", config.unreachable_names()) };
        assert!(
            found.starts_with("gatepost.toml:5: book.ann: \"tg:5\": there is no account on telegram"),
            "{found}"
        );
    }
}
