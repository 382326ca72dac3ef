//! The loop: ask, fetch the files, write down, and only then ask with the offset that acknowledges.

use std::{pin::pin, time::Duration};

use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{
    album, files,
    place::{self, Place},
    polls::{self, Polls},
    read::{Me, Read, Update},
    requests::{Asked, Trouble},
    update,
};
use crate::{
    channels::{
        hub_handle::{HubHandle, NO_PLACE, Unavailable},
        kit::{
            in_time::FileTime,
            pause::{chance, doubled, ordered},
            rest::rest,
            standing::Standing,
        },
        received::{Batch, DropReason, Dropped, Event, Received},
        receiver::Hearing,
        telegram::client::Client,
    },
    clock,
};

/// "Values between 1-100 are accepted" (<https://core.telegram.org/bots/api#getupdates>, `limit`).
const LIMIT: usize = 100;
/// Events and files after which what was read is written down. A file may take minutes.
const EVENTS: usize = 50;
const FILES: usize = 8;
/// Presses that are answered at once.
const AT_ONCE: usize = 8;
/// How often an album is looked for that may still be on its way.
const LOOKS: usize = 3;
/// After this the bot's name and its topics are asked for anew.
const RENEWED: Duration = Duration::from_hours(1);

/// How long things take.
#[derive(Debug, Clone, Copy)]
pub(in crate::channels::telegram) struct Tempo {
    /// How long Telegram waits with an empty answer.
    pub(super) wait: Duration,
    /// After the first failure; it doubles.
    pub(super) first: Duration,
    /// At most, where Telegram is not there.
    pub(super) longest: Duration,
    /// Where somebody has to do something.
    pub(super) refused: Duration,
    /// In which the rest of an album comes.
    pub(super) album: Duration,
}

impl Tempo {
    /// "Timeout in seconds for long polling": 50 is less than what routers on the way forget a connection after.
    pub(in crate::channels::telegram) const USUAL: Self = Self {
        wait: Duration::from_secs(50),
        first: Duration::from_secs(1),
        longest: Duration::from_mins(1),
        refused: Duration::from_mins(5),
        album: Duration::from_millis(700),
    };
}

/// What keeps an account receiving.
pub(in crate::channels::telegram) struct Listener {
    standing: Standing,
    tempo: Tempo,
}

/// How it goes on.
struct Going<'a> {
    client: &'a Client,
    hub: &'a dyn HubHandle,
    me: Me,
    me_since: Instant,
    place: Place,
    limit: usize,
    failures: u32,
}

impl Listener {
    pub(in crate::channels::telegram) fn new(account: &str, tempo: Tempo) -> Self {
        Self { standing: Standing::new("Telegram", account), tempo }
    }

    /// Why nothing is received, if so.
    pub(in crate::channels::telegram) fn trouble(&self) -> Option<String> {
        self.standing.trouble()
    }

    /// How the account hears.
    pub(in crate::channels::telegram) fn hearing(&self) -> Hearing {
        self.standing.hearing("receives, and after a stop what Telegram has kept (24 hours)")
    }

    /// Receives for as long as anybody waits.
    pub(in crate::channels::telegram) async fn listen(&self, client: &Client, hub: &dyn HubHandle) {
        let mut going = self.begin(client, hub).await;
        loop {
            let (offset, asked) = (going.place.offset(seconds()), Instant::now());
            match self.ask(&going, Asked { offset, limit: going.limit, wait: self.tempo.wait }).await {
                Ok(updates) => {
                    let updates = self.whole(&going, offset, updates).await;
                    let has_news = any_from(&updates, offset);
                    match going.take(updates).await {
                        Ok(()) => {
                            self.standing.receives();
                            (going.failures, going.limit) = (0, (going.limit * 2).min(LIMIT));
                            // Behind the last number that there is, the same would be asked for without end.
                            let goes_on = has_news && going.place.offset(seconds()) != offset;
                            if !goes_on {
                                // Who has nothing new waits before saying so; a server that does not is not asked at once.
                                sleep(self.tempo.first.saturating_sub(asked.elapsed())).await;
                            }
                        }
                        Err(trouble) => self.rest(hub, &mut going.failures, trouble).await,
                    }
                }
                Err(Trouble::Unreadable(_)) if going.limit > 1 => going.limit = (going.limit / 10).max(1),
                Err(Trouble::Unreadable(Some(update))) => {
                    if let Err(trouble) = going.pass_by(update).await {
                        self.rest(hub, &mut going.failures, trouble).await;
                    }
                }
                Err(trouble) => self.rest(hub, &mut going.failures, trouble).await,
            }
            going.renew().await;
        }
    }

