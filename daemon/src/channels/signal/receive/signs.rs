//! What others see of the account while it reads and writes. Nobody waits for it, and nothing is tried twice.

use std::time::Duration;

use serde_json::{Value, json};

use crate::channels::{
    RateHints,
    signal::{
        client::Client,
        target::{MessageId, parameters},
    },
};

/// "Indicator will be shown for 15seconds"
/// (<https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/commands/SendTypingCommand.java>).
pub(in crate::channels::signal) const TYPING: Duration = Duration::from_secs(15);

impl Client {
    /// Shows in a conversation that the account is writing.
    pub(in crate::channels::signal) async fn show_typing(&self, address: &str) {
        self.sign("sendTyping", parameters(self.account(), address)).await;
    }

    /// Tells who wrote a message that it was read, in a group too
    /// (<https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/commands/SendReceiptCommand.java>).
    pub(in crate::channels::signal) async fn mark_read(&self, message: &str) {
        // The account's own messages need none.
        let Some(MessageId { author: Some(author), time }) = MessageId::read(message) else { return };
        let params = json!({ "account": self.account(), "recipient": author, "targetTimestamp": [time], "type": "read" });
        self.sign("sendReceipt", params).await;
    }

    async fn sign(&self, method: &str, params: Value) {
        let mut hints = RateHints::default();
        // One that was started for another account would show it of that.
        if self.serves_all(&mut hints).await.is_ok() {
            let _ = self.brief(method, params, &mut hints).await;
        }
    }
}
