//! E-mail, handed to the person's own mail server by authenticated submission (RFC 6409).
//!
//! SMTP recognises nothing it was given twice, so a mail whose answer was lost stays [`Failure::Unknown`] and is never
//! sent again by itself; [`submission`] knows at every moment on which side of that line a mail is. Nothing is ever
//! said in the clear: a server without TLS gets neither the password nor the mail.
//!
//! A mail is not split. What [`compose`](Adapter::compose) returns is the whole of it but `Date` and `Message-ID`,
//! which [`request`] adds, and the bytes of files, which [`content`] reads as the mail leaves: a message is one mail, its text
//! first and its files behind it. Bounces, which arrive later and elsewhere, are no part of a delivery.

mod classify;
mod content;
#[cfg(test)]
pub(super) mod contract;
#[cfg(test)]
pub(super) mod mock;
pub(super) mod profile;
mod request;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod spellings;
mod submission;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use lettre::{message::Mailbox, transport::smtp::extension::ClientId};
use serde::Deserialize;

use self::{
    profile::CAPABILITIES,
    request::{Mail, Request},
    submission::{Login, RateLimiter, Security, Submission, trust},
};
use super::{
    Adapter, Capabilities, Delivered, Failure, IdScope, NotReady, OutgoingPart, PartKey, RateHints, Receiver,
    Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    identity::Spelling,
    kit::{
        http::{Decode, token::Token},
        mailbox,
    },
    sender::fit,
};
use crate::{
    files::kept::Kept,
    settings::{file::read, secret::SecretSource},
};

/// The largest file of certificates, in bytes.
const MAX_CA_FILE: u64 = 1024 * 1024;

/// The port of submission with STARTTLS, RFC 6409 §3.1.
const SUBMISSION: u16 = 587;
/// The port of submission over TLS, RFC 8314 §3.3.
const SUBMISSIONS: u16 = 465;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    host: String,
    port: Option<u16>,
    #[serde(default)]
    tls: Security,
    from: String,
    user: Option<String>,
    password: Option<SecretSource>,
    ca_file: Option<PathBuf>,
    hello_name: Option<String>,
}

struct Email {
    from: Mailbox,
    kept: Kept,
    submission: Submission,
}

/// It is asked by SMTP, and [`submission`] reads the replies.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] = &[];

/// Opens an account. Connects to nothing.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let invalid = |what: String| OpenError::Invalid(what);
    let from: Mailbox = settings.from.parse().map_err(|_| {
        invalid(format!("from: {:?} is no mailbox; write \"Name <hub@example.org>\"", settings.from))
    })?;
    let address = mailbox::canonical(from.email.as_ref()).map_err(|hint| invalid(format!("from: {hint}")))?;
    let from = Mailbox::new(from.name, address.parse().map_err(|e| invalid(format!("from: {e}")))?);
    let login = match (settings.user, settings.password) {
        (Some(user), Some(password)) => Some(Login { user, password: Token::read(password)? }),
        (None, None) => None,
        _ => return Err(invalid("user and password go together: give both, or neither".into())),
    };
    let hello = match settings.hello_name {
        Some(name) if mailbox::is_domain(&name) => ClientId::Domain(name),
        Some(name) => return Err(invalid(format!("hello_name: {name:?} is no host name"))),
        None => ClientId::default(),
    };
    let port = settings.port.unwrap_or(match settings.tls {
        Security::Starttls => SUBMISSION,
        Security::Implicit => SUBMISSIONS,
    });
    let authority = settings
        .ca_file
        .map(|path| read(&path, MAX_CA_FILE).map_err(|error| invalid(format!("ca_file: {error}"))));
    let tls = trust(&settings.host, authority.transpose()?.as_deref()).map_err(invalid)?;
    let (host, security, limiter) = (settings.host, settings.tls, RateLimiter::default());
    let submission = Submission { host, port, security, tls, hello, login, limiter };
    Ok(Arc::new(Email { from, kept: Kept::of(&opening.store), submission }))
}

#[async_trait]
impl Adapter for Email {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn flavour(&self) -> crate::render::Flavour {
        profile::FORMAT.flavour
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        mailbox::canonical(address).map_err(TargetError::at(CAPABILITIES.channel, address))
    }

    fn identity(&self, address: &str) -> Spelling {
        Spelling::known(address)
    }

    /// A mailbox's tagged addresses, `ada+shop@example.org`, lead to it on most servers, and whoever has to be asked about
    /// `ada@example.org` is asked about them, and about the mailbox at its provider's other domains. Dots count for nothing at
    /// Google alone: elsewhere such addresses are different people's.
    fn held_with(&self, identity: &str) -> Vec<String> {
        mailbox::held_with(identity)
    }

    fn scope(&self, _: &str) -> IdScope {
        // A header with the id that the call has: nothing of the answered mail goes along.
        IdScope::Conversation
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        let endpoint = self.submission.knock().await.map_err(|failure| NotReady(failure.to_string()))?;
        Ok(format!("{} through {endpoint}", self.from))
    }
}

#[async_trait]
impl Sender for Email {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        fit(Request::new(&self.from, outgoing), Request::unfit)
    }

    async fn deliver(
        &self,
        request: &Request,
        key: &PartKey,
        _: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        let mail = request
            .mail(key)
            .map_err(|why| Failure::Permanent(format!("the stored mail cannot be sent: {why}")))?;
        let content = mail.content.open(&self.kept).await;
        let content = content.map_err(|error| Failure::Permanent(error.to_string()))?;
        let mail = Mail { content, ..mail };
        self.submission.submit(&mail).await?;
        Ok(mail.id.into())
    }

    fn redelivery(&self, _: &Request) -> Redelivery {
        Redelivery::Never
    }
}

impl Receiver for Email {}

#[cfg(test)]
mod tests {
    use super::{profile::KEYS, *};

    fn settings(text: &str) -> Result<Settings, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn tls_cannot_be_switched_off() {
        for tls in ["none", "off", "opportunistic", "plain"] {
            assert!(settings(&format!("host = \"h\"\nfrom = \"a@b\"\ntls = \"{tls}\"")).is_err(), "{tls}");
        }
        assert_eq!(settings("host = \"h\"\nfrom = \"a@b\"").unwrap().tls, Security::Starttls);
    }

    #[test]
    fn every_setting_is_documented_and_every_documented_key_is_a_setting() {
        let all = KEYS.iter().map(|key| format!("{} = {}\n", key.name, key.value)).collect::<String>();
        let all = settings(&all).unwrap();
        assert!(all.port.is_some() && all.user.is_some() && all.password.is_some());
        assert!(all.ca_file.is_some() && all.hello_name.is_some());
        assert!(settings("host = \"h\"\nfrom = \"a@b\"\npasswd = \"x\"").is_err());
    }
}
