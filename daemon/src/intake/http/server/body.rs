//! Bodies that are counted: those that come, as they come, and those that go, until they have gone.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};

use super::bytes::Account;

/// There is no room for more bytes of bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many bytes of requests are held already")]
pub(in crate::intake::http) struct OverBudget;

/// For the rest of a short body that no handler wants.
const REST_TIMEOUT: Duration = Duration::from_secs(1);

/// A request's body, each piece of which is counted when it comes.
pub(super) struct Counted {
    /// `None` once it has ended.
    body: Option<Incoming>,
    /// A piece that came when there was no room for it. Whoever asks again is handed it once there is.
    waits: Option<Frame<Bytes>>,
    /// `None` if the bytes are written to disk at once.
    account: Option<Arc<Account>>,
    rest: Rest,
}

/// What is left of a body that its handler gave up before the end. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Rest(Arc<Mutex<Option<Incoming>>>);

impl Counted {
    pub(super) fn new(body: Incoming, account: Option<Arc<Account>>, rest: Rest) -> Self {
        Self { body: Some(body), waits: None, account, rest }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *self.rest.slot() = self.body.take().filter(|body| !body.is_end_stream());
    }
}

impl Rest {
    fn slot(&self) -> MutexGuard<'_, Option<Incoming>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads it if it has at most so many bytes, and throws it away; whether nothing is left to come.
    pub(super) async fn read(&self, most: u64) -> bool {
        let Some(mut body) = self.slot().take() else { return true };
        if body.size_hint().exact().is_none_or(|left| left > most) {
            return false;
        }
        let all = async {
            while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                if frame.is_err() {
                    return false;
                }
            }
            true
        };
        tokio::time::timeout(REST_TIMEOUT, all).await.unwrap_or(false)
    }
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let frame = match self.waits.take() {
            Some(frame) => frame,
            None => {
                let Some(body) = &mut self.body else { return Poll::Ready(None) };
                let Some(frame) = ready!(Pin::new(body).poll_frame(cx)) else {
                    self.body = None;
                    return Poll::Ready(None);
                };
                frame?
            }
        };
        let length = frame.data_ref().map_or(0, Bytes::len);
        match self.account.as_ref().is_none_or(|account| account.receive(length + PIECE_OVERHEAD_BYTES)) {
            true => Poll::Ready(Some(Ok(frame))),
            false => {
                self.waits = Some(frame);
                Poll::Ready(Some(Err(OverBudget.into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.waits.is_none() && self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Incoming::size_hint)
    }
}

/// Why a body is not there.
#[derive(Debug)]
pub(in crate::intake::http) enum Unread {
    /// It is longer than it may be.
    TooLong,
    /// It did not come in time.
    Slow,
    /// There is no room for it now.
    OverBudget,
    /// It broke off.
    Broken,
}

/// A body of at most `most` bytes that comes within `time`, if there is room for it.
pub(in crate::intake::http) async fn read(
    body: Body,
    most: usize,
    time: Duration,
) -> Result<Vec<u8>, Unread> {
    read_as_it_comes(body, most, time, |_| (), || std::future::ready(Err(Unread::OverBudget))).await
}

/// The same; `came` is told what each piece of it costs, and `room` waits until it may be tried again where there is none. The pieces are
/// put together when all are there: bodies that grow beside each other would leave holes in memory that nobody gives back.
pub(in crate::intake::http) async fn read_as_it_comes<F: Future<Output = Result<(), Unread>>>(
    body: Body,
    most: usize,
    time: Duration,
    came: impl Fn(usize),
    room: impl Fn() -> F,
) -> Result<Vec<u8>, Unread> {
    // A body whose declared length is too long is not waited for.
    if body.size_hint().lower() > most as u64 {
        return Err(Unread::TooLong);
    }
    let all = async {
        let mut body = std::pin::pin!(body);
        let (mut pieces, mut length) = (Vec::new(), 0);
        while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            let frame = match frame {
                Ok(frame) => frame,
                Err(error) if over_budget(&error) => {
                    room().await?;
                    continue;
                }
                Err(_) => return Err(Unread::Broken),
            };
            let Ok(data) = frame.into_data() else { continue };
            length += data.len();
            came(data.len() + PIECE_OVERHEAD_BYTES);
            if length > most {
                return Err(Unread::TooLong);
            }
            pieces.push(data);
        }
        Ok(pieces.concat())
    };
    tokio::time::timeout(time, all).await.unwrap_or(Err(Unread::Slow))
}

fn over_budget(error: &axum::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if error.is::<OverBudget>() {
            return true;
        }
        source = error.source();
    }
    false
}

/// What is handed on of an answer at once, in bytes.
const PIECE_BYTES: usize = 8 * 1024;
/// What a piece of a body costs beside its bytes: however small they are, a reader may keep them one by one.
const PIECE_OVERHEAD_BYTES: usize = 64;

/// An answer's body: with its end the request is over, and its handling `H` is dropped.
///
/// It is handed on in pieces, each a copy: who reads slowly holds a piece or two after the end of it, and not all of it.
pub(super) struct Answer<H> {
    body: Body,
    rest: Bytes,
    _handling: H,
}

impl<H> Answer<H> {
    pub(super) fn new(body: Body, handling: H) -> Self {
        Self { body, rest: Bytes::new(), _handling: handling }
    }

    fn piece(&mut self) -> Frame<Bytes> {
        let piece = self.rest.split_to(self.rest.len().min(PIECE_BYTES));
        Frame::data(Bytes::copy_from_slice(&piece))
    }
}

impl<H: Unpin> HttpBody for Answer<H> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.piece())));
        }
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) if data.len() > PIECE_BYTES => {
                    self.rest = data;
                    Poll::Ready(Some(Ok(self.piece())))
                }
                Ok(data) => Poll::Ready(Some(Ok(Frame::data(data)))),
                Err(trailers) => Poll::Ready(Some(Ok(trailers))),
            },
            other => other,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}
