//! How fast each channel takes messages: one table, beside the one of their formats.
//!
//! A rate here is what a platform promises to take, or what its people advise; staying under it costs nothing, and going
//! over it costs everybody on the account a pause. What a platform says itself goes before the table: a channel that reads
//! limits from its answers tells of them as an [`Allowance`]. Where a platform names no number there is none here, and its own
//! words decide.

use std::time::Duration;

pub use crate::rate_limit::bucket::Rate;

const fn rate(burst: u32, every: Duration) -> Rate {
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
    /// The channel's name in targets and configuration.
    pub channel: &'static str,
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

const fn unlimited(channel: &'static str) -> Limits {
    Limits { channel, chat: &[], group: &[], is_group: |_| false, account: &[], platform: &[] }
}

const SECOND: Duration = Duration::from_secs(1);

/// All channels.
pub const LIMITS: &[Limits] = &[
    unlimited("local"),
    // The server's 4xx answers.
    unlimited("email"),
    // The homeserver's, which says when: <https://spec.matrix.org/v1.18/client-server-api/#rate-limiting>.
    unlimited("matrix"),
    // 50 a second over all (<https://discord.com/developers/docs/topics/rate-limits#global-rate-limit>); each route's own
    // stand in its answers' headers.
    Limits { platform: &[rate(10, Duration::from_millis(25))], ..unlimited("discord") },
    // One a second a chat, 20 a minute a group, about 30 a second a bot
    // (<https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this>).
    Limits {
        chat: &[rate(1, SECOND)],
        group: &[rate(5, Duration::from_secs(4))],
        // Groups and channels have negative ids, channels names too (Bot API, `chat_id`).
        is_group: |address| address.starts_with(['-', '@']),
        account: &[rate(5, Duration::from_millis(40))],
        ..unlimited("telegram")
    },
    // One a second a channel, short bursts allowed (<https://docs.slack.dev/apis/web-api/rate-limits>, chat.postMessage).
    Limits { chat: &[rate(3, SECOND)], ..unlimited("slack") },
    // One every six seconds to a person, up to 45 at once on credit; 80 a second a number, incoming ones counted
    // (<https://developers.facebook.com/docs/whatsapp/messaging-limits>, "Throughput", "Pair rate limits").
    Limits {
        chat: &[rate(40, Duration::from_secs(6))],
        account: &[rate(20, Duration::from_millis(20))],
        ..unlimited("whatsapp")
    },
    // The server pushes back as it likes.
    unlimited("signal"),
    unlimited("imessage"),
    // 60 writes a minute a space, 3,000 a minute a project (<https://developers.google.com/workspace/chat/limits>).
    Limits {
        chat: &[rate(10, Duration::from_millis(1_200))],
        platform: &[rate(50, Duration::from_millis(21))],
        ..unlimited("googlechat")
    },
    // 7 in one second and 8 in two, 60 in thirty, a conversation; 50 a second an app in a tenant
    // (<https://learn.microsoft.com/microsoftteams/platform/bots/how-to/rate-limit>).
    Limits {
        chat: &[rate(6, SECOND)],
        account: &[rate(10, Duration::from_millis(25))],
        ..unlimited("teams")
    },
    // Whoever receives it says 429.
    unlimited("webhook"),
    // 60 at once and one every five seconds a visitor (<https://docs.ntfy.sh/publish/#limitations>).
    Limits { account: &[rate(30, Duration::from_secs(5))], ..unlimited("ntfy") },
];

const NONE: Limits = unlimited("");

/// The limits of `channel`; none where nothing is known of it.
pub fn of(channel: &str) -> &'static Limits {
    LIMITS.iter().find(|limits| limits.channel == channel).unwrap_or(&NONE)
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
    use crate::channels::formats::FORMATS;

    /// The most that go out within `span`.
    fn most(rates: &[Rate], span: Duration) -> u128 {
        let most = |rate: &Rate| u128::from(rate.burst) + span.as_nanos() / rate.every.as_nanos();
        rates.iter().map(most).min().unwrap()
    }

    #[test]
    fn every_channel_that_text_is_written_for_has_limits_and_each_once() {
        let names = |n: usize| FORMATS.get(n).map(|format| format.channel);
        assert_eq!(LIMITS.len(), FORMATS.len());
        for limits in LIMITS {
            assert_eq!((0..FORMATS.len()).filter(|&n| names(n) == Some(limits.channel)).count(), 1);
            assert_eq!(of(limits.channel).channel, limits.channel);
            for (_, rates) in limits.rates("-1") {
                assert!(rates.iter().all(|rate| rate.burst > 0 && !rate.every.is_zero()));
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
