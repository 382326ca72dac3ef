//! What the torture of a hub stands on.
//!
//! - [`platform`]: a platform that records every request and answers as badly as it is told;
//! - [`liar`], [`homeserver`]: a Telegram and a Matrix that people write at, and that tell anything but the truth;
//! - [`topics`]: an ntfy that ends its streams in their midst;
//! - [`post`]: a mail server that does so too, and knows no keys;
//! - [`book`]: what was handed in, what arrived, and what the hub says of it, held against each other;
//! - [`Dice`] and [`number`]: the same run again, or a longer one.

pub mod book;
pub mod homeserver;
pub mod liar;
pub mod platform;
pub mod post;
pub mod topics;

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};

/// A number from the environment: how long a run is, or which one.
///
/// # Errors
/// It is there, and no number.
pub fn number(name: &str, otherwise: u64) -> Result<u64> {
    match std::env::var(name) {
        Ok(text) => text.parse().with_context(|| format!("{name} is no number: {text:?}")),
        Err(_) => Ok(otherwise),
    }
}

/// Random numbers that come again with their seed (SplitMix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// From `TORTURE_SEED`, or new ones; says which, so that a run can be had again.
    ///
    /// # Errors
    /// The seed is no number.
    pub fn throw(what: &str) -> Result<Self> {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.subsec_nanos());
        let seed = number("TORTURE_SEED", clock.into())?;
        println!("{what}: TORTURE_SEED={seed}");
        Ok(Self(seed))
    }

    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Other dice, for somebody who throws at the same time.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.number())
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }
}
