//! What a delivery heard of limits on its way.
//!
//! An adapter answers whether its part arrived; what the platform said beside that, in the same answers, belongs to the
//! same delivery and to no other, for a limit of a conversation must not be taken for another one's. So whoever reads an
//! answer notes it here ([`note`]), deep in an adapter as it may be, and whoever delivers collects it ([`listening`]). The
//! shared client ([`crate::channels::kit::http`]) notes for every adapter that uses it.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use super::limits::Allowance;

/// Notes of one delivery that count.
const MOST: usize = 32;

tokio::task_local! {
    static HEARD: Arc<Mutex<Vec<Allowance>>>;
}

/// Performs a delivery; says beside its outcome what was noted meanwhile, also where it was broken off from within.
pub async fn listening<T>(delivery: impl Future<Output = T>) -> (T, Vec<Allowance>) {
    let heard = Arc::default();
    let outcome = HEARD.scope(Arc::clone(&heard), delivery).await;
    let heard = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
    (outcome, heard)
}

/// Notes what a platform said of its limits. Where nobody delivers, such as in a question whether an account is ready,
/// nobody needs it.
pub fn note(allowance: Allowance) {
    let _ = HEARD.try_with(|heard| {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.len() < MOST {
            heard.push(allowance);
        }
    });
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
        let say = async |seconds| {
            note(second(seconds));
            tokio::task::yield_now().await;
            note(second(seconds));
        };
        let ((_, one), (_, two)) = tokio::join!(listening(say(1)), listening(say(2)));
        assert_eq!((one, two), (vec![second(1), second(1)], vec![second(2), second(2)]));
        note(second(3));
    }

    #[tokio::test]
    async fn what_was_heard_before_the_time_was_over_counts() {
        let stalls = async {
            note(second(1));
            std::future::pending::<()>().await;
        };
        let (ended, heard) = listening(tokio::time::timeout(Duration::from_millis(5), stalls)).await;
        assert!(ended.is_err());
        assert_eq!(heard, [second(1)]);
    }

    #[tokio::test]
    async fn a_platform_that_does_not_stop_talking_is_not_written_down_for_ever() {
        let (_, heard) = listening(async { (0..1_000).for_each(|n| note(second(n))) }).await;
        assert_eq!(heard.len(), MOST);
    }
}
