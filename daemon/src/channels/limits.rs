//! How fast each channel takes messages. A channel's row is in its own `profile.rs`, and the table is the registry's.
//!
//! A rate there is what a platform promises to take, or what its people advise; staying under it costs nothing, and going
//! over it costs everybody on the account a pause. What a platform says itself goes before the row: a channel that reads
//! limits from its answers tells of them as an [`Allowance`]. Where a platform names no number there is none, and its own
//! words decide.

use std::time::Duration;

use super::registry::kind;
pub use crate::rate_limit::bucket::Rate;

/// So many at once, and one more after each such time.
pub const fn rate(burst: u32, every: Duration) -> Rate {
    Rate { burst, every }
}

/// What a limit is counted over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// One conversation, its threads included.
    Chat,
    /// Everything that one account sends.
    Account,
    /// Everything that the hub sends over a channel.
    Platform,
}

/// A platform has said how many more requests it takes for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    /// Of what.
    pub scope: Scope,
    /// Which of several quotas of that scope, by the platform's own name; empty where it has none.
    pub quota: String,
    /// How many; with none left, nothing is sent.
    pub left: u32,
    /// For how long, from now.
    pub lasts: Duration,
}

impl Allowance {
    /// Nothing more for a while.
    pub fn none(scope: Scope, lasts: Duration) -> Self {
        Self { scope, quota: String::new(), left: 0, lasts }
    }
}

/// One channel's limits. All that apply are kept.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Of one conversation.
    pub chat: &'static [Rate],
    /// Of a conversation of several people, where it is limited further.
    pub group: &'static [Rate],
    /// Whether an address is such a conversation.
    pub is_group: fn(&str) -> bool,
    /// Of one account.
    pub account: &'static [Rate],
    /// Of the channel.
    pub platform: &'static [Rate],
}

impl Limits {
    /// None: the platform names no number, or the hub knows nothing of the channel.
    pub const NONE: Self = Self { chat: &[], group: &[], is_group: |_| false, account: &[], platform: &[] };
}

/// The limits of `channel`; none where nothing is known of it.
pub fn of(channel: &str) -> &'static Limits {
    kind(channel).map_or(&Limits::NONE, |kind| &kind.limits)
}

impl Limits {
    /// What must be kept for a request to `address`.
    pub fn rates(&self, address: &str) -> impl Iterator<Item = (Scope, &'static [Rate])> {
        let group: &[Rate] = if (self.is_group)(address) { self.group } else { &[] };
        [
            (Scope::Chat, self.chat),
            (Scope::Chat, group),
            (Scope::Account, self.account),
            (Scope::Platform, self.platform),
        ]
        .into_iter()
        .filter(|(_, rates)| !rates.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::registry::KINDS;

    const SECOND: Duration = Duration::from_secs(1);

    /// The most that go out within `span`.
    fn most(rates: &[Rate], span: Duration) -> u128 {
        let most = |rate: &Rate| u128::from(rate.burst) + span.as_nanos() / rate.every.as_nanos();
        rates.iter().map(most).min().unwrap()
    }

    #[test]
    fn every_rate_lets_something_through_and_an_unknown_channel_has_none() {
        for kind in KINDS {
            for (_, rates) in of(kind.name).rates("-1") {
                let passes = |rate: &Rate| rate.burst > 0 && !rate.every.is_zero();
                assert!(
                    rates.iter().all(passes),
                    "{0}: a rate of LIMITS in {0}/profile.rs is none",
                    kind.name
                );
            }
        }
        assert_eq!(of("carrier-pigeon").rates("x").count(), 0);
    }

    #[test]
    fn no_table_goes_over_what_its_platform_says() {
        let minute = Duration::from_secs(60);
        assert!(most(of("telegram").group, minute) <= 20);
        assert!(most(of("telegram").account, SECOND) <= 30);
        assert!(most(of("discord").platform, SECOND) <= 50);
        assert!(most(of("whatsapp").chat, Duration::from_secs(6)) <= 45);
        assert!(most(of("whatsapp").account, SECOND) <= 80);
        assert!(most(of("googlechat").chat, minute) <= 60);
        assert!(most(of("googlechat").platform, minute) <= 3_000);
        assert!(most(of("teams").chat, 2 * SECOND) <= 8 && most(of("teams").chat, 30 * SECOND) <= 60);
        assert!(most(of("teams").account, SECOND) <= 50);
    }

    #[test]
    fn a_group_is_limited_further_than_a_person() {
        let scopes = |address| of("telegram").rates(address).map(|(scope, _)| scope).collect::<Vec<_>>();
        assert_eq!(scopes("4711"), [Scope::Chat, Scope::Account]);
        for group in ["-100123", "@news"] {
            assert_eq!(scopes(group), [Scope::Chat, Scope::Chat, Scope::Account]);
        }
    }
}
