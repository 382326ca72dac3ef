//! The loop that every runner runs: connects to the broker, serves, waits, and connects again.
//!
//! Buttons, clock and screen continue whatever the network does: every wait for the network also waits for them, and has a
//! timeout. A connection without a sign of life for [`KEEP_ALIVE_MS`] is dropped; the broker is pinged twice as often.

use core::{
    fmt,
    future::{Future, pending},
    pin::pin,
};

use embassy_futures::select::{Either, select};
use embedded_io_async::{ErrorKind, Read, Write};
use gatepost_link::seal::Random;

use crate::{
    companion::Companion,
    link::payload::Payload,
    net::mqtt::{
        access::Access,
        backoff::Backoff,
        client::{Client, MAX_IN_FLIGHT, MqttError},
        packet::Incoming,
    },
    storage::traits::Storage,
    time::Millis,
    ui::{
        buttons::{Button, Edge},
        screen::Screen,
        view::NotShown,
    },
    update::Updates,
};

/// How soon a broken connection is noticed.
pub const KEEP_ALIVE_MS: u64 = 10_000;
/// How long connecting, logging in or one write may take.
pub const NETWORK_TIMEOUT_MS: u64 = 10_000;
/// The codes with which a broker refuses an unknown or revoked login (3.2.2.3).
const BAD_LOGIN: u8 = 4;
const NOT_AUTHORIZED: u8 = 5;
/// A broker that closes the connection at the login this many times in a row refuses the login.
pub const MAX_HANG_UPS: u32 = 3;
/// How long an application sleeps that has nothing to do.
const IDLE_SLEEP_MS: u64 = 3_600_000;

/// The application that the loop drives: [`Companion`], or a mock in tests. Each method is the companion's of the same
/// name.
#[allow(missing_docs, reason = "documented there")]
pub trait Peer {
    fn access(&self) -> Option<&Access>;
    fn access_number(&self) -> u32;
    fn connected(&mut self, now: Millis);
    fn login_refused(&mut self);
    fn disconnected(&mut self, now: Millis);
    fn received(&mut self, now: Millis, topic: &str, payload: &[u8]);
    fn next_payload(&mut self, now: Millis) -> Option<Payload>;
    fn button(&mut self, now: Millis, button: Button, edge: Edge);
    fn tick(&mut self, now: Millis);
    fn next_tick(&self, now: Millis) -> Option<Millis>;
    fn screen(&self, now: Millis) -> Screen;
    fn drawn(&mut self, now: Millis, screen: &Screen, shown: Result<(), NotShown>);
    fn random(&mut self) -> u32;
    fn restarts(&self, now: Millis) -> bool;
}

impl<S: Storage, R: Random, U: Updates> Peer for Companion<S, R, U> {
    fn access(&self) -> Option<&Access> {
        self.access()
    }

    fn access_number(&self) -> u32 {
        self.access_number()
    }

    fn connected(&mut self, now: Millis) {
        self.connected(now);
    }

    fn login_refused(&mut self) {
        self.login_refused();
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

    fn drawn(&mut self, now: Millis, screen: &Screen, shown: Result<(), NotShown>) {
        self.drawn(now, screen, shown);
    }

    fn random(&mut self) -> u32 {
        self.random()
    }

    fn restarts(&self, now: Millis) -> bool {
        self.restarts(now)
    }
}

/// A board: a clock, two buttons, a screen and a log.
#[allow(async_fn_in_trait, reason = "one task runs it: it need not be Send")]
pub trait Board {
    /// The time.
    fn now(&self) -> Millis;

    /// Waits for a button's edge, or until `until`: `None`. Safe to cancel: no edge is lost.
    async fn next_edge(&mut self, until: Millis) -> Option<(Button, Edge)>;

    /// Draws a screen, which is often the same as before. Returns an error if the display did not accept all of it: nobody
    /// can have read it then, and it is drawn again. [`Panel`](crate::Panel) implements this for any display.
    fn show(&mut self, screen: &Screen) -> Result<(), NotShown>;

    /// Logs an event of the connection.
    fn log(&mut self, event: ConnectionEvent);

