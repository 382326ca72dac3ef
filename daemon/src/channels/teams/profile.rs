//! Microsoft Teams' profile: keys of the configuration, capabilities, format and limits.

use std::time::Duration;

use gatepost_chunk::Unit;

use super::{cards, without_query};
use crate::{
    channels::{
        Capabilities, FileForm, FileRules,
        capabilities::{ButtonRules, CardRules, PollRules},
        formats::{Format, ToolResults},
        limits::{Limits, rate},
    },
    message::action::Action,
    render::{Flavour, Markup, Notation, Tables},
    settings::{Key, example, key},
};

/// `[channels.teams.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] = &[
    example(
        "app_id",
        "\"00000000-0000-0000-0000-000000000000\"",
        "The bot's application (client) id in Microsoft Entra. Either this, with secret, or webhook.",
    ),
    example("secret", "\"file:secrets/teams\"", "A client secret of the application.").no_identity(),
    key(
        "tenant",
        "\"botframework.com\"",
        "Where the application is registered: your tenant's id for a single-tenant bot, the default for a multi-tenant one.",
    ),
    key(
        "service_url",
        "\"https://smba.trafficmanager.net/teams\"",
        "The Bot Connector's address: the serviceUrl of what the bot receives, or this default. Government clouds have others.",
    ),
    key("login_url", "\"https://login.microsoftonline.com\"", "Where the bot gets its access tokens."),
    key(
        "openid_url",
        "\"https://login.botframework.com/v1/.well-known/openidconfiguration\"",
        "Where the keys are named by which Teams is believed when it tells something. Government clouds have others.",
    ).no_identity(),
    example(
        "webhook",
        "\"file:secrets/teams-webhook\"",
        "The address of a workflow that posts what it gets into a chat or channel: texts and cards to that one place, which is called `webhook` here.",
    ).identity_in(without_query),
    key(
        "receive",
        "false",
        "Reads what people write to the bot, press, change and react with. Teams tells it at /v1/platform/teams/ACCOUNT, which is the bot's messaging endpoint; what it tells while the hub is away is lost.",
    ).no_identity(),
];

/// What a workflow's webhook can do.
pub(super) const WEBHOOK: Capabilities = Capabilities {
    channel: "teams",
    mentions: true,
    address_hint: "webhook: the one place that the workflow posts to",
    // Nobody hears of a press: it opens addresses alone.
    buttons: Some(ButtonRules { data: 0, ..BUTTONS }),
    cards: Some(CardRules { what: "an Adaptive Card", max_bytes: cards::MAX_BYTES, check: cards::check }),
    instead: &[
        (Action::Thread, "send a message of its own: a webhook knows no threads"),
        (Action::React, REACT),
        (Action::Poll, "ask in words: a webhook does not hear what people press"),
        (Action::Edit, "send a new message: a webhook changes nothing"),
        (Action::Delete, "ask somebody in the conversation: a webhook changes nothing"),
        (Action::Pin, PIN),
        (Action::Unpin, PIN),
        (Action::SendAttachment, "send a link to the file: a webhook takes none"),
        (Action::SetPresence, PRESENCE),
    ],
    ..Capabilities::PLAIN
};

/// What a bot can do.
pub(super) const BOT: Capabilities = Capabilities {
    threads: true,
    thread_is: "the message that a conversation of a channel begins with",
    replies: true,
    address_hint: "a conversation's id such as 19:…@thread.tacv2",
    // An offered file goes in one request, which may have 60 MiB
    // (<https://learn.microsoft.com/graph/api/driveitem-createuploadsession#upload-bytes-to-the-upload-session>); this much
    // gets there within the longest that a request may take, at the slowest that one may be.
    files: Some(FileRules {
        max_size: 48_000_000,
        everywhere: None,
        max_together: u64::MAX,
        form: FileForm::Captioned,
        kinds: &[],
    }),
    actions: &[Action::Thread, Action::Poll, Action::Edit, Action::Delete],
    buttons: Some(BUTTONS),
    polls: Some(PollRules {
        options: 20,
        question: 500,
        option: 100,
        unit: Unit::CodePoints,
        multiple: true,
        seconds: 0,
        anonymous: false,
        stand_in: Some("an Adaptive Card"),
    }),
    instead: &[
        (Action::React, REACT),
        (Action::Pin, PIN),
        (Action::Unpin, PIN),
        (Action::SetPresence, PRESENCE),
        (Action::Kick, "ask an owner of the team"),
        (Action::Ban, "ask an owner of the team"),
        (Action::Timeout, "ask an owner of the team"),
    ],
    ..WEBHOOK
};

/// Teams names no bound for these but that of the message: 28 KB by a workflow
/// (<https://learn.microsoft.com/microsoftteams/limits-specifications-teams>), and these fit in beside a text and a card.
/// The parser of Adaptive Cards shows five of a row where its host says nothing else (`hostConfig.actions.maxActions`).
const BUTTONS: ButtonRules =
    ButtonRules { rows: 4, per_row: 5, in_all: 10, text: 40, data: 256, data_unit: Unit::Bytes, url: 512 };

const REACT: &str = "answer in the conversation: bots do not react on Teams";

const PIN: &str = "ask somebody in the conversation: bots do not pin on Teams";

const PRESENCE: &str = "say it in a message: a bot has no status";

/// Microsoft Teams: about 28 KB an activity; 4,000 units stay readable and leave room for what JSON adds.
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "teams",
    flavour: Flavour {
        markup: Markup::Marks(Notation::Teams),
        limit: Some(4000),
        unit: Unit::Utf16,
        tables: Tables::Code,
    },
    caption_limit: None,
    tool_results: ToolResults::Plain,
    guide: "- Write Markdown; Teams shows bold, italic, struck through, links, lists, quotes and code.\n\
            - Nothing can be hidden: `||spoiler||` arrives behind the word (spoiler).\n\
            - Headings become bold lines, tables code blocks.\n\
            - Text past 4,000 characters arrives as several messages.\n",
};

/// 7 in one second and 8 in two, 60 in thirty, a conversation; 50 a second an app in a tenant
/// (<https://learn.microsoft.com/microsoftteams/platform/bots/how-to/rate-limit>).
pub(in crate::channels) const LIMITS: Limits = Limits {
    chat: &[rate(6, Duration::from_secs(1))],
    account: &[rate(10, Duration::from_millis(25))],
    ..Limits::NONE
};
