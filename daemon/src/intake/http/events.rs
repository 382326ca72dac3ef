//! What happens, as server-sent events.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::{
    extract::{Request, State},
    http::HeaderMap,
    response::{IntoResponse as _, Response, Sse, sse},
};
use futures_util::stream;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    Endpoint,
    caller::{self, Right},
    door::came_from,
    problem::Refused,
    query,
};
use crate::{
    agents::Role,
    events::{Event, Watch, Watcher},
    intake::message_service,
    message::refusal::{Code, Refusal},
};

/// A stream on which nothing happens says this often that it is alive, and how far it has read.
const BEAT_INTERVAL: Duration = Duration::from_secs(10);
/// How long a client is asked to wait before it comes back.
const COME_BACK: Duration = Duration::from_secs(2);

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Since {
    /// The number of the last event that was read; from now on where it is left out.
    after: Option<i64>,
}

struct Streaming {
    endpoint: Endpoint,
    headers: HeaderMap,
    /// Where it goes.
    to: String,
    watch: Watch,
    pending: VecDeque<sse::Event>,
}

/// Every change as server-sent events, without end: an agent's own, or all for the operator. A token may have 8 streams open, and so may
/// each login. `turn.waiting` says that a
/// turn of the agent's can be taken from `due_at` on: `GET /v1/turns`. `configuration.reloaded` comes to all:
/// what an agent may do, and its tools, may be different from then on.
#[utoipa::path(
    get,
    path = "/v1/events",
    params(Since, ("Last-Event-ID" = Option<i64>, Header, description = "The last event that came; it counts before `after`.")),
    responses((status = OK, description = "Each with its number, its name, and what happened as JSON.", content(("text/event-stream"))), Refused<429>),
)]
pub(super) async fn stream(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Agent, Role::Operator], request, async |caller, request| {
            let since: Since = query::read(&request)?;
            // The header is what a client sends that comes back; its address still says where it once began.
            let after = last_event_id(request.headers())?.or(since.after).map(|after| after.max(0));
            let watcher = match caller.role {
                Role::Operator => Watcher::Operator,
                _ => Watcher::Agent(caller.agent().to_owned()),
            };
            let account = match request.extensions().get::<Right>() {
                Some(right) => caller::account(&caller, right),
                None => caller.to_string(),
            };
            let watch = endpoint.0.events.watch(&account, watcher, after).await;
            let watch = watch.map_err(message_service::broken)?;
            let watch = watch.map_err(|error| {
                let hint = "close one of them; one stream tells everything";
                Refusal::new(Code::RateLimited, error.to_string(), hint).because("streams")
            })?;
            let hello = sse::Event::default()
                .retry(COME_BACK)
                .id(watch.read_to().to_string())
                .comment("from here on");
            let (endpoint, headers) = (endpoint.clone(), request.headers().clone());
            let to = came_from(&request).to_string();
            let streaming = Streaming { endpoint, headers, to, watch, pending: VecDeque::from([hello]) };
            let events = stream::unfold(streaming, |mut streaming| async move {
                Some((Ok::<_, Infallible>(streaming.next().await?), streaming))
            });
            Ok(Sse::new(events).into_response())
        })
        .await
}

impl Streaming {
    /// What is sent next. Ends with the hub, with the token, or with the database.
    async fn next(&mut self) -> Option<sse::Event> {
        while self.pending.is_empty() {
            let page = self.watch.next(BEAT_INTERVAL).await.inspect_err(|error| {
                tracing::error!(%error, "an event stream ends: the database failed");
            });
            let page = page.ok().flatten()?;
            // A token that was revoked meanwhile hears nothing more, nor a login that ended. An open page is one that is used.
            let known = self.endpoint.recognise(&self.headers).await.ok()?;
            if let Some(login) = &known.right.login {
                self.endpoint.is_used(login, &self.to).await;
            }
            self.pending.extend(page.events.into_iter().map(written));
            if self.pending.is_empty() {
                let read_to = page.read_to.to_string();
                self.pending.push_back(sse::Event::default().id(read_to).comment("nothing new"));
            }
        }
        self.pending.pop_front()
    }
}

fn written(event: Event) -> sse::Event {
    sse::Event::default().id(event.seq.to_string()).event(event.name).data(event.data.to_string())
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, Refusal> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    value.to_str().ok().and_then(|id| id.trim().parse().ok()).map(Some).ok_or_else(|| {
        let hint = "give the id of the last event as it came, or leave the header out";
        Refusal::input("the Last-Event-ID is not one of the hub's", hint).because("last_event_id")
    })
}
