use rusqlite::params;

use super::*;
use crate::{
    message::{
        refusal::Code,
        state::{Actor, Event as Happening},
    },
    outbox::{
        accept::Accepted,
        new_message::NewMessage,
        transition::{self, Change},
    },
    store::Store,
};

const SOON: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(30);

fn fixture() -> (tempfile::TempDir, Events) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let hub = gatepost_link::decision::PublicKey([1; 32]);
    (
        directory,
        Events::new(Approvals::new(Outbox::new(store), hub, false), crate::turns::wake::Wake::default()),
    )
}

async fn accept(events: &Events, agent: &str) -> i64 {
    let new = NewMessage { agent: agent.into(), ..NewMessage::example("Hello") };
    let Accepted::New(seq) = events.outbox.accept(new).await.unwrap() else { panic!() };
    seq
}

async fn cancel(events: &Events, seq: i64) {
    let change = Change {
        event: Happening::Cancel,
        actor: Actor::Agent,
        by: "agent:a",
        code: Some(Code::Cancelled),
        reason: Some("it was taken back"),
        facts: None,
    };
    events.outbox.change(seq, move |tx| transition::apply(tx, seq, &change)).await.unwrap();
}

async fn sql(events: &Events, sql: &'static str) {
    events.outbox.store().write(move |tx| Ok::<_, StoreError>(tx.execute(sql, params![])?)).await.unwrap();
}

async fn watch(events: &Events, watcher: Watcher, after: Option<i64>) -> Watch {
    events.watch("somebody", watcher, after).await.unwrap().unwrap()
}

fn agent(name: &str) -> Watcher {
    Watcher::Agent(name.into())
}

fn names(page: &Page) -> Vec<&str> {
    page.events.iter().map(|event| event.name.as_str()).collect()
}

#[tokio::test]
async fn an_agent_hears_of_its_own_messages_alone_and_an_operator_of_everything() {
    let (_directory, events) = fixture();
    let (mine, others) = (accept(&events, "a").await, accept(&events, "b").await);
    cancel(&events, mine).await;
    cancel(&events, others).await;
    let page = watch(&events, agent("a"), Some(0)).await.next(PATIENCE).await.unwrap().unwrap();
    assert_eq!(names(&page), ["message.accepted", "message.cancelled"]);
    let end = &page.events[1].data;
    assert_eq!((&end["code"], &end["error"]), (&"cancelled".into(), &"it was taken back".into()));
    assert!(end["hint"].as_str().is_some_and(|hint| hint.contains("taken back")), "{end}");
    assert_eq!((&end["actor"], &end["detail"]), (&Value::Null, &Value::Null), "that is the operator's");
    let page = watch(&events, Watcher::Operator, Some(0)).await.next(PATIENCE).await.unwrap().unwrap();
    assert_eq!(page.events.len(), 4);
    assert_eq!(page.events[3].data["agent"], "b");
}

#[tokio::test]
async fn who_begins_now_hears_what_comes_and_who_comes_back_what_it_missed() {
    let (_directory, events) = fixture();
    let before = accept(&events, "a").await;
    let mut first = watch(&events, agent("a"), None).await;
    assert_eq!(first.next(SOON).await.unwrap().unwrap().events, []);
    cancel(&events, before).await;
    let page = first.next(PATIENCE).await.unwrap().unwrap();
    assert_eq!(names(&page), ["message.cancelled"]);
    let last = page.events[0].seq;
    drop(first);
    let missed = accept(&events, "a").await;
    cancel(&events, missed).await;
    let page = watch(&events, agent("a"), Some(last)).await.next(PATIENCE).await.unwrap().unwrap();
    assert_eq!(names(&page), ["message.accepted", "message.cancelled"]);
}

#[tokio::test]
async fn a_long_absence_is_made_up_for_in_pages() {
    let (_directory, events) = fixture();
    for _ in 0..600 {
        accept(&events, "a").await;
    }
    let mut watch = watch(&events, agent("a"), Some(0)).await;
    let mut count = 0;
    while count < 600 {
        let page = watch.next(PATIENCE).await.unwrap().unwrap();
        assert!((1..=256).contains(&page.events.len()), "{}", page.events.len());
        count += page.events.len();
    }
    assert_eq!(count, 600);
}

#[tokio::test]
async fn what_is_past_its_retention_is_said_and_not_skipped() {
    let (_directory, events) = fixture();
    for agent in ["a", "b", "a"] {
        accept(&events, agent).await;
    }
    sql(&events, "DELETE FROM audit WHERE seq = 1").await;
    let page = watch(&events, agent("a"), Some(0)).await.next(PATIENCE).await.unwrap().unwrap();
    assert_eq!(names(&page), ["missed", "message.accepted"]);
    assert_eq!(page.events[0].seq, 1);
    let page = watch(&events, agent("a"), Some(1)).await.next(PATIENCE).await.unwrap().unwrap();
    assert_eq!(names(&page), ["message.accepted"], "nothing is gone after the first");
    // The audit outlives the messages, and then nobody knows whose they were.
    sql(&events, "DELETE FROM messages WHERE seq = 2").await;
    let page = watch(&events, agent("a"), Some(1)).await.next(PATIENCE).await.unwrap().unwrap();
    assert_eq!(names(&page), ["missed", "message.accepted"]);
}

#[tokio::test]
async fn a_number_from_another_life_of_the_database_is_told_so() {
    let (_directory, events) = fixture();
    let seq = accept(&events, "a").await;
    let mut watch = watch(&events, agent("a"), Some(5_000)).await;
    let page = watch.next(PATIENCE).await.unwrap().unwrap();
    assert_eq!(names(&page), ["missed"]);
    cancel(&events, seq).await;
    assert_eq!(names(&watch.next(PATIENCE).await.unwrap().unwrap()), ["message.cancelled"]);
}

#[tokio::test]
async fn a_caller_has_a_bounded_number_of_streams_and_all_end_with_the_hub() {
    let (_directory, events) = fixture();
    let mut open = Vec::new();
    for _ in 0..MAX_STREAMS {
        open.push(watch(&events, agent("a"), None).await);
    }
    assert_eq!(events.watch("somebody", agent("a"), None).await.unwrap().err(), Some(TooMany));
    assert!(events.watch("else", agent("b"), None).await.unwrap().is_ok());
    open.pop();
    let mut last = watch(&events, agent("a"), None).await;
    let waiting = tokio::spawn(async move { last.next(PATIENCE).await });
    events.close();
    assert_eq!(waiting.await.unwrap().unwrap(), None);
}
