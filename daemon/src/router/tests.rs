use rusqlite::Transaction;

use super::{
    accept::{NotWritten, Outcome, accept},
    arrival::{MAX_AGE_MS, Receiving},
    gates::Said,
    situation::Why,
    *,
};
use crate::{
    channels::received::{
        Author, AuthorKind, Batch, Conversation, Event, Position, Received, ReplyTo, Words,
    },
    people::{Person, requests},
    policy::{Allowlist, Scope},
    store::{Store, StoreError},
    turns::lease,
};

const NOW: i64 = 1_700_000_000_000;

struct Hub {
    _directory: tempfile::TempDir,
    store: Store,
    routing: Routing,
    at: Receiving,
}

fn route(agent: &str, from: &str) -> Route {
    Route { from: Allowlist::parse([from.to_owned()]).unwrap(), ..Route::granted(agent, agent) }
}

impl Hub {
    /// The agent has sent what the platform knows as 55; where its turn came from, if it was in one.
    async fn has_sent(&self, agent: &'static str, origin: &'static str) {
        self.store
            .write(move |tx| {
                tx.execute(
                    "INSERT INTO messages (id, agent, state, action, channel, account, address, silent, text, fingerprint,
                         accepted_at, deadline, due_at, origin) VALUES ('m', ?, 'sent', 'send', 'telegram', 'home', '-100', 0,
                         'ok?', x'', 0, 0, 0, nullif(?, ''))",
                    [agent, origin],
                )?;
                tx.execute(
                    "INSERT INTO parts (message, idx, key, state, shown, wire, platform_id)
                     VALUES (last_insert_rowid(), 0, 'k', 'confirmed', 'ok?', '{}', '55')",
                    [],
                )?;
                Ok::<_, StoreError>(())
            })
            .await
            .unwrap();
    }

    fn new(routes: Vec<Route>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let person = |name: &str, scope, id: &str| (Person { name: name.into(), scope }, vec![id.to_owned()]);
        let people = People::new([
            person("ann", Scope::Owner, "tg:1"),
            person("bob", Scope::Known, "tg:2"),
            person("eve", Scope::Blocked, "tg:3"),
        ]);
        let routing = Routing { routes, people: people.unwrap(), ..Routing::default() };
        let at = Receiving {
            channel: "telegram".into(),
            account: "home".into(),
            threads: true,
            unknown: UnknownSenders::RequestApproval,
            vouched: None,
        };
        Self { _directory: directory, store, routing, at }
    }

    async fn receive_at(&self, received: Vec<Received>, now: i64) -> Outcome {
        let (at, routing) = (self.at.clone(), self.routing.clone());
        let batch = Batch { received, ..Batch::default() };
        self.store.write(move |tx| accept(tx, &at, batch, &[], &routing, now)).await.unwrap()
    }

    async fn receive(&self, received: Vec<Received>) -> Outcome {
        self.receive_at(received, NOW).await
    }

    async fn count(&self, sql: &'static str) -> u32 {
        self.store
            .read(move |db| Ok::<_, StoreError>(db.query_row(sql, [], |row| row.get(0))?))
            .await
            .unwrap()
    }

    async fn turns(&self, agent: &'static str) -> Vec<(String, Scope)> {
        self.store
            .read(move |db| {
                let mut rows = db.prepare("SELECT session, scope FROM turns WHERE agent = ? ORDER BY seq")?;
                let rows = rows.query_map([agent], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
            })
            .await
            .unwrap()
    }
}

fn said(key: &str, author: &str, text: &str) -> Received {
    Received {
        key: key.into(),
        conversation: Conversation {
            address: "-100".into(),
            title: Some("Home".into()),
            ..Default::default()
        },
        author: Author { id: author.into(), name: Some("Somebody".into()), ..Author::default() },
        message_id: Some(key.into()),
        said_at: Some(NOW),
        mentions_me: false,
        event: Event::Message(Words { text: text.into(), ..Words::default() }),
    }
}

fn calling(received: Received) -> Received {
    Received { mentions_me: true, ..received }
}

fn direct(mut received: Received) -> Received {
    received.conversation.address.clone_from(&received.author.id);
    received.conversation.direct = true;
    received
}

fn why(outcome: &Outcome) -> Vec<Why> {
    outcome.dropped.iter().map(|(why, _)| *why).collect()
}

#[tokio::test]
async fn the_same_event_is_received_once_and_its_position_is_kept() {
    let hub = Hub::new(vec![route("a", "telegram:*")]);
    let batch = || Batch {
        received: vec![calling(said("5", "1", "hello"))],
        positions: vec![Position { stream: "updates".into(), value: "6".into() }],
        dropped: vec![],
    };
    for repeated in [0, 1, 1] {
        let (at, routing, batch) = (hub.at.clone(), hub.routing.clone(), batch());
        let outcome = hub.store.write(move |tx| accept(tx, &at, batch, &[], &routing, NOW)).await.unwrap();
        assert_eq!((outcome.repeated, outcome.woken), (repeated, repeated == 0));
        assert_eq!(outcome.dropped, [], "it is no news to whoever hands it over");
    }
    assert_eq!(hub.count("SELECT count(*) FROM inbound").await, 1);
    assert_eq!(hub.count("SELECT count(*) FROM turns").await, 1);
    assert_eq!(hub.count("SELECT value = '6' FROM positions").await, 1);
}

