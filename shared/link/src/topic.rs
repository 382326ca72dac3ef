//! Topics on the broker: `gatepost/1/<hub>/<device>/{down,up,presence}`.
//!
//! Hub and device are named by the first eight bytes of the SHA-256 of their public keys, in hexadecimal: enough to
//! tell the devices of a house apart. Nothing is trusted for having arrived on a topic.

use core::fmt::Write as _;

use heapless::String;

use crate::{Digest, decision::PublicKey};

/// The longest topic: the fixed words and twice 16 hexadecimal digits.
pub const MAX_TOPIC: usize = 64;

/// A topic name.
pub type Topic = String<MAX_TOPIC>;

/// The short name of a hub or a device on the broker: 16 hexadecimal digits.
pub fn name(key: PublicKey) -> String<16> {
    let digest = Digest::of(&key.0);
    let mut name = String::new();
    for byte in &digest.0[..8] {
        write!(name, "{byte:02x}").expect("16 digits fit");
    }
    name
}

/// The three topics that one hub and one device share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics {
    /// From the hub to the device.
    pub down: Topic,
    /// From the device to the hub.
    pub up: Topic,
    /// `1` while the device is connected, `0` (its last will) when not.
    pub presence: Topic,
}

impl Topics {
    /// The topics between `hub` and `device`.
    pub fn new(hub: PublicKey, device: PublicKey) -> Self {
        let (hub, device) = (name(hub), name(device));
        let topic = |end| {
            let mut topic = Topic::new();
            write!(topic, "gatepost/1/{hub}/{device}/{end}").expect("the longest topic fits");
            topic
        };
        Self { down: topic("down"), up: topic("up"), presence: topic("presence") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_have_the_documented_shape() {
        let topics = Topics::new(PublicKey([1; 32]), PublicKey([2; 32]));
        let parts: std::vec::Vec<_> = topics.presence.split('/').collect();
        assert_eq!(parts[..2], ["gatepost", "1"]);
        assert_eq!((parts[2].len(), parts[3].len(), parts[4]), (16, 16, "presence"));
    }
}
