//! Months of heartbeats, in which everything happens that can be in the way.

use std::collections::BTreeMap;

use super::*;
use crate::heartbeat::guards::Skip;

/// Heartbeats of a day from 07:00 to 22:00, one an hour.
const OF_DAY: usize = 15;

/// What is in the way on a day of the month.
fn in_the_way(day: i8) -> Option<&'static str> {
    match day {
        10 => Some("busy"),
        12 => Some("nobody fetches"),
        14 => Some("not ready"),
        16 => Some("nothing new"),
        17 => Some("one notice"),
        _ => None,
    }
}

/// Lets a month pass; how many turns each day had.
async fn pass(mut home: Home, until: i64) -> (Home, BTreeMap<i8, usize>) {
    let (mut beats, mut count, mut day) = (BTreeMap::new(), 0_usize, 0);
    loop {
        let due = home.due().await;
        if due >= until {
            return (home, beats);
        }
        if wall(due).day() != day {
            day = wall(due).day();
            home = new_day(home, day).await;
        }
        let beat = home.beat(in_the_way(day) == Some("nobody fetches")).await;
        let time = wall(home.now());
        assert!((7..22).contains(&time.hour()), "outside the hours: {time}");
        match (beat, in_the_way(day)) {
            (Beat::Opened(turn), None | Some("one notice")) => {
                *beats.entry(day).or_default() += 1;
                count += 1;
                answer(&home, &turn, count).await;
            }
            (Beat::Skipped(Skip::Busy), Some("busy"))
            | (Beat::Skipped(Skip::NobodyFetches), Some("nobody fetches"))
            | (Beat::Skipped(Skip::NotReady(_)), Some("not ready"))
            | (Beat::Skipped(Skip::NothingNew), Some("nothing new" | "one notice")) => {}
            (beat, _) => panic!("{time}: {beat:?}"),
        }
    }
}

/// Every third day begins with a restart; on some, something is in the way.
async fn new_day(home: Home, day: i8) -> Home {
    let (way, setup) = (in_the_way(day), home.setup.clone());
    home.write(|tx| Ok(tx.execute("UPDATE turns SET state = 'done' WHERE cause = 'message'", [])?)).await;
    // The family talks in its group, the owner too.
    home.writes("ann", "family", false, way == Some("busy")).await;
    home.write(|tx| Ok(tx.execute("DELETE FROM turn_items WHERE turn IS NULL", [])?)).await;
    let account = if way == Some("not ready") { "elsewhere" } else { "home" };
    let list = !matches!(way, Some("nothing new" | "one notice"));
    if way == Some("one notice") {
        home.write(|tx| {
            let sql = "INSERT INTO inbox (agent, message, notice, at) VALUES (?, 'm1', '{}', 0)";
            Ok(tx.execute(sql, [AGENT])?)
        })
        .await;
    }
    if day % 3 == 0 || setup.account != account || setup.list != list {
        return home.restarted(Setup { account, list, ..setup }).await;
    }
    home
}

/// The agent returns something else each time, by turns.
async fn answer(home: &Home, turn: &str, count: usize) {
    let delivery = match count % 5 {
        0 => home.answers(turn, "HEARTBEAT_OK").await,
        1 => home.answers(turn, "The  door is open").await,
        2 => home.answers(turn, &format!("Event {count}")).await,
        3 => home.answers(turn, "").await,
        _ => home.answers(turn, "All is fine.\n**HEARTBEAT_OK**").await,
    };
    match (count % 5, delivery) {
        (1 | 2, Delivery::Taken(_)) | (0 | 1 | 3 | 4, Delivery::Quiet(_)) => {}
        (which, delivery) => panic!("{which}: {delivery:?}"),
    }
}

