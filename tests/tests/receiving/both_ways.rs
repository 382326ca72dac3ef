//! Conversations of many lines each way, with an agent that answers each and changes some of its answers, and with faults and kills in
//! between: each line once, in order, and both sides have the same.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{Client, client::text, database},
    torture::{Dice, number},
};

use super::{
    agent::{self, Agent, Did},
    houses::{self, Arrived, House, Told},
    stage::{self, Stage},
};

/// One of so many of Ann's lines is changed by her.
const CHANGED: usize = 10;
/// So many lines she is ahead of the answers.
const AHEAD: usize = 6;
/// She writes a line within so many milliseconds.
const WRITES: u64 = 300;
/// Between two faults, in milliseconds, at most.
const CALM: u64 = 800;
/// How long a fault lasts, in milliseconds, at most.
const FAULT: u64 = 400;
/// A hub that was killed is given so long, in milliseconds, before the next fault: to start takes a debug build a third of it.
const LIFE: u64 = 1_500;

#[test]
fn each_line_comes_once_and_in_order_both_ways_and_both_sides_have_the_same() -> Result<()> {
    houses::each(|house| converse(house, usize::try_from(number("RECEIVING_LINES", house.usual_lines())?)?))
}

/// What Ann writes.
fn line(number: usize) -> String {
    format!("line{number:05} is hers")
}

/// What she makes of it.
fn changed(number: usize) -> String {
    format!("line{number:05} is hers, changed")
}

fn converse(house: &dyn House, lines: usize) -> Result<()> {
    let mut dice = Dice::throw(house.name())?;
    let mut stage = Stage::build(house)?;
    let client = stage.hub.agent("engineer")?;
    let agent = Agent::new(&client);
    let mut faults = BTreeMap::new();
    thread::scope(|scope| -> Result<()> {
        scope.spawn(|| agent.work());
        let done = (|| -> Result<()> {
            let mut calm = Instant::now() + Duration::from_millis(dice.below(CALM));
            for number in 0..lines {
                // People take their time, and wait for answers.
                let writes = Instant::now() + Duration::from_millis(dice.below(WRITES));
                let start = Instant::now();
                while agent.did().answers.len() + AHEAD < number || Instant::now() < writes {
                    ensure!(
                        start.elapsed() < stage::PATIENCE,
                        "she waits for an answer: {}",
                        open(&stage, &agent.did())?
                    );
                    trouble(&mut stage, &mut dice, &mut calm, &mut faults)?;
                    thread::sleep(Duration::from_millis(10));
                }
                stage.tell(Told::Line(number, &line(number)))?;
                if number % CHANGED == 3 {
                    stage.tell(Told::Edit(number, &changed(number)))?;
                }
            }
            stage.clear();
            stage.until("every line is received", || Ok((stage.lines()?.len() >= lines).then_some(())))?;
            stage
                .until_within(
                    "every line is answered, for good",
                    stage::PATIENCE + house.pace() * u32::try_from(lines)?,
                    || ended(&stage, &agent.did(), lines),
                )
                .with_context(|| open(&stage, &agent.did()).unwrap_or_default())
        })();
        agent.stop();
        done
    })?;
    ensure!(faults.values().sum::<usize>() * 15 >= lines, "too little went wrong: {faults:?}");
    let tally = balance(&stage, &client, &agent.did(), lines)?;
    println!("{}: {lines} lines each way, {tally}, with {faults:?}", house.name());
    ensure!(stage.hub.cli(&["audit", "verify"])?.status == 0);
    Ok(())
}

/// Now and then something goes wrong for a moment.
fn trouble(
    stage: &mut Stage<'_>,
    dice: &mut Dice,
    calm: &mut Instant,
    faults: &mut BTreeMap<&'static str, usize>,
) -> Result<()> {
    if Instant::now() < *calm {
        return Ok(());
    }
    let lasts = Duration::from_millis(dice.below(FAULT));
    let mut life = 0;
    let fault = match dice.below(5) {
        0 => {
            stage.wires.iter().chain([&stage.door]).for_each(|wire| wire.cut());
            "cut"
        }
        1 => {
            stage.wires.iter().for_each(|wire| wire.answer(503, "", "{}"));
            thread::sleep(lasts);
            "503"
        }
        2 => {
            stage.wires.iter().for_each(|wire| wire.answer(429, "Retry-After: 1\r\n", "{}"));
            thread::sleep(lasts);
            "429"
        }
        _ => {
            stage.hub.kill()?;
            stage.hub.run_without_waiting()?;
            life = LIFE;
            "kill -9"
        }
    };
    stage.clear();
    *faults.entry(fault).or_default() += 1;
    *calm = Instant::now() + Duration::from_millis(life + dice.below(CALM));
    Ok(())
}

/// Whether the agent has answered everything, and nothing of it is under way.
fn ended(stage: &Stage<'_>, did: &Did, lines: usize) -> Result<Option<()>> {
    let db = database::open(&stage.hub.data_dir())?;
    let open: u32 =
        db.query_row("SELECT count(*) FROM messages WHERE ended_at IS NULL", [], |row| row.get(0))?;
    let turns: u32 =
        db.query_row("SELECT count(*) FROM turns WHERE ended_at IS NULL", [], |row| row.get(0))?;
    Ok((did.finished.len() >= lines && open == 0 && turns == 0).then_some(()))
}

