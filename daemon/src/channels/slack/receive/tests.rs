//! An account that receives, at a Slack that follows a script; and what each event says.

mod mock;
mod readings;

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::timeout};

use self::mock::{
    Mock,
    Step::{self, *},
};
use super::*;
use crate::{
    channels::{
        kit::http::base::Base,
        received::{Event, Received},
        testing::{http::http, hub::HubMock},
    },
    clock,
    settings::secret::Secret,
};

const QUICK: Tempo = Tempo {
    first: Duration::from_millis(5),
    longest: Duration::from_millis(50),
    refused: Duration::from_millis(100),
    ping: Duration::from_millis(50),
    silence: Duration::from_millis(400),
    linger: Duration::from_secs(5),
    between: Duration::ZERO,
    patience: Duration::from_secs(20),
};

const KITCHEN: &str = "C012AB3CD";
const ANN: &str = "U012AB3CD";

/// An account at a mock.
struct Home {
    listener: Arc<Listener>,
    listening: JoinHandle<()>,
}

impl Drop for Home {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Home {
    fn at(mock: &Mock, hub: &Arc<HubMock>) -> Self {
        Self::with(QUICK, mock, hub)
    }

    fn with(tempo: Tempo, mock: &Mock, hub: &Arc<HubMock>) -> Self {
        let listener = Arc::new(Listener::new("home", http(), Secret::from(mock::APP), tempo));
        let base = Base::parse("base_url", &format!("http://127.0.0.1:{}/api", mock.port)).unwrap();
        let client = Client::new(http(), base, Secret::from(mock::BOT));
        let (keeper, hub) = (listener.clone(), hub.clone());
        let listening = tokio::spawn(async move { keeper.listen(&client, hub.as_ref()).await });
        Self { listener, listening }
    }

