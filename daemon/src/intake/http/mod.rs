//! The HTTP interface: bearer tokens, JSON, RFC 9457 problems; and the operator's [page].
//!
//! A handler is a route and its description in one (see [`document`]): what there is to call stands in `/openapi.json`, and
//! for people in the README.

mod agents;
mod approvals;
mod audit;
mod caller;
mod companions;
mod credential;
mod document;
mod door;
mod events;
mod figures;
mod files;
mod guides;
mod heartbeats;
mod host;
mod inbound;
mod inbox;
mod local;
mod logins;
mod mcp;
mod messages;
mod metrics;
mod operate;
mod page;
mod pairing;
mod passkeys;
mod people;
mod platform;
mod problem;
mod progress;
mod query;
mod questions;
mod reload;
mod reply;
pub mod server;
mod settings;
mod tasks;
mod tools;
mod turns;
mod updates;
mod whoami;

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    middleware,
    response::{IntoResponse as _, Response},
};
use tokio::sync::Semaphore;
use utoipa_axum::{router::UtoipaMethodRouter, routes};

pub use self::messages::MOST_LISTED;
use self::{host::Hosts, problem::Refused};
use super::refused;
use crate::{
    agents::logins::{attempts::Attempts, codes::Codes},
    companion::register::Companions,
    connections::load::Load,
    events::Events,
    hub::reload::Reload,
    message::refusal::{Code, Refusal},
    metrics::Metrics,
    pipeline::{Pipeline, current::Current},
    store::{Store, StoreError},
    updates::{Updates, hub::asking::Asking},
};

/// What the handlers share.
#[derive(Clone)]
pub struct Endpoint(Arc<Shared>);

/// What is behind the interface, and its bounds.
pub struct Behind {
    /// Where messages go, by the configuration that holds at the time.
    pub current: Current,
    /// Reads the configuration anew.
    pub reload: Reload,
    /// What happens.
    pub events: Events,
    /// The figures.
    pub metrics: Metrics,
    /// The companions.
    pub companions: Companions,
    /// Their firmware.
    pub updates: Updates,
    /// The hub's own update.
    pub hub_update: Asking,
    /// Bodies over so many bytes are refused.
    pub max_body: usize,
    /// The names by which the hub is reached, beside those of this machine itself.
    pub hosts: Vec<String>,
    /// Who may decide, as the configuration has it.
    pub approvers: Vec<&'static str>,
    /// How many connections there are, and what is turned away.
    pub load: Load,
}

struct Shared {
    current: Current,
    reload: Reload,
    store: Store,
    events: Events,
    metrics: Metrics,
    companions: Companions,
    updates: Updates,
    /// The hub's own update.
    hub_update: Asking,
    refused: refused::Refused,
    max_body: usize,
    hosts: Hosts,
    approvers: Vec<&'static str>,
    /// Links that sign in to the page.
    codes: Codes,
    /// Attempts to sign in that failed.
    attempts: Attempts,
    load: Load,
    /// Notifications of platforms that are being read.
    notifications: Semaphore,
    /// Releases of firmware that are being added.
    releases: Semaphore,
    /// Audits that are being checked.
    audits: Arc<Semaphore>,
    /// The figures that were read last.
    figures: figures::Latest,
}

impl Endpoint {
    /// An interface to what is behind it.
    pub fn new(behind: Behind) -> Self {
        let Behind {
            current,
            reload,
            events,
            metrics,
            companions,
            updates,
            hub_update,
            max_body,
            hosts,
            approvers,
            load,
        } = behind;
        let store = current.pipeline().outbox().store().clone();
        let refused = refused::Refused::new(store.clone());
        Self(Arc::new(Shared {
            current,
            reload,
            store,
            events,
            metrics,
            companions,
            updates,
            hub_update,
            refused,
            max_body,
            hosts: Hosts::new(&hosts),
            approvers,
            codes: Codes::default(),
            attempts: Attempts::default(),
            load,
            notifications: Semaphore::new(platform::AT_ONCE),
            releases: Semaphore::new(updates::ADDED_AT_ONCE),
            audits: Arc::new(Semaphore::new(audit::VERIFIED_AT_ONCE)),
            figures: figures::Latest::default(),
        }))
    }

    /// The pipeline, for one request: it keeps the configuration that holds when the request is taken.
    fn pipeline(&self) -> Pipeline {
        self.0.current.pipeline()
    }

    /// How many connections there are, and what is turned away.
    fn load(&self) -> &Load {
        &self.0.load
    }

    /// The routes.
    pub fn routes(self) -> Router {
        let spoken = mcp::spoken(&self);
        let door = middleware::from_fn_with_state(self.clone(), door::pass);
        routed()
            .layer(Extension(spoken))
            .merge(page::routes())
            .fallback(nowhere)
            .method_not_allowed_fallback(no_method)
            .layer(door)
            .with_state(self)
    }
}

/// Makes what is at one path, with its description.
type Make = fn() -> UtoipaMethodRouter<Endpoint>;

