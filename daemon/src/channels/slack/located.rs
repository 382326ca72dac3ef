//! Where a message or a file is.
//!
//! A message is read back by its time in the conversation that is asked about; its thread is the time of the message that the
//! thread began with. A file belongs to the workspace, and may be shared in several conversations: what is done to it is done
//! in all of them, so it is here only if it is nowhere else.

use serde_json::Value;

use super::{client::Client, request::is_file, target::is_person};
use crate::channels::{Failure, Located, RateHints};

/// Asks Slack.
pub(super) async fn ask(client: &Client, address: &str, message: &str) -> Result<Located, Failure> {
    let hints = &mut RateHints::default();
    let channel = if is_person(address) { client.direct(address, hints).await? } else { address.to_owned() };
    if is_file(message) {
        of_file(client, &channel, message, hints).await
    } else {
        of_message(client, &channel, message, hints).await
    }
}

/// The time of a message in a thread finds that message too: <https://docs.slack.dev/reference/methods/conversations.replies>.
async fn of_message(
    client: &Client,
    channel: &str,
    message: &str,
    hints: &mut RateHints,
) -> Result<Located, Failure> {
    let arguments = [("channel", channel), ("ts", message), ("limit", "1")];
    let said = client.question_of("conversations.replies", &arguments, hints).await?.unwrap_or_default();
    let found = said["messages"].as_array().and_then(|list| list.iter().find(|one| one["ts"] == message));
    Ok(match found {
        Some(found) => Located::Here { thread: found["thread_ts"].as_str().map(str::to_owned) },
        None => Located::Elsewhere,
    })
}

/// <https://docs.slack.dev/reference/objects/file-object>
async fn of_file(
    client: &Client,
    channel: &str,
    file: &str,
    hints: &mut RateHints,
) -> Result<Located, Failure> {
    let said = client.question_of("files.info", &[("file", file)], hints).await?.unwrap_or_default();
    let shared =
        ["channels", "groups", "ims"].iter().filter_map(|kind| said["file"][kind].as_array()).flatten();
    let shared: Vec<&Value> = shared.collect();
    Ok(if !shared.is_empty() && shared.iter().all(|one| **one == channel) {
        // Which message it became there is not said, so neither is the thread.
        Located::Here { thread: None }
    } else {
        Located::Elsewhere
    })
}