#[tokio::test]
async fn words_without_an_id_are_the_same_within_half_a_minute() {
    let hub = Hub::new(vec![route("a", "telegram:*")]);
    let nameless = || vec![Received { key: String::new(), ..calling(said("5", "1", "hello")) }];
    assert!(hub.receive_at(nameless(), NOW).await.woken);
    assert_eq!(hub.receive_at(nameless(), NOW + 29_000).await.repeated, 1);
    assert!(hub.receive_at(nameless(), NOW + 31_000).await.woken, "he says it again");
}

#[tokio::test]
async fn a_mention_or_a_direct_message_wakes_and_chatter_leaves_no_row() {
    let hub = Hub::new(vec![route("a", "telegram:*")]);
    let outcome = hub.receive(vec![said("1", "1", "the hub, by name only")]).await;
    assert_eq!((why(&outcome), outcome.rows.len()), (vec![Why::NotEngaged], 0));
    assert!(hub.receive(vec![calling(said("2", "1", "@hub"))]).await.woken);
    assert!(hub.receive(vec![direct(said("3", "1", "hi"))]).await.woken);
    assert_eq!(hub.turns("a").await.len(), 2, "one of each conversation");
}

#[tokio::test]
async fn an_answer_to_a_message_of_the_hubs_calls_it() {
    let hub = Hub::new(vec![route("a", "telegram:*")]);
    let mut reply = said("1", "1", "yes");
    reply.event = Event::Message(Words {
        text: "yes".into(),
        reply_to: Some(ReplyTo { id: "77".into(), mine: true, ..ReplyTo::default() }),
        ..Words::default()
    });
    assert!(hub.receive(vec![reply]).await.woken);
}

/// What somebody quotes or hands on.
fn quoting(mut received: Received, author: Option<&str>, text: Option<&str>, forwarded: bool) -> Received {
    let Event::Message(words) = &mut received.event else { panic!() };
    let reply = ReplyTo {
        id: "q".into(),
        author: author.map(str::to_owned),
        text: text.map(str::to_owned),
        mine: false,
    };
    words.reply_to = (!forwarded).then_some(reply);
    words.forwarded = forwarded;
    received
}

#[tokio::test]
async fn words_that_are_quoted_or_forwarded_are_trusted_as_far_as_who_wrote_them() {
    for (author, text, forwarded, scope) in [
        (Some("1"), Some("mine"), false, Scope::Owner),
        (Some("2"), Some("bob's"), false, Scope::Known),
        (Some("9"), Some("a stranger's"), false, Scope::Unknown),
        (Some("9"), None, false, Scope::Owner),
        (None, Some("nobody knows whose"), false, Scope::Unknown),
        (Some("3"), Some("eve's"), false, Scope::Owner),
        (None, None, true, Scope::Unknown),
    ] {
        let hub = Hub::new(vec![route("a", "telegram:*")]);
        hub.receive(vec![calling(quoting(said("k", "1", "Look."), author, text, forwarded))]).await;
        let turns = hub.turns("a").await;
        assert_eq!(turns.iter().map(|(_, scope)| *scope).collect::<Vec<_>>(), [scope], "{author:?} {text:?}");
        // Of somebody who was shut out nothing is read.
        let quoted = hub.count("SELECT count(*) FROM inbound WHERE facts LIKE '%eve''s%'").await;
        assert_eq!(quoted, 0);
    }
}

#[tokio::test]
async fn a_quoted_message_that_the_hub_has_is_trusted_as_it_was() {
    let hub = Hub::new(vec![route("a", "telegram:*")]);
    hub.receive(vec![calling(said("q", "2", "Bob was here."))]).await;
    let quote = quoting(said("k", "1", "Look."), None, Some("Bob was here."), false);
    hub.receive(vec![calling(quote)]).await;
    let scopes: Vec<Scope> = hub.turns("a").await.into_iter().map(|(_, scope)| scope).collect();
    assert_eq!(scopes, [Scope::Known, Scope::Known]);
}

#[tokio::test]
async fn an_answer_to_what_somebody_forwarded_is_trusted_as_the_forward_is() {
    for forwarder in ["1", "2"] {
        let hub = Hub::new(vec![route("a", "telegram:*")]);
        let words = quoting(said("q", forwarder, "Eve's words"), None, None, true);
        hub.receive(vec![calling(words)]).await;
        let quote = quoting(said("k", "1", "Do that."), Some(forwarder), Some("Eve's words"), false);
        hub.receive(vec![calling(quote)]).await;
        let scopes: Vec<Scope> = hub.turns("a").await.into_iter().map(|(_, scope)| scope).collect();
        assert_eq!(scopes.last(), Some(&Scope::Unknown), "forwarded by {forwarder}");
    }
}

