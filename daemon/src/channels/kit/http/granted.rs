//! An access token that a platform grants for a while, against what the hub can prove.
//!
//! It is asked for when a request needs it and there is none, kept until shortly before its time is over, and forgotten
//! when the platform refuses it. Whoever asks meanwhile waits for the one that is on its way.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use tokio::sync::Mutex;

use crate::{channels::Failure, settings::secret::Secret};

/// Before its end, a token is not used any more: longer than a request takes to arrive, clocks aside.
const MARGIN: Duration = Duration::from_mins(2);

/// The longest that a token is kept, whatever its platform says.
const LONGEST: Duration = Duration::from_hours(24);

/// A token that was refused this soon was never any good: another one would not be better.
const FRESH: Duration = Duration::from_mins(1);

/// A granted token, or none yet.
#[derive(Default)]
pub struct Granted(Mutex<Option<Grant>>);

struct Grant {
    token: Secret,
    since: Instant,
    until: Instant,
}

impl Granted {
    /// The token; asks for one by `grant` where there is none that will last.
    ///
    /// # Errors
    /// None was granted.
    pub async fn token(
        &self,
        grant: impl Future<Output = Result<(Secret, Duration), Failure>>,
    ) -> Result<Secret, Failure> {
        let mut kept = self.0.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| Instant::now() < kept.until) {
            return Ok(kept.token.clone());
        }
        let (token, lasts) = grant.await?;
        let since = Instant::now();
        let until = since + lasts.min(LONGEST).saturating_sub(MARGIN);
        *kept = Some(Grant { token: token.clone(), since, until });
        Ok(token)
    }

    /// The platform refused this token. Whether another one could be better: this one was good for a while.
    pub async fn refused(&self, token: &Secret) -> bool {
        let mut kept = self.0.lock().await;
        match kept.take_if(|kept| kept.token == *token) {
            Some(grant) => grant.since.elapsed() > FRESH,
            // Somebody else found out first.
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_token_is_asked_for_once_kept_while_it_lasts_and_asked_for_anew_when_refused() {
        let granted = Granted::default();
        let grant = |name: &'static str, lasts| async move { Ok((Secret::from(name), lasts)) };
        let hour = Duration::from_hours(1);
        let one = granted.token(grant("one", hour)).await.unwrap();
        assert_eq!(granted.token(grant("two", hour)).await.unwrap(), one);
        assert!(!granted.refused(&one).await, "it was never any good");
        // The second one to hear of it does not throw away the next.
        let two = granted.token(grant("two", hour)).await.unwrap();
        assert!(granted.refused(&one).await);
        assert_eq!(granted.token(grant("three", hour)).await.unwrap(), two);
    }

    #[tokio::test]
    async fn a_token_that_is_about_to_end_and_a_refusal_are_not_kept() {
        let granted = Granted::default();
        let short = async { Ok((Secret::from("short"), MARGIN)) };
        granted.token(short).await.unwrap();
        let refused = granted.token(async { Err(Failure::Retry("later".into())) }).await;
        assert_eq!(refused, Err(Failure::Retry("later".into())));
    }
}
