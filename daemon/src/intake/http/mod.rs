//! The HTTP interface: bearer tokens, JSON, RFC 9457 problems; and the operator's [page].
//!
//! A handler says of itself what it takes and answers, and `/openapi.json` is made from that (see [`document`]); for people it stands in
//! the README.

mod agents;
mod approvals;
mod audit;
mod authority;
mod boards;
mod caller;
mod companions;
mod credential;
mod decisions;
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
mod incoming;
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
mod rooms;
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
    routing::MethodRouter,
};
use tokio::sync::Semaphore;

pub use self::messages::MOST_LISTED;
use self::{
    host::{Hosts, Sites},
    problem::Refused,
    rooms::Rooms,
};
use super::refused;
use crate::{
    agents::logins::{TokenHash, attempts::Attempts, codes::Codes},
    companion::register::Companions,
    config,
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
    /// The MQTT broker, as the configuration has it: where a board is to find it.
    pub broker: config::Broker,
    /// Bodies over so many bytes are refused.
    pub max_body: usize,
    /// The names by which the hub is reached, beside those of this machine itself.
    pub hosts: Vec<String>,
    /// The port that it listens on.
    pub port: u16,
    /// The port where it speaks TLS itself.
    pub tls_port: Option<u16>,
    /// The certificate of the authority of its own, PEM, if it has one.
    pub authority: Option<Arc<str>>,
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
    broker: config::Broker,
    refused: refused::Refused,
    max_body: usize,
    hosts: Hosts,
    /// Where passkeys may be used.
    sites: Sites,
    authority: Option<Arc<str>>,
    approvers: Vec<&'static str>,
    /// Links that sign in to the page.
    codes: Codes<TokenHash>,
    /// What passkeys are to sign, by what for: each has room of its own, so that nobody who signs in takes that of a decision.
    challenges: passkeys::Challenges,
    /// Attempts to sign in that failed.
    attempts: Attempts,
    load: Load,
    /// Notifications of platforms, and what programs post, that are being read.
    rooms: Rooms,
    /// Releases of firmware that are being added.
    releases: Semaphore,
    /// Audits that are being checked.
    audits: Arc<Semaphore>,
    /// Boards that are being installed.
    boards: Arc<Semaphore>,
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
            broker,
            max_body,
            hosts,
            port,
            tls_port,
            authority,
            approvers,
            load,
        } = behind;
        let store = current.pipeline().outbox().store().clone();
        let refused = refused::Refused::new(store.clone());
        let hosts = Hosts::new(&hosts);
        Self(Arc::new(Shared {
            current,
            reload,
            store,
            events,
            metrics,
            companions,
            updates,
            hub_update,
            broker,
            refused,
            max_body,
            sites: Sites::new(&hosts, port, tls_port),
            hosts,
            authority,
            approvers,
            codes: Codes::default(),
            challenges: passkeys::Challenges::default(),
            attempts: Attempts::default(),
            load,
            rooms: Rooms::default(),
            releases: Semaphore::new(updates::ADDED_AT_ONCE),
            audits: Arc::new(Semaphore::new(audit::VERIFIED_AT_ONCE)),
            boards: Arc::new(Semaphore::new(boards::INSTALLED_AT_ONCE)),
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

    /// The routes of a listener that platforms and programs outside reach, through a tunnel or a proxy: theirs, and nothing of the hub's
    /// own.
    fn outside_routes(self) -> Router {
        let door = middleware::from_fn_with_state(self.clone(), door::pass);
        let is_outside = |path: &str| OUTSIDE.iter().any(|prefix| path.starts_with(prefix));
        routed_where(is_outside).fallback(async || StatusCode::NOT_FOUND).layer(door).with_state(self)
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

/// What platforms and programs outside call, who have no token of the hub's.
const OUTSIDE: [&str; 2] = ["/v1/platform/", "/v1/hooks/"];

/// What answers at one path.
type Make = fn() -> MethodRouter<Endpoint>;

/// Makes [`TABLE`], and for the tests the description of each path, from the same lines: `heading path: method handler, …;`.
macro_rules! table {
    ($($heading:literal $path:literal: $($method:ident $($handler:ident)::+),+;)+) => {
        /// All that the interface has.
        const TABLE: &[(&str, Make)] =
            &[$(($path, || MethodRouter::new()$(.$method($($handler)::+))+)),+];

        /// What the handlers say of themselves, under its heading.
        #[cfg(test)]
        const DESCRIPTIONS: &[(&str, document::Describe)] =
            &[$(($heading, || utoipa_axum::routes!($($($handler)::+),+))),+];
    };
}

table! {
    "messages" "/v1/messages": post messages::submit, get messages::list;
    "messages" "/v1/messages/{id}": get messages::show;
    "messages" "/v1/messages/{id}/cancel": post messages::cancel;
    "messages" "/v1/messages/{id}/retry": post operate::retry;
    "messages" "/v1/messages/{id}/settle": post operate::settle;
    "messages" "/v1/purge": post operate::purge;
    "questions" "/v1/questions": post questions::ask;
    "questions" "/v1/questions/{id}": get questions::show;
    "approvals" "/v1/approvals": get approvals::list;
    "approvals" "/v1/approvals/{request}": get approvals::show;
    "approvals" "/v1/approvals/{request}/challenge": post decisions::challenge;
    "approvals" "/v1/approvals/{request}/decision": post decisions::decide;
    "files" "/v1/files": post files::upload;
    "files" "/v1/files/{sha256}": get files::download;
    "tools" "/v1/tools": get tools::list;
    "tools" "/v1/tools/{tool}": post tools::call;
    "tools" "/v1/resource": post tools::resource;
    "tools" "/v1/guide/{channel}": get tools::guide;
    "mcp" "/mcp": post mcp::post, get mcp::get, delete mcp::delete;
    "turns" "/v1/inbound": post inbound::receive;
    "turns" "/v1/reply": post reply::take;
    "turns" "/v1/turns": get turns::next;
    "turns" "/v1/turns/{id}": get turns::show;
    "turns" "/v1/turns/{id}/more": post turns::more;
    "turns" "/v1/turns/{id}/end": post turns::end;
    "turns" "/v1/turns/{id}/retry": post turns::retry;
    "turns" "/v1/turns/{id}/drop": post turns::drop_turn;
    "turns" "/v1/tasks": get tasks::list;
    "turns" "/v1/tasks/{id}/cancel": post tasks::cancel;
    "turns" "/v1/heartbeats": get heartbeats::heartbeats;
    "people" "/v1/people": get people::list, post people::grant;
    "people" "/v1/people/requests/{code}": post people::answer;
    "people" "/v1/sessions": get people::sessions;
    "people" "/v1/sessions/transcript": get people::lines;
    "told" "/v1/inbox": get inbox::inbox;
    "told" "/v1/transcript": get inbox::transcript;
    "told" "/v1/channels": get inbox::channels;
    "channels" "/v1/channels/guides": get guides::list;
    "channels" "/v1/channels/guides/{channel}": get guides::show;
    "told" "/v1/events": get events::stream;
    "local" "/v1/local": get local::read;
    "platforms" "/v1/platform/{channel}/{account}": get platform::verify, post platform::notify;
    "platforms" "/v1/hooks/{account}": post incoming::take;
    "agents" "/v1/agents": get agents::list, post agents::add;
    "agents" "/v1/agents/{name}": delete agents::revoke;
    "agents" "/v1/agents/{name}/try": post agents::dry_run;
    "agents" "/v1/agents/{name}/mute": post agents::mute;
    "agents" "/v1/whoami": get whoami::show;
    "logins" "/v1/login": post logins::begin, get logins::show, delete logins::end;
    "logins" "/v1/login/code": post logins::code;
    "logins" "/v1/logins": get logins::list;
    "logins" "/v1/logins/{login}": delete logins::end_one;
    "passkeys" "/v1/passkeys": get passkeys::list, post passkeys::add;
    "passkeys" "/v1/passkeys/{passkey}": delete passkeys::remove;
    "passkeys" "/v1/passkeys/challenge": post passkeys::challenge;
    "companions" "/v1/companions": get companions::list;
    "companions" "/v1/companions/{which}": delete companions::revoke;
    "companions" "/v1/companions/{which}/rename": post companions::rename;
    "boards" "/v1/boards": get boards::list, post boards::install;
    "companions" "/v1/pairing": post pairing::pair;
    "companions" "/v1/pairing/{code}": post pairing::answer;
    "updates" "/v1/updates": get updates::show, post updates::add;
    "updates" "/v1/updates/image": get updates::image;
    "updates" "/v1/updates/roll-out": post updates::roll_out;
    "updates" "/v1/updates/hub": post updates::roll_out_hub;
    "updates" "/v1/updates/pause": post updates::pause;
    "updates" "/v1/updates/resume": post updates::resume;
    "audit" "/v1/audit": get audit::list;
    "audit" "/v1/audit/verify": post audit::verify;
    "figures" "/v1/figures": get figures::show;
    "settings" "/v1/settings": get settings::show;
    "hub" "/v1/reload": post reload::reload;
    "hub" "/metrics": get metrics::read;
    "hub" "/healthz": get alive;
    "hub" "/readyz": get ready;
    "hub" "/ca.pem": get authority::certificate;
    "hub" "/openapi.json": get document::describe;
}

/// The routes.
fn routed() -> Router<Endpoint> {
    routed_where(|_| true)
}

/// Those of some paths.
fn routed_where(is_one: impl Fn(&str) -> bool) -> Router<Endpoint> {
    TABLE.iter().filter(|(path, _)| is_one(path)).fold(Router::new(), |all, (path, make)| {
        all.route(path, make().route_layer(Extension(query::Keys::of_path(path))))
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
