//! The audit, for the operator: some rows, all of them as a file, and whether the chain holds.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Json,
    body::{Body, Bytes},
    extract::{Request, State},
    http::header,
    response::{IntoResponse as _, Response, sse},
};
use futures_util::stream;
use gatepost_link::decision::PublicKey;
use rusqlite::{Connection, OpenFlags};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use utoipa::{IntoParams, ToSchema};

use super::{
    Endpoint,
    companions::OPERATOR,
    messages::listed,
    problem::Refused,
    progress::{as_they_come, event},
    query,
};
use crate::{
    approval::prove::all,
    audit::{
        checkpoint::Checkpoint,
        listing::{self, Row, Rows, Wanted},
    },
    intake::{message_service::broken, views::time},
    message::refusal::{Code, Refusal},
    random::to_hex,
    store::{Store, StoreError},
};

/// Rows that an export reads at once.
const EXPORTED_AT_ONCE: usize = 500;
/// Between two words on how far a check is.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
/// Audits that are checked at once: each keeps a processor busy.
pub(super) const VERIFIED_AT_ONCE: usize = 1;
/// The longest word of a filter, in characters.
const LONGEST_FILTER: usize = 100;

/// How the audit is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// Some rows.
    #[default]
    Json,
    /// All rows, one a line, as a file.
    Jsonl,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Listing {
    /// Rows after this one, oldest first.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Rows before this one, newest first; so it is as well where neither is given.
    #[param(minimum = 0)]
    before: Option<i64>,
    /// Only these: `message`, or `message.sent`.
    #[param(max_length = 100)]
    event: Option<String>,
    /// Only what this one did: `agent:engineer`, `companion:shelf`, `operator:ann`, `hub`, `nobody`.
    #[param(max_length = 100)]
    actor: Option<String>,
    /// Only what happened to this message.
    #[param(max_length = 100)]
    message: Option<String>,
    /// How many; 50 where it is left out.
    #[param(maximum = 1000)]
    limit: Option<u32>,
    /// `jsonl` for all rows, one a line, as a file; whatever else is given.
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

/// A row of the audit.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditRow)]
struct RowView {
    seq: i64,
    at: String,
    /// Who did it.
    actor: String,
    /// What happened, as `noun.verb`.
    event: String,
    /// The message it happened to.
    message: Option<String>,
    /// The facts.
    #[schema(value_type = Object)]
    detail: Value,
    /// The chain's hash up to here.
    hash: String,
}

/// Some rows of the audit.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Audit)]
struct Listed {
    /// Always true.
    ok: bool,
    rows: Vec<RowView>,
    /// The number of the newest row there is; 0 if none.
    newest: i64,
    /// The number of the oldest row there is; 0 if none.
    oldest: i64,
    /// Before or after which row to look on, if there may be more. A look ends after a quarter of a second, with what it has found.
    next: Option<i64>,
}

impl From<Row> for RowView {
    fn from(row: Row) -> Self {
        let Row { seq, at, actor, event, message, detail, hash } = row;
        Self { seq, at: time(at), actor, event, message, detail, hash: to_hex(&hash) }
    }
}

/// What a check of the audit found.
#[derive(Debug, Serialize, ToSchema)]
struct AuditReport {
    /// Rows that were read.
    rows: u64,
    /// Rows up to this one are past their retention; 0 if none.
    purged_to: i64,
    /// The last row.
    last: i64,
    /// The last row that a signature of the hub covers; 0 if there is none.
    signed_to: i64,
    /// Signatures of the hub that were checked.
    checkpoints: u64,
    /// Signatures of companions that were checked.
    decisions: u64,
    /// What does not fit, as sentences; none if all fits.
    faults: Vec<String>,
}

/// Rows of the audit; with `format=jsonl` all of them as a file. For the operator.
#[utoipa::path(
    get,
    path = "/v1/audit",
    params(Listing),
    responses((status = OK, content((Listed = "application/json"), (String = "application/jsonl")))),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, request| {
            let listing: Listing = query::read(&request)?;
            if listing.format == Format::Jsonl {
                return Ok(exported(endpoint.0.store.clone()));
            }
            let wanted = listing.wanted()?;
            let read = endpoint.0.store.read(move |db| listing::read(db, &wanted));
            let Rows { rows, newest, oldest, next } = read.await.map_err(broken)?;
            let rows = rows.into_iter().map(RowView::from).collect();
            Ok(Json(Listed { ok: true, rows, newest, oldest, next }).into_response())
        })
        .await
}

