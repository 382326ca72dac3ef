//! The profile of the hub's own inbox: keys of the configuration, capabilities, format and limits.

use crate::{
    channels::{
        Capabilities, FileForm, FileRules,
        formats::{Format, PLAIN, ToolResults},
        limits::Limits,
    },
    settings::{Key, example},
};

/// The keys of `[channels.local.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] =
    &[example("limit", "1500", "The most characters in one part. Without it, messages are not split.")
        .no_identity()];

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    channel: "local",
    threads: true,
    replies: true,
    address_hint: "a name: letters, digits, `-`, `_` and `.`, at most 64 of them",
    files: Some(FileRules {
        max_size: u64::MAX,
        everywhere: None,
        max_together: u64::MAX,
        form: FileForm::Captioned,
        kinds: &[],
    }),
    ..Capabilities::PLAIN
};

/// The hub's own inbox, for people at a terminal.
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "local",
    flavour: PLAIN,
    caption_limit: None,
    tool_results: ToolResults::Plain,
    guide: "- Write Markdown; people read it as tidy plain text.\n\
            - Nothing can be hidden: `||spoiler||` arrives behind the word (spoiler).\n\
            - There is no limit: a message arrives in one piece.\n\
            - Tables are lined up, links show their address.\n",
};

/// It is the hub's own.
pub(in crate::channels) const LIMITS: Limits = Limits::NONE;
