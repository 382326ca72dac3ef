//! The loop: open the stream, write down what comes with the time up to which all is read, and open it again when it ends.
//!
//! A stream that goes on from a time tells what was kept first, and what is new may come in its midst. So the time moves only once
//! the server has said that the stream is alive, which it does when it has told all that was kept; until then the rows go alone.

use std::{convert::Infallible, time::Duration};

use tokio::time::timeout;

use super::{
    super::{Ntfy, refused},
    event::{self, Draft, Line},
    files,
    lines::Lines,
};
use crate::{
    channels::{
        Failure, RateHints,
        hub_handle::HubHandle,
        kit::{
            http::Silence,
            pause::{chance, doubled},
            rest::{Rest, rest, unwritten},
            standing::Standing,
        },
        received::{Batch, DropReason, Dropped, Event, Position},
        receiver,
    },
    clock,
};

/// The stream of which the position is.
pub(super) const STREAM: &str = "topics";
/// Topics of an account: their names together fit an address, and ntfy counts each as a subscription.
pub(in crate::channels::ntfy) const MOST_TOPICS: usize = 32;
/// Events and files after which what was read is written down.
const EVENTS: usize = 50;
const FILES: usize = 4;
/// How far before the last message the stream goes on, in seconds. What is scheduled is told up to ten seconds after its time
/// (`DefaultDelayedSenderInterval` in <https://github.com/binwiederhier/ntfy/blob/main/server/config.go>), and a server may store
/// what it has told some time later (`server/server_catchup.go` there).
const OVERLAP: i64 = 60;
/// A stream is opened anew after this in any case.
const LONGEST: Duration = Duration::from_hours(24);

/// How long things take.
#[derive(Debug, Clone, Copy)]
pub(in crate::channels::ntfy) struct Tempo {
    /// A stream on which nothing is heard for so long is dead.
    pub(super) silence: Duration,
    /// After the first failure; it doubles.
    pub(super) first: Duration,
    /// At most, where the server is not there.
    pub(super) longest: Duration,
    /// Where somebody has to do something.
    pub(super) refused: Duration,
}

impl Tempo {
    /// A server says every 45 s that it is there, or less often as it is configured, but within the 77 s that ntfy's own app waits
    /// (<https://docs.ntfy.sh/config/#config-options>, `keepalive-interval`).
    pub(in crate::channels::ntfy) const USUAL: Self = Self {
        silence: Duration::from_secs(90),
        first: Duration::from_secs(1),
        longest: Duration::from_mins(1),
        refused: Duration::from_mins(5),
    };
}

/// What keeps an account receiving.
pub(in crate::channels::ntfy) struct Listener {
    topics: Vec<String>,
    standing: Standing,
    tempo: Tempo,
}

/// How it goes on.
struct Hearing<'a> {
    ntfy: &'a Ntfy,
    hub: &'a dyn HubHandle,
    /// Up to when all is read, in seconds since 1970; nothing if the account never listened.
    place: Option<i64>,
    /// The newest message of this stream.
    newest: Option<i64>,
    /// Whether all is told that the server had kept.
    has_caught_up: bool,
    batch: Batch,
    fetched: usize,
    failures: u32,
}

impl Listener {
    pub(in crate::channels::ntfy) fn new(account: &str, topics: Vec<String>, tempo: Tempo) -> Self {
        Self { topics, standing: Standing::new("ntfy", account), tempo }
    }

    /// What there is to say of it to who asks whether the account is ready.
    pub(in crate::channels::ntfy) fn hearing(&self) -> receiver::Hearing {
        let topics = self.topics.join(", ");
        self.standing.hearing(format!(
            "receives {topics}, and after a stop what the server has kept (12 hours unless it is set otherwise)"
        ))
    }

    /// Receives for as long as anybody waits.
    pub(in crate::channels::ntfy) async fn listen(&self, ntfy: &Ntfy, hub: &dyn HubHandle) {
        let mut hearing = Hearing::of(ntfy, hub);
        loop {
            let Err(failure) = self.begun(&mut hearing).await;
            self.rest(hub, &mut hearing.failures, failure).await;
        }
    }

    /// Goes on where the account was.
    async fn begun(&self, hearing: &mut Hearing<'_>) -> Result<Infallible, Failure> {
        if hearing.place.is_none() {
            let stored = hearing.hub.position(STREAM).await.map_err(unwritten)?;
            hearing.place = stored.and_then(|stored| stored.parse().ok());
        }
        self.hear(hearing).await
    }

