use rusqlite::params;

use super::{
    book::{NewTask, Task, TooMany, add, cancel, find, least_at_work, list},
    due::{self, Outcome},
    schedule::Schedule,
    *,
};
use crate::{
    message::target::Target,
    people::People,
    policy::{Origin, Scope},
    store::{Store, StoreError},
    turns::{Cause, items::TurnView, items::view, lease},
};

/// 25 November 2026, 18:20 UTC.
const NOW: i64 = 1_795_630_800_000;
const MINUTE: i64 = 60_000;

struct Tasks {
    directory: tempfile::TempDir,
    store: Store,
}

fn origin(scope: Scope) -> Origin {
    Origin {
        account: "home".into(),
        place: Target { channel: "local".into(), address: "ann".into(), thread: Some("7".into()) },
        session: Some("local/home:ann".into()),
        turn: None,
        scope: Some(scope),
        because: Some("Ann (local:ann) wrote: \"remind me\"".into()),
    }
}

fn new(when: &str, prompt: &str, bound: Option<Origin>) -> NewTask {
    NewTask {
        agent: "a".into(),
        schedule: Schedule::read(when, Some("UTC"), NOW).unwrap(),
        prompt: prompt.into(),
        scope: bound.as_ref().and_then(|of| of.scope).unwrap_or(Scope::Owner),
        because: bound.as_ref().and_then(|of| of.because.clone()),
        bound,
    }
}

impl Tasks {
    fn open() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        Self { directory, store }
    }

    async fn try_add(&self, new: NewTask, now: i64) -> Result<Task, TooMany> {
        self.store.write(move |tx| add(tx, &new, now)).await.unwrap()
    }

    async fn add(&self, new: NewTask) -> Task {
        self.try_add(new, NOW).await.unwrap()
    }

    async fn due(&self, now: i64) -> Outcome {
        self.store.write(move |tx| due::run(tx, |agent| agent == "a", now)).await.unwrap()
    }

    async fn take(&self, now: i64) -> Option<TurnView> {
        self.store
            .write(move |tx| {
                match lease::take(tx, "a", now, now + MINUTE, now + MINUTE, &People::default())? {
                    Some(leased) => view(tx, &leased, &People::default()).map(Some),
                    None => Ok(None),
                }
            })
            .await
            .unwrap()
    }

    async fn end(&self, turn: &TurnView) {
        let (id, lease) = (turn.turn.clone(), turn.lease.clone());
        let ended = self.store.write(move |tx| lease::end(tx, "a", &id, &lease, "answered", NOW));
        ended.await.unwrap().unwrap();
    }

    async fn task(&self, id: &str) -> Task {
        let id = id.to_owned();
        self.store.read(move |db| find(db, &id, None)).await.unwrap().unwrap()
    }

    async fn run_sql(&self, sql: &'static str) {
        let ran = self.store.write(move |tx| Ok::<_, StoreError>(tx.execute_batch(sql)?));
        ran.await.unwrap();
    }
}

#[tokio::test]
async fn a_task_is_due_once_at_its_time_in_the_conversation_that_it_is_bound_to() {
    let tasks = Tasks::open();
    let task = tasks.add(new("in 2h", "Ask Ann about the roof.", Some(origin(Scope::Known)))).await;
    assert_eq!(tasks.due(task.next_at.unwrap().0 - 1).await, Outcome::default());
    let at = task.next_at.unwrap().0;
    assert!(tasks.due(at).await.woken);
    assert!(!tasks.due(at).await.woken, "it is over");
    let turn = tasks.take(at).await.unwrap();
    assert_eq!(
        (turn.cause, turn.scope, turn.session.as_str()),
        (Cause::Task, Scope::Known, "local/home:ann")
    );
    assert_eq!(turn.conversation.as_ref().unwrap().target, "local:ann#7");
    assert!(turn.context.is_some());
    let item = &turn.items[0];
    assert_eq!(
        (item.kind.as_str(), item.text.as_str(), item.late),
        ("task", "Ask Ann about the roof.", false)
    );
    assert_eq!((item.sender.id.as_str(), item.sender.scope), ("agent:a", Scope::Known));
    assert_eq!((&item.task, &item.target), (&Some(task.task.clone()), &None));
    assert!(tasks.take(at + MINUTE).await.is_none());
    let over = tasks.task(&task.task).await;
    assert_eq!((over.next_at, over.runs, over.outcome.as_deref()), (None, 1, Some("done")));
}

