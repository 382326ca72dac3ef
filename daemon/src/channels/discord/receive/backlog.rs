//! What was said between a lost session and the next: each conversation that is known is asked what came after its last message.
//!
//! What people did otherwise meanwhile, such as reactions, nobody tells any more.

use serde_json::Value;
use tokio::time::sleep;

use super::{Reception, draft::id, reader};
use crate::channels::Failure;

/// Messages of one answer: "1-100" (<https://docs.discord.com/developers/resources/message#get-channel-messages>).
const A_PAGE: usize = 100;
/// Answers of one conversation: what is more than a thousand messages behind is left.
const PAGES: usize = 10;
/// So often one page is asked for.
const TRIES: u32 = 6;

impl Reception<'_> {
    /// Reads what was said in the gap before a session, oldest first in each conversation.
    pub(super) async fn fill_gap(&mut self, bot: &str) {
        for (channel, last) in self.streams.conversations() {
            self.fill(channel, last, bot).await;
        }
    }

    async fn fill(&mut self, channel: u64, mut last: u64, bot: &str) {
        for _ in 0..PAGES {
            let (mut messages, most) = match self.page(channel, last).await {
                Ok(page) => page,
                Err(Failure::Permanent(_)) => return self.streams.forget(channel),
                Err(failure) => {
                    let why = failure.to_string();
                    tracing::warn!(
                        account = self.gateway.account,
                        channel,
                        why,
                        "what was said there meanwhile cannot be asked for"
                    );
                    return;
                }
            };
            messages.sort_by_key(|(id, _)| *id);
            let (came, newest) = (messages.len(), messages.last().map(|(id, _)| *id));
            for (_, message) in messages {
                let read = reader::read("MESSAGE_CREATE", &message, "", bot);
                self.add(read, bot).await;
            }
            let Some(newest) = newest.filter(|newest| *newest > last) else { return };
            // Also what is left out is behind.
            self.streams.said(channel, newest);
            self.write().await;
            last = newest;
            if came < most {
                return;
            }
        }
        tracing::warn!(account = self.gateway.account, channel, "more was said there meanwhile than is read");
    }

    /// The messages after one, with their ids, and how many there could have been.
    async fn page(&self, channel: u64, after: u64) -> Result<(Vec<(u64, Value)>, usize), Failure> {
        let (channel, after) = (channel.to_string(), after.to_string());
        let (mut most, mut failures) = (A_PAGE, 0);
        loop {
            let limit = most.to_string();
            let query = [("after", after.as_str()), ("limit", limit.as_str())];
            let request = self.client.query(&["channels", &channel, "messages"], &query);
            let failure = match self.client.question(request).await {
                Ok(Value::Array(messages)) => {
                    let with_id = |message: Value| Some((id(&message["id"])?.parse().ok()?, message));
                    return Ok((messages.into_iter().filter_map(with_id).collect(), most));
                }
                Ok(_) => Failure::Retry("Discord's answer is no list of messages".into()),
                Err(failure @ Failure::Permanent(_)) => return Err(failure),
                Err(failure) => failure,
            };
            failures += 1;
            if failures >= TRIES {
                return Err(failure);
            }
            let pause = self.gateway.tempo.pause(failures);
            match failure {
                Failure::Wait { after, .. } => {
                    sleep(after.clamp(pause, self.gateway.tempo.longest.max(pause))).await
                }
                _ => {
                    // It may be too long to be read.
                    most = (most / 4).max(1);
                    sleep(pause).await;
                }
            }
        }
    }
}
