//! Signal's profile: keys of the configuration, capabilities, format and limits.

use gatepost_chunk::Unit;

use super::target;
use crate::{
    channels::{
        Capabilities, DeliveryMode, EditForm, FileForm, FileRules,
        capabilities::PollRules,
        formats::{Format, ToolResults},
        limits::Limits,
    },
    message::action::Action,
    render::{Flavour, Markup, Tables},
    settings::{Key, example, key},
};

/// `[channels.signal.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] = &[
    example(
        "url",
        "\"http://127.0.0.1:8080\"",
        "Where signal-cli listens: signal-cli daemon --http 127.0.0.1:8080, without -a. It asks nobody who they are, so let it listen on this machine only.",
    ),
    example("account", "\"+4915112345678\"", "The account's number, as signal-cli listAccounts shows it."),
    key(
        "receive",
        "false",
        "Reads what people write to this account. Start signal-cli's daemon with --receive-mode=on-connection, or what comes while the hub is away is lost.",
    )
    .no_identity(),
];

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    channel: "signal",
    replies: true,
    mentions: true,
    address_hint: target::HINT,
    files: Some(FileRules {
        max_size: MAX_FILE,
        everywhere: None,
        max_together: u64::MAX,
        form: FileForm::Captioned,
        kinds: &[],
    }),
    actions: &[Action::React, Action::Poll, Action::Edit, Action::Delete],
    // Ten options (signal-cli's `SendPollCreateCommand`, in 0.13.23 and later); Signal's applications drop a poll whose
    // question or option is longer (Signal-Android, `DataMessageProcessor`: `POLL_CHARACTER_LIMIT`).
    polls: Some(PollRules {
        options: 10,
        question: 100,
        option: 100,
        // Java counts so (`String.length`).
        unit: Unit::Utf16,
        multiple: true,
        seconds: 0,
        anonymous: false,
        stand_in: None,
    }),
    // <https://github.com/signalapp/Signal-Android/blob/main/app/src/main/java/org/thoughtcrime/securesms/messages/EditMessageProcessor.kt>:
    // an edit is a message with a time of its own, and takes the place of the one whose time it names, quote and all.
    edits: EditForm::Revision,
    instead: &[
        (Action::ThreadReply, "Signal has no threads: use reply"),
        (Action::Thread, "Signal has no threads: use reply"),
        (Action::Pin, "send it again, or quote it with reply"),
        (Action::SendWithEffect, "send it without an effect"),
    ],
    mode: DeliveryMode::Gateway,
    personal: true,
    ..Capabilities::PLAIN
};

/// signal-cli reads no text of JSON that is longer than 20,000,000 characters (Jackson's `StreamReadConstraints`; 0.13.19
/// answers -32603 to one that is), and a file in base64 takes four for each three bytes.
const MAX_FILE: u64 = 14 * 1024 * 1024;

/// Of a signal-cli that is known to be too old for polls.
pub(super) const WITHOUT_POLLS: Capabilities = Capabilities {
    actions: &[Action::React, Action::Edit, Action::Delete],
    polls: None,
    instead: &[
        (
            Action::Poll,
            "signal-cli makes polls since 0.13.23, and the one that runs is older: ask in a message",
        ),
        (Action::ThreadReply, "Signal has no threads: use reply"),
        (Action::Thread, "Signal has no threads: use reply"),
        (Action::Pin, "send it again, or quote it with reply"),
        (Action::SendWithEffect, "send it without an effect"),
    ],
    ..CAPABILITIES
};

/// Signal: text of 4,000 units with ranges of styles beside it.
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "signal",
    flavour: Flavour { markup: Markup::Styles, limit: Some(4000), unit: Unit::Utf16, tables: Tables::Code },
    caption_limit: None,
    tool_results: ToolResults::Markdown,
    guide: "- Write Markdown: bold, italic, struck through and monospace come through as Signal's own styles.\n\
            - `||spoiler||` is hidden until a reader opens it, not in code or a table.\n\
            - Text past 4,000 characters arrives as several messages.\n\
            - Headings become bold lines, a link's address follows its text, tables are lined up in monospace.\n",
};

/// The server pushes back as it likes.
pub(in crate::channels) const LIMITS: Limits = Limits::NONE;
