//! What waits for a person, and what was decided a short while ago, for the operator.
//!
//! To read only. Whoever looks at a card reads what is signed from the document's bytes; the rest here is the hub's word for what stands
//! around them. Nothing is decided by these calls: that is [`decisions`](super::decisions).

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gatepost_companion::Geometry;
use gatepost_link::{RequestId, decision::PublicKey, document::Document};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Endpoint, caller, companions::OPERATOR, problem::Refused};
use crate::{
    admission::looks::Looks,
    approval::{
        Approvals,
        listing::{Card, Cards, Shown},
        passkeys,
        registry::Registered,
    },
    audit::checkpoint::from_hex,
    files::kept::Kept,
    intake::{message_service::broken, questions::is_question, views::time},
    message::{
        refusal::{Code, Refusal},
        state::State as MessageState,
    },
    pipeline::Pipeline,
    render::{Look, Run},
    store::StoreError,
};

/// A card in a list.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApprovalRow)]
struct Row {
    /// By which it is asked for and decided: 16 bytes in hexadecimal.
    request: String,
    /// `message`, or `question`: what an agent asks a person.
    kind: &'static str,
    /// The message; of several on one card, the first that was not cancelled.
    message: Option<String>,
    /// Whose it is.
    agent: String,
    /// Where it goes, as `channel:address[#thread]`; of a question, empty.
    to: String,
    /// The address book's name of that.
    known_as: Option<String>,
    /// How many targets the card is about.
    targets: usize,
    /// The first line of its text that is not empty, at most 200 characters.
    line: String,
    /// How many files go along.
    files: usize,
    /// Since when people are asked; before that, since when it waits.
    asked_at: String,
    /// When it expires.
    deadline: String,
    /// Of one that waits for its turn: when people are asked, if nothing else comes.
    asks_at: Option<String>,
    /// Where the message is.
    state: MessageState,
    /// When it was decided, or came to another end.
    decided_at: Option<String>,
    /// Who decided, or has approved it so far: `companion:shelf`, `web:phone`.
    by: Vec<String>,
}

/// What waits, and what was decided.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Approvals)]
struct Listed {
    /// Always true.
    ok: bool,
    /// People are asked now; by deadline, at most 500.
    waiting: Vec<Row>,
    /// Nobody is asked yet, since the agent has had its cards of the hour or is muted; in their turn, at most 500.
    later: Vec<Row>,
    /// What came to its end within 24 hours, the last first, at most 50.
    decided: Vec<Row>,
}

/// A card, with what its approver is shown.
#[derive(Debug, Serialize, ToSchema)]
struct Approval {
    /// Always true.
    ok: bool,
    #[serde(flatten)]
    row: Row,
    /// The bytes that are signed (`gatepost_link::document`), as base64url without padding.
    document: String,
    /// The row of the audit whose hash the document has as the audit's head; not of what an older program held.
    audit_row: Option<i64>,
    /// The rule that held it, as a sentence.
    why: String,
    /// The address book's name of where the turn came from.
    origin_name: Option<String>,
    /// What in its agent's section of the configuration would have let it go, if something would.
    toml: Option<String>,
    /// What becomes of each part of the document.
    parts: Vec<PartView>,
    /// Whether the hub has the files: `GET /v1/files/{sha256}`.
    files_kept: bool,
    /// How many must approve it.
    quorum: u32,
    /// Who decides: `any` who may, `companion` or `web` alone, or `both`, each.
    decided_by: &'static str,
    /// Who is asked.
    companions: Vec<Asked>,
    /// The first of the pages on which a companion with a small display shows it.
    screen: Option<DeviceScreen>,
    /// Whether it may be decided on by a passkey.
    web: WebApprover,
}

/// A part where it goes.
#[derive(Debug, Serialize, ToSchema)]
struct PartView {
    /// How long it is there.
    units: usize,
    /// The most that it may have; 0 if there is no limit.
    limit: usize,
    /// What is counted: `characters`, `bytes`, `UTF-16 units`.
    unit: &'static str,
    /// As its platform shows it.
    looks: Vec<RunView>,
}

/// A range of text.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Run)]
struct RunView {
    text: String,
    /// Of `bold`, `italic`, `strike`, `code`, `block`, `quote`, `link`.
    style: Vec<&'static str>,
}

