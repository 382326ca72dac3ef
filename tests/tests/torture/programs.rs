//! Agent programs as bad as they come: they take turns over HTTP, and crash, hang, and answer twice.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use gatepost_tests::hub::{Client, client::text, database};
use serde_json::{Value, json};

/// How long a turn is an agent's in these tests, as `routing.lease` has it.
pub(crate) const LEASE: &str = "2s";
/// So long an agent hangs: past the end of its lease.
const HANGS: Duration = Duration::from_millis(2_300);
/// One of so many turns is left by a crash. By number, and not by dice: few turns are as bad as many.
const CRASHES: usize = 8;
/// One of so many is held beyond its lease.
const HANGINGS: usize = 30;
/// One of so many is answered twice.
const TWICE: usize = 5;

/// What the agents did.
#[derive(Debug, Default)]
pub(crate) struct Did {
    begun: AtomicUsize,
    pub(crate) crashed: AtomicUsize,
    pub(crate) hung: AtomicUsize,
    pub(crate) twice: AtomicUsize,
    pub(crate) late: AtomicUsize,
    pub(crate) ended: AtomicUsize,
}

impl Did {
    /// All of it, for people.
    pub(crate) fn said(&self) -> String {
        let n = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        format!(
            "{} turns ended, {} left by a crash, {} by hanging, {} answered twice, {} too late",
            n(&self.ended),
            n(&self.crashed),
            n(&self.hung),
            n(&self.twice),
            n(&self.late)
        )
    }

    /// Checks that they were as bad as they should be.
    pub(crate) fn were_bad(&self) -> Result<()> {
        ensure!(self.crashed.load(Ordering::Relaxed) > 0, "no agent crashed");
        ensure!(self.twice.load(Ordering::Relaxed) > 0, "no agent answered twice");
        Ok(())
    }
}

/// What an agent answers in a turn.
pub(crate) fn answer(agent: &str, turn: &str) -> String {
    format!("{agent} {turn}")
}

/// Takes turns until it is over.
pub(crate) fn work(agent: &str, client: &Client, did: &Did, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let Ok(taken) = client.get("/v1/turns?wait=1") else {
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        let turn = &taken.body["turn"];
        if !turn.is_object() {
            continue;
        }
        // It is bad in the first attempt only: the third waits a minute.
        let first = (turn["attempt"] == 1).then(|| did.begun.fetch_add(1, Ordering::Relaxed));
        if first.is_some_and(|n| n % CRASHES == 2) {
            did.crashed.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        if first.is_some_and(|n| n % HANGINGS == 4) {
            did.hung.fetch_add(1, Ordering::Relaxed);
            thread::sleep(HANGS);
        }
        let ended = end(client, turn, &answer(agent, text(turn, "turn")), did);
        if ended.is_some_and(|n| n % TWICE == 1) {
            let again = reply(turn, &format!("{} again", answer(agent, text(turn, "turn"))));
            if client.post("/v1/reply", &again).is_ok_and(|answer| answer.status == 409) {
                did.twice.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn reply(turn: &Value, words: &str) -> Value {
    json!({"context": turn["context"], "turn": turn["turn"], "lease": turn["lease"], "text": words})
}

/// Answers until the hub has it; how many were taken before, if it was taken.
fn end(client: &Client, turn: &Value, words: &str, did: &Did) -> Option<usize> {
    let reply = reply(turn, words);
    for _ in 0..400 {
        match client.post("/v1/reply", &reply) {
            Ok(answer) if answer.status == 200 => {
                return Some(did.ended.fetch_add(1, Ordering::Relaxed));
            }
            Ok(answer) if answer.status == 409 => {
                did.late.fetch_add(1, Ordering::Relaxed);
                return None;
            }
            _ => thread::sleep(Duration::from_millis(10)),
        }
    }
    None
}

/// Waits until no turn waits or is at work.
pub(crate) fn all_ended(data_dir: &Path) -> Result<()> {
    let start = Instant::now();
    loop {
        // In one look: a turn may wait again between two, when its lease is over.
        let sql = "SELECT count(*) FROM turns WHERE ended_at IS NULL";
        let left: u32 = database::open(data_dir)?.query_row(sql, [], |row| row.get(0))?;
        if left == 0 {
            return Ok(());
        }
        ensure!(start.elapsed() < Duration::from_secs(300), "{left} turns have not ended");
        thread::sleep(Duration::from_millis(200));
    }
}
