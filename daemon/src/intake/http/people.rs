//! People: who writes, who asks to be let in, and whom the operator lets in or shuts out.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Endpoint, caller, messages::listed, problem::Refused, query};
use crate::{
    agents::Role,
    intake::message_service::broken,
    message::refusal::{Code, Refusal},
    people::{
        BadId,
        requests::{self, Request as AccessRequest},
        user_id_of, users,
    },
    plain_text::one_line,
    policy::Scope,
    sessions::{place, transcript},
    store::{StoreError, now_ms},
};

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Page {
    /// How many; 50 where it is left out.
    #[param(maximum = 1000)]
    limit: Option<u32>,
}

/// Somebody who wrote, as the operator is told.
#[derive(Debug, Serialize, ToSchema)]
struct PersonView {
    #[serde(flatten)]
    user: users::User,
    /// Their name in the configuration.
    person: Option<String>,
    /// How far they are trusted.
    scope: Scope,
}

/// Those who wrote, the last first, and requests that are open.
#[derive(Debug, Serialize, ToSchema)]
struct People {
    /// Always true.
    ok: bool,
    people: Vec<PersonView>,
    /// Requests that nobody has answered.
    requests: Vec<AccessRequest>,
}

/// Who writes to agents, and who asks to be let in. For the operator.
#[utoipa::path(
    get,
    path = "/v1/people",
    params(Page),
    responses((status = OK, body = People)),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Operator], request, async |_, request| {
            let page: Page = query::read(&request)?;
            let limit = listed(page.limit)?;
            let pipeline = endpoint.pipeline();
            let read = pipeline.outbox().store().read(move |db| {
                Ok::<_, StoreError>((users::list(db, limit)?, requests::list(db, true, now_ms(), limit)?))
            });
            let (users, requests) = read.await.map_err(broken)?;
            let view = |user: users::User| {
                let person = pipeline.person(&user.id);
                let also = user.same_as.iter().find_map(|id| pipeline.person(id));
                let own = person.map(|person| person.scope).or(user.granted);
                let said = users::both(own, also.map(|person| person.scope));
                let person = person.or(also);
                let scope = pipeline.scope_of_posted(&user.id, said).or(said).unwrap_or(Scope::Unknown);
                PersonView { person: person.map(|person| person.name.clone()), scope, user }
            };
            let people = users.into_iter().map(view).collect();
            Ok(Json(People { ok: true, people, requests }).into_response())
        })
        .await
}

/// The answer to a request.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AccessAnswer)]
struct Answer {
    /// Whether they are let in.
    allow: bool,
}

/// A request that was answered.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AccessAnswered)]
struct Answered {
    /// Always true.
    ok: bool,
    request: AccessRequest,
}

/// Lets in who asks by this code, or refuses; what they wrote meanwhile goes its way, or goes. For the operator.
#[utoipa::path(
    post,
    path = "/v1/people/requests/{code}",
    params(("code" = String, Path, description = "The request's code.")),
    request_body = Answer,
    responses((status = OK, body = Answered), Refused<404>),
)]
pub(super) async fn answer(
    State(endpoint): State<Endpoint>,
    code: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(&[Role::Operator], request, async |caller, request| {
            let (code, answer) = (caller::path(code)?, endpoint.json::<Answer>(request).await?);
            let answered = endpoint.pipeline().answer_access(&code, answer.allow, &caller.to_string()).await;
            let request = answered.map_err(broken)?.ok_or_else(|| {
                let error = "no request is open by this code";
                Refusal::new(Code::NotFound, error, "see gatepost people requests, or GET /v1/people")
            })?;
            Ok(Json(Answered { ok: true, request }).into_response())
        })
        .await
}

/// What is granted to somebody.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Grant {
    /// Their id, such as `tg:123456`.
    user: String,
    /// `known`, `owner` or `blocked`; `unknown` takes back what was granted.
    scope: Scope,
}

/// What was granted.
#[derive(Debug, Serialize, ToSchema)]
struct Granted {
    /// Always true.
    ok: bool,
    /// The id.
    user: String,
    /// What holds from here on.
    scope: Scope,
}

