//! The last 24 hours in numbers, for a person. What programs read is [`super::metrics`].

use std::time::{Duration, Instant};

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use tokio::sync::Mutex;
use utoipa::ToSchema;

use super::{Endpoint, companions::OPERATOR};
use crate::{
    intake::{message_service::broken, views::time},
    outbox::figures::{self, STEP_MS, Speed},
};

/// How long figures are the newest.
const FRESH: Duration = Duration::from_secs(10);

/// The last figures, and when they were made: whoever asks meanwhile gets the same.
pub(super) type Latest = Mutex<Option<(Instant, Figures)>>;

/// The last 24 hours.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct Figures {
    /// Always true.
    ok: bool,
    /// When the first step begins.
    from: String,
    /// A step, in seconds.
    step_s: i64,
    /// The steps, oldest first.
    buckets: Vec<Bucket>,
    totals: Totals,
    asked: Asked,
    now: Now,
    delivery: Delivery,
}

/// What ended within a step.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = FiguresBucket)]
struct Bucket {
    sent: u64,
    denied: u64,
    failed: u64,
    /// From accepted to sent, without what was held: half of them took this at most.
    p50_ms: Option<i64>,
    /// 19 of 20 took this at most.
    p95_ms: Option<i64>,
}

/// What became of messages.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = FiguresTotals)]
struct Totals {
    sent: u64,
    denied: u64,
    expired: u64,
    failed: u64,
    unknown: u64,
    cancelled: u64,
}

/// How often people were asked.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = FiguresAsked)]
struct Asked {
    times: u64,
    /// How many of these were not decided in time.
    expired: u64,
    /// How long half of the answers took at most.
    median_s: Option<i64>,
}

/// What is under way now.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = FiguresNow)]
struct Now {
    /// Waits for a person.
    held: u64,
    /// Is on its way.
    queued: u64,
    /// How long the oldest of what is on its way has been.
    oldest_s: Option<i64>,
}

/// How fast messages went, without what was held.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = FiguresDelivery)]
struct Delivery {
    p50_ms: Option<i64>,
    p95_ms: Option<i64>,
}

/// The last 24 hours in steps of five minutes; at most ten seconds old. For the operator.
#[utoipa::path(
    get,
    path = "/v1/figures",
    responses((status = OK, body = Figures)),
)]
pub(super) async fn show(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| {
            // Held meanwhile: whoever asks at the same time wants the same answer.
            let mut latest = endpoint.0.figures.lock().await;
            if let Some((at, figures)) = &*latest
                && at.elapsed() < FRESH
            {
                return Ok(Json(figures.clone()).into_response());
            }
            let figures = endpoint.pipeline().outbox().figures().await.map_err(broken)?;
            let (_, figures) = latest.insert((Instant::now(), Figures::of(figures)));
            Ok(Json(figures.clone()).into_response())
        })
        .await
}

impl Figures {
    fn of(figures: figures::Figures) -> Self {
        let seconds = |ms: i64| ms / 1_000;
        let figures::Totals { sent, denied, expired, failed, unknown, cancelled } = figures.totals;
        let bucket = |one: figures::Bucket| {
            let figures::Bucket { sent, denied, failed, speed: Speed { p50, p95 } } = one;
            Bucket { sent, denied, failed, p50_ms: p50, p95_ms: p95 }
        };
        Self {
            ok: true,
            from: time(figures.from),
            step_s: STEP_MS / 1_000,
            buckets: figures.buckets.into_iter().map(bucket).collect(),
            totals: Totals { sent, denied, expired, failed, unknown, cancelled },
            asked: Asked {
                times: figures.asked,
                expired: figures.unanswered,
                median_s: figures.answer_ms.map(seconds),
            },
            now: Now { held: figures.held, queued: figures.queued, oldest_s: figures.oldest_ms.map(seconds) },
            delivery: Delivery { p50_ms: figures.delivery.p50, p95_ms: figures.delivery.p95 },
        }
    }
}
