//! What a delivery hears of limits on its way.
//!
//! An adapter answers whether its part arrived; what the platform said beside that, in the same answers, belongs to the
//! same delivery and to no other, for a limit of a conversation must not be taken for another one's. So whoever delivers
//! hands [`RateHints`] down with the request, and has them afterwards, however the delivery ended: also if its time was over
//! and there is no outcome that could carry them. The shared client ([`crate::channels::kit::http`]) notes for every adapter that uses it.

use super::limits::Allowance;

/// Notes of one delivery that count.
const MOST: usize = 32;

/// What one delivery has heard of limits so far.
///
/// A question that belongs to no delivery, such as whether an account is ready, is asked with hints of its own, which nobody
/// reads: what it is told is not the limit of whatever is sent at the same time.
#[derive(Debug, Default)]
pub struct RateHints(Vec<Allowance>);

impl RateHints {
    /// Notes what a platform said of its limits.
    pub fn note(&mut self, allowance: Allowance) {
        if self.0.len() < MOST {
            self.0.push(allowance);
        }
    }

    /// All that was noted, the first one first.
    pub fn into_allowances(self) -> Vec<Allowance> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::channels::limits::Scope;

    fn second(seconds: u64) -> Allowance {
        Allowance::none(Scope::Chat, Duration::from_secs(seconds))
    }

    #[tokio::test]
    async fn a_delivery_hears_what_was_said_to_it_and_to_no_other() {
        let say = async |seconds, hints: &mut RateHints| {
            hints.note(second(seconds));
            tokio::task::yield_now().await;
            hints.note(second(seconds));
        };
        let (mut one, mut two) = (RateHints::default(), RateHints::default());
        tokio::join!(say(1, &mut one), say(2, &mut two));
        assert_eq!(one.into_allowances(), [second(1), second(1)]);
        assert_eq!(two.into_allowances(), [second(2), second(2)]);
    }

    #[tokio::test]
    async fn what_was_heard_before_the_time_was_over_counts() {
        let mut hints = RateHints::default();
        let stalls = async {
            hints.note(second(1));
            std::future::pending::<()>().await;
        };
        let ended = tokio::time::timeout(Duration::from_millis(5), stalls).await;
        assert!(ended.is_err());
        assert_eq!(hints.into_allowances(), [second(1)]);
    }

    #[test]
    fn a_platform_that_does_not_stop_talking_is_not_written_down_for_ever() {
        let mut hints = RateHints::default();
        (0..1_000).for_each(|n| hints.note(second(n)));
        assert_eq!(hints.into_allowances().len(), MOST);
    }
}