#[tokio::test]
async fn patterns_match_and_a_dot_is_anything() {
    let pattern = |text: &str| Engage::Pattern(Some(Regex::new(text).unwrap()));
    let routes = vec![
        Route { engage: pattern("(?i)^hub\\b"), ..route("word", "telegram:*") },
        Route { engage: Engage::Pattern(None), ..route("all", "telegram:*") },
    ];
    let hub = Hub::new(routes);
    hub.receive(vec![said("1", "1", "Hub, what time is it?"), said("2", "1", "the hub"), said("3", "1", "")])
        .await;
    let items = "SELECT count(*) FROM turn_items WHERE agent = 'word'";
    assert_eq!(hub.count(items).await, 1);
    assert_eq!(hub.count("SELECT count(*) FROM turn_items WHERE agent = 'all'").await, 3);
}

#[tokio::test]
async fn sticky_engages_while_the_session_is_active_and_no_longer() {
    let hub = Hub::new(vec![Route { engage: Engage::MentionSticky, ..route("a", "telegram:*") }]);
    assert!(!hub.receive_at(vec![said("1", "1", "x")], NOW).await.woken);
    assert!(hub.receive_at(vec![calling(said("2", "1", "x"))], NOW).await.woken);
    assert!(hub.receive_at(vec![said("3", "2", "x")], NOW + 1_000).await.woken, "anybody, meanwhile");
    let late = NOW + 1_001 + super::engage::ACTIVE_MS;
    let next_day = Received { said_at: None, ..said("4", "1", "x") };
    assert!(!hub.receive_at(vec![next_day], late).await.woken);
}

#[tokio::test]
async fn what_is_accumulated_is_read_with_what_wakes() {
    let hub = Hub::new(vec![Route { ignored: Ignored::Accumulate, ..route("a", "telegram:*") }]);
    let outcome = hub.receive(vec![said("1", "2", "we need milk")]).await;
    assert_eq!((outcome.woken, outcome.rows.len()), (false, 1));
    hub.receive(vec![calling(said("2", "1", "note that"))]).await;
    let people = hub.routing.people.clone();
    let take =
        move |tx: &Transaction<'_>| lease::take(tx, "a", NOW + 5_000, NOW + 60_000, NOW + 60_000, &people);
    let leased = hub.store.write(take).await.unwrap();
    assert!(leased.is_some());
    let items = "SELECT count(*) FROM turn_items WHERE turn IS NOT NULL AND NOT engages";
    assert_eq!(hub.count(items).await, 1);
    assert_eq!(hub.turns("a").await[0].1, Scope::Known, "as trusted as the least trusted of them");
}

#[tokio::test]
async fn several_agents_are_judged_each_by_itself() {
    let routes = vec![
        Route { engage: Engage::Pattern(None), ..route("all", "telegram:*") },
        route("mention", "telegram:-100"),
        route("elsewhere", "telegram:-200"),
    ];
    let hub = Hub::new(routes);
    hub.receive(vec![said("1", "1", "x")]).await;
    assert_eq!((hub.turns("all").await.len(), hub.turns("mention").await.len()), (1, 0));
    hub.receive(vec![calling(said("2", "1", "x"))]).await;
    assert_eq!((hub.turns("all").await.len(), hub.turns("mention").await.len()), (1, 1));
    assert_eq!(hub.count("SELECT count(*) FROM inbound").await, 2, "a row is written once");
    assert!(hub.turns("elsewhere").await.is_empty());
}

#[test]
fn the_closest_entry_of_an_agent_counts() {
    let wide = Route { engage: Engage::Pattern(None), ..route("a", "*") };
    let close = Route { name: "close".into(), ..route("a", "telegram:-100") };
    let other = Route { account: Some("work".into()), ..route("b", "telegram:-100") };
    let routing = Routing { routes: vec![wide, close, other], ..Routing::default() };
    let names: Vec<_> =
        routing.wirings("telegram", "home", "-100").iter().map(|route| route.name.clone()).collect();
    assert_eq!(names, ["close"]);
    assert_eq!(routing.wirings("telegram", "work", "-100").len(), 2);
    assert_eq!(routing.wirings("matrix", "home", "!x:y").len(), 1);
}

#[tokio::test]
async fn strangers_are_asked_about_let_through_or_dropped() {
    for (unknown, senders, expected) in [
        (UnknownSenders::Strict, Senders::All, "unknown_sender"),
        (UnknownSenders::RequestApproval, Senders::All, "asked"),
        (UnknownSenders::Public, Senders::All, "woken"),
        (UnknownSenders::Public, Senders::Known, "not_engaged"),
    ] {
        let hub = Hub::new(vec![Route { unknown: Some(unknown), senders, ..route("a", "telegram:*") }]);
        let outcome = hub.receive(vec![direct(said("1", "9", "hi"))]).await;
        let what = match (&outcome.asked[..], outcome.woken, why(&outcome).first()) {
            ([_], false, None) => "asked",
            ([], true, None) => "woken",
            ([], false, Some(why)) => why.word(),
            other => panic!("{other:?}"),
        };
        assert_eq!(what, expected, "{unknown:?} {senders:?}");
        if outcome.woken {
            assert_eq!(hub.turns("a").await[0].1, Scope::Unknown);
        }
    }
}

