//! What the device publishes on the broker.

use gatepost_link::envelope::{self, MAX_UP, VERSION};
use heapless::Vec;
use serde::Serialize;

/// One message of the device to its hub.
pub type Payload = Vec<u8, MAX_UP>;

/// The payload with this envelope, in the current version of the link.
pub(super) fn payload(envelope: &impl Serialize) -> Payload {
    payload_as(VERSION, envelope)
}

/// The payload with this envelope, in an older version of the link.
pub(super) fn payload_as(version: u8, envelope: &impl Serialize) -> Payload {
    let mut bytes = [0; MAX_UP];
    let bytes =
        envelope::encode_as(version, envelope, &mut bytes).expect("every envelope of the device fits");
    Payload::from_slice(bytes).expect("a payload is as large as the buffer")
}
