//! What a bridge reports: somebody wrote. For an agent that it names, the bridge runs the turn itself and is given its context;
//! without one, the hub finds the agents and wakes them.

use axum::{
    Json,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Endpoint, problem::Refused};
use crate::{
    admission::submit::no_room,
    agents::Role,
    channels::{
        received::{Author, AuthorKind, Batch, Conversation, Event, Received, ReplyTo, Words},
        registry,
    },
    intake::{message_service, views::time},
    message::{
        refusal::{Code, NO_ACCOUNT, Refusal},
        target::{MAX_ADDRESS, OWN, fits_an_id},
    },
    outbox::bounds::Full,
    pipeline::Pipeline,
    policy::Scope,
    sessions::{self, Inbound},
    store::now_ms,
};

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Report {
    /// The agent that it is for, whose turn the caller runs. Without it, the routes of the configuration say who is woken.
    #[serde(default)]
    agent: Option<String>,
    channel: String,
    /// The hub's account there, where the channel has several.
    #[serde(default)]
    account_id: Option<String>,
    /// The conversation.
    peer: String,
    /// The thread in it.
    #[serde(default)]
    thread_id: Option<String>,
    /// The agent's session; `main` where it is left out.
    #[serde(default)]
    session: Option<String>,
    /// Who wrote it.
    #[serde(default)]
    sender: Option<String>,
    /// The platform's id of it.
    #[serde(default)]
    message_id: Option<String>,
    /// What it says.
    #[serde(default)]
    text: String,
    /// What happened; `message` where it is left out.
    #[serde(default)]
    kind: Kind,
    /// Whether the conversation is between the account and one person.
    #[serde(default)]
    direct: bool,
    /// Whether the platform marks that the account is meant.
    #[serde(default)]
    mention: bool,
    /// What the sender calls themselves.
    #[serde(default)]
    sender_name: Option<String>,
    /// Whether the sender is a program.
    #[serde(default)]
    bot: bool,
    /// What the conversation is called.
    #[serde(default)]
    title: Option<String>,
    /// When it was said (RFC 3339).
    #[serde(default)]
    said_at: Option<String>,
    /// Whether the words are somebody else's, handed on.
    #[serde(default)]
    forwarded: bool,
    /// The message that it answers.
    #[serde(default)]
    reply_to: Option<Answered>,
    /// The emoji of a reaction.
    #[serde(default)]
    emoji: Option<String>,
    /// Whether a reaction was taken back.
    #[serde(default)]
    removed: bool,
    /// The data of a pressed button.
    #[serde(default)]
    data: Option<String>,
    /// What was chosen in a poll.
    #[serde(default)]
    options: Option<Vec<String>>,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = InboundKind)]
enum Kind {
    /// Somebody wrote.
    #[default]
    Message,
    /// Somebody changed what they had written.
    Edit,
    /// Somebody took back what had been written.
    Delete,
    /// Somebody reacted to a message.
    Reaction,
    /// Somebody pressed a button.
    Press,
    /// Somebody answered a poll.
    Vote,
    /// Somebody joined.
    Join,
    /// Somebody left.
    Leave,
    /// A program says something.
    Webhook,
}

/// A message that is answered.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = InboundReplyTo)]
struct Answered {
    /// The platform's id of it.
    id: String,
    /// Who wrote it. What it says is trusted as far as they are; without a name, as far as a stranger is.
    #[serde(default)]
    sender: Option<String>,
    /// What it says.
    #[serde(default)]
    text: Option<String>,
}

/// What became of what was reported without an agent.
#[derive(Debug, Serialize, ToSchema)]
struct Routed {
    /// Always true.
    ok: bool,
    /// Whether it was reported before: nothing was done then.
    duplicate: bool,
    /// Whether an agent is woken by it.
    woken: bool,
    /// The codes of requests that a person is asked about now.
    asked: Vec<String>,
    /// Why it went no further, if it did not.
    dropped: Vec<&'static str>,
}

/// Either.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum Reported {
    Issued(Issued),
    Routed(Routed),
}

