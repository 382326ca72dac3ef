//! The connection to a mailbox: a socket, TLS by the hub's one provider, and a bound on what comes through it.
//!
//! Nothing is said in the clear but STARTTLS. A server that greets with PREAUTH before it is refused: it would have us go on
//! without TLS (RFC 3501 §11.1, and "Why TLS Is Better Without STARTTLS", USENIX Security 2021).

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use async_imap::{
    Client, Connection,
    imap_proto::{Response, Status},
};
use rustls::{
    ClientConfig,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use rustls_platform_verifier::Verifier;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::trouble::{TooMuch, Trouble};
use crate::channels::email::submission::{LineByLine, Security};

/// What a server must prove: its name, under the system's authorities or one of the person's own (PEM).
///
/// # Errors
/// The file holds no certificate, or this machine trusts nobody; in words for the person who set up the account.
pub(in crate::channels::email) fn trust(authority: Option<&[u8]>) -> Result<Arc<ClientConfig>, String> {
    let own: Vec<_> = CertificateDer::pem_slice_iter(authority.unwrap_or_default())
        .collect::<Result<_, _>>()
        .map_err(|error| format!("ca_file: {error}"))?;
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new_with_extra_roots(own, provider.clone());
    let verifier = verifier.map_err(|error| format!("cannot set up TLS: {error}"))?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the protocol versions that are safe")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// How much may still come, for who sends a command to say.
#[derive(Debug, Clone, Default)]
pub(super) struct Allowance(Arc<AtomicU64>);

impl Allowance {
    /// So many bytes from now on.
    pub(super) fn grant(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }
}

/// A stream that ends in an error where more comes than is allowed: the parser above would keep what it cannot read yet.
#[derive(Debug)]
pub(super) struct Bounded {
    stream: TlsStream<TcpStream>,
    allowance: Allowance,
}

/// Opens TLS, and has read the greeting.
pub(super) async fn open(
    stream: TcpStream,
    security: Security,
    name: ServerName<'static>,
    tls: Arc<ClientConfig>,
    allowance: Allowance,
) -> Result<Client<Bounded>, Trouble> {
    let stream = match security {
        Security::Implicit => stream,
        Security::Starttls => upgraded(stream).await?,
    };
    let stream = TlsConnector::from(tls).connect(name, stream).await.map_err(Trouble::tls)?;
    let mut client = Client::new(Bounded { stream, allowance });
    if security == Security::Implicit {
        greeting(&mut client).await?;
    }
    Ok(client)
}

async fn upgraded(stream: TcpStream) -> Result<TcpStream, Trouble> {
    // Line by line: what somebody slips in behind the answer stays in the socket, where the handshake finds it and fails.
    let mut client = Client::new(LineByLine(stream));
    greeting(&mut client).await?;
    let answer = client.run_command_and_check_ok("STARTTLS", None).await;
    answer.map_err(|error| match error {
        async_imap::error::Error::No(_) | async_imap::error::Error::Bad(_) => Trouble::Refused(
            "it offers no STARTTLS, and nothing is read without TLS; try imap_tls = \"implicit\"".into(),
        ),
        error => Trouble::from(error),
    })?;
    Ok(client.into_inner().0)
}

async fn greeting<T>(connection: &mut Connection<T>) -> Result<(), Trouble>
where
    T: AsyncRead + AsyncWrite + Unpin + std::fmt::Debug,
{
    let greeting = connection.read_response().await?;
    let greeting = greeting.ok_or_else(|| Trouble::Away("it closed the connection".into()))?;
    match greeting.parsed() {
        Response::Data { status: Status::Ok, .. } => Ok(()),
        Response::Data { status: Status::PreAuth, .. } => {
            Err(Trouble::Refused("it takes no login, and so nobody knows whose mail it would show".into()))
        }
        _ => Err(Trouble::Away("it does not want to speak now".into())),
    }
}

impl AsyncRead for Bounded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let came = (buffer.filled().len() - before) as u64;
        let left = &self.allowance.0;
        if left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(came)).is_err() {
            return Poll::Ready(Err(io::Error::other(TooMuch)));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Bounded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
