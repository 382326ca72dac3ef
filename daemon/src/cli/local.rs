//! `gatepost local`: the hub's own inbox.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    Failed,
    output::{file, moment, text},
};
use crate::client::{Client, Place, Request};
use crate::printing::{print_result, visible};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Print what has arrived.
    Read {
        /// Only for this address.
        address: Option<String>,
        /// Only what came after this number.
        #[arg(long, default_value_t = 0)]
        after: i64,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write to an agent; prints the context with which it can answer.
    Say {
        /// The agent.
        #[arg(long)]
        agent: String,
        /// Your own address.
        #[arg(long = "as", value_name = "ADDRESS")]
        who: String,
        /// The text.
        text: String,
    },
}

pub(super) async fn run(place: &Place, command: Command) -> Result<(), Failed> {
    let client = Client::at(place)?;
    match command {
        Command::Read { address, after, json } => {
            let mut query = vec![("after", after.to_string())];
            query.extend(address.map(|address| ("address", address)));
            let answer =
                client.call(Method::GET, "/v1/local", Request { query, ..Request::default() }).await?;
            let arrived = answer.get("arrived").and_then(Value::as_array).cloned().unwrap_or_default();
            if json {
                print_result!("{}", Value::Array(arrived))?;
                return Ok(());
            }
            for message in &arrived {
                let number = message.get("seq").and_then(Value::as_i64).unwrap_or(0);
                let (address, at) = (text(message, "address"), moment(text(message, "at")));
                print_result!("--- {number} for {}, {at} ---", visible(address))?;
                if let Some(attachment) = message.get("attachment") {
                    print_result!("{}", file(attachment))?;
                }
                if !text(message, "text").is_empty() || message.get("attachment").is_none() {
                    print_result!("{}", visible(text(message, "text")))?;
                }
            }
        }
        Command::Say { agent, who, text: words } => {
            let body = json!({"agent": agent, "channel": "local", "peer": who, "sender": who, "text": words});
            let request = Request { body: Some(body), ..Request::default() };
            let answer = client.call(Method::POST, "/v1/inbound", request).await?;
            print_result!("{}", text(&answer, "context"))?;
        }
    }
    Ok(())
}
