//! From the call to the platform's request.

use std::time::{Duration, Instant};

use super::{
    Outcome,
    fixture::{Fixture, block_on},
    load::{self, Client},
    median,
    mock::Mock,
    percentile,
};

pub(super) const MESSAGES: usize = 10_000;
pub(super) const LANES: usize = 1_000;
const CLIENTS: usize = 64;
/// Messages to a hub with nothing else to do, and how long after one the next comes.
const SINGLE: usize = 500;
const APART: Duration = Duration::from_millis(15);
/// The conversations that they go to, behind those of the many; each has had one before.
const SINGLE_LANES: usize = 50;
const PATIENCE: Duration = Duration::from_secs(120);

/// What was found.
pub(super) struct Delivery {
    pub p50: Duration,
    pub p99: Duration,
    pub p99_from_answer: Duration,
    /// Messages per second.
    pub rate: f64,
}

/// Messages one at a time, then many.
pub(super) fn measure(rounds: usize) -> Outcome<Delivery> {
    let (mut p50, mut p99, mut p99_from_answer, mut rate) = (vec![], vec![], vec![], vec![]);
    for _ in 0..rounds {
        let mock = Mock::start(false)?;
        let mut fixture = Fixture::build(Some(mock.address()))?;
        fixture.run()?;
        let (mut from_call, mut from_answer) = block_on(single(&fixture, &mock))??;
        p50.push(percentile(&mut from_call, 50));
        p99.push(percentile(&mut from_call, 99));
        p99_from_answer.push(percentile(&mut from_answer, 99));
        rate.push(block_on(many(&fixture, &mock))??);
        fixture.stop()?;
    }
    Ok(Delivery {
        p50: median(p50),
        p99: median(p99),
        p99_from_answer: median(p99_from_answer),
        rate: median(rate),
    })
}

async fn single(fixture: &Fixture, mock: &Mock) -> Outcome<(Vec<Duration>, Vec<Duration>)> {
    let mut client = Client::connect(fixture.address(), fixture.token()).await?;
    for number in 0..SINGLE_LANES {
        // None of those that are measured: a hub takes no message twice.
        client.call(&load::message(MESSAGES + number, LANES + number)).await?;
    }
    arrived(mock, SINGLE_LANES).await?;
    mock.take();
    let mut calls = vec![];
    for number in 0..SINGLE {
        tokio::time::sleep(APART).await;
        let call = load::message(number, LANES + number % SINGLE_LANES);
        let began = Instant::now();
        client.call(&call).await?;
        calls.push((began, Instant::now()));
    }
    arrived(mock, SINGLE).await?;
    let came = mock.take();
    // Before its answer is nothing after it.
    let since = |from: fn(&(Instant, Instant)) -> Instant| {
        came.iter().map(|(number, at)| at.saturating_duration_since(from(&calls[*number]))).collect()
    };
    Ok((since(|(call, _)| *call), since(|(_, answer)| *answer)))
}

async fn many(fixture: &Fixture, mock: &Mock) -> Outcome<f64> {
    let began = Instant::now();
    load::flood(fixture.address(), fixture.token(), CLIENTS, MESSAGES, LANES, false).await?;
    arrived(mock, MESSAGES).await?;
    let mut came = mock.take();
    let last = came.iter().map(|(_, at)| *at).max().ok_or("nothing came")?;
    came.sort_unstable_by_key(|(number, _)| *number);
    came.dedup_by_key(|(number, _)| *number);
    if came.len() != MESSAGES {
        return Err(format!("{} different messages came, not {MESSAGES}", came.len()).into());
    }
    Ok(MESSAGES as f64 / (last - began).as_secs_f64())
}

async fn arrived(mock: &Mock, messages: usize) -> Outcome<()> {
    let began = Instant::now();
    while mock.count() < messages {
        if began.elapsed() > PATIENCE {
            return Err(format!("{} of {messages} messages came", mock.count()).into());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}
