//! A file from an address.
//!
//! Every hop is judged by itself, the first like any that a server sends on to: its scheme, its host, and what the host's
//! name leads to. A name is resolved once, by us, and the connection goes to the very addresses that were judged, so that
//! a name which answers otherwise the second time changes nothing. No cookie, no credential, no proxy, no earlier address
//! goes along. What a server says of the length is believed only where it is against it.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use percent_encoding::percent_decode_str;
use reqwest::{
    Client, Response, StatusCode, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{CONTENT_ENCODING, CONTENT_TYPE, LOCATION},
    redirect::Policy,
};

use super::{
    blob_store::{Draft, Taken},
    error::StageError,
    fetch_policy::{Hosts, Private},
};
use tokio::sync::OnceCell;

use crate::{
    cause::{found, innermost},
    message::attachment::is_kind,
};

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 4;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two pieces of an answer.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(20);

/// Fetches files.
pub(super) struct Fetcher {
    /// Made when it is first needed: the authorities that it trusts are a few megabytes.
    client: OnceCell<Client>,
    private: Arc<Private>,
    names: Arc<dyn Resolve>,
}

/// What came.
pub(super) struct Fetched {
    pub(super) taken: Taken,
    /// As the address names it.
    pub(super) name: Option<String>,
    /// What the server says that it is.
    pub(super) kind: Option<String>,
}

/// Resolves names as this machine does.
struct System;

impl Resolve for System {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let addresses: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Resolves names, and answers only with addresses that may be connected to.
struct Judged {
    private: Arc<Private>,
    names: Arc<dyn Resolve>,
}

/// A name leads where nothing is fetched from.
#[derive(Debug, thiserror::Error)]
#[error("{host} leads to {address}")]
struct NotPublic {
    host: String,
    address: IpAddr,
}

impl Resolve for Judged {
    fn resolve(&self, name: Name) -> Resolving {
        let private = Arc::clone(&self.private);
        let host = name.as_str().to_owned();
        let answer = self.names.resolve(name);
        Box::pin(async move {
            let addresses: Vec<SocketAddr> = answer.await?.collect();
            if !private.names(&host)
                && let Some(inside) = addresses.iter().find(|address| !private.permits(address.ip()))
            {
                // One of several is enough: who answers with both kinds means no good.
                return Err(NotPublic { host, address: inside.ip() }.into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

impl Fetcher {
    pub(super) fn new(private: Private) -> Self {
        Self::asking(Arc::new(System), private)
    }

    /// One that asks `names` where a name leads to.
    pub(super) fn asking(names: Arc<dyn Resolve>, private: Private) -> Self {
        Self { client: OnceCell::new(), private: Arc::new(private), names }
    }

    fn client(&self) -> Result<Client, reqwest::Error> {
        Client::builder()
            .dns_resolver(Judged { private: Arc::clone(&self.private), names: Arc::clone(&self.names) })
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE_TIMEOUT)
            // A connection that is kept was judged for another call.
            .pool_max_idle_per_host(0)
            .user_agent(concat!("gatepost/", env!("CARGO_PKG_VERSION")))
            .build()
    }

    /// Fetches a file from an address on one of `hosts`, or from where that sends it.
    pub(super) async fn fetch(
        &self,
        url: &str,
        hosts: &Hosts,
        mut draft: Draft,
    ) -> Result<Fetched, StageError> {
        let mut url = Url::parse(url).map_err(|_| StageError::Url("it is no address"))?;
        let first = url.host_str().unwrap_or_default().to_owned();
        if !hosts.contain(&first) {
            return Err(StageError::Host(first));
        }
        let mut answer = self.ask(&url).await?;
        for hop in 0.. {
            if !answer.status().is_redirection() {
                break;
            }
            if hop == MAX_REDIRECTS {
                return Err(StageError::Fetch(format!("it was sent on more than {MAX_REDIRECTS} times")));
            }
            let next = next(&url, &answer)?;
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(StageError::Url("it is sent on from https to plain http"));
            }
            url = next;
            answer = self.ask(&url).await?;
        }
        if answer.status() != StatusCode::OK {
            return Err(StageError::Fetch(format!("the server answered {}", answer.status())));
        }
        if let Some(coding) = answer.headers().get(CONTENT_ENCODING).filter(|coding| *coding != "identity") {
            let error = format!("the server packed it as {coding:?}, which was not asked for");
            return Err(StageError::Fetch(error));
        }
        draft.expect(answer.content_length().unwrap_or(0))?;
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).map(|kind| kind.trim().to_ascii_lowercase());
        let broken =
            |error: reqwest::Error| StageError::Fetch(format!("it broke off: {}", innermost(&error)));
        while let Some(block) = answer.chunk().await.map_err(broken)? {
            draft.write(&block).await?;
        }
        let name = url.path_segments().and_then(|mut segments| segments.next_back()).map(decoded);
        let kind = kind.filter(|kind| is_kind(kind) && kind != "application/octet-stream");
        Ok(Fetched { taken: draft.finish().await?, name, kind })
    }

    async fn ask(&self, url: &Url) -> Result<Response, StageError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(StageError::Url("it is neither http nor https"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(StageError::Url("it holds a name or a password"));
        }
        // A literal address is resolved by nobody.
        let host = url.host_str().ok_or(StageError::Url("it names no host"))?;
        let literal = host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
        if let Some(address) = literal.filter(|address| !self.private.permits(*address)) {
            return Err(StageError::Private { host: host.to_owned(), address });
        }
        let client = self.client.get_or_try_init(async || self.client()).await?;
        client.get(url.clone()).send().await.map_err(|error| match found(&error) {
            Some(NotPublic { host, address }) => {
                StageError::Private { host: host.clone(), address: *address }
            }
            None => StageError::Fetch(innermost(&error).to_string()),
        })
    }
}

/// Where an answer sends on to.
fn next(from: &Url, answer: &Response) -> Result<Url, StageError> {
    let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
    to.and_then(|to| from.join(to).ok()).ok_or(StageError::Url("it is sent on to nowhere"))
}

/// A part of a path as people read it.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_from_an_address_as_people_write_it() {
        assert_eq!(decoded("Gr%C3%BC%C3%9Fe%20%2e%2e%2fx%zz%"), "Grüße ../x%zz%");
        assert_eq!(decoded("a%+2b"), "a%+2b", "a sign is no digit");
    }
}
