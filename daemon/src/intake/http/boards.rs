//! Boards on this machine's serial ports, for the operator: what `gatepost companion install` does, from the page.

use std::path::PathBuf;

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;
use utoipa::ToSchema;

use super::{
    Endpoint,
    caller::unquoted,
    companions::OPERATOR,
    problem::Refused,
    progress::{as_they_come, event},
};
use crate::{
    installer::{self, Flasher, Image, InstallError, Step, Wifi, target},
    message::refusal::{Code, Refusal},
    settings::secret::Secret,
};

/// Boards that are written at once.
pub(super) const INSTALLED_AT_ONCE: usize = 1;
/// Steps that wait for a caller who reads slowly; what more there is of them is not told.
const STEPS: usize = 256;
/// Bytes of the longest path of a port.
const LONGEST_PORT: usize = 255;

/// Where a board may be, and where it would find the hub.
#[derive(Debug, Serialize, ToSchema)]
struct Boards {
    /// Always true.
    ok: bool,
    /// The serial ports that the hub sees.
    ports: Vec<String>,
    /// Where a board finds the hub's MQTT broker, `HOST:PORT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    broker: Option<String>,
    /// Why nobody can say where.
    #[serde(skip_serializing_if = "Option::is_none")]
    broker_unknown_because: Option<String>,
}

/// What a board is to become.
// Without Debug: it has a password in it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Install {
    /// The serial port that it is on, such as one in `/dev/serial/by-id`.
    port: String,
    /// The wireless network's name; the one that it has already, if none is given.
    #[serde(default)]
    #[schema(max_length = 32)]
    network: Option<String>,
    /// The network's password; none for an open one.
    #[serde(default)]
    #[schema(max_length = 63)]
    password: Option<String>,
    /// Where it finds the hub's MQTT broker, `HOST:PORT`, if not where the hub thinks.
    #[serde(default)]
    broker: Option<String>,
    /// Write no firmware: it is a companion already.
    #[serde(default)]
    keep_firmware: bool,
}

/// Serial ports that a board may be on. For the operator.
#[utoipa::path(
    get,
    path = "/v1/boards",
    responses((status = OK, body = Boards)),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| {
            let ports = target::ports().iter().map(|port| port.display().to_string()).collect();
            let (broker, broker_unknown_because) = match target::broker(&endpoint.0.broker) {
                Ok(broker) => (Some(broker), None),
                Err(error) => (None, Some(error.to_string())),
            };
            Ok(Json(Boards { ok: true, ports, broker, broker_unknown_because }).into_response())
        })
        .await
}

/// Writes the newest firmware into a board, and tells it its network and the hub. It is told step by step, as events `step`; the last one
/// is `done`, or `failed` with what to do. Who hangs up stops it. The board is paired by `POST /v1/pairing` then. For the operator.
#[utoipa::path(
    post,
    path = "/v1/boards",
    request_body(content = Install, example = json!({"port": "/dev/ttyACM0", "network": "home", "password": "…"})),
    responses((status = OK, description = "What happens.", content((String = "text/event-stream"))), Refused<409>, Refused<429>),
)]
pub(super) async fn install(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, request| {
            let order: Install = endpoint.json(request).await.map_err(|refusal| {
                let hint = "send port, and network, password, broker and keep_firmware where they are needed, each text but the last";
                unquoted(refusal, "this says of no board what it is to become", hint)
            })?;
            let port = port(&order.port)?;
            let hub = match order.broker {
                Some(given) => given,
                None => target::broker(&endpoint.0.broker).map_err(|error| {
                    Refusal::new(
                        Code::Conflict,
                        error.to_string(),
                        "or say where a board finds it as `broker`",
                    )
                })?,
            };
            let flasher = Flasher::find(&port).map_err(|error| {
                Refusal::new(Code::Conflict, error.to_string(), "see daemon/docs/approve.md")
            })?;
            let turn = endpoint.0.boards.clone().try_acquire_owned().map_err(|_| {
                let hint = "wait for its end";
                Refusal::new(Code::RateLimited, "a board is being installed", hint).because("boards")
            })?;
            if order.network.is_none() && order.password.is_some() {
                return Err(Refusal::input("there is a password and no network", "say the network too"));
            }
            let password = order.password.unwrap_or_default();
            let wifi = order.network.map(|name| Wifi { name, password: Secret::from(password.as_str()) });
            installer::check(&flasher, &hub, wifi.as_ref()).await.map_err(|error| match error {
                InstallError::Failed(why) => {
                    Refusal::input(why, "nothing was written: say it again, and right")
                }
                error => Refusal::new(Code::Conflict, error.to_string(), "see daemon/docs/approve.md"),
            })?;
            tracing::info!(port = %port.display(), %caller, "begins to install a board");
            let firmware = !order.keep_firmware;
            let (told, telling) = mpsc::channel(STEPS);
            let endpoint = endpoint.clone();
            tokio::spawn(async move {
                let _turn = turn;
                let tell = |step: Step| drop(told.try_send(event("step", &json!(step))));
                let work = work(&endpoint, &flasher, firmware, &hub, wifi, tell);
                // Dropped if nobody listens any more, and the program ends with it.
                let done = tokio::select! {
                    done = work => done,
                    () = told.closed() => return,
                };
                let last = match done {
                    Ok(()) => event("done", &json!({"ok": true})),
                    Err(error) => event("failed", &json!({"ok": false, "error": error})),
                };
                drop(told.send(last).await);
            });
            Ok(as_they_come(telling))
        })
        .await
}

/// A serial port, and nothing else that a path may lead to; as it was given, for a link in /dev/serial/by-id leads to the board when it comes
/// back after its restart too, and under another number.
fn port(given: &str) -> Result<PathBuf, Refusal> {
    let port = PathBuf::from(given);
    (given.len() <= LONGEST_PORT && target::is_port(&port)).then_some(port).ok_or_else(|| {
        let hint = "choose one of GET /v1/boards; a hub that runs as a service sees none unless it is let: daemon/docs/approve.md";
        Refusal::input("there is no such serial port", hint)
    })
}

async fn work(
    endpoint: &Endpoint,
    flasher: &Flasher,
    firmware: bool,
    hub: &str,
    wifi: Option<Wifi>,
    tell: impl Fn(Step),
) -> Result<(), String> {
    let failed = |error: InstallError| error.to_string();
    if firmware {
        let board = installer::detect(flasher).await.map_err(failed)?;
        tell(Step::Board { board: board.clone() });
        let image = endpoint.0.updates.image(board).await.map_err(|error| error.to_string())?;
        let add = "gatepost ota add FILE.gpu";
        let image =
            image.ok_or_else(|| format!("the hub has no release of firmware for this board: {add}"))??;
        installer::write(flasher, Image::Bytes(&image), &tell).await.map_err(failed)?;
    }
    installer::set_up(flasher, hub, wifi.as_ref(), &tell).await.map_err(failed)
}
