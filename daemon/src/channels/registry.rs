//! Every channel there is, one line each, and what is known of a channel by its name.
//!
//! It knows all channels, so no channel may know it, nor what channels are made of.

use std::sync::{Arc, LazyLock};

#[cfg(test)]
use super::testing::contract::Contract;
use super::{
    Adapter,
    account::{OpenError, Opening},
    formats::{Format, PLAIN, ToolResults},
    kit::{http::Decode, phone},
    limits::Limits,
};
use crate::{message::target::AGENT, render::Flavour, settings::Key};

/// A channel that the hub knows.
pub struct Kind {
    /// Its name in targets and in `[channels.NAME.ACCOUNT]`.
    pub name: &'static str,
    /// The keys of an account.
    pub keys: &'static [Key],
    /// How its text looks.
    pub format: Format,
    /// How fast it takes messages.
    pub limits: Limits,
    /// How an account is set up, from the steps at the platform on: its `SETUP.md`.
    pub setup: &'static str,
    /// Opens an account.
    pub open: fn(Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError>,
    /// A person's id as what is received there has it, from how somebody writes it; or what to write instead.
    pub person_id: fn(&str) -> Result<String, &'static str>,
    /// What the answers of its platform mean, by what was asked for: none if it is not asked over HTTP.
    pub decoders: &'static [(&'static str, Decode)],
    /// What its platform says in each case, by which it is tested as all are.
    #[cfg(test)]
    pub(super) contracts: &'static [Contract],
}

/// A channel by the name of its folder, where its `profile.rs` and its `SETUP.md` are.
macro_rules! channel {
    ($name:ident) => {
        Kind {
            name: stringify!($name),
            keys: super::$name::profile::KEYS,
            format: super::$name::profile::FORMAT,
            limits: super::$name::profile::LIMITS,
            setup: include_str!(concat!(stringify!($name), "/SETUP.md")),
            open: super::$name::open,
            person_id: super::$name::person_id,
            decoders: super::$name::DECODERS,
            #[cfg(test)]
            contracts: super::$name::contract::CONTRACTS,
        }
    };
}

/// All channels.
pub const KINDS: &[Kind] = &[
    channel!(local),
    channel!(email),
    channel!(matrix),
    channel!(telegram),
    channel!(discord),
    channel!(slack),
    channel!(googlechat),
    channel!(teams),
    channel!(signal),
    channel!(whatsapp),
    channel!(imessage),
    channel!(webhook),
    channel!(ntfy),
];

impl Kind {
    /// What an account is, in a few words: the title of its set-up, `# telegram: a bot`.
    pub fn title(&self) -> &'static str {
        let first = self.setup.lines().next().unwrap_or_default();
        first.split_once(": ").map_or(first, |(_, title)| title)
    }
}

/// The channel of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// The names of all channels.
///
/// Not a constant array: its length would be a type, and an optimised build then finds a cycle from that type to the async
/// closures of whoever reads it (rustc 1.95, E0391).
pub static NAMES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| KINDS.iter().map(|kind| kind.name).collect());

/// What may stand before a target's colon: all channels, and the one on which agents write to each other.
pub static TARGETS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| NAMES.iter().copied().chain([AGENT]).collect());

/// The format of `channel`.
pub fn format(channel: &str) -> Option<&'static Format> {
    kind(channel).map(|kind| &kind.format)
}

/// A telephone number as people are known by it on all channels that go by numbers; or what to write instead.
///
/// # Errors
/// It is none.
pub fn number(written: &str) -> Result<String, &'static str> {
    phone::person(written)
        .ok_or("write the number as it is dialled from abroad, such as phone:+4915112345678")
}

/// How text is rendered for `channel`: plain if nothing is known of it.
pub fn flavour(channel: &str) -> Flavour {
    format(channel).map_or(PLAIN, |format| format.flavour)
}

/// How tool results are written for `channel`: plain if nothing is known of it.
pub fn tool_result_format(channel: &str) -> ToolResults {
    format(channel).map_or(ToolResults::Plain, |format| format.tool_results)
}

/// The limits of `channel`; none if nothing is known of it.
pub fn limits(channel: &str) -> &'static Limits {
    match channel {
        AGENT => &Limits::AGENTS,
        _ => kind(channel).map_or(&Limits::NONE, |kind| &kind.limits),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        channels::limits::{Rate, Scope},
        render,
    };

    #[test]
    fn tool_results_are_markdown_on_five_channels() {
        let markdown: Vec<_> = KINDS
            .iter()
            .filter(|kind| kind.format.tool_results == ToolResults::Markdown)
            .map(|kind| kind.name)
            .collect();
        assert_eq!(markdown, ["telegram", "discord", "slack", "googlechat", "signal"]);
        assert_eq!(tool_result_format("carrier-pigeon").name(), "plain");
    }

    #[test]
    fn every_channel_takes_text() {
        let document = render::parse("**Hello** _there_, [you](https://a.example)");
        for kind in KINDS {
            let parts = render::render(&document, &kind.format.flavour).map(|parts| parts.len());
            assert_eq!(parts, Ok(1), "{}", kind.name);
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    /// The most that go out within `span`.
    fn most(rates: &[Rate], span: Duration) -> u128 {
        let most = |rate: &Rate| u128::from(rate.burst) + span.as_nanos() / rate.every.as_nanos();
        rates.iter().map(most).min().unwrap()
    }

    #[test]
    fn every_rate_lets_something_through_and_an_unknown_channel_has_none() {
        for kind in KINDS {
            for (_, rates) in limits(kind.name).rates("-1") {
                let passes = |rate: &Rate| rate.burst > 0 && !rate.every.is_zero();
                assert!(
                    rates.iter().all(passes),
                    "{0}: a rate of LIMITS in {0}/profile.rs is none",
                    kind.name
                );
            }
        }
        assert_eq!(limits("carrier-pigeon").rates("x").count(), 0);
    }

    #[test]
    fn no_table_goes_over_what_its_platform_says() {
        let minute = Duration::from_secs(60);
        assert!(most(limits("telegram").group, minute) <= 20);
        assert!(most(limits("telegram").account, SECOND) <= 30);
        assert!(most(limits("discord").platform, SECOND) <= 50);
        assert!(most(limits("whatsapp").chat, Duration::from_secs(6)) <= 45);
        assert!(most(limits("whatsapp").account, SECOND) <= 80);
        assert!(most(limits("googlechat").chat, minute) <= 60);
        assert!(most(limits("googlechat").platform, minute) <= 3_000);
        assert!(most(limits("teams").chat, 2 * SECOND) <= 8 && most(limits("teams").chat, 30 * SECOND) <= 60);
        assert!(most(limits("teams").account, SECOND) <= 50);
    }

    #[test]
    fn a_group_is_limited_further_than_a_person() {
        let scopes = |address| limits("telegram").rates(address).map(|(scope, _)| scope).collect::<Vec<_>>();
        assert_eq!(scopes("4711"), [Scope::Chat, Scope::Account]);
        for group in ["-100123", "@news"] {
            assert_eq!(scopes(group), [Scope::Chat, Scope::Chat, Scope::Account]);
        }
    }
}
