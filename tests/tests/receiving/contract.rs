//! What holds for every channel that hears.

use std::{thread, time::Duration};

use anyhow::{Result, ensure};

use super::{
    houses::{self, Told},
    stage::Stage,
};

/// A week, in milliseconds: so long BlueBubbles and Meta repeat.
const WEEK: i64 = 7 * 24 * 3600 * 1000;
/// So long something that must not come is waited for.
const QUIET: Duration = Duration::from_millis(300);

/// Ann's line of this number.
fn line(number: usize) -> String {
    format!("line{number:05}")
}

/// Each of these lines is there once, and no other.
fn are_there(stage: &Stage<'_>, lines: &[usize]) -> Result<()> {
    for number in lines {
        stage.has(&line(*number))?;
    }
    let mut there = stage.lines()?;
    there.sort();
    let mut expected: Vec<String> = lines.iter().map(|number| line(*number)).collect();
    expected.sort();
    ensure!(there == expected, "{}: {there:?} for {expected:?}", stage.house.name());
    Ok(())
}

fn tell(stage: &Stage<'_>, number: usize) -> Result<()> {
    stage.tell(Told::Line(number, &line(number))).map(drop)
}

#[test]
fn what_is_told_again_at_once_after_a_restart_and_after_a_week_is_one_line() -> Result<()> {
    houses::each(|house| {
        let mut stage = Stage::build(house)?;
        for _ in 0..3 {
            tell(&stage, 1)?;
        }
        tell(&stage, 2)?;
        are_there(&stage, &[1, 2])?;
        stage.hub.terminate()?;
        // As if the week had passed.
        let db = rusqlite::Connection::open(stage.hub.data_dir().join("gatepost.db"))?;
        db.execute("UPDATE inbound SET at = at - ?", [WEEK])?;
        db.execute("UPDATE inbound_keys SET at = at - ?", [WEEK])?;
        drop(db);
        stage.hub.run()?;
        tell(&stage, 1)?;
        tell(&stage, 2)?;
        tell(&stage, 3)?;
        are_there(&stage, &[1, 2, 3])?;
        // And whoever reads on from where they were does not hear of it at all.
        thread::sleep(QUIET);
        are_there(&stage, &[1, 2, 3])
    })
}

#[test]
fn what_is_told_in_another_order_is_all_there() -> Result<()> {
    houses::each(|house| {
        let stage = Stage::build(house)?;
        for number in [3, 1, 2, 4] {
            tell(&stage, number)?;
        }
        are_there(&stage, &[1, 2, 3, 4])
    })
}

#[test]
fn what_was_said_while_nobody_listened_comes_once() -> Result<()> {
    houses::each(|house| {
        let mut stage = Stage::build(house)?;
        tell(&stage, 1)?;
        are_there(&stage, &[1])?;
        stage.hub.terminate()?;
        if !house.remembers() {
            // Whoever has nothing to be told again says so.
            ensure!(house.tell(Told::Line(2, &line(2))).is_err(), "the hub does not run");
            stage.hub.run()?;
            let account = stage.standing()?;
            ensure!(account.to_string().contains("while the hub is not running"), "{account}");
            return Ok(());
        }
        let told: Vec<usize> = (2..30).collect();
        // Whoever notifies the hub goes on until it is there.
        let is_missed = |number: &&usize| house.tell(Told::Line(**number, &line(**number))).is_err();
        let missed: Vec<usize> = told.iter().filter(is_missed).copied().collect();
        stage.hub.run()?;
        missed.iter().try_for_each(|number| tell(&stage, *number))?;
        are_there(&stage, &[&[1][..], &told].concat())
    })
}
