//! skeleton: what it is, in one sentence, and where its interface is documented.
//!
//! Written by `cargo xtask new-channel`. `cargo test -p gatepost --lib channels` says what is missing.

mod client;
#[cfg(test)]
pub(in crate::channels) mod contract;
pub(in crate::channels) mod profile;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;

use self::{client::Client, profile::CAPABILITIES, request::Request};
use crate::{
    channels::{
        Adapter, Capabilities, Delivered, Failure, IdScope, NotReady, OutgoingPart, PartKey, RateHints,
        Receiver, Refused, Sender, TargetError,
        account::{OpenError, Opening},
        identity::Spelling,
        kit::http::{Decode, base::Base, token::Token},
        plain_name,
    },
    settings::secret::SecretSource,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    url: String,
    token: SecretSource,
}

struct Skeleton {
    client: Client,
}

/// A person's id as what is received has it, or what to write instead. Two spellings of one person are one id: whom `[people]` shuts out is
/// known by it.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    Ok(written.to_owned())
}

/// What the answers of its platform mean, each as a function of the answer alone: any answer is tried on all of them.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] = &[("send", client::sent)];

/// Opens an account. Connects to nothing.
pub(in crate::channels) fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let url = Base::parse("url", &settings.url).map_err(OpenError::Invalid)?;
    let client = Client::new(opening.http, url, Token::read(settings.token)?);
    Ok(Arc::new(Skeleton { client }))
}

#[async_trait]
impl Adapter for Skeleton {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn flavour(&self) -> crate::render::Flavour {
        profile::FORMAT.flavour
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        plain_name(&CAPABILITIES, address, "-_")
    }

    fn identity(&self, address: &str) -> Spelling {
        // Two spellings of one person or place have one identity: a list of an agent is compared by it.
        Spelling::known(address)
    }

    fn scope(&self, _: &str) -> IdScope {
        // A narrower scope only if the platform itself refuses an id of another conversation.
        IdScope::Account
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        self.client.ready().await
    }
}

#[async_trait]
impl Sender for Skeleton {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        Ok(request::compose(outgoing))
    }

    async fn deliver(
        &self,
        request: &Request,
        _: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        self.client.send(request, hints).await.map(Into::into)
    }
}

impl Receiver for Skeleton {}
