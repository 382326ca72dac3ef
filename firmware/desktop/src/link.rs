//! The companion on the broker: one task that owns the application, one a connection that owns the socket.
//!
//! Every connection starts with an empty queue of its own. Frames of an earlier session that a client library kept
//! for delivery would arrive in the next one and be rejected there.

use std::time::Duration;

use ed25519_dalek::SigningKey;
use gatepost_companion::{App, Button, Edge, Geometry, Identity, Millis, Screen};
use gatepost_link::{
    decision::PublicKey,
    session::Nonce,
    topic::{self, Topics},
};
use rumqttc::{AsyncClient, Event, EventLoop, LastWill, MqttOptions, Packet, QoS, SubscribeReasonCode};
use tokio::{
    sync::{mpsc, watch},
    task::{AbortHandle, JoinHandle},
    time::{Instant, sleep, sleep_until},
};

use crate::counter::CounterStore;

/// The pause before the first attempt to connect again; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause between two attempts.
const LAST_PAUSE: Duration = Duration::from_secs(10);
/// How soon a broken connection is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// How long an application sleeps that has nothing to do.
const SOMETIME: Duration = Duration::from_secs(3_600);
/// Frames and packets on their way between the two tasks.
const IN_FLIGHT: usize = 64;

/// What a companion needs to know.
pub struct Settings {
    /// The broker's host.
    pub host: String,
    /// The broker's port, without TLS.
    pub port: u16,
    /// The companion's user name on the broker.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The companion's signing key.
    pub key: SigningKey,
    /// The hub that it answers.
    pub hub: PublicKey,
    /// The size of its screen.
    pub geometry: Geometry,
    /// Where its counter lives.
    pub counter: CounterStore,
    /// What its owner chose.
    pub app: gatepost_companion::Settings,
}

/// A running companion. It stops, and its last will says so, when this is dropped.
pub struct Companion {
    buttons: mpsc::Sender<(Button, Edge)>,
    screens: watch::Receiver<Screen>,
    task: JoinHandle<()>,
}

