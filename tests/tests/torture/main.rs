//! The hub under torture: killed, starved of answers, flooded, and run for long.
//!
//! - [`kills`]: killed at random moments, and at the worst ones;
//! - [`starts`]: killed in the first moments of a database, new, restored or of an older program;
//! - [`retention`]: killed while it lets go of what is past its time;
//! - [`storm`]: a platform that answers as badly as it can;
//! - [`turns`]: killed while people write and agents answer, who are [`programs`] as bad as they come;
//! - [`receiving`]: the same with servers that are no mocks, and platforms that tell anything but the truth;
//! - [`flood`]: a long queue, and one that does not end;
//! - [`slow_card`]: a disk that takes its time.
//!
//! How long each of it runs, and with which dice, is said by the environment; CONTRIBUTING.md has the list. Each test
//! makes sure that what it does to the hub has happened.

mod flood;
mod kills;
mod programs;
mod receiving;
mod retention;
mod slow_card;
mod starts;
mod storm;
mod turns;

use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::SpawnedHub,
    torture::{
        book::{self, Lane},
        platform::Platform,
    },
};

const KEYED: &str = "keyed";
const AGENTS: &str = "
[agents.courier]
per_minute = 0
allow = [\"*\"]
cross_context = \"allow\"
decorate = false

[channels.local.home]
";

/// What keeps both processors busy takes turns.
static BUSY: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lanes(accounts: &[(&'static str, usize)], messages: usize) -> Vec<Lane> {
    accounts
        .iter()
        .flat_map(|(account, lanes)| std::iter::repeat_n(*account, *lanes))
        .enumerate()
        .map(|(number, account)| Lane { number, account, messages })
        .collect()
}

fn configuration(platform: &Platform, accounts: &[&str], folder: &Path) -> Result<String> {
    let mut text = AGENTS.to_owned();
    for account in accounts {
        text += &platform.account(account, folder)?;
    }
    Ok(text)
}

/// Waits until no more than `left` messages are under way.
fn settled(hub: &SpawnedHub, left: u64, longest: Duration) -> Result<()> {
    let start = Instant::now();
    loop {
        let under_way = book::under_way(&hub.data_dir())?;
        if under_way <= left {
            return Ok(());
        }
        ensure!(start.elapsed() < longest, "{under_way} messages are under way after {longest:?}");
        thread::sleep(Duration::from_millis(100));
    }
}
