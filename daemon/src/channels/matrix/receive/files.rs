//! Files out of the homeserver's media repository, into the hub.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_util::Stream;
use reqwest::StatusCode;
use tokio::io::{AsyncRead, ReadBuf};

use super::words::MediaFile;
use crate::{
    cause::innermost,
    channels::{hub_handle::HubHandle, kit::http::Http, matrix::client::Client},
    message::attachment::Attachment,
};

/// The longest that one file is waited for: who writes next waits as well.
const LONGEST: Duration = Duration::from_mins(2);

impl Client {
    /// Fetches a file and has the hub keep it; in words, why that is not so.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv1mediadownloadservernamemediaid>
    pub(super) async fn keep(&self, hub: &dyn HubHandle, file: &MediaFile) -> Result<Attachment, String> {
        let path = ["_matrix", "client", "v1", "media", "download", &file.server, &file.media];
        let request = self.http.client.get(self.homeserver.at(&path)).bearer_auth(self.http.token().expose());
        let answer = request.timeout(Http::longest(file.size).min(LONGEST)).send().await;
        let answer = answer.map_err(|error| format!("a file did not come: {}", self.cause(error)))?;
        let status = answer.status();
        if status != StatusCode::OK {
            return Err(format!("a file did not come: the homeserver answered {}", status.as_u16()));
        }
        let bytes = Body { chunks: Box::pin(answer.bytes_stream()), rest: Bytes::new() };
        let kept = hub.keep_file(file.name.as_deref(), file.kind.as_deref(), Box::new(bytes)).await;
        let kept = kept.map_err(|why| self.http.words(&why.to_string()))?;
        Ok(Attachment { voice: file.voice, ..kept })
    }

    /// What lies behind an error, without the address.
    pub(super) fn cause(&self, error: reqwest::Error) -> String {
        self.http.words(&innermost(&error.without_url()).to_string())
    }
}

/// A body as it comes.
struct Body {
    chunks: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    rest: Bytes,
}

impl AsyncRead for Body {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.rest.is_empty() {
            match ready!(self.chunks.as_mut().poll_next(cx)) {
                Some(Ok(chunk)) => self.rest = chunk,
                Some(Err(error)) => {
                    let cause = innermost(&error.without_url()).to_string();
                    return Poll::Ready(Err(io::Error::other(cause)));
                }
                None => return Poll::Ready(Ok(())),
            }
        }
        let length = self.rest.len().min(buffer.remaining());
        buffer.put_slice(&self.rest.split_to(length));
        Poll::Ready(Ok(()))
    }
}
