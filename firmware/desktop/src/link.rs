//! A companion at its broker: one task owns the application, and each connection has a task that owns the socket.

use std::time::Duration;

use gatepost_companion::{
    Access, Button, Companion as Core, Edge, Geometry, Millis, NotShown, REDRAW_INTERVAL_MS, Screen,
    event_loop::MAX_HANG_UPS,
};
use gatepost_link::seal::Random;
use rumqttc::{AsyncClient, QoS, Transport};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    connection::{Connection, QUEUE_LENGTH, Report},
    store::{Store, StoreError},
};

/// The delay before the first attempt to reconnect. Each further delay is twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(250);
/// The longest delay between two attempts.
const MAX_DELAY: Duration = Duration::from_secs(10);
/// The longest delay of a companion that is to be paired: the hub waits a minute for it.
const MAX_DELAY_UNPAIRED: Duration = Duration::from_secs(2);
/// How long an application sleeps that has nothing to do.
const IDLE_SLEEP: Duration = Duration::from_secs(3_600);
/// A screen that was not shown is drawn again at this interval.
const REDRAW_INTERVAL: Duration = Duration::from_millis(REDRAW_INTERVAL_MS);

/// The settings of a companion on this machine.
pub struct Settings {
    /// The broker's host.
    pub host: String,
    /// The broker's port.
    pub port: u16,
    /// Its storage: its keys, its bond with a hub, its counter.
    pub store: Store,
    /// The size of its screen.
    pub geometry: Geometry,
    /// What its owner chose.
    pub app: gatepost_companion::Settings,
    /// Who reports whether a screen was shown.
    pub display: Display,
}

/// The state of the connection to the broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contact {
    /// Nothing is known yet.
    Trying,
    /// There is a connection.
    Up,
    /// There is none, for this reason. It is tried again.
    Away(String),
    /// The broker refuses the login. It is tried again.
    Refused,
}

/// Who reports whether a screen was shown. Only what was shown can be approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Display {
    /// The code that draws it, with [`Companion::drawings`]: a terminal may be gone, or too small.
    Reported,
    /// Nobody: a scripted person or a test reads [`Companion::screens`] and sees everything in it.
    Watched,
}

/// A screen that was drawn, and whether all of it was shown.
pub type Drawn = (Screen, Result<(), NotShown>);

/// A running companion. When this is dropped it stops, and its last will is published.
pub struct Companion {
    buttons: mpsc::Sender<(Button, Edge)>,
    screens: watch::Receiver<Screen>,
    contacts: watch::Receiver<Contact>,
    drawings: mpsc::Sender<Drawn>,
    task: JoinHandle<()>,
}

