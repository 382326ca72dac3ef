//! How fast each channel takes messages. A channel's row is in its own `profile.rs`, and the table is the registry's.
//!
//! A rate there is what a platform promises to take, or what its people advise; staying under it costs nothing, and going
//! over it costs everybody on the account a pause. What a platform says itself goes before the row: a channel that reads
//! limits from its answers tells of them as an [`Allowance`]. Where a platform names no number there is none, and its own
//! words decide.

use std::time::Duration;

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

    /// Of agents who write to each other: as many at once as one reads together, and then one in six seconds. Each costs a turn.
    pub const AGENTS: Self = Self { chat: &[rate(10, Duration::from_secs(6))], ..Self::NONE };
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
