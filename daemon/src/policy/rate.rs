//! How often an agent may hand something in: a loop that writes to people must not run as fast as it can.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// What each agent has left of its minute.
#[derive(Debug, Default)]
pub struct Rates(Mutex<HashMap<String, Left>>);

#[derive(Debug)]
struct Left {
    messages: f64,
    at: Instant,
}

impl Rates {
    /// Takes one of the `per_minute` messages that `agent` has, none of which is an agent without a bound; how long until there is
    /// one, where there is none.
    ///
    /// # Errors
    /// How long to wait.
    pub fn take(&self, agent: &str, per_minute: u32, now: Instant) -> Result<(), Duration> {
        if per_minute == 0 {
            return Ok(());
        }
        let most = f64::from(per_minute);
        let mut rates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !rates.contains_key(agent) {
            rates.insert(agent.to_owned(), Left { messages: most, at: now });
        }
        let left = rates.get_mut(agent).expect("it was put there");
        let minutes = now.saturating_duration_since(left.at).as_secs_f64() / 60.0;
        left.messages = (left.messages + minutes * most).min(most);
        left.at = now;
        if left.messages >= 1.0 {
            left.messages -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - left.messages) * 60.0 / most))
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
