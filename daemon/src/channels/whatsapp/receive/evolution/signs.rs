//! What people see of the account while it reads and writes. Nobody waits for it, and nothing is tried twice.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::channels::{
    RateHints,
    whatsapp::{
        instance::Instance,
        target::{MessageId, jid},
    },
};

/// For how long the sign is asked for. The API shows it, waits so long, takes it away, and answers only then (`sendPresence` of
/// `whatsapp.baileys.service.ts`).
pub(in crate::channels::whatsapp) const TYPING: Duration = Duration::from_secs(12);
/// For how long its answer is waited for: the API goes on without whoever asked.
const PATIENCE: Duration = Duration::from_secs(3);

impl Instance {
    /// Shows in a conversation that the account is writing (`presenceSchema`, `src/validate/chat.schema.ts`).
    pub(in crate::channels::whatsapp) async fn show_typing(&self, address: &str) {
        let delay = u64::try_from(TYPING.as_millis()).unwrap_or(0);
        let body = json!({ "number": address, "presence": "composing", "delay": delay });
        self.sign("chat/sendPresence", &body).await;
    }

    /// Marks a message as read (`readMessageSchema` there).
    pub(in crate::channels::whatsapp) async fn mark_read(&self, address: &str, message: &str) {
        // The account's own messages need none.
        let Some(MessageId { author: Some(_), id }) = MessageId::read(message) else { return };
        let chat = self.chat(&jid(address), &mut RateHints::default()).await;
        let chat = chat.unwrap_or_else(|_| jid(address));
        let body = json!({ "readMessages": [{ "id": id, "fromMe": false, "remoteJid": chat }] });
        self.sign("chat/markMessageAsRead", &body).await;
    }

    async fn sign(&self, path: &str, body: &Value) {
        let request = self.request(Method::POST, path).json(body);
        let _ = timeout(PATIENCE, self.http().ask(request, &mut RateHints::default())).await;
    }
}
