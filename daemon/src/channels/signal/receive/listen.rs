//! The loop: read the stream, fetch the files, write down, and only then read on.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use reqwest::{Response, StatusCode, header};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{
    envelope::{self, Me, not_used, unreadable},
    files,
    frames::{Frame, Frames},
    mode::{self, Mode},
    names::Names,
    revisions::Revisions,
};
use crate::channels::{
    Failure, RateHints,
    hub_handle::HubHandle,
    kit::{
        http::quota,
        leaving::Leaving,
        pause::{ordered, pause},
        rest::{kind_by, rest},
        standing::Standing,
    },
    received::{Batch, Event, Position, missing},
    receiver::Hearing,
    signal::client::Client,
};

/// The stream of which the position is.
const STREAM: &str = "events";
/// Events that are written down together at most.
const TOGETHER: usize = 50;

/// When the account stops listening: so long files are waited for, and names.
const FILES_STAY: Duration = Duration::from_secs(2);
/// So long what signal-cli has told already is read: until nothing comes for a moment, and at most.
const QUIET: Duration = Duration::from_millis(200);
const READ_ON: Duration = Duration::from_secs(3);

/// How long things take.
#[derive(Debug, Clone, Copy)]
pub(in crate::channels::signal) struct Tempo {
    /// After so long a silence the stream is dead.
    pub(super) silence: Duration,
    /// After the first failure; it doubles.
    pub(super) first: Duration,
    /// At most.
    pub(super) longest: Duration,
}

impl Tempo {
    /// signal-cli says every 15 s that it is there, and an older one sends the head of its answer only then
    /// (<https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/http/HttpServerHandler.java>): three of them.
    pub(in crate::channels::signal) const USUAL: Self = Self {
        silence: Duration::from_secs(45),
        first: Duration::from_secs(1),
        longest: Duration::from_mins(1),
    };
}

/// Why nothing comes.
struct Trouble {
    kind: &'static str,
    why: String,
    /// Not to be asked again before.
    at_least: Duration,
}

impl Trouble {
    fn away(why: impl Into<String>) -> Self {
        Self { kind: "away", why: why.into(), at_least: Duration::ZERO }
    }

    /// The account stops listening.
    fn leaves() -> Self {
        Self::away("the account stops listening")
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Wait { after, why } => Self { kind: "limited", why, at_least: after },
            Failure::Permanent(why) => Self { kind: "refused", why, at_least: Duration::ZERO },
            Failure::Retry(why) | Failure::Unknown(why) | Failure::NotDelivered(why) => Self::away(why),
        }
    }
}

/// What keeps an account receiving.
pub(in crate::channels::signal) struct Listener {
    standing: Standing,
    tempo: Tempo,
    mode: Mutex<Option<Mode>>,
    leaving: Leaving,
}

impl Listener {
    pub(in crate::channels::signal) fn new(account: &str, tempo: Tempo) -> Self {
        let standing = Standing::new("Signal", account);
        Self { standing, tempo, mode: Mutex::default(), leaving: Leaving::default() }
    }

    /// What there is to say of it to who asks whether the account is ready.
    pub(in crate::channels::signal) fn trouble(&self) -> Option<String> {
        let warning = self.mode().and_then(Mode::warning).map(str::to_owned);
        let troubles: Vec<String> = self.standing.trouble().into_iter().chain(warning).collect();
        (!troubles.is_empty()).then(|| troubles.join("; "))
    }

    /// How the account hears.
    pub(in crate::channels::signal) fn hearing(&self) -> Hearing {
        let mut hearing = self.standing.hearing("receives");
        if let Some(warning) = self.mode().and_then(Mode::warning) {
            hearing.standing.push_str(&format!("; {warning}"));
        }
        hearing
    }