#[tokio::test]
async fn who_is_shut_out_or_a_program_or_the_account_itself_never_engages() {
    let hub = Hub::new(vec![Route {
        unknown: Some(UnknownSenders::Public),
        senders: Senders::All,
        ..route("a", "*")
    }]);
    let of = |kind| {
        let mut received = direct(said(&format!("{kind:?}"), "1", "x"));
        received.author.kind = kind;
        received
    };
    let all = vec![direct(said("1", "3", "x")), of(AuthorKind::Program), of(AuthorKind::Myself)];
    let outcome = hub.receive(all).await;
    assert_eq!(why(&outcome), [Why::Blocked, Why::Program, Why::OwnWords]);
    assert_eq!(hub.count("SELECT sum(count) FROM drops").await, 3, "each is counted");
}

#[tokio::test]
async fn whoever_nobody_vouches_for_is_a_stranger() {
    let hub = Hub::new(vec![Route { unknown: Some(UnknownSenders::Strict), ..route("a", "*") }]);
    let mut received = direct(said("1", "1", "it is me, Ann"));
    received.author.unverified = true;
    assert_eq!(why(&hub.receive(vec![received]).await), [Why::UnknownSender]);
}

#[tokio::test]
async fn what_waited_goes_its_way_when_its_author_is_let_in() {
    let hub = Hub::new(vec![route("a", "telegram:*")]);
    let first = hub.receive(vec![direct(said("1", "9", "hi")), direct(said("2", "9", "anybody?"))]).await;
    let [code] = &first.asked[..] else { panic!("{first:?}") };
    let (code, at, routing) = (code.clone(), hub.at.clone(), hub.routing.clone());
    let woken = hub
        .store
        .write(move |tx| {
            let request = requests::decide(tx, &code, true, "operator", NOW)?.unwrap();
            waiting::release(tx, &request, |_, _| Some(at.clone()), &routing, NOW)
        })
        .await
        .unwrap();
    assert!(woken);
    assert_eq!(hub.turns("a").await.iter().map(|turn| turn.1).collect::<Vec<_>>(), [Scope::Known]);
    assert_eq!(hub.count("SELECT count(*) FROM turn_items WHERE engages").await, 2);
    assert!(hub.receive(vec![direct(said("3", "9", "thanks"))]).await.woken, "and is remembered");
}

#[tokio::test]
async fn a_refusal_is_remembered_and_what_waited_goes() {
    let hub = Hub::new(vec![route("a", "telegram:*")]);
    let first = hub.receive(vec![direct(said("1", "9", "hi"))]).await;
    let (code, at, routing) = (first.asked[0].clone(), hub.at.clone(), hub.routing.clone());
    hub.store
        .write(move |tx| {
            let request = requests::decide(tx, &code, false, "operator", NOW)?.unwrap();
            waiting::release(tx, &request, |_, _| Some(at.clone()), &routing, NOW)
        })
        .await
        .unwrap();
    assert_eq!(hub.count("SELECT count(*) FROM inbound").await, 0);
    assert_eq!(why(&hub.receive(vec![direct(said("2", "9", "hi?"))]).await), [Why::NotAsked]);
}

#[tokio::test]
async fn what_waited_goes_to_the_agent_of_the_account_that_received_it() {
    let of = |account: &str, agent| Route { account: Some(account.into()), ..route(agent, "telegram:*") };
    let mut hub = Hub::new(vec![of("home", "a"), of("work", "b")]);
    let first = hub.receive(vec![direct(said("1", "9", "Is the build green?"))]).await;
    hub.at.account = "work".into();
    let second = hub.receive(vec![direct(said("2", "9", "I want a divorce."))]).await;
    assert_eq!((first.asked.len(), second.asked.len()), (1, 0), "one request for both");
    let (code, at, routing) = (first.asked[0].clone(), hub.at.clone(), hub.routing.clone());
    hub.store
        .write(move |tx| {
            let request = requests::decide(tx, &code, true, "operator", NOW)?.unwrap();
            let receiving =
                |_: &str, account: &str| Some(Receiving { account: account.into(), ..at.clone() });
            waiting::release(tx, &request, receiving, &routing, NOW)
        })
        .await
        .unwrap();
    let sessions = async |agent| hub.turns(agent).await.into_iter().map(|turn| turn.0).collect::<Vec<_>>();
    assert_eq!(sessions("a").await, ["telegram/home:9"]);
    assert_eq!(sessions("b").await, ["telegram/work:9"]);
}

