//! `gatepost reload`.

use reqwest::Method;
use serde_json::Value;

use super::Failed;
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
    let answer = Client::at(place)?.call(Method::POST, "/v1/reload", Request::default()).await?;
    if arguments.json {
        return Ok(print_result!("{answer}")?);
    }
    let named = |member: &str| -> Vec<&str> {
        answer[member].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    };
    match named("changed").as_slice() {
        [] => print_result!("nothing changed")?,
        changed => print_result!("changed: {}", changed.join(", "))?,
    }
    if let waiting @ [_, ..] = named("at_next_start").as_slice() {
        print_result!("these keys changed and take effect at the next start: {}", waiting.join(", "))?;
    }
    Ok(())
}
