//! Releases of companions' firmware and their roll-outs, for the operator.

use std::time::Duration;

use axum::{
    Json,
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use gatepost_link::update::Version;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    Endpoint,
    companions::OPERATOR,
    problem::Refused,
    query,
    server::{self, Unread},
};
use crate::{
    intake::message_service,
    message::refusal::{Code, Refusal},
    updates::{
        hub::{
            asking::{AskError, HubView},
            request::Wished,
        },
        operate::{Order, OrderError},
        overview::Overview,
        releases::{AddError, MAX_FILE},
        store::Release,
    },
};

/// How long a file may take to come.
const FILE_TIMEOUT: Duration = Duration::from_secs(60);
/// Companions that can be named.
const MAX_NAMES: usize = 64;

/// Releases that are added at once: each is some megabytes in memory.
pub(super) const ADDED_AT_ONCE: usize = 1;

/// Releases, what is rolled out, and how far the companions are.
#[derive(Debug, Serialize, ToSchema)]
struct Updates {
    /// Always true.
    ok: bool,
    #[serde(flatten)]
    overview: Overview,
    /// The hub's own program.
    hub: HubView,
}

/// A release that was added.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AddedRelease)]
struct Added {
    /// Always true.
    ok: bool,
    board: String,
    version: String,
}

/// Which release goes to whom.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RollOut {
    /// The release's version.
    version: String,
    /// For this board alone; for all that have a release of this version otherwise.
    #[serde(default)]
    board: Option<String>,
    /// To these companions alone, by name or key, in this order.
    #[serde(default)]
    #[schema(max_items = 64)]
    to: Vec<String>,
    /// Without waiting for `[updates] hours`, nor for the first companion to prove it.
    #[serde(default)]
    now: bool,
    /// To companions on which it went back as well.
    #[serde(default)]
    again: bool,
}

/// What is rolled out from now on.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RolledOut)]
struct Begun {
    /// Always true.
    ok: bool,
    version: String,
    /// The boards that get it.
    boards: Vec<String>,
    /// Those of them whose roll-out was paused: that is over.
    resumed: Vec<String>,
}

/// To which version the hub is to be updated.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RollOutHub {
    /// The version; the newest that there is without it.
    #[serde(default)]
    version: Option<String>,
}

/// What was asked of the helper that updates the hub.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AskedHubUpdate)]
struct Asked {
    /// Always true.
    ok: bool,
    hub: HubView,
}

/// Roll-outs that rest, or go on.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RestedRollOuts)]
struct Rested {
    /// Always true.
    ok: bool,
    /// How many.
    roll_outs: usize,
}

/// Releases of companions' firmware, what is rolled out, how far each companion is, and the hub's own update. For the operator.
#[utoipa::path(
    get,
    path = "/v1/updates",
    responses((status = OK, body = Updates)),
)]
pub(super) async fn show(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| {
            let overview = endpoint.0.updates.overview().await.map_err(message_service::broken)?;
            let hub = endpoint.0.hub_update.view();
            Ok(Json(Updates { ok: true, overview, hub }).into_response())
        })
        .await
}

/// Adds a release, as the body: it is verified by the hub's root, and kept. For the operator.
#[utoipa::path(
    post,
    path = "/v1/updates",
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "A signed release (.gpu), of 4 MiB at most."),
    responses((status = CREATED, body = Added), Refused<409>, Refused<422>, Refused<429>, Refused<503>),
)]
pub(super) async fn add(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, request| {
            let busy = || {
                let error = "another release is being added";
                Refusal::new(Code::RateLimited, error, "send it again when that has ended")
            };
            let _one = endpoint.0.releases.try_acquire().map_err(|_| busy())?;
            let file = server::read(request.into_body(), MAX_FILE, FILE_TIMEOUT).await.map_err(unread)?;
            let release = endpoint.0.updates.add(file, &caller.to_string()).await.map_err(not_added)?;
            let Release { board, version, .. } = release;
            let added = Added { ok: true, board, version: version.to_string() };
            Ok((StatusCode::CREATED, Json(added)).into_response())
        })
        .await
}

/// Which image is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// The board, such as `esp32c3`.
    board: String,
}

/// The firmware of a board's newest release, as it lies in a slot of the board's flash: what `gatepost companion install` writes. For
/// the operator.
#[utoipa::path(
    get,
    path = "/v1/updates/image",
    params(Wanted),
    responses((status = OK, description = "Its bytes.", body = Vec<u8>, content_type = "application/octet-stream"), Refused<404>, Refused<409>),
)]
pub(super) async fn image(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, request| {
            let Wanted { board } = query::read(&request)?;
            let image = endpoint.0.updates.image(board).await.map_err(message_service::broken)?;
            let hint = "add one: gatepost ota add FILE.gpu";
            let image = image.ok_or_else(|| {
                Refusal::new(Code::NotFound, "the hub has no release of firmware for this board", hint)
            })?;
            let image = image.map_err(|why| Refusal::new(Code::Conflict, why, hint))?;
            Ok(([(header::CONTENT_TYPE, "application/octet-stream")], image).into_response())
        })
        .await
}

