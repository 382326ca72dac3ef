//! `gatepost send` and `gatepost message`.

use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::{Failed, STATUSES, is_not_found, output};
use crate::client::{Client, Place, Request, Token};
use crate::message::{call::MAX_TEXT, parameters::LONGEST_WAIT, state::State};
use crate::printing::print_result;
use crate::settings::file::open_regular;
use crate::unique_keys::{self, JsonError};

/// How long a hub may take to fetch files, beyond its usual work.
const FETCH_TIMEOUT: Duration = Duration::from_mins(5);

#[derive(Debug, clap::Args)]
#[command(after_help = STATUSES)]
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
    /// Wait for the message's end, at most so many seconds. If it is still held, or on its way, when they are over, the exit
    /// status is 3.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    wait: u64,
    /// Say what would be sent, and send nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print the receipt as JSON.
    #[arg(long)]
    json: bool,
    /// A file to send along; several, if given several times. It is handed to the hub, wherever it is.
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// A voice message to send along.
    #[arg(long, value_name = "FILE")]
    voice: Option<PathBuf>,
    /// Send as the operator, with the operator's token: as the agent `shell`. Without this flag, GATEPOST_TOKEN must hold a
    /// token. A terminal is no sign of a person: agents have pseudo-terminals too.
    #[arg(long)]
    as_operator: bool,
    /// The text, Markdown; `-`, or nothing where no file goes along, reads stdin.
    text: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = STATUSES)]
pub(super) struct MessageArguments {
    /// Wait for the message's end, at most so many seconds. If it is still held, or on its way, when they are over, the exit
    /// status is 3.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    wait: u64,
    /// Use the operator's token: messages go out as the agent `shell`. A program has a token of its own in GATEPOST_TOKEN.
    #[arg(long)]
    as_operator: bool,
}

pub(super) async fn run(place: &Place, arguments: Arguments) -> Result<(), Failed> {
    let text = match arguments.text.as_deref() {
        None if !arguments.attach.is_empty() || arguments.voice.is_some() => String::new(),
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
    let client = sender(place, arguments.as_operator)?;
    if let Some(voice) = &arguments.voice {
        call.insert("voice".into(), hand_in(&client, voice).await?);
    }
    let mut attachments = Vec::with_capacity(arguments.attach.len());
    for path in &arguments.attach {
        attachments.push(hand_in(&client, path).await?);
    }
    if !attachments.is_empty() {
        call.insert("attachments".into(), attachments.into());
    }
    let answer = client.call(Method::POST, "/v1/messages", request(call.into(), arguments.wait)).await?;
    if arguments.json {
        print_result!("{answer}")?;
    } else if arguments.dry_run {
        print_result!("{}", serde_json::to_string_pretty(&answer).map_err(Failed::refused)?)?;
    } else {
        print_result!("{}", output::receipt(&answer))?;
    }
    ended_well(&answer, arguments.wait)
}

pub(super) async fn message(place: &Place, arguments: &MessageArguments) -> Result<(), Failed> {
    let text = stdin()?;
    let call: Value = unique_keys::from_slice(text.as_bytes()).map_err(|error| match error {
        JsonError::Repeated(_) => Failed::Usage(format!("{error} on stdin: write each key once")),
        JsonError::Json(error) => Failed::Usage(format!("stdin is not JSON: {error}")),
    })?;
    // The call may say it too.
    let waited = arguments.wait.max(call.get("wait").and_then(Value::as_u64).unwrap_or(0));
    let client = sender(place, arguments.as_operator)?;
    let mut request = request(call, arguments.wait);
    // The hub may have to fetch a file first.
    request.wait += FETCH_TIMEOUT;
    let (_, answer) = client.ask(Method::POST, "/v1/messages", request).await?;
    print_result!("{answer}")?;
    ended_well(&answer, waited)
}

pub(super) fn sender(place: &Place, as_operator: bool) -> Result<Client, Failed> {
    let token = Token::of_sender(as_operator).map_err(|error| Failed::Usage(error.to_string()))?;
    Ok(Client::with(place, &token)?)
}

/// Hands a file to the hub; how the call names it.
async fn hand_in(client: &Client, path: &Path) -> Result<Value, Failed> {
    let file = open_regular(path).map_err(|error| Failed::Usage(error.to_string()))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(json!({"file": client.hand_in(file).await?, "name": name}))
}

fn request(call: Value, wait: u64) -> Request<'static> {
    let wait = wait.min(LONGEST_WAIT);
    let query = if wait > 0 { vec![("wait", wait.to_string())] } else { vec![] };
    Request { query, body: Some(call), wait: Duration::from_secs(wait) }
}

/// `waited`: for how many seconds its end was waited for.
fn ended_well(answer: &Value, waited: u64) -> Result<(), Failed> {
    let targets = answer.get("targets").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let open = |receipt: &Value| {
        let state = receipt.get("state").and_then(Value::as_str).and_then(State::from_word);
        state.is_some_and(|state| !state.is_final())
    };
    match answer.get("ok") {
        Some(ok) if *ok != json!(true) && is_not_found(answer) => Err(Failed::NotFound(String::new())),
        Some(ok) if *ok != json!(true) => Err(Failed::Said),
        None => Err(Failed::Said),
        Some(_) if waited > 0 && std::iter::once(answer).chain(targets).any(open) => Err(Failed::Undecided),
        Some(_) => Ok(()),
    }
}

fn stdin() -> Result<String, Failed> {
    // More than the hub takes is read, so that the hub can say so in its own words; but not without end.
    let mut bytes = vec![];
    io::stdin().lock().take(4 * MAX_TEXT as u64).read_to_end(&mut bytes).map_err(Failed::refused)?;
    String::from_utf8(bytes).map_err(|_| Failed::Usage("stdin is not UTF-8".into()))
}
