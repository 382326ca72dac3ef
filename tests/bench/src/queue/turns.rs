//! From what somebody writes to the agent that is woken by it: a storm of presses, each a turn at once, to many agents.

use std::{
    collections::HashMap,
    fs::{self, OpenOptions},
    io::Write as _,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use gatepost::{
    agents::{self, Role},
    store::Store,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    Outcome,
    fixture::{Fixture, block_on},
    load::Client,
    percentile,
};

pub(super) const AGENTS: usize = 20;
/// Conversations of one agent: as many turns of its may be at work.
const CONVERSATIONS: usize = 25;
pub(super) const PER_SECOND: usize = 500;
const WRITERS: usize = 10;
/// Seconds, unless `BENCH_SECONDS` says otherwise.
const SECONDS: usize = 10;

/// What was found.
pub(super) struct Storm {
    pub turns: usize,
    pub seconds: usize,
    pub p50: Duration,
    pub p99: Duration,
    /// Bytes of memory: before, and the most meanwhile.
    pub idle: u64,
    pub most: u64,
}

/// When each press was answered, by its number, and when its agent had it.
type Times = Arc<Mutex<HashMap<usize, Instant>>>;

pub(super) fn measure() -> Outcome<Storm> {
    let seconds = std::env::var("BENCH_SECONDS").map_or(Ok(SECONDS), |text| text.parse())?;
    let mut fixture = Fixture::build(None)?;
    let tokens = prepare(&fixture)?;
    fixture.run()?;
    let operator = fs::read_to_string(fixture.data_dir().join("operator.token"))?;
    let idle = fixture.resident()?;
    let (answered, woken) = (Times::default(), Times::default());
    let most = block_on(storm(&fixture, operator.trim(), &tokens, seconds, &answered, &woken))??;
    fixture.stop()?;
    let answered = answered.lock().unwrap_or_else(PoisonError::into_inner);
    let woken = woken.lock().unwrap_or_else(PoisonError::into_inner);
    let mut waits: Vec<Duration> = woken
        .iter()
        .filter_map(|(number, at)| Some(at.saturating_duration_since(*answered.get(number)?)))
        .collect();
    Ok(Storm {
        turns: waits.len(),
        seconds,
        p50: percentile(&mut waits, 50),
        p99: percentile(&mut waits, 99),
        idle,
        most,
    })
}

/// Gives the hub its agents, each with conversations of its own; their tokens.
fn prepare(fixture: &Fixture) -> Outcome<Vec<String>> {
    let store = Store::open(&fixture.data_dir())?;
    let mut config = OpenOptions::new().append(true).open(fixture.config())?;
    let mut tokens = vec![];
    for number in 0..AGENTS {
        let name = format!("storm{number}");
        tokens.push(block_on(agents::add(&store, &name, Role::Agent, "bench"))??);
        let from: Vec<String> =
            (0..CONVERSATIONS).map(|peer| format!("local:p{}", peer * AGENTS + number)).collect();
        write!(
            config,
            "\n[agents.{name}]\nper_minute = 0\nallow = [\"local:*\"]\n[routes.{name}]\nfrom = {from:?}\nagent = \"{name}\"\n"
        )?;
    }
    store.close();
    Ok(tokens)
}

async fn storm(
    fixture: &Fixture,
    operator: &str,
    tokens: &[String],
    seconds: usize,
    answered: &Times,
    woken: &Times,
) -> Outcome<u64> {
    let mut takers = JoinSet::new();
    for token in tokens {
        let client = Client::connect(fixture.address(), token).await?;
        takers.spawn(take(client, Arc::clone(woken)));
    }
    let total = seconds * PER_SECOND;
    let began = Instant::now();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let client = Client::connect(fixture.address(), operator).await?;
        writers.spawn(write(client, writer, total, began, Arc::clone(answered)));
    }
    let mut most = 0;
    while !writers.is_empty() {
        most = most.max(fixture.resident()?);
        tokio::select! {
            Some(done) = writers.join_next() => done?.map_err(|error| error.to_string())?,
            () = tokio::time::sleep(Duration::from_millis(100)) => {}
        }
    }
    let patience = Instant::now() + Duration::from_secs(60);
    while woken.lock().unwrap_or_else(PoisonError::into_inner).len() < total {
        if Instant::now() > patience {
            return Err("not every press woke its agent".into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    takers.abort_all();
    Ok(most)
}

/// One of several who press, together so often in a second.
async fn write(
    mut client: Client,
    writer: usize,
    total: usize,
    began: Instant,
    answered: Times,
) -> Result<(), String> {
    for number in (writer..total).step_by(WRITERS) {
        let due = began + Duration::from_secs_f64(number as f64 / PER_SECOND as f64);
        tokio::time::sleep_until(due.into()).await;
        let peer = format!("p{}", number % (AGENTS * CONVERSATIONS));
        let press = json!({
            "channel": "local", "peer": peer, "sender": peer, "direct": true, "kind": "press",
            "data": number.to_string(), "messageId": "1",
        });
        client.request("POST", "/v1/inbound", &press.to_string()).await.map_err(|error| error.to_string())?;
        answered.lock().unwrap_or_else(PoisonError::into_inner).insert(number, Instant::now());
    }
    Ok(())
}

/// An agent that takes its turns and ends them.
async fn take(mut client: Client, woken: Times) -> Result<(), String> {
    loop {
        let answer =
            client.request("GET", "/v1/turns?wait=30", "").await.map_err(|error| error.to_string())?;
        let at = Instant::now();
        let answer: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        let turn = &answer["turn"];
        let Some(id) = turn["turn"].as_str() else { continue };
        let pressed = turn["items"].as_array().into_iter().flatten().filter_map(|item| item["data"].as_str());
        for number in pressed.filter_map(|data| data.parse().ok()) {
            woken.lock().unwrap_or_else(PoisonError::into_inner).entry(number).or_insert(at);
        }
        let end = json!({"lease": turn["lease"]}).to_string();
        let path = format!("/v1/turns/{id}/end");
        client.request("POST", &path, &end).await.map_err(|error| error.to_string())?;
    }
}
