//! The loop that every runner runs.
//!
//! Buttons, clock and screen go on whatever the network does: each wait for it is also a wait for them, and each has an
//! end. A connection that shows no life for [`KEEP_ALIVE`] is given up; the broker is asked for a sign twice as often.

use core::{
    fmt,
    future::{Future, pending},
    pin::pin,
};

use embassy_futures::select::{Either, select};
use embedded_io_async::{ErrorKind, Read, Write};
use gatepost_link::seal::Random;

use super::{
    client::{Client, MAX_IN_FLIGHT, MqttError},
    packet::Incoming,
    pause::Pause,
};
use crate::{
    Button, Edge, Millis, Screen, Storage,
    companion::{Access, Companion},
    screen::NotShown,
    sealed::Payload,
};

/// How soon a broken connection is noticed, in milliseconds.
pub const KEEP_ALIVE: u64 = 10_000;
/// How long connecting, logging in or one write may take, in milliseconds.
pub const PATIENCE: u64 = 10_000;
/// What a broker answers to a login that it does not know, or not any more (3.2.2.3).
const NO_LOGIN: u8 = 4;
const NOT_ALLOWED: u8 = 5;
/// A broker that hangs up at the login so often, and nothing else in between, does not take it.
pub const HANG_UPS: u32 = 3;
/// How long an application sleeps that has nothing to do, in milliseconds.
const SOMETIME: u64 = 3_600_000;

/// What a device says at the broker and makes of what it hears there, of time and of its buttons: [`Companion`], and
/// a double in tests. Each call is the companion's of the same name.
#[allow(missing_docs, reason = "documented there")]
pub trait Peer {
    fn access(&self) -> Option<&Access>;
    fn turn(&self) -> u32;
    fn connected(&mut self, now: Millis);
    fn refused(&mut self);
    fn disconnected(&mut self, now: Millis);
    fn received(&mut self, now: Millis, topic: &str, payload: &[u8]);
    fn next_payload(&mut self, now: Millis) -> Option<Payload>;
    fn button(&mut self, now: Millis, button: Button, edge: Edge);
    fn tick(&mut self, now: Millis);
    fn next_tick(&self, now: Millis) -> Option<Millis>;
    fn screen(&self, now: Millis) -> Screen;
    fn drawn(&mut self, now: Millis, screen: &Screen, taken: Result<(), NotShown>);
    fn dice(&mut self) -> u32;
}

impl<S: Storage, R: Random> Peer for Companion<S, R> {
    fn access(&self) -> Option<&Access> {
        self.access()
    }

    fn turn(&self) -> u32 {
        self.turn()
    }

    fn connected(&mut self, now: Millis) {
        self.connected(now);
    }

    fn refused(&mut self) {
        self.refused();
    }

    fn disconnected(&mut self, now: Millis) {
        self.disconnected(now);
    }

    fn received(&mut self, now: Millis, topic: &str, payload: &[u8]) {
        self.received(now, topic, payload);
    }

    fn next_payload(&mut self, now: Millis) -> Option<Payload> {
        self.next_payload(now)
    }

    fn button(&mut self, now: Millis, button: Button, edge: Edge) {
        self.button(now, button, edge);
    }

    fn tick(&mut self, now: Millis) {
        self.tick(now);
    }

    fn next_tick(&self, now: Millis) -> Option<Millis> {
        self.next_tick(now)
    }

    fn screen(&self, now: Millis) -> Screen {
        self.screen(now)
    }

    fn drawn(&mut self, now: Millis, screen: &Screen, taken: Result<(), NotShown>) {
        self.drawn(now, screen, taken);
    }

    fn dice(&mut self) -> u32 {
        self.dice()
    }
}

/// A clock, two buttons, a screen.
#[allow(async_fn_in_trait, reason = "one task runs it: it need not be Send")]
pub trait Board {
    /// The time.
    fn now(&self) -> Millis;

    /// Waits for a button's edge, at most until then: `None`. Can be given up, and loses no edge by it.
    async fn event(&mut self, until: Millis) -> Option<(Button, Edge)>;

    /// Draws; often the same as before. An error where the display has not taken all of it: nobody can have read it then,
    /// and it is drawn again. [`Panel`](crate::panel::Panel) says so for any display.
    fn show(&mut self, screen: &Screen) -> Result<(), NotShown>;

    /// Something happened that a log should have.
    fn note(&mut self, note: Note);
}

/// A way to the broker.
#[allow(async_fn_in_trait, reason = "one task runs it: it need not be Send")]
pub trait Connector {
    /// A connection.
    type Socket<'c>: Read + Write
    where
        Self: 'c;

    /// Connects. Dropping the socket ends the connection.
    async fn connect(&mut self) -> Result<Self::Socket<'_>, ErrorKind>;
}

/// What happens to the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// The device has a connection to the broker, and logs in.
    Connected,
    /// The subscription stands.
    Online,
    /// The connection ended; `None` if the device wanted it.
    Ended(Option<MqttError>),
    /// There will be another attempt in so many milliseconds.
    Waiting(u64),
}

/// As a line of a log.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broker: ")?;
        match self {
            Self::Connected => f.write_str("connected"),
            Self::Online => f.write_str("subscribed"),
            Self::Ended(Some(error)) => error.fmt(f),
            Self::Ended(None) => f.write_str("left"),
            Self::Waiting(pause) => write!(f, "again in {pause} ms"),
        }
    }
}

