//! Tokens and agents, for the operator.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::{Endpoint, caller, messages::bounded, problem::Refused};
use crate::{
    admission::dry_run::DryRun,
    agents::{self, AgentError, Role},
    approval::mute::LONGEST,
    channels::registry,
    intake::{
        message_service::{self, broken},
        views::time,
    },
    message::{
        call::Call,
        refusal::{Code, Refusal},
        target::Destination,
    },
    pipeline::Pipeline,
    policy::{Allowlist, CrossContext, Rights},
};

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct New {
    /// Whose; for an agent, the name of its section in the configuration.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,40}$")]
    name: String,
    role: Role,
}

/// A new token. This is the one time that it is seen.
#[derive(Debug, Serialize, ToSchema)]
struct Added {
    /// Always true.
    ok: bool,
    name: String,
    role: Role,
    token: String,
    /// False for an agent that the configuration does not know: it may send nothing.
    configured: bool,
}

/// A token's holder, or an agent of the configuration, and what it may do.
#[derive(Debug, Serialize, ToSchema)]
struct AgentView {
    name: String,
    role: Role,
    /// When its token was made; null without one.
    created_at: Option<String>,
    /// Whether the configuration has a section for it.
    configured: bool,
    /// Targets that it may write to.
    allow: Vec<String>,
    /// Targets that it may write to, but out of context only after a person approved.
    hold: Vec<String>,
    /// What happens to what leaves its conversation; null of what the configuration does not know.
    cross_context: Option<CrossContext>,
    /// How many of its cards people were asked about within the last hour.
    cards: u32,
    /// How many that may be; 0 for as many as come.
    cards_per_hour: u32,
    /// Until when nobody is asked about its messages.
    muted_until: Option<String>,
}

/// Whose tokens there are, and which agents.
#[derive(Debug, Serialize, ToSchema)]
struct Agents {
    /// Always true.
    ok: bool,
    agents: Vec<AgentView>,
}

/// A message that is only looked at.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Trial {
    /// Where it would go, as the `message` tool takes it.
    #[schema(min_length = 1, max_length = 1000)]
    to: String,
    /// What it would say.
    #[serde(default)]
    #[schema(max_length = 4096)]
    message: Option<String>,
    /// The conversation of its turn, as `channel:address`; none where it is left out.
    #[serde(default)]
    #[schema(max_length = 1000)]
    origin: Option<String>,
}

/// For how long nobody is asked about an agent's messages.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Mute {
    /// From now on; 0 ends it.
    #[schema(maximum = 86400)]
    seconds: u64,
}

/// Until when nobody is asked about an agent's messages.
#[derive(Debug, Serialize, ToSchema)]
struct Muted {
    /// Always true.
    ok: bool,
    muted_until: Option<String>,
}

/// It is done.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Done {
    /// Always true.
    pub(super) ok: bool,
}

const OPERATOR: &[Role] = &[Role::Operator];

/// Whose tokens there are, and which agents the configuration has, with or without one. For the operator.
#[utoipa::path(
    get,
    path = "/v1/agents",
    responses((status = OK, body = Agents)),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| {
            let tokens = agents::list(&endpoint.0.store).await.map_err(refused)?;
            let pipeline = endpoint.pipeline();
            let approvals = pipeline.approvals();
            let cards: HashMap<String, u32> =
                approvals.cards_of_the_hour().await.map_err(broken)?.into_iter().collect();
            let muted = approvals.muted().await.map_err(broken)?;
            let mut all: BTreeMap<&str, AgentView> = BTreeMap::new();
            for name in tokens
                .iter()
                .map(|token| token.name.as_str())
                .chain(pipeline.configured().map(|(name, _)| name))
            {
                all.entry(name).or_insert_with(|| AgentView {
                    cards: cards.get(name).copied().unwrap_or(0),
                    cards_per_hour: approvals.terms().cards_per_hour,
                    muted_until: muted.get(name).copied().map(time),
                    ..AgentView::of(name, &pipeline)
                });
            }
            for token in &tokens {
                if let Some(view) = all.get_mut(token.name.as_str()) {
                    (view.role, view.created_at) = (token.role, Some(time(token.created_at.0)));
                }
            }
            Ok(Json(Agents { ok: true, agents: all.into_values().collect() }).into_response())
        })
        .await
}

impl AgentView {
    /// What the configuration says of it.
    fn of(name: &str, pipeline: &Pipeline) -> Self {
        let rights = pipeline.rights(name);
        let list = |of: fn(&Rights) -> &Allowlist| {
            rights.map_or_else(Vec::new, |rights| of(rights).iter().map(ToString::to_string).collect())
        };
        Self {
            name: name.to_owned(),
            role: Role::Agent,
            created_at: None,
            configured: rights.is_some(),
            allow: list(|rights| &rights.allow),
            hold: list(|rights| &rights.hold),
            cross_context: rights.map(|rights| rights.cross_context),
            cards: 0,
            cards_per_hour: 0,
            muted_until: None,
        }
    }
}

