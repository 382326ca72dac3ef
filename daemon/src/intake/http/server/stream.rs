//! The bytes of a connection: a client must read what it is sent, and one that is refused can read why.
//!
//! A socket that is closed with bytes in it that nobody has read sends a reset, which takes back the answer as well (RFC 9112,
//! section 9.6). So what was refused before all of it had come is read on for a moment after the answer.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

/// A client that does not read for this long is cut off.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long is read on after an answer.
const LINGER_TIME: Duration = Duration::from_secs(1);
/// How much.
const MAX_LINGER_BYTES: usize = 1024 * 1024;

/// The connection of a client.
pub(super) struct Watched {
    stream: TcpStream,
    /// Since nothing could be written.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Whether the client may still be sending what nobody waits for.
    unread: Arc<AtomicBool>,
    /// Once this side is closed: until when the other side is read, and how many bytes of it.
    closing: Option<(Pin<Box<Sleep>>, usize)>,
}

impl Watched {
    pub(super) fn new(stream: TcpStream, unread: Arc<AtomicBool>) -> Self {
        Self { stream, stalled: None, unread, closing: None }
    }

    /// The first byte, which is still to be read; nothing, if there is none to come.
    pub(super) async fn first_byte(&self) -> io::Result<Option<u8>> {
        let mut first = [0];
        Ok((self.stream.peek(&mut first).await? == 1).then_some(first[0]))
    }

    /// Says this to a client whose request nobody reads, and closes.
    pub(super) async fn dismiss(&mut self, answer: &[u8]) -> io::Result<()> {
        self.unread.store(true, Ordering::Relaxed);
        self.write_all(answer).await?;
        self.shutdown().await
    }

    /// Reads what still comes, and throws it away.
    fn drain(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some((time, left)) = &mut self.closing else { return Poll::Ready(()) };
        let mut piece = [0; 4 * 1024];
        while *left > 0 && time.as_mut().poll(cx).is_pending() {
            let mut piece = ReadBuf::new(&mut piece);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut piece)) {
                Ok(()) if !piece.filled().is_empty() => *left = left.saturating_sub(piece.filled().len()),
                _ => break,
            }
        }
        Poll::Ready(())
    }

    fn written(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT)));
        match stalled.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.closing.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            let left = if self.unread.load(Ordering::Relaxed) { MAX_LINGER_BYTES } else { 0 };
            self.closing = Some((Box::pin(sleep(LINGER_TIME)), left));
        }
        self.drain(cx).map(Ok)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