/// Lets somebody in, shuts them out, or takes back what was granted. What the configuration says of them comes before it. For the
/// operator.
#[utoipa::path(
    post,
    path = "/v1/people",
    request_body = Grant,
    responses((status = OK, body = Granted), Refused<409>),
)]
pub(super) async fn grant(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Operator], request, async |caller, request| {
            let Grant { user, scope } = endpoint.json(request).await?;
            let pipeline = endpoint.pipeline();
            let user = match user_id_of(&user) {
                Err(BadId::Nobodys { written, why }) => {
                    // A bridge may know people by ids of its own: who was heard can be shut out by what the list shows.
                    let heard = pipeline.outbox().store().read({
                        let written = written.clone();
                        move |db| users::has_written(db, &written)
                    });
                    match heard.await.map_err(broken)? {
                        true => written,
                        false => {
                            let error = format!("{:?} can be nobody's id", one_line(&written, 80));
                            return Err(Refusal::input(error, why).because("bad_id"));
                        }
                    }
                }
                Err(error @ BadId::Channel { .. }) => {
                    let hint = "begin with a channel's name, with tg for Telegram, or with phone for a telephone number";
                    return Err(Refusal::input(one_line(&error.to_string(), 200), hint).because("unknown_channel"));
                }
                Err(BadId::Shape(_)) => {
                    let error = "this is no id of a user";
                    return Err(Refusal::input(error, "write channel:id, such as tg:123456"));
                }
                Ok(user) => user,
            };
            if let Some(person) = pipeline.person(&user) {
                let error =
                    format!("the configuration has {user} as {}: [people.{}]", person.scope, person.name);
                return Err(Refusal::new(Code::Conflict, error, "change it there, and reload"));
            }
            pipeline.grant(&user, scope, &caller.to_string()).await.map_err(broken)?;
            Ok(Json(Granted { ok: true, user, scope }).into_response())
        })
        .await
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OfSession {
    /// Whose; the operator may ask for anybody's.
    agent: Option<String>,
    /// The session.
    session: String,
    /// How many, the newest; 50 where it is left out.
    #[param(maximum = 1000)]
    limit: Option<u32>,
}

/// What was said in a session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionLines)]
struct Lines {
    /// Always true.
    ok: bool,
    /// Oldest first.
    lines: Vec<transcript::Line>,
}

/// What was said in a session of an agent, both ways, oldest first.
#[utoipa::path(
    get,
    path = "/v1/sessions/transcript",
    params(OfSession),
    responses((status = OK, body = Lines), Refused<400>, Refused<403>),
)]
pub(super) async fn lines(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Agent, Role::Operator], request, async |caller, request| {
            let wanted: OfSession = query::read(&request)?;
            let limit = listed(wanted.limit)?;
            let agent = match wanted.agent {
                Some(agent) if caller.role == Role::Operator || agent == caller.name => agent,
                Some(_) => {
                    let hint = "leave agent out, for your own";
                    return Err(Refusal::new(Code::Forbidden, "this is another agent's session", hint));
                }
                None => caller.agent().to_owned(),
            };
            let pipeline = endpoint.pipeline();
            let store = pipeline.outbox().store();
            let read = store.read(move |db| transcript::read(db, &agent, &wanted.session, limit));
            Ok(Json(Lines { ok: true, lines: read.await.map_err(broken)? }).into_response())
        })
        .await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OfAgent {
    /// Whose; the operator may leave it out, for all.
    agent: Option<String>,
    /// How many; 50 where it is left out.
    #[param(maximum = 1000)]
    limit: Option<u32>,
}

/// Sessions.
#[derive(Debug, Serialize, ToSchema)]
struct Sessions {
    /// Always true.
    ok: bool,
    sessions: Vec<place::Session>,
}

/// Where an agent speaks with whom: its sessions, those first in which somebody spoke last.
#[utoipa::path(
    get,
    path = "/v1/sessions",
    params(OfAgent),
    responses((status = OK, body = Sessions)),
)]
pub(super) async fn sessions(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Agent, Role::Operator], request, async |caller, request| {
            let wanted: OfAgent = query::read(&request)?;
            let limit = listed(wanted.limit)?;
            let agent = match caller.role {
                Role::Operator => wanted.agent,
                _ => Some(caller.name.clone()),
            };
            let pipeline = endpoint.pipeline();
            let read = pipeline.outbox().store().read(move |db| place::list(db, agent.as_deref(), limit));
            Ok(Json(Sessions { ok: true, sessions: read.await.map_err(broken)? }).into_response())
        })
        .await
}
