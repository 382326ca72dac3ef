//! `gatepost turns`.

use clap::builder::PossibleValuesParser;
use reqwest::Method;
use serde_json::Value;

use super::{
    Failed,
    output::{moment, table, text},
    queue::segment,
};
use crate::{
    client::{Client, Place, Request},
    printing::{print_result, visible},
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// List turns, newest first.
    List {
        /// Only this agent's.
        #[arg(long)]
        agent: Option<String>,
        /// Only those in this state.
        #[arg(long, value_parser = PossibleValuesParser::new(["waiting", "leased", "done", "failed"]))]
        state: Option<String>,
        /// At most this many.
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one turn: what woke the agent, and what became of it.
    Show {
        /// The turn's id.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Give a turn that has failed to its agent again.
    Retry {
        /// The turn's id.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// End a turn that no agent is to take any more.
    Drop {
        /// The turn's id.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(place: &Place, command: Command) -> Result<(), Failed> {
    let client = Client::at(place)?;
    match command {
        Command::List { agent, state, limit, json } => {
            let mut query = vec![("limit", limit.to_string())];
            query.extend(agent.map(|agent| ("agent", agent)));
            query.extend(state.map(|state| ("state", state)));
            let answer =
                client.call(Method::GET, "/v1/turns", Request { query, ..Request::default() }).await?;
            let turns = answer.get("turns").and_then(Value::as_array).cloned().unwrap_or_default();
            match json {
                true => print_result!("{}", Value::Array(turns))?,
                false => print_result!("{}", list(&turns))?,
            }
        }
        Command::Show { id, json } => {
            let turn = client.call(Method::GET, &path(&id, "")?, Request::default()).await?;
            match json {
                true => print_result!("{turn}")?,
                false => print_result!("{}", show(&turn))?,
            }
        }
        Command::Retry { id, json } => {
            let answer = client.call(Method::POST, &path(&id, "/retry")?, Request::default()).await?;
            match json {
                true => print_result!("{answer}")?,
                false => print_result!("{} waits for its agent again", visible(&id))?,
            }
        }
        Command::Drop { id, json } => {
            let answer = client.call(Method::POST, &path(&id, "/drop")?, Request::default()).await?;
            match json {
                true => print_result!("{answer}")?,
                false => print_result!("{} has ended", visible(&id))?,
            }
        }
    }
    Ok(())
}

fn path(id: &str, what: &str) -> Result<String, Failed> {
    Ok(format!("/v1/turns/{}{what}", segment(id, "a turn's id")?))
}

fn list(turns: &[Value]) -> String {
    let row = |turn: &Value| {
        ["turn", "state", "agent", "cause", "target", "at", "outcome"]
            .map(|name| match name {
                "at" => moment(text(turn, name)),
                name => visible(text(turn, name)).to_string(),
            })
            .to_vec()
    };
    let rows: Vec<Vec<String>> = turns.iter().map(row).collect();
    table(&["turn", "state", "agent", "cause", "from", "at", "outcome"], &rows)
}

fn show(turn: &Value) -> String {
    let mut lines = vec![format!(
        "{}: {}, {} for {}",
        visible(text(turn, "turn")),
        text(turn, "state"),
        text(turn, "cause"),
        visible(text(turn, "agent"))
    )];
    for (label, name) in
        [("session", "session"), ("from", "target"), ("trusted as", "scope"), ("outcome", "outcome")]
    {
        if !text(turn, name).is_empty() {
            lines.push(format!("  {label}: {}", visible(text(turn, name))));
        }
    }
    for item in turn.get("items").and_then(Value::as_array).into_iter().flatten() {
        let sender = &item["sender"];
        let who = if text(sender, "name").is_empty() { text(sender, "id") } else { text(sender, "name") };
        let mark = if item["engages"] == true { "" } else { " (read along)" };
        lines.push(format!(
            "--- {} by {} ({}, {}), {}{mark} ---",
            text(item, "kind"),
            visible(who),
            visible(text(sender, "id")),
            text(sender, "scope"),
            moment(text(item, "at"))
        ));
        if !text(item, "text").is_empty() {
            lines.push(visible(text(item, "text")).to_string());
        }
    }
    lines.join("\n")
}