/// All that a month must have been.
fn held(home: &Home, beats: &BTreeMap<i8, usize>) {
    for day in 1..=31 {
        let expected = match in_the_way(day) {
            None => OF_DAY,
            Some("one notice") => 1,
            Some(_) => 0,
        };
        assert_eq!(beats.get(&day).copied().unwrap_or_default(), expected, "day {day}");
    }
    let turns: usize = beats.values().sum();
    assert_eq!(turns, 26 * OF_DAY + 1);
    let rows = home.look("SELECT cause, count(*) || '' FROM turns WHERE cause = 'heartbeat' GROUP BY cause");
    assert_eq!(rows, [("heartbeat".to_owned(), turns.to_string())], "no turn twice");
    let arrived = home.arrived();
    assert!(arrived.iter().all(|(address, _)| address == "ann"), "it went elsewhere");
    let events = arrived.iter().filter(|(_, text)| text.starts_with("Event")).count();
    assert_eq!(events, (turns + 3) / 5, "each event once");
    let doors = arrived.iter().filter(|(_, text)| text.contains("door")).count();
    assert!((20..=31).contains(&doors), "{doors} times the same, in 26 days");
    assert!(arrived.len() == events + doors, "an OK was shown");
    assert!(home.told().is_empty(), "{:?}", home.told());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_march_of_heartbeats_to_a_target() {
    let home = Home::new(Setup::default(), at("2027-02-28T23:00"));
    let (home, beats) = pass(home, at("2027-04-01T00:00")).await;
    held(&home, &beats);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_october_of_heartbeats_to_the_last_owner_and_never_to_the_group_that_they_wrote_in_since() {
    let home = Home::new(Setup { goal: Goal::Last, ..Setup::default() }, at("2027-09-30T23:00"));
    home.writes("ann", "ann", true, true).await;
    home.writes("bob", "bob", true, true).await;
    let (home, beats) = pass(home, at("2027-11-01T00:00")).await;
    held(&home, &beats);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_has_48_at_most_also_the_one_with_25_hours() {
    let setup = Setup { every: Duration::from_mins(30), hours: Hours::all_day(berlin()), ..Setup::default() };
    for (from, until, beats) in
        [("2027-03-27T23:45", "2027-03-29T00:00", 46), ("2027-10-30T23:45", "2027-11-01T00:00", 48)]
    {
        let home = Home::new(setup.clone(), at(from));
        let (mut opened, mut enough) = (0, 0);
        while home.due().await < at(until) {
            match home.beat(false).await {
                Beat::Opened(turn) => {
                    opened += 1;
                    home.answers(&turn, "HEARTBEAT_OK").await;
                }
                Beat::Skipped(Skip::Enough) => enough += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(opened, beats, "{from}");
        assert_eq!(enough, if beats == 48 { 2 } else { 0 }, "{from}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_makes_none_early_and_a_night_off_is_not_made_up_for() {
    let mut home = Home::new(Setup::default(), at("2027-06-01T06:30"));
    assert!(matches!(home.beat(false).await, Beat::Opened(_)));
    assert_eq!(wall(home.now()).to_string(), "2027-06-01T07:30:00");
    for _ in 0..3 {
        let setup = home.setup.clone();
        home = home.restarted(setup).await;
        assert_eq!(home.due().await, at("2027-06-01T08:30"));
        let plan = home.plan();
        assert_eq!(home.pipeline.beat(AGENT, &plan).await.unwrap(), Beat::NotDue);
    }
    // The turn of before waits still.
    assert_eq!(home.beat(false).await, Beat::Skipped(Skip::Busy));
    home.write(|tx| Ok(tx.execute("UPDATE turns SET state = 'done'", [])?)).await;
    let setup = home.setup.clone();
    home = home.restarted(setup).await;
    home.clock.0.store(at("2027-06-03T12:10"), Ordering::Relaxed);
    drop(home.pipeline.0.wake.fetching(AGENT, home.now()));
    let plan = home.plan();
    assert!(matches!(home.pipeline.beat(AGENT, &plan).await.unwrap(), Beat::Opened(_)), "once, late");
    assert_eq!(home.due().await, at("2027-06-03T13:10"));
}
