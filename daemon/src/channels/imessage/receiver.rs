//! Through which door an account hears: the question that its program is asked each minute, and a BlueBubbles server's webhooks, which
//! only make that sooner.

use std::time::Duration;

use async_trait::async_trait;

use super::{Bridge, IMessage, receive::server};
use crate::{
    channels::{
        Receiver,
        callback::{CallbackRefused, DeliveryStatus},
        hub_handle::HubHandle,
        receiver::{Hearing, Notifications},
    },
    message::target::Target,
};

/// The longest webhook, in bytes: the server tells a message in it, with all of its text and its participants.
const MAX_NOTIFICATION_BYTES: usize = 1024 * 1024;

#[async_trait]
impl Receiver for IMessage {
    fn notifications(&self) -> Option<Notifications> {
        self.webhook.as_ref().map(|_| Notifications {
            proof_header: "authorization",
            signs_body: false,
            max_bytes: MAX_NOTIFICATION_BYTES,
        })
    }

    async fn admits_callback(&self, proof: &str) -> Result<(), CallbackRefused> {
        match &self.webhook {
            None => Err(CallbackRefused::Nobody),
            Some(secret) if server::is_proof(secret, proof) => Ok(()),
            Some(_) => Err(CallbackRefused::Signature),
        }
    }

    async fn read_callback(
        &self,
        proof: &str,
        body: &[u8],
        _hub: &dyn HubHandle,
    ) -> Result<Vec<DeliveryStatus>, CallbackRefused> {
        self.admits_callback(proof).await?;
        let told = serde_json::from_slice(body).map_err(|_| CallbackRefused::Body)?;
        if let Some(listener) = self.listener.as_ref().filter(|_| server::wakes(&told)) {
            listener.wake();
        }
        Ok(Vec::new())
    }

    fn hearing(&self) -> Option<Hearing> {
        Some(self.listener.as_ref()?.hearing())
    }

    async fn listen(&self, hub: &dyn HubHandle) {
        let Some(listener) = &self.listener else { return };
        match &self.bridge {
            Bridge::Server { server, .. } => listener.listen_to_server(server, hub).await,
            Bridge::Program { imsg, .. } => listener.listen_to_program(imsg.program(), hub).await,
        }
    }

    fn typing_lasts(&self) -> Option<Duration> {
        self.signs().map(|_| server::TYPING)
    }

    async fn show_typing(&self, conversation: &Target) {
        if let Some(server) = self.signs() {
            server.show_typing(&conversation.address).await;
        }
    }

    async fn mark_read(&self, conversation: &Target, _: &str) {
        if let Some(server) = self.signs() {
            server.mark_read(&conversation.address).await;
        }
    }
}

impl IMessage {
    /// The server, if the account hears and its Private API shows signs.
    fn signs(&self) -> Option<&super::Server> {
        match &self.bridge {
            Bridge::Server { server, private: true } => self.listener.as_ref().map(|_| server),
            _ => None,
        }
    }
}