    /// Who the bot is, and where it was.
    async fn begin<'a>(&self, client: &'a Client, hub: &'a dyn HubHandle) -> Going<'a> {
        let mut failures = 0;
        let me = loop {
            match client.me().await {
                Ok(me) => break me,
                Err(trouble) => self.rest(hub, &mut failures, trouble).await,
            }
        };
        let (place, polls) = loop {
            let stored =
                async { Ok((hub.position(place::STREAM).await?, hub.position(polls::STREAM).await?)) };
            match stored.await {
                Ok(stored) => break stored,
                Err(unavailable) => self.rest(hub, &mut failures, unwritten(unavailable)).await,
            }
        };
        client.polls.restore(&polls.unwrap_or_default());
        let place = place.map_or_else(Place::default, |stored| Place::parse(&stored));
        Going { client, hub, me, me_since: Instant::now(), place, limit: LIMIT, failures: 0 }
    }

    /// Asks for updates, and writes down meanwhile where the polls stand that are sent.
    async fn ask(&self, going: &Going<'_>, asked: Asked) -> Result<Vec<Value>, Trouble> {
        let polls: &Polls = &going.client.polls;
        let mut answer = pin!(going.client.updates(asked));
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                () = polls.noted() => {
                    let batch = Batch { positions: vec![polls.position()], ..Batch::default() };
                    // It goes with the next one as well.
                    let _ = going.hub.receive(batch).await;
                }
            }
        }
    }

    /// The same updates with the rest of the album in which they end: nothing is acknowledged yet, so all come again.
    async fn whole(&self, going: &Going<'_>, offset: Option<i64>, mut updates: Vec<Value>) -> Vec<Value> {
        for _ in 0..LOOKS {
            if album::open(&updates).is_none() || updates.len() >= going.limit {
                break;
            }
            sleep(self.tempo.album).await;
            let asked = Asked { offset, limit: going.limit, wait: Duration::ZERO };
            match going.client.updates(asked).await {
                Ok(more) if more.len() > updates.len() => updates = more,
                _ => break,
            }
        }
        if updates.len() < going.limit { updates } else { album::without_cut(updates) }
    }

    /// Says what is the matter, and waits.
    async fn rest(&self, hub: &dyn HubHandle, failures: &mut u32, trouble: Trouble) {
        let Tempo { first, longest, refused, .. } = self.tempo;
        let doubled = |longest| doubled(first, longest, *failures);
        let (kind, why, pause) = match trouble {
            Trouble::Away(why) => ("away", why, doubled(longest)),
            Trouble::Wait(why, after) => {
                let (after, why) = ordered(after, why);
                ("limited", why, after.max(first))
            }
            Trouble::Taken(why) => ("taken", why, doubled(refused)),
            Trouble::Refused(why) => ("refused", why, refused),
            Trouble::Unreadable(_) => {
                let why = "Telegram's answer cannot be read; check base_url";
                ("unreadable", why.into(), doubled(longest))
            }
        };
        self.standing.away(kind, why);
        *failures = failures.saturating_add(1);
        // Never before the time that Telegram said.
        rest(hub, kind, pause + pause.min(longest).mul_f64(chance() / 4.0)).await;
    }
}

