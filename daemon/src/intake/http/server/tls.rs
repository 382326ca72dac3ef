//! TLS of the hub's own: which certificate is shown, and the handshake of a connection.
//!
//! A connection has the configuration that holds when it comes, and keeps it: a renewed certificate breaks nothing off, and no session
//! of the old one is taken up again. What is held of a connection is bounded as without TLS: rustls would keep 64 KiB of an answer that
//! nobody reads.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::{certificate::Certificate, own::Own, stream::Watched};

/// What rustls holds of an answer at most, in bytes: as much as is written of one at once.
const MAX_BUFFER_BYTES: usize = 8 * 1024;
/// The first byte of every handshake (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;
/// For a client that speaks HTTP without TLS here.
const NO_TLS: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: 64\r\n\r\n\
      Gatepost: this port speaks TLS: begin the address with https://\n";

/// The bytes of a connection, with TLS or without.
pub(super) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// Where connections come that speak TLS.
pub struct Secured {
    /// The socket.
    pub listener: TcpListener,
    /// What they are shown.
    pub tls: Tls,
}

/// The certificate that is shown now. Clones share it.
#[derive(Clone)]
pub struct Tls(Arc<Mutex<Shown>>);

/// Where it is from.
enum Shown {
    /// The configuration's files.
    Given(Certificate),
    /// An authority of the hub's own.
    Own(Box<Own>),
}

impl Tls {
    /// Shows this one to whoever comes.
    pub fn new(certificate: Certificate) -> Self {
        Self(Arc::new(Mutex::new(Shown::Given(certificate))))
    }

    /// Shows what an authority of the hub's own has signed.
    pub fn own(own: Own) -> Self {
        Self(Arc::new(Mutex::new(Shown::Own(Box::new(own)))))
    }

    /// Whether it is this one that is shown.
    pub fn shows(&self, certificate: &Certificate) -> bool {
        matches!(&*self.shown(), Shown::Given(shown) if shown.is(certificate))
    }

    /// Shows this one to whoever comes from now on.
    pub fn show(&self, certificate: Certificate) {
        *self.shown() = Shown::Given(certificate);
    }

    /// The certificate of the hub's own authority, if it is that which signs.
    pub fn authority(&self) -> Option<Arc<str>> {
        match &*self.shown() {
            Shown::Given(_) => None,
            Shown::Own(own) => Some(own.pem()),
        }
    }

    /// What a connection that comes now is served by.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        match &mut *self.shown() {
            Shown::Given(certificate) => certificate.config().into(),
            Shown::Own(own) => own.certificate(now()).config().into(),
        }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By the wall clock since 1970, as clients have it. One from before finds a certificate that is not valid yet.
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The handshake. Its time is bounded by whoever waits for it.
pub(super) async fn accept(acceptor: TlsAcceptor, mut stream: Watched) -> io::Result<Box<dyn Bytes>> {
    match stream.first_byte().await? {
        Some(HANDSHAKE) => {}
        None => return Err(io::ErrorKind::UnexpectedEof.into()),
        Some(_) => {
            stream.dismiss(NO_TLS).await?;
            return Err(io::Error::other("it does not speak TLS"));
        }
    }
    let accepted = acceptor.accept_with(stream, |session| session.set_buffer_limit(Some(MAX_BUFFER_BYTES)));
    Ok(Box::new(accepted.await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_a_client_without_tls_is_as_long_as_it_says() {
        let text = std::str::from_utf8(NO_TLS).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("content-length: {}", body.len())), "{text}");
    }
}
