//! Accepting on a slow card: what every sync takes is added by a library that the hub is started with (`tests/slow-card`), so the disk of
//! this machine is in the figures too.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use super::{
    Outcome,
    accept::CALLERS,
    fixture::{Fixture, block_on},
    load::{self, Client},
    mock::Mock,
    percentile,
};

/// Messages of each caller.
const EACH: usize = 30;

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
    let began = Instant::now();
    let mut times = block_on(callers(&fixture))??;
    let per_second = times.len() as f64 / began.elapsed().as_secs_f64();
    fixture.kill();
    let longest = times.iter().max().copied().unwrap_or_default();
    Ok(Times { p50: percentile(&mut times, 50), p99: percentile(&mut times, 99), longest, per_second })
}

async fn callers(fixture: &Fixture) -> Outcome<Vec<Duration>> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut callers = JoinSet::<Result<Vec<Duration>, String>>::new();
    for lane in 0..CALLERS {
        let (next, mut client) =
            (Arc::clone(&next), Client::connect(fixture.address(), fixture.token()).await?);
        callers.spawn(async move {
            let mut times = Vec::with_capacity(EACH);
            for _ in 0..EACH {
                let call = load::message(next.fetch_add(1, Ordering::Relaxed), lane);
                let began = Instant::now();
                client.call(&call).await.map_err(|error| error.to_string())?;
                times.push(began.elapsed());
            }
            Ok(times)
        });
    }
    let mut all = vec![];
    while let Some(times) = callers.join_next().await {
        all.extend(times??);
    }
    Ok(all)
}
