use core::{
    cell::{Cell, RefCell},
    future::pending,
};
use std::{format, string::String as Text, vec::Vec as Many};

use embassy_futures::{block_on, yield_now};
use heapless::String;

use super::*;

/// What is in the air: a network of one password, and one that never answers.
#[derive(Default)]
struct Sky {
    joined: Cell<bool>,
    log: RefCell<Many<Text>>,
}

struct Double<'s>(&'s Sky);

impl Station for Double<'_> {
    type Error = &'static str;

    async fn join(&mut self, network: &Network, security: Security) -> Result<(), &'static str> {
        if network.ssid == "far" {
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
        while self.0.joined.get() {
            yield_now().await;
        }
    }

    async fn leave(&mut self) {
        self.0.joined.set(false);
    }

    async fn scan(&mut self) -> Vec<Seen, MAX_SEEN> {
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
        yield_now().await;
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
    let (log, slept) = stays(&air, &sky, a_while());
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
            (&air).wish(Wish::Join(network(ssid, password)));
            assert_eq!((&air).done().await, Done::Joined(joined), "{password}");
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
        (&air).wish(Wish::Scan);
        let Done::Scanned(seen) = (&air).done().await else { panic!("it did not scan") };
        assert_eq!(seen[0].ssid, "home");
        assert_eq!(air.hub(), None);
        let host = "hub.home".try_into().unwrap();
        (&air).wish(Wish::Keep(Network { host, ..network("", "") }));
        a_while().await;
        assert_eq!(air.hub().unwrap().host, "hub.home");
    });
    assert_eq!((log, slept), (Many::<Text>::new(), Many::new()), "there is nothing to join");
}
