//! Through which door an account hears: Meta's notifications, signed; those of an Evolution API, with a secret; and the question that
//! this is asked each minute.

use std::{collections::HashMap, time::Duration};

use async_trait::async_trait;
use gatepost_link::Digest;

use super::{
    CallbackEndpoint, Route, WhatsApp,
    receive::{cloud, evolution},
    status, target,
};
use crate::{
    channels::{
        PartKey, Receiver,
        callback::{CallbackRefused, DeliveryStatus},
        hub_handle::HubHandle,
        kit::http::token::Token,
        receiver::{Hearing, Notifications},
    },
    message::target::Target,
};

/// The longest notification, in bytes: webhooks' payloads have 3 MB at most
/// (<https://developers.facebook.com/docs/graph-api/webhooks/getting-started>).
const MAX_NOTIFICATION_BYTES: usize = 3 * 1024 * 1024;
/// The longest challenge that is given back. Meta's have ten digits.
const MAX_CHALLENGE_BYTES: usize = 128;

#[async_trait]
impl Receiver for WhatsApp {
    fn notifications(&self) -> Option<Notifications> {
        let proof_header = match (&self.endpoint, &self.webhook) {
            (Some(_), _) => "x-hub-signature-256",
            (None, Some(_)) => "authorization",
            (None, None) => return None,
        };
        let signs_body = self.endpoint.is_some();
        Some(Notifications { proof_header, signs_body, max_bytes: MAX_NOTIFICATION_BYTES })
    }

    async fn admits_callback(&self, proof: &str) -> Result<(), CallbackRefused> {
        let admitted = match (&self.endpoint, &self.webhook) {
            (Some(_), _) => status::is_signature(proof),
            (None, Some(secret)) => is_bearer(secret, proof),
            (None, None) => return Err(CallbackRefused::Nobody),
        };
        if admitted { Ok(()) } else { Err(CallbackRefused::Signature) }
    }

    async fn read_callback(
        &self,
        proof: &str,
        body: &[u8],
        hub: &dyn HubHandle,
    ) -> Result<Vec<DeliveryStatus>, CallbackRefused> {
        match (&self.endpoint, &self.webhook) {
            (Some(endpoint), _) => self.told_by_meta(endpoint, proof, body, hub).await,
            (None, Some(secret)) if is_bearer(secret, proof) => self.told_by_phone(body, hub).await,
            (None, Some(_)) => Err(CallbackRefused::Signature),
            (None, None) => Err(CallbackRefused::Nobody),
        }
    }

    fn hearing(&self) -> Option<Hearing> {
        let told = |told: &cloud::Hearing| Hearing { ready: true, standing: told.standing() };
        let told = self.hearing.as_ref().map(told);
        let mut both = told.into_iter().chain(self.listener.as_ref().map(evolution::Listener::hearing));
        let first = both.next()?;
        Some(both.fold(first, |one, other| Hearing {
            ready: one.ready && other.ready,
            standing: format!("{}; {}", one.standing, other.standing),
        }))
    }

    async fn listen(&self, hub: &dyn HubHandle) {
        if let (Some(listener), Some(instance)) = (&self.listener, &self.instance) {
            listener.listen(instance, hub).await;
        }
    }

    fn typing_lasts(&self) -> Option<Duration> {
        match (&self.hearing, &self.listener) {
            (_, Some(_)) => Some(evolution::TYPING),
            (Some(_), None) => Some(cloud::TYPING),
            (None, None) => None,
        }
    }

    /// By the way that the newest message of the conversation came.
    async fn show_typing(&self, conversation: &Target) {
        let address = &conversation.address;
        if let (Some(hearing), Some(graph)) = (&self.hearing, &self.graph)
            && hearing.show_typing(graph, address).await
        {
            return;
        }
        if let (Some(_), Some(instance)) = (&self.listener, &self.instance)
            && !target::is_user(address)
        {
            instance.show_typing(address).await;
        }
    }

    async fn mark_read(&self, conversation: &Target, message: &str) {
        match target::MessageId::read(message).map(|id| id.way()) {
            Some(Route::Cloud) => {
                if let (Some(_), Some(graph)) = (&self.hearing, &self.graph) {
                    cloud::mark_read(graph, message).await;
                }
            }
            Some(Route::Evolution) => {
                if let (Some(_), Some(instance)) = (&self.listener, &self.instance) {
                    instance.mark_read(&conversation.address, message).await;
                }
            }
            None => {}
        }
    }

    /// Meta's question is a `hub.challenge` beside the word that both know
    /// (<https://developers.facebook.com/docs/graph-api/webhooks/getting-started>).
    fn answer_to_challenge(&self, query: &HashMap<String, String>) -> Option<String> {
        let value = |name: &str| query.get(name).map_or("", String::as_str);
        let (challenge, word) = (value("hub.challenge"), value("hub.verify_token"));
        let is_challenge =
            challenge.len() <= MAX_CHALLENGE_BYTES && challenge.bytes().all(|b| b.is_ascii_alphanumeric());
        // Digests are compared: the time says nothing of how far the words agree.
        let agreed = Digest::of(self.endpoint.as_ref()?.verify.now().expose().as_bytes());
        (value("hub.mode") == "subscribe" && is_challenge && Digest::of(word.as_bytes()) == agreed)
            .then(|| challenge.to_owned())
    }
}

/// Whether this is the secret, as `Authorization: Bearer` has it. Digests are compared: the time says nothing of how far they agree.
fn is_bearer(secret: &Token, proof: &str) -> bool {
    let Some(given) = proof.strip_prefix("Bearer ") else { return false };
    let given = Digest::of(given.as_bytes());
    let agrees = || Digest::of(secret.now().expose().as_bytes()) == given;
    // It may have been replaced.
    agrees() || (secret.renewed() && agrees())
}

impl WhatsApp {
    async fn told_by_meta(
        &self,
        endpoint: &CallbackEndpoint,
        signature: &str,
        body: &[u8],
        hub: &dyn HubHandle,
    ) -> Result<Vec<DeliveryStatus>, CallbackRefused> {
        let told = match status::verified(&endpoint.app.now(), signature, body) {
            // The app's secret may have been replaced.
            Err(CallbackRefused::Signature) if endpoint.app.renewed() => {
                status::verified(&endpoint.app.now(), signature, body)?
            }
            read => read?,
        };
        if let (Some(hearing), Some(graph)) = (&self.hearing, &self.graph) {
            hearing.take(graph, &told, hub).await.map_err(|_| CallbackRefused::Unwritten)?;
        }
        status::seen(&told).into_iter().for_each(|seen| hub.seen(seen));
        // A template goes once for a part, if there is one at all.
        let may_go = |key: &PartKey| match &self.graph {
            Some(graph) if self.template.is_some() => graph.note_outside(key),
            _ => false,
        };
        Ok(status::notices(&told).into_iter().filter_map(|notice| notice.told(may_go)).collect())
    }

    async fn told_by_phone(
        &self,
        body: &[u8],
        hub: &dyn HubHandle,
    ) -> Result<Vec<DeliveryStatus>, CallbackRefused> {
        let Some((listener, instance)) = self.listener.as_ref().zip(self.instance.as_ref()) else {
            return Ok(Vec::new());
        };
        let taken = match serde_json::from_slice(body) {
            Ok(told) => listener.take(instance, &told, hub).await,
            Err(_) => listener.take_unreadable(hub).await,
        };
        taken.map_err(|_| CallbackRefused::Unwritten)?;
        Ok(Vec::new())
    }
}
