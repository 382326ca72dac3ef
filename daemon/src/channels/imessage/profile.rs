//! iMessage's profile: keys of the configuration, capabilities, format and limits.

use gatepost_chunk::Unit;

use super::{request, target};
use crate::{
    channels::{
        Capabilities, DeliveryMode, FileForm, FileRules,
        formats::{Format, ToolResults},
        limits::Limits,
    },
    message::action::Action,
    render::{Flavour, Markup, Tables},
    settings::{Key, example, key},
};

/// `[channels.imessage.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] = &[
    key("kind", "\"bluebubbles\"", "\"bluebubbles\": a BlueBubbles server. \"imsg\": the program imsg."),
    example(
        "url",
        "\"https://mac.example.org:1234\"",
        "BlueBubbles: its address. With http:// its password crosses the network unprotected.",
    ),
    example("password", "\"file:secrets/bluebubbles\"", "BlueBubbles: the server's password.").no_identity(),
    key(
        "private_api",
        "true",
        "BlueBubbles: whether its Private API is set up. Replies, reactions, edits, removals and effects need it.",
    ).no_identity(),
    example(
        "command",
        "[\"/opt/homebrew/bin/imsg\"]",
        "imsg: the program, 0.9.0 or later, best 0.14.0; and arguments that come first.",
    ),
    example(
        "ssh",
        "[\"ssh\", \"-o\", \"BatchMode=yes\", \"-o\", \"ConnectTimeout=10\", \"me@mac.local\"]",
        "imsg: what brings the command to the Mac, where the hub runs elsewhere. Files cannot be sent that way.",
    ),
    key(
        "receive",
        "false",
        "Reads what people write to this account: the hub asks BlueBubbles each minute; imsg, 0.14.0 or later, says by itself that something came.",
    ).no_identity(),
    example(
        "webhook_secret",
        "\"file:secrets/bluebubbles-webhook\"",
        "BlueBubbles, with receive: the password in the address of its webhook, http://hub:SECRET@HUB:8787/v1/platform/imessage/ACCOUNT, so that messages are read at once.",
    ).no_identity(),
];

const INSTEAD: &[(Action, &str)] = &[
    (Action::Poll, "ask in a message"),
    (Action::Thread, "iMessage has no threads: use reply where the account has replies"),
    (Action::ThreadReply, "iMessage has no threads: use reply where the account has replies"),
    (Action::React, "answer in a message"),
    (Action::Edit, "send the correction as a message"),
    (Action::Delete, "send a correction as a message"),
    (Action::SendWithEffect, "send it without an effect"),
    (Action::Pin, "send it again"),
];

/// Messages takes files of 100 MB or so (<https://support.apple.com/guide/messages>); what is larger it refuses itself.
const FILES: FileRules = FileRules {
    max_size: 100 * 1024 * 1024,
    everywhere: None,
    max_together: u64::MAX,
    form: FileForm::Captioned,
    kinds: &[],
};

pub(super) const PLAIN: Capabilities = Capabilities {
    channel: "imessage",
    address_hint: target::HINT,
    files: Some(FILES),
    instead: INSTEAD,
    mode: DeliveryMode::Gateway,
    personal: true,
    ..Capabilities::PLAIN
};

pub(super) const PRIVATE: Capabilities = Capabilities {
    replies: true,
    reaction_is: "a tapback (love, like, dislike, laugh, emphasize, question)",
    actions: &[Action::React, Action::Edit, Action::Delete],
    effects: request::EFFECTS,
    ..PLAIN
};

pub(super) const REMOTE: Capabilities = Capabilities { files: None, ..PLAIN };

/// iMessage, by either bridge: text and nothing else, and none with a file.
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "imessage",
    flavour: Flavour { markup: Markup::Plain, limit: Some(4000), unit: Unit::Utf16, tables: Tables::Plain },
    caption_limit: Some(0),
    tool_results: ToolResults::Plain,
    guide: "- Only plain text arrives: say what matters in words, not in bold.\n\
            - Nothing can be hidden: `||spoiler||` arrives behind the word (spoiler).\n\
            - Keep it short; past 4,000 characters a text arrives as several messages.\n\
            - Table rows become plain lines, a link's address follows its text.\n",
};

/// The server pushes back as it likes.
pub(in crate::channels) const LIMITS: Limits = Limits::NONE;
