//! A card that takes 30 ms for what is synced, and now and then two seconds: callers share what they wait for, nobody is left out,
//! and the watchdog has its beat.
//!
//! Only what can be counted is asked for here; how long anything takes is in the benchmark.

use std::{
    fs,
    os::unix::net::UnixDatagram,
    path::Path,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, ensure};
use gatepost_tests::{
    hub::{Client, SpawnedHub, client::text, slow_card},
    torture::number,
};
use serde_json::json;

use super::{AGENTS, turn};

/// What a card takes for a sync, in milliseconds, and for every so-many'th.
const SYNC_MS: u64 = 30;
const STALL_MS: u64 = 2_000;
const STALL_EVERY: u64 = 20;
/// Callers at once, each with a conversation of its own.
const CALLERS: usize = 64;
/// Half of it is the time between two beats. systemd's is 30 s; here a beat has to come through in the midst of a stall.
const WATCHDOG: Duration = Duration::from_secs(4);

/// Syncs until now.
fn syncs(count: &Path) -> Result<u64> {
    Ok(fs::metadata(count)?.len())
}

/// All callers at once, each with one message, and then what became of them. How many syncs there were until all had their answers, and
/// until all had arrived.
fn wave(agent: &Client, number: u64, count: &Path) -> Result<(u64, u64)> {
    let (before, together) = (syncs(count)?, Barrier::new(CALLERS));
    let ids: Vec<String> = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let (agent, together) = (agent, &together);
                scope.spawn(move || {
                    together.wait();
                    let call = json!({"to": format!("local:p{caller}"), "message": format!("{number}")});
                    Ok(text(&agent.send(&call)?, "id").to_owned())
                })
            })
            .collect();
        let ids =
            callers.into_iter().map(|caller| caller.join().map_err(|_| anyhow!("a caller panicked"))?);
        ids.collect::<Result<_>>()
    })?;
    let accepted = syncs(count)? - before;
    for id in &ids {
        agent.ended(id, "sent")?;
    }
    Ok((accepted, syncs(count)? - before))
}

#[test]
fn a_slow_card_is_waited_for_together_and_leaves_nobody_out() -> Result<()> {
    let _turn = turn();
    let waves = number("TORTURE_WAVES", 6)?;
    let folder = Arc::new(tempfile::tempdir()?);
    let (count, socket) = (folder.path().join("syncs"), folder.path().join("notify"));
    let mut hub = SpawnedHub::at_rest(Arc::clone(&folder), AGENTS)?;
    hub.knows("LD_PRELOAD", slow_card()?.to_str().context("a path in UTF-8")?);
    for (name, value) in [
        ("SLOW_CARD_SYNC_MS", SYNC_MS),
        ("SLOW_CARD_STALL_MS", STALL_MS),
        ("SLOW_CARD_STALL_EVERY", STALL_EVERY),
        ("WATCHDOG_USEC", u64::try_from(WATCHDOG.as_micros())?),
    ] {
        hub.knows(name, &value.to_string());
    }
    hub.knows("SLOW_CARD_COUNT", count.to_str().context("a path in UTF-8")?);
    hub.knows("NOTIFY_SOCKET", socket.to_str().context("a path in UTF-8")?);
    let systemd = UnixDatagram::bind(&socket)?;
    systemd.set_read_timeout(Some(Duration::from_millis(100)))?;
    let over = AtomicBool::new(false);
    let (beats, longest) = thread::scope(|scope| -> Result<(usize, Duration)> {
        let beats = scope.spawn(|| {
            let (mut said, mut beats, mut last, mut longest) = ([0; 256], 0, None, Duration::ZERO);
            while !over.load(Ordering::Relaxed) {
                let Ok(read) = systemd.recv(&mut said) else { continue };
                if said[..read].starts_with(b"WATCHDOG=1") {
                    let now = Instant::now();
                    longest = last.map_or(longest, |last| longest.max(now - last));
                    (beats, last) = (beats + 1, Some(now));
                }
            }
            (beats, longest)
        });
        let went = (|| {
            hub.run()?;
            let agent = hub.agent("courier")?;
            for number in 0..waves {
                let (accepted, all) = wave(&agent, number, &count)?;
                println!("slow card: {CALLERS} messages in {accepted} syncs, and delivered in {all}");
                // Those who come while a commit is waited for share the next. How many come meanwhile is the machine's speed; each by itself
                // would be 64 syncs, and 192.
                ensure!(
                    accepted * 2 <= CALLERS as u64 && all <= CALLERS as u64,
                    "{accepted} syncs until all were accepted, {all} until all had arrived"
                );
            }
            ensure!(syncs(&count)? >= STALL_EVERY, "the card has stalled");
            for caller in 0..CALLERS {
                let arrived = hub.operator()?.arrived(&format!("p{caller}"))?;
                let texts: Vec<&str> = arrived.iter().map(|one| text(one, "text")).collect();
                let all: Vec<String> = (0..waves).map(|number| number.to_string()).collect();
                ensure!(texts == all, "p{caller}: {texts:?}");
            }
            hub.terminate()
        })();
        over.store(true, Ordering::Relaxed);
        let beats = beats.join().map_err(|_| anyhow!("whoever listens panicked"))?;
        went.map(|()| beats)
    })?;
    println!("slow card: {beats} beats, at most {longest:?} apart");
    ensure!(
        beats >= 2 && longest < WATCHDOG,
        "{beats} beats, {longest:?} apart: systemd would have ended it"
    );
    Ok(())
}
