//! One hub that hears on every channel: what it costs while nobody writes, and while everybody does.
//!
//! `RECEIVING_HUB` is the program that is measured (else the tests' own, which is not built to be small), `RECEIVING_SECONDS` and
//! `RECEIVING_RATE` for how long people write, and how many lines a second together. `RECEIVING_IDLE` is for how many seconds nobody
//! does; two minutes after its start a hub gives back what that left behind.

use std::{
    collections::BTreeMap,
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{Client, SpawnedHub, client::text, database},
    torture::number,
};
use serde_json::json;

use super::houses::{self, House, Told};

/// How long what was told may take to be there.
const PATIENCE: Duration = Duration::from_secs(60);
/// Where so few lines a minute are taken that fewer are told: of a webhook's poster, and of strangers, whom ntfy's people are. Twice as
/// many fit into a minute, so that it does not matter when in theirs they were told.
const SLOW: &[(&str, usize)] = &[("webhook", 12), ("ntfy", 3)];
/// For so long memory is looked at, it is compared.
const COMPARED: u64 = 60;

#[test]
fn a_hub_that_hears_everywhere_loses_no_line_and_its_memory_does_not_grow() -> Result<()> {
    let (seconds, rate) = (number("RECEIVING_SECONDS", 4)?, number("RECEIVING_RATE", 60)?);
    let idle = number("RECEIVING_IDLE", 2)?;
    let houses = one_of_each_channel()?;
    let mut hub = SpawnedHub::at_rest(std::sync::Arc::new(tempfile::tempdir()?), &configuration(&houses))?;
    if let Some(program) = std::env::var_os("RECEIVING_HUB") {
        hub.is_run_by([program]);
    }
    hub.run()?;
    houses.iter().for_each(|house| house.hub_is_at(hub.port()));
    all_listen(&hub, &houses)?;
    measure_idle(&hub, houses.len(), idle)?;
    let agent = hub.agent("engineer")?;
    let over = AtomicBool::new(false);
    let (told, memory) = thread::scope(|scope| {
        scope.spawn(|| end_turns(&agent, &over));
        let written = write(&hub, &houses, seconds, rate);
        let there = written.and_then(|written| are_there(&hub, &written.0).map(|()| written));
        over.store(true, Ordering::Relaxed);
        there
    })?;
    let all: usize = told.values().sum();
    let quarter = memory.len() / 4;
    let mean = |some: &[u64]| some.iter().sum::<u64>() / (some.len() as u64).max(1);
    let (second, last) = (mean(&memory[quarter..2 * quarter]), mean(&memory[memory.len() - quarter..]));
    println!(
        "{all} lines in {seconds} s on {} channels: {:.1} MB resident in the second quarter, {:.1} in the last; {told:?}",
        houses.len(),
        megabytes(second),
        megabytes(last)
    );
    ensure!(seconds < COMPARED || last <= second + second / 10, "memory grows: {memory:?}");
    ensure!(hub.cli(&["audit", "verify"])?.status == 0);
    Ok(())
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// A house of each channel: of a channel with several programs the first.
fn one_of_each_channel() -> Result<Vec<Box<dyn House>>> {
    let mut all: Vec<Box<dyn House>> = Vec::new();
    for house in houses::all()? {
        if !all.iter().any(|other| other.channel() == house.channel()) {
            all.push(house);
        }
    }
    Ok(all)
}

fn configuration(houses: &[Box<dyn House>]) -> String {
    let accounts: String = houses.iter().map(|house| house.account()).collect();
    format!("{}[channels.local.home]\n{accounts}", houses::rules(houses.iter().map(|house| &**house)))
}

fn all_listen(hub: &SpawnedHub, houses: &[Box<dyn House>]) -> Result<()> {
    let operator = hub.operator()?;
    let start = Instant::now();
    loop {
        let told = operator.get("/v1/channels")?.body;
        let accounts = told["channels"].as_array().context("a list")?;
        let listens = |house: &dyn House| {
            let mut its = accounts.iter().filter(|one| one["channel"] == house.channel());
            its.any(|account| account["ready"] == true && house.listens(account))
        };
        if houses.iter().all(|house| listens(&**house)) {
            return Ok(());
        }
        ensure!(start.elapsed() < PATIENCE, "not all hear: {told:#}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// How often the hub's threads went to sleep of their own accord.
fn sleeps(hub: &SpawnedHub) -> Result<u64> {
    let mut all = 0;
    for task in fs::read_dir(format!("/proc/{}/task", hub.pid()?))? {
        // A thread may end meanwhile.
        let Ok(status) = fs::read_to_string(task?.path().join("status")) else { continue };
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        all += line.context("a figure")?.trim().parse::<u64>()?;
    }
    Ok(all)
}

fn measure_idle(hub: &SpawnedHub, channels: usize, seconds: u64) -> Result<()> {
    thread::sleep(Duration::from_secs(seconds.saturating_sub(60)));
    let watched = seconds.clamp(1, 60);
    let before = sleeps(hub)?;
    thread::sleep(Duration::from_secs(watched));
    let after = sleeps(hub)?;
    println!(
        "idle, {channels} channels that hear: {:.1} MB resident, {:.1} wake-ups/s over {watched} s",
        megabytes(hub.memory("VmRSS")?),
        after.saturating_sub(before) as f64 / watched as f64
    );
    Ok(())
}

/// Ends what it is given, without a word.
fn end_turns(agent: &Client, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let Ok(taken) = agent.get("/v1/turns?wait=1") else { continue };
        let turn = &taken.body["turn"];
        if turn.is_object() {
            // Whatever is not ended comes again.
            let _ = agent
                .post(&format!("/v1/turns/{}/end", text(turn, "turn")), &json!({"lease": turn["lease"]}));
        }
    }
}

/// People write, so many lines a second together, for so long, and nobody waits for what another channel does meanwhile; how many lines
/// on which channel, and the memory each second.
fn write(
    hub: &SpawnedHub,
    houses: &[Box<dyn House>],
    seconds: u64,
    rate: u64,
) -> Result<(BTreeMap<&'static str, usize>, Vec<u64>)> {
    let slow = |house: &dyn House| SLOW.iter().find(|(channel, _)| *channel == house.channel());
    let slowly: f64 =
        houses.iter().filter_map(|house| slow(&**house)).map(|(_, most)| *most as f64 / 60.0).sum();
    let fast = houses.iter().filter(|house| slow(&***house).is_none()).count();
    let start = Instant::now();
    let told = thread::scope(|scope| {
        let writers: Vec<_> = houses
            .iter()
            .map(|house| {
                let rate = match slow(&**house) {
                    Some((_, most)) => *most as f64 / 60.0,
                    None => (rate as f64 - slowly) / fast as f64,
                };
                let lines = (seconds as f64 * rate).ceil() as usize;
                scope.spawn(move || -> Result<(&'static str, usize)> {
                    for line in 0..lines {
                        let due = Duration::from_secs_f64(line as f64 / rate);
                        thread::sleep(due.saturating_sub(start.elapsed()));
                        house.tell(Told::Line(line, &format!("line{line:06} of many")))?;
                    }
                    Ok((house.channel(), lines))
                })
            })
            .collect();
        let mut memory = Vec::new();
        while writers.iter().any(|writer| !writer.is_finished()) {
            memory.push(hub.memory("VmRSS")?);
            thread::sleep(Duration::from_secs(1));
        }
        let told = writers.into_iter().map(|writer| writer.join().expect("no writer panics"));
        Ok::<_, anyhow::Error>((told.collect::<Result<BTreeMap<_, _>>>()?, memory))
    })?;
    println!("told in {:.1} s of {seconds}", start.elapsed().as_secs_f64());
    Ok(told)
}

/// Each of these lines is there, once.
fn are_there(hub: &SpawnedHub, told: &BTreeMap<&'static str, usize>) -> Result<()> {
    let start = Instant::now();
    loop {
        let db = database::open(&hub.data_dir())?;
        let mut rows =
            db.prepare("SELECT channel, count(*), count(DISTINCT text) FROM inbound GROUP BY channel")?;
        let rows = rows.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, (row.get::<_, u32>(1)?, row.get::<_, u32>(2)?)))
        })?;
        let rows = rows.collect::<Result<BTreeMap<String, (u32, u32)>, _>>()?;
        let there = |(channel, lines): (&&str, &usize)| {
            rows.get(*channel).is_some_and(|(all, different)| all == different && *all as usize == *lines)
        };
        if told.iter().all(there) {
            println!("all of it was there after {:.1} s more", start.elapsed().as_secs_f64());
            return Ok(());
        }
        ensure!(start.elapsed() < PATIENCE, "told was {told:?}, there is {rows:?}");
        thread::sleep(Duration::from_millis(100));
    }
}
