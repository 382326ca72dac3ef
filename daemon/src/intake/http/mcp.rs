//! The MCP server in the hub: streamable HTTP at `/mcp`, behind the same tokens as every other call. One caller has so many
//! sessions of it at once ([`sessions`]).

mod posted;
mod sessions;

use std::{sync::Arc, time::Duration};

use axum::{
    Extension,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{Method, StatusCode, header, request::Parts},
    response::Response,
};
use rmcp::{
    ErrorData, RoleServer,
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::Value;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use self::sessions::Sessions;
use super::{
    Endpoint,
    caller::{Recognised, Right},
    problem::{self, Problem, Refused},
    query,
};
use crate::{
    agents::{self, Caller},
    intake::{
        mcp::{Hands, InHand, Mcp},
        tool::{self, Telling, Tools},
        whoami::Whoami,
    },
    message::refusal::{Code, Refusal},
};

/// What happens within this after a change is looked at together with it.
const GATHER_TIME: Duration = Duration::from_millis(20);

/// The header with the name of a session (the protocol's transports, "Session Management").
const HEADER_SESSION_ID: &str = "mcp-session-id";

/// The longest refusal of the library in plain text, in bytes.
const MAX_PLAIN_ERROR_BYTES: usize = 4096;

/// The longest part of a session's name that is kept: the protocol's own have 36 characters.
const MAX_SESSION_CHARS: usize = 100;

/// The hub that the server is part of.
#[derive(Clone)]
pub(super) struct Here(Endpoint);

/// The protocol, spoken over HTTP.
#[derive(Clone)]
pub(super) struct Spoken {
    service: StreamableHttpService<Mcp<Here>, LocalSessionManager>,
    sessions: Arc<Sessions>,
}

/// Nothing that a browser sends is answered. That it comes under a name of the hub's is checked [at the door](super::door) already.
pub(super) fn spoken(endpoint: &Endpoint) -> Spoken {
    let here = Here(endpoint.clone());
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .enforce_origin_validation()
        .with_max_request_body_bytes(endpoint.0.max_body);
    let sessions = Arc::<LocalSessionManager>::default();
    let service =
        StreamableHttpService::new(move || Ok(Mcp::new(here.clone())), Arc::clone(&sessions), config);
    Spoken { service, sessions: Arc::new(Sessions::new(sessions)) }
}

/// Speaks the Model Context Protocol: streamable HTTP.
#[utoipa::path(
    post,
    path = "/mcp",
    request_body(content = Object, description = "JSON-RPC, as the protocol has it."),
    responses(
        (status = OK, description = "JSON-RPC, or a stream of it.", content(
            (Object = "application/json"),
            ("text/event-stream"),
        )),
        (status = ACCEPTED, description = "There is nothing to answer."),
        (status = BAD_REQUEST, description = "It is not of the protocol, or has a query key.", content(
            (Object = "application/json"),
            (Problem = "application/problem+json"),
        )),
        (status = NOT_FOUND, description = "There is no such session, or no such method.", content(
            (Object = "application/json"),
            (Problem = "application/problem+json"),
        )),
        (status = NOT_ACCEPTABLE, body = Problem, content_type = "application/problem+json"),
        (status = UNSUPPORTED_MEDIA_TYPE, body = Problem, content_type = "application/problem+json", description = "The body is said to be something else than JSON."),
        (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json"),
        Refused<429>,
    )
)]
pub(super) async fn post(endpoint: State<Endpoint>, spoken: Extension<Spoken>, request: Request) -> Response {
    speak(endpoint, spoken, request).await
}

