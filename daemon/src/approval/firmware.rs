//! Which firmware may approve. All may deny.

use gatepost_link::envelope::VERSION;

/// Whether firmware that speaks this version of the link is too old to approve: it may do so while its display shows nothing.
pub fn is_outdated(version: u8) -> bool {
    version < VERSION
}
