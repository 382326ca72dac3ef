//! The body of an answer as a stream of bytes, for files that are kept as they come.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, Bytes};
use futures_util::{Stream, StreamExt as _, stream};
use tokio::io::{AsyncRead, ReadBuf};

use crate::cause::innermost;

/// What is made of each piece of an answer, and of its end.
pub(in crate::channels) type Through = Box<dyn FnMut(Option<&[u8]>) -> io::Result<Vec<u8>> + Send>;

type Chunks = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// A body that is read as it comes, up to a bound. One that breaks off is an error and no end: half a file is none.
pub(in crate::channels) struct Body {
    chunks: Chunks,
    begun: Bytes,
    left: u64,
}

impl Body {
    /// The body of an answer, of at most so many bytes. Its errors do not name the address, which may have a token in it.
    pub(in crate::channels) fn of(answer: reqwest::Response, most: u64) -> Self {
        let chunks = answer.bytes_stream().map(|chunk| {
            chunk.map_err(|error| io::Error::other(innermost(&error.without_url()).to_string()))
        });
        Self { chunks: Box::pin(chunks), begun: Bytes::new(), left: most }
    }

    /// A file that an answer has in it, as `through` takes it out: of a piece some bytes or none, and of the end what is left.
    pub(in crate::channels) fn through(answer: reqwest::Response, through: Through) -> Self {
        let chunks = stream::try_unfold((answer, Some(through)), |(mut answer, through)| async move {
            let Some(mut through) = through else { return Ok(None) };
            let chunk = answer.chunk().await;
            let chunk =
                chunk.map_err(|error| io::Error::other(innermost(&error.without_url()).to_string()))?;
            let made = Bytes::from(through(chunk.as_deref())?);
            let through = chunk.is_some().then_some(through);
            Ok(Some((made, (answer, through))))
        });
        Self { chunks: Box::pin(chunks), begun: Bytes::new(), left: u64::MAX }
    }
}

impl AsyncRead for Body {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.begun.is_empty() {
            let Some(chunk) = ready!(self.chunks.as_mut().poll_next(cx)) else { return Poll::Ready(Ok(())) };
            let chunk = chunk?;
            let Some(left) = self.left.checked_sub(chunk.len() as u64) else {
                return Poll::Ready(Err(io::Error::other("it is larger than the platform says")));
            };
            (self.begun, self.left) = (chunk, left);
        }
        let length = self.begun.len().min(into.remaining());
        into.put_slice(&self.begun[..length]);
        self.begun.advance(length);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read(pieces: &'static [&'static [u8]], left: u64) -> io::Result<Vec<u8>> {
        let chunks = futures_util::stream::iter(pieces.iter().map(|piece| Ok(Bytes::from_static(piece))));
        let mut body = Body { chunks: Box::pin(chunks), begun: Bytes::new(), left };
        let mut whole = Vec::new();
        body.read_to_end(&mut whole).await.map(|_| whole)
    }

    #[tokio::test]
    async fn a_body_comes_in_pieces_and_no_further_than_its_bound() {
        const PIECES: &[&[u8]] = &[b"ab", b"", b"cde"];
        assert_eq!(read(PIECES, 5).await.unwrap(), b"abcde");
        assert!(read(PIECES, 4).await.unwrap_err().to_string().contains("larger"));
        assert_eq!(read(&[], 0).await.unwrap(), b"");
    }
}
