//! Telegram's profile: keys of the configuration, capabilities, format and limits.

use std::time::Duration;

use gatepost_chunk::Unit;

use super::bot_of;
use crate::{
    channels::{
        Capabilities, FileForm, FileRules,
        capabilities::{ButtonRules, PollRules},
        formats::{Format, ToolResults},
        limits::{Limits, rate},
    },
    message::action::Action,
    render::{Dialect, Flavour, Markup, Tables},
    settings::{Key, example, key},
};

/// `[channels.telegram.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] = &[
    example(
        "token",
        "\"file:secrets/telegram\"",
        "The bot's token, from @BotFather. A new one in its place is read when the old one is refused.",
    )
    .identity_in(bot_of),
    key("link_previews", "false", "Whether Telegram shows previews of the links in a text.").no_identity(),
    key(
        "receive",
        "false",
        "Reads what people write to the bot, by long polling. No other program can receive for the same bot.",
    )
    .no_identity(),
    key(
        "base_url",
        "\"https://api.telegram.org\"",
        "Where the Bot API is: Telegram's own servers, or a Bot API server or proxy of yours. With http:// the token crosses the network unprotected.",
    ),
];

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    channel: "telegram",
    threads: true,
    thread_is: "the topic of a group",
    replies: true,
    mentions: true,
    silent: true,
    address_hint: "a chat id such as -1001234567890, a person's id, or @channelname",
    // "50 MB" for files of other kinds than photos (<https://core.telegram.org/bots/api#sending-files>).
    files: Some(FileRules {
        max_size: 50_000_000,
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
        Action::Timeout,
        Action::Kick,
        Action::Ban,
    ],
    // `callback_data` has 1 to 64 bytes (<https://core.telegram.org/bots/api#inlinekeyboardbutton>). The rest is not in the
    // documentation; what its servers take is collected at <https://limits.tginfo.me/en>: 100 buttons, 8 in a row. A text
    // of any length is taken, and cut off by every client; for an address nobody names a bound, and this one is ours.
    buttons: Some(ButtonRules {
        rows: 100,
        per_row: 8,
        in_all: 100,
        text: 64,
        data: 64,
        data_unit: Unit::Bytes,
        url: 2048,
    }),
    thread_name: MAX_TOPIC_NAME,
    // <https://core.telegram.org/bots/api#sendpoll>, and `InputPollOption` for an answer's length.
    polls: Some(PollRules {
        options: 12,
        question: 300,
        option: 100,
        unit: Unit::CodePoints,
        multiple: true,
        seconds: 2_628_000,
        anonymous: true,
        stand_in: None,
    }),
    instead: &[
        (Action::SetPresence, "a bot has no status on Telegram; say it in a message, and pin that"),
        (Action::SendWithEffect, "send it without an effect; an emoji alone in a message is shown large"),
    ],
    ..Capabilities::PLAIN
};

/// "1-128 characters" (<https://core.telegram.org/bots/api#createforumtopic>).
pub(super) const MAX_TOPIC_NAME: usize = 128;

/// Telegram: 4,096 UTF-16 units after entities are parsed, captions 1,024 (Bot API, sendMessage and sendPhoto).
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "telegram",
    flavour: Flavour {
        markup: Markup::Html(Dialect::Telegram),
        limit: Some(4096),
        unit: Unit::Utf16,
        tables: Tables::Code,
    },
    caption_limit: Some(1024),
    tool_results: ToolResults::Markdown,
    guide: "- Write Markdown, not HTML; it is sent in Telegram's own markup.\n\
            - A message has 4,096 visible characters, a caption 1,024. Longer text is split for you.\n\
            - Bold, italic, struck through, code, links and quotes are shown. Headings become bold, lists get bullets.\n\
            - `||spoiler||` is hidden until a reader opens it, not in code or a table.\n\
            - Tables arrive as lined-up code: keep them narrow, most people read on a phone.\n",
};

/// One a second a chat, 20 a minute a group, about 30 a second a bot
/// (<https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this>).
pub(in crate::channels) const LIMITS: Limits = Limits {
    chat: &[rate(1, Duration::from_secs(1))],
    group: &[rate(5, Duration::from_secs(4))],
    // Groups and channels have negative ids, channels names too (Bot API, `chat_id`).
    is_group: |address| address.starts_with(['-', '@']),
    account: &[rate(5, Duration::from_millis(40))],
    ..Limits::NONE
};
