//! Dialogues with a Gateway that follows a script.

use super::{
    double::{
        BOT, Double,
        Step::{self, *},
    },
    *,
};
use crate::{
    channels::http::{base::Base, double::http},
    settings::secret::Secret,
};
use serde_json::json;

const TOKEN: &str = "MTk4.hush.hush";
/// Milliseconds between two heartbeats: long, and short.
const SELDOM: u64 = 41_250;
const OFTEN: u64 = 250;

const QUICK: Tempo = Tempo {
    first: Duration::from_millis(10),
    longest: Duration::from_millis(100),
    identify: Duration::from_millis(10),
};

/// An account's connection to a double.
struct House {
    double: Double,
    gateway: std::sync::Arc<Gateway>,
    kept: tokio::task::JoinHandle<()>,
}

impl Drop for House {
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

impl House {
    fn start(script: &[&'static [Step]]) -> Self {
        Self::at(Double::start(TOKEN, script), None)
    }

    fn at(double: Double, last: Option<Presence>) -> Self {
        let gateway = std::sync::Arc::new(Gateway::new("home", QUICK));
        let (keeper, client) = (gateway.clone(), client(double.port));
        let kept = tokio::spawn(async move { keeper.keep(&client, last).await });
        Self { double, gateway, kept }
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
        assert_eq!(self.double.faults(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_status_is_set_over_the_connection_and_heartbeats_keep_it() {
    let house = House::start(&[&[Hello(OFTEN), Ready, Beat, Stay]]);
    let set = house.gateway.set(presence(Status::Dnd, "In the garden")).await;
    assert_eq!(set.unwrap(), BOT);
    house.double.until(3, 1).await;
    let heard = &house.double.heard(3)[0];
    assert_eq!(
        (&heard["status"], &heard["activities"][0]["state"]),
        (&json!("dnd"), &json!("In the garden"))
    );
    assert_eq!(house.gateway.trouble(), Ok(None));
    // One was asked for.
    house.double.until(1, 4).await;
    assert_eq!(house.double.heard(2).len(), 1);
    house.no_faults();
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
        &[Hello(SELDOM), Ready, Long(MAX_READ + 1)],
        &[Hello(OFTEN), Ready, Deaf],
        &[Hello(SELDOM), Ready, Invalid(true)],
    ] {
        let house = House::start(&[before, AFTER]);
        house.double.until(6, 1).await;
        house.stands(|standing| matches!(standing, Standing::Up(_))).await;
        assert_eq!(house.double.heard(2).len(), 1, "{before:?}");
        assert_eq!(house.gateway.set(presence(Status::Online, "Back")).await.unwrap(), BOT);
        house.no_faults();
    }
}

const MAX_READ: usize = 1024 * 1024;

#[tokio::test]
async fn a_new_session_begins_with_the_status_that_was_set_last() {
    for end in [Close(4009), Close(4007), Invalid(false)] {
        let script: &[&'static [Step]] = match end {
            Close(4009) => &[&[Hello(SELDOM), Ready, Shows, Close(4009)], &[Hello(SELDOM), Ready, Stay]],
            Close(_) => &[&[Hello(SELDOM), Ready, Shows, Close(4007)], &[Hello(SELDOM), Ready, Stay]],
            _ => &[&[Hello(SELDOM), Ready, Shows, Invalid(false)], &[Hello(SELDOM), Ready, Stay]],
        };
        let house = House::start(script);
        house.gateway.set(presence(Status::Idle, "Away")).await.unwrap();
        house.double.until(2, 2).await;
        let [first, second] = house.double.heard(2).try_into().unwrap();
        assert_eq!(first.get("presence"), None, "{end:?}");
        assert_eq!(second["presence"]["activities"][0]["state"], "Away", "{end:?}");
        assert_eq!(second["presence"]["status"], "idle");
        assert_eq!(house.double.heard(6).len(), 0, "{end:?}");
        house.no_faults();
    }
    // One that was set before the hub was started.
    let double = Double::start(TOKEN, &[&[Hello(SELDOM), Ready, Stay]]);
    let house = House::at(double, Some(presence(Status::Dnd, "Since yesterday")));
    house.double.until(2, 1).await;
    assert_eq!(house.double.heard(2)[0]["presence"]["activities"][0]["state"], "Since yesterday");
}

#[tokio::test]
async fn a_way_back_that_is_closed_leads_to_a_new_session() {
    // The second connection says something else than hello.
    let house = House::start(&[
        &[Hello(SELDOM), Ready, HangUp],
        &[Hello(SELDOM), Invalid(false)],
        &[Hello(SELDOM), Ready, Stay],
    ]);
    house.double.until(2, 2).await;
    house.stands(|standing| matches!(standing, Standing::Up(_))).await;
    assert_eq!(house.double.heard(6).len(), 1);
    house.no_faults();
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
        let mut house = House::start(&[script, &[Hello(SELDOM), Ready, Stay]]);
        house.stands(|standing| matches!(standing, Standing::Refused(_))).await;
        timeout(Duration::from_secs(5), &mut house.kept).await.expect("it gives up").unwrap();
        let why = house.gateway.trouble().unwrap_err();
        assert!(why.contains(words), "{why}");
        let failure = house.gateway.set(presence(Status::Online, "Here")).await.unwrap_err();
        assert!(matches!(&failure, Failure::Permanent(said) if *said == why), "{failure:?}");
        assert_eq!(house.double.heard(2).len(), 1);
    }
}

#[tokio::test]
async fn a_refused_token_is_said_and_tried_again_by_and_by() {
    let house = House::start(&[&[Hello(SELDOM), Refuse(4004)], &[Hello(SELDOM), Ready, Stay]]);
    let Standing::Refused(why) = house.stands(|standing| matches!(standing, Standing::Refused(_))).await
    else {
        unreachable!()
    };
    assert!(why.contains("bot token rejected") && why.contains("4004"), "{why}");
    house.stands(|standing| matches!(standing, Standing::Up(_))).await;
    // Where it is refused already when it asks for the way, no session is begun.
    let house = House::at(Double::start("another", &[&[Hello(SELDOM), Ready, Stay]]), None);
    let Standing::Refused(why) = house.stands(|standing| matches!(standing, Standing::Refused(_))).await
    else {
        unreachable!()
    };
    assert!(why.contains("bot token rejected"), "{why}");
    assert!(house.double.heard(2).is_empty());
}

#[tokio::test]
async fn the_sixth_status_within_twenty_seconds_waits() {
    let house = House::start(&[&[Hello(SELDOM), Ready, Stay]]);
    for n in 0..5 {
        house.gateway.set(presence(Status::Online, &n.to_string())).await.unwrap();
    }
    let failure = house.gateway.set(presence(Status::Online, "5")).await.unwrap_err();
    let Failure::Wait { after, .. } = failure else { panic!("{failure:?}") };
    assert!(after > Duration::from_secs(10) && after <= Duration::from_secs(20), "{after:?}");
    house.double.until(3, 5).await;
    assert_eq!(house.double.heard(3).len(), 5);
}

#[tokio::test]
async fn no_session_begins_where_discord_lets_none_begin() {
    let double = Double::start(TOKEN, &[&[Hello(SELDOM), Ready, Stay]]);
    double.has_left(0);
    let house = House::at(double, None);
    let away = |standing: &Standing| matches!(standing, Standing::Away(why) if why.contains("sessions"));
    house.stands(away).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(house.double.requests().len(), 1, "it is not asked again before its time");
    assert!(house.double.heard(2).is_empty());
    assert!(house.gateway.trouble().unwrap().unwrap().contains("not open"));
}

#[tokio::test]
async fn who_says_no_hello_or_opens_no_websocket_is_left() {
    for before in [&[Raw("{\"op\": 0}")] as &'static [Step], &[Close(4000)], &[HangUp]] {
        let house = House::start(&[before, &[Hello(SELDOM), Ready, Stay]]);
        house.stands(|standing| matches!(standing, Standing::Up(_))).await;
        house.no_faults();
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_connection_a_status_is_set_later() {
    let gateway = Gateway::new("home", QUICK);
    let failure = gateway.set(presence(Status::Online, "Here")).await.unwrap_err();
    assert!(matches!(&failure, Failure::Retry(why) if why.contains("not open")), "{failure:?}");
    assert_eq!(gateway.trouble(), Ok(None), "nobody has asked for it yet");
}
