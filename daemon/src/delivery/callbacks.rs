//! Callbacks of platforms: a delivery status settles a part whose answer was lost, or says that an accepted part did not arrive.

use std::{collections::HashMap, sync::Arc};

use crate::{
    channels::{
        Adapter,
        callback::{CallbackRefused, Lost},
        hub_handle::HubHandle,
        receiver::Notifications,
    },
    message::refusal::{Code, Refusal},
    outbox::reconcile::{self, Settled, Undelivered},
    pipeline::{Pipeline, unavailable},
};

impl Pipeline {
    /// Whether a platform's request to an account may be one, by its proof alone: before its body is read.
    ///
    /// # Errors
    /// There is no such account, or it takes none, or the proof is none.
    pub async fn admits_callback(&self, channel: &str, account: &str, proof: &str) -> Result<(), Refusal> {
        let (_, adapter) = self.called_back(channel, account)?;
        adapter.admits_callback(proof).await.map_err(refused)
    }

    /// Takes a platform's request to an account, with its proof: how many parts it settled. What people did goes to `hub`.
    ///
    /// # Errors
    /// There is no such account, or the request is not to be believed; the database.
    pub async fn read_callback(
        &self,
        channel: &str,
        account: &str,
        proof: &str,
        body: &[u8],
        hub: &dyn HubHandle,
    ) -> Result<usize, Refusal> {
        let (name, adapter) = self.called_back(channel, account)?;
        let statuses = adapter.read_callback(proof, body, hub).await.map_err(refused)?;
        let mut settled = 0;
        for status in statuses {
            let (of, key) = ((channel.to_owned(), name.to_owned()), status.key.0);
            let outcome = status.outcome.map_err(|Lost { id, why, again }| Undelivered { id, why, again });
            let seq =
                self.0.outbox.store().look(|db| reconcile::message_of(db, &key)).map_err(unavailable)?;
            let Some(seq) = seq else { continue };
            let done = self
                .0
                .outbox
                .change(seq, move |tx| reconcile::settle(tx, (&of.0, &of.1), &key, &outcome))
                .await;
            // If that fails, nothing has changed, and the platform sends the callback again.
            match done.map_err(unavailable)? {
                Settled::Now => {
                    tracing::info!(channel, account = name, "a platform told what became of a part");
                    settled += 1;
                }
                Settled::Nothing => {}
                Settled::Later => return Err(refused(CallbackRefused::Busy)),
            }
        }
        Ok(settled)
    }

    /// How notifications to an account come; nothing if there is no such account, or it takes none.
    pub fn notifications(&self, channel: &str, account: &str) -> Option<Notifications> {
        self.called_back(channel, account).ok()?.1.notifications()
    }

    /// The answer to the request by which a platform makes sure that an account's address is the hub's.
    pub fn answer_to_challenge(
        &self,
        channel: &str,
        account: &str,
        query: &HashMap<String, String>,
    ) -> Option<String> {
        self.called_back(channel, account).ok()?.1.answer_to_challenge(query)
    }

    /// The account that a platform calls, with its name. Whether there is one is nobody's business.
    fn called_back(&self, channel: &str, account: &str) -> Result<(&str, &Arc<dyn Adapter>), Refusal> {
        let found = self.0.accounts.pick(channel, Some(account));
        found.map_err(|_| refused(CallbackRefused::Signature))
    }
}

fn refused(why: CallbackRefused) -> Refusal {
    let code = match why {
        CallbackRefused::Body => Code::InputInvalid,
        CallbackRefused::Busy | CallbackRefused::Unwritten => Code::RateLimited,
        CallbackRefused::Nobody | CallbackRefused::Signature => Code::Unauthorized,
    };
    Refusal::new(code, why.to_string(), "sign the body as the platform does")
}
