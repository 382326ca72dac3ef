//! `gatepost ask`.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::{Failed, output, send::sender};
use crate::{
    client::{Client, Place, Request},
    config::Span,
    message::parameters::LONGEST_WAIT,
    printing::{print_note, print_result},
};

/// Exit statuses, below the options in `--help`.
const STATUSES: &str = "Exit status:
  0  approved
  1  refused or failed
  2  wrong usage
  3  with --no-wait: not answered yet
  4  no hub answers
  6  denied
  7  nobody answered in time, or it was taken back";

#[derive(Debug, clap::Args)]
#[command(after_help = STATUSES)]
pub(super) struct Arguments {
    /// What a person is to answer with yes or no.
    question: String,
    /// How long they have, such as 5m. Never longer than a held message waits ([approval] ttl), and that long without it.
    #[arg(long, value_name = "TIME", value_parser = |span: &str| Span::try_from(span.to_owned()))]
    ttl: Option<Span>,
    /// Print the question's id, and do not wait for the answer: `gatepost queue show ID` tells it.
    #[arg(long)]
    no_wait: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Ask as the operator, with the operator's token: as the agent `shell`. Without this flag, GATEPOST_TOKEN must hold a
    /// token, by whose name the card says who asks.
    #[arg(long)]
    as_operator: bool,
}

pub(super) async fn run(place: &Place, arguments: Arguments) -> Result<(), Failed> {
    let client = sender(place, arguments.as_operator)?;
    let mut body = json!({"question": arguments.question});
    if let Some(Span(ttl)) = arguments.ttl {
        body["ttl_seconds"] = ttl.as_secs().max(1).into();
    }
    let request = Request { body: Some(body), ..Request::default() };
    let mut question = client.call(Method::POST, "/v1/questions", request).await?;
    let id = question["id"].as_str().unwrap_or_default().to_owned();
    if !arguments.no_wait && is_open(&question) {
        print_note!("{}", output::question(&question));
        tokio::select! {
            answered = answer(&client, &id) => question = answered?,
            // Nobody is there any more who wants to know.
            _ = tokio::signal::ctrl_c() => {
                let path = format!("/v1/messages/{id}/cancel");
                client.call(Method::POST, &path, Request::default()).await?;
                question = client.call(Method::GET, &format!("/v1/questions/{id}"), Request::default()).await?;
            }
        }
    }
    match arguments.json {
        true => print_result!("{question}")?,
        false => print_result!("{}", output::question(&question))?,
    }
    match question["state"].as_str() {
        Some("approved") => Ok(()),
        Some("waiting") => Err(Failed::Undecided),
        Some("denied") => Err(Failed::Denied),
        Some("expired" | "cancelled") => Err(Failed::Unanswered),
        _ => Err(Failed::Said),
    }
}

/// Waits for the answer, however long it takes: the hub ends it.
async fn answer(client: &Client, id: &str) -> Result<Value, Failed> {
    loop {
        let query = vec![("wait", LONGEST_WAIT.to_string())];
        let request = Request { query, wait: Duration::from_secs(LONGEST_WAIT), ..Request::default() };
        let question = client.call(Method::GET, &format!("/v1/questions/{id}"), request).await?;
        if !is_open(&question) {
            return Ok(question);
        }
    }
}

fn is_open(question: &Value) -> bool {
    question["state"] == "waiting"
}