    /// Restarts the device: other firmware is to be started. Does not return on a device.
    fn restart(&mut self);
}

/// Connects to the broker.
#[allow(async_fn_in_trait, reason = "one task runs it: it need not be Send")]
pub trait Connector {
    /// A connection.
    type Socket<'c>: Read + Write
    where
        Self: 'c;

    /// Connects. Dropping the socket ends the connection.
    async fn connect(&mut self) -> Result<Self::Socket<'_>, ErrorKind>;
}

/// An event of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// The device is connected to the broker, and logs in.
    Connected,
    /// The device is subscribed.
    Online,
    /// The connection ended; `None` if the device ended it.
    Ended(Option<MqttError>),
    /// The next attempt follows after this many milliseconds.
    Waiting(u64),
}

/// A line of the log.
impl fmt::Display for ConnectionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broker: ")?;
        match self {
            Self::Connected => f.write_str("connected"),
            Self::Online => f.write_str("subscribed"),
            Self::Ended(Some(error)) => error.fmt(f),
            Self::Ended(None) => f.write_str("left"),
            Self::Waiting(delay) => write!(f, "again in {delay} ms"),
        }
    }
}

/// Runs a device forever.
pub async fn run<P: Peer, B: Board, C: Connector>(peer: &mut P, board: &mut B, connector: &mut C) -> ! {
    let mut device = Device { peer, board };
    let mut backoff = Backoff::default();
    let mut hang_ups = 0_u32;
    device.show();
    loop {
        let Some(access) = device.peer.access().cloned() else {
            device.wait_for_access().await;
            continue;
        };
        let began = device.board.now();
        let end = device.connection(&access, connector).await;
        let now = device.board.now();
        device.peer.disconnected(now);
        hang_ups = if end == Err(MqttError::HungUp) { hang_ups.saturating_add(1) } else { 0 };
        if matches!(end, Err(MqttError::Login(BAD_LOGIN | NOT_AUTHORIZED))) || hang_ups >= MAX_HANG_UPS {
            device.peer.login_refused();
        }
        device.board.log(ConnectionEvent::Ended(end.err()));
        device.show();
        if end.is_err() {
            let delay = backoff.delay_after(now.since(began), device.peer.random());
            device.board.log(ConnectionEvent::Waiting(delay));
            device.run_during(now.after(delay), pending::<()>()).await;
        }
    }
}

/// When each of these last happened on a connection.
struct Activity {
    received: Millis,
    sent: Millis,
    /// Nothing was waiting for an acknowledgement, or one arrived.
    acknowledged: Millis,
}

impl Activity {
    fn new(now: Millis) -> Self {
        Self { received: now, sent: now, acknowledged: now }
    }

    /// When the connection counts as broken.
    fn lost_at(&self) -> Millis {
        self.received.min(self.acknowledged).after(KEEP_ALIVE_MS)
    }

    /// When to ask the broker whether it is alive.
    fn ping_at(&self) -> Millis {
        self.sent.after(KEEP_ALIVE_MS / 2)
    }
}

/// Everything except the network.
struct Device<'d, P, B> {
    peer: &'d mut P,
    board: &'d mut B,
}

