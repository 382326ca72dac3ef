//! Who decides on what is held: companions, passkeys, or one of each.
//!
//! A kind that a list asks for is one that no other stands in for: what must have a companion's approval, a passkey neither lets go nor
//! ends. What stands on no list, each that may decide at all decides.

use std::fmt;

/// Who decides on one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Deciders {
    /// Whoever may decide at all.
    #[default]
    Any,
    /// Companions alone.
    Companion,
    /// Passkeys alone.
    Web,
    /// A companion and a passkey, each.
    Both,
}

impl Deciders {
    const ALL: [Self; 4] = [Self::Any, Self::Companion, Self::Web, Self::Both];

    /// Of what stands on the list of what companions decide, or on that of passkeys.
    pub(super) const fn asked(companion: bool, web: bool) -> Self {
        match (companion, web) {
            (false, false) => Self::Any,
            (true, false) => Self::Companion,
            (false, true) => Self::Web,
            (true, true) => Self::Both,
        }
    }

    /// The word that is stored, and shown to programs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Companion => "companion",
            Self::Web => "web",
            Self::Both => "both",
        }
    }

    /// The one with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|deciders| deciders.word() == word)
    }

    /// Whether the word of a passkey, or of a companion, has a part in it.
    pub const fn take(self, web: bool) -> bool {
        match self {
            Self::Any | Self::Both => true,
            Self::Companion => !web,
            Self::Web => web,
        }
    }

    /// How many must approve, where so many must of any kind.
    pub const fn quorum(self, quorum: u32) -> u32 {
        if matches!(self, Self::Both) && quorum < 2 { 2 } else { quorum }
    }

    /// Whether these are all kinds that must be among those who approve.
    pub const fn have(self, companions: bool, web: bool) -> bool {
        match self {
            Self::Any => true,
            Self::Companion => companions,
            Self::Web => web,
            Self::Both => companions && web,
        }
    }
}

/// As people read it, after "decided by".
impl fmt::Display for Deciders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "whoever may",
            Self::Companion => "a companion alone",
            Self::Web => "a passkey alone",
            Self::Both => "a companion and a passkey together",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_asked_for_is_one_that_no_other_stands_in_for() {
        for deciders in Deciders::ALL {
            assert_eq!(Deciders::from_word(deciders.word()), Some(deciders));
        }
        assert_eq!(Deciders::from_word("device"), None);
        let takes = |deciders: Deciders| (deciders.take(false), deciders.take(true));
        assert_eq!(takes(Deciders::asked(false, false)), (true, true));
        assert_eq!(takes(Deciders::asked(true, false)), (true, false));
        assert_eq!(takes(Deciders::asked(false, true)), (false, true));
        let both = Deciders::asked(true, true);
        assert_eq!(takes(both), (true, true));
        assert!(both.have(true, true) && !both.have(true, false) && !both.have(false, true));
        assert_eq!((both.quorum(1), both.quorum(3), Deciders::Any.quorum(1)), (2, 3, 1));
    }
}
