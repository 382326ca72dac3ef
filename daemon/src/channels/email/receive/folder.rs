//! A folder as its server shows it, over one connection. It is opened to be read (EXAMINE, RFC 3501 §6.3.2) and mails are fetched by
//! PEEK: what is new to the person who reads the same mailbox stays new.
//!
//! Every command has its time and a bound on its answer. A mail comes in blocks, so that no answer is longer than one.

use std::{sync::Arc, time::Duration};

use async_imap::{
    Session, error::Error, extensions::idle::IdleResponse, imap_proto::Response, types::UnsolicitedResponse,
};
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::time::timeout;

use super::{
    Tempo,
    answer::{self, asked},
    connection::{self, Allowance, Bounded},
    trouble::{Trouble, is_for_now, said},
};
use crate::channels::email::submission::{Login, Security, dial};

/// The largest mail that is read whole, in bytes.
pub(super) const MAX_MAIL: usize = 25 * 1024 * 1024;
/// The most of a mail's head that is read without the rest, in bytes.
const MAX_HEAD: usize = 64 * 1024;
/// Bytes of a mail that are asked for at once.
const BLOCK: usize = 256 * 1024;
/// The longest answer to anything but a fetched mail, in bytes: a search that finds half a million.
const MAX_ANSWER: u64 = 4 * 1024 * 1024;

/// Where a folder is, and who may read it.
pub(super) struct Place {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: Security,
    pub(super) name: ServerName<'static>,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) login: Login,
    pub(super) folder: String,
}

/// The folder.
pub(super) struct Folder {
    session: Session<Bounded>,
    allowance: Allowance,
    tempo: Tempo,
    /// Mails in it, as far as is known.
    exists: u32,
    /// How many there are, as an answer has told since.
    told: Option<u32>,
    /// Whether the server tells of what is new.
    idles: bool,
    /// The UIDs hold as long as this stays.
    pub(super) validity: u32,
    /// The highest UID when it was opened.
    pub(super) newest: u32,
}

/// What the server says of a mail before it is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) uid: u32,
    pub(super) size: u32,
    /// When the server got it, in milliseconds since 1970.
    pub(super) at: Option<i64>,
}

/// A mail, or why not.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fetched {
    Mail(Vec<u8>),
    /// Somebody deleted it meanwhile.
    Gone,
    /// It is larger than is read.
    Larger,
}

