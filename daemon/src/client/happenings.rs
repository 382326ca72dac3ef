//! A hub's events, as they happen: these callers need to know only that there was one.

use std::time::Duration;

use reqwest::Method;

use super::{Client, ClientError, SLACK};
use crate::config::changes::RELOADED;

/// A hub that says nothing at all for so long, on a stream of events, is gone.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(40);

/// The hub's events, as they happen.
#[derive(Debug)]
pub struct Happenings {
    hub: String,
    answer: reqwest::Response,
    /// The end of what was read, where an event may begin.
    end: Vec<u8>,
}

impl Client {
    /// What happens from now on to the caller's messages.
    pub async fn happenings(&self) -> Result<Happenings, ClientError> {
        let call = self.request(Method::GET, "/v1/events").await?.send();
        let answer = match tokio::time::timeout(SLACK, call).await {
            Ok(answer) => answer.map_err(|error| self.away(error))?,
            Err(_) => return Err(self.nobody()),
        };
        match answer.status().is_success() {
            true => Ok(Happenings { hub: self.base.clone(), answer, end: Vec::new() }),
            false => Err(ClientError::Refused(answer.json().await.map_err(|error| self.away(error))?)),
        }
    }
}

impl Happenings {
    /// Waits until something happens.
    pub async fn next(&mut self) -> Result<(), ClientError> {
        self.until(b"\ndata:").await
    }

    /// Waits until the hub has another configuration.
    pub async fn reloaded(&mut self) -> Result<(), ClientError> {
        self.until(format!("\nevent: {RELOADED}\n").as_bytes()).await
    }

    /// Waits until this has come.
    async fn until(&mut self, wanted: &[u8]) -> Result<(), ClientError> {
        loop {
            // The hub says every ten seconds that it is there.
            let chunk = match tokio::time::timeout(SILENCE_TIMEOUT, self.answer.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Err(error)) => return Err(ClientError::Broken(self.hub.clone(), error)),
                Ok(Ok(None)) | Err(_) => return Err(ClientError::Nobody(self.hub.clone())),
            };
            if happened(&mut self.end, &chunk, wanted) {
                return Ok(());
            }
        }
    }
}

/// Whether the wanted bytes of an event are in the chunk that has come; `end` holds the last bytes of the chunk before.
fn happened(end: &mut Vec<u8>, chunk: &[u8], wanted: &[u8]) -> bool {
    end.extend_from_slice(chunk);
    let found = memchr::memmem::find(end, wanted).is_some();
    end.drain(..end.len().saturating_sub(wanted.len() - 1));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_heard_however_it_is_cut_and_a_beat_is_none() {
        let stream = b": from here on\nid: 5\n\nid: 6\nevent: message.denied\ndata: {}\n\n";
        for cut in 0..=stream.len() {
            let mut end = Vec::new();
            let found = [&stream[..cut], &stream[cut..]].map(|chunk| happened(&mut end, chunk, b"\ndata:"));
            assert_eq!(found.iter().filter(|found| **found).count(), 1, "{cut}");
        }
        assert!(!happened(&mut Vec::new(), b": nothing new\nid: 7\n\n", b"\ndata:"));
    }
}
