use std::sync::Arc;

use serde_json::{Value, json};

use super::{agents, own};
use crate::{
    channels::{Adapter, Delivered, Failure, PartKey, RateHints},
    message::target::{HUB, Target},
    outbox::{Outbox, accept::Accepted, new_message::NewMessage, transition, transition::NewPart},
    people::requests::{self, Ask, Asked, What},
    policy::{Origin, Scope},
    store::{Store, StoreError, now_ms},
    turns::wake::Wake,
};

/// A queue whose messages are delivered by hand.
struct Queue {
    _directory: tempfile::TempDir,
    outbox: Outbox,
}

impl Queue {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(Store::open(directory.path()).unwrap());
        Self { _directory: directory, outbox }
    }

    fn store(&self) -> &Store {
        self.outbox.store()
    }

    /// A message of an agent, with one part under this key.
    async fn message(&self, from: &str, to: Target, origin: Option<Origin>, key: &'static str) -> i64 {
        let new = NewMessage { agent: from.into(), target: to, origin, ..NewMessage::example(key) };
        let Accepted::New(seq) = self.outbox.accept(new).await.unwrap() else { panic!() };
        let parts = [NewPart { key: key.into(), shown: key.into(), request: "{}".into(), route: None }];
        let stored = move |tx: &rusqlite::Transaction<'_>| transition::store_parts(tx, seq, &parts);
        self.outbox.change(seq, stored).await.unwrap();
        seq
    }

    async fn deliver(
        &self,
        adapter: &Arc<dyn Adapter>,
        request: &Value,
        key: &str,
    ) -> Result<Delivered, Failure> {
        adapter.read(request).deliver(&PartKey(key.into()), &mut RateHints::default()).await
    }

    async fn one<T: rusqlite::types::FromSql + Send + 'static>(&self, sql: &'static str) -> T {
        let read = self.store().read(move |db| Ok::<_, StoreError>(db.query_row(sql, [], |row| row.get(0))?));
        read.await.unwrap()
    }

    async fn run(&self, sql: &'static str) {
        self.store().write(move |tx| Ok::<_, StoreError>(tx.execute_batch(sql)?)).await.unwrap();
    }

    /// Somebody asks to be let in; by which code.
    async fn stranger(&self) -> String {
        let asked = self.store().write(|tx| {
            let ask = Ask {
                what: What::Person,
                subject: "tg:5",
                channel: "telegram",
                account: "home",
                address: "5",
                agent: "a",
                name: Some("Eve"),
            };
            requests::ask(tx, &ask, now_ms())
        });
        let Asked::New(code) = asked.await.unwrap() else { panic!() };
        code
    }
}

fn hub(code: &str) -> Target {
    Target { channel: HUB.into(), address: format!("let-in/{code}"), thread: None }
}

fn let_in(code: &str) -> Value {
    json!({"action": "let-in", "argument": code, "text": "?"})
}

/// As a companion leaves it.
const APPROVED: &str = "INSERT INTO devices (key, name, software, added_at) VALUES (x'09', 'shelf', 0, 0);
    INSERT INTO approvals (request, message, document, deadline, decided_at, verdict, device)
    VALUES (x'01', 1, x'', 0, 1, 'approve', x'09');";

#[tokio::test]
async fn whoever_is_let_in_is_let_in_once_and_by_whoever_approved_it() {
    let queue = Queue::new();
    let code = queue.stranger().await;
    let own = own::open(queue.store());
    queue.message(HUB, hub(&code), None, "k").await;
    let early = queue.deliver(&own, &let_in(&code), "k").await;
    assert!(matches!(early, Err(Failure::Permanent(why)) if why.contains("nobody has approved")));
    queue.run(APPROVED).await;
    for _ in 0..2 {
        let delivered = queue.deliver(&own, &let_in(&code), "k").await.unwrap();
        assert_eq!(delivered.id, format!("let-in:{code}"));
    }
    assert_eq!(queue.one::<String>("SELECT by FROM grants WHERE user = 'tg:5'").await, "companion:shelf");
    let told = "SELECT count(*) FROM audit WHERE event = 'access.decided'";
    assert_eq!(queue.one::<i64>(told).await, 1);
}

#[tokio::test]
async fn what_was_refused_before_is_not_let_in_by_a_late_press() {
    let queue = Queue::new();
    let code = queue.stranger().await;
    queue.message(HUB, hub(&code), None, "k").await;
    queue.run(APPROVED).await;
    let refused = code.clone();
    let answer = move |tx: &rusqlite::Transaction<'_>| requests::decide(tx, &refused, false, "operator:x", 1);
    queue.store().write(answer).await.unwrap().unwrap();
    let late = queue.deliver(&own::open(queue.store()), &let_in(&code), "k").await;
    assert!(matches!(late, Err(Failure::Permanent(why)) if why.contains("refused before")));
    assert_eq!(queue.one::<i64>("SELECT count(*) FROM grants").await, 0);
    assert_eq!(queue.one::<i64>("SELECT count(*) FROM performed").await, 0);
}

#[tokio::test]
async fn no_agent_lets_anybody_in() {
    let queue = Queue::new();
    let code = queue.stranger().await;
    queue.message("a", hub(&code), None, "k").await;
    queue.run(APPROVED).await;
    let delivered = queue.deliver(&own::open(queue.store()), &let_in(&code), "k").await;
    assert!(matches!(delivered, Err(Failure::Permanent(why)) if why.contains("only the hub itself")));
    assert_eq!(queue.one::<i64>("SELECT count(*) FROM grants").await, 0);
}

