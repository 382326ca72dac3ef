//! What people write to the account: a folder of a mailbox, over IMAP (RFC 3501), in which the server tells of new mail (IDLE, RFC 2177).
//!
//! How far it was read is a [`position`], stored with the mails; the mailbox's flags are people's, and stay as they are. The first
//! connection begins with the newest mail: what was there before engages nobody. Where three connections broke over a mail, its head
//! alone is asked for, and after three more it is counted and left out: no other mail waits for it longer.
//!
//! - [`mail`]: one mail, as bytes, which `author`, `trust`, `words` and `html` read;
//! - [`folder`]: a folder, over a [`connection`], by commands and their [`answer`]s; [`trouble`]: why not;
//! - [`session`]: one connection, from its first command to its end;
//! - here: what an account has, and what follows an end.

mod answer;
mod author;
mod connection;
mod folder;
mod html;
mod mail;
mod message_id;
#[cfg(test)]
mod mock;
mod position;
mod quoted;
mod session;
#[cfg(test)]
mod tests;
mod trouble;
mod trust;
mod words;

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

pub use self::author::Owner;
pub(super) use self::connection::trust;
use self::{
    folder::{Folder, Place},
    mail::Mail,
    session::Stuck,
    trouble::Trouble,
};
use super::submission::{Login, Security};
use crate::channels::{
    hub_handle::HubHandle,
    kit::pause::pause,
    received::{Dropped, Received},
    receiver::Hearing,
};

/// IMAP over TLS, RFC 8314 §3.2.
const IMAPS: u16 = 993;
/// IMAP with STARTTLS, RFC 3501 §2.1.
const IMAP: u16 = 143;

/// Reads a mail, as bytes, without its files.
///
/// # Errors
/// It cannot be read, or nobody could be answered.
pub fn read(bytes: &[u8], owner: &Owner) -> Result<Received, Dropped> {
    Mail::read(bytes, None, owner).map(|mail| mail.received)
}

/// How fast things go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tempo {
    /// For each of a host's addresses.
    pub(super) address: Duration,
    /// For each command.
    pub(super) step: Duration,
    /// For a block of a mail: 256 KiB, over a slow line.
    pub(super) block: Duration,
    /// Between two searches while the server tells of what is new.
    pub(super) search: Duration,
    /// Between two searches where it does not.
    pub(super) poll: Duration,
    /// Before the second connection; it doubles.
    pub(super) first: Duration,
    /// At most.
    pub(super) longest: Duration,
    /// Where somebody has to do something: providers lock out who comes often with a wrong password.
    pub(super) refused: Duration,
    /// A connection that lasted this long was a good one.
    pub(super) good: Duration,
}

impl Tempo {
    /// As it should be.
    pub(super) const USUAL: Self = Self {
        address: Duration::from_secs(10),
        step: Duration::from_secs(30),
        block: Duration::from_mins(2),
        // A router that has forgotten the connection tells neither side: nothing comes until something is asked.
        search: Duration::from_mins(5),
        poll: Duration::from_mins(1),
        first: Duration::from_secs(2),
        longest: Duration::from_mins(5),
        refused: Duration::from_mins(15),
        good: Duration::from_mins(1),
    };
}

/// How reading stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Standing {
    /// It has not begun: the hub does not run.
    Idle,
    /// New mail is seen.
    Reading,
    /// Not now.
    Away(Trouble),
}

/// What is set in the configuration.
pub(super) struct Settings {
    pub(super) host: String,
    pub(super) port: Option<u16>,
    pub(super) security: Security,
    pub(super) login: Login,
    pub(super) folder: String,
    pub(super) authority: Option<Vec<u8>>,
}

/// An account's folder.
pub(super) struct Incoming {
    account: String,
    place: Place,
    owner: Owner,
    tempo: Tempo,
    standing: Mutex<Standing>,
}