/// All that the interface has, each path under its heading.
const TABLE: &[(&str, Make)] = &[
    ("messages", || routes!(messages::submit, messages::list)),
    ("messages", || routes!(messages::show)),
    ("messages", || routes!(messages::cancel)),
    ("messages", || routes!(operate::retry)),
    ("messages", || routes!(operate::settle)),
    ("messages", || routes!(operate::purge)),
    ("questions", || routes!(questions::ask)),
    ("questions", || routes!(questions::show)),
    ("approvals", || routes!(approvals::list)),
    ("approvals", || routes!(approvals::show)),
    ("files", || routes!(files::upload)),
    ("files", || routes!(files::download)),
    ("tools", || routes!(tools::list)),
    ("tools", || routes!(tools::call)),
    ("tools", || routes!(tools::resource)),
    ("tools", || routes!(tools::guide)),
    ("mcp", || routes!(mcp::post, mcp::get, mcp::delete)),
    ("turns", || routes!(inbound::receive)),
    ("turns", || routes!(reply::take)),
    ("turns", || routes!(turns::next)),
    ("turns", || routes!(turns::show)),
    ("turns", || routes!(turns::more)),
    ("turns", || routes!(turns::end)),
    ("turns", || routes!(turns::retry)),
    ("turns", || routes!(turns::drop_turn)),
    ("turns", || routes!(tasks::list)),
    ("turns", || routes!(tasks::cancel)),
    ("turns", || routes!(heartbeats::heartbeats)),
    ("people", || routes!(people::list, people::grant)),
    ("people", || routes!(people::answer)),
    ("people", || routes!(people::sessions)),
    ("people", || routes!(people::lines)),
    ("told", || routes!(inbox::inbox)),
    ("told", || routes!(inbox::transcript)),
    ("told", || routes!(inbox::channels)),
    ("channels", || routes!(guides::list)),
    ("channels", || routes!(guides::show)),
    ("told", || routes!(events::stream)),
    ("local", || routes!(local::read)),
    ("platforms", || routes!(platform::verify, platform::notify)),
    ("agents", || routes!(agents::list, agents::add)),
    ("agents", || routes!(agents::revoke)),
    ("agents", || routes!(agents::dry_run)),
    ("agents", || routes!(agents::mute)),
    ("agents", || routes!(whoami::show)),
    ("logins", || routes!(logins::begin, logins::show, logins::end)),
    ("logins", || routes!(logins::code)),
    ("logins", || routes!(logins::list)),
    ("logins", || routes!(logins::end_one)),
    ("passkeys", || routes!(passkeys::list)),
    ("passkeys", || routes!(passkeys::challenge)),
    ("companions", || routes!(companions::list)),
    ("companions", || routes!(companions::revoke)),
    ("companions", || routes!(companions::rename)),
    ("companions", || routes!(pairing::pair)),
    ("companions", || routes!(pairing::answer)),
    ("updates", || routes!(updates::show, updates::add)),
    ("updates", || routes!(updates::roll_out)),
    ("updates", || routes!(updates::roll_out_hub)),
    ("updates", || routes!(updates::pause)),
    ("updates", || routes!(updates::resume)),
    ("audit", || routes!(audit::list)),
    ("audit", || routes!(audit::verify)),
    ("figures", || routes!(figures::show)),
    ("settings", || routes!(settings::show)),
    ("hub", || routes!(reload::reload)),
    ("hub", || routes!(metrics::read)),
    ("hub", || routes!(alive)),
    ("hub", || routes!(ready)),
    ("hub", || routes!(document::describe)),
];

/// The routes. One by one: their descriptions together are some megabytes, which wait until somebody asks for them.
fn routed() -> Router<Endpoint> {
    TABLE.iter().fold(Router::new(), |all, (_, make)| {
        let (_, described, handlers) = make();
        let (path, item) = described.paths.iter().next().expect("what is made is at a path");
        all.route(path, handlers.route_layer(Extension(query::Keys::described(item))))
    })
}

/// Whether the hub lives.
#[utoipa::path(
    get,
    path = "/healthz",
    security(()),
    responses((status = OK, body = String, content_type = "text/plain"), Refused<400>)
)]
async fn alive(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint.serve_anybody(request, async { "ok\n".into_response() }).await
}

/// Whether the hub takes messages.
#[utoipa::path(
    get,
    path = "/readyz",
    security(()),
    responses(
        (status = OK, body = String, content_type = "text/plain"),
        (status = SERVICE_UNAVAILABLE, body = String, content_type = "text/plain", description = "It does not; why."),
        Refused<400>,
    )
)]
async fn ready(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint.serve_anybody(request, readiness(&endpoint)).await
}

async fn readiness(endpoint: &Endpoint) -> Response {
    let room = endpoint.0.store.space().look();
    if !room.accepts() {
        return (StatusCode::SERVICE_UNAVAILABLE, format!("{room}\n")).into_response();
    }
    // A write, for a hub that cannot write takes no messages.
    match endpoint.0.store.write(|_| Ok::<_, StoreError>(())).await {
        Ok(()) => "ready\n".into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}

async fn nowhere(State(endpoint): State<Endpoint>, headers: HeaderMap) -> Response {
    let refusal =
        Refusal::new(Code::NotFound, "there is nothing at this path", "messages go to POST /v1/messages");
    endpoint.refuse("no path", &headers, &refusal, StatusCode::NOT_FOUND).await
}

async fn no_method(State(endpoint): State<Endpoint>, headers: HeaderMap) -> Response {
    let hint = "GET /openapi.json says which methods each path takes";
    let refusal = Refusal::input("this path does not take this method", hint);
    endpoint.refuse("no method", &headers, &refusal, StatusCode::METHOD_NOT_ALLOWED).await
}