fn agent(name: &str, thread: Option<String>) -> Target {
    Target { channel: "agent".into(), address: name.into(), thread }
}

fn all(queue: &Queue) -> Arc<dyn Adapter> {
    let names = ["a", "b"].map(str::to_owned);
    agents::open(names.iter(), queue.store(), &Wake::default())
}

fn says(to: &str) -> Value {
    json!({"agent": to, "text": "**Now?**"})
}

/// A turn of `a` with somebody on Telegram.
const TURN: &str = "INSERT INTO turns (id, agent, session, cause, scope, state, due_at, at, hops)
    VALUES ('t1', 'a', 'ann', 'message', 'owner', 'leased', 0, 0, 0)";

fn in_turn(turn: &str, session: &str, scope: Scope) -> Option<Origin> {
    Some(Origin {
        account: "home".into(),
        place: Target { channel: "telegram".into(), address: "5".into(), thread: None },
        session: Some(session.into()),
        turn: Some(turn.into()),
        scope: Some(scope),
        because: None,
    })
}

#[tokio::test]
async fn a_question_is_a_turn_of_the_other_agent_and_its_answer_one_in_the_session_that_asked() {
    let queue = Queue::new();
    let agents = all(&queue);
    queue.run(TURN).await;
    queue.message("a", agent("b", None), in_turn("t1", "ann", Scope::Owner), "k1").await;
    for _ in 0..2 {
        queue.deliver(&agents, &says("b"), "k1").await.unwrap();
    }
    let of_b = "SELECT agent || cause || scope || address || hops FROM turns WHERE agent = 'b'";
    assert_eq!(
        queue.one::<String>(of_b).await,
        "bagentknowna1",
        "once, and of a person who was let in at most"
    );
    assert_eq!(queue.one::<String>("SELECT sender || text FROM inbound").await, "a**Now?**");

    let thread: String = queue.one("SELECT thread FROM turns WHERE agent = 'b'").await;
    let turn: String = queue.one("SELECT id FROM turns WHERE agent = 'b'").await;
    let session: String = queue.one("SELECT session FROM turns WHERE agent = 'b'").await;
    queue.message("b", agent("a", Some(thread)), in_turn(&turn, &session, Scope::Known), "k2").await;
    queue.deliver(&agents, &says("a"), "k2").await.unwrap();
    let back = "SELECT session || hops || address FROM turns WHERE agent = 'a' AND cause = 'agent'";
    assert_eq!(queue.one::<String>(back).await, "ann2b");

    // Another session of the same agent has another thread.
    queue.message("a", agent("b", None), in_turn("t1", "bob", Scope::Owner), "k3").await;
    queue.deliver(&agents, &says("b"), "k3").await.unwrap();
    assert_eq!(queue.one::<i64>("SELECT count(DISTINCT session) FROM turns WHERE agent = 'b'").await, 2);
}

#[tokio::test]
async fn what_is_handed_on_too_often_goes_no_further_with_or_without_its_context() {
    let queue = Queue::new();
    let agents = all(&queue);
    queue.run(TURN).await;
    queue.run("UPDATE turns SET hops = 4, scope = 'unknown'").await;
    for (key, origin) in [("k1", in_turn("t1", "ann", Scope::Owner)), ("k2", None)] {
        queue.message("a", agent("b", None), origin, key).await;
        let delivered = queue.deliver(&agents, &says("b"), key).await;
        assert!(
            matches!(delivered, Err(Failure::Permanent(why)) if why.contains("goes no further")),
            "{key}"
        );
    }
    queue.run("UPDATE turns SET hops = 0").await;
    queue.message("a", agent("b", None), None, "k3").await;
    queue.deliver(&agents, &says("b"), "k3").await.unwrap();
    let scope: String = queue.one("SELECT scope FROM turns WHERE agent = 'b'").await;
    assert_eq!(scope, "unknown", "leaving the context out does not raise it");
}

#[tokio::test]
async fn an_agent_with_too_much_to_do_is_asked_later_and_nothing_of_it_stays() {
    let queue = Queue::new();
    let agents = all(&queue);
    queue
        .run(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 200)
            INSERT INTO turns (id, agent, session, cause, scope, state, due_at, at)
            SELECT 'w' || n, 'b', 's' || n, 'message', 'known', 'waiting', 0, 0 FROM n",
        )
        .await;
    queue.message("a", agent("b", None), None, "k").await;
    assert!(matches!(queue.deliver(&agents, &says("b"), "k").await, Err(Failure::Retry(_))));
    assert_eq!(queue.one::<i64>("SELECT count(*) FROM inbound").await, 0);
    queue.run("DELETE FROM turns").await;
    queue.deliver(&agents, &says("b"), "k").await.unwrap();
}

#[tokio::test]
async fn only_agents_of_the_configuration_are_addresses() {
    let queue = Queue::new();
    let agents = all(&queue);
    assert!(agents.resolve("b").is_ok() && agents.resolve("c").is_err());
    queue.message("a", agent("c", None), None, "k").await;
    assert!(matches!(queue.deliver(&agents, &says("c"), "k").await, Err(Failure::Permanent(_))));
    let own = own::open(queue.store());
    assert!(own.resolve("let-in/1a2b3c4d").is_ok());
    for none in ["let-in", "let-in/", "let-in/a b", "open/1", "let-in/1/2"] {
        assert!(own.resolve(none).is_err(), "{none}");
    }
}
