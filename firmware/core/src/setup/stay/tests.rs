use core::{
    cell::{Cell, RefCell},
    future::pending,
};
use std::{format, string::String as Text, vec::Vec as Many};

use embassy_futures::{block_on, yield_now};
use heapless::String;

use super::*;
use crate::{
    Millis,
    setup::{About, SetUp},
};

/// What is in the air: a network of one password, and one that never answers.
#[derive(Default)]
struct Sky {
    joined: Cell<bool>,
    /// Nobody answers.
    gone: Cell<bool>,
    /// It answers no scan, and leaves nothing.
    deaf: Cell<bool>,
    /// It says nothing when a network is lost.
    mute: Cell<bool>,
    log: RefCell<Many<Text>>,
}

struct Double<'s>(&'s Sky);

impl Station for Double<'_> {
    type Error = &'static str;

    async fn join(&mut self, network: &Network, security: Security) -> Result<(), &'static str> {
        if network.ssid == "far" || self.0.gone.get() {
            pending::<()>().await;
        }
        if security != Security::Open && network.password != "tigertiger" {
            return Err("a wrong password");
        }
        self.0.joined.set(true);
        Ok(())
    }

    fn is_joined(&self) -> bool {
        self.0.joined.get()
    }

    async fn lost(&mut self) {
        while self.0.joined.get() || self.0.mute.get() {
            yield_now().await;
        }
    }

    async fn leave(&mut self) {
        if self.0.deaf.get() {
            pending::<()>().await;
        }
        self.0.joined.set(false);
    }

    async fn scan(&mut self) -> Vec<Seen, MAX_SEEN> {
        if self.0.deaf.get() {
            pending::<()>().await;
        }
        let seen = Seen { ssid: "home".try_into().unwrap(), rssi: -50, is_open: false };
        Vec::from_slice(&[seen]).unwrap()
    }

    fn note(&mut self, ssid: &str, news: News<&'static str>) {
        self.0.log.borrow_mut().push(format!("{ssid} {news}"));
    }
}

/// Sleeps that are over when nothing else happens.
struct Sleep<'s>(&'s RefCell<Many<u32>>);

impl DelayNs for Sleep<'_> {
    async fn delay_ns(&mut self, _: u32) {
        panic!("by the millisecond");
    }

    async fn delay_ms(&mut self, ms: u32) {
        // Whoever looks now and then has more patience than a script.
        for _ in 0..if ms == LOOK { 40 } else { 1 } {
            yield_now().await;
        }
        self.0.borrow_mut().push(ms);
    }
}

fn network(ssid: &str, password: &str) -> Network {
    let (ssid, password) = (ssid.try_into().unwrap(), password.try_into().unwrap());
    Network { ssid, password, host: String::new(), port: 1883 }
}

/// What the log says, and how long was slept, until the script is over.
fn stays(air: &Air, sky: &Sky, script: impl Future<Output = ()>) -> (Many<Text>, Many<u32>) {
    let slept = RefCell::default();
    match block_on(select(air.stay(&mut Double(sky), Sleep(&slept)), script)) {
        Either::First(never) => never,
        Either::Second(()) => (sky.log.take(), slept.into_inner()),
    }
}

async fn a_while() {
    for _ in 0..6 {
        yield_now().await;
    }
}

/// What becomes of a wish; news in between are left out.
async fn done(mut air: &Air) -> Done {
    loop {
        match air.done().await {
            Done::Online(_) => {}
            done => return done,
        }
    }
}

/// What the set-up says of the network and Improv's state, once it has heard all news.
async fn told(mut air: &Air, set_up: &mut SetUp) -> (bool, u8) {
    while let Either::First(news) = select(air.done(), a_while()).await {
        match news {
            Done::Online(online) => set_up.online(online),
            Done::Joined(joined) => _ = set_up.joined(joined),
            Done::Scanned(_) => set_up.scanned(),
        }
    }
    while set_up.answer().is_some() {}
    let ask = crate::setup::tests::packet(3, &[2, 0]);
    b"status\n".iter().chain(&ask).for_each(|byte| _ = set_up.received(Millis(0), *byte));
    let answers: Many<_> = core::iter::from_fn(|| set_up.answer()).collect();
    let is = |words: &[u8]| answers.iter().any(|answer| answer.windows(words.len()).any(|at| at == words));
    assert!(is(b"(joined)") != is(b"(not joined)"), "{answers:?}");
    let state = answers.iter().find(|answer| answer.starts_with(b"IMPROV\x01\x01")).unwrap();
    (is(b"(joined)"), state[9])
}

fn set_up(known: Option<Network>) -> SetUp {
    SetUp::new(About { version: "0.1.0", chip: "ESP32-C3" }, known)
}

const READY: u8 = 2;
const PROVISIONED: u8 = 4;

#[test]
fn after_a_restart_and_when_the_access_point_is_gone_the_state_is_what_the_radio_says() {
    let home = network("home", "tigertiger");
    let (air, sky, mut set_up) = (Air::new(Some(home.clone())), Sky::default(), set_up(Some(home)));
    stays(&air, &sky, async {
        assert_eq!(told(&air, &mut set_up).await, (true, PROVISIONED), "it was set up before");
        sky.gone.set(true);
        sky.joined.set(false);
        assert_eq!(told(&air, &mut set_up).await, (false, READY));
        sky.gone.set(false);
        for _ in 0..20 {
            a_while().await;
        }
        assert_eq!(told(&air, &mut set_up).await, (true, PROVISIONED), "and it is back");
        // A radio that says nothing of a loss is asked now and then.
        sky.mute.set(true);
        sky.gone.set(true);
        sky.joined.set(false);
        for _ in 0..20 {
            a_while().await;
        }
        assert_eq!(told(&air, &mut set_up).await, (false, READY));
    });
}

