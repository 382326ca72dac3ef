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
    net::setup::{About, SetUp, provisioning::tests as client},
};

/// The networks in reach: one with a password, and one that never answers.
#[derive(Default)]
struct Networks {
    joined: Cell<bool>,
    /// No network answers.
    gone: Cell<bool>,
    /// The radio neither scans nor leaves its network.
    stuck: Cell<bool>,
    /// The radio does not report the loss of a network.
    silent: Cell<bool>,
    log: RefCell<Many<Text>>,
}

struct MockStation<'s>(&'s Networks);

impl Station for MockStation<'_> {
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

    async fn wait_for_loss(&mut self) {
        while self.0.joined.get() || self.0.silent.get() {
            yield_now().await;
        }
    }

    async fn leave(&mut self) {
        if self.0.stuck.get() {
            pending::<()>().await;
        }
        self.0.joined.set(false);
    }

    async fn scan(&mut self) -> Vec<ScannedNetwork, MAX_SCANNED> {
        if self.0.stuck.get() {
            pending::<()>().await;
        }
        let network = ScannedNetwork { ssid: "home".try_into().unwrap(), rssi: -50, is_open: false };
        Vec::from_slice(&[network]).unwrap()
    }

    fn log(&mut self, ssid: &str, result: JoinResult<&'static str>) {
        self.0.log.borrow_mut().push(format!("{ssid} {result}"));
    }
}

/// Sleeps that end as soon as nothing else happens.
struct Sleep<'s>(&'s RefCell<Many<u32>>);

impl DelayNs for Sleep<'_> {
    async fn delay_ns(&mut self, _: u32) {
        panic!("sleeps are in milliseconds");
    }

    async fn delay_ms(&mut self, ms: u32) {
        // The periodic check takes longer than a script.
        for _ in 0..if ms == CHECK_INTERVAL_MS { 40 } else { 1 } {
            yield_now().await;
        }
        self.0.borrow_mut().push(ms);
    }
}

fn network(ssid: &str, password: &str) -> Network {
    let (ssid, password) = (ssid.try_into().unwrap(), password.try_into().unwrap());
    Network { ssid, password, host: String::new(), port: 1883 }
}

/// Runs until the script is over; returns the log and the sleeps.
fn run_with(wifi: &Wifi, networks: &Networks, script: impl Future<Output = ()>) -> (Many<Text>, Many<u32>) {
    let slept = RefCell::default();
    match block_on(select(wifi.run(&mut MockStation(networks), Sleep(&slept)), script)) {
        Either::First(never) => never,
        Either::Second(()) => (networks.log.take(), slept.into_inner()),
    }
}

async fn a_while() {
    for _ in 0..6 {
        yield_now().await;
    }
}

/// The answer to a request; other events are skipped.
async fn answer(mut wifi: &Wifi) -> RadioEvent {
    loop {
        match wifi.event().await {
            RadioEvent::Online(_) => {}
            answer => return answer,
        }
    }
}

/// What the set-up reports of the network, and Improv's state, after all events.
async fn reported(mut wifi: &Wifi, set_up: &mut SetUp) -> (bool, u8) {
    while let Either::First(event) = select(wifi.event(), a_while()).await {
        match event {
            RadioEvent::Online(online) => set_up.online(online),
            RadioEvent::Joined(joined) => _ = set_up.joined(joined),
            RadioEvent::Scanned(_) => set_up.scan_done(),
        }
    }
    while set_up.answer().is_some() {}
    let ask = client::packet(3, &[2, 0]);
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
    let (wifi, networks, mut set_up) =
        (Wifi::new(Some(home.clone())), Networks::default(), set_up(Some(home)));
    run_with(&wifi, &networks, async {
        assert_eq!(reported(&wifi, &mut set_up).await, (true, PROVISIONED), "it was set up before");
        networks.gone.set(true);
        networks.joined.set(false);
        assert_eq!(reported(&wifi, &mut set_up).await, (false, READY));
        networks.gone.set(false);
        for _ in 0..20 {
            a_while().await;
        }
        assert_eq!(reported(&wifi, &mut set_up).await, (true, PROVISIONED), "and it is back");
        // A radio that does not report a loss is asked from time to time.
        networks.silent.set(true);
        networks.gone.set(true);
        networks.joined.set(false);
        for _ in 0..20 {
            a_while().await;
        }
        assert_eq!(reported(&wifi, &mut set_up).await, (false, READY));
    });
}

