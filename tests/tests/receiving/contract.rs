//! What holds for every channel that hears.

use std::{collections::BTreeSet, thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{hub::client::text, mocks::Wire};
use serde_json::{Value, json};

use super::{
    houses::{self, Told},
    stage::Stage,
};

/// A week, in milliseconds: so long BlueBubbles and Meta repeat.
const WEEK: i64 = 7 * 24 * 3600 * 1000;
/// More than one, as clocks of whole seconds have it.
const SECOND: Duration = Duration::from_millis(1_100);
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
            ensure!(account.to_string().contains("while the hub is away is lost"), "{account}");
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

#[test]
fn a_position_that_means_nothing_to_the_platform_loses_nothing_new_and_doubles_nothing() -> Result<()> {
    houses::each(|house| {
        let mut stage = Stage::build(house)?;
        tell(&stage, 1)?;
        are_there(&stage, &[1])?;
        stage.hub.terminate()?;
        let db = rusqlite::Connection::open(stage.hub.data_dir().join("gatepost.db"))?;
        db.execute("UPDATE positions SET value = 'no position at all'", [])?;
        drop(db);
        stage.hub.run()?;
        stage.has_begun()?;
        // Some begin with now, which is when they have found out.
        thread::sleep(QUIET);
        tell(&stage, 2)?;
        are_there(&stage, &[1, 2])
    })
}

#[test]
fn an_account_whose_token_is_refused_in_the_midst_says_so_and_goes_on_when_it_is_taken_again() -> Result<()> {
    houses::each(|house| {
        let Some((headers, body)) = house.refuses_token() else { return Ok(()) };
        let mut stage = Stage::build(house)?;
        tell(&stage, 1)?;
        are_there(&stage, &[1])?;
        stage.wires.iter().for_each(|wire| wire.answer(401, headers, body));
        let said = stage.until("the account says that it is refused", || {
            let account = stage.hub.operator()?.get("/v1/channels?fresh=true")?.body;
            Ok(account["channels"].to_string().contains("\"ready\":false").then_some(account))
        })?;
        if house.remembers() {
            tell(&stage, 2)?;
        }
        stage.clear();
        // Its owner has given it back, and starts the hub anew: some stop to ask with a token that is refused.
        stage.hub.terminate()?;
        stage.hub.run()?;
        stage.has_begun().with_context(|| format!("it said {said}"))?;
        if !house.remembers() {
            tell(&stage, 2)?;
        }
        tell(&stage, 3)?;
        are_there(&stage, &[1, 2, 3])
    })
}

#[test]
fn limits_errors_and_answers_that_are_none_delay_what_is_told_and_lose_nothing() -> Result<()> {
    houses::each(|house| {
        let stage = Stage::build(house)?;
        tell(&stage, 0)?;
        are_there(&stage, &[0])?;
        let wrong = [
            (429, "Retry-After: 1\r\n", "{}"),
            (500, "", "{}"),
            (502, "", "<html>Bad gateway</html>"),
            (200, "", "[]"),
        ];
        let mut told = vec![0];
        for (number, (status, headers, body)) in (1..).zip(wrong) {
            stage.wires.iter().for_each(|wire| wire.answer(status, headers, body));
            if house.remembers() {
                tell(&stage, number)?;
            }
            thread::sleep(QUIET);
            stage.clear();
            if !house.remembers() {
                tell(&stage, number)?;
            }
            told.push(number);
        }
        are_there(&stage, &told)
    })
}

#[test]
fn a_connection_over_which_nothing_comes_any_more_is_noticed() -> Result<()> {
    houses::each(|house| {
        if house.notifies() {
            return Ok(());
        }
        let stage = Stage::build(house)?;
        tell(&stage, 1)?;
        are_there(&stage, &[1])?;
        stage.wires.iter().for_each(Wire::freeze);
        tell(&stage, 2)?;
        are_there(&stage, &[1, 2])
    })
}

#[test]
fn a_message_of_a_megabyte_loses_its_end_or_is_counted_and_the_next_one_comes() -> Result<()> {
    houses::each(|house| {
        let stage = Stage::build(house)?;
        let long = "many words ".repeat(100_000);
        // One that takes no such notification has told it once; nobody tells it for ever.
        let taken = house.tell(Told::Line(1, &long));
        tell(&stage, 2)?;
        stage.has(&line(2))?;
        let told = stage.until("it is told or counted", || {
            let shown = stage.lines()?.into_iter().find(|one| one != &line(2));
            let counted = stage.dropped("unreadable")? > 0 || taken.is_err();
            Ok((shown.is_some() || counted).then_some(shown))
        })?;
        if let Some(text) = told {
            ensure!(
                // Telegram's own messages have 4,096 characters: what no Telegram sends is cut before it is read.
                text.chars().count() <= 32_000
                    && (text.ends_with("bytes are left out]") || house.channel() == "telegram"),
                "{} characters",
                text.len()
            );
        }
        Ok(())
    })
}

#[test]
fn what_is_of_an_unknown_kind_is_counted_and_the_next_line_comes() -> Result<()> {
    houses::each(|house| {
        let stage = Stage::build(house)?;
        // Where a position is a time, it is whole seconds: what cannot be read in its own second is not counted anew at each look.
        thread::sleep(SECOND);
        if !stage.tell(Told::Strange(1))? {
            return Ok(());
        }
        tell(&stage, 2)?;
        are_there(&stage, &[2])?;
        stage.until("it is counted", || Ok((stage.dropped("not_used")? > 0).then_some(())))
    })
}

#[test]
fn two_hubs_with_one_account_lose_nothing_between_them() -> Result<()> {
    houses::each(|house| {
        let first = Stage::build(house)?;
        let mut second = Stage::build(house)?;
        let told: Vec<usize> = (1..=4).collect();
        told.iter().try_for_each(|number| tell(&first, *number))?;
        let wanted: Vec<String> = told.iter().map(|number| line(*number)).collect();
        first.until("both together have all of it", || {
            let there = [first.lines()?, second.lines()?].concat();
            Ok(wanted.iter().all(|line| there.contains(line)).then_some(()))
        })?;
        for stage in [&first, &second] {
            let lines = stage.lines()?;
            let different: BTreeSet<&String> = lines.iter().collect();
            ensure!(different.len() == lines.len(), "{}: {lines:?}", house.name());
        }
        second.hub.terminate()?;
        house.hub_is_at(first.door.port());
        tell(&first, 5)?;
        first.has(&line(5))
    })
}

#[test]
fn an_answer_that_is_changed_twice_has_its_last_words() -> Result<()> {
    houses::each(|house| {
        let stage = Stage::build(house)?;
        let agent = stage.hub.agent("engineer")?;
        tell(&stage, 1)?;
        let turn = stage.until("the agent has a turn", || {
            let answer = agent.get("/v1/turns?wait=1")?.taken()?;
            Ok(Some(answer["turn"].clone()).filter(Value::is_object))
        })?;
        let send = |call: Value| -> Result<Value> {
            let mut call = call;
            call["to"] = "current".into();
            call["context"] = turn["context"].clone();
            Ok(agent.post("/v1/messages?wait=20", &call)?.body)
        };
        let first = send(json!({"message": "The first words."}))?;
        let id = text(&first["parts"][0], "platform_id").to_owned();
        for words in ["Better words.", "The last words."] {
            let changed = send(json!({"action": "edit", "messageId": id, "message": words}))?;
            if text(&changed, "id").is_empty() {
                ensure!(changed["ok"] == false, "{changed}");
                return Ok(());
            }
            ensure!(changed["state"] == "sent", "{changed}");
        }
        let arrived = house.arrived()?;
        ensure!(arrived.len() == 1 && arrived[0].text == "The last words.", "{}: {arrived:?}", house.name());
        Ok(())
    })
}
