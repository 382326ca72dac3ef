//! Files that somebody sent: fetched at once, because their addresses hold for an hour
//! (<https://core.telegram.org/bots/api#getfile>).

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, Bytes};
use futures_util::Stream;
use tokio::io::{AsyncRead, ReadBuf};

use crate::{
    channels::{Failure, hub_handle::HubHandle, kit::http::Http, telegram::client::Client},
    message::attachment::Attachment,
};

/// "bots can download files of up to 20MB in size" (<https://core.telegram.org/bots/api#getfile>).
pub(super) const LARGEST: u64 = 20 * 1024 * 1024;

/// A file that is still at Telegram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    /// By which it is asked for.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: Option<String>,
    pub(super) size: Option<u64>,
    pub(super) voice: bool,
}

/// Fetches a file and gives it to the hub; else a line that says why not.
pub(super) async fn keep(client: &Client, hub: &dyn HubHandle, sent: &Sent) -> Result<Attachment, String> {
    let named = |why: String| format!("{}: {why}", sent.name.chars().take(40).collect::<String>());
    if let Some(size) = sent.size.filter(|size| *size > LARGEST) {
        return Err(named(format!("{} MB; Telegram gives a bot 20 MB at most", size.div_ceil(1024 * 1024))));
    }
    // Nothing was shown to anybody yet: what was lost is asked for once more.
    let kept = match fetch(client, hub, sent).await {
        Err(Failure::Retry(_)) => fetch(client, hub, sent).await,
        kept => kept,
    };
    kept.map(|kept| Attachment { voice: sent.voice, ..kept }).map_err(|failure| named(failure.to_string()))
}

async fn fetch(client: &Client, hub: &dyn HubHandle, sent: &Sent) -> Result<Attachment, Failure> {
    let path = client.path_of(&sent.id).await?;
    let response = client.download(&path, Http::longest(sent.size.unwrap_or(LARGEST))).await?;
    let body = Body { stream: Box::pin(response.bytes_stream()), begun: Bytes::new(), left: LARGEST };
    let kept = hub.keep_file(Some(&sent.name), sent.kind.as_deref(), Box::new(body)).await;
    kept.map_err(|why| Failure::Permanent(why.to_string()))
}

/// A body that is read as it comes, up to a bound. One that breaks off is an error and no end: half a file is none.
struct Body<S> {
    stream: Pin<Box<S>>,
    begun: Bytes,
    left: u64,
}

impl<S: Stream<Item = reqwest::Result<Bytes>>> AsyncRead for Body<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.begun.is_empty() {
            match ready!(self.stream.as_mut().poll_next(cx)) {
                None => return Poll::Ready(Ok(())),
                // Its words may have the address in them.
                Some(Err(_)) => {
                    return Poll::Ready(Err(io::Error::other("the connection to Telegram broke")));
                }
                Some(Ok(bytes)) => {
                    let Some(left) = self.left.checked_sub(bytes.len() as u64) else {
                        return Poll::Ready(Err(io::Error::other("it is larger than Telegram says")));
                    };
                    (self.begun, self.left) = (bytes, left);
                }
            }
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
        let stream = futures_util::stream::iter(pieces.iter().map(|piece| Ok(Bytes::from_static(piece))));
        let mut body = Body { stream: Box::pin(stream), begun: Bytes::new(), left };
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
