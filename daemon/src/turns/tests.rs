use super::{
    expiry::{Expired, expire, next_expiry, tell_due},
    items::view,
    lease::{Leased, NotHeld, end, give_back, more, next_due, renew, retry, take},
    listing::{Filter, list},
    open::{Opened, Opening, keep, open},
    *,
};
use crate::{
    people::{People, Person, users},
    policy::Scope,
    sessions::place::Place,
    store::{Store, StoreError},
};

const NOW: i64 = 1_700_000_000_000;

struct Turns {
    _directory: tempfile::TempDir,
    store: Store,
}

/// Two owners.
fn home() -> People {
    let owner =
        |name: &str| (Person { name: name.into(), scope: Scope::Owner }, vec![format!("local:{name}")]);
    People::new([owner("ann"), owner("bob")]).unwrap()
}

impl Turns {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        Self { _directory: directory, store }
    }

    /// Somebody writes at `now`.
    async fn write(&self, author: &'static str, text: &'static str, now: i64) -> Opened {
        self.store
            .write(move |tx| {
                tx.execute(
                    "INSERT INTO inbound (channel, account, peer, sender, text, at, scope)
                     VALUES ('local', 'home', 'room', ?, ?, ?, 'owner')",
                    rusqlite::params![author, text, now],
                )?;
                let place = Place {
                    channel: "local".into(),
                    account: "home".into(),
                    address: "room".into(),
                    thread: None,
                };
                let opening = Opening {
                    agent: "a",
                    session: "room",
                    gather: Some(author),
                    cause: Cause::Message,
                    words: true,
                    scope: Scope::Owner,
                    place: Some(&place),
                    inbound: tx.last_insert_rowid(),
                };
                open(tx, &opening, now)
            })
            .await
            .unwrap()
    }

    async fn take(&self, now: i64) -> Option<Leased> {
        self.take_while(home(), now).await
    }

    /// While these are the people of the configuration.
    async fn take_while(&self, people: People, now: i64) -> Option<Leased> {
        self.store.write(move |tx| take(tx, "a", now, now + LEASE_MS, now + 60_000, &people)).await.unwrap()
    }

    async fn run(&self, sql: &'static str) {
        self.store.write(move |tx| Ok::<_, StoreError>(tx.execute_batch(sql)?)).await.unwrap();
    }

    async fn scopes(&self) -> Vec<(TurnState, Scope)> {
        let all = self.store.read(|db| list(db, &Filter { limit: 10, ..Filter::default() })).await.unwrap();
        all.into_iter().map(|turn| (turn.state, turn.scope)).collect()
    }

    async fn end(&self, turn: &Leased) -> Result<(), NotHeld> {
        let turn = turn.clone();
        self.store.write(move |tx| end(tx, "a", &turn.id, &turn.lease, "answered", NOW)).await.unwrap()
    }

    async fn expire(&self, now: i64) -> Expired {
        self.store.write(move |tx| expire(tx, now)).await.unwrap()
    }

    async fn items(&self, turn: i64) -> Vec<String> {
        self.store
            .read(move |db| {
                let mut rows = db.prepare(
                    "SELECT text FROM turn_items JOIN inbound ON inbound.seq = inbound WHERE turn = ? ORDER BY inbound",
                )?;
                let rows = rows.query_map([turn], |row| row.get(0))?;
                Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
            })
            .await
            .unwrap()
    }

    async fn due(&self) -> Option<i64> {
        self.store.read(|db| next_due(db, "a")).await.unwrap()
    }
}

#[tokio::test]
async fn lines_of_one_author_are_gathered_and_another_author_has_another_turn() {
    let turns = Turns::new();
    turns.write("ann", "one", NOW).await;
    turns.write("ann", "two", NOW + 800).await;
    turns.write("bob", "three", NOW + 900).await;
    assert_eq!(turns.due().await, Some(NOW + 800 + GATHER_MS));
    assert_eq!(turns.take(NOW + 1_000).await, None, "she may go on");
    let turn = turns.take(NOW + 3_000).await.unwrap();
    assert_eq!(turns.items(turn.seq).await, ["one", "two"]);
    assert_eq!(turns.take(NOW + 3_000).await, None, "one at a time in a session");
    turns.end(&turn).await.unwrap();
    let next = turns.take(NOW + 3_000).await.unwrap();
    assert_eq!(turns.items(next.seq).await, ["three"]);
}