/// Says what the rules would say of a message of an agent's, and does nothing. For the operator.
///
/// It is judged as a call of the agent's is, in a turn of the conversation `origin` or in none. Hooks are not asked.
#[utoipa::path(
    post,
    path = "/v1/agents/{name}/try",
    params(("name" = String, Path, description = "The agent.")),
    request_body(content = Trial, example = json!({"to": "local:team", "message": "The build is green."})),
    responses((status = OK, body = DryRun), Refused<404>, Refused<422>),
)]
pub(super) async fn dry_run(
    State(endpoint): State<Endpoint>,
    name: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, request| {
            let (name, Trial { to, message, origin }) = (caller::path(name)?, endpoint.json(request).await?);
            let pipeline = endpoint.pipeline();
            known(&endpoint, &name).await?;
            let call = json!({"to": to, "message": message.as_deref().unwrap_or("A text."), "dryRun": true});
            let call = Call::parse(&call, &registry::TARGETS)?;
            let origin = origin.map(|origin| {
                Destination::parse(&origin, &registry::TARGETS).map_err(|error| {
                    Refusal::input(error.to_string(), "write it as channel:address").because("origin")
                })
            });
            let said = match pipeline.try_as(&name, call, origin.transpose()?.as_ref()).await {
                // To whom a channel is closed nothing is said of its accounts: what its agent would be told is the answer.
                Err(refusal) if refusal.reason == Some("not_allowed") => DryRun::denied(refusal, to),
                said => said?,
            };
            Ok(Json(said).into_response())
        })
        .await
}

/// Has nobody asked about an agent's messages for a while, or ends that. They are held all the same, and wait; cards that people see
/// stay. For the operator.
#[utoipa::path(
    post,
    path = "/v1/agents/{name}/mute",
    params(("name" = String, Path, description = "The agent.")),
    request_body(content = Mute, example = json!({"seconds": 3600})),
    responses((status = OK, body = Muted), Refused<404>),
)]
pub(super) async fn mute(
    State(endpoint): State<Endpoint>,
    name: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, request| {
            let (name, Mute { seconds }) = (caller::path(name)?, endpoint.json(request).await?);
            let seconds = bounded("seconds", Some(seconds), 0, LONGEST.as_secs())?;
            known(&endpoint, &name).await?;
            let pipeline = endpoint.pipeline();
            let until =
                pipeline.approvals().mute(&name, Duration::from_secs(seconds), &caller.to_string()).await;
            Ok(Json(Muted { ok: true, muted_until: until.map_err(broken)?.map(time) }).into_response())
        })
        .await
}

/// Refuses a name that is neither an agent's of the configuration nor that of an agent with a token.
async fn known(endpoint: &Endpoint, name: &str) -> Result<(), Refusal> {
    if endpoint.pipeline().knows(name) {
        return Ok(());
    }
    match agents::has_token(&endpoint.0.store, name).await.map_err(refused)? {
        true => Ok(()),
        false => Err(Refusal::new(Code::NotFound, "there is no such agent", "see GET /v1/agents")),
    }
}

/// Makes a token. For the operator.
#[utoipa::path(
    post,
    path = "/v1/agents",
    request_body = New,
    responses((status = CREATED, body = Added), Refused<409>),
)]
pub(super) async fn add(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, request| {
            let New { name, role } = endpoint.json(request).await?;
            let token =
                agents::add(&endpoint.0.store, &name, role, &caller.to_string()).await.map_err(refused)?;
            let configured = role != Role::Agent || endpoint.pipeline().knows(&name);
            let added = Added { ok: true, name, role, token, configured };
            Ok((StatusCode::CREATED, Json(added)).into_response())
        })
        .await
}

/// Takes a token away. For the operator.
#[utoipa::path(
    delete,
    path = "/v1/agents/{name}",
    params(("name" = String, Path, description = "Whose.")),
    responses((status = OK, body = Done), Refused<404>, Refused<409>),
)]
pub(super) async fn revoke(
    State(endpoint): State<Endpoint>,
    name: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, _| {
            let name = caller::path(name)?;
            if name == caller.name {
                // Nobody would be left to make another.
                let error = "this is the token that the call is made with";
                return Err(Refusal::new(Code::Conflict, error, "have another operator revoke it"));
            }
            agents::revoke(&endpoint.0.store, &name, &caller.to_string()).await.map_err(refused)?;
            Ok(Json(Done { ok: true }).into_response())
        })
        .await
}

fn refused(error: AgentError) -> Refusal {
    let text = error.to_string();
    match error {
        AgentError::Name(_) | AgentError::Reserved(_) => Refusal::input(text, "choose another name"),
        AgentError::Exists(_) => Refusal::new(Code::Conflict, text, "revoke it, or choose another name"),
        AgentError::Missing(_) => Refusal::new(Code::NotFound, text, "see GET /v1/agents"),
        AgentError::Store(error) => message_service::broken(error),
    }
}
