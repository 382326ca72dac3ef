//! Who an account is, as a hash: what a message is bound to from its acceptance on. What counts for it, each channel says
//! ([`crate::channels::fingerprint`]).

/// SHA-256 of what makes an account the one that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprint(pub [u8; 32]);
