//! `[heartbeat.NAME]`: when an agent is woken without anybody writing to it, and where what it says goes.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::Deserialize;

use super::{Span, updates::zone};
use crate::{
    channels::registry::NAMES,
    heartbeat::{
        Plan,
        goal::Goal,
        schedule::Hours,
        words::{Override, Shows, Visibility},
    },
    message::target::{Destination, channel_of},
};

/// The shortest interval: anything more often is a loop.
const MIN_EVERY: Duration = Duration::from_mins(1);
/// The longest prompt, in bytes.
const MAX_PROMPT_BYTES: usize = 4_000;

/// `[heartbeat.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HeartbeatEntry {
    /// Whether there are any.
    pub enabled: bool,
    /// Between two of them.
    pub every: Span,
    /// `last`, `none`, or a target.
    pub target: String,
    /// The hub's account that it goes from.
    pub account: Option<String>,
    /// The hours in which there are any.
    pub active_hours: Option<String>,
    /// Whose days and hours these are.
    pub time_zone: Option<String>,
    /// The file of things to look after.
    pub list: Option<PathBuf>,
    /// What the agent is told.
    pub prompt: Option<String>,
    /// Whether it is shown that all is well.
    pub show_ok: bool,
    /// Whether what is to be read is shown.
    pub show_alerts: bool,
    /// Whether a sign marks heartbeats.
    pub use_indicator: bool,
    /// What differs, by `channel` or `channel:account`.
    pub visibility: BTreeMap<String, VisibilityEntry>,
}

/// What differs on a channel or an account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VisibilityEntry {
    show_ok: Option<bool>,
    show_alerts: Option<bool>,
    use_indicator: Option<bool>,
}

impl Default for HeartbeatEntry {
    fn default() -> Self {
        let Shows { ok, alerts, indicator } = Shows::default();
        Self {
            enabled: true,
            every: Span(Duration::from_mins(30)),
            target: "none".into(),
            account: None,
            active_hours: None,
            time_zone: None,
            list: None,
            prompt: None,
            show_ok: ok,
            show_alerts: alerts,
            use_indicator: indicator,
            visibility: BTreeMap::new(),
        }
    }
}

impl HeartbeatEntry {
    /// It, read.
    ///
    /// # Errors
    /// The key that is wrong, and what is wrong with it.
    pub(super) fn read(&self) -> Result<Plan, (&'static str, String)> {
        if self.every.0 < MIN_EVERY {
            return Err(("every", "at least \"1m\"".into()));
        }
        let prompt = self.prompt.as_deref().map(str::trim).filter(|prompt| !prompt.is_empty());
        if prompt.is_some_and(|prompt| prompt.len() > MAX_PROMPT_BYTES) {
            return Err(("prompt", format!("at most {MAX_PROMPT_BYTES} bytes; put more into `list`")));
        }
        let goal = self.goal()?;
        if goal == Goal::Nobody && self.account.is_some() {
            return Err(("account", "with target = \"none\" nothing is sent from any account".into()));
        }
        Ok(Plan {
            every: self.every.0,
            goal,
            account: self.account.clone(),
            hours: self.hours()?,
            list: self.list.clone(),
            prompt: prompt.map(str::to_owned),
            visibility: self.visibility()?,
        })
    }

    fn goal(&self) -> Result<Goal, (&'static str, String)> {
        match self.target.as_str() {
            "none" => Ok(Goal::Nobody),
            "last" => Ok(Goal::Last),
            target => {
                let known = channel_of(target, &NAMES).map(|(channel, _)| channel.to_owned());
                let address = Destination::parse(target, &NAMES);
                match (known, address) {
                    (Some(channel), Ok(Destination::Address { .. })) => {
                        Ok(Goal::Target { to: target.to_owned(), channel })
                    }
                    _ => {
                        let problem = format!("{target:?} is not \"last\", \"none\" or \"channel:address\"");
                        Err(("target", problem))
                    }
                }
            }
        }
    }

    fn hours(&self) -> Result<Hours, (&'static str, String)> {
        let zone = zone(self.time_zone.as_deref()).map_err(|problem| ("time_zone", problem))?;
        match &self.active_hours {
            None => Ok(Hours::all_day(zone)),
            Some(text) => {
                Hours::parse(text, zone).map_err(|error| ("active_hours", format!("{text:?}: {error}")))
            }
        }
    }

    fn visibility(&self) -> Result<Visibility, (&'static str, String)> {
        let rest = Shows { ok: self.show_ok, alerts: self.show_alerts, indicator: self.use_indicator };
        let mut by_place = BTreeMap::new();
        for (place, entry) in &self.visibility {
            let channel = place.split(':').next().unwrap_or_default();
            if !NAMES.contains(&channel) {
                let problem = format!("{place:?} is no channel: write telegram, or \"telegram:account\"");
                return Err(("visibility", problem));
            }
            let &VisibilityEntry { show_ok: ok, show_alerts: alerts, use_indicator: indicator } = entry;
            by_place.insert(place.clone(), Override { ok, alerts, indicator });
        }
        Ok(Visibility { rest, by_place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Plan, &'static str> {
        toml::from_str::<HeartbeatEntry>(text).unwrap().read().map_err(|(key, _)| key)
    }

    #[test]
    fn an_empty_section_is_every_half_hour_to_nobody() {
        let plan = read("").unwrap();
        assert_eq!((plan.every, plan.goal), (Duration::from_mins(30), Goal::Nobody));
        assert_eq!(plan.visibility.rest, Shows::default());
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        for (text, key) in [
            ("every = \"30s\"", "every"),
            ("target = \"ann\"", "target"),
            ("target = \"current\"", "target"),
            ("account = \"home\"", "account"),
            ("active_hours = \"day\"", "active_hours"),
            ("time_zone = \"Europe/Berlino\"", "time_zone"),
            ("visibility = { pigeon = { show_ok = true } }", "visibility"),
        ] {
            assert_eq!(read(text).unwrap_err(), key, "{text}");
        }
        assert!(toml::from_str::<HeartbeatEntry>("visibility = { local = { show = true } }").is_err());
    }
}
