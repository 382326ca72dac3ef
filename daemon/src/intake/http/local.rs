//! The `local` inbox, for the person at the shell.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Endpoint, messages::bounded, query};
use crate::{agents::Role, channels::local, intake::message_service};

/// Parts of one look, at most.
const MOST: u32 = 1_000;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// For this address alone.
    address: Option<String>,
    /// The number of the last one that was read.
    after: Option<i64>,
    /// Only the newest, so many.
    #[param(maximum = 1000)]
    last: Option<u32>,
}

/// What arrived, oldest first.
#[derive(Debug, Serialize, ToSchema)]
struct Inbox {
    /// Always true.
    ok: bool,
    arrived: Vec<local::Arrived>,
}

/// The `local` inbox. For the operator.
#[utoipa::path(
    get,
    path = "/v1/local",
    params(Which),
    responses((status = OK, body = Inbox)),
)]
pub(super) async fn read(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Operator], request, async |_, request| {
            let which: Which = query::read(&request)?;
            let last = bounded("last", which.last, 0, MOST)?;
            let (store, after) = (&endpoint.0.store, which.after.unwrap_or(0));
            let arrived = match which.last {
                Some(_) => local::newest(store, which.address, after, last).await,
                None => local::read(store, which.address, after, MOST).await,
            };
            let arrived = arrived.map_err(message_service::broken)?;
            Ok(Json(Inbox { ok: true, arrived }).into_response())
        })
        .await
}
