//! The companion's MQTT loop: at the hub's own broker over TCP, and at brokers that misbehave, with a clock that jumps.
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use std::{cell::RefCell, collections::VecDeque, io, rc::Rc, time::Duration};

use embedded_io_adapters::tokio_1::FromTokio;
use gatepost_companion::{
    Access, Button, Edge, Geometry, Millis, NotShown, Screen, View,
    event_loop::{Board, ConnectionEvent, Connector, Peer, run},
    link::payload::Payload,
    mqtt::{
        MqttError,
        client::MAX_IN_FLIGHT,
        packet::{self, DISCONNECT, PING},
    },
};
use gatepost_link::envelope::MAX_FRAME;
use rumqttc::{AsyncClient, Event, MqttOptions, Packet, QoS};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream},
    net::TcpStream,
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
    time::{Instant, sleep, timeout, timeout_at},
};

mod broker;

use broker::{broker, free_port};

const DOWN: &str = "gatepost/1/hub/device/down";
const UP: &str = "gatepost/1/hub/device/up";
const PRESENCE: &str = "gatepost/1/hub/device/presence";

fn access(password: &str) -> Access {
    Access {
        client: "device".try_into().unwrap(),
        user: "companion".try_into().unwrap(),
        password: password.try_into().unwrap(),
        down: DOWN.try_into().unwrap(),
        up: UP.try_into().unwrap(),
        presence: Some(PRESENCE.try_into().unwrap()),
    }
}

/// What the loop did.
#[derive(Debug, PartialEq)]
enum Did {
    Connected,
    Disconnected,
    Refused,
    Received(String, Vec<u8>),
    Pressed(Button, Edge),
    Logged(ConnectionEvent),
    /// For the first time the board did not show a screen.
    Dark,
}

/// What a test changes under the loop's hands.
struct Script {
    access: Option<Access>,
    turn: u32,
    outbound: VecDeque<Vec<u8>>,
    /// What the display does with a screen.
    display: Result<(), NotShown>,
}

struct Device {
    script: Rc<RefCell<Script>>,
    /// As the script had it last.
    access: Option<Access>,
    dark: bool,
    did: UnboundedSender<Did>,
}

impl Device {
    fn did(&self, what: Did) {
        self.did.send(what).unwrap();
    }
}

impl Peer for Device {
    fn access(&self) -> Option<&Access> {
        self.access.as_ref()
    }

    fn access_number(&self) -> u32 {
        self.script.borrow().turn
    }

    fn connected(&mut self, _: Millis) {
        self.did(Did::Connected);
    }

    fn login_refused(&mut self) {
        self.did(Did::Refused);
    }

    fn disconnected(&mut self, _: Millis) {
        self.did(Did::Disconnected);
    }

    fn received(&mut self, _: Millis, topic: &str, payload: &[u8]) {
        self.did(Did::Received(topic.into(), payload.into()));
    }

    fn next_payload(&mut self, _: Millis) -> Option<Payload> {
        let payload = self.script.borrow_mut().outbound.pop_front()?;
        Some(Payload::from_slice(&payload).unwrap())
    }

    fn button(&mut self, _: Millis, button: Button, edge: Edge) {
        self.access = self.script.borrow().access.clone();
        self.did(Did::Pressed(button, edge));
    }

    fn tick(&mut self, _: Millis) {}

    fn next_tick(&self, _: Millis) -> Option<Millis> {
        None
    }

    fn screen(&self, _: Millis) -> Screen {
        Screen::new(Geometry::SMALL, View::Offline)
    }

    fn drawn(&mut self, _: Millis, _: &Screen, shown: Result<(), NotShown>) {
        if shown.is_err() && !std::mem::replace(&mut self.dark, true) {
            self.did(Did::Dark);
        }
    }

    fn random(&mut self) -> u32 {
        0
    }

    fn restarts(&self, _: Millis) -> bool {
        false
    }
}

struct Bench {
    start: Instant,
    script: Rc<RefCell<Script>>,
    pressed: UnboundedReceiver<(Button, Edge)>,
    did: UnboundedSender<Did>,
}

impl Board for Bench {
    fn now(&self) -> Millis {
        Millis(self.start.elapsed().as_millis() as u64)
    }