impl Companion {
    /// Starts a companion on the current tokio runtime. It connects and reconnects by itself.
    ///
    /// # Errors
    ///
    /// Its keys cannot be read or generated.
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
        let (buttons, pressed) = mpsc::channel(QUEUE_LENGTH);
        let (shown, screens) = watch::channel(core.screen(Millis(0)));
        let (contact, contacts) = watch::channel(Contact::Trying);
        let (drawings, drawn) = mpsc::channel(QUEUE_LENGTH);
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
            hang_ups: 0,
        };
        Ok(Self { buttons, screens, contacts, drawings, task: tokio::spawn(runner.run()) })
    }

    /// The channel for button edges. Their time is when they are received, so send them as they happen.
    pub fn buttons(&self) -> mpsc::Sender<(Button, Edge)> {
        self.buttons.clone()
    }

    /// The channel for reports on drawn screens, in order; only with [`Display::Reported`]. [`Companion::screens`] reports a
    /// screen that was not shown as changed repeatedly, until it is shown.
    pub fn drawings(&self) -> mpsc::Sender<Drawn> {
        self.drawings.clone()
    }

    /// What the screen shows now, and every change of it.
    pub fn screens(&self) -> watch::Receiver<Screen> {
        self.screens.clone()
    }

    /// The state of the connection to the broker, and every change of it.
    pub fn contacts(&self) -> watch::Receiver<Contact> {
        self.contacts.clone()
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The operating system's random numbers.
struct System;

impl Random for System {
    fn fill(&mut self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the system has random bytes for its programs");
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
    /// When a screen that was not shown was last reported as changed.
    redrawn: Instant,
    contact: watch::Sender<Contact>,
    start: Instant,
    /// How many times in a row the broker closed the connection at the login.
    hang_ups: u32,
}

impl Runner {
    async fn run(mut self) {
        let mut delay = FIRST_DELAY;
        loop {
            let access_number = self.core.access_number();
            if let Some(access) = self.core.access().cloned() {
                let mut connection = Connection::open(&access, &self.host, self.port, self.transport.clone());
                if self.serve(&mut connection, &access).await {
                    delay = FIRST_DELAY;
                }
            }
            self.core.disconnected(self.now());
            self.show();
            if self.core.access_number() != access_number {
                continue;
            }
            self.wait(delay).await;
            let longest = if self.core.is_paired() { MAX_DELAY } else { MAX_DELAY_UNPAIRED };
            delay = longest.min(delay * 2);
        }
    }

    /// Runs the companion until the connection breaks or another one is needed; returns whether it was ever up.
    async fn serve(&mut self, connection: &mut Connection, access: &Access) -> bool {
        let (mut connected, access_number) = (false, self.core.access_number());
        while self.core.access_number() == access_number {
            let wake = self.wake();
            // Buttons first: a waiting release must not be treated as a hold.
            tokio::select! {
                biased;
                Some((button, edge)) = self.pressed.recv() => self.core.button(self.now(), button, edge),
                Some(drawn) = self.drawn.recv() => self.drawn(&drawn),
                report = connection.reports.recv() => match report {
                    None => return connected,
                    Some(report) => {
                        connected |=
                            !matches!(report, Report::Refused | Report::HungUp | Report::Broken(_));
                        if !self.handle_report(&connection.client, access, report) {
                            return connected;
                        }
                    }
                },
                () = sleep_until(wake) => self.core.tick(self.now()),
            }
            while let Some(payload) = self.core.next_payload(self.now()) {
                let (up, payload) = (access.up.as_str(), payload.as_slice());
                if connection.client.try_publish(up, QoS::AtMostOnce, false, payload).is_err() {
                    // The missing number would end the session; a new connection starts a new one.
                    tracing::debug!("the connection takes no more");
                    return connected;
                }
            }
            self.show();
        }
        connected
    }

    /// Handles a report; returns `false` if the connection is unusable.
    fn handle_report(&mut self, client: &AsyncClient, access: &Access, report: Report) -> bool {
        match report {
            Report::Accepted => {
                let subscribed = client.try_subscribe(access.down.as_str(), QoS::AtLeastOnce).is_ok();
                let publish_presence =
                    |presence: &str| client.try_publish(presence, QoS::AtLeastOnce, false, "1").is_ok();
                return subscribed && access.presence.as_deref().is_none_or(publish_presence);
            }
            Report::Refused => {
                self.login_refused();
                return false;
            }
            Report::Broken(why) => {
                self.contact.send_replace(Contact::Away(why));
                return false;
            }
            Report::HungUp => {
                self.hang_ups = self.hang_ups.saturating_add(1);
                if self.hang_ups >= MAX_HANG_UPS {
                    self.login_refused();
                }
                return false;
            }
            Report::Subscribed => {
                self.hang_ups = 0;
                self.contact.send_replace(Contact::Up);
                self.core.connected(self.now());
            }
            Report::Payload { topic, bytes } => self.core.received(self.now(), &topic, &bytes),
        }
        true
    }

    fn login_refused(&mut self) {
        self.core.login_refused();
        self.contact.send_replace(Contact::Refused);
    }

    /// Runs the companion without a connection for this long.
    async fn wait(&mut self, delay: Duration) {
        let over = sleep(delay);
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
            // The screen may change now that this one counts as seen.
            let next = self.core.screen(now);
            self.publish(next, false);
            return;
        }
        let again = self.core.display_out() && self.redrawn.elapsed() >= REDRAW_INTERVAL;
        if again {
            self.redrawn = Instant::now();
        }
        self.publish(screen, again);
    }

    fn publish(&self, screen: Screen, again: bool) {
        self.shown.send_if_modified(|shown| {
            let new = again || *shown != screen;
            *shown = screen;
            new
        });
    }

    fn drawn(&mut self, (screen, shown): &Drawn) {
        if self.display == Display::Reported {
            self.core.drawn(self.now(), screen, *shown);
        }
    }

    /// When the application must be woken next.
    fn wake(&self) -> Instant {
        let now = self.now();
        let rest = self.core.next_tick(now).map_or(IDLE_SLEEP, |next| Duration::from_millis(next.since(now)));
        Instant::now() + rest
    }

    fn now(&self) -> Millis {
        Millis(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