/// A companion that is asked, or that has approved it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AskedCompanion)]
struct Asked {
    name: String,
    /// Whether it is here now.
    online: bool,
    /// Whether it has the document.
    has_text: bool,
    /// Whether it has approved it.
    approved: bool,
    /// Why nobody can be asked at it now.
    unable_because: Option<String>,
    /// When it was last here, as far as that was written down.
    seen_at: Option<String>,
}

/// What a companion shows.
#[derive(Debug, Serialize, ToSchema)]
struct DeviceScreen {
    /// The rows of its display, from header to footer.
    lines: Vec<String>,
    /// How many pages there are.
    pages: u16,
}

/// Whether a passkey may decide.
#[derive(Debug, Serialize, ToSchema)]
struct WebApprover {
    may: bool,
    /// Why not, and what to do.
    because: Option<&'static str>,
    /// The passkeys that may, the one that was used last first.
    passkeys: Vec<Passkey>,
}

/// A passkey that may decide.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DecidingPasskey)]
struct Passkey {
    /// Its id, as base64url without padding.
    credential: String,
    name: String,
}

/// What waits for a person, and what was decided within 24 hours. For the operator.
#[utoipa::path(
    get,
    path = "/v1/approvals",
    responses((status = OK, body = Listed)),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| {
            let Cards { waiting, later, decided } =
                endpoint.pipeline().approvals().cards().await.map_err(broken)?;
            let rows = |cards: Vec<Card>| cards.iter().map(Row::of).collect();
            let listed =
                Listed { ok: true, waiting: rows(waiting), later: rows(later), decided: rows(decided) };
            Ok(Json(listed).into_response())
        })
        .await
}

/// A card, with what its approver is shown. For the operator.
#[utoipa::path(
    get,
    path = "/v1/approvals/{request}",
    params(("request" = String, Path, description = "The request that a listing or a held message names.")),
    responses((status = OK, body = Approval), Refused<404>),
)]
pub(super) async fn show(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, request| {
            let headers = request.headers().clone();
            let request = named(id)?;
            let pipeline = endpoint.pipeline();
            let shown = pipeline.approvals().shown(request).await.map_err(broken)?.ok_or_else(nothing)?;
            let kept = Kept::of(&endpoint.0.store);
            let files_kept = shown.card.message.attachments.iter().all(|file| kept.is_there(&file.sha256));
            // A text is rendered, and the rule book asked again: not on a thread that serves others.
            let passkeys = passkeys::list(&endpoint.0.store).await.map_err(broken)?;
            let site = endpoint.0.sites.of(&headers).map(|site| site.rp_id.clone());
            let web = WebApprover::of(pipeline.approvals(), &shown, passkeys, site.as_deref());
            let made = tokio::task::spawn_blocking(move || Approval::of(&pipeline, &shown, files_kept, web));
            Ok(Json(made.await.map_err(broken)?.map_err(broken)?).into_response())
        })
        .await
}

/// The request that a path names.
pub(super) fn named(id: Result<Path<String>, PathRejection>) -> Result<RequestId, Refusal> {
    from_hex(&caller::path(id)?).map(RequestId).ok_or_else(nothing)
}

pub(super) fn nothing() -> Refusal {
    let hint = "see GET /v1/approvals; what ended long ago is past its retention";
    Refusal::new(Code::NotFound, "there is no such request", hint)
}

impl Row {
    fn of(card: &Card) -> Self {
        let message = &card.message;
        let is_question = is_question(message);
        Self {
            request: card.request.to_string(),
            kind: if is_question { "question" } else { "message" },
            message: Some(message.id.clone()),
            agent: message.agent.clone(),
            to: if is_question { String::new() } else { message.target().to_string() },
            known_as: message.known_as.clone(),
            targets: card.targets,
            line: message.line(),
            files: message.attachments.len(),
            asked_at: time(card.asked_at),
            deadline: time(card.deadline),
            asks_at: card.asks_at.map(time),
            state: message.state,
            decided_at: card.decided_at.map(time),
            by: card.by.clone(),
        }
    }
}

