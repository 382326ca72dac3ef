//! `gatepost people`.

use clap::builder::PossibleValuesParser;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    Failed,
    output::{moment, table, text},
    queue::segment,
};
use crate::{
    client::{Client, Place, Request},
    printing::{print_result, visible_line},
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// List who wrote, the last first, with the ids that [people.NAME] takes.
    List {
        /// At most this many.
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List who asks to be let in.
    Requests {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let in who asks by this code. What they wrote meanwhile goes its way.
    Allow {
        /// The code, as `gatepost people requests` shows it.
        code: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Refuse who asks by this code. They are not asked about again.
    Refuse {
        /// The code, as `gatepost people requests` shows it.
        code: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say how far somebody is trusted who is not in the configuration; `unknown` takes it back.
    Set {
        /// Their id, such as tg:123456.
        user: String,
        /// How far.
        #[arg(value_parser = PossibleValuesParser::new(["owner", "known", "blocked", "unknown"]))]
        scope: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(place: &Place, command: Command) -> Result<(), Failed> {
    let client = Client::at(place)?;
    match command {
        Command::List { limit, json } => {
            let query = vec![("limit", limit.to_string())];
            let answer =
                client.call(Method::GET, "/v1/people", Request { query, ..Request::default() }).await?;
            let people = answer["people"].as_array().cloned().unwrap_or_default();
            match json {
                true => print_result!("{}", Value::Array(people))?,
                false => print_result!("{}", list(&people))?,
            }
        }
        Command::Requests { json } => {
            let answer = client.call(Method::GET, "/v1/people", Request::default()).await?;
            let requests = answer["requests"].as_array().cloned().unwrap_or_default();
            match json {
                true => print_result!("{}", Value::Array(requests))?,
                false => print_result!("{}", asked(&requests))?,
            }
        }
        Command::Allow { code, json } => answer(&client, &code, true, json).await?,
        Command::Refuse { code, json } => answer(&client, &code, false, json).await?,
        Command::Set { user, scope, json } => {
            let body = Some(json!({"user": user, "scope": scope}));
            let set = client.call(Method::POST, "/v1/people", Request { body, ..Request::default() }).await?;
            match json {
                true => print_result!("{set}")?,
                false => print_result!("{} is {}", visible_line(text(&set, "user")), text(&set, "scope"))?,
            }
        }
    }
    Ok(())
}

async fn answer(client: &Client, code: &str, allow: bool, json: bool) -> Result<(), Failed> {
    let path = format!("/v1/people/requests/{}", segment(code, "a request's code")?);
    let body = Some(json!({"allow": allow}));
    let answered = client.call(Method::POST, &path, Request { body, ..Request::default() }).await?;
    let subject = visible_line(text(&answered["request"], "subject"));
    let done = if allow { "is let in" } else { "is refused" };
    match json {
        true => print_result!("{answered}")?,
        false => print_result!("{subject} {done}")?,
    }
    Ok(())
}

fn list(people: &[Value]) -> String {
    let row = |one: &Value| {
        vec![
            text(one, "id").to_owned(),
            text(one, "scope").to_owned(),
            text(one, "person").to_owned(),
            text(one, "name").to_owned(),
            moment(text(one, "last_at")),
        ]
    };
    let rows: Vec<Vec<String>> = people.iter().map(row).collect();
    table(&["id", "trusted as", "in the file", "calls themselves", "last wrote"], &rows)
}

fn asked(requests: &[Value]) -> String {
    let row = |one: &Value| {
        vec![
            text(one, "code").to_owned(),
            text(one, "what").to_owned(),
            text(one, "subject").to_owned(),
            text(one, "name").to_owned(),
            text(one, "agent").to_owned(),
            moment(text(one, "expires_at")),
        ]
    };
    let rows: Vec<Vec<String>> = requests.iter().map(row).collect();
    table(&["code", "what", "who or where", "is called", "for", "until"], &rows)
}