    /// Waits until there is such trouble.
    async fn says(&self, words: &str) {
        let said = async {
            while !self.listener.trouble().join("; ").contains(words) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(Duration::from_secs(20), said)
            .await
            .unwrap_or_else(|_| panic!("{:?}", self.listener.trouble()));
    }

    /// The hub stops.
    async fn stop(mut self) {
        timeout(Duration::from_secs(20), self.listener.leave()).await.unwrap();
        timeout(Duration::from_secs(20), &mut self.listening).await.expect("it ends").unwrap();
    }
}

/// An envelope with an event.
fn told(id: &str, event: &Value) -> Step {
    let payload = json!({"type": "event_callback", "team_id": "T0HOUSE01", "event_id": format!("Ev{id}"), "event": event});
    Say(json!({"type": "events_api", "envelope_id": id, "accepts_response_payload": false, "payload": payload}).to_string())
}

fn message(ts: &str, text: &str) -> Value {
    json!({"type": "message", "channel": KITCHEN, "user": ANN, "text": text, "ts": ts, "event_ts": ts})
}

fn said(id: &str, second: u64, text: &str) -> Step {
    told(id, &message(&format!("{second}.000100"), text))
}

async fn received(hub: &HubMock, count: usize) -> Vec<Received> {
    timeout(Duration::from_secs(20), hub.received(count)).await.expect("it is received")
}

fn texts(received: &[Received]) -> Vec<&str> {
    received.iter().map(|one| one.event.words().map_or("", |words| words.text.as_str())).collect()
}

#[tokio::test]
async fn nothing_is_acknowledged_before_it_is_written_down() {
    let mock =
        Mock::start(vec![vec![Hello, said("e1", 1_790_000_000, "Hello <@U012AB3CD> &amp; all"), Stay]]);
    mock.answers("users.info", &[(200, r#"{"ok":true,"user":{"profile":{"display_name":"Ann"}}}"#)]);
    mock.answers("conversations.info", &[(200, r#"{"ok":true,"channel":{"name":"kitchen"}}"#)]);
    let hub = Arc::new(HubMock::default());
    hub.fail(usize::MAX);
    let home = Home::at(&mock, &hub);
    mock.until_asked("conversations.info").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(mock.acked().is_empty(), "{:?}", mock.acked());
    let deaf = home.listener.hearing();
    assert!(!deaf.ready && deaf.standing.contains("nothing can be written down"), "{deaf:?}");
    hub.fail(0);
    let one = received(&hub, 1).await.remove(0);
    assert_eq!(texts(std::slice::from_ref(&one)), ["Hello @Ann & all"]);
    assert_eq!(
        (one.author.name.as_deref(), one.conversation.title.as_deref()),
        (Some("Ann"), Some("kitchen"))
    );
    assert_eq!(one.conversation.address, KITCHEN);
    mock.until_acked(&[(0, "e1")]).await;
    assert_eq!(home.listener.hearing(), Hearing { ready: true, standing: "receives".into() });
    assert_eq!(hub.at_position("conversations").as_deref(), Some("C012AB3CD:1790000000000100"));
    home.stop().await;
    assert_eq!(mock.faults(), Vec::<String>::new());
}

#[tokio::test]
async fn while_one_connection_takes_the_place_of_another_both_are_heard() {
    let mock = Mock::start(vec![
        vec![
            Hello,
            said("e1", 1, "one"),
            Acked("e1"),
            Disconnect("warning"),
            Disconnect("refresh_requested"),
            Opened(2),
            said("e2", 2, "two"),
            Acked("e2"),
            HangUp,
        ],
        vec![Hello, said("e3", 3, "three"), Acked("e3"), Stay],
    ]);
    let hub = Arc::new(HubMock::default());
    let home = Home::at(&mock, &hub);
    let all = received(&hub, 3).await;
    let mut words = texts(&all);
    words.sort_unstable();
    assert_eq!(words, ["one", "three", "two"]);
    mock.until_acked(&[(0, "e1"), (0, "e2"), (1, "e3")]).await;
    assert!(!mock.asked("conversations.history"), "there was no gap");
    assert_eq!(home.listener.trouble(), Vec::<String>::new());
    assert_eq!(mock.faults(), Vec::<String>::new());
}

#[tokio::test]
async fn a_connection_that_says_nothing_any_more_is_given_up_and_its_gap_is_filled() {
    let mock = Mock::start(vec![
        vec![Hello, said("e1", 1_790_000_000, "before"), Acked("e1"), Deaf],
        vec![Hello, Stay],
    ]);
    let page = r#"{"ok":true,"messages":[
        {"type":"message","user":"U012AB3CD","text":"third","ts":"1790000003.000100"},
        {"type":"message","bot_id":"B1","subtype":"bot_message","text":"a bot's","ts":"1790000002.000100"}],
        "response_metadata":{"next_cursor":"more"}}"#;
    let rest = r#"{"ok":true,"messages":[5, {"type":"message","user":"U012AB3CD","text":"second","ts":"1790000001.000100"},
        {"type":"message","subtype":"channel_join","user":"U012AB3CD","text":"joined","ts":"1790000000.500000"}]}"#;
    mock.answers(
        "conversations.history",
        &[(429, r#"{"ok":false,"error":"ratelimited"}"#), (500, ""), (200, page), (200, rest)],
    );
    let hub = Arc::new(HubMock::default());
    let home = Home::at(&mock, &hub);
    let all = received(&hub, 4).await;
    assert_eq!(texts(&all), ["before", "second", "a bot's", "third"], "oldest first");
    let asked = mock.requests("conversations.history");
    assert!(asked.iter().all(|form| form.contains("oldest=1789999640.000100")), "{asked:?}");
    assert!(asked.last().unwrap().contains("cursor=more"), "{asked:?}");
    assert_eq!(hub.at_position("conversations").as_deref(), Some("C012AB3CD:1790000003000100"));
    assert_eq!(home.listener.trouble(), Vec::<String>::new());
}

/// A conversation that Slack tells at the second time, or the sixth, and something that comes meanwhile.
fn slow_history(failures: usize) -> Mock {
    let mock = Mock::start(vec![
        vec![Hello, said("e1", 1_790_000_000, "before"), Acked("e1"), HangUp],
        vec![Hello, said("e2", 1_790_000_002, "after"), Acked("e2"), Stay],
    ]);
    let page = r#"{"ok":true,"messages":[
        {"type":"message","user":"U012AB3CD","text":"meanwhile","ts":"1790000001.000100"}]}"#;
    let answers: Vec<_> = std::iter::repeat_n((500, ""), failures).chain([(200, page)]).collect();
    mock.answers("conversations.history", &answers);
    mock
}

#[tokio::test]
async fn what_comes_after_a_gap_waits_for_what_was_said_before_it_and_is_acknowledged_then() {
    let mock = slow_history(1);
    let hub = Arc::new(HubMock::default());
    let _home = Home::at(&mock, &hub);
    assert_eq!(texts(&received(&hub, 3).await), ["before", "meanwhile", "after"]);
    mock.until_acked(&[(0, "e1"), (1, "e2")]).await;
    assert_eq!(hub.at_position("conversations").as_deref(), Some("C012AB3CD:1790000002000100"));
}

#[tokio::test]
async fn nothing_waits_for_ever_for_what_was_said_before_it() {
    let mock = slow_history(5);
    let hub = Arc::new(HubMock::default());
    let impatient = Tempo { first: Duration::from_millis(200), longest: Duration::from_millis(200), ..QUICK };
    let _home = Home::with(Tempo { patience: Duration::from_millis(20), ..impatient }, &mock, &hub);
    assert_eq!(texts(&received(&hub, 3).await), ["before", "after", "meanwhile"]);
}

#[tokio::test]
async fn a_direct_conversation_that_is_new_is_asked_for_what_was_lost_before_and_heard_whatever_it_says() {
    let now = clock::now_ms() / 1000;
    let told = |id: &str, channel: &str, text: &str| {
        let ts = format!("{now}.000200");
        let said = json!({"type": "message", "channel": channel, "user": ANN, "text": text, "ts": ts, "event_ts": ts});
        told(id, &said)
    };
    let page = json!({"ok": true, "messages": [{"type": "message", "user": ANN, "text": "first", "ts": format!("{now}.000100")}]});
    let refused = r#"{"ok":false,"error":"missing_scope","needed":"im:history","provided":"chat:write"}"#;
    let mock = Mock::start(vec![vec![
        Hello,
        told("e1", "D012AB3CD", "second"),
        Acked("e1"),
        told("e2", "D012AB3CE", "unread"),
        Acked("e2"),
        told("e3", KITCHEN, "third"),
        Acked("e3"),
        Stay,
    ]]);
    mock.answers("conversations.history", &[(200, &page.to_string()), (200, refused)]);
    let hub = Arc::new(HubMock::default());
    let _home = Home::at(&mock, &hub);
    assert_eq!(texts(&received(&hub, 4).await), ["first", "second", "unread", "third"]);
    let asked = mock.requests("conversations.history");
    assert_eq!(asked.len(), 2, "in a channel it may be from before the bot was let in: {asked:?}");
}

#[tokio::test]
async fn words_that_were_changed_in_a_gap_are_told_by_the_key_of_their_event() {
    let mock = Mock::start(vec![vec![Hello, Stay]]);
    let page = r#"{"ok":true,"messages":[
        {"type":"message","user":"U012AB3CD","text":"two","ts":"1790000009.000100","edited":{"user":"U012AB3CD","ts":"1790000010.000000"}},
        {"type":"message","user":"U012AB3CD","text":"now","ts":"1790000000.000100","edited":{"user":"U012AB3CD","ts":"1790000005.000000"}},
        {"type":"message","user":"U012AB3CD","text":"old","ts":"1789999990.000100","edited":{"user":"U012AB3CD","ts":"1789999995.000000"}}]}"#;
    mock.answers("conversations.history", &[(200, page)]);
    let hub = Arc::new(HubMock::at(&[("conversations", "C012AB3CD:1790000000000100")]));
    let _home = Home::at(&mock, &hub);
    let all = received(&hub, 4).await;
    assert_eq!(texts(&all), ["old", "now", "now", "two"]);
    let edits: Vec<_> = all.iter().filter(|one| matches!(one.event, Event::Edit(_))).collect();
    let keys: Vec<_> = edits.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(
        keys,
        ["C012AB3CD:1790000000.000100:1790000005.000000"],
        "of what is new, its words are told once"
    );
}

#[tokio::test]
async fn a_restart_asks_every_place_that_is_known_and_says_where_it_may_not_read() {
    let mock = Mock::start(vec![vec![Hello, Stay]]);
    mock.answers(
        "conversations.history",
        &[(200, r#"{"ok":false,"error":"missing_scope","needed":"groups:history","provided":"chat:write"}"#)],
    );
    mock.answers("conversations.replies", &[(200, r#"{"ok":true,"messages":[
        {"type":"message","user":"U099AB3CD","text":"the root","ts":"1780000000.000000","thread_ts":"1780000000.000000"},
        {"type":"message","user":"U012AB3CD","text":"an answer","ts":"1790000009.000100","thread_ts":"1780000000.000000","parent_user_id":"U0HUB0001"}]}"#)]);
    let hub = Arc::new(HubMock::at(&[(
        "conversations",
        "G012AB3CD:1790000000000100 C012AB3CD/1780000000000000:1790000000000100",
    )]));
    let home = Home::at(&mock, &hub);
    let one = received(&hub, 1).await.remove(0);
    assert_eq!((texts(std::slice::from_ref(&one)), one.mentions_me), (vec!["an answer"], true));
    assert_eq!(one.conversation.thread.as_deref(), Some("1780000000.000000"));
    home.says("G012AB3CD").await;
    assert!(home.listener.trouble().join(" ").contains("groups:history"));
}

#[tokio::test]
async fn what_somebody_must_do_is_said_and_nothing_goes_fast() {
    let mock = Mock::start(vec![
        vec![Hello, Disconnect("link_disabled"), Stay],
        vec![Hello, Disconnect("too_many_websockets"), Stay],
        vec![Hello, Stay],
    ]);
    let hub = Arc::new(HubMock::default());
    let home = Home::at(&mock, &hub);
    home.says("Socket Mode is switched off").await;
    home.says("as many connections").await;
    mock.until_open(3).await;
    let open = mock.requests("apps.connections.open").len();
    assert_eq!(open, 3);
    for (answer, words) in [
        (r#"{"ok":false,"error":"invalid_auth"}"#, "app-level token rejected"),
        (r#"{"ok":false,"error":"not_allowed_token_type"}"#, "xapp-"),
        (
            r#"{"ok":false,"error":"missing_scope","needed":"connections:write","provided":""}"#,
            "connections:write",
        ),
        (r#"{"ok":true,"url":"https://example.org"}"#, "no address"),
    ] {
        let mock = Mock::start(vec![]);
        mock.answers("apps.connections.open", &[(200, answer)]);
        Home::at(&mock, &hub).says(words).await;
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_counted_and_acknowledged_and_the_next_message_comes() {
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let odd = [
        r#"{"type":"events_api","envelope_id":"o1","payload":{"type":"event_callback","event":{"type":"message"}}}"#.into(),
        r#"{"type":"events_api","envelope_id":"o2","payload":5}"#.into(),
        r#"{"type":"tomorrow","envelope_id":"o3","payload":{}}"#.into(),
        r#"{"type":"slash_commands","envelope_id":"o4","payload":{"command":"/tea"}}"#.into(),
        r#"{"type":"interactive","envelope_id":"o5","payload":{"type":"view_submission"}}"#.into(),
        format!(r#"{{"type":"events_api","payload":{{"event":{deep}}},"envelope_id":"o6"}}"#),
        r#"{"type":"events_api","payload":{}}"#.into(),
        "no JSON".into(),
        "{}".into(),
    ];
    let mut script = vec![Hello];
    script.extend(odd.into_iter().map(Say));
    script.extend([
        said("e1", 1, &"many ".repeat(200_000)),
        Acked("e1"),
        // Longer than anything that Slack sends: the connection ends, and another one begins.
        Say("x".repeat(3 << 20)),
        Stay,
    ]);
    let mock = Mock::start(vec![script, vec![Hello, said("e2", 2, "good"), Acked("e2"), Stay]]);
    let hub = Arc::new(HubMock::default());
    let _home = Home::at(&mock, &hub);
    let all = received(&hub, 2).await;
    assert!(all[0].event.words().unwrap().truncated);
    assert_eq!(texts(&all)[1], "good");
    let dropped = hub.dropped();
    assert_eq!(dropped.len(), 9, "{dropped:?}");
    mock.until_this_is_acked("e2").await;
    let acked: Vec<String> = mock.acked().into_iter().map(|(_, id)| id).collect();
    for id in ["o1", "o2", "o3", "o4", "o5", "o6", "e1", "e2"] {
        assert!(acked.iter().any(|acked| acked == id), "{id}: {acked:?}");
    }
}

#[tokio::test]
async fn files_are_fetched_with_the_token_and_a_page_to_sign_in_at_is_none() {
    let mock = Mock::start(vec![]);
    mock.answers("/files/a.txt", &[(200, "All of it")]);
    mock.answers("/files/b.png", &[(200, "<!DOCTYPE html>sign in")]);
    mock.answers("/files/c.html", &[(200, "<!DOCTYPE html>mine")]);
    mock.answers("/files/d.txt", &[(404, "")]);
    mock.answers("files.info", &[(200, r#"{"ok":false,"error":"file_not_found"}"#)]);
    let at = |path: &str| format!("http://127.0.0.1:{}/files/{path}", mock.port);
    let mut shared = message("1790000000.000100", "");
    shared["subtype"] = "file_share".into();
    shared["files"] = json!([
        {"id": "F1", "name": "a.txt", "mimetype": "text/plain", "size": 9, "url_private": at("a.txt")},
        {"id": "F2", "name": "b.png", "mimetype": "image/png", "size": 99, "url_private": at("b.png")},
        {"id": "F3", "name": "c.html", "mimetype": "text/html", "size": 19, "url_private_download": at("c.html")},
        {"id": "F4", "name": "d.txt", "url_private": at("d.txt")},
        {"id": "F5", "name": "e.txt", "url_private": "https://example.org/e.txt"},
        {"id": "F6", "name": "f.txt", "mode": "tombstone"},
        {"id": "F7", "name": "g.txt", "file_access": "check_file_info"},
    ]);
    let mock = mock.then(vec![vec![Hello, told("e1", &shared), Acked("e1"), Stay]]);
    let hub = Arc::new(HubMock::default());
    let _home = Home::at(&mock, &hub);
    let one = received(&hub, 1).await.remove(0);
    let Event::Message(words) = one.event else { panic!("{one:?}") };
    assert_eq!(hub.files(), [b"All of it".to_vec(), b"<!DOCTYPE html>mine".to_vec()]);
    let missing = words.missing.join("\n");
    for part in [
        "b.png: Slack shows a page",
        "d.txt: Slack answered 404",
        "e.txt: it is at no address",
        "f.txt: it was deleted",
        "g.txt: ",
    ] {
        assert!(missing.contains(part), "{part}: {missing}");
    }
    assert_eq!(mock.faults(), Vec::<String>::new());
}

#[tokio::test]
async fn when_slack_leaves_events_out_the_conversations_are_asked() {
    let limited =
        json!({"type": "app_rate_limited", "team_id": "T0HOUSE01", "minute_rate_limited": 1_790_000_000});
    let limited = json!({"type": "events_api", "envelope_id": "e2", "payload": limited}).to_string();
    let mock = Mock::start(vec![vec![
        Hello,
        said("e1", 1_790_000_000, "before"),
        Acked("e1"),
        Say(limited),
        Acked("e2"),
        Stay,
    ]]);
    mock.answers("conversations.history", &[(200, r#"{"ok":true,"messages":[{"type":"message","user":"U012AB3CD","text":"left out","ts":"1790000001.000100"}]}"#)]);
    let hub = Arc::new(HubMock::default());
    let _home = Home::at(&mock, &hub);
    assert_eq!(texts(&received(&hub, 2).await), ["before", "left out"]);
}

#[tokio::test]
async fn a_thousand_events_at_once_are_all_acknowledged() {
    let mut script = vec![Hello];
    script.extend((0..1000).map(|n| said(&format!("e{n}"), 1_790_000_000 + n, "x")));
    script.push(Stay);
    let mock = Mock::start(vec![script]).repeating();
    // What there was no room for is told again by the platform, and is in the conversation.
    let hub = Arc::new(HubMock::default());
    let _home = Home::at(&mock, &hub);
    let all = async {
        loop {
            let mut acked: Vec<String> = mock.acked().into_iter().map(|(_, id)| id).collect();
            acked.sort();
            acked.dedup();
            if acked.len() == 1000 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(30), all).await.expect("all are acknowledged");
}
