//! What people see of the account while it reads and writes. Nobody waits for it, and nothing is tried twice.

use std::time::Duration;

use serde_json::json;

use super::Hearing;
use crate::channels::{RateHints, whatsapp::graph::Graph};

/// "The typing indicator will be dismissed once you respond, or after 25 seconds"
/// (<https://developers.facebook.com/documentation/business-messaging/whatsapp/typing-indicators>).
pub(in crate::channels::whatsapp) const TYPING: Duration = Duration::from_secs(25);

impl Hearing {
    /// Shows that the newest message of a conversation is being answered, which marks it as read: Meta has one request for both.
    /// Whether there is such a message.
    pub(in crate::channels::whatsapp) async fn show_typing(&self, graph: &Graph, address: &str) -> bool {
        let Some(id) = self.recent.of(address) else { return false };
        sign(graph, &id, true).await;
        true
    }
}

/// Marks a message, and those before it, as read
/// (<https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/mark-message-as-read>).
pub(in crate::channels::whatsapp) async fn mark_read(graph: &Graph, message: &str) {
    sign(graph, message, false).await;
}

async fn sign(graph: &Graph, message: &str, typing: bool) {
    let mut body = json!({ "messaging_product": "whatsapp", "status": "read", "message_id": message });
    if typing {
        body["typing_indicator"] = json!({ "type": "text" });
    }
    let request = graph.http().client.post(graph.base().at(&[graph.number(), "messages"])).json(&body);
    // It was seen or it was not.
    let _ = graph.ask(request, &mut RateHints::default()).await;
}