#[tokio::test]
async fn gathering_ends_after_ten_seconds() {
    let turns = Turns::new();
    for step in 0..20 {
        turns.write("ann", "x", NOW + step * 900).await;
    }
    assert_eq!(turns.due().await, Some(NOW + GATHER_MOST_MS));
}

#[tokio::test]
async fn a_turn_has_fifty_items_and_the_next_line_begins_another() {
    let turns = Turns::new();
    for _ in 0..=MAX_ITEMS {
        assert_eq!(turns.write("ann", "x", NOW).await, Opened::Waits);
    }
    let all = turns.store.read(|db| list(db, &Filter { limit: 10, ..Filter::default() })).await.unwrap();
    assert_eq!(all.len(), 2);
}

#[tokio::test]
async fn what_comes_behind_a_lease_waits_or_is_asked_for() {
    let turns = Turns::new();
    turns.write("ann", "one", NOW).await;
    let turn = turns.take(NOW + 1_000).await.unwrap();
    turns.write("ann", "two", NOW + 2_000).await;
    assert_eq!(turns.take(NOW + 9_000).await, None);
    let Leased { seq, id, lease, .. } = turn.clone();
    let same = turns
        .store
        .write(move |tx| more(tx, "a", &id, &lease, NOW + 3_000 + LEASE_MS, &home()))
        .await
        .unwrap();
    assert_eq!(same, Ok(seq));
    assert_eq!(turns.items(seq).await, ["one", "two"]);
    turns.end(&turn).await.unwrap();
    assert_eq!(turns.take(NOW + 9_000).await, None, "nothing is left");
}

#[tokio::test]
async fn the_context_is_that_of_the_turns_own_conversation_whatever_was_taken_into_it() {
    let turns = Turns::new();
    turns.write("ann", "the code of the safe?", NOW).await;
    let turn = turns.take(NOW + 1_000).await.unwrap();
    turns.write("bob", "hello", NOW + 2_000).await;
    turns.run("UPDATE inbound SET peer = 'other' WHERE text = 'hello'").await;
    let Leased { id, lease, .. } = turn.clone();
    turns.store.write(move |tx| more(tx, "a", &id, &lease, NOW + LEASE_MS, &home())).await.unwrap().unwrap();
    assert_eq!(turns.items(turn.seq).await, ["the code of the safe?", "hello"]);
    let Leased { id, lease, .. } = turn;
    turns.store.write(move |tx| give_back(tx, "a", &id, &lease, "busy", NOW + 3_000)).await.unwrap().unwrap();
    let context = turns.take(NOW + 4_000).await.unwrap().context.unwrap();
    // The context outlives this test's clock.
    turns.run("UPDATE contexts SET expires_at = 9223372036854775807").await;
    let origin = crate::sessions::origin(&turns.store, "a", &context).await.unwrap().unwrap();
    assert_eq!(origin.place.to_string(), "local:room");
}

#[tokio::test]
async fn a_lease_that_runs_out_is_given_again_three_times_and_has_failed_then() {
    let turns = Turns::new();
    turns.write("ann", "one", NOW).await;
    let mut now = NOW + 1_000;
    let mut leases = vec![];
    for pause in PAUSES_MS {
        leases.push(turns.take(now).await.unwrap());
        assert_eq!(turns.expire(now + LEASE_MS - 1).await, Expired::default());
        now += LEASE_MS;
        assert_eq!(turns.expire(now).await, Expired { again: 1, failed: 0 });
        if pause > 0 {
            assert_eq!(turns.take(now + pause - 1).await, None);
        }
        now += pause;
    }
    let last = turns.take(now).await.unwrap();
    assert_eq!(turns.end(&leases[0]).await, Err(NotHeld::Lost), "an older lease ends nothing");
    assert_eq!(turns.expire(now + LEASE_MS).await, Expired { again: 0, failed: 1 });
    assert_eq!(turns.end(&last).await, Err(NotHeld::Lost));
    let failed = Filter { state: Some(TurnState::Failed), limit: 10, ..Filter::default() };
    assert_eq!(turns.store.read(move |db| list(db, &failed)).await.unwrap().len(), 1);

    let id = last.id.clone();
    assert!(turns.store.write(move |tx| retry(tx, &id, "operator", NOW)).await.unwrap());
    assert_eq!(turns.items(turns.take(NOW).await.unwrap().seq).await, ["one"], "all of it is kept");
}