    async fn next_edge(&mut self, until: Millis) -> Option<(Button, Edge)> {
        let until = self.start + Duration::from_millis(until.0);
        timeout_at(until, self.pressed.recv()).await.ok().flatten()
    }

    fn show(&mut self, _: &Screen) -> Result<(), NotShown> {
        self.script.borrow().display
    }

    fn log(&mut self, event: ConnectionEvent) {
        self.did.send(Did::Logged(event)).unwrap();
    }

    fn restart(&mut self) {
        unreachable!("it takes no updates");
    }
}

/// The loop's surroundings in a test's hands.
struct Hands {
    script: Rc<RefCell<Script>>,
    press: UnboundedSender<(Button, Edge)>,
    did: UnboundedReceiver<Did>,
}

impl Hands {
    async fn next(&mut self) -> Did {
        timeout(Duration::from_secs(60), self.did.recv()).await.expect("something happens").unwrap()
    }

    async fn expect(&mut self, wanted: Did) {
        let did = self.next().await;
        assert_eq!(did, wanted);
    }

    async fn online(&mut self) {
        self.expect(Did::Logged(ConnectionEvent::Connected)).await;
        self.expect(Did::Logged(ConnectionEvent::Online)).await;
        self.expect(Did::Connected).await;
    }

    async fn ended(&mut self, error: Option<MqttError>) {
        self.expect(Did::Disconnected).await;
        self.expect(Did::Logged(ConnectionEvent::Ended(error))).await;
    }

    /// Lets the loop look at the script again.
    async fn nudge(&mut self) {
        self.press.send((Button::Deny, Edge::Released)).unwrap();
        self.expect(Did::Pressed(Button::Deny, Edge::Released)).await;
    }

    async fn turn_to(&mut self, access: Option<Access>) {
        {
            let mut script = self.script.borrow_mut();
            script.access = access;
            script.turn += 1;
        }
        self.nudge().await;
    }

    async fn publish(&mut self, payloads: impl IntoIterator<Item = Vec<u8>>) {
        self.script.borrow_mut().outbound.extend(payloads);
        self.nudge().await;
    }
}

/// Runs the loop beside a test, and ends it with the test.
async fn beside<C: Connector>(mut connector: C, test: impl AsyncFnOnce(Hands)) {
    let access = Some(access("word"));
    let script = Script { access: access.clone(), turn: 0, outbound: VecDeque::new(), display: Ok(()) };
    let script = Rc::new(RefCell::new(script));
    let (did, deeds) = mpsc::unbounded_channel();
    let (press, pressed) = mpsc::unbounded_channel();
    let mut device = Device { script: script.clone(), access, dark: false, did: did.clone() };
    let mut bench = Bench { start: Instant::now(), script: script.clone(), pressed, did };
    tokio::select! {
        _ = run(&mut device, &mut bench, &mut connector) => unreachable!("it runs for ever"),
        () = test(Hands { script, press, did: deeds }) => {}
    }
}

// ---- at the hub's broker ---------------------------------------------------------------------------------------------

struct Tcp(u16);

impl Connector for Tcp {
    type Socket<'c> = FromTokio<TcpStream>;

    async fn connect(&mut self) -> Result<Self::Socket<'_>, embedded_io_async::ErrorKind> {
        match TcpStream::connect(("127.0.0.1", self.0)).await {
            Ok(stream) => Ok(FromTokio::new(stream)),
            Err(error) => Err(error.kind().into()),
        }
    }
}

/// The hub's side: what it hears, and a way to speak.
async fn hub(port: u16) -> (AsyncClient, UnboundedReceiver<(String, Vec<u8>)>) {
    let mut options = MqttOptions::new("hub", "127.0.0.1", port);
    options.set_credentials("hub", "secret");
    options.set_max_packet_size(20_480, 20_480);
    let (client, mut events) = AsyncClient::new(options, 64);
    client.subscribe(UP, QoS::AtLeastOnce).await.unwrap();
    client.subscribe(PRESENCE, QoS::AtLeastOnce).await.unwrap();
    let (heard, ears) = mpsc::unbounded_channel();
    let (ready, is_ready) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let (mut ready, mut left) = (Some(ready), 2);
        while let Ok(event) = events.poll().await {
            match event {
                Event::Incoming(Packet::SubAck(_)) => {
                    left -= 1;
                    if left == 0 {
                        ready.take().unwrap().send(()).unwrap();
                    }
                }
                Event::Incoming(Packet::Publish(publish)) => {
                    let _ = heard.send((publish.topic, publish.payload.to_vec()));
                }
                _ => {}
            }
        }
    });
    is_ready.await.unwrap();
    (client, ears)
}

