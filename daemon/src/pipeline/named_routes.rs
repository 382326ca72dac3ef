//! Who the conversations are that routes name, asked of their platforms.
//!
//! Before something that an account hears is given to agents, those of its routes' addresses are identified whose spelling does not tell.
//! What a platform said before stands while it does not answer; an address of which nothing is known fits as it is written.

use super::{
    Pipeline,
    identities::{Account, Found},
};
use crate::store::StoreError;

impl Pipeline {
    /// Asks who the addresses are that routes name for an account. Answers are kept as those about targets are.
    ///
    /// # Errors
    /// The database.
    pub(crate) async fn identify_routes(&self, channel: &str, account: &str) -> Result<(), StoreError> {
        let Ok((_, adapter)) = self.0.accounts.pick(channel, Some(account)) else { return Ok(()) };
        let at = Account { channel, account, adapter: adapter.as_ref() };
        let addresses = self.0.routing.addresses(channel, account).into_iter();
        for (address, found) in self.0.identities.of_entries(at, addresses).await? {
            self.note(at, &address, found);
        }
        Ok(())
    }

    /// The same by what the platforms said before, for all accounts: nobody is asked.
    ///
    /// # Errors
    /// The database.
    pub(crate) fn recall_routes(&self) -> Result<(), StoreError> {
        for (channel, account, adapter) in self.0.accounts.iter() {
            let at = Account { channel, account, adapter: adapter.as_ref() };
            for address in self.0.routing.addresses(channel, account) {
                self.note(at, address, self.0.identities.remembered(at, address)?);
            }
        }
        Ok(())
    }

    fn note(&self, at: Account<'_>, address: &str, found: Found) {
        let identity = match found {
            Found::Known(identity) => Some(identity),
            Found::Unknown { last, .. } => last,
        };
        if let Some(identity) = identity.filter(|identity| identity.as_str() != address) {
            self.0.routing.named.is(at.channel, at.account, address, identity.as_str());
        }
    }
}
