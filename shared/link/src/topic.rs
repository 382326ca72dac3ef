//! Topics on the broker: `gatepost/1/<hub>/<device>/{down,up,presence}`.
//!
//! During pairing they do not know each other yet: `gatepost/1/pair/<device>/{down,up}`, where the device is named by a random
//! number for this one attempt. Its key must not be known before the hub has answered.
//!
//! Hub and device are named by the first eight bytes of the SHA-256 of their public keys, in hexadecimal: enough to
//! distinguish the devices of a home. A message is never trusted because of its topic.

use core::fmt::Write as _;

use heapless::String;

use crate::{Digest, decision::PublicKey};

/// Bytes of the longest topic: the fixed words and twice 16 hexadecimal digits.
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

/// The name of a device during one attempt to be paired.
pub type Attempt = [u8; 8];

/// Where the hub listens while it pairs.
pub const PAIRING_FILTER: &str = "gatepost/1/pair/+/up";
/// The prefix of the topics of every attempt.
pub const PAIRING_PREFIX: &str = "gatepost/1/pair/";

/// The two topics of one attempt to pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingTopics {
    /// From the hub to the device.
    pub down: Topic,
    /// From the device to the hub.
    pub up: Topic,
}

impl PairingTopics {
    /// The topics of this attempt.
    pub fn new(attempt: Attempt) -> Self {
        let topic = |end| {
            let mut topic = Topic::new();
            topic.push_str(PAIRING_PREFIX).expect("the longest topic fits");
            for byte in attempt {
                write!(topic, "{byte:02x}").expect("the longest topic fits");
            }
            write!(topic, "/{end}").expect("the longest topic fits");
            topic
        };
        Self { down: topic("down"), up: topic("up") }
    }

    /// Whose `up` topic this is; [`None`] if it is none.
    pub fn attempt(topic: &str) -> Option<Attempt> {
        let digits = topic.strip_prefix(PAIRING_PREFIX)?.strip_suffix("/up")?;
        let attempt = u64::from_str_radix(digits, 16).ok()?.to_be_bytes();
        (Self::new(attempt).up == topic).then_some(attempt)
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

    #[test]
    fn attempts_to_pair_are_read_from_their_own_topics_only() {
        let attempt = [0, 1, 2, 3, 0xfc, 0xfd, 0xfe, 0xff];
        let topics = PairingTopics::new(attempt);
        assert_eq!(topics.up, "gatepost/1/pair/00010203fcfdfeff/up");
        assert_eq!(PairingTopics::attempt(&topics.up), Some(attempt));
        for other in [
            topics.down.as_str(),
            "gatepost/1/pair/00010203FCFDFEFF/up",
            "gatepost/1/pair/+10203fcfdfeff/up",
            "gatepost/1/pair/1/up",
            "gatepost/1/pair//up",
            "gatepost/1/pair/000010203fcfdfeff/up",
        ] {
            assert_eq!(PairingTopics::attempt(other), None, "{other}");
        }
    }
}