/// Rolls a release out: one companion first, the others once it has proved it. What was paused on its boards goes on. For the operator.
#[utoipa::path(
    post,
    path = "/v1/updates/roll-out",
    request_body(content = RollOut, example = json!({"version": "1.4.0", "to": ["hall"]})),
    responses((status = OK, body = Begun), Refused<404>, Refused<409>),
)]
pub(super) async fn roll_out(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, request| {
            let RollOut { version, board, to, now, again } = endpoint.json(request).await?;
            let version = Version::new(&version).ok_or_else(|| {
                Refusal::input("this is no version", "a version is three numbers, such as 1.4.0")
            })?;
            if to.len() > MAX_NAMES {
                return Err(Refusal::input(
                    format!("at most {MAX_NAMES} companions are named"),
                    "name fewer",
                ));
            }
            let order = Order { version, board, to, now, again };
            let begun = endpoint.0.updates.roll_out(order, &caller.to_string()).await.map_err(not_ordered)?;
            let resumed = begun.iter().filter(|one| one.ends_pause).map(|one| one.release.board.clone());
            let resumed = resumed.collect();
            let boards = begun.into_iter().map(|one| one.release.board).collect();
            Ok(Json(Begun { ok: true, version: version.to_string(), boards, resumed }).into_response())
        })
        .await
}

/// Has the hub itself updated, as its package or its image: a helper of root's verifies, installs, and goes back if the hub is not well
/// afterwards. The hub restarts meanwhile; `GET /v1/updates` shows how far it is. For the operator.
#[utoipa::path(
    post,
    path = "/v1/updates/hub",
    request_body(content = RollOutHub, example = json!({"version": "1.4.0"})),
    responses((status = ACCEPTED, body = Asked), Refused<409>, Refused<503>),
)]
pub(super) async fn roll_out_hub(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, request| {
            let RollOutHub { version } = endpoint.json(request).await?;
            let wished = |text: String| {
                Wished::new(&text).ok_or_else(|| {
                    Refusal::input("this is no version", "a version is three numbers, such as 1.4.0")
                })
            };
            let version = version.map(wished).transpose()?;
            endpoint.0.hub_update.ask(version, &caller.to_string()).await.map_err(not_asked)?;
            let hub = endpoint.0.hub_update.view();
            Ok((StatusCode::ACCEPTED, Json(Asked { ok: true, hub })).into_response())
        })
        .await
}

/// Lets every roll-out rest: what is offered is offered no more. A companion that restarts with a release goes on. For the operator.
#[utoipa::path(
    post,
    path = "/v1/updates/pause",
    responses((status = OK, body = Rested), Refused<409>),
)]
pub(super) async fn pause(State(endpoint): State<Endpoint>, request: Request) -> Response {
    rest(endpoint, request, true).await
}

/// Lets every roll-out go on that was paused. For the operator.
#[utoipa::path(
    post,
    path = "/v1/updates/resume",
    responses((status = OK, body = Rested), Refused<409>),
)]
pub(super) async fn resume(State(endpoint): State<Endpoint>, request: Request) -> Response {
    rest(endpoint, request, false).await
}

async fn rest(endpoint: Endpoint, request: Request, paused: bool) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, _| {
            let rested = endpoint.0.updates.rest(paused, &caller.to_string()).await;
            Ok(Json(Rested { ok: true, roll_outs: rested.map_err(not_ordered)? }).into_response())
        })
        .await
}

fn unread(unread: Unread) -> Refusal {
    match unread {
        Unread::TooLong => not_added(AddError::TooLong),
        Unread::OverBudget => {
            Refusal::new(Code::RateLimited, "too much is being sent to the hub", "send it again later")
        }
        Unread::Broken => Refusal::input("the file broke off", "send it again").because("broken_body"),
        Unread::Slow => {
            Refusal::input("the file did not come in time", "send it faster").because("slow_body")
        }
    }
}

fn not_added(error: AddError) -> Refusal {
    let text = error.to_string();
    match error {
        AddError::NoRoot | AddError::Taken(..) | AddError::Full => {
            Refusal::new(Code::Conflict, text, "nothing was stored")
        }
        AddError::TooLong => Refusal::new(Code::TooLarge, text, "send the file of one release"),
        AddError::Roots(_) | AddError::Product(_) | AddError::OtherVersion(..) | AddError::Expired(_) => {
            Refusal::input(text, "nothing was stored; get the release from those who sign it")
        }
        AddError::Disk(..) => Refusal::new(Code::ExecutionFailed, text, "look after the hub's disk"),
        AddError::Store(error) => message_service::broken(error),
    }
}

fn not_asked(error: AskError) -> Refusal {
    let text = error.to_string();
    match error {
        AskError::ByHand | AskError::Elsewhere(_) | AskError::NoBundle(_) | AskError::UnderWay(_) => {
            Refusal::new(Code::Conflict, text, "nothing was asked for")
        }
        AskError::Disk(_) => Refusal::new(Code::ExecutionFailed, text, "look after the hub's disk"),
        AskError::Store(error) => message_service::broken(error),
    }
}

fn not_ordered(error: OrderError) -> Refusal {
    let text = error.to_string();
    match error {
        OrderError::NoRelease(_) | OrderError::NoCompanion(_) => {
            Refusal::new(Code::NotFound, text, "nothing was rolled out")
        }
        OrderError::Expired(..) | OrderError::OtherBoard(..) => {
            Refusal::new(Code::Conflict, text, "nothing was rolled out")
        }
        OrderError::Nothing(_) => {
            Refusal::new(Code::Conflict, text, "gatepost ota status shows what is rolled out")
        }
        OrderError::Store(error) => message_service::broken(error),
    }
}