    fn mode(&self) -> Option<Mode> {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Receives until the account [leaves](Self::leave).
    pub(in crate::channels::signal) async fn listen(&self, client: &Client, hub: &dyn HubHandle) {
        let listening = self.leaving.listening();
        let begun = self.leaving.within(Duration::ZERO, self.begin(client, hub)).await;
        let Some(mut reception) = begun else { return };
        let mut failures = 0;
        while !listening.is_over() {
            let trouble = reception.session(&mut failures).await;
            // What is not written down yet came whole.
            reception.write().await;
            client.forget();
            if listening.is_over() {
                break;
            }
            let (at_least, why) = ordered(trouble.at_least, trouble.why);
            let wait = pause(self.tempo.first, self.tempo.longest, failures).max(at_least);
            self.standing.away(trouble.kind, why);
            failures = failures.saturating_add(1);
            self.leaving.within(Duration::ZERO, rest(hub, kind_by(at_least), wait)).await;
        }
    }

    /// Has it write down what signal-cli has told already, and stop.
    pub(in crate::channels::signal) async fn leave(&self) {
        self.leaving.leave().await;
    }

    /// Where the account was.
    async fn begin<'a>(&'a self, client: &'a Client, hub: &'a dyn HubHandle) -> Reception<'a> {
        let mut failures = 0;
        let (last, mode) = loop {
            let stored = async { Ok((hub.position(STREAM).await?, hub.position(mode::STREAM).await?)) };
            match stored.await {
                Ok(stored) => break stored,
                Err(error) => self.unwritten(&mut failures, error).await,
            }
        };
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode.as_deref().and_then(Mode::parse);
        let last = last.filter(|last| !last.is_empty());
        Reception {
            listener: self,
            client,
            hub,
            me: Me { number: client.account().to_owned(), uuid: None },
            names: Names::default(),
            revisions: Revisions::default(),
            batch: Batch::default(),
            written: last.clone(),
            last,
            new: false,
        }
    }

    /// Says that the hub cannot, and waits.
    async fn unwritten(&self, failures: &mut u32, error: crate::channels::hub_handle::Unavailable) {
        self.standing.away("hub", format!("nothing can be written down: {error}"));
        sleep(pause(self.tempo.first, self.tempo.longest, *failures)).await;
        *failures = failures.saturating_add(1);
    }
}

/// What the account has read.
struct Reception<'a> {
    listener: &'a Listener,
    client: &'a Client,
    hub: &'a dyn HubHandle,
    me: Me,
    names: Names,
    revisions: Revisions,
    /// What is written down next.
    batch: Batch,
    /// The id of the last event of it, and of the last that is written down.
    last: Option<String>,
    written: Option<String>,
    /// Whether signal-cli was away since the last stream: it does not believe then that the hub listens still.
    new: bool,
}

