//! The runner against a real broker and a small hub.

use std::{collections::HashMap, net::TcpListener};

use gatepost_companion::View;
use gatepost_link::{
    Digest, RequestId,
    decision::{Decision, Statement, Verdict},
    document::{Document, MAX_DOCUMENT, Part},
    frame::{self, Down, MAX_FRAME, Offer, PIECE, Up},
    session::SessionHash,
};
use rumqttd::{ConnectionSettings, RouterConfig, ServerSettings};

use super::*;
use crate::person::{self, PersonError};

const HUB: PublicKey = PublicKey([0x68; 32]);
const HUB_NONCE: Nonce = Nonce([9; 16]);
const REQUEST: RequestId = RequestId([7; 16]);

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn broker(port: u16) {
    let server = ServerSettings {
        name: "test".into(),
        listen: ([127, 0, 0, 1], port).into(),
        tls: None,
        next_connection_delay_ms: 1,
        connections: ConnectionSettings {
            connection_timeout_ms: 5_000,
            max_payload_size: 20_480,
            max_inflight_count: 100,
            auth: Some(HashMap::from([("hub".into(), "secret".into()), ("companion".into(), "word".into())])),
            external_auth: None,
            dynamic_filters: true,
        },
    };
    let config = rumqttd::Config {
        router: RouterConfig {
            max_connections: 10,
            max_outgoing_packet_count: 200,
            max_segment_size: 1 << 20,
            max_segment_count: 10,
            ..RouterConfig::default()
        },
        v4: Some(HashMap::from([("test".into(), server)])),
        ..rumqttd::Config::default()
    };
    std::thread::spawn(move || rumqttd::Broker::new(config).start().unwrap());
}

fn document(text: &str, buffer: &mut [u8; MAX_DOCUMENT]) -> Vec<u8> {
    let mut document = Document {
        request: REQUEST,
        audit_head: Digest([1; 32]),
        agent: "engineer",
        origin: None,
        action: "send",
        channel: "matrix",
        account: "home",
        address: "!kitchen:example.org",
        known_as: None,
        thread: None,
        reply_to: None,
        options: Default::default(),
        parts: Default::default(),
        attachments: Default::default(),
    };
    document.parts.push(Part { text, wire: Digest([2; 32]), wire_alt: None }).unwrap();
    document.encode(buffer).unwrap().to_vec()
}

/// What the hub saw.
#[derive(Debug, PartialEq)]
enum Heard {
    Presence(String),
    Decision(Decision, bool),
}

/// A hub that offers one document in every session and consumes what verifies.
struct Hub {
    client: AsyncClient,
    topics: Topics,
    device: PublicKey,
    document: Vec<u8>,
    heard: mpsc::Sender<Heard>,
}

