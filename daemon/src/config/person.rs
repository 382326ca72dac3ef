//! `[person]`: how the person is told that something waits for them.

use serde::Deserialize;

use super::updates::zone;
use crate::{
    channels::registry::NAMES,
    heartbeat::schedule::Hours,
    message::target::Destination,
    notify::{Notify, Show},
};

/// Targets, at most: each is a message more.
const MOST_TARGETS: usize = 5;
/// The longest address of the page, in bytes.
const MAX_PAGE_BYTES: usize = 200;

/// `[person]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Person {
    /// Targets that are told.
    pub notify: Vec<String>,
    /// How much they are told.
    pub show: Show,
    /// The address of the hub's page, where the person reads.
    pub page: Option<String>,
    /// The hours in which nobody is told.
    pub quiet_hours: Option<String>,
    /// Whose hours these are.
    pub time_zone: Option<String>,
}

impl Person {
    /// Who is told, and what; nobody, if no target is named. `page`: the page's address where this section names none.
    ///
    /// # Errors
    /// The key that is wrong, and what is wrong with it.
    pub(super) fn read(&self, page: String) -> Result<Option<Notify>, (&'static str, String)> {
        if self.notify.len() > MOST_TARGETS {
            return Err(("notify", format!("at most {MOST_TARGETS} targets")));
        }
        let target = |target: &String| match Destination::parse(target, &NAMES) {
            Ok(address @ Destination::Address { channel: Some(_), .. }) => Ok(address),
            _ => Err((
                "notify",
                format!("{target:?} is no target: write \"ntfy:gate\" or \"telegram:123456\""),
            )),
        };
        let targets: Vec<Destination> = self.notify.iter().map(target).collect::<Result<_, _>>()?;
        let zone = zone(self.time_zone.as_deref()).map_err(|problem| ("time_zone", problem))?;
        let hours = match &self.quiet_hours {
            None => Hours::all_day(zone),
            // It may be told in the other hours of the day.
            Some(text) => {
                let swapped =
                    text.split_once('-').map(|(from, until)| format!("{}-{}", until.trim(), from.trim()));
                Hours::parse(swapped.as_deref().unwrap_or(text), zone).map_err(|_| {
                    (
                        "quiet_hours",
                        format!(
                            "{text:?}: write from and until, such as \"22:00-07:00\", two different times"
                        ),
                    )
                })?
            }
        };
        let page = match &self.page {
            None => page,
            Some(page) => {
                let is_address = (page.starts_with("https://") || page.starts_with("http://"))
                    && page.len() <= MAX_PAGE_BYTES
                    && page.bytes().all(|byte| byte.is_ascii_graphic() && !b"@?#\\".contains(&byte));
                if !is_address {
                    return Err((
                        "page",
                        format!("{page:?} is no address: write \"https://hub.example.org\""),
                    ));
                }
                page.trim_end_matches('/').to_owned()
            }
        };
        Ok((!targets.is_empty()).then(|| Notify { targets, show: self.show, page, hours }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Notify>, &'static str> {
        let read = toml::from_str::<Person>(text).unwrap().read("http://localhost:8787".into());
        read.map_err(|(key, _)| key)
    }

    #[test]
    fn who_names_nobody_is_not_told() {
        assert!(read("").unwrap().is_none());
        assert!(read("quiet_hours = \"22:00-07:00\"").unwrap().is_none());
    }

    #[test]
    fn quiet_hours_are_those_in_which_nothing_is_told() {
        let notify = read("notify = [\"ntfy:gate\"]\nquiet_hours = \"22:00-07:00\"\ntime_zone = \"UTC\"")
            .unwrap()
            .unwrap();
        let hour = 3_600_000;
        assert!(
            notify.hours.contain(8 * hour)
                && !notify.hours.contain(23 * hour)
                && !notify.hours.contain(6 * hour)
        );
        assert_eq!((notify.show, notify.page.as_str()), (Show::Count, "http://localhost:8787"));
        // 22:00 is quiet, 07:00 is not.
        assert!(!notify.hours.contain(22 * hour) && notify.hours.contain(7 * hour));
    }

    #[test]
    fn what_is_wrong_is_named_by_its_key() {
        for (text, key) in [
            ("notify = [\"gate\"]", "notify"),
            ("notify = [\"a:1\"]", "notify"),
            (
                "notify = [\"local:1\", \"local:2\", \"local:3\", \"local:4\", \"local:5\", \"local:6\"]",
                "notify",
            ),
            ("quiet_hours = \"night\"", "quiet_hours"),
            ("quiet_hours = \"07:00-07:00\"", "quiet_hours"),
            ("time_zone = \"Europe/Berlino\"", "time_zone"),
            ("page = \"hub.example.org\"", "page"),
            ("page = \"https://hub example\"", "page"),
            ("page = \"https://me:secret@hub.example.org\"", "page"),
            ("page = \"https://hub.example.org/?x#y\"", "page"),
        ] {
            assert_eq!(read(text).unwrap_err(), key, "{text}");
        }
        assert_eq!(
            read("notify = [\"local:a\"]\npage = \"https://h.example/\"").unwrap().unwrap().page,
            "https://h.example"
        );
    }
}