impl Reception<'_> {
    /// Reads a stream to its end, whatever that is.
    async fn session(&mut self, failures: &mut u32) -> Trouble {
        // Where it listens already, the first events come with the answer.
        let opened = self.listener.leaving.within(QUIET, self.open()).await;
        let mut response = match opened {
            Some(Ok(response)) => response,
            Some(Err(trouble)) => return trouble,
            None => return Trouble::leaves(),
        };
        self.new = false;
        self.listener.standing.receives();
        let (mut parser, mut frames) = (Frames::default(), Vec::new());
        loop {
            let chunk = timeout(self.listener.tempo.silence, response.chunk());
            let came = match self.listener.leaving.since() {
                Some(since) if since.elapsed() >= READ_ON => return Trouble::leaves(),
                Some(_) => timeout(QUIET, chunk).await.ok(),
                None => self.listener.leaving.within(QUIET, chunk).await,
            };
            let Some(came) = came else { return Trouble::leaves() };
            match came {
                Ok(Ok(Some(bytes))) => parser.feed(&bytes, &mut frames),
                Ok(Ok(None)) => return Trouble::away("signal-cli ended the stream"),
                Ok(Err(error)) => {
                    return Trouble::away(format!("the stream broke off: {}", self.client.lost(error)));
                }
                Err(_) => return self.silence(),
            }
            for frame in frames.drain(..) {
                *failures = 0;
                self.take(frame).await;
            }
            if !self.batch.received.is_empty() {
                self.write().await;
            }
        }
    }

    fn silence(&self) -> Trouble {
        Trouble::away(format!("nothing was heard for {} s", self.listener.tempo.silence.as_secs()))
    }

    /// Opens the stream where the rows end.
    async fn open(&mut self) -> Result<Response, Trouble> {
        let hints = &mut RateHints::default();
        // One that serves one account alone takes nobody's account, and its own may be another.
        let serves = self.client.serves_all(hints).await;
        self.new |= matches!(serves, Err(Failure::Retry(_)));
        serves?;
        // It may be another program than before.
        self.client.learn_version(hints).await;
        self.client.learn_aci(hints).await;
        self.me.uuid = self.client.aci().or(self.me.uuid.take());
        self.look_at_mode().await;
        let asked = self.client.events(self.written.as_deref()).send();
        let response = match timeout(self.listener.tempo.silence, asked).await {
            Ok(response) => {
                response.map_err(|error| Trouble::away(format!("no stream: {}", self.client.lost(error))))?
            }
            Err(_) => return Err(self.silence()),
        };
        let status = response.status();
        if status != StatusCode::OK {
            let limited = status == StatusCode::TOO_MANY_REQUESTS;
            let after =
                quota::retry_after(response.headers(), limited, SystemTime::now()).unwrap_or_default();
            let why = match status {
                // `handleEventsEndpoint`: of an account that it does not have.
                StatusCode::BAD_REQUEST => self.client.no_account(),
                _ => format!("signal-cli answered {} to who listens", status.as_u16()),
            };
            return Err(Trouble { at_least: after, ..Trouble::away(why) });
        }
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        match kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            true => Ok(response),
            false => Err(Trouble::away("what answers is no stream of events; check url")),
        }
    }

    /// Finds out whether something is lost while the hub is away.
    async fn look_at_mode(&mut self) {
        let Some((receives, events)) = self.client.receives_already().await else { return };
        for event in &events {
            self.take_event(event).await;
        }
        let mode = Some(Mode::judged(self.listener.mode(), receives, self.new));
        let known =
            std::mem::replace(&mut *self.listener.mode.lock().unwrap_or_else(PoisonError::into_inner), mode);
        if known != mode {
            self.batch.positions.extend(mode.map(Mode::position));
            if let Some(warning) = mode.and_then(Mode::warning) {
                tracing::warn!(account = self.client.account(), "{warning}");
            }
        }
        self.write().await;
    }

    /// Takes what the stream says.
    async fn take(&mut self, frame: Frame) {
        let id = match frame {
            // What is nobody's words is written down with what is, or now: not each for itself.
            Frame::Alive => return self.write().await,
            Frame::TooLong { id } => {
                self.batch.dropped.push(unreadable("event that is too long"));
                id
            }
            Frame::Event { id, kind, data } => {
                match serde_json::from_slice::<Value>(&data) {
                    // <https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/http/HttpServerHandler.java>
                    _ if !matches!(kind.as_str(), "receive" | "") => self.batch.dropped.push(not_used(&kind)),
                    Ok(event) => self.take_event(&event).await,
                    Err(_) => self.batch.dropped.push(unreadable("event")),
                }
                id
            }
        };
        self.last = id.or(self.last.take());
        if self.batch.received.len() + self.batch.dropped.len() >= TOGETHER {
            self.write().await;
        }
    }

    async fn take_event(&mut self, event: &Value) {
        if let Some(seen) = envelope::seen(event, &self.me) {
            return self.hub.seen(seen);
        }
        let leaving = &self.listener.leaving;
        leaving.within(FILES_STAY, self.names.learn(event, self.client)).await;
        let mut draft = match envelope::read(event, &self.me, &self.names) {
            Ok(draft) => draft,
            Err(dropped) => return self.batch.dropped.push(dropped),
        };
        self.revisions.settle(&mut draft);
        if !draft.files.is_empty() {
            // A file may take minutes, and what is only here a release of signal-cli never repeats.
            self.write().await;
        }
        let address = draft.received.conversation.address.clone();
        if let Event::Message(words) = &mut draft.received.event {
            for sent in &draft.files {
                let kept = files::keep(self.client, self.hub, &address, sent);
                match leaving.within(FILES_STAY, kept).await {
                    Some(Ok(kept)) => words.files.push(kept),
                    Some(Err(why)) => words.missing.push(why),
                    None => words.missing.push(missing(sent.called(), "the hub stopped listening meanwhile")),
                }
            }
        }
        self.batch.received.push(draft.received);
    }

    /// Writes the batch down, however long that takes. The stream waits meanwhile, and with it signal-cli.
    async fn write(&mut self) {
        if self.last == self.written && self.batch == Batch::default() {
            return;
        }
        let mut batch = std::mem::take(&mut self.batch);
        if self.last != self.written {
            let position =
                self.last.iter().map(|last| Position { stream: STREAM.into(), value: last.clone() });
            batch.positions.extend(position);
        }
        let mut failures = 0;
        while let Err(error) = self.hub.receive(batch.clone()).await {
            self.listener.unwritten(&mut failures, error).await;
        }
        self.written.clone_from(&self.last);
        if failures > 0 {
            self.listener.standing.receives();
        }
    }
}