impl Hub {
    async fn run(self, mut events: EventLoop, subscribed: tokio::sync::oneshot::Sender<()>) {
        let mut subscribed = Some(subscribed);
        let mut session = None;
        let offer = Offer {
            request: REQUEST,
            document: Digest::of(&self.document),
            length: self.document.len() as u32,
            expires_ms: 60_000,
        };
        loop {
            match events.poll().await {
                Ok(Event::Incoming(Packet::SubAck(_))) => {
                    if let Some(subscribed) = subscribed.take() {
                        subscribed.send(()).unwrap();
                    }
                }
                Ok(Event::Incoming(Packet::Publish(publish)))
                    if publish.topic == self.topics.presence.as_str() =>
                {
                    let presence = String::from_utf8(publish.payload.to_vec()).unwrap();
                    self.heard.send(Heard::Presence(presence)).await.unwrap();
                }
                Ok(Event::Incoming(Packet::Publish(publish))) => {
                    match frame::decode(&publish.payload).unwrap() {
                        Up::Hello { nonce } => {
                            session = Some(SessionHash::new(HUB, self.device, nonce, HUB_NONCE));
                            self.down(&Down::Welcome { answers: nonce, nonce: HUB_NONCE }).await;
                            self.down(&Down::Offer(offer)).await;
                        }
                        Up::Fetch { request, piece } => {
                            let bytes = self.document.chunks(PIECE).nth(piece.into()).unwrap();
                            self.down(&Down::Piece { request, piece, bytes }).await;
                        }
                        Up::Decision(decision) => {
                            let statement = Statement {
                                hub: HUB,
                                device: self.device,
                                request: REQUEST,
                                document: offer.document,
                                verdict: decision.verdict,
                                counter: decision.counter,
                                session: session.unwrap(),
                            };
                            let verified = statement.verify(&decision.signature);
                            self.heard.send(Heard::Decision(decision, verified)).await.unwrap();
                            self.down(&Down::Consumed { request: REQUEST }).await;
                        }
                        Up::Refuse { reason, .. } => panic!("refused: {reason:?}"),
                    }
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    async fn down(&self, frame: &Down<'_>) {
        let mut buffer = [0; MAX_FRAME];
        let bytes = frame::encode(frame, &mut buffer).unwrap();
        self.client.publish(self.topics.down.as_str(), QoS::AtLeastOnce, false, bytes).await.unwrap();
    }
}

/// A cable to the broker that can be pulled.
async fn cable(broker: u16, port: u16) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    loop {
        let (mut near, _) = listener.accept().await.unwrap();
        let mut far = tokio::net::TcpStream::connect(("127.0.0.1", broker)).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
    }
}

/// Broker, hub and companion.
async fn house(text: &str) -> (Companion, mpsc::Receiver<Heard>) {
    let port = free_port();
    wired_house(text, port, port).await
}

/// The same with the companion on another port than the broker.
async fn wired_house(text: &str, port: u16, companion_port: u16) -> (Companion, mpsc::Receiver<Heard>) {
    broker(port);
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        sleep(Duration::from_millis(20)).await;
    }
    let key = SigningKey::from_bytes(&[3; 32]);
    let device = PublicKey(key.verifying_key().to_bytes());
    let topics = Topics::new(HUB, device);

    let mut options = MqttOptions::new("hub", "127.0.0.1", port);
    options.set_credentials("hub", "secret");
    let (client, events) = AsyncClient::new(options, 64);
    client.subscribe(topics.up.as_str(), QoS::AtLeastOnce).await.unwrap();
    client.subscribe(topics.presence.as_str(), QoS::AtLeastOnce).await.unwrap();
    let (heard, ears) = mpsc::channel(64);
    let (subscribed, is_subscribed) = tokio::sync::oneshot::channel();
    let document = document(text, &mut [0; MAX_DOCUMENT]);
    tokio::spawn(Hub { client, topics, device, document, heard }.run(events, subscribed));
    is_subscribed.await.unwrap();

    let companion = Companion::start(Settings {
        host: "127.0.0.1".into(),
        port: companion_port,
        user: "companion".into(),
        password: "word".into(),
        key,
        hub: HUB,
        geometry: Geometry::SMALL,
        counter: CounterStore::Memory(41),
        app: gatepost_companion::Settings::default(),
    });
    (companion, ears)
}

async fn decision(ears: &mut mpsc::Receiver<Heard>) -> (Decision, bool) {
    loop {
        if let Heard::Decision(decision, verified) = ears.recv().await.unwrap() {
            return (decision, verified);
        }
    }
}

#[tokio::test]
async fn an_offer_that_a_person_reads_and_holds_becomes_a_verified_approval() {
    let text = "The report is done. ".repeat(60);
    let (companion, mut ears) = house(&text).await;
    let seen = person::decide(&companion, Verdict::Approve, Duration::from_secs(60)).await.unwrap();
    assert_eq!(seen.request, REQUEST);
    assert!(seen.pages[0].starts_with("agent: engineer\nin no conversation\ndoes: send"), "{:?}", seen.pages);
    assert_eq!(seen.pages.concat().matches("report").count(), 60, "every word was on the screen");
    let (decision, verified) = decision(&mut ears).await;
    assert_eq!((decision.verdict, decision.counter, verified), (Verdict::Approve, 42, true));
}

#[tokio::test]
async fn a_person_who_denies_is_confirmed() {
    let (companion, mut ears) = house("No.").await;
    assert_eq!(ears.recv().await, Some(Heard::Presence("1".into())));
    person::decide(&companion, Verdict::Deny, Duration::from_secs(30)).await.unwrap();
    let (decision, verified) = decision(&mut ears).await;
    assert_eq!((decision.verdict, verified), (Verdict::Deny, true));
    drop(companion);
    assert_eq!(ears.recv().await, Some(Heard::Presence("0".into())), "the last will");
}

#[tokio::test]
async fn a_companion_whose_link_was_cut_connects_again_and_its_card_goes_on() {
    let (port, companion_port) = (free_port(), free_port());
    let wire = tokio::spawn(cable(port, companion_port));
    let (companion, mut ears) = wired_house("No.", port, companion_port).await;
    let deniable = |wanted: bool| move |screen: &Screen| matches!(screen.view, View::Card(card) if card.deniable == wanted);
    let mut screens = companion.screens();
    screens.wait_for(deniable(true)).await.unwrap();
    wire.abort();
    screens.wait_for(deniable(false)).await.unwrap();
    tokio::spawn(cable(port, companion_port));
    screens.wait_for(deniable(true)).await.unwrap();
    person::decide(&companion, Verdict::Deny, Duration::from_secs(30)).await.unwrap();
    assert!(decision(&mut ears).await.1, "signed for the second session");
}

#[tokio::test]
async fn a_companion_without_a_broker_waits_offline_and_a_person_gives_up_in_time() {
    let companion = Companion::start(Settings {
        host: "127.0.0.1".into(),
        port: free_port(),
        user: "companion".into(),
        password: "word".into(),
        key: SigningKey::from_bytes(&[3; 32]),
        hub: HUB,
        geometry: Geometry::SMALL,
        counter: CounterStore::Memory(0),
        app: gatepost_companion::Settings::default(),
    });
    let patience = Duration::from_millis(700);
    let result = person::decide(&companion, Verdict::Approve, patience).await;
    assert_eq!(result, Err(PersonError::Timeout(patience)));
    assert_eq!(companion.screens().borrow().view, View::Offline);
}
