//! The runner against a real broker and a small hub.

use ed25519_dalek::SigningKey;
use gatepost_companion::{Bond, Counter as _, Keys, Storage as _, View};
use gatepost_link::{
    Digest, RequestId,
    decision::{Decision, PublicKey, Statement, Verdict},
    document::{Document, MAX_DOCUMENT, Part},
    envelope::{self, MAX_FRAME, VERSION},
    frame::{self, Down, Offer, PIECE, Up},
    seal::SealSecret,
    session::{self, Arrived, Ends, Session},
    topic::Topics,
};

use rumqttc::{Event, EventLoop, MqttOptions, Packet};

use super::*;
#[path = "../../tests/broker/mod.rs"]
mod broker;

use crate::person::{self, PersonError};
use broker::{broker, free_port};

const HUB: PublicKey = PublicKey([0x68; 32]);
const HUB_SECRET: SealSecret = SealSecret([9; 32]);
const DEVICE_SECRET: SealSecret = SealSecret([8; 32]);
const REQUEST: RequestId = RequestId([7; 16]);

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
        also: Default::default(),
    };
    document.parts.push(Part { text, wire: Digest([2; 32]), wire_alt: None }).unwrap();
    document.encode(buffer).unwrap().to_vec()
}

/// What the hub received.
#[derive(Debug, PartialEq)]
enum Received {
    Presence(String),
    Decision(Decision, bool),
    Display(bool),
}

/// A hub that offers one document in every session and consumes what verifies.
struct MockHub {
    client: AsyncClient,
    topics: Topics,
    device: PublicKey,
    document: Vec<u8>,
    session: Option<Session>,
    received: mpsc::Sender<Received>,
}