#[tokio::test]
async fn what_waited_is_judged_by_all_ids_that_its_author_came_with() {
    let mut hub = Hub::new(vec![]);
    hub.routing.default_agent = Some("a".into());
    let mut known_by_another = direct(said("1", "9", "hi"));
    known_by_another.author.same_as = vec!["1".into()];
    let by_a_hook = Said { user: Some("tg:1".into()), ..Said::default() };
    let asked = [
        hub.receive(vec![known_by_another]).await.asked,
        receive_with(&hub, direct(said("2", "8", "hi")), by_a_hook).await.unwrap().asked,
    ];
    for code in asked.into_iter().flatten() {
        let (at, routing) = (hub.at.clone(), hub.routing.clone());
        let let_in = move |tx: &Transaction<'_>| {
            let request = requests::decide(tx, &code, true, "operator", NOW)?.unwrap();
            waiting::release(tx, &request, |_, _| Some(at.clone()), &routing, NOW)
        };
        assert!(hub.store.write(let_in).await.unwrap());
    }
    let scopes: Vec<Scope> = hub.turns("a").await.into_iter().map(|turn| turn.1).collect();
    assert_eq!(scopes, [Scope::Owner; 2]);
}

#[tokio::test]
async fn a_refusal_takes_nothing_from_an_agent_that_heard_the_words_anyway() {
    let open = Route { unknown: Some(UnknownSenders::Public), senders: Senders::All, ..route("a", "*") };
    let hub = Hub::new(vec![open, route("b", "telegram:*")]);
    let first = hub.receive(vec![direct(said("1", "9", "hi"))]).await;
    let (code, at, routing) = (first.asked[0].clone(), hub.at.clone(), hub.routing.clone());
    hub.store
        .write(move |tx| {
            let request = requests::decide(tx, &code, false, "operator", NOW)?.unwrap();
            waiting::release(tx, &request, |_, _| Some(at.clone()), &routing, NOW)
        })
        .await
        .unwrap();
    assert_eq!((hub.turns("a").await.len(), hub.turns("b").await.len()), (1, 0));
    assert_eq!(hub.count("SELECT count(*) FROM inbound WHERE request IS NULL").await, 1);
}

#[tokio::test]
async fn a_conversation_of_an_agent_that_is_gone_is_asked_about_again() {
    let mut hub = Hub::new(vec![]);
    hub.routing.default_agent = Some("old".into());
    let first = hub.receive(vec![calling(said("1", "2", "@hub join us"))]).await;
    let code = first.asked[0].clone();
    hub.store.write(move |tx| requests::decide(tx, &code, true, "operator", NOW)).await.unwrap();
    assert!(hub.receive(vec![calling(said("2", "2", "@hub?"))]).await.woken);
    hub.routing.default_agent = Some("new".into());
    let again = hub.receive(vec![calling(said("3", "2", "@hub, the cellar is full of water"))]).await;
    assert_eq!((again.woken, again.asked.len()), (false, 1));
    hub.routing.agents.insert("old".into());
    assert!(
        hub.receive(vec![calling(said("4", "2", "@hub?"))]).await.woken,
        "it is there, if not the default"
    );
}

#[tokio::test]
async fn an_unwired_conversation_is_asked_about_if_somebody_known_calls() {
    let mut hub = Hub::new(vec![]);
    assert_eq!(why(&hub.receive(vec![calling(said("1", "2", "x"))]).await), [Why::NotWired]);
    hub.routing.default_agent = Some("a".into());
    let quiet =
        hub.receive(vec![said("2", "2", "chatter"), calling(said("3", "9", "a stranger in a group"))]).await;
    assert_eq!((quiet.asked.len(), quiet.rows.len()), (0, 0));
    let asked = hub.receive(vec![calling(said("4", "2", "@hub join us"))]).await;
    assert_eq!(asked.asked.len(), 1);
    let again = hub.receive(vec![calling(said("5", "2", "@hub?"))]).await;
    assert_eq!((again.asked.len(), again.rows.len()), (0, 1), "one is open");
    let stranger = hub.receive(vec![direct(said("6", "9", "hi"))]).await;
    assert_eq!(stranger.asked.len(), 1, "a stranger who is alone with a bot may ask");
}

#[tokio::test]
async fn what_is_old_wakes_nobody_and_years_do_not_matter() {
    let hub = Hub::new(vec![route("a", "telegram:*")]);
    let old = |key: &str, said_at| Received { said_at: Some(said_at), ..direct(said(key, "1", "x")) };
    let outcome = hub.receive(vec![old("1", NOW - MAX_AGE_MS - 1), old("2", 0), old("3", i64::MIN)]).await;
    assert_eq!((outcome.woken, outcome.rows.len()), (false, 3));
    assert!(hub.receive(vec![old("4", i64::MAX)]).await.woken, "a clock ahead is no reason");
}

#[tokio::test]
async fn a_stranger_writes_five_rows_an_hour_and_a_person_thirty_a_minute() {
    let open = Route { unknown: Some(UnknownSenders::Public), senders: Senders::All, ..route("a", "*") };
    let hub = Hub::new(vec![open]);
    let many = |author: &str, count: usize| {
        (0..count).map(|n| direct(said(&format!("{author}-{n}"), author, "x"))).collect::<Vec<_>>()
    };
    assert_eq!(hub.receive(many("9", 8)).await.rows.len(), 5);
    assert_eq!(hub.receive(many("2", 40)).await.rows.len(), 30);
    assert_eq!(hub.receive(many("1", 40)).await.rows.len(), 40, "it is her home");
}

