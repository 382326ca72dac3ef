//! To whom a heartbeat's text goes. There is one answer or none: an agent that is not known to have spoken with an owner speaks to
//! nobody, and never to a group that it happens to be in.

use std::fmt;

use rusqlite::{Connection, params};

use super::goal::Goal;
use crate::{
    channels::account::NoAccount,
    message::target::Target,
    people::{People, user_id, users},
    pipeline::Pipeline,
    policy::Scope,
    sessions::place::Place,
    store::StoreError,
};

/// How many conversations back an owner is looked for.
const MAX_LOOKED_AT: u32 = 500;

/// Somebody whom a heartbeat's text is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipient {
    /// As the operator wrote it.
    Written {
        /// The target.
        to: String,
        /// Its channel.
        channel: String,
        /// The hub's account, if the operator names one.
        account: Option<String>,
    },
    /// The conversation that was found.
    Found(Place),
}

impl Recipient {
    /// The channel.
    pub fn channel(&self) -> &str {
        match self {
            Self::Written { channel, .. } => channel,
            Self::Found(place) => &place.channel,
        }
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Written { to, .. } => f.write_str(to),
            Self::Found(Place { channel, address, thread, .. }) => {
                let target =
                    Target { channel: channel.clone(), address: address.clone(), thread: thread.clone() };
                target.fmt(f)
            }
        }
    }
}

/// Whom a text is for, and how the hub knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipients {
    /// At most one today.
    pub recipients: Vec<Recipient>,
    /// Where they come from, or why there are none.
    pub source: &'static str,
}

/// The configuration names it.
pub const CONFIGURED: &str = "the configuration names it";
/// The last direct conversation with an owner.
pub const LAST: &str = "the last direct conversation with an owner";
/// There is no such conversation.
pub const NO_HISTORY: &str = "no owner has written to this agent in a direct conversation yet";
/// The operator wants none.
pub const NOBODY: &str = "the configuration names nobody: target = \"none\"";

/// Whom the text of an agent's heartbeat is for.
///
/// # Errors
/// The database.
pub fn resolve_recipients(
    db: &Connection,
    agent: &str,
    goal: &Goal,
    account: Option<&str>,
    people: &People,
) -> Result<Recipients, StoreError> {
    Ok(match goal {
        Goal::Nobody => Recipients { recipients: vec![], source: NOBODY },
        Goal::Target { to, channel } => {
            let account = account.map(str::to_owned);
            let recipient = Recipient::Written { to: to.clone(), channel: channel.clone(), account };
            Recipients { recipients: vec![recipient], source: CONFIGURED }
        }
        Goal::Last => match last_with_an_owner(db, agent, account, people)? {
            Some(place) => Recipients { recipients: vec![Recipient::Found(place)], source: LAST },
            None => Recipients { recipients: vec![], source: NO_HISTORY },
        },
    })
}

/// The direct conversation in which somebody wrote to the agent last who was an owner then and is one now.
fn last_with_an_owner(
    db: &Connection,
    agent: &str,
    account: Option<&str>,
    people: &People,
) -> Result<Option<Place>, StoreError> {
    let mut rows = db.prepare_cached(
        "SELECT channel, account, peer, sender FROM turn_items JOIN inbound ON inbound.seq = turn_items.inbound
         WHERE agent = ?1 AND (?2 IS NULL OR account = ?2) AND inbound.scope = 'owner' AND sender IS NOT NULL
             AND kind = 'message' AND facts ->> '$.direct'
         ORDER BY turn_items.inbound DESC LIMIT ?3",
    )?;
    let mut rows = rows.query(params![agent, account, MAX_LOOKED_AT])?;
    while let Some(row) = rows.next()? {
        let (channel, sender): (String, String) = (row.get(0)?, row.get(3)?);
        let user = user_id(&channel, &sender);
        let scope = users::trusted(db, people, &user)?;
        // By nobody's word in the configuration: then it is a bridge's, which vouches for whom it reports.
        if scope.is_none_or(|scope| scope == Scope::Owner) {
            return Ok(Some(Place { channel, account: row.get(1)?, address: row.get(2)?, thread: None }));
        }
    }
    Ok(None)
}

/// Whether a text can be delivered now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// Whether it can.
    pub ok: bool,
    /// As whom the account is logged in, or why it cannot.
    pub reason: String,
}

impl Pipeline {
    /// The account from which an agent's heartbeat speaks to somebody.
    ///
    /// # Errors
    /// There is none, or there are several and nobody says which.
    pub fn heartbeat_account(&self, agent: &str, to: &Recipient) -> Result<String, NoAccount> {
        let named = match to {
            Recipient::Written { account, channel, .. } => {
                account.as_deref().or_else(|| self.bound(agent, channel))
            }
            Recipient::Found(place) => Some(place.account.as_str()),
        };
        self.accounts().pick(to.channel(), named).map(|(account, _)| account.to_owned())
    }

    /// Whether the platform of a recipient would take a text now. It is asked once a minute at most.
    ///
    /// # Errors
    /// The database.
    pub async fn heartbeat_ready(&self, agent: &str, to: &Recipient) -> Result<Readiness, StoreError> {
        let account = match self.heartbeat_account(agent, to) {
            Ok(account) => account,
            Err(error) => return Ok(Readiness { ok: false, reason: error.to_string() }),
        };
        let accounts = self.ready(Some(agent)).await?;
        let found = accounts.into_iter().find(|one| one.channel == to.channel() && one.account == account);
        Ok(match found {
            Some(found) => Readiness { ok: found.ready, reason: found.said },
            None => {
                let reason = format!("{to} is not among this agent's allowed targets, or not on its account");
                Readiness { ok: false, reason }
            }
        })
    }
}