#[tokio::test]
async fn frames_of_any_size_travel_both_ways_and_the_will_is_said() {
    let port = broker().await;
    let (hub, mut ears) = hub(port).await;
    beside(Tcp(port), async |mut hands| {
        hands.online().await;
        assert_eq!(ears.recv().await, Some((PRESENCE.into(), b"1".to_vec())));
        // More than may be on their way at once, the largest among them.
        let largest = Payload::new().capacity();
        let frames = |largest| {
            (0..4 * MAX_IN_FLIGHT)
                .map(move |n| vec![n; largest * usize::from(n + 1) / usize::from(4 * MAX_IN_FLIGHT)])
        };
        hands.publish(frames(largest)).await;
        for frame in frames(largest) {
            assert_eq!(ears.recv().await.unwrap(), (UP.into(), frame));
        }
        for frame in frames(MAX_FRAME) {
            hub.publish(DOWN, QoS::AtLeastOnce, false, frame.clone()).await.unwrap();
            hands.expect(Did::Received(DOWN.into(), frame)).await;
        }
        hub.publish(DOWN, QoS::AtLeastOnce, false, vec![1; 15_000]).await.unwrap();
        hub.publish(DOWN, QoS::AtLeastOnce, false, "small").await.unwrap();
        hands.expect(Did::Received(DOWN.into(), b"small".to_vec())).await;
    })
    .await;
    assert_eq!(ears.recv().await, Some((PRESENCE.into(), b"0".to_vec())), "the last will");
}

#[tokio::test]
async fn a_wrong_password_is_named_and_tried_again_and_another_login_is_taken_at_once() {
    let port = broker().await;
    let (_hub, mut ears) = hub(port).await;
    beside(Tcp(port), async |mut hands| {
        hands.online().await;
        hands.turn_to(Some(access("wrong"))).await;
        hands.ended(None).await;
        for pause in [125, 250, 500] {
            hands.expect(Did::Logged(ConnectionEvent::Connected)).await;
            hands.expect(Did::Disconnected).await;
            // This broker only hangs up, which may have another reason once or twice.
            if pause == 500 {
                hands.expect(Did::Refused).await;
            }
            hands.expect(Did::Logged(ConnectionEvent::Ended(Some(MqttError::HungUp)))).await;
            hands.expect(Did::Logged(ConnectionEvent::Waiting(pause))).await;
        }
        hands.turn_to(Some(access("word"))).await;
        hands.online().await;
    })
    .await;
    let said: Vec<_> = [ears.recv().await, ears.recv().await, ears.recv().await]
        .map(|heard| String::from_utf8(heard.unwrap().1).unwrap())
        .into();
    assert_eq!(said, ["1", "0", "1"], "it takes leave");
}

#[tokio::test]
async fn a_broker_that_comes_late_and_a_cable_that_is_pulled_are_waited_for() {
    let (broker, port) = (broker().await, free_port());
    beside(Tcp(port), async |mut hands| {
        for _ in 0..2 {
            hands.expect(Did::Disconnected).await;
            let refused = MqttError::Socket(io::ErrorKind::ConnectionRefused.into());
            hands.expect(Did::Logged(ConnectionEvent::Ended(Some(refused)))).await;
            assert!(matches!(hands.next().await, Did::Logged(ConnectionEvent::Waiting(_))));
        }
        for _ in 0..3 {
            let cable = tokio::spawn(cable(broker, port));
            loop {
                if hands.next().await == Did::Connected {
                    break;
                }
            }
            cable.abort();
            assert_eq!(hands.next().await, Did::Disconnected);
        }
    })
    .await;
}

