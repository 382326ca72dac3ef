//! An account that receives, at a Gateway that follows a script.

use std::sync::Arc;

use serde_json::json;
use tokio::{task::JoinHandle, time::timeout};

use super::*;
use crate::{
    channels::{
        discord::{
            Step::{self, *},
            gateway::{
                Tempo, intent,
                mock::{Mock, SESSION},
            },
        },
        kit::http::base::Base,
        received::{AuthorKind, Event, Received},
        testing::{http::http, hub::HubMock},
    },
    settings::secret::Secret,
};

mod readings;

const TOKEN: &str = "MTk4.hush.hush";
const SELDOM: u64 = 41_250;
const OFTEN: u64 = 250;

const QUICK: Tempo = Tempo {
    first: Duration::from_millis(5),
    longest: Duration::from_millis(50),
    identify: Duration::from_millis(10),
};

const GENERAL: &str = r#"{"id": "42", "type": 0, "guild_id": "77", "parent_id": "5", "name": "general"}"#;
const HELLO: Step = Dispatch(
    r#"{"t": "MESSAGE_CREATE", "d": {"id": "101", "channel_id": "42", "guild_id": "77", "type": 0, "content": "Hello",
        "timestamp": "2026-11-23T12:00:00.000000+00:00", "author": {"id": "99", "username": "ann"}, "mentions": [{"id": "1986"}]}}"#,
);

/// An account at a mock.
struct Home {
    gateway: Arc<Gateway>,
    listening: JoinHandle<()>,
}

impl Drop for Home {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Home {
    fn at(mock: &Mock, hub: &Arc<HubMock>) -> Self {
        let gateway = Arc::new(Gateway::new("home", QUICK, intent::PEOPLE));
        let base = Base::parse("base_url", &format!("http://127.0.0.1:{}/api/v10", mock.port)).unwrap();
        let client = Client::new(http(), base, Secret::from(TOKEN));
        let (keeper, hub) = (gateway.clone(), hub.clone());
        let listening = tokio::spawn(async move { listen(&client, &keeper, hub.as_ref(), None).await });
        Self { gateway, listening }
    }