#[test]
fn a_network_asked_for_while_another_is_tried_is_joined_whatever_else_is_asked_for() {
    let far = network("far", "tigertiger");
    let (air, sky, mut set_up) = (Air::new(Some(far.clone())), Sky::default(), set_up(Some(far)));
    stays(&air, &sky, async {
        yield_now().await;
        let mut radio = &air;
        let mut wishes = Many::new();
        for packet in
            [crate::setup::tests::wifi("home", "tigertiger"), crate::setup::tests::packet(3, &[4, 0])]
        {
            wishes.extend(packet.iter().filter_map(|byte| set_up.received(Millis(0), *byte)));
        }
        assert_eq!(wishes.len(), 2, "{wishes:?}");
        wishes.into_iter().for_each(|wish| radio.wish(wish).unwrap());
        assert_eq!(told(&air, &mut set_up).await, (true, PROVISIONED));
        assert_eq!(air.known().unwrap().ssid, "home");
        // And the next setting is taken.
        let again = crate::setup::tests::wifi("home", "tigertiger");
        assert!(again.iter().any(|byte| set_up.received(Millis(0), *byte).is_some()));
    });
}

#[test]
fn a_try_ends_after_its_patience_and_a_radio_that_answers_nothing_hangs_nobody() {
    let (air, sky, mut set_up) = (Air::default(), Sky::default(), set_up(None));
    sky.deaf.set(true);
    let (_, slept) = stays(&air, &sky, async {
        let mut radio = &air;
        let far = crate::setup::tests::wifi("far", "tigertiger");
        let wish = far.iter().find_map(|byte| set_up.received(Millis(0), *byte)).unwrap();
        radio.wish(wish).unwrap();
        assert_eq!(done(&air).await, Done::Joined(false));
        set_up.joined(false);
        assert_eq!(told(&air, &mut set_up).await, (false, READY));
        radio.wish(Wish::Scan).unwrap();
        assert_eq!(done(&air).await, Done::Scanned(Vec::new()));
    });
    assert_eq!(slept, [PATIENCE; 3], "to leave, to join, to look round");
}

#[test]
fn more_wishes_than_can_wait_come_back() {
    let air = Air::default();
    let mut radio = &air;
    (0..WISHES).for_each(|_| radio.wish(Wish::Scan).unwrap());
    assert_eq!(radio.wish(Wish::Scan), Err(Wish::Scan));
    let host = "hub.home".try_into().unwrap();
    radio.wish(Wish::Keep(Network { host, ..network("", "") })).unwrap();
    assert_eq!(air.hub().unwrap().host, "hub.home", "this waits for no turn");
}

#[test]
fn a_known_network_is_joined_and_joined_again_when_it_is_lost() {
    let (air, sky) = (Air::new(Some(network("home", "tigertiger"))), Sky::default());
    let (log, slept) = stays(&air, &sky, async {
        a_while().await;
        assert!(sky.joined.replace(false));
        a_while().await;
        assert!(sky.joined.get());
    });
    assert_eq!((log, slept), (Many::from(["home joined", "home joined"].map(Text::from)), Many::new()));
}

#[test]
fn a_network_that_does_not_answer_is_given_up_and_tried_again() {
    let (air, sky) = (Air::new(Some(network("far", ""))), Sky::default());
    let (log, slept) = stays(&air, &sky, async {
        for _ in 0..4 {
            a_while().await;
        }
    });
    assert!(log.len() > 1 && log.iter().all(|line| line == "far does not answer"), "{log:?}");
    assert_eq!(slept[..3], [PATIENCE, AGAIN, PATIENCE]);
}

#[test]
fn a_network_that_was_wished_for_is_known_once_it_was_joined_and_not_before() {
    let home = network("home", "tigertiger");
    let (air, sky) = (Air::new(Some(home.clone())), Sky::default());
    let (log, _) = stays(&air, &sky, async {
        a_while().await;
        for (ssid, password, joined) in
            [("work", "lionlion", false), ("work", "lion", false), ("work", "tigertiger", true)]
        {
            assert!(air.known().is_none_or(|known| known.ssid != "work"));
            (&air).wish(Wish::Join(network(ssid, password))).unwrap();
            assert_eq!(done(&air).await, Done::Joined(joined), "{password}");
        }
        assert_eq!(air.known().unwrap().ssid, "work");
    });
    let refused = "work cannot be joined (WPA2 or open, not WPA3 alone): \"a wrong password\"";
    let expected = [
        "home joined",
        refused,
        "home joined",
        "work cannot have such a password",
        "home joined",
        "work joined",
    ];
    assert_eq!(log, expected);
}

#[test]
fn a_device_that_knows_no_network_waits_looks_around_and_hears_of_its_hub() {
    let (air, sky) = (Air::default(), Sky::default());
    let (log, slept) = stays(&air, &sky, async {
        a_while().await;
        (&air).wish(Wish::Scan).unwrap();
        let Done::Scanned(seen) = done(&air).await else { panic!("it did not scan") };
        assert_eq!(seen[0].ssid, "home");
        assert_eq!(air.hub(), None);
        let host = "hub.home".try_into().unwrap();
        (&air).wish(Wish::Keep(Network { host, ..network("", "") })).unwrap();
        a_while().await;
        assert_eq!(air.hub().unwrap().host, "hub.home");
    });
    assert_eq!((log, slept), (Many::<Text>::new(), Many::new()), "there is nothing to join");
}
