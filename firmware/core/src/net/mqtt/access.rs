//! A companion's identity and topics at the broker.

use gatepost_link::topic::Topic;
use heapless::String;

use crate::storage::identity::MAX_LOGIN;

/// Who a companion is at the broker, where it subscribes and where it publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The MQTT client's identifier.
    pub client: String<32>,
    /// The user name.
    pub user: String<MAX_LOGIN>,
    /// The password; empty while the device is not paired.
    pub password: String<MAX_LOGIN>,
    /// The topic to subscribe to, at QoS 1.
    pub down: Topic,
    /// The topic for payloads of the device, at QoS 0 and not retained.
    pub up: Topic,
    /// The topic on which `1` is published after subscribing; the last will publishes `0` there.
    pub presence: Option<Topic>,
}