/// What the hub says by itself in a session of the protocol.
#[utoipa::path(
    get,
    path = "/mcp",
    responses(
        (status = OK, description = "JSON-RPC.", content(("text/event-stream"))),
        (status = BAD_REQUEST, description = "It is not of the protocol, or has a query key.", content(
            (Problem = "application/problem+json"),
        )),
        (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
        (status = NOT_ACCEPTABLE, body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn get(endpoint: State<Endpoint>, spoken: Extension<Spoken>, request: Request) -> Response {
    speak(endpoint, spoken, request).await
}

/// Ends a session of the protocol.
#[utoipa::path(
    delete,
    path = "/mcp",
    responses(
        (status = NO_CONTENT, description = "It has ended."),
        (status = BAD_REQUEST, description = "It is not of the protocol, or has a query key.", content(
            (Problem = "application/problem+json"),
        )),
        (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn delete(
    endpoint: State<Endpoint>,
    spoken: Extension<Spoken>,
    request: Request,
) -> Response {
    let mut response = speak(endpoint, spoken, request).await;
    // The library answers 202, which the protocol's client for Python takes for a failure; the session is gone by now.
    if response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

/// Lets in who has a token, and notes whose request it is.
async fn speak(
    State(endpoint): State<Endpoint>,
    Extension(spoken): Extension<Spoken>,
    request: Request,
) -> Response {
    let unread = query::check(&request);
    let refused = match endpoint.let_in_to_tools(request.method(), request.headers()).await {
        Ok(Recognised { caller, right: Right { login: Some(_), .. } }) => (Some(caller), by_login()),
        Ok(Recognised { caller, .. }) => match unread {
            Ok(()) if request.method() == Method::POST => match posted::read(&endpoint, request).await {
                Ok(request) => return served(&spoken, caller, request).await,
                Err((refusal, answer)) => {
                    endpoint.0.refused.note(Some(&caller), "/mcp", &refusal).await;
                    return *answer;
                }
            },
            Ok(()) => return served(&spoken, caller, request).await,
            Err(refusal) => (Some(caller), refusal),
        },
        Err(refused) => refused,
    };
    let (caller, refusal) = refused;
    endpoint.0.refused.note(caller.as_ref(), "/mcp", &refusal).await;
    problem::response(&refusal)
}

/// That a browser's login does not speak the protocol.
fn by_login() -> Refusal {
    let hint = "make a token for the agent with: gatepost agent add NAME";
    Refusal::new(Code::Forbidden, "a login is for the hub's page, and this is for agents", hint)
        .because("login")
}

/// Hands a request that was let in to the library.
async fn served(spoken: &Spoken, caller: Caller, mut request: Request) -> Response {
    let in_session = request.headers().contains_key(HEADER_SESSION_ID);
    let name = caller.to_string();
    request.extensions_mut().insert(caller);
    let response = as_problem(spoken.service.handle(request).await.map(Body::new)).await;
    let begun = response.headers().get(HEADER_SESSION_ID).and_then(|id| id.to_str().ok());
    if let Some(begun) = begun.filter(|_| !in_session) {
        spoken.sessions.begun(&name, begun).await;
    }
    response
}

/// A refusal of the library in plain text as the problem that every other refusal of this server is. What it says in the protocol
/// stays.
async fn as_problem(response: Response) -> Response {
    let (head, body) = response.into_parts();
    let failed = head.status.is_client_error() || head.status.is_server_error();
    let kind = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !failed || kind.starts_with("application/") || kind.starts_with("text/event-stream") {
        return Response::from_parts(head, body);
    }
    let text = to_bytes(body, MAX_PLAIN_ERROR_BYTES).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let error = match text.trim() {
        "" => head.status.canonical_reason().unwrap_or("refused").to_lowercase(),
        text => text.trim_start_matches("Bad Request: ").to_owned(),
    };
    let (code, hint) = match head.status {
        StatusCode::NOT_FOUND => (Code::NotFound, "begin a new session with initialize"),
        StatusCode::FORBIDDEN => {
            (Code::Forbidden, "programs send no Origin; a page in a browser cannot speak the protocol")
        }
        _ => (
            Code::InputInvalid,
            "send what the streamable HTTP transport of the Model Context Protocol asks for",
        ),
    };
    let mut problem = problem::with_status(&Refusal::new(code, error, hint), head.status);
    if let Some(methods) = head.headers.get(header::ALLOW) {
        problem.headers_mut().insert(header::ALLOW, methods.clone());
    }
    problem
}

/// Whose request it is, and in which session of the protocol; newer versions of it have none.
pub(super) struct InSession {
    caller: Caller,
    session: String,
}

impl Here {
    fn tools<'a>(&'a self, whose: &'a InSession) -> Tools<'a> {
        self.0.tools(&whose.caller, &whose.session)
    }
}

impl Hands for Here {
    type Caller = InSession;

    // What an agent may do, and where, changes with the configuration.
    const TOOLS_CHANGE: bool = true;

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<InSession, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let caller = parts.and_then(|parts| Some((parts, parts.extensions.get::<Caller>()?)));
        let (parts, caller) =
            caller.ok_or_else(|| ErrorData::internal_error("the request has lost its caller", None))?;
        let session = parts.headers.get(HEADER_SESSION_ID).and_then(|id| id.to_str().ok());
        let session = session.unwrap_or_default().chars().take(MAX_SESSION_CHARS).collect();
        Ok(InSession { caller: caller.clone(), session })
    }

    async fn introduce(&self, InSession { caller, .. }: &InSession) -> Result<Option<String>, Value> {
        Ok(Some(Whoami::of(&self.0.pipeline(), caller).summary))
    }

    async fn tools(&self, whose: &InSession, context: Option<&str>) -> Result<InHand, Value> {
        match self.tools(whose).list(context).await {
            Ok((tools, format)) => {
                let format = format.map(|format| format.name().to_owned());
                Ok(InHand { tools, format, may_change: true })
            }
            Err(refusal) => Err(tool::refused(&refusal)),
        }
    }

    async fn comes(&self, _: &InSession) {
        self.0.0.current.changed().await;
    }

    async fn call(&self, whose: &InSession, name: &str, arguments: Value, telling: Telling) -> Value {
        match self.tools(whose).call(name, arguments, Some(&telling)).await {
            Ok(answer) => answer,
            Err(refusal) => {
                self.0.0.refused.note(Some(&whose.caller), "/mcp", &refusal).await;
                tool::refused(&refusal)
            }
        }
    }

    async fn take_back(&self, whose: &InSession, id: &str) {
        if let Err(refusal) = self.0.service(&whose.caller).cancel(id).await {
            tracing::debug!(%refusal, id, "a call that was given up has nothing to take back");
        }
    }

    async fn newest(&self, InSession { caller, .. }: &InSession) -> Option<i64> {
        self.0.pipeline().outbox().newest_notice(caller.agent()).await.ok()
    }

    async fn lands(&self, InSession { caller, .. }: &InSession, after: i64) -> Option<i64> {
        let outbox = self.0.pipeline().outbox().clone();
        let mut changes = outbox.changes();
        loop {
            let newest = outbox.newest_notice(caller.agent()).await.ok()?;
            if newest > after {
                // A caller whose token was revoked meanwhile is told nothing more.
                return agents::stands(&self.0.0.store, caller).await.ok()?.then_some(newest);
            }
            match changes.recv().await {
                // Missed ones make no difference: the inbox is read anew.
                Ok(_) | Err(RecvError::Lagged(_)) => tokio::time::sleep(GATHER_TIME).await,
                Err(RecvError::Closed) => return None,
            }
            while !matches!(changes.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {}
        }
    }

    async fn read(&self, whose: &InSession, uri: &str) -> Result<Value, Value> {
        self.tools(whose).read(uri).await.map_err(|refusal| tool::refused(&refusal))
    }
}
