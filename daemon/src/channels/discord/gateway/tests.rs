//! Scenarios with a Gateway that follows a script.

use super::{
    handle::Standing,
    mock::{
        BOT, Mock,
        Step::{self, *},
    },
    socket::{self, Socket},
    *,
};
use crate::{
    channels::{
        Failure, PartKey,
        discord::{
            client::Client,
            presence::{MAX_TEXT, Presence, Status},
            request::StoredRequest,
        },
        hub_handle::{HubHandle, Unavailable},
        kit::http::base::Base,
        testing::{http::http, sample::key},
    },
    message::form::{Entry, Taken},
    settings::secret::Secret,
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{sleep, timeout};

mod forms;

const TOKEN: &str = "MTk4.hush.hush";
/// Milliseconds between two heartbeats: long, and short.
const SELDOM: u64 = 41_250;
const OFTEN: u64 = 250;

const QUICK: Tempo = Tempo {
    first: Duration::from_millis(10),
    longest: Duration::from_millis(100),
    identify: Duration::from_millis(10),
};

/// An account's connection to a mock.
struct Home {
    mock: Mock,
    gateway: Arc<Gateway>,
    hub: Arc<HubMock>,
    kept: tokio::task::JoinHandle<()>,
}

/// A hub with one message, and what is told to it.
#[derive(Default)]
struct HubMock {
    request: Option<Value>,
    entries: Mutex<Vec<(String, Entry)>>,
}

#[async_trait::async_trait]
impl HubHandle for HubMock {
    async fn request(&self, asked: &PartKey) -> Result<Option<Value>, Unavailable> {
        Ok(self.request.clone().filter(|_| *asked == key()))
    }

    async fn entered(&self, _key: &PartKey, id: &str, entry: Entry) -> Result<Taken, Unavailable> {
        let mut entries = self.entries.lock().unwrap();
        match entries.len() {
            0 => {}
            1 if entries[0].0 == id => return Ok(Taken::Before),
            1 => return Ok(Taken::Full),
            _ => return Err(Unavailable),
        }
        entries.push((id.into(), entry));
        Ok(Taken::Now)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.kept.abort();
    }
}

fn client(port: u16) -> Client {
    let base = Base::parse("base_url", &format!("http://127.0.0.1:{port}/api/v10")).unwrap();
    Client::new(http(), base, Secret::from(TOKEN))
}

fn presence(status: Status, text: &str) -> Presence {
    Presence { status, text: Some(text.into()) }
}

impl Home {
    fn start(script: &[&'static [Step]]) -> Self {
        Self::at(Mock::start(TOKEN, script), None)
    }

    fn at(mock: Mock, last: Option<Presence>) -> Self {
        Self::with(mock, last, HubMock::default())
    }

    fn with(mock: Mock, last: Option<Presence>, hub: HubMock) -> Self {
        let (gateway, hub) = (Arc::new(Gateway::new("home", QUICK, intent::NONE)), Arc::new(hub));
        let (keeper, handle, client) = (gateway.clone(), hub.clone(), client(mock.port));
        let kept = tokio::spawn(async move { keeper.keep(&client, handle.as_ref(), last, None).await });
        Self { mock, gateway, hub, kept }
    }

    /// Waits until it stands so.
    async fn stands(&self, is: impl FnMut(&Standing) -> bool) -> Standing {
        let mut standing = self.gateway.standing.subscribe();
        let found = timeout(Duration::from_secs(20), standing.wait_for(is)).await;
        let found = found.unwrap_or_else(|_| panic!("{:?}", self.gateway.standing.borrow())).unwrap().clone();
        assert!(!format!("{found:?}").contains("hush"), "{found:?}");
        found
    }

    fn no_faults(&self) {
        assert_eq!(self.mock.faults(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn who_stops_ends_the_session_and_waits_for_nothing_where_none_is_open() {
    let handle = Home::start(&[&[Hello(SELDOM), Ready, Stay]]);
    handle.stands(|standing| matches!(standing, Standing::Up(_))).await;
    timeout(Duration::from_secs(1), handle.gateway.leave()).await.unwrap();
    handle.stands(|standing| *standing == Standing::Away("the hub stops".into())).await;
    let told = timeout(Duration::from_secs(20), async {
        while handle.mock.faults().is_empty() {
            sleep(Duration::from_millis(2)).await;
        }
    });
    told.await.expect("the mock is told");
    // Of somebody who comes back it would be one.
    assert_eq!(handle.mock.faults(), ["the session was ended and not only the connection"]);

    let idle = Gateway::new("home", QUICK, intent::NONE);
    timeout(Duration::from_millis(100), idle.leave()).await.unwrap();
}

#[tokio::test]
async fn a_status_is_set_over_the_connection_and_heartbeats_keep_it() {
    let handle = Home::start(&[&[Hello(OFTEN), Ready, Beat, Stay]]);
    let set = handle.gateway.set(presence(Status::Dnd, "In the garden")).await;
    assert_eq!(set.unwrap(), BOT);
    handle.mock.until(3, 1).await;
    let heard = &handle.mock.heard(3)[0];
    assert_eq!(
        (&heard["status"], &heard["activities"][0]["state"]),
        (&json!("dnd"), &json!("In the garden"))
    );
    assert_eq!(handle.gateway.trouble(), None);
    // One was asked for.
    handle.mock.until(1, 4).await;
    assert_eq!(handle.mock.heard(2).len(), 1);
    handle.no_faults();
}

#[tokio::test]
async fn a_session_that_breaks_in_any_way_goes_on_where_it_was() {
    const AFTER: &[Step] = &[Hello(SELDOM), Resumed, Stay];
    const HAPPENED: Step = Dispatch(r#"{"t": "USER_UPDATE", "d": {}}"#);
    for before in [
        &[Hello(SELDOM), Ready, HAPPENED, Reconnect] as &'static [Step],
        &[Hello(SELDOM), Ready, HAPPENED, HAPPENED, HangUp],
        &[Hello(SELDOM), Ready, Close(4000)],
        &[Hello(SELDOM), Ready, Close(1001)],
        &[Hello(SELDOM), Ready, Raw("not an event")],
        &[Hello(SELDOM), Ready, Raw("{\"d\": 5}")],
        // What is too long is not asked for again.
        &[Hello(SELDOM), Ready, Long(MAX_TAKEN)],
        &[Hello(SELDOM), Ready, HAPPENED, LongServer(MAX_READ), Stay],
        &[Hello(OFTEN), Ready, Deaf],
        &[Hello(SELDOM), Ready, Invalid(true)],
    ] {
        let handle = Home::start(&[before, AFTER]);
        handle.mock.until(6, 1).await;
        handle.stands(|standing| matches!(standing, Standing::Up(_))).await;
        assert_eq!(handle.mock.heard(2).len(), 1, "{before:?}");
        assert_eq!(handle.gateway.set(presence(Status::Online, "Back")).await.unwrap(), BOT);
        handle.no_faults();
    }
}

const MAX_READ: usize = 1024 * 1024;
const MAX_TAKEN: usize = 16 * 1024 * 1024;

#[tokio::test]
async fn a_status_that_went_into_a_breaking_line_is_set_again_and_no_other_is() {
    let home = Home::start(&[&[Hello(SELDOM), Ready, Shows, HangUp], &[Hello(SELDOM), Resumed, Shows, Stay]]);
    home.gateway.set(presence(Status::Dnd, "Busy")).await.unwrap();
    home.mock.until(3, 2).await;
    assert_eq!(home.mock.heard(3)[0], home.mock.heard(3)[1]);
    home.no_faults();
    // One after which a heartbeat was answered is there.
    let home =
        Home::start(&[&[Hello(OFTEN), Ready, Shows, Beat, Beat, HangUp], &[Hello(SELDOM), Resumed, Stay]]);
    home.gateway.set(presence(Status::Dnd, "Busy")).await.unwrap();
    home.mock.until(6, 1).await;
    home.stands(|standing| matches!(standing, Standing::Up(_))).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(home.mock.heard(3).len(), 1);
}

#[tokio::test]
async fn a_new_session_begins_with_the_status_that_was_set_last() {
    for end in [Close(4009), Close(4007), Invalid(false)] {
        let script: &[&'static [Step]] = match end {
            Close(4009) => &[&[Hello(SELDOM), Ready, Shows, Close(4009)], &[Hello(SELDOM), Ready, Stay]],
            Close(_) => &[&[Hello(SELDOM), Ready, Shows, Close(4007)], &[Hello(SELDOM), Ready, Stay]],
            _ => &[&[Hello(SELDOM), Ready, Shows, Invalid(false)], &[Hello(SELDOM), Ready, Stay]],
        };
        let handle = Home::start(script);
        handle.gateway.set(presence(Status::Idle, "Away")).await.unwrap();
        handle.mock.until(2, 2).await;
        let [first, second] = handle.mock.heard(2).try_into().unwrap();
        assert_eq!(first.get("presence"), None, "{end:?}");
        assert_eq!(second["presence"]["activities"][0]["state"], "Away", "{end:?}");
        assert_eq!(second["presence"]["status"], "idle");
        assert_eq!(handle.mock.heard(6).len(), 0, "{end:?}");
        handle.no_faults();
    }
    // One that was set before the hub was started.
    let mock = Mock::start(TOKEN, &[&[Hello(SELDOM), Ready, Stay]]);
    let handle = Home::at(mock, Some(presence(Status::Dnd, "Since yesterday")));
    handle.mock.until(2, 1).await;
    assert_eq!(handle.mock.heard(2)[0]["presence"]["activities"][0]["state"], "Since yesterday");
}

#[tokio::test]
async fn a_way_back_that_is_closed_leads_to_a_new_session() {
    // The second connection says something else than hello.
    let handle = Home::start(&[
        &[Hello(SELDOM), Ready, HangUp],
        &[Hello(SELDOM), Invalid(false)],
        &[Hello(SELDOM), Ready, Stay],
    ]);
    handle.mock.until(2, 2).await;
    handle.stands(|standing| matches!(standing, Standing::Up(_))).await;
    assert_eq!(handle.mock.heard(6).len(), 1);
    handle.no_faults();
}

#[tokio::test]
async fn what_never_changes_by_itself_ends_it_and_is_said() {
    for (script, words) in [
        (&[Hello(SELDOM), Refuse(4010)] as &'static [Step], "4010"),
        (&[Hello(SELDOM), Refuse(4011)], "shards"),
        (&[Hello(SELDOM), Refuse(4012)], "update the hub"),
        (&[Hello(SELDOM), Refuse(4013)], "4013"),
        (&[Hello(SELDOM), Refuse(4014)], "intents"),
    ] {
        let mut handle = Home::start(&[script, &[Hello(SELDOM), Ready, Stay]]);
        handle.stands(|standing| matches!(standing, Standing::Refused(_))).await;
        timeout(Duration::from_secs(5), &mut handle.kept).await.expect("it gives up").unwrap();
        let why = handle.gateway.trouble().unwrap();
        assert!(why.contains(words) && why.contains("no status can be set"), "{why}");
        assert!(handle.gateway.without_forms().unwrap().contains(words));
        let failure = handle.gateway.set(presence(Status::Online, "Here")).await.unwrap_err();
        assert!(matches!(&failure, Failure::Permanent(said) if why.contains(said.as_str())), "{failure:?}");
        assert_eq!(handle.mock.heard(2).len(), 1);
    }
}

#[tokio::test]
async fn a_refused_token_is_said_and_tried_again_by_and_by() {
    let handle = Home::start(&[&[Hello(SELDOM), Refuse(4004)], &[Hello(SELDOM), Ready, Stay]]);
    let Standing::Refused(why) = handle.stands(|standing| matches!(standing, Standing::Refused(_))).await
    else {
        unreachable!()
    };
    assert!(why.contains("bot token rejected") && why.contains("4004"), "{why}");
    handle.stands(|standing| matches!(standing, Standing::Up(_))).await;
    // Where it is refused already when it asks for the way, no session is begun.
    let handle = Home::at(Mock::start("another", &[&[Hello(SELDOM), Ready, Stay]]), None);
    let Standing::Refused(why) = handle.stands(|standing| matches!(standing, Standing::Refused(_))).await
    else {
        unreachable!()
    };
    assert!(why.contains("bot token rejected"), "{why}");
    assert!(handle.mock.heard(2).is_empty());
}

#[tokio::test]
async fn the_sixth_status_within_twenty_seconds_waits() {
    let handle = Home::start(&[&[Hello(SELDOM), Ready, Stay]]);
    for n in 0..5 {
        handle.gateway.set(presence(Status::Online, &n.to_string())).await.unwrap();
    }
    let failure = handle.gateway.set(presence(Status::Online, "5")).await.unwrap_err();
    let Failure::Wait { after, .. } = failure else { panic!("{failure:?}") };
    assert!(after > Duration::from_secs(10) && after <= Duration::from_secs(20), "{after:?}");
    handle.mock.until(3, 5).await;
    assert_eq!(handle.mock.heard(3).len(), 5);
}

#[tokio::test]
async fn no_session_begins_where_discord_lets_none_begin() {
    let mock = Mock::start(TOKEN, &[&[Hello(SELDOM), Ready, Stay]]);
    mock.has_left(0);
    let handle = Home::at(mock, None);
    let away = |standing: &Standing| matches!(standing, Standing::Away(why) if why.contains("sessions"));
    handle.stands(away).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(handle.mock.requests().len(), 1, "it is not asked again before its time");
    assert!(handle.mock.heard(2).is_empty());
    assert!(handle.gateway.trouble().unwrap().contains("not open"));
}

#[tokio::test]
async fn who_says_no_hello_or_opens_no_websocket_is_left() {
    for before in [&[Raw("{\"op\": 0}")] as &'static [Step], &[Close(4000)], &[HangUp]] {
        let handle = Home::start(&[before, &[Hello(SELDOM), Ready, Stay]]);
        handle.stands(|standing| matches!(standing, Standing::Up(_))).await;
        handle.no_faults();
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_connection_a_status_is_set_later() {
    let gateway = Gateway::new("home", QUICK, intent::NONE);
    let failure = gateway.set(presence(Status::Online, "Here")).await.unwrap_err();
    assert!(matches!(&failure, Failure::Retry(why) if why.contains("not open")), "{failure:?}");
    assert_eq!(gateway.trouble(), None, "nobody has asked for it yet");
}

#[tokio::test]
async fn the_mock_forbids_what_discord_forbids() {
    let who = json!({"os": "linux", "browser": "b", "device": "d"});
    let identify = |more: Value| {
        let mut d = json!({"token": TOKEN, "properties": who, "intents": 0});
        d.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"op": 2, "d": d})
    };
    let shows = |status: &str, text: &str| {
        let activities = json!([{"name": "Custom Status", "type": 4, "state": text}]);
        json!({"op": 3, "d": {"since": null, "activities": activities, "status": status, "afk": false}})
    };
    let begin = || identify(json!({}));
    for (events, code) in [
        (vec![shows("dnd", "Busy")], 4003),
        (vec![identify(json!({"token": "another"}))], 4004),
        (vec![identify(json!({"intents": 1}))], 4002),
        (vec![identify(json!({"properties": {"os": "linux"}}))], 4002),
        (vec![identify(json!({"presence": {"status": "dnd"}}))], 4002),
        (vec![begin(), begin()], 4005),
        (vec![begin(), shows("away", "Out")], 4002),
        (vec![begin(), shows("dnd", &"x".repeat(MAX_TEXT + 1))], 4002),
        (vec![begin(), json!({"op": 3, "d": {"status": "dnd"}})], 4002),
        (vec![begin(), json!({"op": 1, "d": 5})], 4007),
        (vec![begin(), json!({"op": 8, "d": {}})], 4001),
        (vec![json!({"op": 1, "d": null, "s": 1})], 4002),
        // No heartbeat comes.
        (vec![], 4009),
    ] {
        let script: &[&'static [Step]] = &[&[Hello(50), Stay]];
        let mock = Mock::start(TOKEN, script);
        let address = format!("ws://127.0.0.1:{}", mock.port);
        let mut socket = Socket::open(&client(mock.port), &address).await.unwrap();
        for event in &events {
            socket.send(event).await.unwrap();
        }
        let closed = async {
            loop {
                match socket.hear().await {
                    socket::Heard::Event(_) => {}
                    socket::Heard::Closed(Some((code, _))) => return code,
                    other => panic!("{events:?}: {other:?}"),
                }
            }
        };
        assert_eq!(timeout(Duration::from_secs(20), closed).await.unwrap(), code, "{events:?}");
        assert_eq!(mock.faults().len(), 1, "{events:?}");
    }
}
