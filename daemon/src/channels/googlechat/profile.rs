//! Google Chat's profile: keys of the configuration, capabilities, format and limits.

use std::time::Duration;

use gatepost_chunk::Unit;

use super::{cards, key, without_query};
use crate::{
    channels::{
        Capabilities,
        capabilities::{ButtonRules, CardRules, PollRules},
        formats::{Format, ToolResults},
        limits::{Limits, rate},
    },
    message::action::Action,
    render::{Flavour, Markup, Notation, Tables},
    settings::{Key, example, key},
};

/// `[channels.googlechat.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] = &[
    example(
        "key",
        "\"file:secrets/googlechat.json\"",
        "The key file (JSON) of the service account of your Chat app, which has to be a member of the spaces that it writes to. A new one in its place is read when the old one is refused. Either this or webhook.",
    ).identity_in(key::email_of),
    example(
        "webhook",
        "\"file:secrets/googlechat-webhook\"",
        "An incoming webhook's address, key and token and all: it writes to its one space, texts and cards, and changes nothing. Either this or key.",
    ).identity_in(without_query),
    key("base_url", "\"https://chat.googleapis.com\"", "The Chat API's address."),
    example(
        "token_url",
        "\"https://oauth2.googleapis.com/token\"",
        "Where the service account gets its access tokens; by default what its key file says.",
    ),
    key(
        "receive",
        "false",
        "Reads what people write to the app and press, over Cloud Pub/Sub: in spaces what mentions it. Takes key and subscription.",
    ).no_identity(),
    example(
        "subscription",
        "\"projects/my-house/subscriptions/gatepost\"",
        "The subscription of the topic to which Google Chat publishes what people do. The service account needs the role Pub/Sub Subscriber on it.",
    ).no_identity(),
    key("pubsub_url", "\"https://pubsub.googleapis.com\"", "Cloud Pub/Sub's address.").no_identity(),
];

/// What a webhook can do.
pub(super) const WEBHOOK: Capabilities = Capabilities {
    channel: "googlechat",
    threads: true,
    address_hint: "a space such as spaces/AAAAB3NzaC1, or #Name to an app",
    actions: &[Action::Thread],
    // Nobody hears of a press on a webhook's card: it opens addresses alone.
    buttons: Some(ButtonRules { data: 0, ..BUTTONS }),
    cards: Some(CardRules { what: "a card (cardsV2)", max_bytes: cards::MAX_BYTES, check: cards::check }),
    instead: &[
        (Action::Thread, "leave messageId out: a webhook cannot look up a message's thread"),
        (Action::React, REACT),
        (Action::Poll, "ask in words: a webhook does not hear what people press"),
        (Action::Edit, "send a new message: a webhook changes nothing"),
        (Action::Delete, "ask somebody in the space: a webhook changes nothing"),
        (Action::Pin, PIN),
        (Action::Unpin, PIN),
        (Action::SendAttachment, FILE),
        (Action::SetPresence, PRESENCE),
    ],
    ..Capabilities::PLAIN
};

/// What an app can do.
pub(super) const APP: Capabilities = Capabilities {
    replies: true,
    mentions: true,
    silent: true,
    answers_are_threads: true,
    actions: &[Action::Thread, Action::Poll, Action::Edit, Action::Delete],
    buttons: Some(BUTTONS),
    polls: Some(PollRules {
        options: 10,
        question: 1000,
        option: 80,
        unit: Unit::CodePoints,
        multiple: true,
        seconds: 0,
        anonymous: false,
        stand_in: Some("a card"),
    }),
    instead: &[
        (Action::React, REACT),
        (Action::Pin, PIN),
        (Action::Unpin, PIN),
        (Action::SendAttachment, FILE),
        (Action::SetPresence, PRESENCE),
    ],
    ..WEBHOOK
};

/// Google names no bound for buttons, but one for the message: 32,000 bytes, cards included
/// (<https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/create>). These fit into what the
/// text's limit leaves of it.
const BUTTONS: ButtonRules =
    ButtonRules { rows: 5, per_row: 5, in_all: 20, text: 40, data: 256, data_unit: Unit::Bytes, url: 512 };

const REACT: &str = "answer in the thread: Google Chat lets people react, and no apps";

const PIN: &str = "ask somebody in the space: Google Chat lets no app pin";

const FILE: &str = "send a link to the file: Google Chat takes uploads from people's own accounts alone";

const PRESENCE: &str = "say it in a message: an app has no status";

/// Google Chat: 32,000 bytes a message, cards included (spaces.messages, "Maximum message size"); half of them for the text.
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "googlechat",
    flavour: Flavour {
        markup: Markup::Marks(Notation::GoogleChat),
        limit: Some(16_000),
        unit: Unit::Bytes,
        tables: Tables::Code,
    },
    caption_limit: None,
    tool_results: ToolResults::Markdown,
    guide: "- Write Markdown; it is turned into Google Chat's own marks.\n\
            - Bold, italic, struck through, code, lists and links are shown; headings become bold lines.\n\
            - Nothing can be hidden: `||spoiler||` arrives behind the word (spoiler).\n\
            - Tables arrive as code blocks. Text past 16,000 bytes arrives as several messages.\n",
};

/// 60 writes a minute a space, 3,000 a minute a project (<https://developers.google.com/workspace/chat/limits>).
pub(in crate::channels) const LIMITS: Limits = Limits {
    chat: &[rate(10, Duration::from_millis(1_200))],
    platform: &[rate(50, Duration::from_millis(21))],
    ..Limits::NONE
};
