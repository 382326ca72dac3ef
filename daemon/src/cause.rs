//! What lies at the bottom of an error.

use std::error::Error;

/// The last of an error's sources: what the system or the peer said. The layers above it repeat addresses, or name
/// themselves.
pub fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error
}
