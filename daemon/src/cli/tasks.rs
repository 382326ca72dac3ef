//! `gatepost tasks`.

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
    /// List tasks; those first that are due next.
    List {
        /// Only this agent's.
        #[arg(long)]
        agent: Option<String>,
        /// Those that are over too.
        #[arg(long)]
        ended: bool,
        /// At most this many.
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Take a task back: it is not due any more.
    Cancel {
        /// The task's id.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(place: &Place, command: Command) -> Result<(), Failed> {
    let client = Client::at(place)?;
    match command {
        Command::List { agent, ended, limit, json } => {
            let mut query = vec![("limit", limit.to_string()), ("ended", ended.to_string())];
            query.extend(agent.map(|agent| ("agent", agent)));
            let answer =
                client.call(Method::GET, "/v1/tasks", Request { query, ..Request::default() }).await?;
            let tasks = answer.get("tasks").and_then(Value::as_array).cloned().unwrap_or_default();
            match json {
                true => print_result!("{}", Value::Array(tasks))?,
                false => print_result!("{}", list(&tasks))?,
            }
        }
        Command::Cancel { id, json } => {
            let path = format!("/v1/tasks/{}/cancel", segment(&id, "a task's id")?);
            let answer = client.call(Method::POST, &path, Request::default()).await?;
            match json {
                true => print_result!("{answer}")?,
                false => print_result!("{} is not due any more", visible(&id))?,
            }
        }
    }
    Ok(())
}

fn list(tasks: &[Value]) -> String {
    let row = |task: &Value| {
        ["task", "agent", "when", "next_at", "target", "scope", "prompt", "outcome"]
            .map(|name| match (name, text(task, name)) {
                ("next_at", "") => String::new(),
                ("next_at", at) => moment(at),
                ("prompt", prompt) => visible(&short(prompt)).to_string(),
                (_, other) => visible(other).to_string(),
            })
            .to_vec()
    };
    let rows: Vec<Vec<String>> = tasks.iter().map(row).collect();
    table(&["task", "agent", "when", "next", "in", "trusted as", "prompt", "outcome"], &rows)
}

/// The beginning of a prompt, on one line.
fn short(prompt: &str) -> String {
    const MAX_CHARS: usize = 60;
    let line = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
