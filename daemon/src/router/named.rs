//! Conversations that routes name by another address than what comes from them has.
//!
//! A route says `signal:+4915112345678`, and the direct message comes by the account's UUID; or an alias, and what is said comes by the
//! room. Such a route never fitted, without a word. So its entries are brought to identities as those of an agent's lists are: what the
//! platform says of them is written down here, and both spellings fit.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

/// What platforms said of the entries of routes. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Named(Arc<RwLock<BTreeMap<Account, Identities>>>);

/// A channel, and an account there.
type Account = (String, String);
/// The identities of entries.
type Identities = BTreeMap<String, String>;

impl Named {
    /// Writes down who an entry's address is to an account.
    pub fn is(&self, channel: &str, account: &str, entry: &str, identity: &str) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let of_account = all.entry((channel.to_owned(), account.to_owned())).or_default();
        of_account.insert(entry.to_owned(), identity.to_owned());
    }

    /// Whether an entry's address is this one to an account, by another spelling.
    pub(super) fn means(&self, channel: &str, account: &str, entry: &str, address: &str) -> bool {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let of_account = all.get(&(channel.to_owned(), account.to_owned()));
        of_account.and_then(|entries| entries.get(entry)).is_some_and(|identity| identity == address)
    }
}
