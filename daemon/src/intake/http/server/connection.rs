//! One connection to the HTTP server.
//!
//! It is nobody's until a request with a valid token has come, and again when that is answered: then it has a place among
//! the [`Pending`](super::Pending), and ends when it must give that up. A request that is being handled is never broken off.

use std::{
    convert::Infallible,
    io::ErrorKind,
    net::IpAddr,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    body::Body,
    http::{HeaderValue, Request, Response, StatusCode, header},
};
use hyper::{
    body::{Body as _, Incoming},
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::TcpStream,
    sync::{Notify, watch},
    time::sleep,
};
use tokio_rustls::TlsAcceptor;

use super::{
    Door, Shared,
    body::{Answer, Counted, Rest},
    bytes::Account,
    seats::{Full, Seat},
    stream::Watched,
    tls::{self, Bytes},
};
use crate::{
    connections::pending::Ticket,
    intake::http::{door::Peer, problem},
    message::refusal::{Code, Refusal},
};

/// The first head must be there within this, and what TLS needs before it.
const FIRST_HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The next one within this, however long the connection was idle before.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest head, and what is read of a body and written of an answer at once, in bytes: the least that hyper can do with.
const MAX_BUFFER_BYTES: usize = 8 * 1024;
/// In how many seconds a client that was turned away may try again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("2");
/// The paths whose bodies have bounds of their own: of files, which are written to disk as they come, and of releases, of which one is
/// held at a time, and an operator's alone.
const OWN_BOUNDS: [&str; 2] = ["/v1/files", "/v1/updates"];