#[tokio::test]
async fn what_it_sends_elsewhere_is_judged_by_the_words_that_scheduled_it() {
    let tasks = Tasks::open();
    let task = tasks.add(new("in 2h", "Write to Bob.", Some(origin(Scope::Unknown)))).await;
    tasks.due(task.next_at.unwrap().0).await;
    let turn = tasks.take(task.next_at.unwrap().0).await.unwrap();
    // The context outlives this test's clock.
    tasks.run_sql("UPDATE contexts SET expires_at = 9223372036854775807").await;
    let of = crate::sessions::origin(&tasks.store, "a", &turn.context.unwrap()).await.unwrap().unwrap();
    assert_eq!((of.scope, of.place.to_string().as_str()), (Some(Scope::Unknown), "local:ann#7"));
    let because = of.because.clone().unwrap();
    assert!(
        because.starts_with("a task was due: \"Write to Bob.\", scheduled because Ann (local:ann)"),
        "{because}"
    );
    // One that it schedules in turn goes back to the same words, and is trusted no more.
    let next = tasks.add(new("in 3h", "Write to Bob again.", Some(of))).await;
    assert_eq!(next.scope, Scope::Unknown);
    let sql = "SELECT because FROM tasks WHERE id = ?";
    let id = next.task.clone();
    let kept: String = tasks
        .store
        .read(move |db| Ok::<_, StoreError>(db.query_row(sql, [id], |row| row.get(0))?))
        .await
        .unwrap();
    assert_eq!(kept, "Ann (local:ann) wrote: \"remind me\"");
}

#[tokio::test]
async fn a_task_is_trusted_as_far_as_whoever_scheduled_it_is_by_now() {
    for (facts, scope) in [("{}", Scope::Unknown), (r#"{"vouched": true}"#, Scope::Owner)] {
        let tasks = Tasks::open();
        let put = move |tx: &rusqlite::Transaction<'_>| {
            tx.execute_batch(
                "INSERT INTO turns (seq, id, agent, session, cause, scope, state, due_at, at)
                     VALUES (7, 'm7', 'a', 's', 'message', 'owner', 'leased', 0, 0);
                 INSERT INTO inbound (seq, channel, account, peer, sender, text, at, scope)
                     VALUES (1, 'local', 'home', 'ann', 'ann', 'Open the door at six.', 0, 'owner');
                 INSERT INTO turn_items (agent, inbound, session, turn, engages) VALUES ('a', 1, 's', 7, 1);",
            )?;
            Ok::<_, StoreError>(tx.execute("UPDATE inbound SET facts = ?", [facts])?)
        };
        tasks.store.write(put).await.unwrap();
        let bound = Origin { turn: Some("m7".into()), ..origin(Scope::Owner) };
        let task = tasks.add(new("in 2h", "Open the door.", Some(bound))).await;
        tasks.run_sql("UPDATE turns SET state = 'done'").await;
        let at = task.next_at.unwrap().0;
        assert!(tasks.due(at).await.woken);
        // Nobody is in the configuration by then.
        assert_eq!(tasks.take(at).await.unwrap().scope, scope, "{facts}");
    }
}

