//! Accepting on a slow card: what every sync takes is added by a library that the hub is started with (`tests/slow-card`), so the disk of
//! this machine is in the figures too.

use std::{path::PathBuf, time::Duration};

use super::{
    Outcome,
    accept::CALLERS,
    fixture::{Fixture, block_on},
    load,
    mock::Mock,
    percentile,
};

/// Some 30 of each caller.
const MESSAGES: usize = 30 * CALLERS;

/// What a card takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Card {
    /// For every sync.
    pub sync: Duration,
    /// For each so-many'th of them, beside that.
    pub stall: Option<(Duration, u64)>,
}

/// From a call to its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub p50: Duration,
    pub p99: Duration,
    pub longest: Duration,
    pub per_second: f64,
}

impl Card {
    /// The environment of a program on this card.
    fn environment(self) -> Outcome<Vec<(&'static str, String)>> {
        let library =
            std::env::var_os("GATEPOST_BENCH_SLOW_CARD").ok_or("start this with tests/bench/run")?;
        let library = PathBuf::from(library).canonicalize()?;
        let mut environment = vec![
            ("LD_PRELOAD", library.to_str().ok_or("a path in UTF-8")?.to_owned()),
            ("SLOW_CARD_SYNC_MS", self.sync.as_millis().to_string()),
        ];
        if let Some((stall, every)) = self.stall {
            environment.push(("SLOW_CARD_STALL_MS", stall.as_millis().to_string()));
            environment.push(("SLOW_CARD_STALL_EVERY", every.to_string()));
        }
        Ok(environment)
    }
}

/// So many callers at once hand in messages to a platform that answers nothing, each as fast as it is answered.
pub(super) fn measure(card: Card) -> Outcome<Times> {
    let silent = Mock::start(true)?;
    let mut fixture = Fixture::build(Some(silent.address()))?;
    fixture.has_in_its_environment(card.environment()?);
    fixture.run()?;
    let flood = load::flood(fixture.address(), fixture.token(), CALLERS, MESSAGES, CALLERS, false);
    let (mut times, took) = block_on(flood)??;
    let per_second = times.len() as f64 / took.as_secs_f64();
    fixture.kill();
    let longest = times.iter().max().copied().unwrap_or_default();
    Ok(Times { p50: percentile(&mut times, 50), p99: percentile(&mut times, 99), longest, per_second })
}
