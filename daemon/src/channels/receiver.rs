//! What comes in of a platform's own accord, other than answers: notifications to the hub's HTTP interface, and a connection
//! over which the platform speaks.

use async_trait::async_trait;

use super::{
    callback::{CallbackRefused, DeliveryStatus},
    hub_handle::HubHandle,
};

/// What one account receives. A channel that receives nothing says so with an empty `impl`.
#[async_trait]
pub trait Receiver: Send + Sync + 'static {
    /// Whether a notification with this signature may be one of the platform's, as far as can be said before its body is read:
    /// the account takes some, and the signature has the form of one, or is a token that holds by itself.
    ///
    /// # Errors
    /// It is none, or the account takes none.
    async fn admits_callback(&self, _signature: &str) -> Result<(), CallbackRefused> {
        Err(CallbackRefused::Nobody)
    }

    /// Reads a notification, with its signature: what became of parts. What it asks beside that is
    /// for [`listen`](Self::listen).
    ///
    /// # Errors
    /// It is not to be believed, or the account takes none.
    async fn read_callback(
        &self,
        _signature: &str,
        _body: &[u8],
    ) -> Result<Vec<DeliveryStatus>, CallbackRefused> {
        Err(CallbackRefused::Nobody)
    }

    /// Whether this is the word that was agreed on with the platform, which shows that the address is the hub's.
    fn accepts_verify_token(&self, _word: &str) -> bool {
        false
    }

    /// Keeps what the account keeps open for as long as the hub runs, beside its deliveries: a connection over which its
    /// platform speaks. It is begun once, when the hub runs, and dropped when that stops; for most there is nothing to do.
    async fn listen(&self, _hub: &dyn HubHandle) {}

    /// Says goodbye over what [`listen`](Self::listen) keeps open, if the platform has a word for it. The hub stops then, and
    /// waits for a moment only.
    async fn leave(&self) {}
}
