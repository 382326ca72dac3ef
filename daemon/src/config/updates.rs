//! `[updates]`: whose firmware companions get, and when.

use std::{path::PathBuf, time::Duration};

use jiff::tz::TimeZone;
use serde::Deserialize;

use super::span::Window;
use crate::{heartbeat::schedule::Hours, updates::rollout::Policy};

/// `[updates]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Updates {
    /// The file of the root whose releases are taken; without it, the one that was compiled in.
    pub root: Option<PathBuf>,
    /// How long the first companion runs a release before the next one gets it.
    pub soak: Window,
    /// The hours in which releases are offered.
    pub hours: Option<String>,
    /// Whose hours these are.
    pub time_zone: Option<String>,
}

impl Default for Updates {
    fn default() -> Self {
        Self { root: None, soak: Window(Duration::from_hours(24)), hours: None, time_zone: None }
    }
}

impl Updates {
    /// When roll-outs go on.
    ///
    /// # Errors
    /// The key that is wrong, and what is wrong with it.
    pub fn policy(&self) -> Result<Policy, (&'static str, String)> {
        let zone = zone(self.time_zone.as_deref()).map_err(|problem| ("time_zone", problem))?;
        let hours = match &self.hours {
            None => Hours::all_day(zone),
            Some(text) => {
                Hours::parse(text, zone).map_err(|error| ("hours", format!("{text:?}: {error}")))?
            }
        };
        Ok(Policy { soak: self.soak.0, hours })
    }
}

/// The time zone of this name, or this machine's.
pub(super) fn zone(name: Option<&str>) -> Result<TimeZone, String> {
    match name {
        None => Ok(TimeZone::system()),
        Some(name) => TimeZone::get(name).map_err(|_| {
            format!("{name:?} is no time zone of this machine: write \"Europe/Berlin\" or \"UTC\"")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> Result<Policy, &'static str> {
        toml::from_str::<Updates>(text).unwrap().policy().map_err(|(key, _)| key)
    }

    #[test]
    fn hours_and_a_time_zone_say_when_releases_are_offered() {
        assert_eq!(policy("").unwrap().soak, Duration::from_hours(24));
        assert_eq!(policy("soak = \"0s\"").unwrap().soak, Duration::ZERO);
        let night = policy("hours = \"02:00-06:00\"\ntime_zone = \"UTC\"").unwrap().hours;
        let hour = 3_600_000;
        assert!(night.contain(3 * hour) && !night.contain(7 * hour));
        assert_eq!(policy("hours = \"night\""), Err("hours"));
        assert_eq!(policy("time_zone = \"Europe/Berlino\""), Err("time_zone"));
    }
}