/// What has not come to its end, for who looks for what went wrong.
fn open(stage: &Stage<'_>, did: &Did) -> Result<String> {
    let db = database::open(&stage.hub.data_dir())?;
    let mut told = format!("{} answers, {} edits, {:?}", did.answers.len(), did.edits.len(), did.refused);
    for sql in [
        "SELECT id || ' ' || state || ' ' || text FROM messages WHERE ended_at IS NULL",
        "SELECT id || ' ' || state || ' attempt ' || attempts FROM turns WHERE ended_at IS NULL",
    ] {
        let mut rows = db.prepare(sql)?;
        for row in rows.query_map([], |row| row.get::<_, String>(0))? {
            told += &format!("\n{}", row?);
        }
    }
    Ok(told)
}

/// Holds what Ann wrote and has against what the hub has.
fn balance(stage: &Stage<'_>, client: &Client, did: &Did, lines: usize) -> Result<String> {
    let house = stage.house;
    let received = ordered(house, stage.lines()?);
    // Of what a platform changes in its place, whoever comes late reads the new words alone.
    let is_late = |number: usize| house.edits_in_place() && received.get(number) == Some(&changed(number));
    let hers: Vec<String> =
        (0..lines).map(|number| if is_late(number) { changed(number) } else { line(number) }).collect();
    ensure!(received == hers, "{} of {lines} are there: {}", received.len(), difference(&received, &hers));
    let edits: Vec<String> = (0..lines).filter(|number| number % CHANGED == 3).map(changed).collect();
    // The last may have to be told again.
    stage.until("every edit is received", || {
        let some = house.edits_in_place() || !house.tells_edits();
        Ok((some || stage.rows("edit")?.len() >= edits.len()).then_some(()))
    })?;
    let mut received = ordered(house, stage.rows("edit")?);
    // What came as the line itself may come as an edit, too, or not.
    let late = (0..lines).filter(|number| is_late(*number)).map(changed);
    let missing: Vec<String> = late.filter(|line| !received.contains(line)).collect();
    if house.edits_in_place() {
        received.extend(missing);
        received.sort();
    }
    ensure!(
        received == edits || received.is_empty() && !house.tells_edits(),
        "edits: {}",
        difference(&received, &edits)
    );

    // What the hub says became of each answer, and what Ann has.
    let state = |id: &String| -> Result<String> { Ok(text(&client.message(id)?, "state").to_owned()) };
    let mut expected = Vec::new();
    let mut unknown = 0;
    let arrived = house.arrived()?;
    for line in &hers {
        let id = did.answers.get(line).with_context(|| format!("{line} was not answered"))?;
        let better = did.edits.get(line).map(state).transpose()?;
        let words = match better.as_deref() {
            Some("sent") => vec![agent::better(line)],
            Some("unknown") => vec![agent::better(line), agent::answer(line)],
            _ => vec![agent::answer(line)],
        };
        let here = arrived.iter().find(|one| words.contains(&one.text));
        match state(id)?.as_str() {
            "sent" => expected.push(here.map_or_else(|| words[0].clone(), |one| one.text.clone())),
            "unknown" => {
                unknown += 1;
                expected.extend(here.map(|one| one.text.clone()));
            }
            other => anyhow::bail!("the answer to {line} is {other}"),
        }
    }
    let expected = ordered(house, expected);
    let has: Vec<String> = arrived.iter().map(|Arrived { text, .. }| text.clone()).collect();
    let has = ordered(house, has);
    ensure!(has == expected, "Ann has {} of {}: {}", has.len(), expected.len(), difference(&has, &expected));
    for (line, id) in &did.reactions {
        let state = state(id)?;
        ensure!(["sent", "unknown"].contains(&&*state), "the reaction to {line} is {state}");
    }
    transcript(stage, client, &hers, did)?;
    Ok(format!(
        "{} arrived, {unknown} unknown, {} changed by her, {} by the agent, {} reactions",
        has.len(),
        received.len(),
        did.edits.len(),
        did.reactions.len()
    ))
}

/// The hub's own transcript of the session has the same, both ways.
fn transcript(stage: &Stage<'_>, client: &Client, hers: &[String], did: &Did) -> Result<()> {
    let db = database::open(&stage.hub.data_dir())?;
    let mut sessions = db.prepare("SELECT DISTINCT session FROM turns ORDER BY seq")?;
    let sessions = sessions.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    let (mut said, mut answered) = (Vec::new(), Vec::new());
    for session in sessions {
        let path = format!("/v1/sessions/transcript?limit=1000&session={}", escaped(&session));
        let answer = client.get(&path)?.taken()?;
        for line in answer["lines"].as_array().context("lines")? {
            let words = text(line, "text").trim().to_owned();
            match (line["mine"].as_bool(), text(line, "kind")) {
                (Some(false), kind) if kind == stage.house.kind() => said.push(words),
                (Some(true), "send") => answered.push(words),
                _ => {}
            }
        }
    }
    let said = ordered(stage.house, said);
    ensure!(said == hers, "the transcript has of hers: {}", difference(&said, hers));
    let mut expected = Vec::new();
    for line in hers {
        if client.message(&did.answers[line])?["state"] == "sent" {
            expected.push(agent::answer(line));
        }
    }
    answered.retain(|words| expected.contains(words));
    let answered = ordered(stage.house, answered);
    ensure!(answered == expected, "the transcript has of the agent's: {}", difference(&answered, &expected));
    Ok(())
}

/// As they are, where the platform keeps their order; else by their numbers.
fn ordered(house: &dyn House, mut lines: Vec<String>) -> Vec<String> {
    if !house.keeps_order() {
        lines.sort();
    }
    lines
}

/// As it stands in a query (RFC 3986).
fn escaped(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

/// Where two lists begin to differ.
fn difference(one: &[String], other: &[String]) -> String {
    let at = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    format!(
        "from number {at} on {:?} for {:?}",
        &one[at..one.len().min(at + 4)],
        &other[at..other.len().min(at + 4)]
    )
}
