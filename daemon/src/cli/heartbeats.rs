//! `gatepost heartbeats`.

use reqwest::Method;
use serde_json::Value;

use super::{
    Failed,
    output::{moment, table, text},
};
use crate::{
    client::{Client, Place, Request},
    printing::print_result,
};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(place: &Place, arguments: &Arguments) -> Result<(), Failed> {
    let answer = Client::at(place)?.call(Method::GET, "/v1/heartbeats", Request::default()).await?;
    let heartbeats = answer.get("heartbeats").and_then(Value::as_array).cloned().unwrap_or_default();
    match arguments.json {
        true => print_result!("{}", Value::Array(heartbeats))?,
        false => print_result!("{}", list(&heartbeats))?,
    }
    Ok(())
}

fn list(heartbeats: &[Value]) -> String {
    let row = |heartbeat: &Value| {
        let target = match text(heartbeat, "target") {
            "" => text(heartbeat, "source"),
            target => target,
        };
        let why = match text(heartbeat, "not_now") {
            "" => "yes".to_owned(),
            why => format!("no: {why}"),
        };
        let at = |name| match text(heartbeat, name) {
            "" => String::new(),
            at => moment(at),
        };
        vec![
            text(heartbeat, "agent").to_owned(),
            at("next_at"),
            at("last_at"),
            heartbeat["failures"].to_string(),
            target.to_owned(),
            why,
        ]
    };
    let rows: Vec<Vec<String>> = heartbeats.iter().map(row).collect();
    table(&["agent", "next", "last", "failures", "text goes to", "would wake now"], &rows)
}
