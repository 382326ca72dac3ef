//! The hub is killed, again and again, while people write at a real server and agents as bad as they come answer them.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, eventually},
    torture::{Dice, number},
};

use super::{
    super::{
        programs::{Did, LEASE, all_ended, work},
        settled, turn,
    },
    book,
};

/// People who write.
pub(super) const PEOPLE: usize = 8;
/// Lines that a person writes in a row: the hub gathers them into a turn.
pub(super) const LINES: usize = 3;
/// So many turns may wait before people wait too: beyond 20 of one session a hub takes no more, and says so.
const PATIENCE: usize = 5 * PEOPLE;
/// And so many of one session: its turns wait one for the other, however fast the others go on.
const OF_SESSION: usize = 10;
/// So many messages may be at the server that the hub has not received: after some short lives it receives them in one go, and each
/// person's session takes no more than 20 turns.
const AHEAD: usize = 10 * PEOPLE;
/// The longest life of the hub between two kills, in milliseconds: to start, log in and read takes a debug build a third of it.
const LONGEST_LIFE: u64 = 1_200;

/// A server, and the people who have an account there.
pub(super) trait House: Sync {
    /// The channel by which the hub is there.
    const CHANNEL: &'static str;
    /// Whether nobody can say if something arrived of which no answer came.
    const HAS_NO_KEYS: bool;
    /// Whether what was written before the hub came is not told to it.
    const BEGINS_WITH_NOW: bool = true;
    /// The variables that say how often the hub is killed and how much is written, each with its usual value.
    const COUNTS: [(&'static str, u64); 2] = [("TORTURE_REAL_KILLS", 12), ("TORTURE_REAL_MESSAGES", 180)];

    /// What else stands in the route.
    const ROUTE: &'static str = "";

    /// The account, as a configuration.
    fn account(&self) -> String;
    /// By what the hub knows a person.
    fn id(&self, person: usize) -> String;
    /// The address at which the hub answers a person.
    fn address(&self, person: usize) -> String;
    /// A person writes, in what they have begun with `first`. When this returns the server has it.
    fn write(&self, person: usize, first: &str, words: &str) -> Result<()>;
    /// Everything that reached a person, as their program has it.
    fn reached(&self, person: usize) -> Result<Vec<String>>;
    /// Of `written`, what does not come any more to who goes on at `position`.
    fn passed(&self, position: &str, written: &[String]) -> Result<Passed>;
    /// What else must hold at the end, of a hub that runs.
    fn holds_at_the_end(&self, _: &SpawnedHub) -> Result<()> {
        Ok(())
    }
}

/// What lies before a position.
pub(super) enum Passed {
    /// These words.
    Words(Vec<String>),
    /// So many, whichever they are.
    Number(usize),
}

fn configuration<H: House>(house: &H) -> String {
    let channel = H::CHANNEL;
    let ids: Vec<String> = (0..PEOPLE).map(|person| house.id(person)).collect();
    format!(
        "[routing]\nlease = \"{LEASE}\"\n[agents.engineer]\nper_minute = 0\nallow = [\"{channel}:*\"]\n\
         [people.family]\nids = {ids:?}\nscope = \"owner\"\n\
         [routes.engineer]\nfrom = [\"{channel}:*\"]\nagent = \"engineer\"\nengage = \"pattern\"\npattern = \".\"\n{}{}",
        H::ROUTE,
        house.account()
    )
}

/// What a person writes: one word, which comes once.
fn words(number: usize) -> String {
    format!("word{number:05}")
}

/// Runs it.
pub(super) fn in_the_midst_of_what_people_write<H: House>(house: &H) -> Result<()> {
    let _turn = turn();
    let counts = H::COUNTS.map(|(name, usual)| number(name, usual));
    let [kills, messages] = counts.map(|count| count.and_then(|count| Ok(usize::try_from(count)?)));
    let (kills, messages) = (kills?, messages?);
    let mut dice = Dice::throw(H::CHANNEL)?;
    let mut hub = SpawnedHub::start(&configuration(house))?;
    let engineer = hub.agent("engineer")?;
    let operator = hub.operator()?;
    if H::BEGINS_WITH_NOW {
        has_begun(&hub, H::CHANNEL)?;
    }
    let (did, over, killed, written) =
        (Did::default(), AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let (mut caught, data_dir) = (0, hub.data_dir());
    let waits = |number: usize| -> Result<bool> {
        // A share ahead, so that there is always something to receive.
        let share = (killed.load(Ordering::SeqCst) + 1).saturating_mul(messages) / kills.max(1);
        let received = book::received(&data_dir)?;
        let (waiting, of_one) = book::waiting(&data_dir)?;
        Ok(number > share || number > received + AHEAD || waiting > PATIENCE || of_one > OF_SESSION)
    };
    thread::scope(|scope| -> Result<()> {
        let writer = scope.spawn(|| write_all(house, messages, &waits, &written, &over));
        for _ in 0..2 {
            let (did, over, engineer) = (&did, &over, &engineer);
            scope.spawn(move || work("engineer", engineer, did, over));
        }
        let done = (|| -> Result<()> {
            let mut rows_before = 0;
            for _ in 0..kills {
                thread::sleep(Duration::from_millis(dice.below(LONGEST_LIFE)));
                hub.kill()?;
                let rows = position_is_not_ahead(house, &hub, written.load(Ordering::SeqCst))?;
                caught += usize::from(rows > rows_before && rows < messages);
                rows_before = rows;
                killed.fetch_add(1, Ordering::SeqCst);
                hub.run_without_waiting()?;
            }
            hub.kill()?;
            hub.run()?;
            writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
            eventually("everything is received", || {
                Ok((book::rows(&data_dir)?.len() >= messages).then_some(()))
            })?;
            all_ended(&data_dir)?;
            settled(&hub, 0, Duration::from_secs(120))
        })();
        over.store(true, Ordering::Relaxed);
        done
    })?;
    let tally = book::balance(house, &data_dir, &operator, &engineer, messages)?;
    println!(
        "{}: {} kills, {caught} while messages came; {messages} messages in {} turns: {}; {} replies arrived, {} unknown",
        H::CHANNEL,
        kills + 1,
        tally.turns,
        did.said(),
        tally.arrived,
        tally.unknown
    );
    did.were_bad()?;
    house.holds_at_the_end(&hub)?;
    ensure!(caught * 4 >= kills, "{caught} of {kills} kills came while there was something to receive");
    ensure!(hub.cli(&["audit", "verify"])?.status == 0);
    Ok(())
}

/// Waits until the account has begun to read: what was written before is not told to it.
pub(super) fn has_begun(hub: &SpawnedHub, channel: &str) -> Result<()> {
    eventually("the account has begun to read", || {
        Ok(book::position(&hub.data_dir(), channel)?.is_some().then_some(()))
    })
}

/// People write, in turn and a few lines each, while nothing tells them to wait.
fn write_all<H: House>(
    house: &H,
    messages: usize,
    waits: &(impl Fn(usize) -> Result<bool> + Sync),
    written: &AtomicUsize,
    over: &AtomicBool,
) -> Result<()> {
    for number in 0..messages {
        while waits(number)? {
            ensure!(!over.load(Ordering::Relaxed), "it is over before all is written");
            thread::sleep(Duration::from_millis(5));
        }
        let (person, first) = (number / LINES % PEOPLE, number - number % LINES);
        house.write(person, &words(first), &words(number))?;
        written.store(number + 1, Ordering::SeqCst);
    }
    Ok(())
}

/// Checks that what lies before the stored position is in the rows, which are counted. The hub does not run.
fn position_is_not_ahead<H: House>(house: &H, hub: &SpawnedHub, written: usize) -> Result<usize> {
    let data_dir = hub.data_dir();
    let rows = book::rows(&data_dir)?;
    let Some(position) = book::position(&data_dir, H::CHANNEL)? else { return Ok(rows.len()) };
    let all: Vec<String> = (0..written).map(words).collect();
    match house.passed(&position, &all)? {
        Passed::Words(passed) => {
            let lost: Vec<_> = passed.iter().filter(|word| !rows.contains_key(*word)).collect();
            ensure!(lost.is_empty(), "{position} is ahead of the rows: {lost:?} come never again");
        }
        Passed::Number(passed) => {
            ensure!(
                rows.len() >= passed,
                "{position} is ahead of the rows: {} of {passed} are there",
                rows.len()
            );
        }
    }
    Ok(rows.len())
}