/// Runs a device for ever.
pub async fn run<P: Peer, B: Board, C: Connector>(peer: &mut P, board: &mut B, connector: &mut C) -> ! {
    let mut house = House { peer, board };
    let mut pause = Pause::default();
    let mut hung_up = 0_u32;
    house.show();
    loop {
        let Some(access) = house.peer.access().cloned() else {
            house.wait_for_access().await;
            continue;
        };
        let began = house.board.now();
        let end = house.connection(&access, connector).await;
        let now = house.board.now();
        house.peer.disconnected(now);
        hung_up = if end == Err(MqttError::HungUp) { hung_up.saturating_add(1) } else { 0 };
        if matches!(end, Err(MqttError::Login(NO_LOGIN | NOT_ALLOWED))) || hung_up >= HANG_UPS {
            house.peer.refused();
        }
        house.board.note(Note::Ended(end.err()));
        house.show();
        if end.is_err() {
            let rest = pause.after(now.since(began), house.peer.dice());
            house.board.note(Note::Waiting(rest));
            house.meanwhile(now.after(rest), pending::<()>()).await;
        }
    }
}

/// All but the network.
struct House<'h, P, B> {
    peer: &'h mut P,
    board: &'h mut B,
}

impl<P: Peer, B: Board> House<'_, P, B> {
    /// Connects and serves until it is over: an error, or `Ok` if the access is not the peer's any more.
    async fn connection<C: Connector>(
        &mut self,
        access: &Access,
        connector: &mut C,
    ) -> Result<(), MqttError> {
        let turn = self.peer.turn();
        let socket = self.patiently(async { connector.connect().await.map_err(MqttError::Socket) }).await?;
        self.board.note(Note::Connected);
        let mut client = Client::new(socket);
        self.patiently(client.log_in(access, (KEEP_ALIVE / 1_000) as u16)).await?;
        // Whatever it was for, it may be over by now.
        if self.peer.turn() == turn {
            self.board.note(Note::Online);
            self.peer.connected(self.board.now());
        }
        self.serve(access, turn, &mut client).await
    }

    async fn serve<S: Read + Write>(
        &mut self,
        access: &Access,
        turn: u32,
        client: &mut Client<S>,
    ) -> Result<(), MqttError> {
        let now = self.board.now();
        let (mut heard, mut said, mut settled) = (now, now, now);
        loop {
            // First what is here already: some may have come with the answer to the subscription.
            while let Some(packet) = client.take()? {
                let id = match packet {
                    Incoming::Message { topic, id, payload } => {
                        self.peer.received(self.board.now(), topic, payload);
                        id
                    }
                    Incoming::TooLarge { id } => id,
                    Incoming::Acknowledged => {
                        settled = self.board.now();
                        None
                    }
                    _ => None,
                };
                if let Some(id) = id {
                    self.patiently(client.acknowledge(id)).await?;
                    said = self.board.now();
                }
            }
            while client.in_flight() < MAX_IN_FLIGHT
                && self.peer.turn() == turn
                && let Some(payload) = self.peer.next_payload(self.board.now())
            {
                self.patiently(client.say(&access.up, &payload)).await?;
                said = self.board.now();
            }
            if self.peer.turn() != turn {
                return self.patiently(client.log_out(access)).await;
            }
            let now = self.board.now();
            if client.in_flight() == 0 {
                settled = now;
            }
            let end = heard.min(settled).after(KEEP_ALIVE);
            if now >= end {
                return Err(MqttError::Silent);
            }
            if now >= said.after(KEEP_ALIVE / 2) {
                self.patiently(client.ping()).await?;
                said = now;
            }
            // Last, because drawing takes long: what was decided is on its way by now.
            self.show();
            let until = said.after(KEEP_ALIVE / 2).min(end);
            match select(self.board.event(self.wake(until)), client.fill()).await {
                Either::First(event) => self.act(event),
                Either::Second(filled) => {
                    filled?;
                    heard = self.board.now();
                }
            }
        }
    }

    /// Lets the house go on until the peer has business at the broker.
    async fn wait_for_access(&mut self) {
        while self.peer.access().is_none() {
            let until = self.board.now().after(SOMETIME);
            let event = self.board.event(self.wake(until)).await;
            self.event(event);
        }
    }

    /// Waits for the network and lets the house go on meanwhile, but not for ever.
    async fn patiently<T>(
        &mut self,
        work: impl Future<Output = Result<T, MqttError>>,
    ) -> Result<T, MqttError> {
        let until = self.board.now().after(PATIENCE);
        self.meanwhile(until, work).await.unwrap_or(Err(MqttError::Silent))
    }

    async fn meanwhile<T>(&mut self, until: Millis, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        while self.board.now() < until {
            match select(self.board.event(self.wake(until)), work.as_mut()).await {
                Either::First(event) => self.event(event),
                Either::Second(done) => return Some(done),
            }
        }
        None
    }

    /// When the house wants to be woken; never at once, so that the network has its turn.
    fn wake(&self, until: Millis) -> Millis {
        let now = self.board.now();
        self.peer.next_tick(now).map_or(until, |next| next.min(until)).max(now.after(1))
    }

    fn event(&mut self, event: Option<(Button, Edge)>) {
        self.act(event);
        self.show();
    }

    fn act(&mut self, event: Option<(Button, Edge)>) {
        let now = self.board.now();
        match event {
            Some((button, edge)) => self.peer.button(now, button, edge),
            None => self.peer.tick(now),
        }
    }

    fn show(&mut self) {
        let now = self.board.now();
        let screen = self.peer.screen(now);
        let taken = self.board.show(&screen);
        self.peer.drawn(now, &screen, taken);
    }
}