impl Going<'_> {
    /// Writes down what came, in pieces, each with its place.
    async fn take(&mut self, updates: Vec<Value>) -> Result<(), Trouble> {
        let any = !updates.is_empty();
        let mut read: Vec<Update> =
            updates.into_iter().map(|update| update::read(&update, &self.me, &self.client.polls)).collect();
        // Each piece is written with its place: told out of order, one would have a place behind updates that are not written yet.
        read.sort_by_key(|update| update.id);
        album::merge(&mut read);
        let (mut batch, mut pressed, mut fetched, mut last) = (Batch::default(), Vec::new(), 0, None);
        let mut read = read.into_iter().peekable();
        let mut time = FileTime::usual();
        while let Some(update) = read.next() {
            last = last.max(update.id);
            pressed.extend(update.pressed);
            batch.dropped.extend(update.dropped);
            if let Some((from, to)) = update.moved {
                tracing::warn!(
                    from,
                    to,
                    "a group on Telegram has become a supergroup: name it by its new number"
                );
            }
            for event in update.events {
                fetched += event.files.len();
                let received = self.completed(event, &mut time).await;
                batch.received.push(received);
            }
            let goes_on = read.peek().is_some_and(|next| next.merged);
            let full = batch.received.len() >= EVENTS || fetched >= FILES;
            if read.peek().is_none() || full && !goes_on {
                self.write(std::mem::take(&mut batch), last, std::mem::take(&mut pressed)).await?;
                fetched = 0;
            }
        }
        match (any, last) {
            // They would come again at once, for ever.
            (true, None) => Err(Trouble::Away("the updates from Telegram have no numbers".into())),
            _ => Ok(()),
        }
    }

    /// Writes down, then answers the presses.
    async fn write(
        &mut self,
        mut batch: Batch,
        last: Option<i64>,
        pressed: Vec<String>,
    ) -> Result<(), Trouble> {
        let place = last.map_or(self.place, |last| Place::behind(last, seconds()));
        batch.positions.extend(place.position());
        batch.positions.extend(Some(self.client.polls.position()).filter(|polls| !polls.value.is_empty()));
        self.hub.receive(batch).await.map_err(unwritten)?;
        self.place = place;
        let client = self.client;
        let answer = async |id: String| client.heard_press(&id).await;
        stream::iter(pressed).for_each_concurrent(AT_ONCE, answer).await;
        Ok(())
    }

    /// Passes by an update that cannot be read.
    async fn pass_by(&mut self, update: i64) -> Result<(), Trouble> {
        let dropped = vec![Dropped { reason: DropReason::Unreadable, what: "update".into() }];
        self.write(Batch { dropped, ..Batch::default() }, Some(update), Vec::new()).await
    }

    /// An event with its files, and a vote in the words of its poll.
    async fn completed(&self, event: Read, time: &mut FileTime) -> Received {
        let Read { mut received, files, poll } = event;
        if let (Event::Vote { options }, Some(part)) = (&mut received.event, poll) {
            // As far as it is still there.
            if let Ok(Some(request)) = self.hub.request(&part).await {
                polls::spell(options, &request);
            }
        }
        let place = if files.is_empty() { None } else { self.hub.place_for_files(&received).await };
        if let Event::Message(words) | Event::Edit(words) = &mut received.event {
            for sent in &files {
                let kept = match &place {
                    Some(place) => {
                        time.fetch(place, |until| files::keep(self.client, self.hub, sent, until)).await
                    }
                    None => Err(sent.missing(NO_PLACE)),
                };
                match kept {
                    Ok(kept) => words.files.push(kept),
                    Err(why) => words.missing.push(why),
                }
            }
        }
        received
    }

    /// Asks once in a while who the bot is: its name may have changed.
    async fn renew(&mut self) {
        if self.me_since.elapsed() > RENEWED {
            self.me_since = Instant::now();
            if let Ok(me) = self.client.me().await {
                self.me = me;
            }
        }
    }
}

/// Whether there are updates from this number on.
fn any_from(updates: &[Value], offset: Option<i64>) -> bool {
    updates.iter().any(|update| update["update_id"].as_i64() >= offset)
}

fn unwritten(error: Unavailable) -> Trouble {
    Trouble::Away(format!("nothing can be written down: {error}"))
}

/// Since 1970.
fn seconds() -> i64 {
    clock::now_ms() / 1000
}
