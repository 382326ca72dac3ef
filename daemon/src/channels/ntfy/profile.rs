//! ntfy's profile: keys of the configuration, capabilities, format and limits.

use std::time::Duration;

use gatepost_chunk::Unit;

use crate::{
    channels::{
        Capabilities,
        formats::{Format, ToolResults},
        limits::{Limits, rate},
    },
    render::{Flavour, Markup, Tables},
    settings::{Key, example, key},
};

/// `[channels.ntfy.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] = &[
    example("url", "\"https://ntfy.sh\"", "The server."),
    example("token", "\"file:secrets/ntfy\"", "An access token, for topics that want one.").no_identity(),
    key("priority", "3", "From 1 to 5, for what is not silent.").no_identity(),
    key(
        "receive",
        "false",
        "Reads what is published to topics. Nobody there says who they are: all of it is a stranger's.",
    )
    .no_identity(),
    key("topics", "[]", "With receive: the topics that are read, such as \"house-in\", up to 32.")
        .no_identity(),
];

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    channel: "ntfy",
    silent: true,
    // Nobody is asked about strangers: whoever is let in is told from nobody.
    personal: true,
    address_hint: "a topic: 1 to 64 letters, digits, dashes or underscores",
    ..Capabilities::PLAIN
};

/// ntfy: 4,096 bytes a message, beyond which it becomes a file (<https://docs.ntfy.sh/publish/#limitations>).
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "ntfy",
    flavour: Flavour { markup: Markup::Plain, limit: Some(4096), unit: Unit::Bytes, tables: Tables::Plain },
    caption_limit: None,
    tool_results: ToolResults::Plain,
    guide: "- A notification on a phone: a line that says what it is about, and a sentence or two.\n\
            - Only plain text arrives. The first visible line is the title as well.\n\
            - `||spoiler||` arrives behind the word (spoiler), and is left out of the title.\n\
            - Past 4,096 bytes a text arrives as several notifications.\n",
};

/// 60 at once and one every five seconds a visitor (<https://docs.ntfy.sh/publish/#limitations>).
pub(in crate::channels) const LIMITS: Limits =
    Limits { account: &[rate(30, Duration::from_secs(5))], ..Limits::NONE };