impl Incoming {
    /// One that is not read yet.
    ///
    /// # Errors
    /// The settings do not go together, in words for who wrote them.
    pub(super) fn new(account: &str, settings: Settings, owner: Owner, tempo: Tempo) -> Result<Self, String> {
        let Settings { host, port, security, login, folder, authority } = settings;
        let name = host
            .clone()
            .try_into()
            .map_err(|_| format!("imap_host: {host:?} is neither a host name nor an IP address"))?;
        if folder.is_empty() || folder.contains(char::is_control) {
            return Err("folder: name a folder of the mailbox, such as INBOX".into());
        }
        let port = port.unwrap_or(match security {
            Security::Implicit => IMAPS,
            Security::Starttls => IMAP,
        });
        let tls = trust(authority.as_deref())?;
        let place = Place { host, port, security, name, tls, login, folder };
        Ok(Self { account: account.into(), place, owner, tempo, standing: Mutex::new(Standing::Idle) })
    }

    /// What it is called where its position is stored: the same folder, whichever name its server has.
    fn stream(&self) -> String {
        format!("{}/{}", self.place.login.user, self.place.folder)
    }

    /// Reads for as long as the hub runs.
    pub(super) async fn listen(&self, hub: &dyn HubHandle) {
        let (mut failures, mut stuck) = (0, Stuck::default());
        loop {
            let begun = tokio::time::Instant::now();
            let Err(trouble) = self.converse(hub, &mut stuck).await;
            // What was read before it broke, or passed over, need not be asked for again.
            if stuck.has_progressed() || begun.elapsed() > self.tempo.good {
                failures = 0;
            }
            let pause = match trouble {
                Trouble::Refused(_) => self.tempo.refused,
                Trouble::Away(_) | Trouble::Busy(_) | Trouble::Hub => {
                    pause(self.tempo.first, self.tempo.longest, failures)
                }
            };
            self.stands(Standing::Away(trouble));
            hub.rest(pause).await;
            failures += 1;
        }
    }

    /// Notes how it stands, and logs where that is another thing than before.
    fn stands(&self, now: Standing) {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = |standing: &Standing| match standing {
            Standing::Idle => 0,
            Standing::Reading => 1,
            Standing::Away(Trouble::Away(_) | Trouble::Busy(_)) => 2,
            Standing::Away(Trouble::Refused(_)) => 3,
            Standing::Away(Trouble::Hub) => 4,
        };
        if kind(&standing) != kind(&now) {
            let (account, server, folder) = (&self.account, self.place.server(), &self.place.folder);
            match &now {
                Standing::Idle | Standing::Reading => tracing::info!(account, server, folder, "mail is read"),
                Standing::Away(why) => tracing::warn!(account, server, folder, %why, "mail is not read"),
            }
        }
        *standing = now;
    }

    /// How it stands, for people. Before the hub runs it is tried.
    pub(super) async fn said(&self) -> String {
        let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let trouble = match standing {
            Standing::Reading => None,
            Standing::Away(why) => Some(why),
            Standing::Idle => {
                match tokio::time::timeout(LONGEST_TRY, Folder::enter(&self.place, self.tempo)).await {
                    Ok(Ok(folder)) => {
                        // Nobody waits for the farewell.
                        tokio::spawn(folder.leave());
                        None
                    }
                    Ok(Err(why)) => Some(why),
                    Err(_) => Some(Trouble::silent(LONGEST_TRY)),
                }
            }
        };
        self.heard_of(trouble).standing
    }

    /// How the account hears.
    pub(super) fn hearing(&self) -> Hearing {
        let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match standing {
            // Unlike a try, this says nothing of the server.
            Standing::Idle => Hearing { ready: true, standing: "begins to read mail".into() },
            Standing::Reading => self.heard_of(None),
            Standing::Away(why) => self.heard_of(Some(why)),
        }
    }

    fn heard_of(&self, trouble: Option<Trouble>) -> Hearing {
        let (folder, server) = (&self.place.folder, self.place.server());
        let trouble = trouble.map(|why| format!("reads no mail at {server}: {why}"));
        Hearing::of(trouble, format!("reads {folder} at {server}"))
    }
}

/// For a try beside the question whether mail can be sent, which has ten seconds in all.
const LONGEST_TRY: Duration = Duration::from_secs(4);
