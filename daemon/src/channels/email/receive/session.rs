//! One connection to the folder: what came meanwhile, and then each mail as it comes.

use std::convert::Infallible;

use super::{
    Incoming, Standing,
    folder::{Fetched, Folder, Listed, MAX_MAIL},
    mail::Mail,
    position::{Position, Start},
    trouble::Trouble,
};
use crate::{
    channels::{
        hub_handle::HubHandle,
        received::{self, Batch, DropReason, Dropped, Event, Received},
    },
    clock::now_ms,
};

/// Mails that are handed over together.
const TOGETHER: usize = 20;
/// Connections that may break over a mail before less of it is asked for.
const TRIES: u32 = 3;
/// And of those in which the server does nothing at all now, which says nothing of the mail: with the pauses between, an hour and a half.
const MOST_BUSY: u32 = 24;
/// How far back is looked where UIDs mean nothing any more, in milliseconds: older mail wakes nobody.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The mail over which the last connections broke.
#[derive(Debug, Default)]
pub(super) struct Stuck {
    uid: u32,
    tries: u32,
    busy: u32,
    /// Up to this one, each is listed by itself: a list of several was refused, and one of them may be why.
    alone: u32,
    /// Whether any was read or left out since the last connection.
    progress: bool,
}

impl Stuck {
    /// Before a mail is fetched: how many connections broke over it.
    fn begin(&mut self, uid: u32) -> u32 {
        if self.uid != uid {
            (self.uid, self.tries, self.busy) = (uid, 0, 0);
        }
        self.tries += 1;
        self.tries - 1
    }

    /// It was in vain.
    fn failed(&mut self, trouble: &Trouble) {
        if matches!(trouble, Trouble::Busy(_)) && self.busy < MOST_BUSY {
            self.busy += 1;
            self.tries = self.tries.saturating_sub(1);
        }
    }

    /// None does any more.
    fn over(&mut self) {
        (self.uid, self.tries, self.busy) = (0, 0, 0);
    }

    /// Whether any mail was read or left out since this was asked last.
    pub(super) fn has_progressed(&mut self) -> bool {
        std::mem::take(&mut self.progress)
    }
}

impl Incoming {
    /// Reads until something is in the way.
    pub(super) async fn converse(
        &self,
        hub: &dyn HubHandle,
        stuck: &mut Stuck,
    ) -> Result<Infallible, Trouble> {
        let stored = hub.position(&self.stream()).await?;
        let mut folder = Folder::enter(&self.place, self.tempo).await?;
        let mut last = match Start::after(stored.as_deref(), folder.validity) {
            Start::Behind(uid) => uid,
            Start::Newest => {
                self.hand_over(hub, Batch::default(), &folder, folder.newest).await?;
                folder.newest
            }
            Start::LastDay => {
                tracing::info!(
                    account = self.account,
                    "the mailbox counts anew (UIDVALIDITY): the last day's mail is read again"
                );
                let oldest = now_ms() - DAY_MS;
                // The server's day may have begun a day before ours.
                let mut uids = folder.since(&day(oldest - DAY_MS)).await?;
                let newest = folder.newest;
                uids.retain(|uid| *uid <= newest);
                self.take(hub, &mut folder, &uids, oldest, stuck).await?;
                self.hand_over(hub, Batch::default(), &folder, newest).await?;
                newest
            }
        };
        loop {
            let uids = folder.behind(last).await?;
            self.take(hub, &mut folder, &uids, i64::MIN, stuck).await?;
            last = uids.last().copied().unwrap_or(last);
            if !folder.has_news() {
                // Not before: one that lets us in and answers no search would come and go in the log.
                self.stands(Standing::Reading);
                folder = folder.wait().await?;
            }
        }
    }

    /// Takes these mails, as far as they are not older.
    async fn take(
        &self,
        hub: &dyn HubHandle,
        folder: &mut Folder,
        mut uids: &[u32],
        oldest: i64,
        stuck: &mut Stuck,
    ) -> Result<(), Trouble> {
        while let Some(first) = uids.first() {
            let together = if *first <= stuck.alone { 1 } else { TOGETHER.min(uids.len()) };
            let (some, behind) = uids.split_at(together);
            self.take_together(hub, folder, some, oldest, stuck).await?;
            stuck.progress = true;
            uids = behind;
        }
        Ok(())
    }

