//! E-mail, handed to the person's own mail server by authenticated submission (RFC 6409).
//!
//! SMTP recognises nothing it was given twice, so a mail whose answer was lost stays [`Failure::Unknown`] and is never
//! sent again by itself; [`submission`] knows at every moment on which side of that line a mail is. Nothing is ever
//! said in the clear: a server without TLS gets neither the password nor the mail.
//!
//! A mail is not split. What [`compose`](Adapter::compose) returns is the whole of it but `Date` and `Message-ID`,
//! which [`request`] adds, and the bytes of files, which [`content`] reads as the mail leaves: a message is one mail, its text
//! first and its files behind it. Bounces, which arrive later and elsewhere, are no part of a delivery.
//!
//! What people write is read over IMAP, by [`receive`].

mod classify;
mod content;
#[cfg(test)]
pub(super) mod contract;
#[cfg(test)]
pub(super) mod mock;
pub(super) mod profile;
pub mod receive;
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
    receive::{Incoming, Owner, Tempo},
    request::{Mail, Request},
    submission::{Login, RateLimiter, Security, Submission, trust},
};
use super::{
    Adapter, Capabilities, Delivered, Failure, IdScope, NotReady, OutgoingPart, PartKey, RateHints, Receiver,
    Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    hub_handle::HubHandle,
    identity::Spelling,
    kit::{
        http::{Decode, token::Token},
        mailbox,
    },
    receiver::Hearing,
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
    #[serde(default)]
    receive: bool,
    imap_host: Option<String>,
    imap_port: Option<u16>,
    #[serde(default = "implicit")]
    imap_tls: Security,
    imap_user: Option<String>,
    imap_password: Option<SecretSource>,
    #[serde(default = "inbox")]
    folder: String,
    authserv_id: Option<String>,
}

/// RFC 8314 §3: TLS from the first byte is what servers are to offer.
const fn implicit() -> Security {
    Security::Implicit
}

/// RFC 3501 §5.1: every mailbox has it.
fn inbox() -> String {
    "INBOX".to_owned()
}

struct Email {
    from: Mailbox,
    kept: Kept,
    submission: Submission,
    incoming: Option<Incoming>,
}

/// A person's id: their mailbox in lower case. Telephones and companies write its left side in any size of letters, and no server in use
/// has two mailboxes that differ in it.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    Ok(mailbox::canonical(written)?.to_ascii_lowercase())
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
    let login = login(&settings.user, &settings.password, "user and password")?;
    let hello = match &settings.hello_name {
        Some(name) if mailbox::is_domain(name) => ClientId::Domain(name.clone()),
        Some(name) => return Err(invalid(format!("hello_name: {name:?} is no host name"))),
        None => ClientId::default(),
    };
    let port = settings.port.unwrap_or(match settings.tls {
        Security::Starttls => SUBMISSION,
        Security::Implicit => SUBMISSIONS,
    });
    let authority = settings
        .ca_file
        .as_ref()
        .map(|path| read(path, MAX_CA_FILE).map_err(|error| invalid(format!("ca_file: {error}"))));
    let authority = authority.transpose()?;
    let tls = trust(&settings.host, authority.as_deref()).map_err(invalid)?;
    let incoming = match settings.receive {
        true => Some(incoming(opening.account, &settings, &from, login.clone(), authority)?),
        false => None,
    };
    let (host, security, limiter) = (settings.host, settings.tls, RateLimiter::default());
    let submission = Submission { host, port, security, tls, hello, login, limiter };
    Ok(Arc::new(Email { from, kept: Kept::of(&opening.store), submission, incoming }))
}

/// Who logs in, if anybody does.
fn login(
    user: &Option<String>,
    password: &Option<SecretSource>,
    keys: &str,
) -> Result<Option<Login>, OpenError> {
    match (user, password) {
        (Some(user), Some(password)) => {
            Ok(Some(Login { user: user.clone(), password: Token::read(password.clone())? }))
        }
        (None, None) => Ok(None),
        _ => Err(OpenError::Invalid(format!("{keys} go together: give both, or neither"))),
    }
}

/// The mailbox that an account reads.
fn incoming(
    account: &str,
    settings: &Settings,
    from: &Mailbox,
    submits: Option<Login>,
    authority: Option<Vec<u8>>,
) -> Result<Incoming, OpenError> {
    let own = login(&settings.imap_user, &settings.imap_password, "imap_user and imap_password")?;
    let login = own.or(submits).ok_or_else(|| {
        OpenError::Invalid(
            "receive needs a login to the mailbox: imap_user and imap_password, or user and password".into(),
        )
    })?;
    let names = [Some(from.email.to_string()), mailbox::canonical(&login.user).ok()];
    let owner =
        Owner { addresses: names.into_iter().flatten().collect(), authserv_id: settings.authserv_id.clone() };
    let settings = receive::Settings {
        host: settings.imap_host.as_ref().unwrap_or(&settings.host).clone(),
        port: settings.imap_port,
        security: settings.imap_tls,
        login,
        folder: settings.folder.clone(),
        authority,
    };
    Incoming::new(account, settings, owner, Tempo::USUAL).map_err(OpenError::Invalid)
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
        let sends = format!("{} through {endpoint}", self.from);
        // Mail goes out all the same.
        Ok(match &self.incoming {
            Some(incoming) => format!("{sends}; {}", incoming.said().await),
            None => sends,
        })
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

#[async_trait]
impl Receiver for Email {
    fn hearing(&self) -> Option<Hearing> {
        Some(self.incoming.as_ref()?.hearing())
    }

    async fn listen(&self, hub: &dyn HubHandle) {
        if let Some(incoming) = &self.incoming {
            incoming.listen(hub).await;
        }
    }
}

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
        let usual = settings("host = \"h\"\nfrom = \"a@b\"").unwrap();
        assert_eq!(
            (usual.tls, usual.imap_tls, usual.receive),
            (Security::Starttls, Security::Implicit, false)
        );
    }

    #[test]
    fn every_setting_is_documented_and_every_documented_key_is_a_setting() {
        let all = KEYS.iter().map(|key| format!("{} = {}\n", key.name, key.value)).collect::<String>();
        let all = settings(&all).unwrap();
        assert!(all.port.is_some() && all.user.is_some() && all.password.is_some());
        assert!(all.ca_file.is_some() && all.hello_name.is_some() && all.authserv_id.is_some());
        assert!(all.imap_host.is_some() && all.imap_port.is_some());
        assert!(all.imap_user.is_some() && all.imap_password.is_some());
        assert_eq!(all.folder, "INBOX");
        assert!(settings("host = \"h\"\nfrom = \"a@b\"\npasswd = \"x\"").is_err());
    }
}
