//! Discord's profile: keys of the configuration, capabilities, format and limits.

use std::time::Duration;

use gatepost_chunk::Unit;

use super::{bot_of, card, limits, presence, request};
use crate::{
    channels::{
        Capabilities, FileForm, FileRules,
        capabilities::{ButtonRules, CardRules, FormRules, PollRules, SelectRules},
        formats::{Format, ToolResults},
        limits::{Limits, rate},
    },
    message::action::Action,
    render::{Flavour, Markup, Notation, Tables},
    settings::{Key, example, key},
};

/// `[channels.discord.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] = &[
    example(
        "token",
        "\"file:secrets/discord\"",
        "The bot's token, from the developer portal. A new one in its place is read when the old one is refused.",
    ).identity_in(bot_of),
    key("link_previews", "false", "Whether Discord shows previews of the links in a text.").no_identity(),
    key("mention_answered", "false", "Whether an answer notifies the person who is answered.").no_identity(),
    key(
        "gateway",
        "false",
        "Whether a connection to Discord's Gateway is kept open: with it the bot can set its status (setPresence) and open forms, and is shown online while the hub runs. A program of yours may have one of its own for the same bot; both then set one status, and each answers what is its own.",
    ).no_identity(),
    key(
        "receive",
        "false",
        "Reads what people write to this account, over a connection to Discord's Gateway as gateway = true keeps one: direct messages, mentions of the bot, answers to it, reactions, presses and votes. One hub for a bot, and no other program that answers its buttons.",
    ).no_identity(),
    key(
        "message_content",
        "false",
        "With receive: reads all messages of the channels that the bot sees, also those that do not mention it. Message Content Intent must be switched on in the developer portal, or Discord closes the connection.",
    ).no_identity(),
    key(
        "base_url",
        "\"https://discord.com/api/v10\"",
        "Where the interface is: Discord's own servers, or a proxy of yours. With http:// the token crosses the network unprotected.",
    ),
];

/// What an account can do without a connection to the Gateway.
pub(super) const REST: Capabilities = Capabilities {
    channel: "discord",
    threads: true,
    replies: true,
    mentions: true,
    silent: true,
    address_hint: "a channel's id such as 1234567890123456789, @ and a person's id, or #channel or @name",
    // The most that any server takes; what the one in question takes is known when it was asked ([`limits`]).
    files: Some(FileRules {
        max_size: limits::LARGEST,
        everywhere: Some((limits::USUAL, "on a boosted server")),
        max_together: u64::MAX,
        form: FileForm::Captioned,
        kinds: &[],
    }),
    actions: WITH_STATUS.split_at(WITH_STATUS.len() - 1).0,
    // <https://docs.discord.com/developers/components/reference#action-row> and `#button`.
    buttons: Some(ButtonRules {
        rows: request::MAX_ROWS,
        per_row: 5,
        in_all: 25,
        text: 80,
        data: 100,
        data_unit: Unit::CodePoints,
        // `url` of `ButtonComponentForMessageRequest` (discord/discord-api-spec, specs/openapi.json).
        url: 512,
    }),
    forms: Err(NO_FORMS),
    // Each takes a row (`#string-select`).
    selects: Some(SelectRules {
        in_all: request::MAX_ROWS,
        options: 25,
        text: 100,
        id: 100,
        placeholder: 150,
    }),
    // <https://docs.discord.com/developers/resources/poll#poll-create-request-object> and `#poll-media-object`.
    polls: Some(PollRules {
        options: 10,
        question: 300,
        option: 55,
        unit: Unit::CodePoints,
        multiple: true,
        seconds: request::MAX_POLL_HOURS * 3600,
        anonymous: false,
        stand_in: None,
    }),
    thread_name: request::MAX_THREAD_NAME,
    cards: Some(CardRules { what: "embeds", max_bytes: card::MAX_BYTES, check: card::check }),
    instead: &[
        (
            Action::SetPresence,
            "a status is set over Discord's Gateway: ask the operator to set gateway = true in the account's settings; or say it in a message, and pin that",
        ),
        (Action::SendWithEffect, EFFECT),
    ],
    ..Capabilities::PLAIN
};

/// What it can do with one.
pub(super) const GATEWAY: Capabilities = Capabilities {
    actions: WITH_STATUS,
    status_text: presence::MAX_TEXT,
    // <https://docs.discord.com/developers/components/reference#label> and `#text-input`;
    // <https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-modal>.
    forms: Ok(FormRules { fields: 5, title: 45, label: 45, name: 100, placeholder: 100, value: 4000 }),
    instead: &[(Action::SendWithEffect, EFFECT)],
    ..REST
};

pub(super) const NO_FORMS: &str = "a form is opened over Discord's Gateway: ask the operator to set gateway = true in the account's settings; or ask in the text";

const EFFECT: &str = "send it without an effect";

/// The last of these takes the Gateway.
const WITH_STATUS: &[Action] = &[
    Action::Thread,
    Action::React,
    Action::Poll,
    Action::Edit,
    Action::Delete,
    Action::Pin,
    Action::Unpin,
    Action::Timeout,
    Action::Kick,
    Action::Ban,
    Action::SetPresence,
];

/// Discord: 2,000 characters a message (Create Message, `content`). UTF-16 units are never fewer than what it counts.
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "discord",
    flavour: Flavour {
        markup: Markup::Marks(Notation::Discord),
        limit: Some(2000),
        unit: Unit::Utf16,
        tables: Tables::Code,
    },
    caption_limit: None,
    tool_results: ToolResults::Markdown,
    guide: "- Write Markdown; Discord shows nearly all of it.\n\
            - A message has 2,000 characters. Longer text is split for you, code blocks closed and opened again.\n\
            - `||spoiler||` is hidden until a reader opens it, not in code or a table.\n\
            - Tables arrive as code blocks: keep them narrow.\n\
            - The answered message is referred to by the first part only.\n\
            - Ask with buttons, selects or a poll. A form (modal) opens only in answer to a press: no message brings one.\n\
            - `@everyone`, `<@123>` and the like call nobody.\n",
};

/// 50 a second over all (<https://discord.com/developers/docs/topics/rate-limits#global-rate-limit>); each route's own
/// stand in its answers' headers.
pub(in crate::channels) const LIMITS: Limits =
    Limits { platform: &[rate(10, Duration::from_millis(25))], ..Limits::NONE };