    /// The hub stops.
    async fn stop(mut self) {
        timeout(Duration::from_secs(20), self.gateway.leave()).await.unwrap();
        timeout(Duration::from_secs(20), &mut self.listening).await.expect("it ends").unwrap();
    }
}

fn mock(script: &[&'static [Step]]) -> Mock {
    let mock = Mock::start(TOKEN, script);
    mock.answers("GET /api/v10/channels/42", &[(200, GENERAL)]);
    mock
}

async fn received(hub: &HubMock, count: usize) -> Vec<Received> {
    timeout(Duration::from_secs(30), hub.received(count)).await.expect("it is received")
}

fn texts(received: &[Received]) -> Vec<&str> {
    received.iter().map(|one| one.event.words().map_or("", |words| words.text.as_str())).collect()
}

/// A message as the hub is told of it, and the hub.
async fn settled(mock: &Mock, message: &serde_json::Value) -> (Received, HubMock) {
    let (gateway, hub) = (Gateway::new("home", QUICK, intent::PEOPLE), HubMock::default());
    let base = Base::parse("base_url", &format!("http://127.0.0.1:{}/api/v10", mock.port)).unwrap();
    let client = Client::new(http(), base, Secret::from(TOKEN));
    let draft = reader::read("MESSAGE_CREATE", message, "", "1986").unwrap().remove(0);
    (settle::settle(&client, &gateway, &hub, draft, "1986").await.unwrap(), hub)
}

fn no_faults(mock: &Mock) {
    assert_eq!(mock.faults(), Vec::<String>::new());
}

#[tokio::test]
async fn a_restart_goes_on_in_the_session_where_the_rows_end() {
    let mock = mock(&[&[Hello(SELDOM), Ready, HELLO, Stay], &[Hello(SELDOM), Replays, HELLO, Stay]]);
    let hub = Arc::new(HubMock::default());
    let home = Home::at(&mock, &hub);
    let first = received(&hub, 1).await;
    assert_eq!((texts(&first), first[0].conversation.address.as_str()), (vec!["Hello"], "42"));
    assert_eq!(first[0].conversation.title.as_deref(), Some("general"));
    assert!(first[0].mentions_me && !first[0].conversation.direct);
    assert_eq!(mock.heard(2)[0]["intents"], 50_345_472);
    home.stop().await;
    assert_eq!(hub.at_position("conversations").as_deref(), Some("42:101"));
    let _home = Home::at(&mock, &hub);
    received(&hub, 2).await;
    // READY and the message were written down: of them nothing comes again.
    assert_eq!((mock.heard(6)[0]["seq"].clone(), mock.heard(2).len()), (json!(2), 1));
    no_faults(&mock);
}

#[tokio::test]
async fn a_long_event_keeps_nobody_from_being_heard_and_is_not_asked_for_again() {
    for (long, dropped) in [(LongServer(2_000_000), "GUILD_CREATE"), (Long(16 * 1024 * 1024), "event")] {
        let script: [&'static [Step]; 3] = [
            vec![Hello(SELDOM), Ready, long].leak(),
            &[Hello(SELDOM), Replays, HELLO, Stay],
            &[Hello(SELDOM), Replays, Stay],
        ];
        let (mock, hub) = (mock(&script), Arc::new(HubMock::default()));
        let home = Home::at(&mock, &hub);
        assert_eq!(texts(&received(&hub, 1).await), ["Hello"]);
        let what: Vec<String> = hub.dropped().into_iter().map(|one| one.what).collect();
        assert_eq!((what, mock.heard(6)[0]["seq"].clone()), (vec![dropped.to_owned()], json!(2)));
        home.stop().await;
        // Nor after a restart.
        let _home = Home::at(&mock, &hub);
        mock.until(6, 2).await;
        assert_eq!((mock.heard(6)[1]["seq"].as_u64(), mock.heard(2).len()), (Some(4), 1));
        no_faults(&mock);
    }
}

#[tokio::test]
async fn what_was_not_written_down_comes_again_under_the_same_key() {
    let mock = mock(&[&[Hello(SELDOM), Ready, HELLO, Stay], &[Hello(SELDOM), Replays, Stay]]);
    let hub = Arc::new(HubMock::default());
    let home = Home::at(&mock, &hub);
    let before = received(&hub, 1).await;
    let session = hub.at_position("session").unwrap();
    home.stop().await;
    // As if the row and the position behind it had been lost together.
    let session = session.replace("\"seq\":2", "\"seq\":1");
    let hub = Arc::new(HubMock::at(&[("session", &session)]));
    let _home = Home::at(&mock, &hub);
    assert_eq!(received(&hub, 1).await, before);
    no_faults(&mock);
}

#[tokio::test]
async fn nothing_is_acknowledged_before_it_is_written_down() {
    let mock = mock(&[&[Hello(OFTEN), Ready, HELLO, Beat, Beat, Stay]]);
    let hub = Arc::new(HubMock::default());
    hub.fail(usize::MAX);
    let _home = Home::at(&mock, &hub);
    mock.until(1, 4).await;
    assert!(mock.heard(1).iter().all(serde_json::Value::is_null), "{:?}", mock.heard(1));
    assert_eq!(hub.at_position("session"), None);
    hub.fail(0);
    received(&hub, 1).await;
    let beats = mock.heard(1).len();
    mock.until(1, beats + 2).await;
    assert_eq!(mock.heard(1).last(), Some(&json!(2)));
    no_faults(&mock);
}

#[tokio::test]
async fn the_gap_of_a_lost_session_is_filled_from_each_conversation_that_is_known() {
    const PAGE: &str = r#"[
        {"id": "103", "channel_id": "42", "type": 0, "content": "third", "author": {"id": "98", "username": "bob", "bot": true}},
        {"id": "102", "channel_id": "42", "type": 0, "content": "second", "author": {"id": "99", "username": "ann"}},
        {"id": "x"}, 5]"#;
    let mock = mock(&[&[Hello(SELDOM), Invalid(false)], &[Hello(SELDOM), Ready, HELLO, Stay]]);
    mock.answers(
        "GET /api/v10/channels/42/messages?after=100&limit=100",
        &[(429, r#"{"message": "slowly", "retry_after": 0.01, "global": false}"#), (500, "")],
    );
    // One that cannot be read is asked for in smaller pieces.
    mock.answers("GET /api/v10/channels/42/messages?after=100&limit=25", &[(200, PAGE)]);
    mock.answers("GET /api/v10/channels/43/messages?after=7&limit=100", &[(404, r#"{"code": 10003}"#)]);
    let url = format!("ws://127.0.0.1:{}/again", mock.port);
    let session =
        json!({"id": SESSION, "url": url, "seq": 0, "bot": "1986", "intents": intent::PEOPLE}).to_string();
    let hub = Arc::new(HubMock::at(&[("session", &session), ("conversations", "43:7 42:100")]));
    let _home = Home::at(&mock, &hub);
    let all = received(&hub, 3).await;
    assert_eq!(texts(&all), ["second", "third", "Hello"], "the gap comes before what is new");
    assert_eq!(all[1].author.kind, AuthorKind::Program);
    assert_eq!(hub.at_position("conversations").as_deref(), Some("42:103"), "what is gone is forgotten");
    assert_eq!((mock.heard(6).len(), mock.heard(2).len()), (1, 1));
    no_faults(&mock);
}

#[tokio::test]
async fn a_week_comes_at_once_and_all_of_it_is_received() {
    let mut script = vec![Hello(SELDOM), Ready];
    script.extend([HELLO; 1_000]);
    script.push(Stay);
    let mock = mock(&[Box::leak(script.into_boxed_slice())]);
    let hub = Arc::new(HubMock::default());
    let _home = Home::at(&mock, &hub);
    assert_eq!(received(&hub, 1_000).await.len(), 1_000);
    no_faults(&mock);
}

#[tokio::test]
async fn files_are_fetched_at_once_and_what_is_missing_is_said() {
    let mock = mock(&[]);
    mock.answers("GET /files/a.txt?ex=1", &[(200, "All of it")]);
    mock.answers("GET /files/b.txt", &[(404, "")]);
    let at = |path: &str| format!("http://127.0.0.1:{}{path}", mock.port);
    let files = [
        json!({"filename": "a.txt", "content_type": "text/plain", "url": at("/files/a.txt?ex=1")}),
        json!({"filename": "b.txt", "url": at("/files/b.txt")}),
        json!({"filename": "c.txt", "url": "https://example.org/c.txt"}),
    ];
    let message =
        json!({"id": "5", "channel_id": "42", "content": "", "author": {"id": "99"}, "attachments": files});
    let (received, hub) = settled(&mock, &message).await;
    let words = received.event.words().unwrap();
    assert_eq!((words.files.len(), hub.files()), (1, vec![b"All of it".to_vec()]));
    assert_eq!(words.missing.len(), 2, "{:?}", words.missing);
    assert!(words.missing[0].contains("404") && words.missing[1].contains("no address of Discord's"));
    no_faults(&mock);
}

#[tokio::test]
async fn a_press_is_answered_once_it_is_written_down_and_odd_events_stop_nothing() {
    const PRESS: Step = Dispatch(
        r#"{"t": "INTERACTION_CREATE", "d": {"id": "7001", "type": 3, "token": "aW50ZXI.hush", "channel_id": "42",
            "message": {"id": "1001"}, "member": {"user": {"id": "99", "username": "ann"}, "nick": "Ann"},
            "data": {"component_type": 3, "custom_id": "size", "values": ["s", "m"]}}}"#,
    );
    const ODD: Step = Dispatch(r#"{"t": "MESSAGE_CREATE", "d": [1]}"#);
    const ELSEWHERE: Step = Dispatch(
        r#"{"t": "MESSAGE_CREATE", "d": {"id": "9", "channel_id": "66", "content": "?", "author": {"id": "99"}}}"#,
    );
    let mock = mock(&[&[Hello(SELDOM), Ready, ODD, ELSEWHERE, PRESS, Stay]]);
    mock.answers("GET /api/v10/channels/66", &[(403, r#"{"code": 50001, "message": "Missing Access"}"#)]);
    let hub = Arc::new(HubMock::default());
    let _home = Home::at(&mock, &hub);
    let press = received(&hub, 1).await.remove(0);
    assert_eq!(press.event, Event::Press { data: "size=s,m".into() });
    assert_eq!((press.key.as_str(), press.author.name.as_deref()), ("7001", Some("Ann")));
    assert_eq!(hub.dropped().len(), 2, "{:?}", hub.dropped());
    let line = "POST /api/v10/interactions/7001/aW50ZXI.hush/callback";
    let answered = async {
        while !mock.requests().iter().any(|(of, body)| of == line && *body == json!({"type": 6})) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(Duration::from_secs(20), answered).await.expect("it is answered");
}

#[tokio::test]
async fn the_bots_own_role_means_the_bot_and_no_other_role_does() {
    let mock = mock(&[]);
    let roles =
        r#"[{"id": "77"}, {"id": "5", "tags": {"bot_id": "1986"}}, {"id": "6", "tags": {"bot_id": "7"}}]"#;
    mock.answers("GET /api/v10/guilds/77/roles", &[(200, roles)]);
    for (called, meant) in [(json!(["5"]), true), (json!(["6", "77"]), false), (json!([]), false)] {
        let message = json!({"id": "5", "channel_id": "42", "content": "Hello", "author": {"id": "99"}, "mention_roles": called});
        assert_eq!(settled(&mock, &message).await.0.mentions_me, meant, "{called}");
    }
    no_faults(&mock);
}

#[tokio::test]
async fn a_direct_message_is_answered_by_the_persons_id_and_its_own_words_are_known() {
    let mock = mock(&[]);
    mock.answers(
        "GET /api/v10/channels/43",
        &[(200, r#"{"id": "43", "type": 1, "recipients": [{"id": "99"}]}"#)],
    );
    for (author, kind) in [("99", AuthorKind::Person), ("1986", AuthorKind::Myself)] {
        let message = json!({"id": "5", "channel_id": "43", "content": "Hello", "author": {"id": author}});
        let received = settled(&mock, &message).await.0;
        assert_eq!((received.conversation.address.as_str(), received.conversation.direct), ("@99", true));
        assert_eq!(received.author.kind, kind);
    }
}

#[tokio::test]
async fn an_event_that_cannot_be_read_again_and_again_costs_the_session_and_not_the_account() {
    const BAD: &[Step] = &[Hello(SELDOM), Raw("no event")];
    let mut script: Vec<&'static [Step]> = vec![&[Hello(SELDOM), Ready, HELLO, Raw("no event")]];
    script.extend([BAD; 8]);
    script.push(&[Hello(SELDOM), Ready, HELLO, Stay]);
    let mock = mock(&script);
    mock.answers("GET /api/v10/channels/42/messages?after=101&limit=100", &[(200, "[]")]);
    let hub = Arc::new(HubMock::default());
    let _home = Home::at(&mock, &hub);
    received(&hub, 2).await;
    assert_eq!(mock.heard(2).len(), 2, "one that is new, after the one before led nowhere");
    let asked = |line: &str| mock.requests().iter().any(|(of, _)| of == line);
    assert!(asked("GET /api/v10/channels/42/messages?after=101&limit=100"), "its gap is filled");
    no_faults(&mock);
}
