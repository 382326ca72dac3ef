//! Matrix's profile: keys of the configuration, capabilities, format and limits.

use gatepost_chunk::Unit;

use super::user_of;
use crate::{
    channels::{
        Capabilities, EditForm, FileForm, FileRules,
        capabilities::PollRules,
        formats::{Format, ToolResults},
        limits::Limits,
    },
    message::action::Action,
    render::{Dialect, Flavour, Markup, Tables},
    settings::{Key, example, key},
};

/// `[channels.matrix.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] = &[
    example(
        "homeserver",
        "\"https://matrix.example.org\"",
        "The homeserver's address for clients. With http:// the token and every message cross the network unprotected: for a server on this machine only.",
    ),
    example(
        "token",
        "\"file:secrets/matrix\"",
        "The access token of the account, from a login of its own: the server recognises a resent message by the login's device.",
    ).identity_in(user_of),
    key("limit", "4000", "Where a long message is split, in characters, from 200 to 6000.").no_identity(),
    key(
        "resend_minutes",
        "1380",
        "For how long after its first attempt a message may be sent again when its answer was lost. Synapse recognises one for 24 hours, Dendrite for 30 minutes: there, set 25.",
    ).no_identity(),
    key("receive", "false", "Reads what people write to this account, in the rooms that it is in. Encrypted messages are not read.").no_identity(),
    key(
        "join_invites_from",
        "[]",
        "Users, such as \"@ann:example.org\", whose invitations the account accepts. Only with receive = true. Other invitations are reported and stay open.",
    ).no_identity(),
];

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    channel: "matrix",
    threads: true,
    replies: true,
    mentions: true,
    silent: true,
    address_hint: "a room id such as !abcdef:example.org, its alias, or a person you share one direct room with; or #Room or @Name",
    // The homeserver has its own bound, and says so.
    files: Some(FileRules {
        max_size: u64::MAX,
        everywhere: None,
        max_together: u64::MAX,
        form: FileForm::Captioned,
        kinds: &[],
    }),
    actions: &[
        Action::Thread,
        Action::React,
        Action::Poll,
        Action::Edit,
        Action::Delete,
        Action::Pin,
        Action::Unpin,
        Action::Kick,
        Action::Ban,
        Action::SetPresence,
    ],
    // MSC3381 takes up to 20 answers; lengths are nobody's but the event's.
    polls: Some(PollRules {
        options: 20,
        question: 300,
        option: 300,
        unit: Unit::CodePoints,
        multiple: true,
        seconds: 0,
        anonymous: false,
        stand_in: None,
    }),
    edits: EditForm::Replacement,
    instead: &[(
        Action::Timeout,
        "Matrix has kick and ban; a member's right to write is the room's power levels",
    )],
    ..Capabilities::PLAIN
};

/// Matrix: 65,536 bytes an event (client-server API, "Size limits"), far more than anybody reads in one go.
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "matrix",
    flavour: Flavour {
        markup: Markup::Html(Dialect::Matrix),
        limit: Some(4000),
        unit: Unit::CodePoints,
        tables: Tables::Native,
    },
    caption_limit: None,
    tool_results: ToolResults::Plain,
    guide: "- Write Markdown; headings, lists, quotes, tables and code become rich text.\n\
            - `||spoiler||` is hidden until a reader opens it, not in code or a table.\n\
            - What is longer than 4,000 characters arrives as several messages.\n\
            - The answered message is quoted with the first of them only.\n",
};

/// The homeserver's, which says when: <https://spec.matrix.org/v1.18/client-server-api/#rate-limiting>.
pub(in crate::channels) const LIMITS: Limits = Limits::NONE;
