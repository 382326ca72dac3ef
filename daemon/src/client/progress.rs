//! A call of a tool whose answer comes step by step.
//!
//! Events are read here and not by `sse-stream` 0.2.6, which the Model Context Protocol's crate brings for its server: a line
//! without an end grows in it without a bound, and a field that it does not know ends the stream, while the standard says to
//! ignore it. Ours reads `event` and one line of `data`, which is all that a hub writes.

use std::time::Duration;

use reqwest::{
    Method, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde_json::Value;

use super::{Client, ClientError, SLACK};
use crate::intake::tool::{Telling, UnderWay};

/// The longest step, in bytes. What a hub answers is bounded far below.
const MAX_STEP_BYTES: usize = 16 * 1024 * 1024;

/// What has come of an answer.
#[derive(Default)]
struct Coming {
    /// What is no whole line yet.
    rest: Vec<u8>,
    /// Whether the event that is being read is the last one.
    is_answer: bool,
}

enum Step {
    UnderWay(UnderWay),
    Answer(Value),
}

impl Client {
    /// Calls a tool in a session of the caller's, and passes on which of its messages are under way; the answer's status and
    /// body, whatever they are.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn ask_step_by_step(
        &self,
        path: &str,
        session: &str,
        body: &Value,
        wait: Duration,
        telling: &Telling,
    ) -> Result<(StatusCode, Value), ClientError> {
        let call = self.request(Method::POST, path).await?;
        let call = call.header(ACCEPT, "text/event-stream, application/json");
        let call = call.header("gatepost-session", session).timeout(wait + SLACK).json(body);
        let mut answer = call.send().await.map_err(|error| self.away(error))?;
        let status = answer.status();
        self.is_its_own(status)?;
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            let body = answer.json().await.map_err(|error| self.away(error))?;
            return Ok((status, body));
        }
        let mut coming = Coming::default();
        while let Some(chunk) = answer.chunk().await.map_err(|error| self.away(error))? {
            for step in coming.steps(&chunk) {
                match step {
                    Step::Answer(answer) => return Ok((status, answer)),
                    // The caller may have gone.
                    Step::UnderWay(step) => _ = telling.send(step).await,
                }
            }
            if coming.rest.len() > MAX_STEP_BYTES {
                break;
            }
        }
        Err(self.nobody())
    }
}

impl Coming {
    /// The steps that are whole with this chunk.
    fn steps(&mut self, chunk: &[u8]) -> Vec<Step> {
        self.rest.extend_from_slice(chunk);
        let whole = memchr::memrchr(b'\n', &self.rest).map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        lines.split(|byte| *byte == b'\n').filter_map(|line| self.step(line)).collect()
    }

    fn step(&mut self, line: &[u8]) -> Option<Step> {
        if let Some(name) = line.strip_prefix(b"event:") {
            self.is_answer = name.trim_ascii() == b"answer";
        }
        let data = line.strip_prefix(b"data:")?;
        match self.is_answer {
            true => serde_json::from_slice(data).ok().map(Step::Answer),
            false => serde_json::from_slice(data).ok().map(Step::UnderWay),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_however_they_are_cut() {
        let whole = b"event: under_way\ndata: {\"id\":\"m1\",\"state\":\"held\"}\n\n: beat\n\nevent: answer\ndata: {\"ok\":true}\n\n";
        for cut in 0..=whole.len() {
            let mut coming = Coming::default();
            let steps: Vec<Step> =
                [&whole[..cut], &whole[cut..]].into_iter().flat_map(|chunk| coming.steps(chunk)).collect();
            let [Step::UnderWay(first), Step::Answer(answer)] = &steps[..] else { panic!("cut at {cut}") };
            assert_eq!((first.id.as_str(), first.state.as_str(), first.deduplicated), ("m1", "held", false));
            assert_eq!(answer["ok"], true);
        }
    }
}
