//! What people wrote, the turns, and what reached people, held against each other.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{Client, client::text, database},
    torture::book::told_unknown,
};
use rusqlite::{Connection, OptionalExtension as _};

use super::{
    super::programs::answer,
    killed::{House, PEOPLE},
};

/// How it all ended.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Turns that ended.
    pub(super) turns: usize,
    /// Replies that reached somebody.
    pub(super) arrived: usize,
    /// Replies of which nobody knows, and that say so.
    pub(super) unknown: usize,
}

/// How far the account of a channel has read, in the platform's own terms. Of several streams the first by name: Signal's second is no
/// place.
pub(super) fn position(data_dir: &Path, channel: &str) -> Result<Option<String>> {
    let sql = "SELECT value FROM positions WHERE channel = ? AND value <> '' ORDER BY stream";
    Ok(database::open(data_dir)?.query_row(sql, [channel], |row| row.get(0)).optional()?)
}

/// How many turns wait for an agent, and how many of those are of the session that has most.
pub(super) fn waiting(data_dir: &Path) -> Result<(usize, usize)> {
    let sql = "SELECT coalesce(sum(n), 0), coalesce(max(n), 0) FROM
               (SELECT count(*) AS n FROM turns WHERE state = 'waiting' GROUP BY session)";
    let (all, most): (u32, u32) =
        database::open(data_dir)?.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((all as usize, most as usize))
}

/// How many messages were received.
pub(super) fn received(data_dir: &Path) -> Result<usize> {
    let sql = "SELECT count(*) FROM inbound WHERE kind = 'message'";
    let received: u32 = database::open(data_dir)?.query_row(sql, [], |row| row.get(0))?;
    Ok(received as usize)
}

/// The messages that were received, by the last word of each, and how often each is there.
pub(super) fn rows(data_dir: &Path) -> Result<BTreeMap<String, usize>> {
    let db = database::open(data_dir)?;
    let mut rows = db.prepare("SELECT text FROM inbound WHERE kind = 'message'")?;
    let mut words: BTreeMap<String, usize> = BTreeMap::new();
    for text in rows.query_map([], |row| row.get::<_, String>(0))? {
        *words.entry(text?.split_whitespace().next_back().unwrap_or("").to_owned()).or_default() += 1;
    }
    Ok(words)
}

/// Holds all of it against each other: nothing lost, nothing twice, each in one turn, each turn ended once.
///
/// # Errors
/// One of these does not hold; the error says where.
pub(super) fn balance<H: House>(
    house: &H,
    data_dir: &Path,
    operator: &Client,
    agent: &Client,
    messages: usize,
) -> Result<Tally> {
    let received = rows(data_dir)?;
    let twice: Vec<_> = received.iter().filter(|(_, times)| **times != 1).collect();
    ensure!(twice.is_empty(), "received twice: {twice:?}");
    ensure!(received.len() == messages, "{} of {messages} were received", received.len());
    each_is_in_one_turn(data_dir, messages)?;
    let turns = turns(data_dir)?;
    let failed: BTreeSet<&str> =
        turns.iter().filter(|turn| turn.state == "failed").map(|turn| turn.id.as_str()).collect();
    let listed = operator.get("/v1/turns?limit=1000&state=failed")?.taken()?;
    let listed: BTreeSet<&str> =
        listed["turns"].as_array().context("a list")?.iter().map(|turn| text(turn, "id")).collect();
    ensure!(failed == listed, "failed are {failed:?}, listed are {listed:?}");
    let mut tally = Tally { turns: turns.len(), ..Tally::default() };
    let mut told = told_unknown(agent)?;
    let mut replies = replies(data_dir)?;
    let reached: Vec<Vec<String>> = (0..PEOPLE).map(|person| house.reached(person)).collect::<Result<_>>()?;
    let mut answers = 0;
    for turn in &turns {
        let words = answer("engineer", &turn.id);
        let holders =
            (0..PEOPLE).map(|person| reached[person].iter().filter(|one| one.contains(&words)).count());
        let times: Vec<usize> = holders.collect();
        let total: usize = times.iter().sum();
        let person = (0..PEOPLE).find(|person| house.address(*person) == turn.address);
        let person = person.with_context(|| format!("a turn at {}, where nobody is", turn.address))?;
        ensure!(total == times[person], "the reply of {} went to somebody else: {times:?}", turn.id);
        let states = replies.remove(&words).unwrap_or_default();
        let about = || {
            format!(
                "turn {} is {}, its replies are {states:?} and arrived {total} times",
                turn.id, turn.state
            )
        };
        match (turn.state.as_str(), states.as_slice()) {
            ("failed", []) => ensure!(total == 0, "{}", about()),
            ("done", [(_, state)]) if state == "sent" => ensure!(total == 1, "{}", about()),
            ("done", [(id, state)]) if state == "unknown" && H::HAS_NO_KEYS => {
                ensure!(total <= 1, "{}", about());
                ensure!(told.remove(id), "nobody was told of it: {}", about());
                tally.unknown += 1;
            }
            _ => anyhow::bail!("{}", about()),
        }
        answers += total;
    }
    ensure!(replies.is_empty(), "replies of no turn: {replies:?}");
    ensure!(told.is_empty(), "told of {told:?}, which are not unknown");
    let all: usize = reached.iter().flatten().filter(|one| one.contains("engineer ")).count();
    ensure!(all == answers, "{all} replies are at the server, and {answers} are answers to turns");
    tally.arrived = all;
    Ok(tally)
}

