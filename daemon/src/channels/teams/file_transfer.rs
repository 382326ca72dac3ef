//! Handing over a file that was accepted: its bytes into the person's OneDrive, then a card that shows it there.
//!
//! Answers come by the hub's HTTP interface, one by one, and wait here for their turn. Only what the stored request says goes
//! anywhere: the answer of a part that is no offer, or of another conversation, is nobody's. A part is handed over once, for
//! as long as this hub runs and remembers it; whoever accepts once more after that gets the file once more. What became of it
//! is told to the message's agent.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use serde::Deserialize as _;
use tokio::sync::mpsc;

use super::{
    client::{Client, open},
    consent::{Answer, Room},
    request::Request,
};
use crate::{
    channels::{Failure, callback::CallbackRefused, hub_handle::HubHandle},
    files::kept::Kept,
    message::form::Entry,
};

/// Answers that wait; whoever gives one more is told to try again.
const MOST: usize = 32;
/// Files that are on their way at once.
const AT_ONCE: usize = 3;
/// Before each further attempt to upload.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];
/// How often OneDrive may say when to come back, and how late that may be: a file on its way keeps another waiting.
const WAITS: usize = 5;
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// Parts that are remembered as handed over.
const REMEMBERED: usize = 512;

/// Where answers wait.
pub(super) struct FileTransfer {
    endpoint: mpsc::Sender<Answer>,
    /// Until somebody works on them.
    waiting: Mutex<Option<mpsc::Receiver<Answer>>>,
    /// Parts that are handed over, or on their way.
    taken: Mutex<VecDeque<String>>,
}

impl Default for FileTransfer {
    fn default() -> Self {
        let (endpoint, waiting) = mpsc::channel(MOST);
        Self { endpoint, waiting: Mutex::new(Some(waiting)), taken: Mutex::default() }
    }
}

impl FileTransfer {
    /// Puts an answer where it is worked on.
    pub(super) fn put(&self, answer: Answer) -> Result<(), CallbackRefused> {
        self.endpoint.try_send(answer).map_err(|_| CallbackRefused::Busy)
    }

    /// Works on answers, for as long as there may be any.
    pub(super) async fn work(&self, client: &Client, kept: &Kept, hub: &dyn HubHandle) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut waiting) = waiting else { return };
        stream::poll_fn(|context| waiting.poll_recv(context))
            .for_each_concurrent(AT_ONCE, |answer| self.settle(client, kept, hub, answer))
            .await;
    }

    async fn settle(&self, client: &Client, kept: &Kept, hub: &dyn HubHandle, answer: Answer) {
        let offered = match hub.request(&answer.key).await {
            Ok(request) => request.and_then(|request| Request::deserialize(&request).ok()),
            Err(why) => {
                tracing::warn!(%why, "a file that was accepted or declined on Teams stays as it was offered");
                return;
            }
        };
        let Some(Request::Offer { conversation, name, file, .. }) =
            offered.filter(|request| request.is_offered_in(&answer.conversation))
        else {
            tracing::info!(
                "somebody answered to a file on Teams that this hub has not offered, or not any more"
            );
            return;
        };
        let mut values = BTreeMap::from([(
            "answer".to_owned(),
            if answer.room.is_some() { "accepted" } else { "declined" }.to_owned(),
        )]);
        if let Some(room) = &answer.room {
            if !self.take(&answer.key.0) {
                return;
            }
            let handed = hand_over(client, kept, &conversation, &file, room).await;
            if let Err(why) = &handed {
                tracing::warn!(%why, "a file that was accepted on Teams was not handed over");
                self.give_back(&answer.key.0);
            }
            let became = handed.unwrap_or_else(|why| format!("not handed over: {why}"));
            values.insert("file".into(), became);
        }
        let entry = Entry { form: name, by: answer.by, name: answer.who, message: None, values };
        if hub.entered(&answer.key, &answer.id, entry).await.is_err() {
            tracing::warn!("nobody is told what became of a file that was offered on Teams");
        }
    }

    /// Whether nobody hands this part over, or has.
    fn take(&self, key: &str) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let free = !taken.iter().any(|one| one == key);
        if free {
            if taken.len() >= REMEMBERED {
                taken.pop_front();
            }
            taken.push_back(key.to_owned());
        }
        free
    }

    fn give_back(&self, key: &str) {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).retain(|one| one != key);
    }
}

/// Says what became of it, once its bytes are there: they stay there, whatever becomes of the card.
async fn hand_over(
    client: &Client,
    kept: &Kept,
    conversation: &str,
    file: &str,
    room: &Room,
) -> Result<String, Failure> {
    if !room.is_onedrive(client.tried_out_at()) {
        return Err(Failure::Permanent("Teams named a place that is not in anybody's OneDrive".into()));
    }
    let (mut pauses, mut waits) = (PAUSES.iter(), 0..WAITS);
    loop {
        let checked = open(file, kept).await?;
        // The same bytes at the same place: once more does no harm.
        let pause = match client.upload(&room.upload, checked).await {
            Ok(()) => break,
            Err(Failure::Wait { after, .. }) if after <= LONGEST_WAIT && waits.next().is_some() => after,
            Err(failure @ (Failure::Permanent(_) | Failure::Wait { .. })) => return Err(failure),
            Err(failure) => match pauses.next() {
                Some(pause) => *pause,
                None => return Err(failure),
            },
        };
        tokio::time::sleep(pause).await;
    }
    Ok(match client.show(conversation, &room.handed_over()).await {
        Ok(()) => "handed over".into(),
        Err(why) => format!("handed over, but no card shows it in the conversation: {why}"),
    })
}