impl<P: Peer, B: Board> Device<'_, P, B> {
    /// Connects and serves until the connection fails, or until the peer's access has changed: `Ok`.
    async fn connection<C: Connector>(
        &mut self,
        access: &Access,
        connector: &mut C,
    ) -> Result<(), MqttError> {
        let access_number = self.peer.access_number();
        let socket =
            self.with_timeout(async { connector.connect().await.map_err(MqttError::Socket) }).await?;
        self.board.log(ConnectionEvent::Connected);
        let mut client = Client::new(socket);
        self.with_timeout(client.log_in(access, (KEEP_ALIVE_MS / 1_000) as u16)).await?;
        // The access may have changed meanwhile.
        if self.peer.access_number() == access_number {
            self.board.log(ConnectionEvent::Online);
            self.peer.connected(self.board.now());
        }
        self.serve(access, access_number, &mut client).await
    }

    async fn serve<S: Read + Write>(
        &mut self,
        access: &Access,
        access_number: u32,
        client: &mut Client<S>,
    ) -> Result<(), MqttError> {
        let mut activity = Activity::new(self.board.now());
        loop {
            // Received packets first: some may have come with the answer to the subscription.
            self.receive(client, &mut activity).await?;
            self.send(access, access_number, client, &mut activity).await?;
            if self.peer.access_number() != access_number {
                return self.with_timeout(client.log_out(access)).await;
            }
            let now = self.board.now();
            if client.in_flight() == 0 {
                activity.acknowledged = now;
            }
            if now >= activity.lost_at() {
                return Err(MqttError::Silent);
            }
            if now >= activity.ping_at() {
                self.with_timeout(client.ping()).await?;
                activity.sent = now;
            }
            // Last, because drawing takes long: a decision is already on its way by now.
            self.show();
            let until = activity.ping_at().min(activity.lost_at());
            match select(self.board.next_edge(self.wake_at(until)), client.fill()).await {
                Either::First(edge) => self.handle(edge),
                Either::Second(filled) => {
                    filled?;
                    activity.received = self.board.now();
                }
            }
        }
    }

    /// Handles every packet that has arrived.
    async fn receive<S: Read + Write>(
        &mut self,
        client: &mut Client<S>,
        activity: &mut Activity,
    ) -> Result<(), MqttError> {
        while let Some(packet) = client.take()? {
            let id = match packet {
                Incoming::Message { topic, id, payload } => {
                    self.peer.received(self.board.now(), topic, payload);
                    id
                }
                Incoming::TooLarge { id } => id,
                Incoming::Acknowledged => {
                    activity.acknowledged = self.board.now();
                    None
                }
                _ => None,
            };
            if let Some(id) = id {
                self.with_timeout(client.acknowledge(id)).await?;
                activity.sent = self.board.now();
            }
        }
        Ok(())
    }

    /// Publishes the peer's payloads, as long as the access is its own.
    async fn send<S: Read + Write>(
        &mut self,
        access: &Access,
        access_number: u32,
        client: &mut Client<S>,
        activity: &mut Activity,
    ) -> Result<(), MqttError> {
        while client.in_flight() < MAX_IN_FLIGHT
            && self.peer.access_number() == access_number
            && let Some(payload) = self.peer.next_payload(self.board.now())
        {
            self.with_timeout(client.publish_frame(&access.up, &payload)).await?;
            activity.sent = self.board.now();
        }
        Ok(())
    }

    /// Runs the device until the peer has an access to the broker.
    async fn wait_for_access(&mut self) {
        while self.peer.access().is_none() {
            let until = self.board.now().after(IDLE_SLEEP_MS);
            let edge = self.board.next_edge(self.wake_at(until)).await;
            self.handle_and_show(edge);
        }
    }

    /// Runs the device until the network has done its work, or the timeout is over.
    async fn with_timeout<T>(
        &mut self,
        work: impl Future<Output = Result<T, MqttError>>,
    ) -> Result<T, MqttError> {
        let until = self.board.now().after(NETWORK_TIMEOUT_MS);
        self.run_during(until, work).await.unwrap_or(Err(MqttError::Silent))
    }

    /// Runs the device until `work` is done, or until `until`: `None`.
    async fn run_during<T>(&mut self, until: Millis, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        while self.board.now() < until {
            match select(self.board.next_edge(self.wake_at(until)), work.as_mut()).await {
                Either::First(edge) => self.handle_and_show(edge),
                Either::Second(done) => return Some(done),
            }
        }
        None
    }

    /// When the device must be woken. Never at once, so that the network has its turn.
    fn wake_at(&self, until: Millis) -> Millis {
        let now = self.board.now();
        self.peer.next_tick(now).map_or(until, |next| next.min(until)).max(now.after(1))
    }

    fn handle_and_show(&mut self, edge: Option<(Button, Edge)>) {
        self.handle(edge);
        self.show();
    }

    fn handle(&mut self, edge: Option<(Button, Edge)>) {
        let now = self.board.now();
        match edge {
            Some((button, edge)) => self.peer.button(now, button, edge),
            None => self.peer.tick(now),
        }
    }

    fn show(&mut self) {
        let now = self.board.now();
        let screen = self.peer.screen(now);
        let shown = self.board.show(&screen);
        self.peer.drawn(now, &screen, shown);
        if self.peer.restarts(now) {
            self.board.restart();
        }
    }
}