#[tokio::test]
async fn sessions_are_of_the_conversation_the_thread_or_the_route() {
    for (mode, expected) in [
        (SessionMode::Shared, ["telegram/home:-100"; 2]),
        (SessionMode::PerThread, ["telegram/home:-100#7", "telegram/home:-100#8"]),
        (SessionMode::AgentShared, ["route:a"; 2]),
    ] {
        let hub = Hub::new(vec![Route { session: mode, ..route("a", "telegram:*") }]);
        for thread in ["7", "8"] {
            let mut received = calling(said(thread, "1", "x"));
            received.conversation.thread = Some(thread.into());
            hub.receive(vec![received]).await;
        }
        let sessions: Vec<_> = hub.turns("a").await.into_iter().map(|(session, _)| session).collect();
        assert_eq!(sessions, expected, "{mode:?}");
    }
}

#[tokio::test]
async fn a_platform_without_threads_has_none() {
    let mut hub = Hub::new(vec![Route { session: SessionMode::PerThread, ..route("a", "telegram:*") }]);
    hub.at.threads = false;
    let mut received = calling(said("1", "1", "x"));
    received.conversation.thread = Some("7".into());
    hub.receive(vec![received]).await;
    assert_eq!(hub.turns("a").await[0].0, "telegram/home:-100");
}

#[tokio::test]
async fn what_was_pressed_is_for_the_agent_that_asked() {
    let hub = Hub::new(vec![route("a", "telegram:*"), route("b", "telegram:*")]);
    hub.has_sent("b", "").await;
    let press = Received {
        message_id: Some("55".into()),
        event: Event::Press { data: "yes".into() },
        ..said("p", "1", "")
    };
    hub.receive(vec![press]).await;
    assert_eq!((hub.turns("a").await.len(), hub.turns("b").await.len()), (0, 1));
}