/// What the agent's turn is given.
#[derive(Debug, Serialize, ToSchema)]
struct Issued {
    /// Always true.
    ok: bool,
    /// The proof of the conversation that the turn came from.
    context: String,
    /// When it expires (RFC 3339).
    expires_at: String,
    /// How the results of tools are best written in that conversation.
    tool_result_format: &'static str,
    /// Whether the message was reported before, by its id: the agent has had its turn.
    duplicate: bool,
}

/// Records what somebody wrote, and issues the context of the turn that it starts, or wakes the agents of its conversation. For bridges
/// and the operator.
#[utoipa::path(
    post,
    path = "/v1/inbound",
    request_body(
        content = Report,
        example = json!({"agent": "engineer", "channel": "local", "peer": "ann", "text": "How is the build?"}),
    ),
    responses(
        (status = CREATED, body = Issued, description = "It was for an agent that the report names."),
        (status = ACCEPTED, body = Routed, description = "It named none."),
        Refused<422>,
        Refused<503>,
    ),
)]
pub(super) async fn receive(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Bridge, Role::Operator], request, async |caller, request| {
            let report: Report = endpoint.json(request).await?;
            let pipeline = endpoint.pipeline();
            check(&report)?;
            if report.agent.is_none() {
                let vouched = (caller.role == Role::Operator).then_some(Scope::Owner);
                let routed = route(&pipeline, report, vouched).await?;
                return Ok((StatusCode::ACCEPTED, Json(Reported::Routed(routed))).into_response());
            }
            let mut inbound = for_agent(&pipeline, report)?;
            let Inbound { channel, account, peer, .. } = &inbound;
            inbound.peer = pipeline.identity_of(channel, account, peer).await?;
            let sender = inbound.sender.as_deref();
            if pipeline.has_shut_out(&inbound.channel, sender).map_err(message_service::broken)? {
                let hint = "nothing of theirs is read: gatepost people set lets them in again";
                return Err(Refusal::new(Code::Forbidden, "its sender was shut out", hint).because("blocked"));
            }
            let format = registry::tool_result_format(&inbound.channel);
            let room = endpoint.0.store.space().look();
            if !room.accepts() {
                return Err(no_room(Full::Disk(room)));
            }
            let ttl = i64::try_from(pipeline.context_ttl().as_millis()).unwrap_or(i64::MAX);
            let expires_at = now_ms().saturating_add(ttl);
            let issued = sessions::receive(&endpoint.0.store, inbound, expires_at, &caller.to_string())
                .await
                .map_err(message_service::broken)?;
            let issued = Issued {
                ok: true,
                context: issued.context,
                expires_at: time(expires_at),
                tool_result_format: format.name(),
                duplicate: issued.duplicate,
            };
            Ok((StatusCode::CREATED, Json(Reported::Issued(issued))).into_response())
        })
        .await
}

fn check(report: &Report) -> Result<(), Refusal> {
    if OWN.contains(&report.channel.as_str()) {
        let error = format!("nobody writes on {} but the hub itself", report.channel);
        return Err(
            Refusal::input(error, "give the channel and account as configured").because("own_channel")
        );
    }
    let short = [&report.thread_id, &report.session, &report.sender, &report.message_id];
    if short.into_iter().flatten().any(|text| text.is_empty() || !fits_an_id(text)) {
        let error = format!("an id is empty or longer than {MAX_ADDRESS} characters");
        return Err(Refusal::input(error, "leave out what you do not know"));
    }
    if report.agent.is_some() && report.kind != Kind::Message {
        let error = "what is no message is not reported for an agent by name";
        return Err(Refusal::input(error, "leave agent out: the routes say who is told").because("kind"));
    }
    Ok(())
}

/// What is reported for the agent that it names.
fn for_agent(pipeline: &Pipeline, report: Report) -> Result<Inbound, Refusal> {
    let agent = report.agent.unwrap_or_default();
    if !pipeline.knows(&agent) {
        let error = format!("there is no agent {:?}", agent.chars().take(40).collect::<String>());
        let hint = "agents are the [agents.NAME] sections of the configuration";
        return Err(Refusal::input(error, hint).because("unknown_agent"));
    }
    let accounts = pipeline.accounts();
    let (account, adapter) =
        accounts.pick(&report.channel, report.account_id.as_deref()).map_err(no_account)?;
    let peer = adapter
        .resolve(&report.peer)
        .map_err(|error| Refusal::input(error.to_string(), error.hint).because("bad_address"))?;
    Ok(Inbound {
        agent,
        channel: report.channel,
        account: account.to_owned(),
        peer,
        // An adapter without threads has none, whatever the bridge says.
        thread: report.thread_id.filter(|_| adapter.capabilities().threads),
        session: report.session.unwrap_or_else(|| "main".into()),
        sender: report.sender,
        platform_id: report.message_id,
        text: report.text,
    })
}

