//! One connection to a broker: bytes on a socket, without a clock.
//!
//! Reading can be cancelled at any moment without loss. Writing cannot: a connection on which a write was cancelled must be
//! dropped. Published messages of QoS 1 are counted until the broker acknowledges them; at most [`MAX_IN_FLIGHT`] are
//! unacknowledged.

use embedded_io_async::{Error as _, ErrorKind, Read, Write};

use super::{
    access::Access,
    inbox::Inbox,
    packet::{self, Incoming, Malformed},
};

/// How many messages to the broker may be unacknowledged.
pub const MAX_IN_FLIGHT: u8 = 16;
/// The packet identifier of the subscription. Messages have greater ones.
const SUBSCRIPTION_ID: u16 = 1;

/// Why a connection ended. The next attempt may always succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MqttError {
    /// The socket's own error.
    Socket(ErrorKind),
    /// The broker closed it.
    Closed,
    /// The broker refuses the login, with this code (3.2.2.3).
    Login(u8),
    /// The broker closed the connection instead of answering the login. Some brokers, the hub's own among them, refuse a
    /// login this way; a broker that is shutting down does the same.
    HungUp,
    /// The broker refuses the subscription.
    Subscription,
    /// The received bytes are not MQTT.
    Malformed,
    /// The broker did not answer in time.
    Silent,
}

impl core::fmt::Display for MqttError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Socket(kind) => write!(f, "the connection to the broker failed: {kind:?}"),
            Self::Closed => f.write_str("the broker closed the connection"),
            Self::Login(code) => {
                write!(f, "the broker refuses the login (code {code}); pair the device again")
            }
            Self::HungUp => f.write_str(
                "the broker closed the connection at the login; if this repeats, pair the device again",
            ),
            Self::Subscription => f.write_str("the broker refuses the subscription; check its access rules"),
            Self::Malformed => f.write_str("the answer is not MQTT 3.1.1; check host and port"),
            Self::Silent => f.write_str("the broker does not answer in time; check that it runs"),
        }
    }
}

impl core::error::Error for MqttError {}

impl From<Malformed> for MqttError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// A connection to the broker.
#[derive(Debug)]
pub struct Client<S> {
    socket: S,
    inbox: Inbox,
    last_id: u16,
    in_flight: u8,
}

impl<S: Read + Write> Client<S> {
    /// A client on a socket that is connected.
    pub fn new(socket: S) -> Self {
        Self { socket, inbox: Inbox::default(), last_id: SUBSCRIPTION_ID, in_flight: 0 }
    }

    /// Logs in, subscribes, and publishes that the device is online.
    pub async fn log_in(&mut self, access: &Access, keep_alive_s: u16) -> Result<(), MqttError> {
        self.write(&[&packet::connect(access, keep_alive_s)]).await?;
        loop {
            match self.inbox.take()? {
                None => self.fill().await.map_err(|_| MqttError::HungUp)?,
                Some(Incoming::Connected(0)) => break,
                Some(Incoming::Connected(code)) => return Err(MqttError::Login(code)),
                Some(_) => return Err(MqttError::Malformed),
            }
        }
        self.write(&[&packet::subscribe(SUBSCRIPTION_ID, &access.down)]).await?;
        loop {
            match self.inbox.take()? {
                None => self.fill().await?,
                Some(Incoming::Subscribed(true)) => break,
                Some(Incoming::Subscribed(false)) => return Err(MqttError::Subscription),
                // It arrived before the subscription was confirmed, so it is void.
                Some(Incoming::Message { id: Some(id), .. }) => self.acknowledge(id).await?,
                Some(_) => {}
            }
        }
        match &access.presence {
            Some(presence) => self.publish(presence, b"1").await,
            None => Ok(()),
        }
    }

    /// Waits for bytes. Safe to cancel.
    pub async fn fill(&mut self) -> Result<(), MqttError> {
        match self.socket.read(self.inbox.space()).await {
            Ok(0) => Err(MqttError::Closed),
            Ok(count) => {
                self.inbox.arrived(count);
                Ok(())
            }
            Err(error) => Err(MqttError::Socket(error.kind())),
        }
    }

    /// Takes the next packet from the received bytes; `None` if more are needed.
    pub fn take(&mut self) -> Result<Option<Incoming<'_>>, MqttError> {
        let packet = self.inbox.take()?;
        if packet == Some(Incoming::Acknowledged) {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
        Ok(packet)
    }

    /// Publishes with QoS 1.
    pub async fn publish(&mut self, topic: &str, payload: &[u8]) -> Result<(), MqttError> {
        self.last_id = self.last_id.checked_add(1).unwrap_or(SUBSCRIPTION_ID + 1);
        self.in_flight = self.in_flight.saturating_add(1);
        self.write(&[&packet::publish(self.last_id, topic, payload.len()), payload]).await
    }

    /// Publishes a frame with QoS 0. An acknowledgement would only mean that the broker has it, not the hub: frames that the
    /// hub does not answer are repeated, and a lost frame ends the session by itself.
    pub async fn publish_frame(&mut self, topic: &str, payload: &[u8]) -> Result<(), MqttError> {
        self.write(&[&packet::publish_once(topic, payload.len()), payload]).await
    }

    /// How many messages the broker has not acknowledged yet.
    pub fn in_flight(&self) -> u8 {
        self.in_flight
    }

    /// Acknowledges a message of the broker.
    pub async fn acknowledge(&mut self, id: u16) -> Result<(), MqttError> {
        self.write(&[&packet::acknowledge(id)]).await
    }

    /// Asks the broker whether it is alive.
    pub async fn ping(&mut self) -> Result<(), MqttError> {
        self.write(&[&packet::PING]).await
    }

    /// Disconnects. The broker does not publish the last will then, so this publishes the same.
    pub async fn log_out(&mut self, access: &Access) -> Result<(), MqttError> {
        if let Some(presence) = &access.presence {
            self.publish(presence, b"0").await?;
        }
        self.write(&[&packet::DISCONNECT]).await
    }

    async fn write(&mut self, parts: &[&[u8]]) -> Result<(), MqttError> {
        for part in parts {
            self.socket.write_all(part).await.map_err(|error| MqttError::Socket(error.kind()))?;
        }
        self.socket.flush().await.map_err(|error| MqttError::Socket(error.kind()))
    }
}
