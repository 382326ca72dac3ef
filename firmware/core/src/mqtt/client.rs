//! One connection to a broker: bytes on a socket, without a clock.
//!
//! Reading can be given up at any moment and loses nothing; writing cannot, so a connection on which a write was given
//! up must be dropped. What was published counts until the broker acknowledges it, and no more than [`MAX_IN_FLIGHT`]
//! is on its way.

use embedded_io_async::{Error as _, ErrorKind, Read, Write};

use super::{
    inbox::Inbox,
    packet::{self, Incoming, Malformed},
};
use crate::companion::Access;

/// Messages on their way to the broker, at most.
pub const MAX_IN_FLIGHT: u8 = 16;
/// The subscription's identifier; those of messages come after it.
const SUBSCRIPTION: u16 = 1;

/// Why a connection ended. The next attempt may always succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MqttError {
    /// The socket's own error.
    Socket(ErrorKind),
    /// The broker closed it.
    Closed,
    /// The broker does not take the login, and says this code (3.2.2.3).
    Login(u8),
    /// The broker hung up instead of an answer to the login. Some do so to one that they do not take, the hub's own among
    /// them; so does one that is about to end.
    HungUp,
    /// The broker does not let the device listen.
    Subscription,
    /// What came is no MQTT.
    Malformed,
    /// The broker said nothing in time.
    Silent,
}

impl core::fmt::Display for MqttError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Socket(kind) => write!(f, "the connection to the broker failed: {kind:?}"),
            Self::Closed => f.write_str("the broker closed the connection"),
            Self::Login(code) => write!(f, "the broker does not take the login (code {code}); pair anew"),
            Self::HungUp => f.write_str("the broker hung up at the login; if it does so again, pair anew"),
            Self::Subscription => f.write_str("the broker refuses the subscription; check its access rules"),
            Self::Malformed => f.write_str("what answers is no MQTT 3.1.1 broker; check host and port"),
            Self::Silent => f.write_str("the broker does not answer in time"),
        }
    }
}

impl core::error::Error for MqttError {}

impl From<Malformed> for MqttError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// A connection.
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
        Self { socket, inbox: Inbox::default(), last_id: SUBSCRIPTION, in_flight: 0 }
    }

    /// Logs in, subscribes, and says that the device is there.
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
        self.write(&[&packet::subscribe(SUBSCRIPTION, &access.down)]).await?;
        loop {
            match self.inbox.take()? {
                None => self.fill().await?,
                Some(Incoming::Subscribed(true)) => break,
                Some(Incoming::Subscribed(false)) => return Err(MqttError::Subscription),
                // Said before anything was asked for: void.
                Some(Incoming::Message { id: Some(id), .. }) => self.acknowledge(id).await?,
                Some(_) => {}
            }
        }
        match &access.presence {
            Some(presence) => self.publish(presence, b"1").await,
            None => Ok(()),
        }
    }

    /// Waits for bytes. Can be given up.
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

    /// Takes the next packet out of those bytes; `None` if more are needed.
    pub fn take(&mut self) -> Result<Option<Incoming<'_>>, MqttError> {
        let packet = self.inbox.take()?;
        if packet == Some(Incoming::Acknowledged) {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
        Ok(packet)
    }

    /// Publishes with QoS 1.
    pub async fn publish(&mut self, topic: &str, payload: &[u8]) -> Result<(), MqttError> {
        self.last_id = self.last_id.checked_add(1).unwrap_or(SUBSCRIPTION + 1);
        self.in_flight = self.in_flight.saturating_add(1);
        self.write(&[&packet::publish(self.last_id, topic, payload.len()), payload]).await
    }

    /// Publishes with QoS 0: a frame. An acknowledgement would say that the broker has it, and not that the hub does; what the
    /// hub does not answer is said again, and what is lost ends the session by itself.
    pub async fn say(&mut self, topic: &str, payload: &[u8]) -> Result<(), MqttError> {
        self.write(&[&packet::publish_once(topic, payload.len()), payload]).await
    }

    /// Messages that the broker has not acknowledged yet.
    pub fn in_flight(&self) -> u8 {
        self.in_flight
    }

    /// Tells the broker that its message has arrived.
    pub async fn acknowledge(&mut self, id: u16) -> Result<(), MqttError> {
        self.write(&[&packet::acknowledge(id)]).await
    }

    /// Asks the broker for a sign of life.
    pub async fn ping(&mut self) -> Result<(), MqttError> {
        self.write(&[&packet::PING]).await
    }

    /// Takes leave; the broker does not say the last will, so this does.
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
