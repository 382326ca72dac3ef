//! What programs outside post to an account's own address, `/v1/hooks/{account}`: a build server, a camera, an automation.
//!
//! Whoever posts has no token of the hub's. The account says what proves it, and reads it into one event that is no person's words.
//! Nothing is read of a body unless the headers may prove something, and nothing is looked at in it before they do.

use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;

use super::received::Received;

/// The channel whose accounts are posted to.
pub const CHANNEL: &str = "webhook";
/// The longest body, in bytes: that of the hub's own calls.
pub const MAX_BODY_BYTES: usize = 256 * 1024;
/// The media types that are read, in words.
pub const READ: &str = "application/json, text/plain or application/x-www-form-urlencoded";

/// Why nothing is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// Nothing proves who sent it.
    #[error("nothing proves who sent it")]
    Proof,
    /// Too much was posted in the last minute.
    #[error("more is posted than is taken in a minute")]
    TooMany(Duration),
    /// It is of another media type.
    #[error("its content-type is none of {READ}")]
    Type,
    /// It is not what its media type says, or says nothing.
    #[error("it cannot be read as its content-type says, or there is nothing in it")]
    Body,
    /// Its id is empty, or too long for one.
    #[error("the id of this delivery is empty, or longer than 320 characters")]
    Id,
}

/// What is posted to one account.
pub trait Incoming: Send + Sync {
    /// Whether its words are trusted as those of somebody known; else they are a stranger's.
    fn is_trusted(&self) -> bool;

    /// Whether what proves it is of the body: until the body is read, anybody may have sent it.
    fn signs_body(&self) -> bool;

    /// Whether a request with these headers may be a program's that is known, as far as can be said before its body is read.
    ///
    /// # Errors
    /// It is none.
    fn admits(&self, headers: &HeaderMap) -> Result<(), NotTaken>;

    /// Reads a request.
    ///
    /// # Errors
    /// It proves nothing, or nothing can be taken of it.
    fn read(&self, headers: &HeaderMap, body: &[u8], now: Instant) -> Result<Received, NotTaken>;
}
