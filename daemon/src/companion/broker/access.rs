//! What a login of the embedded broker may hear and say: the topics of its own device, and of nobody else.
//!
//! A device that is being paired has none yet. It names the number of its attempt by the first topic that it uses, and has
//! the two topics of that attempt from then on.

use std::sync::Arc;

use gatepost_link::topic::{Attempt, PAIRING_FILTER, PairingTopics, Topics};

/// The longest last will, in bytes: it is `0`.
pub(super) const MAX_WILL: usize = 16;

/// Whose connection it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::companion) enum Access {
    /// The hub's own, or a test's that plays a broker which lies.
    Everything,
    /// A companion's.
    Device(Arc<Topics>),
    /// Of a device without a login, while a companion is being paired.
    Stranger,
}

/// What a connection listens to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Filter {
    /// One topic.
    Topic(String),
    /// What devices that want to be paired say.
    Pairing,
}

impl Filter {
    /// Whether what is published there is to be heard.
    pub(super) fn matches(&self, topic: &str) -> bool {
        match self {
            Self::Topic(own) => own == topic,
            Self::Pairing => PairingTopics::attempt(topic).is_some(),
        }
    }
}

/// A topic that is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// It is the login's own.
    Own,
    /// It is of this attempt to pair: the stranger's own, if it has no other and nobody else has this one.
    Of(Attempt),
    /// It is not.
    Refused,
}

impl Access {
    /// What this filter is for this login, if it may listen to it.
    pub(super) fn listen(&self, path: &str) -> (Asked, Filter) {
        let filter = Filter::Topic(path.to_owned());
        let right = match self {
            Self::Everything if path == PAIRING_FILTER => return (Asked::Own, Filter::Pairing),
            Self::Everything if !path.contains(['#', '+']) => Asked::Own,
            Self::Device(topics) if topics.down == path => Asked::Own,
            Self::Stranger => {
                let attempt = path.strip_suffix("/down").map(|start| format!("{start}/up"));
                attempt.and_then(|up| PairingTopics::attempt(&up)).map_or(Asked::Refused, Asked::Of)
            }
            _ => Asked::Refused,
        };
        (right, filter)
    }

    /// Whether this login may say something there.
    pub(super) fn say(&self, topic: &str) -> Asked {
        match self {
            Self::Everything if !topic.contains(['#', '+']) => Asked::Own,
            Self::Device(topics) if topics.up == topic || topics.presence == topic => Asked::Own,
            Self::Stranger => PairingTopics::attempt(topic).map_or(Asked::Refused, Asked::Of),
            _ => Asked::Refused,
        }
    }

    /// Whether this may be said for it when its connection breaks.
    pub(super) fn wills(&self, topic: &str, payload: &[u8]) -> bool {
        let own = match self {
            Self::Everything => true,
            Self::Device(topics) => topics.presence == topic,
            Self::Stranger => false,
        };
        own && payload.len() <= MAX_WILL
    }
}

#[cfg(test)]
mod tests {
    use gatepost_link::decision::PublicKey;

    use super::*;

    #[test]
    fn a_companion_hears_and_says_on_its_own_topics_only() {
        let topics = Topics::new(PublicKey([1; 32]), PublicKey([2; 32]));
        let other = Topics::new(PublicKey([1; 32]), PublicKey([3; 32]));
        let device = Access::Device(Arc::new(topics.clone()));
        assert_eq!(device.listen(&topics.down).0, Asked::Own);
        assert_eq!((device.say(&topics.up), device.say(&topics.presence)), (Asked::Own, Asked::Own));
        assert!(device.wills(&topics.presence, b"0") && !device.wills(&topics.presence, &[0; 17]));
        for path in [&other.down, &topics.up, &topics.presence] {
            assert_eq!(device.listen(path).0, Asked::Refused, "{path}");
        }
        for path in [
            "#",
            "+",
            "gatepost/#",
            "gatepost/1/+/+/down",
            "$SYS/#",
            PAIRING_FILTER,
            "",
            "gatepost/1/pair/00/down",
        ] {
            assert_eq!(device.listen(path).0, Asked::Refused, "{path}");
        }
        for path in
            [topics.down.as_str(), &other.up, &other.presence, "x", "gatepost/1/pair/0000000000000000/up"]
        {
            assert_eq!(device.say(path), Asked::Refused, "{path}");
            assert!(!device.wills(path, b"0"), "{path}");
        }
    }

    #[test]
    fn a_stranger_has_the_topics_of_one_attempt_to_pair() {
        let topics = PairingTopics::new([7; 8]);
        assert_eq!(Access::Stranger.listen(&topics.down).0, Asked::Of([7; 8]));
        assert_eq!(Access::Stranger.say(&topics.up), Asked::Of([7; 8]));
        assert_eq!(Access::Stranger.say(&topics.down), Asked::Refused);
        for path in [&topics.up, PAIRING_FILTER, "#", "gatepost/1/pair/+/down", "gatepost/1/pair/0/down"] {
            assert_eq!(Access::Stranger.listen(path).0, Asked::Refused, "{path}");
        }
        assert!(!Access::Stranger.wills("gatepost/1/pair/0000000000000000/up", b"0"));
    }

    #[test]
    fn one_filter_has_a_wildcard_and_only_the_hub_may_use_it() {
        let (right, filter) = Access::Everything.listen(PAIRING_FILTER);
        assert_eq!((right, &filter), (Asked::Own, &Filter::Pairing));
        assert!(filter.matches("gatepost/1/pair/00010203fcfdfeff/up"));
        assert!(
            !filter.matches("gatepost/1/pair/00010203fcfdfeff/down") && !filter.matches("gatepost/1/x/y/up")
        );
        assert_eq!(Access::Everything.listen("gatepost/#").0, Asked::Refused);
    }
}
