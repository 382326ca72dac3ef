//! What people see of the account while it reads and writes, by the Private API (`ChatRouter.startTyping` and `markRead`,
//! `routers/chatRouter.ts` at 2d43933). Nobody waits for it, and nothing is tried twice.

use std::time::Duration;

use tokio::time::timeout;

use crate::channels::{RateHints, imessage::bluebubbles::Server};

/// For how long the sign is taken to be seen. The server shows it until it is told otherwise or a message goes; for how long a phone
/// believes that, Apple does not say.
pub(in crate::channels::imessage) const TYPING: Duration = Duration::from_secs(30);
/// For how long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

impl Server {
    /// Shows in a conversation that the account is writing.
    pub(in crate::channels::imessage) async fn show_typing(&self, address: &str) {
        self.sign(address, "typing").await;
    }

    /// Marks a conversation as read: Messages knows no other mark.
    pub(in crate::channels::imessage) async fn mark_read(&self, address: &str) {
        self.sign(address, "read").await;
    }

    async fn sign(&self, address: &str, what: &str) {
        let hints = &mut RateHints::default();
        let shown = async {
            let Ok(Some(chat)) = self.chats.of(&self.api, address, hints).await else { return };
            let request = self.api.http.client.post(self.api.at(&["chat", &chat, what]));
            let _ = self.api.http.ask_status(request, &mut RateHints::default()).await;
        };
        let _ = timeout(PATIENCE, shown).await;
    }
}
