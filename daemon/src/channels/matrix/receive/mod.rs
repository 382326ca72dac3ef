//! What people write to the account, read by long polling.
//!
//! The homeserver keeps one question (`/sync`) until somebody writes, and answers with a position behind which the next question
//! goes on. The position is written down together with what was read before it; asking with it is the acknowledgement. So a kill at
//! any moment repeats an answer and loses none.
//!
//! Read [`session`] first. Reading is apart from the connection, and asks nobody:
//!
//! - `answer`, `event`: an answer cut into rooms and events;
//! - `known`: what events are about that refer to others;
//! - `read`, `words`, `rooms`: an event as what the hub receives.
//!
//! Asking is in `questions`, `gap` and `files`; `signs` shows others that the account is writing, or has read. End-to-end encryption
//! is left out: an encrypted event is counted and goes no further.

mod answer;
mod event;
mod files;
mod gap;
mod known;
mod questions;
mod read;
mod receipts;
mod rooms;
mod session;
mod signs;
#[cfg(test)]
mod tests;
mod words;

use std::{
    collections::HashSet,
    sync::{Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

pub(super) use self::signs::TYPING;
use self::{
    answer::SyncAnswer,
    known::{Fact, Known},
    questions::Trouble,
    read::{Place, before_joining, invited},
    rooms::{Rooms, names},
    session::Session,
};
use super::{client::Client, target::is_person};
use crate::channels::{
    Failure,
    hub_handle::HubHandle,
    kit::{
        in_time::STRANGERS,
        pause::{ordered, pause},
        rest::{kind_by, rest},
    },
    received::{Batch, Position},
    receiver::Hearing,
};

/// How fast things are tried again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tempo {
    /// After the first failure; it doubles.
    pub(super) first: Duration,
    /// At most.
    pub(super) longest: Duration,
    /// How often a refused token is looked at: it may have been replaced.
    pub(super) look: Duration,
    /// For the files of people who are not known, of all that one answer tells.
    pub(super) strangers: Duration,
}

impl Tempo {
    pub(super) const USUAL: Self = Self {
        first: Duration::from_secs(1),
        longest: Duration::from_mins(5),
        look: Duration::from_mins(1),
        strangers: STRANGERS,
    };
}

/// How reading stands.
#[derive(Debug)]
enum Standing {
    /// It has not begun, or it goes on.
    Well,
    /// Nothing is read since then, for this reason.
    Away(Instant, String),
}

/// The receiving of an account.
pub(super) struct Receiving {
    pub(super) account: String,
    on: bool,
    tempo: Tempo,
    join_from: HashSet<String>,
    standing: Mutex<Standing>,
    /// The account's own id, once the homeserver has said it.
    me: OnceLock<String>,
}

impl Receiving {
    /// As the settings say.
    ///
    /// # Errors
    /// Somebody whose invitations are to be accepted is no user.
    pub(super) fn new(account: &str, on: bool, join_from: Vec<String>, tempo: Tempo) -> Result<Self, String> {
        if let Some(user) = join_from.iter().find(|user| !is_person(user)) {
            return Err(format!("join_invites_from: {user:?} is no user: write @NAME:SERVER"));
        }
        let (join_from, standing) = (join_from.into_iter().collect(), Mutex::new(Standing::Well));
        Ok(Self { account: account.to_owned(), on, tempo, join_from, standing, me: OnceLock::new() })
    }

    /// Whether a room is entered because this user asks.
    fn joins_with(&self, user: &str) -> bool {
        self.join_from.contains(user)
    }

    /// What there is to say of it to who asks whether the account is ready.
    pub(super) fn trouble(&self) -> Option<String> {
        match &*self.standing.lock().unwrap_or_else(PoisonError::into_inner) {
            Standing::Well => None,
            Standing::Away(since, why) => {
                Some(format!("nothing is received for {} seconds: {why}", since.elapsed().as_secs()))
            }
        }
    }

    /// How the account hears, if it does.
    pub(super) fn hearing(&self) -> Option<Hearing> {
        let well = "receives, and after a stop what the homeserver has kept";
        self.on.then(|| Hearing::of(self.trouble(), well))
    }

    /// The account's own id. The homeserver is asked once: a new token is the same account's.
    async fn own_id(&self, client: &Client) -> Result<String, Trouble> {
        if let Some(me) = self.me.get() {
            return Ok(me.clone());
        }
        let me = client.own_id().await?;
        Ok(self.me.get_or_init(|| me).clone())
    }

    /// Shows in a room that the account is writing.
    pub(super) async fn show_typing(&self, client: &Client, room: &str) {
        if let Ok(me) = self.own_id(client).await {
            client.show_typing(room, &me).await;
        }
    }

    /// Reads for as long as the hub runs.
    pub(super) async fn keep(&self, client: &Client, hub: &dyn HubHandle) {
        if !self.on {
            return;
        }
        let (mut session, mut anew, mut failures) = (None::<Session<'_>>, false, 0);
        loop {
            let step = match &mut session {
                Some(session) => session.step().await.map(|()| true),
                // Only an answer behind a position shows that it goes well.
                None => Session::begin(client, hub, self, anew).await.map(|begun| {
                    session = Some(begun);
                    false
                }),
            };
            let trouble = match step {
                Ok(true) => {
                    failures = 0;
                    self.is_well();
                    continue;
                }
                Ok(false) => {
                    anew = false;
                    continue;
                }
                Err(trouble) => trouble,
            };
            let trouble = match trouble {
                Trouble::Wait(why, after) => {
                    let (after, why) = ordered(after, why);
                    Trouble::Wait(why, after)
                }
                other => other,
            };
            self.is_away(&trouble);
            let at_least = match trouble {
                Trouble::Refused(_) => {
                    self.new_token(client, hub).await;
                    session = None;
                    continue;
                }
                Trouble::Anew(_) => {
                    (session, anew) = (None, true);
                    Duration::ZERO
                }
                Trouble::Wait(_, after) => after,
                Trouble::Broken(_) | Trouble::TooLong | Trouble::Hub => Duration::ZERO,
            };
            rest(hub, kind_by(at_least), at_least.max(self.pause(failures))).await;
            failures += 1;
        }
    }

    /// Waits until there is another token. The homeserver is not asked: it has said no.
    async fn new_token(&self, client: &Client, hub: &dyn HubHandle) {
        loop {
            hub.rest(self.tempo.look).await;
            if matches!(client.http.refused(String::new()), Failure::Retry(_)) {
                return;
            }
        }
    }

    /// How long to wait after so many failures.
    fn pause(&self, failures: u32) -> Duration {
        pause(self.tempo.first, self.tempo.longest, failures)
    }

    fn is_well(&self) {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Standing::Away(since, _) = &*standing {
            let seconds = since.elapsed().as_secs();
            tracing::info!(account = self.account, seconds, "what people write is read again");
        }
        *standing = Standing::Well;
    }

    /// One line when it begins; an expired position and a refused token have one of their own, for each wants something else.
    fn is_away(&self, trouble: &Trouble) {
        let (account, why) = (&self.account, trouble.to_string());
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        match (&*standing, trouble) {
            (_, Trouble::Refused(_)) => {
                tracing::error!(
                    account,
                    why,
                    "nothing is received any more: the homeserver refuses the token"
                );
            }
            (_, Trouble::Anew(_)) => {
                tracing::warn!(
                    account,
                    why,
                    "receiving begins anew: what was written since the last answer is lost"
                );
            }
            (Standing::Well, _) => tracing::warn!(account, why, "nothing is received for now"),
            (Standing::Away(..), _) => {}
        }
        let since = match &*standing {
            Standing::Away(since, _) => *since,
            Standing::Well => Instant::now(),
        };
        *standing = Standing::Away(since, why);
    }
}

/// Reads an answer of `/sync` for the user `me` without asking anybody: what refers to events that are not in the answer itself is
/// read as far as that goes, and files are left out. Nothing where it is no answer.
pub fn read(answer: &[u8], me: &str) -> Option<Batch> {
    let answer = SyncAnswer::read(&String::from_utf8_lossy(answer), me)?;
    let position = Position { stream: session::STREAM.to_owned(), value: answer.next_batch };
    let mut batch = Batch { positions: vec![position], dropped: answer.dropped, ..Batch::default() };
    let (mut rooms, mut known) = (Rooms::default(), Known::default());
    for mut room in answer.rooms {
        rooms.learn(&room);
        batch.dropped.extend(before_joining(&mut room.timeline, me, false));
        for event in room.timeline.iter().flatten() {
            known.note(&room.id, &event.id, Some(Fact::of(event)));
        }
        let conversation = rooms.conversation(&room.id);
        let names = names(room.state.iter().chain(room.timeline.iter().flatten()));
        let place = Place { me, conversation: &conversation, names: &names, known: &known };
        for event in room.timeline {
            match event.and_then(|event| place.read(&event)) {
                Ok(read) => batch.received.push(read.received),
                Err(dropped) => batch.dropped.push(dropped),
            }
        }
    }
    batch.received.extend(answer.invitations.iter().map(invited));
    Some(batch)
}
