//! What programs outside post to an account, received as what platforms tell is.

use std::sync::Arc;

use crate::{
    channels::{
        Adapter,
        incoming::{CHANNEL, Incoming},
        received::{Batch, Received},
    },
    message::refusal::Refusal,
    people::user_id,
    pipeline::{Pipeline, unavailable},
    policy::Scope,
    router::{UnknownSenders, accept::Outcome},
};

/// An account that is posted to.
pub struct PostedTo {
    pipeline: Pipeline,
    account: String,
    adapter: Arc<dyn Adapter>,
}

impl Pipeline {
    /// The account of this name that programs outside post to.
    pub fn posted_to(&self, account: &str) -> Option<PostedTo> {
        let (account, adapter) = self.0.accounts.pick(CHANNEL, Some(account)).ok()?;
        adapter.incoming()?;
        Some(PostedTo { pipeline: self.clone(), account: account.to_owned(), adapter: Arc::clone(adapter) })
    }

    /// How far words posted to an account are trusted, whose program has this id: as the account says, unless somebody shut it out. Others'
    /// words come by a program, so it is never an owner, whatever was `said` of it. Nothing if it is nobody's who posts, or the account does
    /// not vouch for it.
    pub fn scope_of_posted(&self, user: &str, said: Option<Scope>) -> Option<Scope> {
        let account = user.strip_prefix(CHANNEL)?.strip_prefix(':')?;
        let posted = self.posted_to(account)?;
        let is_known = match said {
            Some(Scope::Blocked) => false,
            Some(Scope::Owner) => true,
            _ => posted.incoming().is_some_and(Incoming::is_trusted),
        };
        is_known.then_some(Scope::Known)
    }
}

impl PostedTo {
    /// What it takes.
    pub fn incoming(&self) -> Option<&dyn Incoming> {
        self.adapter.incoming()
    }

    /// Writes down what was posted, and wakes whom it wakes. When this returns, it is on disk.
    ///
    /// # Errors
    /// Nothing is written, and nothing may be said to be taken.
    pub async fn receive(&self, received: Received) -> Result<Outcome, Refusal> {
        // Whoever was let in by a person, or shut out, is so all the same.
        let user = user_id(CHANNEL, &received.author.id);
        let said = self.pipeline.said_of(&user).map_err(unavailable)?;
        let vouched = self.pipeline.scope_of_posted(&user, said);
        let no_account = |_| Refusal::input("the account is gone from the configuration", "reload it");
        let mut at = self.pipeline.receiving(CHANNEL, Some(&self.account), vouched).map_err(no_account)?;
        // Nobody is asked whether a program may write: whoever set it up has said so, and each route says the rest.
        at.unknown = UnknownSenders::Strict;
        self.pipeline.receive(at, Batch { received: vec![received], ..Batch::default() }).await
    }
}