#[tokio::test]
async fn a_turn_that_is_given_again_after_a_pause_is_told_of_when_that_is_over() {
    let turns = Turns::new();
    let told = async |since, now| turns.store.write(move |tx| tell_due(tx, since, now)).await.unwrap();
    let next = async |since| turns.store.read(move |db| next_expiry(db, since)).await.unwrap();
    turns.write("ann", "one", NOW).await;
    turns.take(NOW + 1_000).await.unwrap();
    let first = NOW + 1_000 + LEASE_MS;
    assert_eq!(next(NOW).await, Some(first));
    turns.expire(first).await;
    assert_eq!(told(NOW, first).await, 0, "it was due at once, and that was told");
    turns.take(first).await.unwrap();
    let second = first + LEASE_MS;
    turns.expire(second).await;
    let due = second + PAUSES_MS[1];
    assert_eq!(next(second).await, Some(due));
    assert_eq!(told(second, due - 1).await, 0);
    assert_eq!(told(due - 1, due).await, 1);
    assert_eq!((told(due, due + 1).await, next(due).await), (0, Some(NOW + WAIT_MS)), "once");
}

#[tokio::test]
async fn whoever_calls_keeps_the_lease() {
    let turns = Turns::new();
    turns.write("ann", "one", NOW).await;
    let turn = turns.take(NOW + 1_000).await.unwrap();
    let id = turn.id.clone();
    turns.store.write(move |tx| renew(tx, &id, NOW + 200_000 + LEASE_MS)).await.unwrap();
    assert_eq!(turns.expire(NOW + 1_000 + LEASE_MS).await, Expired::default());
    turns.end(&turn).await.unwrap();
}

#[tokio::test]
async fn nobody_overtakes_a_turn_that_waits_for_another_try() {
    let turns = Turns::new();
    turns.write("ann", "one", NOW).await;
    let first = turns.take(NOW + 1_000).await.unwrap();
    turns.expire(NOW + 1_000 + LEASE_MS).await;
    let second = turns.take(NOW + 1_000 + LEASE_MS).await.unwrap();
    assert_eq!(first.id, second.id);
    turns.write("bob", "two", NOW + 2_000).await;
    let Leased { id, lease, .. } = second;
    let again = turns.store.write(move |tx| give_back(tx, "a", &id, &lease, "busy", NOW + 400_000)).await;
    assert_eq!(again.unwrap(), Ok(true));
    assert_eq!(turns.take(NOW + 401_000).await, None, "what was written first is answered first");
    assert_eq!(turns.take(NOW + 460_000).await.unwrap().id, first.id);
}

#[tokio::test]
async fn a_turn_that_nobody_comes_for_fails_after_a_day() {
    let turns = Turns::new();
    turns.write("ann", "one", NOW).await;
    assert_eq!(turns.expire(NOW + WAIT_MS - 1).await, Expired::default());
    assert_eq!(turns.expire(NOW + WAIT_MS).await, Expired { again: 0, failed: 1 });
}

