//! One connection of the companion to the broker, with its own task for the socket.
//!
//! Every connection starts with its own empty queue. Frames of an earlier session that a client library kept for delivery
//! would arrive in the next session and be rejected there.

use std::{io, time::Duration};

use gatepost_companion::Access;
use rumqttc::{
    AsyncClient, ConnectReturnCode, ConnectionError, Event, EventLoop, LastWill, MqttOptions, Packet, QoS,
    SubscribeReasonCode, Transport,
};
use tokio::{sync::mpsc, task::AbortHandle};

/// How soon a broken connection is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// How many frames and packets can wait between two tasks.
pub(crate) const QUEUE_LENGTH: usize = 64;

/// One connection to the broker. Dropping it closes the socket.
pub(crate) struct Connection {
    pub(crate) client: AsyncClient,
    /// Closed when the connection ends.
    pub(crate) reports: mpsc::Receiver<Report>,
    pump: AbortHandle,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

impl Connection {
    /// Starts to connect.
    pub(crate) fn open(access: &Access, host: &str, port: u16, transport: Transport) -> Self {
        let mut options = MqttOptions::new(access.client.as_str(), host, port);
        options.set_credentials(access.user.as_str(), access.password.as_str());
        options.set_keep_alive(KEEP_ALIVE);
        options.set_clean_session(true);
        options.set_transport(transport);
        if let Some(presence) = &access.presence {
            options.set_last_will(LastWill::new(presence.as_str(), "0", QoS::AtLeastOnce, false));
        }
        let (client, events) = AsyncClient::new(options, QUEUE_LENGTH);
        let (report, reports) = mpsc::channel(QUEUE_LENGTH);
        let place = format!("{host}:{port}");
        let pump = tokio::spawn(pump(events, place, report)).abort_handle();
        Self { client, reports, pump }
    }
}

/// What happened on a connection.
pub(crate) enum Report {
    Accepted,
    /// The broker refuses the login.
    Refused,
    /// The broker closed the connection instead of answering the login.
    HungUp,
    /// The connection could not be made, or broke.
    Broken(String),
    Subscribed,
    Payload {
        topic: String,
        bytes: Vec<u8>,
    },
}

/// Reads and writes the socket until it breaks.
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
                // The receiver may be gone.
                let _ = report.send(Report::Refused).await;
                return;
            }
            Err(error) => {
                tracing::debug!(%error, "the companion's connection ended");
                // A failure of the socket itself is a different error.
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

/// Why there is no connection, as a clause.
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