impl Listing {
    fn wanted(self) -> Result<Wanted, Refusal> {
        let given = [&self.event, &self.actor, &self.message];
        if given.into_iter().flatten().any(|word| word.chars().count() > LONGEST_FILTER) {
            let hint = format!("give {LONGEST_FILTER} characters at most");
            return Err(Refusal::input("a filter is too long", hint).because("query"));
        }
        if [self.after, self.before].into_iter().flatten().any(|row| row < 0) {
            return Err(
                Refusal::input("rows are numbered from 1", "give the number of a row").because("query")
            );
        }
        let word = |word: Option<String>| word.filter(|word| !word.is_empty());
        Ok(Wanted {
            after: self.after,
            before: self.before,
            event: word(self.event),
            actor: word(self.actor),
            message: word(self.message),
            limit: listed(self.limit)? as usize,
        })
    }
}

/// All rows, one a line. What is purged meanwhile is left out, and what is added comes along.
fn exported(store: Store) -> Response {
    let lines = stream::try_unfold((store, Some(0)), |(store, after)| async move {
        let Some(after) = after else { return Ok::<_, StoreError>(None) };
        let wanted = Wanted { after: Some(after), limit: EXPORTED_AT_ONCE, ..Wanted::default() };
        let read = store.read(move |db| listing::read(db, &wanted)).await?;
        let mut text = String::new();
        for row in read.rows {
            text.push_str(&json!(RowView::from(row)).to_string());
            text.push('\n');
        }
        Ok(Some((Bytes::from(text), (store, read.next))))
    });
    let headers = [
        (header::CONTENT_TYPE, "application/jsonl"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"audit.jsonl\""),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, Body::from_stream(lines)).into_response()
}

/// Reads all of the audit, checks every signature in it, and compares what is stored with it. For the operator.
///
/// Server-sent events: `progress` with `{done, of}` rows, twice a second at most, then `report`, and the stream ends. What
/// `gatepost audit verify` does without a hub.
#[utoipa::path(
    post,
    path = "/v1/audit/verify",
    responses((status = OK, description = "How far it is, then what was found.", content((AuditReport = "text/event-stream"))), Refused<429>),
)]
pub(super) async fn verify(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| {
            let turn = Arc::clone(&endpoint.0.audits).try_acquire_owned().map_err(|_| {
                let hint = "wait for its end; it is the same audit";
                Refusal::new(Code::RateLimited, "the audit is being checked", hint).because("audits")
            })?;
            let directory = endpoint.0.store.directory().to_owned();
            let hub = endpoint.pipeline().approvals().hub();
            let (told, telling) = mpsc::channel(4);
            tokio::task::spawn_blocking(move || {
                let _turn = turn;
                match checked(&directory, hub, &told) {
                    Ok(report) => drop(told.blocking_send(event("report", &json!(report)))),
                    // Nobody listens any more.
                    Err(_) if told.is_closed() => {}
                    Err(error) => tracing::error!(%error, "the audit could not be checked"),
                }
            });
            Ok(as_they_come(telling))
        })
        .await
}

/// Checks the audit in this data directory, on a connection of its own: whoever reads beside it does not wait.
fn checked(
    directory: &Path,
    hub: PublicKey,
    told: &mpsc::Sender<sse::Event>,
) -> Result<AuditReport, StoreError> {
    let db = Connection::open_with_flags(directory.join("gatepost.db"), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    // The hub writes meanwhile: all that is read is of one moment.
    db.execute_batch("BEGIN")?;
    let of: i64 =
        db.query_row("SELECT coalesce(max(seq) - min(seq) + 1, 0) FROM audit", [], |row| row.get(0))?;
    let mut last = Instant::now();
    let mut watch = |done: u64| {
        if told.is_closed() {
            return Err(StoreError::Closed);
        }
        if last.elapsed() >= PROGRESS_INTERVAL {
            last = Instant::now();
            // Whoever reads slowly hears of fewer steps.
            let _ = told.try_send(event("progress", &json!({"done": done, "of": of})));
        }
        Ok(())
    };
    let checked = all::check(&db, hub, Checkpoint::kept(directory), &mut watch)?;
    let (chain, decisions) = (&checked.chain, checked.proof.decisions);
    Ok(AuditReport {
        rows: chain.rows,
        purged_to: chain.purged_to,
        last: chain.last,
        signed_to: chain.signed_to,
        checkpoints: chain.checkpoints,
        decisions,
        faults: checked.faults().collect(),
    })
}