impl MockHub {
    async fn run(mut self, mut events: EventLoop, subscribed: tokio::sync::oneshot::Sender<()>) {
        let mut subscribed = Some(subscribed);
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
                    self.received.send(Received::Presence(presence)).await.unwrap();
                }
                Ok(Event::Incoming(Packet::Publish(publish))) => match self.opened(&publish.payload).await {
                    None => {}
                    Some(Up::Ready) => self.down(&Down::Offer(offer)).await,
                    Some(Up::Fetch { request, piece }) => {
                        let bytes = self.document.chunks(PIECE).nth(piece.into()).unwrap().to_vec();
                        self.down(&Down::Piece { request, piece, bytes: &bytes }).await;
                    }
                    Some(Up::Decision(decision)) => {
                        let statement = Statement {
                            hub: HUB,
                            device: self.device,
                            request: REQUEST,
                            document: offer.document,
                            verdict: decision.verdict,
                            counter: decision.counter,
                            session: self.session.as_ref().unwrap().hash(),
                        };
                        let verified = statement.verify(&decision.signature);
                        self.received.send(Received::Decision(decision, verified)).await.unwrap();
                        self.down(&Down::Consumed { request: REQUEST }).await;
                    }
                    Some(Up::Refuse { reason, .. }) => panic!("refused: {reason:?}"),
                    Some(Up::Display { works }) => {
                        self.received.send(Received::Display(works)).await.unwrap()
                    }
                    Some(Up::Running(_) | Up::FetchBlock { .. } | Up::Update { .. } | Up::Mute { .. }) => {}
                },
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    /// Opens a payload, or the session that it asks for.
    async fn opened(&mut self, payload: &[u8]) -> Option<Up> {
        match envelope::decode(payload, VERSION).unwrap() {
            envelope::Up::Open { noise } => {
                let ends = Ends::new(HUB, self.device);
                let (session, noise) =
                    session::answer(&ends, &HUB_SECRET, &DEVICE_SECRET.public(), noise, &mut System).unwrap();
                self.session = Some(session);
                self.publish(&envelope::Down::Opened { noise: &noise }).await;
                None
            }
            envelope::Up::Sealed { number, bytes } => {
                let mut plain = [0; MAX_FRAME];
                match self.session.as_mut()?.open(number, bytes, &mut plain) {
                    Ok(Arrived::Text(text)) => Some(frame::decode(text).unwrap()),
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    async fn down(&mut self, frame: &Down<'_>) {
        let (mut plain, mut sealed) = ([0; MAX_FRAME], [0; MAX_FRAME]);
        let text = frame::encode(frame, &mut plain).unwrap();
        let (number, bytes) = self.session.as_mut().unwrap().seal(text, &mut sealed).unwrap();
        self.publish(&envelope::Down::Sealed { number, bytes }).await;
    }

    async fn publish(&self, envelope: &envelope::Down<'_>) {
        let mut buffer = [0; MAX_FRAME];
        let bytes = envelope::encode(envelope, &mut buffer).unwrap();
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

/// A companion that is paired with the hub and has decided before.
fn companion_at(port: u16) -> Companion {
    let mut store = Store::memory();
    store.store_keys(&Keys { sign: [3; 32], seal: DEVICE_SECRET }).unwrap();
    let bond = Bond {
        hub: HUB,
        seal: HUB_SECRET.public(),
        user: "companion".try_into().unwrap(),
        password: "word".try_into().unwrap(),
        version: VERSION,
    };
    store.store_bond(&bond).unwrap();
    store.reserve().unwrap();
    let settings = Settings {
        host: "127.0.0.1".into(),
        port,
        store,
        geometry: Geometry::text(21, 8),
        app: gatepost_companion::Settings::default(),
        display: Display::Watched,
    };
    Companion::start(settings).unwrap()
}

/// Broker, hub and companion.
async fn house(text: &str) -> (Companion, mpsc::Receiver<Received>) {
    let port = broker().await;
    wired_house(text, port, port).await
}

/// The same with the broker on this port and the companion on another.
async fn wired_house(text: &str, port: u16, companion_port: u16) -> (Companion, mpsc::Receiver<Received>) {
    let key = SigningKey::from_bytes(&[3; 32]);
    let device = PublicKey(key.verifying_key().to_bytes());
    let topics = Topics::new(HUB, device);

    let mut options = MqttOptions::new("hub", "127.0.0.1", port);
    options.set_credentials("hub", "secret");
    let (client, events) = AsyncClient::new(options, 64);
    client.subscribe(topics.up.as_str(), QoS::AtLeastOnce).await.unwrap();
    client.subscribe(topics.presence.as_str(), QoS::AtLeastOnce).await.unwrap();
    let (received, ears) = mpsc::channel(64);
    let (subscribed, is_subscribed) = tokio::sync::oneshot::channel();
    let document = document(text, &mut [0; MAX_DOCUMENT]);
    tokio::spawn(
        MockHub { client, topics, device, document, session: None, received }.run(events, subscribed),
    );
    is_subscribed.await.unwrap();

    (companion_at(companion_port), ears)
}

async fn decision(ears: &mut mpsc::Receiver<Received>) -> (Decision, bool) {
    loop {
        if let Received::Decision(decision, verified) = ears.recv().await.unwrap() {
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
    assert!(seen.pages[0].starts_with("agent: engineer\nwants to: send\nto: "), "{:?}", seen.pages);
    assert_eq!(seen.pages.concat().matches("report").count(), 60, "every word was on the screen");
    let (decision, verified) = decision(&mut ears).await;
    assert_eq!((decision.verdict, decision.counter, verified), (Verdict::Approve, 2, true));
}

#[tokio::test]
async fn a_person_who_denies_is_confirmed() {
    let (companion, mut ears) = house("No.").await;
    assert_eq!(ears.recv().await, Some(Received::Presence("1".into())));
    person::decide(&companion, Verdict::Deny, Duration::from_secs(30)).await.unwrap();
    let (decision, verified) = decision(&mut ears).await;
    assert_eq!((decision.verdict, verified), (Verdict::Deny, true));
    drop(companion);
    assert_eq!(ears.recv().await, Some(Received::Presence("0".into())), "the last will");
}

#[tokio::test]
async fn a_companion_whose_link_was_cut_connects_again_and_its_card_goes_on() {
    let (port, companion_port) = (broker().await, free_port());
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
    let companion = companion_at(free_port());
    let patience = Duration::from_millis(700);
    let result = person::decide(&companion, Verdict::Approve, patience).await;
    assert_eq!(result, Err(PersonError::Timeout(patience)));
    assert_eq!(companion.screens().borrow().view, View::Offline);
}
