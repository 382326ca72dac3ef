//! `gatepost sessions`.

use reqwest::Method;
use serde_json::Value;

use super::{
    Failed,
    output::{moment, table, text},
};
use crate::{
    client::{Client, Place, Request},
    printing::{print_note, print_result, visible, visible_line},
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// List where agents speak with whom; those first in which somebody spoke last.
    List {
        /// Only this agent's.
        #[arg(long)]
        agent: Option<String>,
        /// At most this many.
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what was said in a session, both ways, oldest first.
    Show {
        /// The agent.
        agent: String,
        /// The session.
        session: String,
        /// At most this many, the newest.
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(place: &Place, command: Command) -> Result<(), Failed> {
    let client = Client::at(place)?;
    match command {
        Command::List { agent, limit, json } => {
            let mut query = vec![("limit", limit.to_string())];
            query.extend(agent.map(|agent| ("agent", agent)));
            let sessions = get(&client, "/v1/sessions", query, "sessions").await?;
            match json {
                true => print_result!("{}", Value::Array(sessions))?,
                false => print_result!("{}", list(&sessions))?,
            }
        }
        Command::Show { agent, session, limit, json } => {
            let query =
                vec![("agent", agent.clone()), ("session", session.clone()), ("limit", limit.to_string())];
            let lines = get(&client, "/v1/sessions/transcript", query, "lines").await?;
            if lines.is_empty() {
                let (agent, session) = (visible_line(&agent), visible_line(&session));
                print_note!(
                    "nothing was said in a session {session:?} of {agent:?}; gatepost sessions list has those that there are"
                );
            }
            match json {
                true => print_result!("{}", Value::Array(lines))?,
                false => print_result!("{}", transcript(&lines))?,
            }
        }
    }
    Ok(())
}

async fn get(
    client: &Client,
    path: &str,
    query: Vec<(&'static str, String)>,
    member: &str,
) -> Result<Vec<Value>, Failed> {
    let answer = client.call(Method::GET, path, Request { query, ..Request::default() }).await?;
    Ok(answer.get(member).and_then(Value::as_array).cloned().unwrap_or_default())
}

fn list(sessions: &[Value]) -> String {
    let row = |one: &Value| {
        let places: Vec<&str> =
            one["places"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        vec![
            visible(text(one, "agent")).to_string(),
            visible(text(one, "session")).to_string(),
            visible(&places.join(", ")).to_string(),
            text(one, "opened_by").to_owned(),
            moment(text(one, "last_at")),
        ]
    };
    let rows: Vec<Vec<String>> = sessions.iter().map(row).collect();
    table(&["agent", "session", "where", "begun by", "last"], &rows)
}

fn transcript(lines: &[Value]) -> String {
    let mut shown = Vec::new();
    for line in lines {
        let (who, at) = (visible_line(text(line, "who")), moment(text(line, "at")));
        shown.push(format!("--- {who}, {}, {at} ---", visible_line(text(line, "place"))));
        shown.push(visible(text(line, "text")).to_string());
    }
    shown.join("\n")
}