/// A cable to the broker that can be pulled.
async fn cable(broker: u16, port: u16) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(([127, 0, 0, 1], port).into()).unwrap();
    let listener = socket.listen(1).unwrap();
    let (mut near, _) = listener.accept().await.unwrap();
    let mut far = TcpStream::connect(("127.0.0.1", broker)).await.unwrap();
    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
}

// ---- at brokers that misbehave -------------------------------------------------------------------------------------

/// Gives out sockets whose other ends the test holds.
struct Memory(UnboundedReceiver<DuplexStream>);

impl Connector for Memory {
    type Socket<'c> = FromTokio<DuplexStream>;

    async fn connect(&mut self) -> Result<Self::Socket<'_>, embedded_io_async::ErrorKind> {
        Ok(FromTokio::new(self.0.recv().await.unwrap()))
    }
}

/// The broker's end of one connection.
struct Scripted(DuplexStream);

impl Scripted {
    /// Offers a connection of so many bytes a direction.
    fn offer(connections: &UnboundedSender<DuplexStream>, bytes: usize) -> Self {
        let (near, far) = tokio::io::duplex(bytes);
        connections.send(far).unwrap();
        Self(near)
    }

    async fn hears(&mut self, wanted: &[u8]) {
        let mut heard = vec![0; wanted.len()];
        self.0.read_exact(&mut heard).await.unwrap();
        assert_eq!(heard, wanted);
    }

