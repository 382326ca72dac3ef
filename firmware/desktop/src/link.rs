//! The companion on the broker: one task that owns the application, one a connection that owns the socket.
//!
//! Every connection starts with an empty queue of its own. Frames of an earlier session that a client library kept
//! for delivery would arrive in the next one and be rejected there.

use std::{io, time::Duration};

use gatepost_companion::{Access, Button, Companion as Core, Edge, Geometry, Millis, NotShown, Screen, mqtt};
use gatepost_link::seal::Random;
use rumqttc::{
    AsyncClient, ConnectReturnCode, ConnectionError, Event, EventLoop, LastWill, MqttOptions, Packet, QoS,
    SubscribeReasonCode, Transport,
};
use tokio::{
    sync::{mpsc, watch},
    task::{AbortHandle, JoinHandle},
    time::{Instant, sleep, sleep_until},
};

use crate::store::{Store, StoreError};

/// The pause before the first attempt to connect again; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause between two attempts.
const LAST_PAUSE: Duration = Duration::from_secs(10);
/// The same for one that is to be paired: the hub waits a minute for it.
const LAST_PAUSE_UNPAIRED: Duration = Duration::from_secs(2);
/// How soon a broken connection is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// How long an application sleeps that has nothing to do.
const SOMETIME: Duration = Duration::from_secs(3_600);
/// How soon a screen that was not shown is drawn again.
const REDRAW: Duration = Duration::from_millis(gatepost_companion::app::REDRAW);
/// Frames and packets on their way between the two tasks.
const IN_FLIGHT: usize = 64;

/// What a companion needs to know.
pub struct Settings {
    /// The broker's host.
    pub host: String,
    /// The broker's port.
    pub port: u16,
    /// What it keeps: its keys, the hub that it is paired with, its counter.
    pub store: Store,
    /// The size of its screen.
    pub geometry: Geometry,
    /// What its owner chose.
    pub app: gatepost_companion::Settings,
    /// Who says whether a screen was shown.
    pub display: Display,
}

/// How it stands with the broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contact {
    /// Nothing is known yet.
    Trying,
    /// There is a connection.
    Up,
    /// There is none, for this reason; it is tried again.
    Away(String),
    /// The broker does not take the login; it is tried again.
    Refused,
}

/// Who says whether a screen was shown. Nothing can be approved that was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Display {
    /// Whoever draws it, by [`Companion::drawings`]: a terminal may be gone, or too small.
    Reported,
    /// Nobody: a scripted person or a test reads [`Companion::screens`] itself, and sees what is in it.
    Watched,
}

/// A screen that was drawn, and whether all of it was shown.
pub type Drawn = (Screen, Result<(), NotShown>);

/// A running companion. It stops, and its last will says so, when this is dropped.
pub struct Companion {
    buttons: mpsc::Sender<(Button, Edge)>,
    screens: watch::Receiver<Screen>,
    contacts: watch::Receiver<Contact>,
    drawings: mpsc::Sender<Drawn>,
    task: JoinHandle<()>,
}

