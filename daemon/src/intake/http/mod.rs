//! The HTTP door: bearer tokens, JSON, RFC 9457 problems.
//!
//! | call | role | does |
//! |---|---|---|
//! | `POST /v1/messages[?wait=S]` | agent, operator | takes a message; 202 with its receipt, 200 if it has ended |
//! | `POST /v1/files` | agent, operator | takes a file for messages of the next hour; 201 with what to name it by |
//! | `GET /v1/messages[?state=S&limit=N]` | agent (its own), operator | lists messages, newest first |
//! | `GET /v1/messages/{id}[?wait=S]` | agent (its own), operator | one message and its receipt |
//! | `POST /v1/messages/{id}/cancel` | agent (its own), operator | takes it back |
//! | `POST /v1/messages/{id}/retry[?mayDuplicate=true]` | operator | sends what has not arrived of it again |
//! | `GET /v1/tools[?context=C]` | agent, operator | the tools in its hand, described for it |
//! | `POST /v1/tools/{name}` | agent, operator | calls one; waits up to 20 s for the end of what it sends |
//! | `POST /v1/resource` | agent, operator | what stands at a resource's address, as over MCP |
//! | `GET /v1/guide/{channel}` | agent, operator | how to write for a channel |
//! | `POST /v1/purge[?id=I&state=S&olderThan=SECONDS]` | operator | lets go of ended messages before their retention is over |
//! | `POST /v1/reply` | agent | takes the text of its turn: it goes where the turn came from, its blocks to whom they name |
//! | `GET /v1/inbox[?after=N]` | agent | what the hub has to tell it |
//! | `GET /v1/transcript[?session=S&after=N]` | agent (its own), operator (`&agent=A`) | what arrived of what it has said |
//! | `GET /v1/events[?after=N]` | agent (its own), operator | what happens, as server-sent events; goes on after `Last-Event-ID` |
//! | `POST /v1/inbound` | bridge, operator | records what a person wrote; the context of the agent's turn |
//! | `GET /v1/local[?address=A&after=N]` | operator | the `local` inbox |
//! | `GET`, `POST /v1/agents`, `DELETE /v1/agents/{name}` | operator | tokens |
//! | `GET /v1/companions` | operator | companions, and which of them are here |
//! | `POST /v1/companions/{name or key}/rename`, `DELETE /v1/companions/{name or key}` | operator | another name; no right to decide any more |
//! | `POST /v1/pairing` | operator | waits for a device that wants to be paired; the number that it should show |
//! | `POST /v1/pairing/{code}` | operator | whether it shows that number; waits until it is paired |
//! | `/mcp` | agent, operator | the Model Context Protocol, streamable HTTP |
//! | `GET /metrics` | monitor, operator | figures, for Prometheus |
//! | `GET /healthz`, `/readyz` | anybody | whether the hub lives, and whether it takes messages |

mod agents;
mod caller;
mod companions;
mod events;
mod files;
mod inbound;
mod local;
mod mcp;
mod messages;
mod metrics;
mod problem;
mod reply;
mod tools;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
    routing::{delete, get, post},
};

use super::refused::Refused;
use crate::{
    companion::register::Companions,
    delivery::Pipeline,
    events::Events,
    message::refusal::{Code, Refusal},
    metrics::Metrics,
    store::{Store, StoreError},
};

/// What the handlers share.
#[derive(Clone)]
pub struct Door(Arc<Shared>);

/// What is behind a door, and what holds at it.
pub struct Behind {
    /// Where messages go.
    pub pipeline: Pipeline,
    /// What happens.
    pub events: Events,
    /// The figures.
    pub metrics: Metrics,
    /// The companions.
    pub companions: Companions,
    /// How long contexts that it issues are valid.
    pub context_ttl: Duration,
    /// Bodies over so many bytes are refused.
    pub max_body: usize,
    /// The names by which the hub is reached, beside those of this machine itself.
    pub hosts: Vec<String>,
}

struct Shared {
    pipeline: Pipeline,
    store: Store,
    events: Events,
    metrics: Metrics,
    companions: Companions,
    refused: Refused,
    context_ttl: Duration,
    max_body: usize,
    hosts: Vec<String>,
}

impl Door {
    /// A door to what is behind it.
    pub fn new(behind: Behind) -> Self {
        let Behind { pipeline, events, metrics, companions, context_ttl, max_body, hosts } = behind;
        let store = pipeline.outbox().store().clone();
        let refused = Refused::new(store.clone());
        Self(Arc::new(Shared {
            pipeline,
            store,
            events,
            metrics,
            companions,
            refused,
            context_ttl,
            max_body,
            hosts,
        }))
    }

    /// The routes.
    pub fn routes(self) -> Router {
        Router::new()
            .route("/v1/messages", post(messages::submit).get(messages::list))
            .route("/v1/files", post(files::upload))
            .route("/v1/messages/{id}", get(messages::show))
            .route("/v1/messages/{id}/cancel", post(messages::cancel))
            .route("/v1/messages/{id}/retry", post(messages::retry))
            .route("/v1/tools", get(tools::list))
            .route("/v1/tools/{tool}", post(tools::call))
            .route("/v1/resource", post(tools::resource))
            .route("/v1/guide/{channel}", get(tools::guide))
            .route("/v1/purge", post(messages::purge))
            .route("/v1/reply", post(reply::take))
            .route("/v1/inbox", get(messages::inbox))
            .route("/v1/transcript", get(messages::transcript))
            .route("/v1/events", get(events::stream))
            .route("/v1/inbound", post(inbound::receive))
            .route("/v1/local", get(local::read))
            .route("/v1/agents", get(agents::list).post(agents::add))
            .route("/v1/agents/{name}", delete(agents::revoke))
            .route("/v1/companions", get(companions::list))
            .route("/v1/companions/{which}", delete(companions::revoke))
            .route("/v1/companions/{which}/rename", post(companions::rename))
            .route("/v1/pairing", post(companions::pair))
            .route("/v1/pairing/{code}", post(companions::answer))
            .merge(mcp::routes(&self, &self.0.hosts))
            .route("/metrics", get(metrics::read))
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(ready))
            .fallback(nowhere)
            .method_not_allowed_fallback(no_method)
            .with_state(self)
    }
}

async fn ready(State(door): State<Door>) -> Response {
    let room = door.0.store.space().look();
    if !room.accepts() {
        return (StatusCode::SERVICE_UNAVAILABLE, format!("{room}\n")).into_response();
    }
    // A write, for a hub that cannot write takes no messages.
    match door.0.store.write(|_| Ok::<_, StoreError>(())).await {
        Ok(()) => "ready\n".into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}

async fn nowhere(State(door): State<Door>, headers: HeaderMap) -> Response {
    let refusal =
        Refusal::new(Code::NotFound, "there is nothing at this path", "messages go to POST /v1/messages");
    door.refuse("no path", &headers, &refusal, StatusCode::NOT_FOUND).await
}

async fn no_method(State(door): State<Door>, headers: HeaderMap) -> Response {
    let hint = "see the README for the calls that there are";
    let refusal = Refusal::input("this path does not take this method", hint);
    door.refuse("no method", &headers, &refusal, StatusCode::METHOD_NOT_ALLOWED).await
}
