//! A webhook's profile: keys of the configuration, capabilities, format and limits.

use gatepost_chunk::Unit;

use crate::{
    channels::{
        Capabilities,
        formats::{Format, ToolResults},
        limits::Limits,
    },
    render::{Flavour, Markup, Tables},
    settings::{Key, example},
};

/// `[channels.webhook.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] = &[
    example("url", "\"https://example.org/hooks/gatepost\"", "Where messages are posted to."),
    example(
        "secret",
        "\"file:secrets/webhook\"",
        "What they are signed with, as Standard Webhooks has it: whsec_ and the base64 of 24 to 64 bytes. The receiver has the same.",
    ).no_identity(),
    example(
        "old_secrets",
        "[\"file:secrets/webhook-old\"]",
        "Up to 4 more secrets, with which every message is signed too while receivers move to a new one.",
    ).no_identity(),
];

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    channel: "webhook",
    threads: true,
    replies: true,
    silent: true,
    source: true,
    address_hint: "a name of 1 to 64 letters, digits, dots, dashes or underscores",
    ..Capabilities::PLAIN
};

/// A webhook: whoever receives it gets plain text in one piece, and the Markdown beside it.
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "webhook",
    flavour: Flavour { markup: Markup::Plain, limit: None, unit: Unit::CodePoints, tables: Tables::Code },
    caption_limit: None,
    tool_results: ToolResults::Plain,
    guide: "- A program receives it in one piece, as plain text and as your Markdown: say what it needs, and no more.\n\
            - In the plain text `||spoiler||` arrives behind the word (spoiler).\n\
            - Headings, lists and tables become tidy lines; a link's address follows its text.\n",
};

/// Whoever receives it says 429.
pub(in crate::channels) const LIMITS: Limits = Limits::NONE;
