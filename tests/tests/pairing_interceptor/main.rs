//! Somebody between a companion and its hub while they are paired: a proxy on the way to the broker that takes every message of
//! the pairing apart and says what it likes in its place. The companion is the desktop's, the hub a process of its own.
//!
//! - [`proxy`]: the connection that goes through its hands;
//! - [`trick`]: what it says to either side, and how far that brings it;
//! - [`stage`]: the hub, and the two people, who say yes where both numbers are the same and never otherwise.
//!
//! `PAIRING_ATTEMPTS` says how many attempts there are, each with one of the tricks in turn. The
//! same tricks without a connection, and always a thousand of them, are in the daemon's `companion/pairing/tests/man.rs`.

mod proxy;
mod stage;
mod trick;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use gatepost_interceptor::{DIGITS, Ground, fitting};
use gatepost_tests::hub::eventually;

use stage::Stage;
use trick::{Earlier, Reached, Trick};

/// What takes some twenty seconds.
const ATTEMPTS: usize = 1_000;
/// How long he looks for keys in an attempt among many.
const BRIEFLY: Duration = Duration::from_millis(20);
/// How long while the numbers are shown, which is a minute.
const LONG: Duration = Duration::from_secs(40);

fn attempts() -> usize {
    std::env::var("PAIRING_ATTEMPTS").ok().and_then(|text| text.parse().ok()).unwrap_or(ATTEMPTS)
}

/// Asserts that an attempt went as far as it can with this trick, and that it paired nobody.
fn came_to_nothing(stage: &Stage, trick: Trick, reached: &Reached) -> Result<()> {
    // A broken proxy would be no attack.
    ensure!(reached.of_device > 0 && reached.of_hub > 0, "nothing was taken out of the way: {reached:?}");
    ensure!(reached.to_device > 0 && reached.to_hub > 0, "nothing was put in its place: {reached:?}");
    ensure!(reached.at_device.is_some() == trick.shows_at_device(), "{reached:?}");
    ensure!(reached.at_hub.is_some() == trick.shows_at_hub(), "{reached:?}");
    match (reached.at_device, reached.at_hub) {
        (Some(device), Some(hub)) => {
            ensure!(
                device != hub,
                "both people see {hub}, and neither has the other's keys; by chance once in a million"
            );
        }
        _ => ensure!(reached.refused.contains(trick.refusal()), "{reached:?}"),
    }
    ensure!(!reached.bonded, "the device is paired with him");
    ensure!(stage.companions()? == 1, "the hub has a companion that is his");
    Ok(())
}

#[test]
fn whoever_stands_between_a_companion_and_its_hub_pairs_neither() -> Result<()> {
    let stage = Stage::set()?;
    // Where he carries all as it comes, both are paired: what fails behind this fails by his tricks.
    let earlier = stage.pair_honestly()?;
    let (start, mut nearest, mut tries) = (Instant::now(), 0, 0);
    let of_each = attempts().div_ceil(Trick::ALL.len());
    for (attempt, trick) in (0..of_each).flat_map(|round| Trick::ALL.map(|trick| (round, trick))) {
        let reached =
            stage.attempt(trick, &earlier, BRIEFLY).with_context(|| format!("{attempt} {trick:?}"))?;
        came_to_nothing(&stage, trick, &reached).with_context(|| format!("{attempt} {trick:?}"))?;
        if let Some((found, wanted)) = reached.ground {
            nearest = nearest.max(fitting(found, wanted));
            tries += reached.tries;
            ensure!(found != wanted || reached.at_hub.is_none(), "{reached:?}");
        }
    }
    let took = start.elapsed();
    println!(
        "{} attempts in {took:.1?}; {tries} keys and nonces tried, {nearest} digits found",
        of_each * Trick::ALL.len()
    );
    ensure!(tries > 0 && nearest >= 2, "he did not look: {tries} tries, {nearest} digits");
    eventually("the hub has written down each attempt", || {
        Ok((stage.failed()? >= of_each * Trick::ALL.len()).then_some(()))
    })?;
    Ok(())
}

#[test]
fn who_found_all_six_digits_is_refused_by_what_he_began_with() -> Result<()> {
    let stage = Stage::set()?;
    let earlier: Earlier = stage.pair_honestly()?;
    for ground in [Ground::Nonce, Ground::Key] {
        let trick = Trick::Ground(ground);
        let reached = stage.attempt(trick, &earlier, LONG)?;
        came_to_nothing(&stage, trick, &reached).with_context(|| format!("{trick:?}"))?;
        let (found, wanted) = reached.ground.context("he looked")?;
        println!("{trick:?}: {} tries, {found:06} for {wanted:06}", reached.tries);
        // He would have had both numbers the same; on a machine that is busy without end his minute is over before.
        ensure!(fitting(found, wanted) == DIGITS || reached.tries < 12_000_000, "{reached:?}");
    }
    Ok(())
}