    /// Hears one stream until it ends.
    async fn hear(&self, hearing: &mut Hearing<'_>) -> Result<Infallible, Failure> {
        (hearing.newest, hearing.has_caught_up, hearing.batch) = (None, false, Batch::default());
        let (ntfy, hints) = (hearing.ntfy, &mut RateHints::default());
        let mut address = ntfy.url.at(&[&self.topics.join(","), "json"]);
        if let Some(place) = hearing.place {
            address.query_pairs_mut().append_pair("since", &place.saturating_sub(OVERLAP).max(0).to_string());
        }
        let request = ntfy.signed(ntfy.http.client.get(address));
        let mut stream = match ntfy.http.stream(request, LONGEST, hints).await.map_err(Silence::harmless)? {
            Ok(stream) => stream,
            Err(answer) => {
                let verdict = refused(&ntfy.http.reader(), &answer);
                let why = || Failure::Retry("ntfy answers with no stream; check url".into());
                return Err(verdict.map_or_else(why, |verdict| ntfy.http.settle(verdict.harmless(), hints)));
            }
        };
        let mut lines = Lines::default();
        loop {
            let silent =
                |_| Failure::Retry(format!("nothing was heard for {} s", self.tempo.silence.as_secs()));
            let came = timeout(self.tempo.silence, stream.chunk()).await.map_err(silent)?;
            let came = came.map_err(|error| ntfy.http.silence(error).harmless())?;
            let Some(came) = came else { return Err(Failure::Retry("ntfy ended the stream".into())) };
            for line in lines.take(&came) {
                let line = match line {
                    Ok(line) => event::read(&line, &self.topics),
                    Err(_) => {
                        Line::Dropped(Dropped { reason: DropReason::Unreadable, what: "long line".into() })
                    }
                };
                if hearing.take(line).await? {
                    self.standing.receives();
                }
            }
            hearing.write().await?;
        }
    }

    /// Says what is the matter, and waits.
    async fn rest(&self, hub: &dyn HubHandle, failures: &mut u32, failure: Failure) {
        let Tempo { first, longest, refused, .. } = self.tempo;
        let usual = doubled(first, longest, *failures);
        let Rest { kind, why, wait } = Rest::after(failure, usual, first, refused);
        // A stream ends now and then, and is opened again at once.
        if *failures > 0 || kind != "away" {
            self.standing.away(kind, why);
        }
        *failures = failures.saturating_add(1);
        // Never before the time that the server said.
        rest(hub, kind, wait + wait.min(longest).mul_f64(chance() / 4.0)).await;
    }
}

impl<'a> Hearing<'a> {
    fn of(ntfy: &'a Ntfy, hub: &'a dyn HubHandle) -> Self {
        let batch = Batch::default();
        Self { ntfy, hub, place: None, newest: None, has_caught_up: false, batch, fetched: 0, failures: 0 }
    }

    /// Takes a line into the batch; whether it shows that the stream is well.
    async fn take(&mut self, line: Line) -> Result<bool, Failure> {
        match line {
            Line::Open(time) => {
                // What was published before belongs to nobody's conversation with the hub.
                if self.place.is_none() {
                    self.newest = Some(time.unwrap_or(i64::MAX).clamp(0, seconds()));
                    self.has_caught_up = true;
                    self.write().await?;
                    self.has_caught_up = false;
                }
                return Ok(true);
            }
            Line::Alive => {
                (self.has_caught_up, self.failures) = (true, 0);
                return Ok(true);
            }
            Line::Said(draft) => self.add(*draft).await?,
            Line::Dropped(dropped) => self.batch.dropped.push(dropped),
        }
        if self.batch.received.len() + self.batch.dropped.len() >= EVENTS || self.fetched >= FILES {
            self.write().await?;
        }
        Ok(false)
    }

    async fn add(&mut self, mut draft: Draft) -> Result<(), Failure> {
        if let Some(id) = draft.id() {
            let is_of = |request: &serde_json::Value| draft.is_of(request);
            let own = self.hub.is_own(&draft.received.conversation.address, id, &is_of).await;
            if own.map_err(unwritten)? {
                draft.set_own();
            }
        }
        if let (Some(sent), Event::Message(words)) = (&draft.file, &mut draft.received.event) {
            self.fetched += 1;
            match files::keep(self.ntfy, self.hub, sent).await {
                Ok(kept) => words.files.push(kept),
                Err(why) => words.missing.push(why),
            }
        }
        // No message is of a time to come, and one that says so must not keep the ones before that time away.
        self.newest = self.newest.max(draft.time.map(|time| time.min(seconds())));
        self.batch.received.push(draft.received);
        Ok(())
    }

    /// Writes the batch down, with the time up to which all is read.
    async fn write(&mut self) -> Result<(), Failure> {
        let place =
            self.newest.filter(|newest| self.has_caught_up && self.place.is_none_or(|place| *newest > place));
        if place.is_none() && self.batch == Batch::default() {
            return Ok(());
        }
        let mut batch = std::mem::take(&mut self.batch);
        let position = |place: i64| Position { stream: STREAM.into(), value: place.to_string() };
        batch.positions.extend(place.map(position));
        self.hub.receive(batch).await.map_err(unwritten)?;
        (self.place, self.fetched) = (place.or(self.place), 0);
        Ok(())
    }
}

/// Since 1970.
fn seconds() -> i64 {
    clock::now_ms() / 1000
}