impl Approval {
    fn of(
        pipeline: &Pipeline,
        shown: &Shown,
        files_kept: bool,
        web: WebApprover,
    ) -> Result<Self, StoreError> {
        let Shown { card, document: bytes, audit_row, .. } = shown;
        let message = &card.message;
        let document = Document::decode(bytes).ok();
        let texts: Vec<String> =
            document.iter().flat_map(|document| &document.parts).map(|part| part.text.to_owned()).collect();
        let is_held = message.state == MessageState::Held;
        let why = card.why.clone().or_else(|| message.reason.clone().filter(|_| is_held));
        let origin = message.origin.as_ref();
        Ok(Self {
            ok: true,
            row: Row::of(card),
            document: URL_SAFE_NO_PAD.encode(bytes),
            audit_row: *audit_row,
            why: why.unwrap_or_default(),
            origin_name: origin.and_then(|origin| pipeline.name_of(&origin.place)).map(str::to_owned),
            toml: pipeline.remedy(message)?,
            parts: pipeline.looks(message, &texts).into_iter().map(PartView::of).collect(),
            files_kept,
            quorum: card.quorum,
            decided_by: card.decided_by.word(),
            companions: asked(pipeline.approvals(), shown),
            screen: document.as_ref().map(DeviceScreen::of),
            web,
        })
    }
}

impl WebApprover {
    /// `site`: the name at which the page is, if passkeys can be had there.
    fn of(
        approvals: &Approvals,
        shown: &Shown,
        passkeys: Vec<passkeys::Passkey>,
        site: Option<&str>,
    ) -> Self {
        let here = |passkey: &passkeys::Passkey| site == Some(passkey.key.rp_id.as_str());
        let voted = |passkey: &passkeys::Passkey| shown.voted.contains(&PublicKey(passkey.id));
        let (voted, mut free): (Vec<_>, Vec<_>) = passkeys.into_iter().filter(here).partition(voted);
        let because = match (approvals.takes_passkeys(), site) {
            (false, _) => Some("this hub takes decisions from its companions alone: decide there"),
            (true, _) if !shown.card.decided_by.take(true) => {
                Some("the rules have companions decide on this: decide there")
            }
            (true, None) => Some("passkeys cannot be had at this address: see Settings"),
            (true, Some(_)) if free.is_empty() && !voted.is_empty() => {
                Some("every passkey has approved it, and more must: decide on a companion")
            }
            _ => None,
        };
        free.sort_by_key(|passkey| std::cmp::Reverse(passkey.used_at));
        let named = |passkey: passkeys::Passkey| Passkey {
            credential: URL_SAFE_NO_PAD.encode(passkey.credential),
            name: passkey.name,
        };
        let passkeys = if because.is_none() { free.into_iter().map(named).collect() } else { vec![] };
        Self { may: because.is_none(), because, passkeys }
    }
}

/// The companions that may decide, and those that have.
fn asked(approvals: &Approvals, shown: &Shown) -> Vec<Asked> {
    let Shown { card, voted, devices, .. } = shown;
    let (presence, is_open) = (approvals.presence(), card.decided_at.is_none());
    let approved = card.message.state != MessageState::Denied;
    let takes = card.decided_by.take(false);
    let one = |device: &Registered| Asked {
        name: device.name.clone(),
        online: presence.is_online(device.key),
        has_text: is_open && presence.has(device.key) == Some(card.request),
        approved: voted.contains(&device.key)
            || (approved && card.by.contains(&format!("companion:{}", device.name))),
        unable_because: approvals.unable(device).map(|why| why.to_string()),
        seen_at: device.seen_at.max(presence.seen_at(device.key)).map(time),
    };
    devices.iter().filter(|device| device.revoked_at.is_none() && takes).map(one).collect()
}

impl PartView {
    fn of(Looks { units, limit, unit, runs }: Looks) -> Self {
        use gatepost_chunk::Unit;
        let unit = match unit {
            Unit::Bytes => "bytes",
            Unit::Utf16 => "UTF-16 units",
            Unit::CodePoints | Unit::Graphemes => "characters",
        };
        Self { units, limit, unit, looks: runs.into_iter().map(RunView::of).collect() }
    }
}

impl RunView {
    fn of(Run { text, styles }: Run) -> Self {
        let word = |style: Look| match style {
            Look::Bold => "bold",
            Look::Italic => "italic",
            Look::Strike => "strike",
            Look::Code => "code",
            Look::Block => "block",
            Look::Quote => "quote",
            Look::Link => "link",
        };
        Self { text, style: styles.into_iter().map(word).collect() }
    }
}

impl DeviceScreen {
    fn of(document: &Document<'_>) -> Self {
        let screen = gatepost_companion::first_page(document, Geometry::SMALL);
        let pages = match screen.view {
            gatepost_companion::View::Card(card) => card.pages,
            _ => 1,
        };
        Self { lines: screen.cells().iter().map(ToString::to_string).collect(), pages }
    }
}