/// Serves a connection until it ends.
pub(super) async fn serve(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    peer: IpAddr,
    (door, shared): (Arc<Door>, Arc<Shared>),
    mut stop: watch::Receiver<bool>,
) {
    let peer = Peer { address: peer, by_tls: tls.is_some() };
    let standing = Arc::new(Standing::new(peer, Arc::clone(&door), Arc::clone(&shared)));
    let stream = Watched::new(stream, Arc::clone(&standing.unread));
    let mut first = pin!(sleep(FIRST_HEAD_TIMEOUT));
    let stream: Box<dyn Bytes> = match tls {
        None => Box::new(stream),
        // In a box, for a connection without TLS is not to have room for this.
        Some(tls) => tokio::select! {
            accepted = Box::pin(tls::accept(tls, stream)) => match accepted {
                Ok(stream) => stream,
                // Who looks whether somebody listens here says nothing.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return,
                Err(error) => return shared.load.note("tls", &format!("{}: {error}", peer.address)),
            },
            () = standing.must_go.notified() => return,
            () = first.as_mut() => return shared.load.note("tls_time_out", &peer.address.to_string()),
            _ = stop.changed() => return,
        },
    };
    let routes = TowerToHyperService::new(door.routes.clone());
    let service = service_fn(|request: Request<Incoming>| {
        let (standing, routes) = (Arc::clone(&standing), routes.clone());
        async move { Ok::<_, Infallible>(standing.handle(request, routes).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_BUFFER_BYTES);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let (mut silent, mut stopping) = (true, false);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if ended.is_err_and(|error| error.is_timeout()) {
                    shared.load.note("head_time_out", &peer.address.to_string());
                }
                return;
            }
            () = standing.must_go.notified() => return,
            () = first.as_mut(), if silent => {
                silent = false;
                if !standing.has_asked() {
                    return shared.load.note("head_time_out", &peer.address.to_string());
                }
            }
            _ = stop.changed(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Whose a connection is at present.
struct Standing {
    peer: Peer,
    door: Arc<Door>,
    shared: Arc<Shared>,
    must_go: Arc<Notify>,
    /// Whether the request that came last has more to come, or had when it was answered.
    unread: Arc<AtomicBool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    asked: bool,
    /// While it is nobody's.
    ticket: Option<Ticket>,
}

/// A request that is being handled, until its answer is sent.
pub(super) struct Handling {
    standing: Arc<Standing>,
    _account: Arc<Account>,
    seat: Option<Seat>,
}

impl Standing {
    fn new(peer: Peer, door: Arc<Door>, shared: Arc<Shared>) -> Self {
        let (must_go, unread, state) = (Arc::default(), Arc::default(), Mutex::default());
        let standing = Self { peer, door, shared, must_go, unread, state };
        standing.wait(None);
        standing
    }

    /// Takes a place among those that are nobody's; `last` is whose the last request was.
    fn wait(&self, last: Option<&str>) {
        let pending = &self.door.pending;
        let (ticket, crowded) = match last {
            Some(caller) => pending.enter_idle(self.peer.address, &self.must_go, caller),
            None => pending.enter(self.peer.address, &self.must_go),
        };
        if crowded {
            self.shared.load.note("pending", &self.peer.address.to_string());
        }
        self.state().ticket = Some(ticket);
    }

    /// It is somebody's; false if it had to go already.
    fn is_known(&self) -> bool {
        let ticket = self.state().ticket.take();
        ticket.is_none_or(Ticket::leave)
    }

    /// A request has come: its token is being looked up, or it has no valid one.
    fn is_asked(&self, looked_up: bool) {
        let mut state = self.state();
        state.asked = true;
        if let Some(ticket) = &state.ticket {
            ticket.is_asked(looked_up);
        }
    }

    fn has_asked(&self) -> bool {
        self.state().asked
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
        routes: TowerToHyperService<axum::Router>,
    ) -> Response<Answer<Handling>> {
        self.unread.store(!request.body().is_end_stream(), Ordering::Relaxed);
        let caller = match self.door.knows_callers {
            true => {
                self.is_asked(true);
                let known = self.shared.endpoint.recognise(request.headers()).await;
                known.ok().map(|known| known.account())
            }
            false => None,
        };
        if caller.is_none() {
            self.is_asked(false);
        }
        let account = Arc::new(self.shared.bytes.account(caller.clone()));
        let mut handling =
            Handling { standing: Arc::clone(&self), _account: Arc::clone(&account), seat: None };
        if let Some(caller) = caller {
            match self.shared.seats.take(&caller) {
                Ok(seat) if self.is_known() => handling.seat = Some(seat),
                // It is being closed: nothing is begun whose answer nobody would see.
                Ok(_) => {
                    return self.turned_away("pending", "nobody", StatusCode::SERVICE_UNAVAILABLE, handling);
                }
                Err(Full::Caller) => {
                    return self.turned_away("caller", &caller, StatusCode::TOO_MANY_REQUESTS, handling);
                }
                Err(Full::All) => {
                    return self.turned_away("requests", &caller, StatusCode::SERVICE_UNAVAILABLE, handling);
                }
            }
        }
        let streamed = OWN_BOUNDS.contains(&request.uri().path());
        let counted = (!streamed).then(|| Arc::clone(&account));
        let rest = Rest::default();
        let mut request = request.map(|body| Body::new(Counted::new(body, counted, rest.clone())));
        request.extensions_mut().insert(self.peer);
        let Ok(mut response) = routes.call(request).await;
        // Many clients send `{}` to calls without a body. For callers without a token no more is read than must be.
        let short = if handling.seat.is_some() { MAX_BUFFER_BYTES as u64 } else { 0 };
        let unread = !rest.read(short).await;
        self.unread.store(unread, Ordering::Relaxed);
        if unread {
            // The connection ends then, and a client that is not told so sends its next request into nothing.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let length = response.body().size_hint().lower();
        if !account.send(usize::try_from(length).unwrap_or(usize::MAX)) {
            let who = handling.seat.as_ref().map_or("nobody", Seat::caller).to_owned();
            return self.turned_away("bytes", &who, StatusCode::SERVICE_UNAVAILABLE, handling);
        }
        response.map(|body| Answer::new(body, handling))
    }

    /// Answers that there are too many; the connection ends with it.
    fn turned_away(
        &self,
        reason: &'static str,
        who: &str,
        status: StatusCode,
        handling: Handling,
    ) -> Response<Answer<Handling>> {
        self.shared.load.note(reason, &format!("{}, {who}", self.peer.address));
        // It was looked up, and may have to go before it has read this.
        self.is_asked(false);
        let (error, hint) = match status {
            StatusCode::TOO_MANY_REQUESTS => {
                ("this caller has too many requests open", "wait for some of them to end, or close them")
            }
            _ => ("the hub has too many requests open", "try again shortly"),
        };
        let refusal = Refusal::new(Code::RateLimited, error, hint).because("connections");
        let mut response = problem::with_status(&refusal, status);
        response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        response.map(|body| Answer::new(body, handling))
    }
}

impl Drop for Handling {
    fn drop(&mut self) {
        if let Some(seat) = self.seat.take() {
            self.standing.wait(Some(seat.caller()));
        }
    }
}
