//! `gatepost send` and `gatepost message`.

use std::{
    io::{self, Read as _},
    time::Duration,
};

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::{Failed, output};
use crate::client::{Client, Place, Request};
use crate::message::call::MAX_TEXT;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The channel, such as `local`, `email`, `matrix`.
    #[arg(long)]
    channel: Option<String>,
    /// The target: an address on the channel, or `channel:address`.
    #[arg(long)]
    to: String,
    /// The account, on a channel with several.
    #[arg(long)]
    account: Option<String>,
    /// Wait for the message's end, at most so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    wait: u64,
    /// Say what would be sent, and send nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print the receipt as JSON.
    #[arg(long)]
    json: bool,
    /// The text, Markdown; `-` or nothing reads stdin.
    text: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct MessageArguments {
    /// Wait for the message's end, at most so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    wait: u64,
}

pub(super) async fn run(place: &Place, arguments: Arguments) -> Result<(), Failed> {
    let text = match arguments.text.as_deref() {
        None | Some("-") => stdin()?,
        Some(text) => text.to_owned(),
    };
    let mut call = Map::new();
    call.insert("message".into(), text.into());
    call.insert("to".into(), arguments.to.into());
    call.insert("dryRun".into(), arguments.dry_run.into());
    let optional = [("channel", arguments.channel), ("accountId", arguments.account)];
    for (name, value) in optional {
        if let Some(value) = value {
            call.insert(name.into(), value.into());
        }
    }
    let answer = post(place, call.into(), arguments.wait).await?;
    if arguments.json {
        println!("{answer}");
    } else if arguments.dry_run {
        println!("{}", serde_json::to_string_pretty(&answer).map_err(Failed::refused)?);
    } else {
        println!("{}", output::receipt(&answer));
    }
    ended_well(&answer)
}

pub(super) async fn message(place: &Place, arguments: &MessageArguments) -> Result<(), Failed> {
    let text = stdin()?;
    let call =
        serde_json::from_str(&text).map_err(|error| Failed::Usage(format!("stdin is not JSON: {error}")))?;
    let client = Client::at(place)?;
    let (_, answer) = client.ask(Method::POST, "/v1/messages", request(call, arguments.wait)).await?;
    println!("{answer}");
    ended_well(&answer)
}

async fn post(place: &Place, call: Value, wait: u64) -> Result<Value, Failed> {
    Ok(Client::at(place)?.call(Method::POST, "/v1/messages", request(call, wait)).await?)
}

fn request(call: Value, wait: u64) -> Request<'static> {
    let query = if wait > 0 { vec![("wait", wait.to_string())] } else { vec![] };
    Request { query, body: Some(call), wait: Duration::from_secs(wait) }
}

fn ended_well(answer: &Value) -> Result<(), Failed> {
    match answer.get("ok") {
        Some(ok) if *ok == json!(true) => Ok(()),
        _ => Err(Failed::Said),
    }
}

fn stdin() -> Result<String, Failed> {
    // More than the hub takes is read, so that the hub can say so in its own words; but not without end.
    let mut bytes = vec![];
    io::stdin().lock().take(4 * MAX_TEXT as u64).read_to_end(&mut bytes).map_err(Failed::refused)?;
    String::from_utf8(bytes).map_err(|_| Failed::Usage("stdin is not UTF-8".into()))
}