#[tokio::test]
async fn a_yes_to_what_an_agent_wrote_at_a_strangers_words_is_no_more_than_theirs() {
    let open =
        Route { unknown: Some(UnknownSenders::Public), senders: Senders::All, ..route("b", "telegram:*") };
    for (origin, scope) in [
        (r#"{"account": "home", "place": "telegram:-100", "scope": "unknown"}"#, Scope::Unknown),
        (r#"{"account": "home", "place": "telegram:-100", "scope": "owner"}"#, Scope::Owner),
        ("", Scope::Owner),
    ] {
        let hub = Hub::new(vec![open.clone()]);
        hub.has_sent("b", origin).await;
        let event = Event::Press { data: "send the code".into() };
        let press = Received { message_id: Some("55".into()), event, ..said("p", "1", "") };
        hub.receive(vec![press]).await;
        let mut answer = said("k", "1", "Yes.");
        if let Event::Message(words) = &mut answer.event {
            words.reply_to = Some(ReplyTo { id: "55".into(), mine: true, ..ReplyTo::default() });
        }
        hub.receive(vec![answer]).await;
        let scopes: Vec<Scope> = hub.turns("b").await.into_iter().map(|(_, scope)| scope).collect();
        assert!(scopes.iter().all(|one| *one == scope) && !scopes.is_empty(), "{scopes:?} for {origin}");
    }
}

#[tokio::test]
async fn what_is_done_to_a_message_that_the_agent_read_is_read_with_the_next_turn() {
    let hub = Hub::new(vec![route("a", "telegram:*")]);
    hub.receive(vec![direct(said("1", "1", "Buy milk"))]).await;
    let change = |key: &str, about: &str, event| Received {
        message_id: Some(about.into()),
        event,
        ..direct(said(key, "1", ""))
    };
    let words = Words { text: "Buy oat milk".into(), ..Words::default() };
    let thumb = |emoji: &str| Event::Reaction { emoji: emoji.into(), removed: false };
    let changes = vec![
        change("2", "1", Event::Edit(words)),
        change("", "1", thumb("+1")),
        change("", "1", thumb("heart")),
        change("", "1", thumb("heart")),
        change("5", "unheard", Event::Delete),
    ];
    let outcome = hub.receive(changes).await;
    assert_eq!((outcome.rows.len(), outcome.repeated, outcome.woken), (3, 1, false));
    assert_eq!(why(&outcome), [Why::NotEngaged], "nobody knows that message");
}

#[tokio::test]
async fn a_message_that_was_edited_before_it_was_read_is_told_once() {
    let hub = Hub::new(vec![route("a", "telegram:*")]);
    let edit = |key: &str, text: &str| Received {
        message_id: Some("1".into()),
        event: Event::Edit(Words { text: text.into(), ..Words::default() }),
        ..direct(said(key, "1", ""))
    };
    let message = |text: &str| direct(said("1", "1", text));
    let told = |outcome: &Outcome| (outcome.rows.len(), outcome.repeated);
    assert_eq!(told(&hub.receive(vec![message("at 9"), edit("1:1", "at 9")]).await), (1, 1));
    assert_eq!(told(&hub.receive(vec![edit("1:1", "at 9")]).await), (0, 1), "nor later, alone");
    let again = hub.receive(vec![message("at 10"), edit("1:2", "at 10")]).await;
    assert_eq!(told(&again), (1, 1), "the message was known, and this is news of it");
    let other = direct(said("2", "1", "at 10"));
    assert_eq!(told(&hub.receive(vec![other, edit("1:3", "at 10")]).await), (2, 0), "of another message");
}

#[tokio::test]
async fn a_stranger_who_wakes_two_agents_waits_in_one_row() {
    let hub = Hub::new(vec![route("a", "telegram:*"), route("b", "telegram:*")]);
    let outcome = hub.receive(vec![direct(said("1", "9", "hi"))]).await;
    assert_eq!((outcome.asked.len(), outcome.rows.len()), (1, 1));
}

#[tokio::test]
async fn a_full_agent_is_not_asked_for_more() {
    let follow = Route { queue: Queueing::Followup, ..route("a", "telegram:*") };
    let hub = Hub::new(vec![follow]);
    let many = (0..25).map(|n| direct(said(&n.to_string(), "1", "x"))).collect();
    let outcome = hub.receive(many).await;
    assert_eq!(why(&outcome), [Why::TurnsFull; 5]);
}

#[tokio::test]
async fn presses_and_strangers_leave_room_for_an_owners_words() {
    let follow = Route {
        queue: Queueing::Followup,
        unknown: Some(UnknownSenders::Public),
        senders: Senders::All,
        ..route("a", "telegram:*")
    };
    let hub = Hub::new(vec![follow]);
    let presses = (0..22).map(|n| {
        let event = Event::Press { data: "x".into() };
        Received { message_id: Some("77".into()), event, ..said(&format!("p{n}"), "2", "") }
    });
    assert_eq!(why(&hub.receive(presses.collect()).await), [Why::TurnsFull; 12]);
    let words = |author: &str, count: usize| {
        (0..count).map(|n| calling(said(&format!("{author}-{n}"), author, "x"))).collect::<Vec<_>>()
    };
    assert_eq!(why(&hub.receive(words("2", 8)).await), [Why::TurnsFull; 3]);
    assert_eq!(why(&hub.receive(words("8", 2)).await), [Why::TurnsFull; 2]);
    assert_eq!(why(&hub.receive(words("1", 6)).await), [Why::TurnsFull; 1]);
    assert_eq!(hub.turns("a").await.iter().filter(|turn| turn.1 == Scope::Owner).count(), 5);
}

/// With what hooks said of the one event.
async fn receive_with(hub: &Hub, received: Received, said: Said) -> Result<Outcome, NotWritten> {
    let (at, routing) = (hub.at.clone(), hub.routing.clone());
    let batch = Batch { received: vec![received], ..Batch::default() };
    hub.store.write(move |tx| accept(tx, &at, batch, &[said], &routing, NOW)).await
}

fn only(agent: &str) -> BTreeSet<String> {
    BTreeSet::from([agent.to_owned()])
}

#[tokio::test]
async fn a_hook_bars_one_agent_keeps_another_asleep_and_lets_nobody_in() {
    let keeps = Route { ignored: Ignored::Accumulate, ..route("c", "telegram:*") };
    let hub = Hub::new(vec![route("a", "telegram:*"), route("b", "telegram:*"), keeps]);
    let asked = Some(["a", "b", "c"].map(str::to_owned).into());
    let said_of = Said { asked: asked.clone(), barred: only("a"), quiet: only("c"), ..Said::default() };
    let outcome = receive_with(&hub, direct(said("1", "1", "hi")), said_of).await.unwrap();
    assert_eq!(
        (hub.turns("a").await.len(), hub.turns("b").await.len(), hub.turns("c").await.len()),
        (0, 1, 0)
    );
    assert_eq!(hub.count("SELECT count(*) FROM turn_items WHERE NOT engages AND agent = 'c'").await, 1);
    assert_eq!(why(&outcome), [], "somebody has it");
    let barred = ["a", "b", "c"].map(str::to_owned).into();
    let said_of = Said { asked: asked.clone(), barred, ..Said::default() };
    let outcome = receive_with(&hub, direct(said("2", "1", "hi")), said_of).await.unwrap();
    assert_eq!(why(&outcome), [Why::Gate]);
    // Whatever they say, somebody who is shut out stays out, and a stranger is asked about.
    let through = Said { asked: asked.clone(), ..Said::default() };
    assert_eq!(
        why(&receive_with(&hub, direct(said("3", "3", "x")), through.clone()).await.unwrap()),
        [Why::Blocked]
    );
    assert_eq!(receive_with(&hub, direct(said("4", "9", "x")), through).await.unwrap().asked.len(), 1);
    let quiet = ["a", "b", "c"].map(str::to_owned).into();
    let silent = Said { asked, quiet, ..Said::default() };
    let outcome = receive_with(&hub, direct(said("5", "8", "x")), silent).await.unwrap();
    assert_eq!(
        (outcome.asked.len(), why(&outcome)),
        (0, vec![Why::Gate]),
        "nobody is asked for what would not wake it"
    );
}

#[tokio::test]
async fn a_hook_says_who_wrote_and_the_hub_how_far_they_are_trusted() {
    let hub = Hub::new(vec![route("a", "telegram:*")]);
    let is = |user: &str| Said { user: Some(user.into()), asked: Some(only("a")), ..Said::default() };
    receive_with(&hub, direct(said("1", "9", "hi")), is("tg:1")).await.unwrap();
    assert_eq!(hub.turns("a").await[0].1, Scope::Owner);
    let blocked = receive_with(&hub, direct(said("2", "1", "hi")), is("tg:3")).await.unwrap();
    assert_eq!(why(&blocked), [Why::Blocked], "the least of all their ids, if one is shut out");
    let stranger = receive_with(&hub, direct(said("3", "9", "hi")), is("tg:10")).await.unwrap();
    assert_eq!(stranger.asked.len(), 1);
    let mut unverified = direct(said("4", "9", "hi"));
    unverified.author.unverified = true;
    receive_with(&hub, unverified, is("tg:1")).await.unwrap();
    assert_eq!(hub.turns("a").await.len(), 1, "nobody vouches for the author");
}

#[tokio::test]
async fn an_agent_that_no_hook_was_asked_about_gets_nothing_and_nothing_is_written() {
    let hub = Hub::new(vec![route("a", "telegram:*")]);
    let other = Said { asked: Some(only("b")), ..Said::default() };
    let refused = receive_with(&hub, direct(said("1", "1", "hi")), other).await;
    assert!(matches!(refused, Err(NotWritten::NotAsked)));
    assert_eq!(hub.count("SELECT count(*) FROM inbound_keys").await, 0, "it may come again");
    let given_up = Said { given_up: true, ..Said::default() };
    let outcome = receive_with(&hub, direct(said("1", "1", "hi")), given_up).await.unwrap();
    assert_eq!(why(&outcome), [Why::GateFailed]);
    assert_eq!(hub.count("SELECT count(*) FROM drops WHERE reason = 'gate_failed'").await, 1);
}

#[tokio::test]
async fn nobody_is_asked_about_a_conversation_that_a_hook_keeps_silent() {
    let mut hub = Hub::new(vec![]);
    hub.routing.default_agent = Some("a".into());
    let of = |said: Said| Said { asked: Some(only("a")), ..said };
    let silent = of(Said { silent: true, ..Said::default() });
    assert_eq!(why(&receive_with(&hub, calling(said("1", "2", "x")), silent).await.unwrap()), [Why::Gate]);
    let outcome = receive_with(&hub, calling(said("2", "2", "x")), of(Said::default())).await.unwrap();
    assert_eq!(outcome.asked.len(), 1);
}

fn posted(key: &str, text: &str) -> Received {
    let mut received = said(key, "ci", text);
    received.author.kind = AuthorKind::Program;
    received.event = Event::Webhook(Words { text: text.into(), ..Words::default() });
    received
}

#[tokio::test]
async fn what_a_program_posts_wakes_by_a_pattern_alone() {
    let pattern = |text: Option<&str>| Engage::Pattern(text.map(|text| Regex::new(text).unwrap()));
    for (engage, woken) in [
        (pattern(None), true),
        (pattern(Some("failed")), true),
        (pattern(Some("passed")), false),
        (Engage::Mention, false),
        (Engage::MentionSticky, false),
    ] {
        let mut hub = Hub::new(vec![Route { engage: engage.clone(), ..route("a", "telegram:*") }]);
        // The session is active: somebody whom the account knows has just spoken there.
        hub.receive(vec![calling(said("1", "1", "hello"))]).await;
        hub.at.vouched = Some(Scope::Known);
        let outcome = hub.receive_at(vec![posted("2", "build 7 failed")], NOW + 20_000).await;
        assert_eq!(outcome.woken, woken, "{engage:?}");
        assert_eq!(why(&outcome), if woken { vec![] } else { vec![Why::NotEngaged] }, "{engage:?}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_trusted_needs_a_route_for_everybody_and_is_held_to_a_persons_pace() {
    let open = Route {
        engage: Engage::Pattern(None),
        senders: Senders::All,
        unknown: Some(UnknownSenders::Public),
        ..route("a", "*")
    };
    let known_only = Route { senders: Senders::Known, ..open.clone() };
    let closed = Route { unknown: None, ..open.clone() };
    for (route, expected) in
        [(open.clone(), vec![]), (known_only, vec![Why::NotEngaged]), (closed, vec![Why::UnknownSender])]
    {
        let mut hub = Hub::new(vec![route]);
        hub.at.unknown = UnknownSenders::Strict;
        let outcome = hub.receive(vec![posted("1", "done")]).await;
        assert_eq!(why(&outcome), expected);
        assert!(outcome.asked.is_empty());
    }
    let hub = Hub::new(vec![open]);
    let many = (0..31).map(|n| posted(&n.to_string(), "done")).collect();
    assert_eq!(why(&hub.receive(many).await), [Why::TooMany]);
    assert_eq!(hub.turns("a").await[0].1, Scope::Unknown);
    // Its program posts it again, and it is taken.
    let again = hub.receive_at(vec![posted("30", "done")], NOW + 60_001).await;
    assert_eq!((again.repeated, why(&again)), (0, vec![]));
}
