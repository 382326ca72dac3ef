//! How accounts are set up on each channel, for the operator.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Endpoint, caller, companions::OPERATOR, problem::Refused};
use crate::{
    channels::registry::{KINDS, NAMES, kind},
    message::refusal::{Code, Refusal},
};

/// A channel that an account can be set up on.
#[derive(Debug, Serialize, ToSchema)]
struct ChannelKind {
    channel: &'static str,
    /// What an account is there, in a few words.
    account: &'static str,
}

/// All channels that the hub knows.
#[derive(Debug, Serialize, ToSchema)]
struct ChannelKinds {
    /// Always true.
    ok: bool,
    guides: Vec<ChannelKind>,
}

/// How an account is set up.
#[derive(Debug, Serialize, ToSchema)]
struct ChannelGuide {
    /// Always true.
    ok: bool,
    #[serde(flatten)]
    of: ChannelKind,
    /// The steps, as Markdown: at the platform, where the secret goes, and what to write into the configuration.
    guide: &'static str,
}

/// Which channels there are to set up. For the operator.
#[utoipa::path(
    get,
    path = "/v1/channels/guides",
    responses((status = OK, body = ChannelKinds)),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| {
            let guides =
                KINDS.iter().map(|kind| ChannelKind { channel: kind.name, account: kind.title() }).collect();
            Ok(Json(ChannelKinds { ok: true, guides }).into_response())
        })
        .await
}

/// How an account is set up on a channel. For the operator.
#[utoipa::path(
    get,
    path = "/v1/channels/guides/{channel}",
    params(("channel" = String, Path, description = "The channel's name.")),
    responses((status = OK, body = ChannelGuide), Refused<404>),
)]
pub(super) async fn show(
    State(endpoint): State<Endpoint>,
    channel: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| {
            let kind = kind(&caller::path(channel)?).ok_or_else(|| {
                let hint = format!("channels are: {}", NAMES.join(", "));
                Refusal::new(Code::NotFound, "there is no such channel", hint)
            })?;
            let of = ChannelKind { channel: kind.name, account: kind.title() };
            Ok(Json(ChannelGuide { ok: true, of, guide: kind.setup }).into_response())
        })
        .await
}