#[test]
fn a_network_requested_while_another_is_tried_is_joined_in_spite_of_other_requests() {
    let far = network("far", "tigertiger");
    let (wifi, networks, mut set_up) = (Wifi::new(Some(far.clone())), Networks::default(), set_up(Some(far)));
    run_with(&wifi, &networks, async {
        yield_now().await;
        let mut radio = &wifi;
        let mut requests = Many::new();
        for packet in [client::wifi("home", "tigertiger"), client::packet(3, &[4, 0])] {
            requests.extend(packet.iter().filter_map(|byte| set_up.received(Millis(0), *byte)));
        }
        assert_eq!(requests.len(), 2, "{requests:?}");
        requests.into_iter().for_each(|request| radio.request(request).unwrap());
        assert_eq!(reported(&wifi, &mut set_up).await, (true, PROVISIONED));
        assert_eq!(wifi.known().unwrap().ssid, "home");
        // The next setting is accepted too.
        let again = client::wifi("home", "tigertiger");
        assert!(again.iter().any(|byte| set_up.received(Millis(0), *byte).is_some()));
    });
}

#[test]
fn an_attempt_ends_after_its_timeout_and_a_stuck_radio_blocks_nobody() {
    let (wifi, networks, mut set_up) = (Wifi::default(), Networks::default(), set_up(None));
    networks.stuck.set(true);
    let (_, slept) = run_with(&wifi, &networks, async {
        let mut radio = &wifi;
        let far = client::wifi("far", "tigertiger");
        let request = far.iter().find_map(|byte| set_up.received(Millis(0), *byte)).unwrap();
        radio.request(request).unwrap();
        assert_eq!(answer(&wifi).await, RadioEvent::Joined(false));
        set_up.joined(false);
        assert_eq!(reported(&wifi, &mut set_up).await, (false, READY));
        radio.request(RadioRequest::Scan).unwrap();
        assert_eq!(answer(&wifi).await, RadioEvent::Scanned(Vec::new()));
    });
    assert_eq!(slept, [RADIO_TIMEOUT_MS; 3], "to leave, to join, to scan");
}

#[test]
fn requests_beyond_the_queue_are_returned() {
    let wifi = Wifi::default();
    let mut radio = &wifi;
    (0..MAX_QUEUED).for_each(|_| radio.request(RadioRequest::Scan).unwrap());
    assert_eq!(radio.request(RadioRequest::Scan), Err(RadioRequest::Scan));
    let host = "hub.home".try_into().unwrap();
    radio.request(RadioRequest::Keep(Network { host, ..network("", "") })).unwrap();
    assert_eq!(wifi.hub().unwrap().host, "hub.home", "it takes effect at once");
}

#[test]
fn a_known_network_is_joined_and_joined_again_when_it_is_lost() {
    let (wifi, networks) = (Wifi::new(Some(network("home", "tigertiger"))), Networks::default());
    let (log, slept) = run_with(&wifi, &networks, async {
        a_while().await;
        assert!(networks.joined.replace(false));
        a_while().await;
        assert!(networks.joined.get());
    });
    assert_eq!((log, slept), (Many::from(["home joined", "home joined"].map(Text::from)), Many::new()));
}

#[test]
fn a_network_that_does_not_answer_times_out_and_is_tried_again() {
    let (wifi, networks) = (Wifi::new(Some(network("far", ""))), Networks::default());
    let (log, slept) = run_with(&wifi, &networks, async {
        for _ in 0..4 {
            a_while().await;
        }
    });
    assert!(log.len() > 1 && log.iter().all(|line| line == "far does not answer"), "{log:?}");
    assert_eq!(slept[..3], [RADIO_TIMEOUT_MS, RETRY_INTERVAL_MS, RADIO_TIMEOUT_MS]);
}

#[test]
fn a_requested_network_is_known_once_it_was_joined_and_not_before() {
    let home = network("home", "tigertiger");
    let (wifi, networks) = (Wifi::new(Some(home.clone())), Networks::default());
    let (log, _) = run_with(&wifi, &networks, async {
        a_while().await;
        for (ssid, password, joined) in
            [("work", "lionlion", false), ("work", "lion", false), ("work", "tigertiger", true)]
        {
            assert!(wifi.known().is_none_or(|known| known.ssid != "work"));
            (&wifi).request(RadioRequest::Join(network(ssid, password))).unwrap();
            assert_eq!(answer(&wifi).await, RadioEvent::Joined(joined), "{password}");
        }
        assert_eq!(wifi.known().unwrap().ssid, "work");
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
fn a_device_without_a_network_waits_scans_and_learns_its_hub() {
    let (wifi, networks) = (Wifi::default(), Networks::default());
    let (log, slept) = run_with(&wifi, &networks, async {
        a_while().await;
        (&wifi).request(RadioRequest::Scan).unwrap();
        let RadioEvent::Scanned(scanned) = answer(&wifi).await else { panic!("it did not scan") };
        assert_eq!(scanned[0].ssid, "home");
        assert_eq!(wifi.hub(), None);
        let host = "hub.home".try_into().unwrap();
        (&wifi).request(RadioRequest::Keep(Network { host, ..network("", "") })).unwrap();
        a_while().await;
        assert_eq!(wifi.hub().unwrap().host, "hub.home");
    });
    assert_eq!((log, slept), (Many::<Text>::new(), Many::new()), "there is nothing to join");
}
