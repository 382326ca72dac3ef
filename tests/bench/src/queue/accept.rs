//! Accepting: inside a process, over HTTP, and one after the other.

use std::{
    net::SocketAddr,
    path::Path,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use gatepost::{
    admission::submit::Idempotency,
    channels::registry::KINDS,
    config::Config,
    hub::{Extras, Hub},
    message::call::Call,
};
use serde_json::Value;
use tokio::task::JoinSet;

use super::{
    Outcome,
    bare::{self, Bare},
    endpoint,
    fixture::{self, Fixture, block_on},
    load::{self, Client},
    median,
    mock::Mock,
};

/// Callers and clients.
pub(super) const CALLERS: usize = 64;
/// Messages in one run of many callers.
const MANY: usize = 20_000;
/// Messages in one run of one client.
const FEW: usize = 400;

/// A rate beside another one, per second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    pub rate: f64,
    pub other: f64,
    pub ratio: f64,
    /// Messages a commit.
    pub batch: f64,
}

impl Rates {
    fn of(messages: usize, ours: Duration, theirs: Duration, batch: f64) -> Self {
        let (rate, other) = (messages as f64 / ours.as_secs_f64(), messages as f64 / theirs.as_secs_f64());
        Self { rate, other, ratio: rate / other, batch }
    }

    /// The round with the median ratio.
    fn median(mut rounds: Vec<Self>) -> Self {
        rounds.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        rounds[rounds.len() / 2]
    }
}

/// The median times of one call, of one commit and of the endpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Serial {
    pub accept: Duration,
    pub commit: Duration,
    pub endpoint: Duration,
    pub ratio: f64,
}

/// Accepting in the hub's own process, beside the bare loop.
pub(super) fn inside(rounds: usize) -> Outcome<Rates> {
    let silent = Mock::start(true)?;
    let mut rates = vec![];
    for _ in 0..rounds {
        let fixture = Fixture::build(Some(silent.address()))?;
        let mut run = fixture::this(&["--accept"], Some(&fixture.config()))?;
        let output = run.stderr(Stdio::inherit()).output()?;
        let said = String::from_utf8(output.stdout)?;
        let mut said = said.split_whitespace();
        let mut number = || -> Outcome<f64> { Ok(said.next().ok_or("the run said nothing")?.parse()?) };
        let (seconds, commits) = (number()?, number()?);
        let batch = MANY as f64 / commits;
        let rows = bare::rows(&fixture.data_dir())?;
        if rows.len() != MANY {
            return Err(format!("{} messages were written, not {MANY}", rows.len()).into());
        }
        let bare = bare::write(&rows, batch)?;
        rates.push(Rates::of(MANY, Duration::from_secs_f64(seconds), bare, batch));
    }
    Ok(Rates::median(rates))
}

/// In a process of its own: a whole hub, and callers of its pipeline. Prints seconds and commits.
pub(crate) fn within_this_process(config: &str) -> Outcome<()> {
    let config = Config::load(Path::new(config))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (time, commits) = runtime.block_on(async {
        let hub = Hub::start(&config, Extras::default()).await?;
        let (next, before) = (Arc::new(AtomicUsize::new(0)), hub.store().commits());
        let mut callers = JoinSet::<Result<(), String>>::new();
        let began = Instant::now();
        for _ in 0..CALLERS {
            let (next, pipeline) = (Arc::clone(&next), hub.pipeline().clone());
            callers.spawn(async move {
                let channels: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= MANY {
                        return Ok(());
                    }
                    let value: Value = serde_json::from_str(&load::message(number, number % CALLERS))
                        .map_err(|error| error.to_string())?;
                    let call = Call::parse(&value, &channels).map_err(|refusal| refusal.error)?;
                    let idempotency = Idempotency::NONE;
                    pipeline.submit("bench", call, idempotency).await.map_err(|refusal| refusal.error)?;
                }
            });
        }
        while let Some(caller) = callers.join_next().await {
            caller??;
        }
        Ok::<_, Box<dyn std::error::Error>>((began.elapsed(), hub.store().commits() - before))
    })?;
    println!("{} {commits}", time.as_secs_f64());
    // What is on its way goes to a platform that never answers.
    std::process::exit(0)
}

/// Accepting over HTTP, beside the endpoint, and beside the hub's own answer to the same calls with `dryRun`.
pub(super) fn over_http(rounds: usize) -> Outcome<(Rates, Rates)> {
    let silent = Mock::start(true)?;
    let (_endpoint, endpoint) = endpoint::start()?;
    let (mut rates, mut asked) = (vec![], vec![]);
    for _ in 0..rounds {
        let mut fixture = Fixture::build(Some(silent.address()))?;
        fixture.run()?;
        let flood =
            |address, dry| block_on(load::flood(address, fixture.token(), CALLERS, MANY, CALLERS, dry));
        let (_, theirs) = flood(endpoint, false)??;
        let (_, asking) = flood(fixture.address(), true)??;
        let (_, ours) = flood(fixture.address(), false)??;
        rates.push(Rates::of(MANY, ours, theirs, 0.0));
        asked.push(Rates::of(MANY, ours, asking, 0.0));
        fixture.kill();
    }
    Ok((Rates::median(rates), Rates::median(asked)))
}

/// One client that waits for each answer, beside one commit and one round trip.
pub(super) fn serial(rounds: usize) -> Outcome<Serial> {
    let silent = Mock::start(true)?;
    let (_endpoint, endpoint) = endpoint::start()?;
    let mut found = vec![];
    for _ in 0..rounds {
        let mut fixture = Fixture::build(Some(silent.address()))?;
        fixture.run()?;
        let times = block_on(in_turns(&fixture, endpoint))??;
        fixture.kill();
        let [accept, commit, endpoint] = times.map(median);
        let ratio = accept.as_secs_f64() / (commit + endpoint).as_secs_f64();
        found.push(Serial { accept, commit, endpoint, ratio });
    }
    found.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    Ok(found[found.len() / 2])
}

/// A call to the hub, a bare commit, a call to the endpoint, and again.
async fn in_turns(fixture: &Fixture, endpoint: SocketAddr) -> Outcome<[Vec<Duration>; 3]> {
    let mut hub = Client::connect(fixture.address(), fixture.token()).await?;
    let mut endpoint = Client::connect(endpoint, fixture.token()).await?;
    for number in 0..FEW {
        hub.call(&load::message(number, 0)).await?;
    }
    let (rows, bare) = (bare::rows(&fixture.data_dir())?, Bare::open()?);
    let mut times = [vec![], vec![], vec![]];
    for (number, rows) in rows.iter().enumerate() {
        // Not one that the hub has: it would be answered without a commit.
        let call = load::message(FEW + number, 0);
        let began = Instant::now();
        hub.call(&call).await?;
        times[0].push(began.elapsed());
        times[1].push(bare.commit(std::slice::from_ref(rows))?);
        let began = Instant::now();
        endpoint.call(&call).await?;
        times[2].push(began.elapsed());
    }
    Ok(times)
}
