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
            Some(text) => Hours::parse(&others(text), zone).map_err(|_| {
                let problem = match text.split_once('-') {
                    Some((from, until)) if is_day(from, until) => "that is the whole day, and you would never be told: leave out the hours in which you may be, or notify",
                    _ => "write from and until, such as \"22:00-07:00\", two different times",
                };
                ("quiet_hours", format!("{text:?}: {problem}"))
            })?,
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

/// The other hours of the day, in which somebody may be told. A day ends at 24:00 and the next one begins at 00:00.
fn others(text: &str) -> String {
    match text.split_once('-') {
        Some((from, until)) if until.trim() == "24:00" => format!("00:00-{}", from.trim()),
        Some((from, until)) => format!("{}-{}", until.trim(), from.trim()),
        None => text.to_owned(),
    }
}

fn is_day(from: &str, until: &str) -> bool {
    (from.trim(), until.trim()) == ("00:00", "24:00")
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
    fn quiet_hours_may_end_with_the_day_and_are_never_all_of_it() {
        let hours =
            |text: &str| format!("notify = [\"ntfy:gate\"]\nquiet_hours = {text:?}\ntime_zone = \"UTC\"");
        let hour = 3_600_000;
        for (text, told, not) in [
            ("22:00-24:00", [0, 21], [22, 23]),
            ("00:00-07:00", [7, 23], [0, 6]),
            ("01:00-02:00", [0, 2], [1, 1]),
        ] {
            let notify = read(&hours(text)).unwrap().unwrap();
            assert!(told.into_iter().all(|at| notify.hours.contain(at * hour)), "{text}");
            assert!(!not.into_iter().any(|at| notify.hours.contain(at * hour)), "{text}");
        }
        let refused = |text: &str| {
            let person = toml::from_str::<Person>(&hours(text)).unwrap();
            person.read(String::new()).unwrap_err().1
        };
        assert!(refused("00:00-24:00").contains("the whole day"), "{}", refused("00:00-24:00"));
        assert!(refused("07:00-07:00").contains("two different times"));
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
