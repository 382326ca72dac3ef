//! Somebody who listens to a hub's event stream, as a browser would.

use std::io::{BufRead as _, BufReader, Lines};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use ureq::{BodyReader, http::Request};

use super::Client;

/// An event, as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    /// What to come back with.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// What it says.
    pub data: Value,
}

/// An open stream.
pub struct Listener {
    lines: Lines<BufReader<BodyReader<'static>>>,
    /// The last id, whether an event came with it or not.
    pub last: i64,
}

impl Client {
    /// Listens, from now on or after the event numbered `after`.
    ///
    /// # Errors
    /// The hub refused.
    pub fn listen(&self, after: Option<i64>) -> Result<Listener> {
        let mut request = Request::builder().uri(self.url("/v1/events"));
        request = request.header("authorization", format!("Bearer {}", self.token()));
        if let Some(after) = after {
            request = request.header("last-event-id", after.to_string());
        }
        let answer = self.http().run(request.body(())?)?;
        ensure!(answer.status() == 200, "refused with {}", answer.status());
        let mut listener =
            Listener { lines: BufReader::new(answer.into_body().into_reader()).lines(), last: -1 };
        // The hub says at once where the stream begins: nothing after that is missed.
        while listener.last < 0 {
            listener.block()?.context("the stream ended before it began")?;
        }
        Ok(listener)
    }
}

impl Listener {
    /// The next event; none if the hub ends the stream.
    ///
    /// # Errors
    /// What came is no event stream, or nothing comes any more.
    pub fn hear(&mut self) -> Result<Option<Heard>> {
        loop {
            match self.block()? {
                None => return Ok(None),
                Some(None) => {}
                Some(heard) => return Ok(heard),
            }
        }
    }

    /// The first event from here that is `wanted`.
    ///
    /// # Errors
    /// It did not come.
    pub fn until(&mut self, what: &str, wanted: impl Fn(&Heard) -> bool) -> Result<Heard> {
        loop {
            match self.hear().with_context(|| what.to_owned())? {
                Some(heard) if wanted(&heard) => return Ok(heard),
                Some(_) => {}
                None => bail!("{what}: the stream ended"),
            }
        }
    }

    /// Reads to the next empty line; an event only if there was data.
    fn block(&mut self) -> Result<Option<Option<Heard>>> {
        let (mut name, mut data) = (None, None);
        for line in self.lines.by_ref() {
            let line = line?;
            match line.split_once(':') {
                None if line.is_empty() => {
                    let heard = data.map(|data: String| -> Result<Heard> {
                        let name = name.context("an event has a name")?;
                        Ok(Heard { id: self.last, name, data: serde_json::from_str(&data)? })
                    });
                    return Ok(Some(heard.transpose()?));
                }
                Some(("id", id)) => self.last = id.trim().parse()?,
                Some(("event", event)) => name = Some(event.trim().to_owned()),
                Some(("data", value)) => data = Some(value.trim().to_owned()),
                // A comment, or how long to wait before coming back.
                Some(("" | "retry", _)) => {}
                _ => bail!("no event stream: {line:?}"),
            }
        }
        Ok(None)
    }
}
