//! How often an agent may hand something in: a loop that writes to people must not run as fast as it can.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::rate_limit::bucket::{Bucket, Rate};

const MINUTE: Duration = Duration::from_mins(1);

/// How many messages each agent may still send in its minute.
#[derive(Debug, Default)]
pub struct Rates(Mutex<HashMap<String, Bucket>>);

impl Rates {
    /// Takes one of the `per_minute` messages that `agent` has, none of which is an agent without a bound; how long until there is
    /// one, where there is none.
    ///
    /// # Errors
    /// How long to wait.
    pub fn take(&self, agent: &str, per_minute: u32, now: Instant) -> Result<(), Duration> {
        let Some(every) = MINUTE.checked_div(per_minute) else { return Ok(()) };
        let rate = Rate { burst: per_minute, every };
        let mut rates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rates.entry(agent.to_owned()).or_insert_with(|| Bucket::full(now)).take(rate, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_so_many_messages_and_each_agent_its_own() {
        let (rates, start) = (Rates::default(), Instant::now());
        for _ in 0..3 {
            assert_eq!(rates.take("a", 3, start), Ok(()));
        }
        assert_eq!(rates.take("a", 3, start), Err(Duration::from_secs(20)));
        assert_eq!(rates.take("b", 3, start), Ok(()));
        assert_eq!(rates.take("a", 3, start + Duration::from_secs(21)), Ok(()));
        assert!(rates.take("a", 3, start + Duration::from_secs(21)).is_err());
        assert_eq!(rates.take("a", 0, start), Ok(()));
    }
}