fn each_is_in_one_turn(data_dir: &Path, messages: usize) -> Result<()> {
    let db = database::open(data_dir)?;
    let mut rows = db.prepare(
        "SELECT inbound.text, count(turns.seq), group_concat(turns.state) FROM inbound
         LEFT JOIN turn_items ON turn_items.inbound = inbound.seq AND turn_items.agent = 'engineer' AND engages
         LEFT JOIN turns ON turns.seq = turn_items.turn AND turns.ended_at IS NOT NULL
         WHERE inbound.kind = 'message' GROUP BY inbound.seq",
    )?;
    let mut count = 0;
    for row in rows.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, Option<String>>(2)?))
    })? {
        let (text, turns, state) = row?;
        ensure!(turns == 1, "{text:?} is in {turns} turns that ended: {state:?}; {}", about(&db, &text)?);
        count += 1;
    }
    ensure!(count == messages, "{count} messages, {messages} were written");
    Ok(())
}

/// All that the database has of a received message, for who looks for what went wrong.
fn about(db: &Connection, text: &str) -> Result<String> {
    let mut told = String::new();
    for sql in [
        "SELECT * FROM inbound WHERE text = ?",
        "SELECT turn_items.* FROM turn_items JOIN inbound ON inbound.seq = inbound WHERE text = ?",
        "SELECT turns.* FROM turns JOIN turn_items ON turn = turns.seq JOIN inbound ON inbound.seq = inbound WHERE text = ?",
    ] {
        let mut rows = db.prepare(sql)?;
        let names: Vec<String> = rows.column_names().map(str::to_owned).collect();
        let mut rows = rows.query([text])?;
        while let Some(row) = rows.next()? {
            for (at, name) in names.iter().enumerate() {
                told += &format!("{name}={:?} ", row.get_ref(at)?);
            }
            told.push('\n');
        }
    }
    Ok(told)
}

/// A turn.
struct Turn {
    id: String,
    state: String,
    address: String,
}

/// Those that people's messages began.
fn turns(data_dir: &Path) -> Result<Vec<Turn>> {
    let db = database::open(data_dir)?;
    let mut rows = db.prepare(
        "SELECT id, state, address FROM turns WHERE EXISTS (SELECT 1 FROM turn_items JOIN inbound ON inbound.seq = inbound
         WHERE turn = turns.seq AND kind = 'message')",
    )?;
    let rows = rows.query_map([], |row| {
        Ok(Turn {
            id: row.get(0)?,
            state: row.get(1)?,
            address: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// What agents answered, by their words: each message's id and state.
fn replies(data_dir: &Path) -> Result<HashMap<String, Vec<(String, String)>>> {
    let db = database::open(data_dir)?;
    let mut rows = db.prepare("SELECT text, id, state FROM messages")?;
    let mut all: HashMap<String, Vec<(String, String)>> = HashMap::new();
    let rows = rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)))?;
    for row in rows {
        let (text, id, state) = row?;
        all.entry(text).or_default().push((id, state));
    }
    Ok(all)
}
