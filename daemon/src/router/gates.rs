//! The four gates of the way in, as ports. Their order is normative: the sender resolver, before any agent is looked at; then for each
//! agent by itself the access gate and the scope gate; and where no agent is, the channel request gate.
//!
//! [`Rules`] is what the hub itself says at each. The owner's hooks are asked at the same four, before the transaction
//! ([`crate::receiving::gates`]), and their answers come in as [`Said`]: a sender hook says who somebody is, the others only
//! take something back. What a hook did not answer does not go through.

use std::{collections::BTreeSet, fmt, sync::Arc};

use rusqlite::Connection;

use super::{
    Route, Senders, UnknownSenders,
    situation::{Situation, Why},
};
use crate::{
    channels::received::Author,
    people::{People, user_id, users},
    policy::Scope,
    store::StoreError,
};

/// Who wrote, as the hub knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// Their id, such as `tg:123456`.
    pub user: String,
    /// How far they are trusted.
    pub scope: Scope,
}

/// Says who wrote. It runs before any agent is looked at.
pub trait SenderResolver: Send + Sync {
    /// Who the author of an event on a channel is; `said` by a hook, if one knew.
    ///
    /// # Errors
    /// The database.
    fn resolve(
        &self,
        db: &Connection,
        people: &People,
        channel: &str,
        author: &Author,
        said: Option<&str>,
    ) -> Result<Sender, StoreError>;
}

/// What the access gate says of an author and an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The author may write to it.
    Through,
    /// A person is to be asked.
    Ask,
    /// Not.
    Drop(Why),
}

/// Whether somebody may write to the agent of a route at all.
pub trait AccessGate: Send + Sync {
    /// What becomes of an author's words there.
    fn admit(&self, route: &Route, situation: &Situation<'_>) -> Admission;
}

/// Whether somebody's words wake the agent of a route.
pub trait SenderScopeGate: Send + Sync {
    /// Whether they do; else they are treated as words that do not wake it.
    fn lets_wake(&self, route: &Route, situation: &Situation<'_>) -> bool;
}

/// What is written where no agent is.
#[derive(Debug, Clone, Copy)]
pub struct Unwired {
    /// Whether it is a message.
    pub is_message: bool,
    /// Whether the account itself is meant.
    pub calls: bool,
    /// Whether the author is alone with the account.
    pub direct: bool,
    /// Whether it is too old to wake anybody.
    pub late: bool,
    /// How far the author is trusted.
    pub scope: Scope,
    /// What becomes of strangers on this channel.
    pub unknown: UnknownSenders,
}

/// Whether a person is asked about a conversation that no agent is in.
pub trait ChannelRequestGate: Send + Sync {
    /// Whether they are.
    fn escalates(&self, unwired: &Unwired) -> bool;
}

/// What the hub itself says at each gate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules;

impl SenderResolver for Rules {
    /// What the configuration says of them, or what a person granted; the least of all their ids if one is shut out. Whoever nobody
    /// vouches for is a stranger, whatever they call themselves.
    fn resolve(
        &self,
        db: &Connection,
        people: &People,
        channel: &str,
        author: &Author,
        said: Option<&str>,
    ) -> Result<Sender, StoreError> {
        let own = user_id(channel, &author.id);
        let also = author.same_as.iter().map(|id| user_id(channel, id));
        let ids = said.map(str::to_owned).into_iter().chain([own.clone()]).chain(also);
        let best = users::trusted_by_any(db, people, ids)?.unwrap_or(Scope::Unknown);
        let scope = if author.unverified && best > Scope::Unknown { Scope::Unknown } else { best };
        Ok(Sender { user: said.map_or(own, str::to_owned), scope })
    }
}

impl AccessGate for Rules {
    fn admit(&self, route: &Route, situation: &Situation<'_>) -> Admission {
        match situation.scope {
            Scope::Blocked => Admission::Drop(Why::Blocked),
            Scope::Unknown => match route.unknown.unwrap_or(situation.unknown) {
                UnknownSenders::Strict => Admission::Drop(Why::UnknownSender),
                UnknownSenders::RequestApproval => Admission::Ask,
                UnknownSenders::Public => Admission::Through,
            },
            Scope::Known | Scope::Owner => Admission::Through,
        }
    }
}

impl SenderScopeGate for Rules {
    fn lets_wake(&self, route: &Route, situation: &Situation<'_>) -> bool {
        situation.scope > Scope::Unknown || route.senders == Senders::All
    }
}

impl ChannelRequestGate for Rules {
    fn escalates(&self, unwired: &Unwired) -> bool {
        let may_ask = match unwired.scope {
            Scope::Blocked => false,
            Scope::Unknown => unwired.direct && unwired.unknown == UnknownSenders::RequestApproval,
            Scope::Known | Scope::Owner => true,
        };
        unwired.is_message && unwired.calls && !unwired.late && may_ask
    }
}

/// The gates. Clones share them.
#[derive(Clone)]
pub struct Gates {
    /// Who wrote.
    pub sender: Arc<dyn SenderResolver>,
    /// Whether they may write to an agent.
    pub access: Arc<dyn AccessGate>,
    /// Whether that wakes it.
    pub scope: Arc<dyn SenderScopeGate>,
    /// Whether a person is asked where no agent is.
    pub request: Arc<dyn ChannelRequestGate>,
}

impl Default for Gates {
    fn default() -> Self {
        let rules = Arc::new(Rules);
        Self { sender: rules.clone(), access: rules.clone(), scope: rules.clone(), request: rules }
    }
}

impl fmt::Debug for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gates")
    }
}

/// What the owner's hooks said of one event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Who wrote; nothing if no hook knew.
    pub user: Option<String>,
    /// The agents about which hooks were asked; nothing where there are no hooks at that gate.
    pub asked: Option<BTreeSet<String>>,
    /// Those to which its author may not write.
    pub barred: BTreeSet<String>,
    /// Those that it is not to wake.
    pub quiet: BTreeSet<String>,
    /// Whether a person may not be asked about it.
    pub silent: bool,
    /// Hooks failed on it so often that it goes no further.
    pub given_up: bool,
}

impl Said {
    /// No hook was asked.
    pub const NOTHING: &'static Self = &Self {
        user: None,
        asked: None,
        barred: BTreeSet::new(),
        quiet: BTreeSet::new(),
        silent: false,
        given_up: false,
    };

    /// Whether hooks were asked about an agent, if any are to be.
    pub fn covers(&self, agent: &str) -> bool {
        self.asked.as_ref().is_none_or(|asked| asked.contains(agent))
    }
}
