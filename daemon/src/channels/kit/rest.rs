//! What a listener does that cannot go on: what it says, and how long it waits.

use std::time::Duration;

use tokio::time::sleep;

use super::pause::ordered;
use crate::channels::{
    Failure,
    hub_handle::{HubHandle, Unavailable},
};

/// The kind of trouble of which the platform itself says how long it lasts.
const LIMITED: &str = "limited";

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
                (LIMITED, why, after.max(least))
            }
            Failure::Permanent(why) => ("refused", why, refused),
            Failure::Retry(why) | Failure::Unknown(why) | Failure::NotDelivered(why) => ("away", why, usual),
        };
        Self { kind, why, wait }
    }
}

/// Waits after a failure of this kind. A reload of the configuration ends that, but not where the platform itself said how long.
pub(in crate::channels) async fn rest(hub: &dyn HubHandle, kind: &str, wait: Duration) {
    match kind {
        LIMITED => sleep(wait).await,
        _ => hub.rest(wait).await,
    }
}

/// The kind of a trouble in which the platform named such a time, or none.
pub(in crate::channels) const fn kind_by(named: Duration) -> &'static str {
    if named.is_zero() { "away" } else { LIMITED }
}

/// That what was read is not written down: it is asked for again.
pub(in crate::channels) fn unwritten(error: Unavailable) -> Failure {
    Failure::Retry(format!("nothing can be written down: {error}"))
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use tokio::time::{Instant, timeout};

    use super::*;

    /// A hub whose configuration is read anew all the time.
    struct Reloading;

    #[async_trait]
    impl HubHandle for Reloading {
        async fn rest(&self, _: Duration) {}
    }

    #[tokio::test(start_paused = true)]
    async fn a_reload_ends_a_rest_but_none_of_which_the_platform_said_how_long() {
        const LONG: Duration = Duration::from_hours(1);
        let began = Instant::now();
        for kind in ["refused", kind_by(Duration::ZERO)] {
            rest(&Reloading, kind, LONG).await;
        }
        assert!(began.elapsed().is_zero());
        assert!(timeout(LONG / 2, rest(&Reloading, kind_by(LONG), LONG)).await.is_err());
    }
}
