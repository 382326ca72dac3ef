//! What the hub's own channels have alike: they need no account, are always ready, take plain text, and do what a part asks for once.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    channels::{
        Adapter, Capabilities, Delivered, Failure, IdScope, NotReady, OutgoingPart, PartKey, RateHints,
        Receiver, Redelivery, Refused, Sender, TargetError, formats::PLAIN, identity::Spelling,
    },
    render::Flavour,
};

/// One of them.
#[async_trait]
pub(super) trait OwnChannel: Send + Sync + 'static {
    /// What arrives, as it is stored.
    type Request: Serialize + DeserializeOwned + Send + Sync + 'static;
    /// What it can do.
    const CAPABILITIES: &'static Capabilities;

    /// Whether there is such an address.
    fn has(&self, address: &str) -> bool;

    /// What a part becomes.
    ///
    /// # Errors
    /// It cannot arrive there.
    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Self::Request, Refused>;

    /// Does it, unless that was done before under this key.
    ///
    /// # Errors
    /// It was not done.
    async fn perform(&self, request: &Self::Request, key: &PartKey) -> Result<Delivered, Failure>;
}

/// A channel of the hub's own, as delivery knows channels.
pub(super) struct HubChannel<C>(pub(super) C);

#[async_trait]
impl<C: OwnChannel> Adapter for HubChannel<C> {
    fn capabilities(&self) -> &'static Capabilities {
        C::CAPABILITIES
    }

    fn flavour(&self) -> Flavour {
        PLAIN
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        let known = self.0.has(address);
        known.then(|| address.to_owned()).ok_or_else(|| TargetError::of(C::CAPABILITIES, address))
    }

    fn identity(&self, address: &str) -> Spelling {
        Spelling::known(address)
    }

    fn scope(&self, _: &str) -> IdScope {
        IdScope::Conversation
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        Ok("the hub itself".into())
    }
}

#[async_trait]
impl<C: OwnChannel> Sender for HubChannel<C> {
    type Request = C::Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<C::Request, Refused> {
        self.0.compose(outgoing)
    }

    async fn deliver(
        &self,
        request: &C::Request,
        key: &PartKey,
        _: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        self.0.perform(request, key).await
    }

    fn redelivery(&self, _: &C::Request) -> Redelivery {
        Redelivery::Keyed(Duration::MAX)
    }
}

impl<C: OwnChannel> Receiver for HubChannel<C> {}