impl Place {
    /// Its server, for people.
    pub(super) fn server(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// What a login that failed means.
    fn refused(&self, error: Error) -> Trouble {
        let answer = match error {
            Error::No(answer) | Error::Bad(answer) => answer,
            error => return error.into(),
        };
        let password = self.login.password.now();
        let for_now = is_for_now(&answer);
        let said = said(&answer, Some(password.expose()));
        if for_now {
            Trouble::Away(format!("it takes no login now: {said}"))
        } else if self.login.password.renewed() {
            Trouble::Away(format!(
                "it refused the login: {said}; there is a new password, with which it goes again"
            ))
        } else {
            Trouble::Refused(format!(
                "it refused the login: {said}; check imap_user and imap_password (many services want an app password here)"
            ))
        }
    }
}

/// Does this within its time and its bound.
async fn step<T, E>(
    allowance: &Allowance,
    bytes: u64,
    within: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, Trouble>
where
    Trouble: From<E>,
{
    allowance.grant(bytes);
    match timeout(within, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(Trouble::silent(within)),
    }
}

impl Folder {
    /// Connects, logs in and opens it.
    pub(super) async fn enter(place: &Place, tempo: Tempo) -> Result<Self, Trouble> {
        let allowance = Allowance::default();
        let opened = async {
            let stream = dial(&place.host, place.port, tempo.address).await.map_err(|error| {
                Trouble::Away(format!("it cannot be reached: {error}; check imap_host and imap_port"))
            })?;
            connection::open(stream, place.security, place.name.clone(), place.tls.clone(), allowance.clone())
                .await
        };
        let client = step(&allowance, MAX_ANSWER, tempo.step, opened).await?;
        let password = place.login.password.now();
        let login = async {
            let entered = client.login(&place.login.user, password.expose()).await;
            entered.map_err(|(error, _)| place.refused(error))
        };
        let mut session = step(&allowance, MAX_ANSWER, tempo.step, login).await?;
        let can = step(&allowance, MAX_ANSWER, tempo.step, session.capabilities()).await?;
        if can.has_str("ID") {
            // RFC 2971. Some servers show nothing to who does not say it; one that does not like it may stay without.
            let named = session.id([("name", Some("Gatepost"))]);
            let _ = step(&allowance, MAX_ANSWER, tempo.step, named).await;
        }
        let examined = async {
            session.examine(&place.folder).await.map_err(|error| match error {
                Error::No(answer) => {
                    let said = said(&answer, Some(password.expose()));
                    Trouble::Refused(format!("it does not open {:?}: {said}; check folder", place.folder))
                }
                error => error.into(),
            })
        };
        let seen = step(&allowance, MAX_ANSWER, tempo.step, examined).await?;
        let validity = seen.uid_validity.ok_or_else(|| {
            Trouble::Refused(
                "it gives its mails no lasting numbers (UIDVALIDITY), by which they could be told apart"
                    .into(),
            )
        })?;
        let (exists, idles) = (seen.exists, can.has_str("IDLE"));
        let mut folder = Self { session, allowance, tempo, exists, told: None, idles, validity, newest: 0 };
        folder.newest = match seen.uid_next {
            Some(next) => next.saturating_sub(1),
            None if exists == 0 => 0,
            None => folder.found("*").await?.into_iter().next_back().unwrap_or(0),
        };
        Ok(folder)
    }

    async fn found(&mut self, query: &str) -> Result<Vec<u32>, Trouble> {
        let command = format!("UID SEARCH {query}");
        let search = asked(&mut self.session, &mut self.told, &command, answer::uids);
        let mut uids = step(&self.allowance, MAX_ANSWER, self.tempo.step, search).await?;
        uids.sort_unstable();
        uids.dedup();
        Ok(uids)
    }

    /// The UIDs that are higher, lowest first.
    pub(super) async fn behind(&mut self, uid: u32) -> Result<Vec<u32>, Trouble> {
        let Some(next) = uid.checked_add(1) else { return Ok(Vec::new()) };
        let mut uids = self.found(&format!("UID {next}:*")).await?;
        // `*` is the highest there is, which may be lower (RFC 3501 §6.4.8).
        uids.retain(|found| *found > uid);
        Ok(uids)
    }

    /// The UIDs of what came on this day, such as `1-Feb-2026`, or later, lowest first.
    pub(super) async fn since(&mut self, day: &str) -> Result<Vec<u32>, Trouble> {
        self.found(&format!("SINCE {day}")).await
    }

    /// What the server says of these mails, in their order; nothing of those that are gone.
    pub(super) async fn list(&mut self, uids: &[u32]) -> Result<Vec<Listed>, Trouble> {
        let command = format!("UID FETCH {} (UID RFC822.SIZE INTERNALDATE)", set(uids));
        let read = |answer: &Response<'_>| Vec::from_iter(answer::listed(answer));
        let listing = asked(&mut self.session, &mut self.told, &command, read);
        let mut listed = step(&self.allowance, MAX_ANSWER, self.tempo.step, listing).await?;
        listed.retain(|mail| uids.contains(&mail.uid));
        listed.sort_unstable_by_key(|mail| mail.uid);
        listed.dedup_by_key(|mail| mail.uid);
        let is_listed = |uid: &u32| listed.iter().any(|mail| mail.uid == *uid);
        let missing: Vec<u32> = uids.iter().filter(|uid| !is_listed(uid)).copied().collect();
        // Somebody deleted them between, and not the server that says nothing of one.
        if !missing.is_empty() {
            let there = self.found(&format!("UID {}", set(&missing))).await?;
            if there.iter().any(|uid| missing.contains(uid)) {
                return Err(Trouble::Away("it says nothing of a mail that it has".into()));
            }
        }
        Ok(listed)
    }

    /// A mail, all of it.
    pub(super) async fn whole(&mut self, uid: u32) -> Result<Fetched, Trouble> {
        let mut mail = Vec::new();
        loop {
            let query = format!("(UID BODY.PEEK[]<{}.{BLOCK}>)", mail.len());
            let block = match self.block(uid, &query).await? {
                Fetched::Mail(block) => block,
                // Behind its end some servers have nothing to say.
                Fetched::Gone if !mail.is_empty() => return Ok(Fetched::Mail(mail)),
                _ => return self.gone(uid).await,
            };
            if mail.len() + block.len() > MAX_MAIL {
                return Ok(Fetched::Larger);
            }
            mail.extend_from_slice(&block);
            if block.len() != BLOCK {
                return Ok(Fetched::Mail(mail));
            }
        }
    }

    /// A mail's head.
    pub(super) async fn head(&mut self, uid: u32) -> Result<Fetched, Trouble> {
        let query = format!("(UID BODY.PEEK[HEADER]<0.{MAX_HEAD}>)");
        match self.block(uid, &query).await? {
            Fetched::Gone => self.gone(uid).await,
            head => Ok(head),
        }
    }

    /// Nothing came of a mail: it is gone, or else the server did not hand it out, and may the next time.
    async fn gone(&mut self, uid: u32) -> Result<Fetched, Trouble> {
        match self.list(&[uid]).await?.is_empty() {
            true => Ok(Fetched::Gone),
            false => Err(Trouble::Away("it does not hand out a mail".into())),
        }
    }

    async fn block(&mut self, uid: u32, items: &str) -> Result<Fetched, Trouble> {
        let command = format!("UID FETCH {uid} {items}");
        let read = |answer: &Response<'_>| Vec::from_iter(answer::block(answer, uid));
        let fetching = asked(&mut self.session, &mut self.told, &command, read);
        let blocks = step(&self.allowance, BLOCK as u64 + MAX_ANSWER, self.tempo.block, fetching).await?;
        Ok(blocks.into_iter().next().map_or(Fetched::Gone, Fetched::Mail))
    }

    /// Whether the server has told of other mails than there were.
    pub(super) fn has_news(&mut self) -> bool {
        let mut told = self.told.take();
        while let Ok(other) = self.session.unsolicited_responses.try_recv() {
            if let UnsolicitedResponse::Exists(exists) = other {
                told = Some(exists);
            }
        }
        let before = self.exists;
        self.exists = told.unwrap_or(before);
        self.exists != before
    }

    /// Waits until something may be new: until the server says so, and no longer than a search should wait (RFC 2177: IDLE is to be
    /// renewed within 29 min).
    pub(super) async fn wait(self) -> Result<Self, Trouble> {
        let Self { session, allowance, tempo, exists, told: _, idles, validity, newest } = self;
        if !idles {
            tokio::time::sleep(tempo.poll).await;
            return Ok(Self { session, allowance, tempo, exists, told: None, idles, validity, newest });
        }
        let unsolicited = session.unsolicited_responses.clone();
        let mut idle = session.idle();
        step(&allowance, MAX_ANSWER, tempo.step, idle.init()).await?;
        // What came between the last search and here, it tells before it waits.
        if unsolicited.is_empty() {
            allowance.grant(MAX_ANSWER);
            // It ends when the second is dropped.
            let (waiting, _waits) = idle.wait_with_timeout(tempo.search);
            match timeout(tempo.search, waiting).await {
                Ok(Ok(IdleResponse::ManualInterrupt)) => return Err(Error::ConnectionLost.into()),
                Ok(Err(error)) => return Err(error.into()),
                Ok(Ok(IdleResponse::NewData(_) | IdleResponse::Timeout)) | Err(_) => {}
            }
        }
        // A connection that nobody is at the end of any more is found out here.
        let session = step(&allowance, MAX_ANSWER, tempo.step, idle.done()).await?;
        Ok(Self { session, allowance, tempo, exists, told: None, idles, validity, newest })
    }

    /// Says goodbye.
    pub(super) async fn leave(mut self) {
        let _ = step(&self.allowance, MAX_ANSWER, self.tempo.step, self.session.logout()).await;
    }
}

/// UIDs, as a command has them.
fn set(uids: &[u32]) -> String {
    uids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