    /// Takes some, and moves the place behind them.
    async fn take_together(
        &self,
        hub: &dyn HubHandle,
        folder: &mut Folder,
        uids: &[u32],
        oldest: i64,
        stuck: &mut Stuck,
    ) -> Result<(), Trouble> {
        let mut batch = Batch::default();
        let last = uids.last().copied().unwrap_or_default();
        // One by itself is in question from the list on.
        let alone = (uids.len() == 1).then(|| stuck.begin(last));
        if alone.is_some_and(|broken| broken >= 2 * TRIES) {
            batch.dropped.push(not_handed_out());
            self.hand_over(hub, batch, folder, last).await?;
            stuck.over();
            return Ok(());
        }
        let listed = folder.list(uids).await.inspect_err(|trouble| {
            stuck.alone = last;
            stuck.failed(trouble);
        })?;
        for listed in listed {
            if listed.at.is_some_and(|at| at < oldest) {
                continue;
            }
            let broken = alone.unwrap_or_else(|| stuck.begin(listed.uid));
            match self.mail(hub, folder, listed, broken, stuck).await {
                Ok(Some(Ok(received))) => batch.received.push(received),
                Ok(Some(Err(dropped))) => batch.dropped.push(dropped),
                Ok(None) => {}
                Err(trouble) => {
                    stuck.failed(&trouble);
                    // Those before it need not come again.
                    let is_some = batch != Batch::default();
                    self.hand_over(hub, batch, folder, listed.uid.saturating_sub(1)).await?;
                    stuck.progress |= is_some;
                    return Err(trouble);
                }
            }
        }
        self.hand_over(hub, batch, folder, last).await
    }

    async fn hand_over(
        &self,
        hub: &dyn HubHandle,
        mut batch: Batch,
        folder: &Folder,
        uid: u32,
    ) -> Result<(), Trouble> {
        let value = Position { validity: folder.validity, uid }.to_string();
        batch.positions.push(received::Position { stream: self.stream(), value });
        Ok(hub.receive(batch).await?)
    }

    /// One mail, over which so many connections broke; nothing if it is gone.
    async fn mail(
        &self,
        hub: &dyn HubHandle,
        folder: &mut Folder,
        listed: Listed,
        broken: u32,
        stuck: &mut Stuck,
    ) -> Result<Option<Result<Received, Dropped>>, Trouble> {
        let mut missing = None;
        let mut fetched = Fetched::Larger;
        if broken >= TRIES {
            missing = Some("the text and files: the mail cannot be fetched".to_owned());
        } else if listed.size as usize <= MAX_MAIL {
            fetched = folder.whole(listed.uid).await?;
        }
        if fetched == Fetched::Larger && broken < 2 * TRIES {
            missing = missing.or_else(|| Some(too_large(listed.size)));
            fetched = folder.head(listed.uid).await?;
        }
        stuck.over();
        let bytes = match fetched {
            Fetched::Mail(bytes) => bytes,
            Fetched::Gone => return Ok(None),
            Fetched::Larger => return Ok(Some(Err(not_handed_out()))),
        };
        match Mail::read(&bytes, listed.at, &self.owner) {
            Ok(mail) => Ok(Some(Ok(completed(hub, mail, missing).await?))),
            Err(dropped) => Ok(Some(Err(dropped))),
        }
    }
}

/// A mail with its files, which the hub keeps, and with what only the hub knows.
async fn completed(
    hub: &dyn HubHandle,
    mail: Mail<'_>,
    missing: Option<String>,
) -> Result<Received, Trouble> {
    let mine = match &mail.answers {
        Some(part) => hub.request(part).await?.is_some(),
        None => false,
    };
    let (mut files, mut missing) = (Vec::new(), Vec::from_iter(missing));
    for file in mail.files() {
        match hub.keep_file(file.name.as_deref(), file.kind.as_deref(), Box::new(file.bytes)).await {
            Ok(kept) => files.push(kept),
            Err(why) => missing.push(format!("{}: {why}", file.name.as_deref().unwrap_or("a file"))),
        }
    }
    if let more @ 1.. = mail.more_files() {
        missing.push(format!("{more} more files"));
    }
    let mut received = mail.received;
    received.mentions_me |= mine;
    if let Event::Message(words) = &mut received.event {
        (words.files, words.missing) = (files, missing);
        if let Some(reply) = &mut words.reply_to {
            reply.mine = mine;
        }
    }
    Ok(received)
}

fn not_handed_out() -> Dropped {
    Dropped { reason: DropReason::Unreadable, what: "mail that the server does not hand out".to_owned() }
}

fn too_large(bytes: u32) -> String {
    const MB: usize = 1024 * 1024;
    format!("the text and files: the mail has {} MB, and {} are read", bytes as usize / MB, MAX_MAIL / MB)
}

/// A day as SEARCH has it, `1-Feb-2026` (RFC 3501 §9, date).
fn day(ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    at.strftime("%-d-%b-%Y").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_spelt_as_imap_has_it() {
        assert_eq!(day(0), "1-Jan-1970");
        assert_eq!(day(1_795_000_000_000), "18-Nov-2026");
    }
}
