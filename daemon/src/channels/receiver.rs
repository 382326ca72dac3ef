//! What comes in of a platform's own accord, other than answers: notifications to the hub's HTTP interface, and a connection
//! over which the platform speaks.

use std::{collections::HashMap, time::Duration};

use async_trait::async_trait;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    callback::{CallbackRefused, DeliveryStatus},
    hub_handle::HubHandle,
    incoming::Incoming,
};
use crate::message::target::Target;

/// How a platform's notifications to an account come, at `/v1/platform/{channel}/{account}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notifications {
    /// The header that proves who sends one, in lower case: a signature of the body, or a token.
    pub proof_header: &'static str,
    /// Whether that is of the body: until the body is read, anybody may have sent it.
    pub signs_body: bool,
    /// The longest body that is read.
    pub max_bytes: usize,
}

/// Whether an account that receives hears what people do at its platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Hearing {
    /// Whether it does, as far as anybody knows: false while nothing is received, and from when on that is so.
    pub ready: bool,
    /// From where and how it hears; or since when it does not, and why.
    pub standing: String,
}

impl Hearing {
    /// As `well` says, unless there is trouble.
    pub fn of(trouble: Option<String>, well: impl Into<String>) -> Self {
        Self { ready: trouble.is_none(), standing: trouble.unwrap_or_else(|| well.into()) }
    }
}

/// What one account receives. A channel that receives nothing says so with an empty `impl`.
#[async_trait]
pub trait Receiver: Send + Sync + 'static {
    /// How notifications come; nothing if the account takes none.
    fn notifications(&self) -> Option<Notifications> {
        None
    }

    /// Whether a notification with this proof may be one of the platform's, as far as can be said before its body is read:
    /// a signature has the form of one, a token holds by itself.
    ///
    /// # Errors
    /// It is none, or the account takes none.
    async fn admits_callback(&self, _proof: &str) -> Result<(), CallbackRefused> {
        Err(CallbackRefused::Nobody)
    }

    /// Reads a notification, with its proof: what became of parts. What people do it hands to `hub` itself, before it returns: the
    /// platform takes the answer for a receipt.
    ///
    /// # Errors
    /// It is not to be believed, cannot be written down now, or the account takes none.
    async fn read_callback(
        &self,
        _proof: &str,
        _body: &[u8],
        _hub: &dyn HubHandle,
    ) -> Result<Vec<DeliveryStatus>, CallbackRefused> {
        Err(CallbackRefused::Nobody)
    }

    /// The answer to the request by which a platform makes sure that the address is the hub's, from its query; nothing if it
    /// proves nothing.
    fn answer_to_challenge(&self, _query: &HashMap<String, String>) -> Option<String> {
        None
    }

    /// What programs outside post to it at `/v1/hooks/{account}`; nothing if it takes nothing there.
    fn incoming(&self) -> Option<&dyn Incoming> {
        None
    }

    /// Keeps what the account keeps open for as long as the hub runs, beside its deliveries: a connection over which its
    /// platform speaks. It is begun once, when the hub runs, and dropped when that stops; for most there is nothing to do.
    async fn listen(&self, _hub: &dyn HubHandle) {}

    /// Says goodbye over what [`listen`](Self::listen) keeps open, if the platform has a word for it, and writes down what it
    /// told, if it tells it once. `listen` is dropped then; the hub waits for some seconds only.
    async fn leave(&self) {}

    /// How it hears now; nothing if it does not receive. Asks nobody.
    fn hearing(&self) -> Option<Hearing> {
        None
    }

    /// For how long one [`show_typing`](Self::show_typing) is seen; nothing if the platform has no such sign.
    fn typing_lasts(&self) -> Option<Duration> {
        None
    }

    /// Shows in a conversation that an answer is being written. It is worth no second try.
    async fn show_typing(&self, _conversation: &Target) {}

    /// Marks a message, and those before it, as read. It is worth no second try.
    async fn mark_read(&self, _conversation: &Target, _message_id: &str) {}
}