    async fn says(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// Everything up to the presence, and that it has arrived.
    async fn welcomes(&mut self) {
        self.welcomes_silently().await;
        self.says(&packet::acknowledge(2)).await;
    }

    /// Everything up to the presence.
    async fn welcomes_silently(&mut self) {
        self.hears(&packet::connect(&access("word"), 10)).await;
        self.says(&[0x20, 2, 0, 0]).await;
        self.hears(&packet::subscribe(1, DOWN)).await;
        self.says(&[0x90, 3, 0, 1, 1]).await;
        self.hears(&packet::publish(2, PRESENCE, 1)).await;
        self.hears(b"1").await;
    }
}

async fn with_scripted_brokers(test: impl AsyncFnOnce(Hands, UnboundedSender<DuplexStream>)) {
    let (connections, offered) = mpsc::unbounded_channel();
    beside(Memory(offered), async |hands| test(hands, connections).await).await;
}

#[tokio::test(start_paused = true)]
async fn what_the_board_does_not_show_is_said_to_the_device() {
    with_scripted_brokers(async |mut hands, connections| {
        hands.script.borrow_mut().display = Err(NotShown);
        let mut broker = Scripted::offer(&connections, 10_000);
        hands.press.send((Button::Approve, Edge::Pressed)).unwrap();
        while hands.next().await != Did::Dark {}
        broker.welcomes().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_quiet_broker_is_asked_for_a_sign_every_five_seconds_and_given_up_after_ten() {
    with_scripted_brokers(async |mut hands, connections| {
        let mut broker = Scripted::offer(&connections, 10_000);
        broker.welcomes().await;
        hands.online().await;
        let mut asked = Instant::now();
        for _ in 0..20 {
            broker.hears(&PING).await;
            let apart = asked.elapsed().as_millis();
            assert!((4_990..=5_010).contains(&apart), "{apart} ms");
            asked = Instant::now();
            broker.says(&[0xd0, 0]).await;
        }
        hands.ended(Some(MqttError::Silent)).await;
        let apart = asked.elapsed().as_millis();
        assert!((9_990..=10_010).contains(&apart), "{apart} ms");
        hands.expect(Did::Logged(ConnectionEvent::Waiting(125))).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_acknowledges_nothing_is_given_up_though_it_shows_life() {
    with_scripted_brokers(async |mut hands, connections| {
        let mut broker = Scripted::offer(&connections, 10_000);
        broker.welcomes_silently().await;
        hands.online().await;
        // Frames wait for nobody.
        hands.publish((0..40).map(|n| vec![n])).await;
        for n in 0..40 {
            broker.hears(&packet::publish_once(UP, 1)).await;
            broker.hears(&[n]).await;
        }
        broker.hears(&PING).await;
        broker.says(&[0xd0, 0]).await;
        hands.ended(Some(MqttError::Silent)).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_never_answers_or_takes_nothing_does_not_stop_the_buttons() {
    let press = (Button::Approve, Edge::Pressed);
    with_scripted_brokers(async |mut hands, connections| {
        // Nobody connects at all.
        hands.press.send(press).unwrap();
        hands.expect(Did::Pressed(press.0, press.1)).await;
        hands.ended(Some(MqttError::Silent)).await;
        hands.expect(Did::Logged(ConnectionEvent::Waiting(125))).await;
        // A pipe so narrow that the login does not fit, and nobody who reads.
        let narrow = Scripted::offer(&connections, 8);
        hands.expect(Did::Logged(ConnectionEvent::Connected)).await;
        let connected = Instant::now();
        hands.press.send(press).unwrap();
        hands.expect(Did::Pressed(press.0, press.1)).await;
        assert!(connected.elapsed() < Duration::from_millis(100));
        hands.ended(Some(MqttError::Silent)).await;
        assert!(connected.elapsed() <= Duration::from_millis(10_010));
        drop(narrow);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_no_broker_may_say_ends_the_connection_and_names_the_reason() {
    let cases: [(&[u8], MqttError); 5] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", MqttError::Malformed),
        (&[0x20, 2, 0, 5], MqttError::Login(5)),
        (&[0x20, 2, 0, 0, 0x90, 3, 0, 1, 0x80], MqttError::Subscription),
        (&[0x20, 2, 0, 0, 0x90, 3, 0, 1, 1, 0x34, 5, 0, 1, 0x61, 0, 1], MqttError::Malformed),
        (&[0x20, 2, 0, 0, 0x90, 3, 0, 1, 1, 0x30, 0xff, 0xff, 0xff, 0xff, 0xff], MqttError::Malformed),
    ];
    with_scripted_brokers(async |mut hands, connections| {
        for (said, error) in cases {
            let mut broker = Scripted::offer(&connections, 10_000);
            broker.says(said).await;
            loop {
                match hands.next().await {
                    Did::Logged(ConnectionEvent::Ended(ended)) => break assert_eq!(ended, Some(error)),
                    Did::Logged(ConnectionEvent::Connected | ConnectionEvent::Online)
                    | Did::Connected
                    | Did::Disconnected
                    | Did::Refused => {}
                    other => panic!("{other:?}"),
                }
            }
            assert!(matches!(hands.next().await, Did::Logged(ConnectionEvent::Waiting(_))));
        }
        let broker = Scripted::offer(&connections, 10_000);
        drop(broker);
        hands.expect(Did::Logged(ConnectionEvent::Connected)).await;
        hands.expect(Did::Disconnected).await;
        assert!(matches!(hands.next().await, Did::Logged(ConnectionEvent::Ended(Some(_)))));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_device_without_business_there_stays_away_until_it_has_some() {
    with_scripted_brokers(async |mut hands, connections| {
        let mut broker = Scripted::offer(&connections, 10_000);
        broker.welcomes().await;
        hands.online().await;
        hands.turn_to(None).await;
        broker.hears(&packet::publish(3, PRESENCE, 1)).await;
        broker.hears(b"0").await;
        broker.hears(&DISCONNECT).await;
        hands.ended(None).await;
        let mut broker = Scripted::offer(&connections, 10_000);
        sleep(Duration::from_secs(600)).await;
        hands.turn_to(Some(access("word"))).await;
        broker.welcomes().await;
        hands.online().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_comes_with_the_answer_to_the_subscription_is_heard_at_once() {
    with_scripted_brokers(async |mut hands, connections| {
        let mut broker = Scripted::offer(&connections, 10_000);
        broker.hears(&packet::connect(&access("word"), 10)).await;
        broker.says(&[0x20, 2, 0, 0]).await;
        broker.hears(&packet::subscribe(1, DOWN)).await;
        let message = [&packet::publish(9, DOWN, 5)[..], b"hello"].concat();
        broker.says(&[&[0x90, 3, 0, 1, 1], &message[..]].concat()).await;
        let said = Instant::now();
        hands.online().await;
        hands.expect(Did::Received(DOWN.into(), b"hello".to_vec())).await;
        assert!(said.elapsed() < Duration::from_millis(100));
    })
    .await;
}
