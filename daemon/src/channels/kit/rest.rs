//! What a listener does that cannot go on: what it says, and how long it waits.

use std::time::Duration;

use super::pause::ordered;
use crate::channels::{Failure, hub_handle::Unavailable};

/// A wait, and why.
pub(in crate::channels) struct Rest {
    /// The kind of trouble, as [`Standing::away`](super::standing::Standing::away) has it.
    pub(in crate::channels) kind: &'static str,
    pub(in crate::channels) why: String,
    pub(in crate::channels) wait: Duration,
}

impl Rest {
    /// The one after a failure: the usual wait, `refused` where somebody has to do something, and where the platform says how long, that
    /// within bounds, but `least`.
    pub(in crate::channels) fn after(
        failure: Failure,
        usual: Duration,
        least: Duration,
        refused: Duration,
    ) -> Self {
        let (kind, why, wait) = match failure {
            Failure::Wait { after, why } => {
                let (after, why) = ordered(after, why);
                ("limited", why, after.max(least))
            }
            Failure::Permanent(why) => ("refused", why, refused),
            Failure::Retry(why) | Failure::Unknown(why) | Failure::NotDelivered(why) => ("away", why, usual),
        };
        Self { kind, why, wait }
    }
}

/// That what was read is not written down: it is asked for again.
pub(in crate::channels) fn unwritten(error: Unavailable) -> Failure {
    Failure::Retry(format!("nothing can be written down: {error}"))
}
