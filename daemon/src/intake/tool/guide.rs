//! What stands at `gatepost://guide/{channel}`: all that is known of how to write for a channel.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    channels::registry::{NAMES, format},
    message::refusal::{Code, Refusal},
    pipeline::Pipeline,
};

/// How to write for a channel.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Guide {
    /// Always true.
    ok: bool,
    channel: &'static str,
    /// What the channel shows of Markdown, its limits, and what an account there does beside text, for whoever writes.
    guide: String,
    /// The longest part, in the channel's own unit.
    limit: Option<usize>,
    /// The longest caption that stands with its file; a longer one goes before it as text, as any does where this is 0.
    caption_limit: Option<usize>,
    /// How the results of tools are best written there.
    tool_result_format: &'static str,
}

/// All that is known of how to write for a channel.
pub(crate) fn of(pipeline: &Pipeline, channel: &str) -> Result<Guide, Refusal> {
    let format = format(channel).ok_or_else(|| {
        let hint = format!("channels are: {}", NAMES.join(", "));
        Refusal::new(Code::NotFound, "there is no such channel", hint)
    })?;
    Ok(Guide {
        ok: true,
        channel: format.channel,
        guide: pipeline.guide(format),
        limit: format.flavour.limit,
        caption_limit: format.caption_limit,
        tool_result_format: format.tool_results.name(),
    })
}