impl Companion {
    /// Starts a companion on the current tokio runtime. It connects, and connects again, by itself.
    ///
    /// # Errors
    ///
    /// Its keys cannot be read or made.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start(settings: Settings) -> Result<Self, StoreError> {
        Self::start_over(settings, Transport::Tcp)
    }

    /// The same over another transport, such as TLS.
    ///
    /// # Errors
    ///
    /// As [`Companion::start`].
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start_over(settings: Settings, transport: Transport) -> Result<Self, StoreError> {
        let app = gatepost_companion::Settings { program: true, ..settings.app };
        let core = Core::new(settings.store, System, settings.geometry, app)?;
        let (buttons, pressed) = mpsc::channel(IN_FLIGHT);
        let (shown, screens) = watch::channel(core.screen(Millis(0)));
        let (contact, contacts) = watch::channel(Contact::Trying);
        let (drawings, drawn) = mpsc::channel(IN_FLIGHT);
        let now = Instant::now();
        let runner = Runner {
            core,
            host: settings.host,
            port: settings.port,
            transport,
            display: settings.display,
            pressed,
            shown,
            drawn,
            redrawn: now,
            contact,
            start: now,
            hung_up: 0,
        };
        Ok(Self { buttons, screens, contacts, drawings, task: tokio::spawn(runner.run()) })
    }

    /// Where button edges go. Time counts from when they are taken out, so send them as they happen.
    pub fn buttons(&self) -> mpsc::Sender<(Button, Edge)> {
        self.buttons.clone()
    }

    /// Where it is said what became of a screen that was drawn, one after the other; with [`Display::Reported`]. A screen that
    /// was not shown is a change of [`Companion::screens`] again and again, until it is.
    pub fn drawings(&self) -> mpsc::Sender<Drawn> {
        self.drawings.clone()
    }

    /// What the screen shows now, and every change of it.
    pub fn screens(&self) -> watch::Receiver<Screen> {
        self.screens.clone()
    }

    /// How it stands with the broker now, and every change of it.
    pub fn contacts(&self) -> watch::Receiver<Contact> {
        self.contacts.clone()
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The system's randomness.
struct System;

impl Random for System {
    fn fill(&mut self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the system has random bytes for its programs");
    }
}

/// One connection to the broker; dropping it closes the socket.
struct Connection {
    client: AsyncClient,
    /// Ends when the connection does.
    reports: mpsc::Receiver<Report>,
    pump: AbortHandle,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

/// What happened on a connection.
enum Report {
    Accepted,
    /// The broker does not take the login.
    Refused,
    /// It hung up instead of an answer to the login.
    HungUp,
    /// The connection could not be made, or broke.
    Broken(String),
    Subscribed,
    Payload {
        topic: String,
        bytes: Vec<u8>,
    },
}

/// Works the socket until it breaks.
async fn pump(mut events: EventLoop, place: String, report: mpsc::Sender<Report>) {
    let mut accepted = false;
    loop {
        let event = match events.poll().await {
            Ok(Event::Incoming(Packet::ConnAck(_))) => {
                accepted = true;
                Report::Accepted
            }
            Ok(Event::Incoming(Packet::SubAck(ack)))
                if ack.return_codes.contains(&SubscribeReasonCode::Failure) =>
            {
                let why = "the broker refuses the companion's subscription; check its access rules";
                let _ = report.send(Report::Broken(why.into())).await;
                return;
            }
            Ok(Event::Incoming(Packet::SubAck(_))) => Report::Subscribed,
            Ok(Event::Incoming(Packet::Publish(publish))) => {
                Report::Payload { topic: publish.topic, bytes: publish.payload.to_vec() }
            }
            Ok(_) => continue,
            Err(ConnectionError::ConnectionRefused(
                ConnectReturnCode::BadUserNamePassword | ConnectReturnCode::NotAuthorized,
            )) => {
                // Whoever is not there any more need not know.
                let _ = report.send(Report::Refused).await;
                return;
            }
            Err(error) => {
                tracing::debug!(%error, "the companion's connection ended");
                // What is wrong with the socket itself is another error.
                let broken = match error {
                    ConnectionError::MqttState(_) if !accepted => Report::HungUp,
                    error => Report::Broken(explain(&error, &place)),
                };
                let _ = report.send(broken).await;
                return;
            }
        };
        if report.send(event).await.is_err() {
            return;
        }
    }
}

/// Why there is no connection, as a sentence without an end.
fn explain(error: &ConnectionError, place: &str) -> String {
    match error {
        ConnectionError::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            format!("nothing listens at {place}")
        }
        ConnectionError::NetworkTimeout | ConnectionError::FlushTimeout => format!("{place} does not answer"),
        ConnectionError::MqttState(_) => format!("the connection to {place} broke"),
        error => format!("no connection to {place}: {error}"),
    }
}

struct Runner {
    core: Core<Store, System>,
    host: String,
    port: u16,
    transport: Transport,
    display: Display,
    pressed: mpsc::Receiver<(Button, Edge)>,
    shown: watch::Sender<Screen>,
    drawn: mpsc::Receiver<Drawn>,
    /// When a screen that was not shown was last to be drawn again.
    redrawn: Instant,
    contact: watch::Sender<Contact>,
    start: Instant,
    /// How often the broker hung up at the login, one time after the other.
    hung_up: u32,
}

impl Runner {
    async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let turn = self.core.turn();
            if let Some(access) = self.core.access().cloned() {
                let mut connection = self.connect(&access);
                if self.serve(&mut connection, &access).await {
                    pause = FIRST_PAUSE;
                }
            }
            self.core.disconnected(self.now());
            self.show();
            if self.core.turn() != turn {
                continue;
            }
            self.wait(pause).await;
            let last = if self.core.is_paired() { LAST_PAUSE } else { LAST_PAUSE_UNPAIRED };
            pause = last.min(pause * 2);
        }
    }

    fn connect(&self, access: &Access) -> Connection {
        let mut options = MqttOptions::new(access.client.as_str(), &self.host, self.port);
        options.set_credentials(access.user.as_str(), access.password.as_str());
        options.set_keep_alive(KEEP_ALIVE);
        options.set_clean_session(true);
        options.set_transport(self.transport.clone());
        if let Some(presence) = &access.presence {
            options.set_last_will(LastWill::new(presence.as_str(), "0", QoS::AtLeastOnce, false));
        }
        let (client, events) = AsyncClient::new(options, IN_FLIGHT);
        let (report, reports) = mpsc::channel(IN_FLIGHT);
        let place = format!("{}:{}", self.host, self.port);
        let pump = tokio::spawn(pump(events, place, report)).abort_handle();
        Connection { client, reports, pump }
    }

    /// Runs the companion on a connection until that breaks or another one is wanted; tells whether it was ever up.
    async fn serve(&mut self, connection: &mut Connection, access: &Access) -> bool {
        let (mut connected, turn) = (false, self.core.turn());
        while self.core.turn() == turn {
            let wake = self.wake();
            // Buttons first: a release that waits here must not be taken for a hold.
            tokio::select! {
                biased;
                Some((button, edge)) = self.pressed.recv() => self.core.button(self.now(), button, edge),
                Some(drawn) = self.drawn.recv() => self.drawn(&drawn),
                report = connection.reports.recv() => match report {
                    None => return connected,
                    Some(report) => {
                        connected |=
                            !matches!(report, Report::Refused | Report::HungUp | Report::Broken(_));
                        if !self.report(&connection.client, access, report) {
                            return connected;
                        }
                    }
                },
                () = sleep_until(wake) => self.core.tick(self.now()),
            }
            while let Some(payload) = self.core.next_payload(self.now()) {
                let (up, payload) = (access.up.as_str(), payload.as_slice());
                if connection.client.try_publish(up, QoS::AtMostOnce, false, payload).is_err() {
                    // A number that is left out ends the session; a new connection has another.
                    tracing::debug!("the connection takes no more");
                    return connected;
                }
            }
            self.show();
        }
        connected
    }

    /// Acts on what happened; `false` if the connection is of no use.
    fn report(&mut self, client: &AsyncClient, access: &Access, report: Report) -> bool {
        match report {
            Report::Accepted => {
                let subscribed = client.try_subscribe(access.down.as_str(), QoS::AtLeastOnce).is_ok();
                let here =
                    |presence: &str| client.try_publish(presence, QoS::AtLeastOnce, false, "1").is_ok();
                return subscribed && access.presence.as_deref().is_none_or(here);
            }
            Report::Refused => {
                self.refused();
                return false;
            }
            Report::Broken(why) => {
                self.contact.send_replace(Contact::Away(why));
                return false;
            }
            Report::HungUp => {
                self.hung_up = self.hung_up.saturating_add(1);
                if self.hung_up >= mqtt::HANG_UPS {
                    self.refused();
                }
                return false;
            }
            Report::Subscribed => {
                self.hung_up = 0;
                self.contact.send_replace(Contact::Up);
                self.core.connected(self.now());
            }
            Report::Payload { topic, bytes } => self.core.received(self.now(), &topic, &bytes),
        }
        true
    }

    fn refused(&mut self) {
        self.core.refused();
        self.contact.send_replace(Contact::Refused);
    }

    /// Lets time pass without a connection.
    async fn wait(&mut self, pause: Duration) {
        let over = sleep(pause);
        tokio::pin!(over);
        loop {
            let wake = self.wake();
            tokio::select! {
                biased;
                Some((button, edge)) = self.pressed.recv() => self.core.button(self.now(), button, edge),
                Some(drawn) = self.drawn.recv() => self.drawn(&drawn),
                () = &mut over => return,
                () = sleep_until(wake) => self.core.tick(self.now()),
            }
            self.show();
        }
    }

    fn show(&mut self) {
        let (now, screen) = (self.now(), self.core.screen(self.now()));
        if self.display == Display::Watched {
            self.core.drawn(now, &screen, Ok(()));
            // What it may show only now that this was seen.
            let next = self.core.screen(now);
            self.tell(next, false);
            return;
        }
        let again = self.core.display_out() && self.redrawn.elapsed() >= REDRAW;
        if again {
            self.redrawn = Instant::now();
        }
        self.tell(screen, again);
    }

    fn tell(&self, screen: Screen, again: bool) {
        self.shown.send_if_modified(|shown| {
            let new = again || *shown != screen;
            *shown = screen;
            new
        });
    }

    fn drawn(&mut self, (screen, taken): &Drawn) {
        if self.display == Display::Reported {
            self.core.drawn(self.now(), screen, *taken);
        }
    }

    /// When the application wants to be woken; sometime, if it does not.
    fn wake(&self) -> Instant {
        let now = self.now();
        let rest = self.core.next_tick(now).map_or(SOMETIME, |next| Duration::from_millis(next.since(now)));
        Instant::now() + rest
    }

    fn now(&self) -> Millis {
        Millis(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
