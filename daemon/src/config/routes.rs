//! `[routes.NAME]`, `[people.NAME]` and `[routing]`: whose words wake which agent.

use std::time::Duration;

use regex::RegexBuilder;
use serde::Deserialize;

use super::Span;
use crate::{
    people::{People, Person, user_id_of},
    policy::{Allowlist, Scope},
    router::{Engage, Ignored, Queueing, Route, Senders, SessionMode, UnknownSenders},
};

/// The longest pattern, in bytes, and what it may take compiled: a line, not a program.
const MAX_PATTERN_BYTES: usize = 1_000;
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// `[routing]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Routing {
    /// The agent that a person gives a conversation to which no route names.
    pub default_agent: Option<String>,
    /// How long a turn is its taker's.
    pub lease: Span,
}

impl Default for Routing {
    fn default() -> Self {
        Self { default_agent: None, lease: Span(Duration::from_mins(5)) }
    }
}

/// `[people.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PersonEntry {
    /// Their addresses, `channel:id`.
    pub ids: Vec<String>,
    /// How far they are trusted.
    pub scope: Trust,
}

impl Default for PersonEntry {
    fn default() -> Self {
        Self { ids: vec![], scope: Trust::Known }
    }
}

/// How far a person is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// It is their home.
    Owner,
    /// They may write.
    Known,
    /// They may not.
    Blocked,
}

impl From<Trust> for Scope {
    fn from(trust: Trust) -> Self {
        match trust {
            Trust::Owner => Self::Owner,
            Trust::Known => Self::Known,
            Trust::Blocked => Self::Blocked,
        }
    }
}

/// What wakes an agent, by its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngageMode {
    /// A mention or a direct message.
    #[default]
    Mention,
    /// The same, or an active session.
    MentionSticky,
    /// A text that matches.
    Pattern,
}

/// `[routes.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RouteEntry {
    /// The conversations.
    pub from: Vec<String>,
    /// The only account.
    #[serde(default)]
    pub account: Option<String>,
    /// The agent.
    pub agent: String,
    /// What wakes it.
    #[serde(default)]
    pub engage: EngageMode,
    /// The pattern of `pattern`.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Whose words wake it.
    #[serde(default)]
    pub senders: Senders,
    /// What becomes of strangers.
    #[serde(default)]
    pub unknown: Option<UnknownSenders>,
    /// What becomes of messages that do not wake it.
    #[serde(default)]
    pub ignored: Ignored,
    /// Which session they belong to.
    #[serde(default)]
    pub session: SessionMode,
    /// What becomes of those behind a turn.
    #[serde(default)]
    pub queue: Queueing,
    /// Whether a typing sign is shown.
    #[serde(default = "yes")]
    pub typing: bool,
    /// Whether messages are marked as read.
    #[serde(default = "yes")]
    pub read_marks: bool,
}

const fn yes() -> bool {
    true
}

impl RouteEntry {
    /// It, read.
    ///
    /// # Errors
    /// The key that is wrong, and what is wrong with it.
    pub(super) fn read(&self, name: &str) -> Result<Route, (&'static str, String)> {
        let from =
            Allowlist::parse(self.from.iter().cloned()).map_err(|error| ("from", error.to_string()))?;
        if self.from.is_empty() {
            return Err(("from", "name at least one conversation: [\"telegram:*\"]".into()));
        }
        let engage = match (self.engage, self.pattern.as_deref()) {
            (EngageMode::Mention, None) => Engage::Mention,
            (EngageMode::MentionSticky, None) => Engage::MentionSticky,
            (EngageMode::Pattern, Some(".")) => Engage::Pattern(None),
            (EngageMode::Pattern, Some(pattern)) => Engage::Pattern(Some(compiled(pattern)?)),
            (EngageMode::Pattern, None) => {
                return Err(("pattern", "engage = \"pattern\" needs a pattern; \".\" is any message".into()));
            }
            (_, Some(_)) => return Err(("pattern", "a pattern goes with engage = \"pattern\"".into())),
        };
        Ok(Route {
            name: name.to_owned(),
            from,
            account: self.account.clone(),
            agent: self.agent.clone(),
            engage,
            senders: self.senders,
            unknown: self.unknown,
            ignored: self.ignored,
            session: self.session,
            queue: self.queue,
            typing: self.typing,
            read_marks: self.read_marks,
        })
    }
}

fn compiled(pattern: &str) -> Result<regex::Regex, (&'static str, String)> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(("pattern", format!("at most {MAX_PATTERN_BYTES} bytes")));
    }
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(MAX_COMPILED_BYTES).build().map_err(|error| ("pattern", error.to_string()))
}

/// The people, read.
///
/// # Errors
/// The key that is wrong, and what is wrong with it.
pub(super) fn people<'a>(
    entries: impl Iterator<Item = (&'a String, &'a PersonEntry)>,
) -> Result<People, (String, String)> {
    let mut people = Vec::new();
    for (name, entry) in entries {
        let key = format!("people.{name}.ids");
        let mut ids = Vec::new();
        for written in &entry.ids {
            ids.push(user_id_of(written).map_err(|error| (key.clone(), error.to_string()))?);
        }
        if ids.is_empty() {
            return Err((key, "name at least one, such as [\"telegram:123456\"]".into()));
        }
        people.push((Person { name: name.clone(), scope: entry.scope.into() }, ids));
    }
    People::new(people).map_err(|id| ("people".into(), format!("{id} is two people's")))
}
