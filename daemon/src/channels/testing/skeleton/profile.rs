//! The profile of skeleton: keys of the configuration, capabilities, format and limits.

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

/// `[channels.skeleton.ACCOUNT]`. Each key is in this list, in `Settings` and in `SETUP.md`.
pub(in crate::channels) const KEYS: &[Key] = &[
    example("url", "\"https://skeleton.example\"", "The server."),
    example(
        "token",
        "\"file:secrets/skeleton\"",
        "The access token. A new one in its place is read when the old one is refused.",
    )
    .no_identity(),
];

/// What an account does. Whatever is named here, the contract plays.
pub(super) const CAPABILITIES: Capabilities = Capabilities {
    channel: "skeleton",
    address_hint: "a name of 1 to 64 letters, digits, dashes or underscores",
    ..Capabilities::PLAIN
};

/// How text looks, with the source of the limit; and what an agent is told of it, in lines that begin with `- `.
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "skeleton",
    flavour: Flavour { markup: Markup::Plain, limit: Some(4000), unit: Unit::Utf16, tables: Tables::Plain },
    caption_limit: None,
    tool_results: ToolResults::Plain,
    guide: "",
};

/// What the platform promises to take, with the source; none if it names no number.
pub(in crate::channels) const LIMITS: Limits = Limits::NONE;