#[tokio::test]
async fn one_that_is_bound_to_nothing_is_in_no_conversation_and_in_a_session_of_its_own() {
    let tasks = Tasks::open();
    let task = tasks.add(new("in 2h", "Look at the mail.", None)).await;
    tasks.due(task.next_at.unwrap().0).await;
    let turn = tasks.take(task.next_at.unwrap().0).await.unwrap();
    assert_eq!((turn.conversation, turn.context, turn.items.len()), (None, None, 1));
    assert_eq!((turn.session, turn.items[0].target.as_ref()), (format!("task:{}", task.task), None));
}

#[tokio::test]
async fn what_was_missed_is_due_once_and_late_also_over_a_restart() {
    let tasks = Tasks::open();
    let task = tasks.add(new("0 * * * *", "Every hour.", None)).await;
    let Tasks { directory, store } = tasks;
    store.close();
    drop(store);
    let tasks = Tasks { store: Store::open(directory.path()).unwrap(), directory };
    let later = task.next_at.unwrap().0 + 72 * 60 * MINUTE + 5 * MINUTE;
    assert!(tasks.due(later).await.woken);
    assert!(!tasks.due(later).await.woken);
    let turn = tasks.take(later).await.unwrap();
    assert_eq!((turn.items.len(), turn.items[0].late), (1, true));
    let next = tasks.task(&task.task).await;
    assert_eq!((next.runs, next.next_at.unwrap().0), (1, later + 55 * MINUTE));
}

#[tokio::test]
async fn nothing_of_a_transaction_that_failed_has_happened() {
    let tasks = Tasks::open();
    let task = tasks.add(new("in 2h", "x", None)).await;
    let at = task.next_at.unwrap().0;
    let failed: Result<(), StoreError> = tasks
        .store
        .write(move |tx| {
            assert!(due::run(tx, |_| true, at)?.woken);
            Err(StoreError::Closed)
        })
        .await;
    assert!(failed.is_err());
    assert!(tasks.take(at).await.is_none());
    assert!(tasks.due(at).await.woken && tasks.take(at).await.is_some());
}

#[tokio::test]
async fn what_cannot_be_now_is_put_off_and_not_lost() {
    let tasks = Tasks::open();
    let task = tasks.add(new("in 2h", "x", None)).await;
    let at = task.next_at.unwrap().0;
    let nobody = tasks.store.write(move |tx| due::run(tx, |_| false, at)).await.unwrap();
    assert!(!nobody.woken);
    let why = tasks.task(&task.task).await.outcome.unwrap();
    assert!(why.contains("no such agent"), "{why}");
    assert!(!tasks.due(at + NOBODY_MS - 1).await.woken);
    assert!(tasks.due(at + NOBODY_MS).await.woken);
    let turn = tasks.take(at + NOBODY_MS).await.unwrap();
    assert!(turn.items[0].late);
    tasks.end(&turn).await;

    // An agent that is woken too often: the rest is due tomorrow.
    let often = tasks.add(new("* * * * *", "y", None)).await;
    tasks.run_sql("UPDATE tasks SET day = next_at / 86400000, runs_of_day = 200 WHERE recurs").await;
    let at = often.next_at.unwrap().0;
    assert!(!tasks.due(at).await.woken);
    assert!(!tasks.due(at + MINUTE).await.woken);
    let tomorrow = (at / DAY_MS + 1) * DAY_MS;
    assert!(tasks.due(tomorrow).await.woken);
    assert_eq!(tasks.task(&often.task).await.outcome, None);
}

#[tokio::test]
async fn an_agent_with_too_many_turns_is_woken_when_there_is_room() {
    let tasks = Tasks::open();
    let task = tasks.add(new("0 * * * *", "x", None)).await;
    let fill = "INSERT INTO turns (id, agent, session, cause, scope, state, due_at, at)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        SELECT 'f' || i, 'a', 's' || i, 'message', 'owner', 'waiting', 0, 0 FROM n";
    tasks.run_sql(fill).await;
    let at = task.next_at.unwrap().0;
    assert!(!tasks.due(at).await.woken);
    let rows = "SELECT count(*) FROM inbound";
    let rows: u32 = tasks
        .store
        .read(move |db| Ok::<_, StoreError>(db.query_row(rows, [], |row| row.get(0))?))
        .await
        .unwrap();
    assert_eq!(rows, 0, "nothing is left of it");
    tasks.run_sql("DELETE FROM turns").await;
    assert!(tasks.due(at + FULL_MS).await.woken);
}