impl Companion {
    /// Starts a companion on the current tokio runtime. It connects, and connects again, by itself.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start(settings: Settings) -> Self {
        let device = PublicKey(settings.key.verifying_key().to_bytes());
        let identity = Identity { key: settings.key, hub: settings.hub };
        let app = App::new(identity, settings.counter, settings.geometry).with_settings(settings.app);
        let (buttons, pressed) = mpsc::channel(IN_FLIGHT);
        let (shown, screens) = watch::channel(app.screen(Millis(0)));
        let runner = Runner {
            app,
            broker: Broker {
                host: settings.host,
                port: settings.port,
                user: settings.user,
                password: settings.password,
                client: topic::name(device).as_str().into(),
                topics: Topics::new(settings.hub, device),
            },
            pressed,
            shown,
            start: Instant::now(),
        };
        Self { buttons, screens, task: tokio::spawn(runner.run()) }
    }

    /// Where button edges go. Time counts from when they are taken out, so send them as they happen.
    pub fn buttons(&self) -> mpsc::Sender<(Button, Edge)> {
        self.buttons.clone()
    }

    /// What the screen shows now, and every change of it.
    pub fn screens(&self) -> watch::Receiver<Screen> {
        self.screens.clone()
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Broker {
    host: String,
    port: u16,
    user: String,
    password: String,
    client: String,
    topics: Topics,
}

impl Broker {
    fn connect(&self) -> Connection {
        let Self { host, port, user, password, client, topics } = self;
        let mut options = MqttOptions::new(client, host, *port);
        options.set_credentials(user, password);
        options.set_keep_alive(KEEP_ALIVE);
        options.set_clean_session(true);
        options.set_last_will(LastWill::new(topics.presence.as_str(), "0", QoS::AtLeastOnce, false));
        let (client, events) = AsyncClient::new(options, IN_FLIGHT);
        let (report, reports) = mpsc::channel(IN_FLIGHT);
        let pump = tokio::spawn(pump(events, report)).abort_handle();
        Connection { client, reports, pump }
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
    Subscribed,
    Frame { topic: String, bytes: Vec<u8> },
}

/// Works the socket until it breaks.
async fn pump(mut events: EventLoop, report: mpsc::Sender<Report>) {
    loop {
        let event = match events.poll().await {
            Ok(Event::Incoming(Packet::ConnAck(_))) => Report::Accepted,
            Ok(Event::Incoming(Packet::SubAck(ack)))
                if ack.return_codes.contains(&SubscribeReasonCode::Failure) =>
            {
                tracing::warn!("the broker refuses the companion's subscription; check its access rules");
                return;
            }
            Ok(Event::Incoming(Packet::SubAck(_))) => Report::Subscribed,
            Ok(Event::Incoming(Packet::Publish(publish))) => {
                Report::Frame { topic: publish.topic, bytes: publish.payload.to_vec() }
            }
            Ok(_) => continue,
            Err(error) => {
                tracing::debug!(%error, "the companion's connection ended");
                return;
            }
        };
        if report.send(event).await.is_err() {
            return;
        }
    }
}

struct Runner {
    app: App<CounterStore>,
    broker: Broker,
    pressed: mpsc::Receiver<(Button, Edge)>,
    shown: watch::Sender<Screen>,
    start: Instant,
}

impl Runner {
    async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let mut connection = self.broker.connect();
            let connected = self.serve(&mut connection).await;
            drop(connection);
            self.app.disconnected(self.now());
            self.show();
            if connected {
                pause = FIRST_PAUSE;
            }
            self.wait(pause).await;
            pause = LAST_PAUSE.min(pause * 2);
        }
    }

    /// Runs the application on a connection until that breaks; tells whether it was ever up.
    async fn serve(&mut self, connection: &mut Connection) -> bool {
        let mut connected = false;
        loop {
            let wake = self.wake();
            // Buttons first: a release that waits here must not be taken for a hold.
            tokio::select! {
                biased;
                Some((button, edge)) = self.pressed.recv() => self.app.button(self.now(), button, edge),
                report = connection.reports.recv() => match report {
                    None => return connected,
                    Some(report) => {
                        connected = true;
                        if !self.report(&connection.client, report) {
                            return connected;
                        }
                    }
                },
                () = sleep_until(wake) => self.app.tick(self.now()),
            }
            while let Some(frame) = self.app.next_frame() {
                let up = self.broker.topics.up.as_str();
                if connection.client.try_publish(up, QoS::AtLeastOnce, false, frame.as_slice()).is_err() {
                    // What matters is said again by itself.
                    tracing::debug!("the connection takes no more frames for now");
                }
            }
            self.show();
        }
    }

    /// Acts on what happened; `false` if the connection is of no use.
    fn report(&mut self, client: &AsyncClient, report: Report) -> bool {
        let Topics { down, presence, .. } = &self.broker.topics;
        match report {
            Report::Accepted => {
                return client.try_subscribe(down.as_str(), QoS::AtLeastOnce).is_ok()
                    && client.try_publish(presence.as_str(), QoS::AtLeastOnce, false, "1").is_ok();
            }
            Report::Subscribed => {
                let mut nonce = [0; 16];
                if let Err(error) = getrandom::fill(&mut nonce) {
                    tracing::error!(%error, "the system has no random bytes for a session");
                    return false;
                }
                self.app.connected(self.now(), Nonce(nonce));
            }
            Report::Frame { topic, bytes } if topic == down.as_str() => {
                self.app.received(self.now(), &bytes);
            }
            Report::Frame { .. } => {}
        }
        true
    }

    /// Lets time pass without a connection.
    async fn wait(&mut self, pause: Duration) {
        let over = sleep(pause);
        tokio::pin!(over);
        loop {
            let wake = self.wake();
            tokio::select! {
                biased;
                Some((button, edge)) = self.pressed.recv() => self.app.button(self.now(), button, edge),
                () = &mut over => return,
                () = sleep_until(wake) => self.app.tick(self.now()),
            }
            self.show();
        }
    }

    fn show(&mut self) {
        let screen = self.app.screen(self.now());
        self.shown.send_if_modified(|shown| {
            let new = *shown != screen;
            *shown = screen;
            new
        });
    }

    /// When the application wants to be woken; sometime, if it does not.
    fn wake(&self) -> Instant {
        let now = self.now();
        let rest = self.app.next_tick(now).map_or(SOMETIME, |next| Duration::from_millis(next.since(now)));
        Instant::now() + rest
    }

    fn now(&self) -> Millis {
        Millis(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