fn no_account(error: impl std::fmt::Display) -> Refusal {
    let hint = "give the channel and account as configured";
    Refusal::new(Code::ExecutionFailed, error.to_string(), hint).because(NO_ACCOUNT)
}

/// Hands a report over as the hub's own accounts hand over what they receive.
async fn route(pipeline: &Pipeline, report: Report, vouched: Option<Scope>) -> Result<Routed, Refusal> {
    let at = pipeline.receiving(&report.channel, report.account_id.as_deref(), vouched);
    let at = at.map_err(no_account)?;
    let accounts = pipeline.accounts();
    let (_, adapter) = accounts.pick(&at.channel, Some(&at.account)).map_err(no_account)?;
    let address = adapter
        .resolve(&report.peer)
        .map_err(|error| Refusal::input(error.to_string(), error.hint).because("bad_address"))?;
    let address = pipeline.identity_of(&at.channel, &at.account, &address).await?;
    let received = received(report, address)?;
    let outcome = pipeline.receive(at, Batch { received: vec![received], ..Batch::default() }).await?;
    Ok(Routed {
        ok: true,
        duplicate: outcome.repeated > 0,
        woken: outcome.woken,
        asked: outcome.asked,
        dropped: outcome.dropped.iter().map(|(why, _)| why.word()).collect(),
    })
}

fn received(report: Report, address: String) -> Result<Received, Refusal> {
    let said_at = report.said_at.as_deref().map(moment).transpose()?;
    let missing = |member: &str| {
        let error = format!("this kind needs {member}");
        Refusal::input(error, "see GET /openapi.json").because("wrong_shape")
    };
    let words = Words {
        text: report.text,
        forwarded: report.forwarded,
        reply_to: report.reply_to.map(|reply| ReplyTo {
            id: reply.id,
            mine: false,
            author: reply.sender,
            text: reply.text,
        }),
        ..Words::default()
    };
    let event = match report.kind {
        Kind::Message => Event::Message(words),
        Kind::Edit => Event::Edit(words),
        Kind::Webhook => Event::Webhook(words),
        Kind::Delete => Event::Delete,
        Kind::Reaction => {
            Event::Reaction { emoji: report.emoji.ok_or_else(|| missing("emoji"))?, removed: report.removed }
        }
        Kind::Press => Event::Press { data: report.data.ok_or_else(|| missing("data"))? },
        Kind::Vote => Event::Vote { options: report.options.ok_or_else(|| missing("options"))? },
        Kind::Join => Event::Join,
        Kind::Leave => Event::Leave,
    };
    let author = Author {
        // In a conversation of two, the other one wrote.
        id: report
            .sender
            .or_else(|| report.direct.then(|| address.clone()))
            .ok_or_else(|| missing("sender"))?,
        name: report.sender_name,
        kind: if report.bot { AuthorKind::Program } else { AuthorKind::Person },
        ..Author::default()
    };
    // The same message may be edited, and reacted to, again and again: only that it was written happens once.
    let key = match event {
        Event::Message(_) | Event::Webhook(_) => report.message_id.clone(),
        _ => None,
    };
    Ok(Received {
        key: key.map(|id| format!("{address}/{id}")).unwrap_or_default(),
        conversation: Conversation {
            address,
            thread: report.thread_id,
            direct: report.direct,
            title: report.title,
        },
        author,
        message_id: report.message_id,
        said_at,
        mentions_me: report.mention,
        event,
    })
}

fn moment(text: &str) -> Result<i64, Refusal> {
    let moment: Result<jiff::Timestamp, _> = text.parse();
    moment.map(jiff::Timestamp::as_millisecond).map_err(|_| {
        let hint = "write RFC 3339, such as 2026-03-01T12:00:00Z";
        Refusal::input("saidAt is no moment", hint).because("wrong_shape")
    })
}