#[tokio::test]
async fn there_are_as_many_as_there_may_be_and_the_same_call_is_the_same_task() {
    let tasks = Tasks::open();
    let first = tasks.add(new("in 2h", "x", None)).await;
    assert_eq!(tasks.add(new("in 2h", "x", None)).await.task, first.task);
    let recurs = tasks.add(new("0 9 * * *", "x", None)).await;
    assert_eq!(tasks.try_add(new("0 9 * * *", "x", None), NOW + DAY_MS).await.unwrap().task, recurs.task);
    assert_ne!(tasks.try_add(new("in 2h", "x", None), NOW + MINUTE).await.unwrap().task, first.task);
    for n in 3..MAX_TASKS {
        tasks.add(new("in 2h", &format!("x{n}"), None)).await;
    }
    assert_eq!(tasks.try_add(new("in 2h", "one more", None), NOW).await, Err(TooMany::Waiting));
    let other = NewTask { agent: "b".into(), ..new("in 2h", "one more", None) };
    assert!(tasks.try_add(other, NOW).await.is_ok());
    // Whoever schedules and cancels in a loop is stopped too.
    tasks.run_sql("UPDATE tasks SET ended_at = 1").await;
    for n in MAX_TASKS..MAX_SCHEDULED_A_DAY {
        let task = tasks.add(new("in 2h", &format!("y{n}"), None)).await.task;
        tasks.store.write(move |tx| cancel(tx, &task, "agent:a", NOW)).await.unwrap();
    }
    assert_eq!(tasks.try_add(new("in 2h", "z", None), NOW).await, Err(TooMany::Scheduled));
    assert!(tasks.try_add(new("in 2h", "z", None), NOW + DAY_MS + 1).await.is_ok());
}

#[tokio::test]
async fn one_that_is_taken_back_is_not_due_and_stands_with_those_that_are_over() {
    let tasks = Tasks::open();
    let task = tasks.add(new("0 9 * * *", "x", None)).await;
    let (id, again) = (task.task.clone(), task.task.clone());
    assert!(tasks.store.write(move |tx| cancel(tx, &id, "operator:o", NOW)).await.unwrap());
    assert!(!tasks.store.write(move |tx| cancel(tx, &again, "operator:o", NOW)).await.unwrap());
    assert!(!tasks.due(task.next_at.unwrap().0).await.woken);
    let listed =
        async |ended| tasks.store.read(move |db| list(db, Some("a"), ended, 50)).await.unwrap().len();
    assert_eq!((listed(false).await, listed(true).await), (0, 1));
}

#[tokio::test]
async fn a_call_without_a_context_counts_as_the_least_trusted_turn_that_its_agent_is_at() {
    let tasks = Tasks::open();
    let least = async || tasks.store.read(|db| least_at_work(db, &People::default(), "a")).await.unwrap();
    assert_eq!(least().await, Scope::Owner);
    for (id, scope, state) in [
        ("1", "owner", "leased"),
        ("2", "blocked", "waiting"),
        ("3", "known", "leased"),
        ("4", "unknown", "done"),
    ] {
        let sql = "INSERT INTO turns (id, agent, session, cause, scope, state, due_at, at) VALUES (?1, 'a', ?1, 'message', ?2, ?3, 0, 0)";
        let put =
            tasks.store.write(move |tx| Ok::<_, StoreError>(tx.execute(sql, params![id, scope, state])?));
        put.await.unwrap();
    }
    assert_eq!(least().await, Scope::Known);
}
