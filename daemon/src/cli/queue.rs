//! `gatepost queue`.

use clap::{ArgGroup, builder::PossibleValuesParser, value_parser};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    Failed,
    output::{self, text},
};
use crate::{
    client::{Client, Place, Request},
    config::Span,
    intake::http::MOST_LISTED,
    message::state::State,
    printing::{PrintError, print_result, visible},
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// List messages, newest first.
    List {
        /// Only those in this state.
        #[arg(long, value_parser = PossibleValuesParser::new(State::ALL.iter().map(|state| state.word())))]
        state: Option<String>,
        /// At most this many.
        #[arg(long, default_value_t = 50, value_parser = value_parser!(u32).range(..=i64::from(MOST_LISTED)))]
        limit: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one message: its text, its parts, and why it is where it is.
    Show {
        /// The message's id.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Take back a message that has not left.
    Cancel {
        /// The message's id.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let go of messages that have ended, before their retention is over: one, or all that fit everything that is given.
    #[command(group = ArgGroup::new("which").args(["id", "state", "older_than"]).required(true).multiple(true))]
    Purge {
        /// The message's id.
        id: Option<String>,
        /// Those that ended in this state.
        #[arg(long, value_parser = PossibleValuesParser::new(ends()))]
        state: Option<String>,
        /// Those that ended so long ago, such as 12h.
        #[arg(long, value_name = "TIME", value_parser = |span: &str| Span::try_from(span.to_owned()))]
        older_than: Option<Span>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Send what has not arrived of a failed message again, before its time is over.
    Retry {
        /// The message's id.
        id: String,
        /// Also one that may have arrived; it may then arrive twice.
        #[arg(long)]
        may_duplicate: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say of a message that is unknown whether its uncertain part arrived; the rest of it then goes on.
    #[command(group = ArgGroup::new("outcome").required(true).args(["arrived", "not_arrived"]))]
    Settle {
        /// The message's id.
        id: String,
        /// It arrived: what comes behind it goes.
        #[arg(long)]
        arrived: bool,
        /// It did not arrive: it goes again, and then what comes behind it.
        #[arg(long)]
        not_arrived: bool,
        /// Which part, counted from one; needed if several are uncertain.
        #[arg(long, value_name = "N")]
        part: Option<u32>,
        /// How you know. It stays in the receipt and in the audit.
        #[arg(long)]
        reason: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// The states that a message ends in.
fn ends() -> impl Iterator<Item = &'static str> {
    State::ALL.iter().filter(|state| state.is_final()).map(|state| state.word())
}

pub(super) async fn run(place: &Place, command: Command) -> Result<(), Failed> {
    let client = Client::at(place)?;
    match command {
        Command::List { state, limit, json } => {
            let mut query = vec![("limit", limit.to_string())];
            query.extend(state.map(|state| ("state", state)));
            let request = Request { query, ..Request::default() };
            let answer = client.call(Method::GET, "/v1/messages", request).await?;
            let messages = answer.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
            match json {
                true => print_result!("{}", Value::Array(messages))?,
                false => print_result!("{}", list(&messages))?,
            }
        }
        Command::Show { id, json } => {
            let message = client.call(Method::GET, &path(&id, "")?, Request::default()).await?;
            match json {
                true => print_result!("{message}")?,
                false => print_result!("{}", show(&message))?,
            }
        }
        Command::Cancel { id, json } => {
            let receipt = client.call(Method::POST, &path(&id, "/cancel")?, Request::default()).await?;
            print_receipt(&receipt, json)?;
        }
        Command::Purge { id, state, older_than, json } => {
            let mut query = vec![];
            query.extend(id.map(|id| ("id", id)));
            query.extend(state.map(|state| ("state", state)));
            if let Some(span) = older_than {
                query.push(("olderThan", span.0.as_secs().to_string()));
            }
            let mut purged = 0;
            loop {
                let request = Request { query: query.clone(), ..Request::default() };
                let answer = client.call(Method::POST, "/v1/purge", request).await?;
                purged += answer.get("purged").and_then(Value::as_u64).unwrap_or(0);
                if answer.get("more") != Some(&Value::Bool(true)) {
                    break;
                }
            }
            match json {
                true => print_result!("{}", json!({"purged": purged}))?,
                false => print_result!("{purged} purged")?,
            }
        }
        Command::Retry { id, may_duplicate, json } => {
            let query = vec![("mayDuplicate", may_duplicate.to_string())];
            let request = Request { query, ..Request::default() };
            let receipt = client.call(Method::POST, &path(&id, "/retry")?, request).await?;
            print_receipt(&receipt, json)?;
        }
        Command::Settle { id, arrived, not_arrived: _, part, reason, json } => {
            let mut body = json!({"arrived": arrived, "reason": reason});
            if let Some(part) = part {
                body["part"] = part.into();
            }
            let request = Request { body: Some(body), ..Request::default() };
            let receipt = client.call(Method::POST, &path(&id, "/settle")?, request).await?;
            print_receipt(&receipt, json)?;
        }
    }
    Ok(())
}

fn print_receipt(receipt: &Value, json: bool) -> Result<(), PrintError> {
    match json {
        true => print_result!("{receipt}"),
        false => print_result!("{}", output::receipt(receipt)),
    }
}

fn path(id: &str, end: &str) -> Result<String, Failed> {
    Ok(format!("/v1/messages/{}{end}", segment(id, "a message's id")?))
}

/// An id of the hub's as it stands in a path; `what` it is to be.
pub(super) fn segment<'a>(id: &'a str, what: &str) -> Result<&'a str, Failed> {
    let is_one = !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric());
    is_one.then_some(id).ok_or_else(|| Failed::Usage(format!("{id:?} is not {what}")))
}

fn list(messages: &[Value]) -> String {
    let rows: Vec<Vec<String>> = messages
        .iter()
        .map(|message| {
            let mut cells: Vec<String> =
                ["id", "state", "agent", "to"].map(|name| text(message, name).into()).into();
            cells.extend([output::moment(text(message, "accepted_at")), why(message)]);
            cells
        })
        .collect();
    output::table(&["ID", "STATE", "AGENT", "TO", "ACCEPTED", "WHY"], &rows)
}

/// Why a message is where it is; of a held one also that nobody can be asked about it.
fn why(message: &Value) -> String {
    let why = output::why(message);
    match message.pointer("/asked/problem").and_then(Value::as_str) {
        Some(problem) if why.is_empty() => format!("nobody can be asked: {problem}"),
        Some(problem) => format!("{why}; nobody can be asked: {problem}"),
        None => why.into(),
    }
}

fn show(message: &Value) -> String {
    let mut lines = vec![output::receipt(message)];
    for name in ["agent", "account", "origin"] {
        if !text(message, name).is_empty() {
            lines.push(format!("  {name}: {}", text(message, name)));
        }
    }
    for name in ["accepted_at", "deadline", "due_at", "ended_at"] {
        if !text(message, name).is_empty() {
            lines.push(format!("  {name}: {}", output::moment(text(message, name))));
        }
    }
    if !text(message, "approvals").is_empty() {
        let by = message.get("approved_by").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let by: Vec<&str> = by.iter().filter_map(Value::as_str).collect();
        let by = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
        lines.push(format!("  approvals: {}{by}", text(message, "approvals")));
    }
    let together = message.get("asked_together").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let together: Vec<&str> = together.iter().filter_map(Value::as_str).collect();
    if !together.is_empty() {
        lines.push(format!("  on one card with: {}", together.join(", ")));
    }
    for file in message.get("attachments").and_then(Value::as_array).into_iter().flatten() {
        lines.push(output::file(file));
    }
    for (number, part) in (1..).zip(message.get("parts").and_then(Value::as_array).into_iter().flatten()) {
        lines.push(format!("--- part {number} ---\n{}", text(part, "text")));
    }
    visible(&lines.join("\n")).into_owned()
}
