//! What stands at `gatepost://guide/{channel}`: all that is known of how to write for a channel.

use serde_json::{Value, json};

use crate::{
    channels::formats::{FORMATS, format},
    message::refusal::{Code, Refusal},
};

/// All that is known of how to write for a channel.
pub(crate) fn of(channel: &str) -> Result<Value, Refusal> {
    let format = format(channel).ok_or_else(|| {
        let known: Vec<&str> = FORMATS.iter().map(|format| format.channel).collect();
        let hint = format!("channels are: {}", known.join(", "));
        Refusal::new(Code::NotFound, "there is no such channel", hint)
    })?;
    Ok(json!({
        "ok": true,
        "channel": format.channel,
        "guide": format.guide,
        "limit": format.flavour.limit,
        "caption_limit": format.caption_limit,
        "tool_result_format": format.tool_results.name(),
    }))
}