#[tokio::test]
async fn what_is_kept_for_the_next_turn_is_the_newest() {
    let turns = Turns::new();
    turns
        .store
        .write(|tx| {
            for n in 0..i64::from(MAX_LOOSE) + 10 {
                tx.execute(
                    "INSERT INTO inbound (channel, account, peer, text, at, scope)
                     VALUES ('local', 'home', 'room', ?, ?, 'unknown')",
                    rusqlite::params![n.to_string(), NOW],
                )?;
                keep(tx, "a", "room", tx.last_insert_rowid())?;
            }
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    turns.write("ann", "now", NOW).await;
    let turn = turns.take(NOW + 1_000).await.unwrap();
    let told = turns.store.read({
        let turn = turn.clone();
        move |db| view(db, &turn, &People::default())
    });
    assert_eq!(told.await.unwrap().omitted, 10, "and it is said how many are left out");
    let items = turns.items(turn.seq).await;
    assert_eq!((items.len(), items[0].as_str()), (MAX_LOOSE as usize + 1, "10"));
    let all = turns.store.read(|db| list(db, &Filter { limit: 1, ..Filter::default() })).await.unwrap();
    assert_eq!(
        all[0].scope,
        Scope::Unknown,
        "a turn is as trusted as the least trusted of what is read in it"
    );
}

#[tokio::test]
async fn a_turn_says_who_wrote_the_words_that_are_answered() {
    let turns = Turns::new();
    turns.write("ann", "Do it.", NOW).await;
    let quote = |facts: &'static str| {
        turns.store.write(move |tx| {
            tx.execute("INSERT OR REPLACE INTO users (id, name, first_at, last_at) VALUES ('local:eve', 'Eve', 1, 1)", [])?;
            tx.execute("UPDATE inbound SET facts = ?", [facts])?;
            Ok::<_, StoreError>(())
        })
    };
    let turn = turns.take(NOW + 60_000).await.unwrap();
    for (facts, mine, wrote) in [
        (
            r#"{"reply_to": {"id": "4", "author": "eve", "text": "Send all"}}"#,
            false,
            Some(("local:eve", Some("Eve"))),
        ),
        (
            r#"{"reply_to": {"id": "4", "author": "bob", "text": "Send all"}}"#,
            false,
            Some(("local:bob", None)),
        ),
        (r#"{"reply_to": {"id": "4", "author": "hub", "text": "Send all", "mine": true}}"#, true, None),
        (r#"{"reply_to": {"id": "4", "text": "Send all"}}"#, false, None),
    ] {
        quote(facts).await.unwrap();
        let turn = turn.clone();
        let told = turns.store.read(move |db| view(db, &turn, &People::default())).await.unwrap();
        let reply = told.items[0].reply_to.as_ref().unwrap();
        let author = reply.author.as_ref().map(|author| (author.id.as_str(), author.name.as_deref()));
        assert_eq!((reply.mine, author), (mine, wrote), "{facts}");
    }
}

/// Somebody of the configuration.
fn one(id: &str, scope: Scope) -> People {
    People::new([(Person { name: "one".into(), scope }, vec![id.to_owned()])]).unwrap()
}

#[tokio::test]
async fn who_is_an_owner_no_more_is_none_when_a_turn_is_taken() {
    for (facts, people, scope) in [
        (r#"{}"#, one("local:ann", Scope::Owner), Scope::Owner),
        (r#"{}"#, one("local:ann", Scope::Known), Scope::Known),
        (r#"{}"#, People::default(), Scope::Unknown),
        (r#"{"same_as": ["anna"]}"#, one("local:anna", Scope::Owner), Scope::Owner),
        (r#"{"same_as": ["anna"]}"#, one("local:anna", Scope::Known), Scope::Known),
        (r#"{"same_as": ["anna"]}"#, People::default(), Scope::Unknown),
        (r#"{"user": "tg:7"}"#, one("tg:7", Scope::Owner), Scope::Owner),
        (r#"{"user": "tg:7"}"#, People::default(), Scope::Unknown),
        (r#"{"vouched": true}"#, People::default(), Scope::Owner),
        (r#"{"vouched": true}"#, one("local:ann", Scope::Known), Scope::Known),
    ] {
        let turns = Turns::new();
        turns.write("ann", "Open the door.", NOW).await;
        let told = "UPDATE inbound SET facts = ?";
        turns.store.write(move |tx| Ok::<_, StoreError>(tx.execute(told, [facts])?)).await.unwrap();
        turns.take_while(people, NOW + 1_000).await.unwrap();
        assert_eq!(turns.scopes().await, [(TurnState::Leased, scope)], "{facts}");
    }
}

#[tokio::test]
async fn nothing_is_told_of_somebody_who_was_shut_out_meanwhile() {
    let turns = Turns::new();
    turns.write("eve", "I say this before I am shut out.", NOW).await;
    turns.write("ann", "hello", NOW + 1).await;
    turns.run("UPDATE inbound SET facts = '{\"same_as\": [\"evil\"]}' WHERE sender = 'eve'").await;
    turns.store.write(|tx| users::grant(tx, "local:ann", Scope::Owner, "operator", NOW)).await.unwrap();
    let turn = turns.take_while(one("local:evil", Scope::Blocked), NOW + 2_000).await.unwrap();
    assert_eq!(turns.items(turn.seq).await, ["hello"]);
    assert_eq!(turns.scopes().await, [(TurnState::Leased, Scope::Owner), (TurnState::Done, Scope::Owner)]);
}

#[tokio::test]
async fn what_is_sent_in_a_turn_is_judged_by_whom_its_authors_are_by_now() {
    let turns = Turns::new();
    turns.write("ann", "Open the door.", NOW).await;
    let context = turns.take(NOW + 1_000).await.unwrap().context.unwrap();
    for (people, scope) in [
        (home(), Scope::Owner),
        (one("local:ann", Scope::Blocked), Scope::Blocked),
        (People::default(), Scope::Unknown),
    ] {
        let context = context.clone();
        let now = move |db: &rusqlite::Connection| {
            let least = crate::sessions::least_trusted_at_work(db, &people, "a", None)?;
            Ok::<_, StoreError>((trust::of_context(db, &people, &context)?, least.map(|least| least.scope)))
        };
        let least = (scope < Scope::Owner).then_some(scope);
        assert_eq!(turns.store.read(now).await.unwrap(), (Some(scope), least));
    }
}

/// Rows that are kept for the next turn of the session, each a kind, a text and facts.
async fn kept(turns: &Turns, rows: Vec<(&'static str, String, String)>) {
    let put = move |tx: &rusqlite::Transaction<'_>| {
        for (kind, text, facts) in rows {
            tx.execute(
                "INSERT INTO inbound (channel, account, peer, sender, text, at, scope, kind, facts)
                 VALUES ('local', 'home', 'room', 'bob', ?, ?, 'owner', ?, ?)",
                rusqlite::params![text, NOW, kind, facts],
            )?;
            keep(tx, "a", "room", tx.last_insert_rowid())?;
        }
        Ok::<_, StoreError>(())
    };
    turns.store.write(put).await.unwrap();
}

fn thumb(about: usize, removed: bool) -> (&'static str, String, String) {
    let facts = format!(r#"{{"emoji": "+1", "about": "{about}", "removed": {removed}}}"#);
    ("reaction", String::new(), facts)
}

#[tokio::test]
async fn words_are_read_before_reactions_and_one_that_was_taken_back_is_none() {
    let turns = Turns::new();
    let mut rows = vec![("edit", "do NOT pay the plumber".to_owned(), "{}".to_owned())];
    rows.extend((0..MAX_LOOSE as usize + 5).map(|about| thumb(about, false)));
    kept(&turns, rows).await;
    turns.write("ann", "now", NOW).await;
    let turn = turns.take(NOW + 1_000).await.unwrap();
    assert_eq!(turns.items(turn.seq).await[0], "do NOT pay the plumber");
    turns.end(&turn).await.unwrap();

    let on_and_off = (0..54).map(|n| thumb(0, n % 2 == 1));
    let taken_back_later = [thumb(1, true)];
    let put_on_again = [thumb(2, true), thumb(2, false)];
    kept(&turns, on_and_off.chain(taken_back_later).chain(put_on_again).collect()).await;
    turns.write("ann", "next", NOW).await;
    let turn = turns.take(NOW + 1_000).await.unwrap();
    let told = turns.store.read(move |db| view(db, &turn, &home())).await.unwrap();
    let signs: Vec<_> =
        told.items.iter().filter_map(|item| Some((item.about.clone()?, item.removed?))).collect();
    assert_eq!(signs, [("1".to_owned(), true), ("2".to_owned(), false)]);
    assert_eq!(told.omitted, 0);
}

#[tokio::test]
async fn of_a_turn_that_grew_the_newest_is_shown_and_the_rest_counted() {
    let turns = Turns::new();
    turns.write("ann", "the first", NOW).await;
    let turn = turns.take(NOW + 1_000).await.unwrap();
    for _ in 0..5 {
        for _ in 0..48 {
            turns.write("ann", "x", NOW + 2_000).await;
        }
        turns.write("ann", "STOP, do not do it", NOW + 2_000).await;
        let Leased { id, lease, .. } = turn.clone();
        turns
            .store
            .write(move |tx| more(tx, "a", &id, &lease, NOW + LEASE_MS, &home()))
            .await
            .unwrap()
            .unwrap();
    }
    let told = turns.store.read(move |db| view(db, &turn, &home())).await.unwrap();
    assert_eq!((told.items.len(), told.omitted), (MAX_SHOWN as usize, 1 + 5 * 49 - MAX_SHOWN));
    assert_eq!(told.items.last().unwrap().text, "STOP, do not do it");
}
