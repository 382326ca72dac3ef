//! Slack's profile: keys of the configuration, capabilities, format and limits.

use std::time::Duration;

use gatepost_chunk::Unit;

use super::{bot_of, card};
use crate::{
    channels::{
        Capabilities, FileForm, FileRules,
        capabilities::{ButtonRules, CardRules, PollRules, SelectRules},
        formats::{Format, ToolResults},
        limits::{Limits, rate},
    },
    message::action::Action,
    render::{Flavour, Markup, Notation, Tables},
    settings::{Key, example, key},
};

/// `[channels.slack.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] = &[
    example(
        "token",
        "\"file:secrets/slack\"",
        "The bot token (xoxb-…) of an app in your workspace. It needs chat:write; to find out what became of a lost answer, and in which thread a message is, channels:history, groups:history and im:history; im:read to know whose a direct conversation (D…) is, which is held where an agent has a `hold` entry and nobody knows; files:write and files:read for files, reactions:write, pins:write, users:write and im:write for what their names say.",
    ).identity_in(bot_of),
    key(
        "receive",
        "false",
        "Reads what people write where the bot is, over Socket Mode: messages, edits, reactions, presses and files. Takes app_token. Which events come is set at Slack. One hub for an app.",
    ).no_identity(),
    example(
        "app_token",
        "\"file:secrets/slack-app\"",
        "The app-level token (xapp-…) with connections:write, which opens the connection for receive = true and is used for nothing else.",
    ).no_identity(),
    key(
        "base_url",
        "\"https://slack.com/api\"",
        "The Web API's address. GovSlack has its own; with http:// everything crosses the network unprotected.",
    ),
];

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    channel: "slack",
    threads: true,
    replies: true,
    mentions: true,
    answers_are_threads: true,
    address_hint: "a conversation's or person's id such as C012AB3CD or U012AB3CD, or #channel or @name",
    // <https://slack.com/help/articles/201330736>: 1 GB a file. Each is shared by a request of its own, for a text with its
    // key, its buttons and its blocks cannot stand in that request.
    files: Some(FileRules {
        max_size: 1 << 30,
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
        Action::SetPresence,
    ],
    // <https://docs.slack.dev/reference/block-kit/blocks/actions-block>: 25 elements; `.../block-elements/button-element`:
    // 75 characters on it, 2,000 in its value, 3,000 in its address. A row is a block, and a message has 50.
    buttons: Some(ButtonRules {
        rows: 10,
        per_row: 25,
        in_all: 100,
        text: 75,
        data: 2000,
        data_unit: Unit::CodePoints,
        url: 3000,
    }),
    // <https://docs.slack.dev/reference/block-kit/composition-objects/option-object>: 75 characters a label;
    // `.../block-elements/select-menu-element`: 100 options, 255 characters of `action_id`, 150 of its placeholder.
    selects: Some(SelectRules { in_all: 10, options: 100, text: 75, id: 255, placeholder: 150 }),
    polls: Some(PollRules {
        options: 25,
        question: 3000,
        option: 75,
        unit: Unit::CodePoints,
        multiple: true,
        seconds: 0,
        anonymous: false,
        stand_in: Some("buttons"),
    }),
    cards: Some(CardRules { what: "blocks", max_bytes: 64 * 1024, check: card::check }),
    instead: &[
        (Action::Timeout, "ask somebody who administers the workspace: Slack lets no bot do that"),
        (
            Action::Kick,
            "ask somebody who administers the workspace: Slack lets a bot do that in few conversations",
        ),
        (Action::Ban, "ask somebody who administers the workspace: Slack lets no bot do that"),
        (
            Action::SetPresence,
            "leave statusText out and use online, away or offline: more takes a person's own token",
        ),
        (Action::SendWithEffect, "send it without an effect, or with an emoji in its text"),
    ],
    ..Capabilities::PLAIN
};

/// Slack: 4,000 characters advised, 40,000 cut off (chat.postMessage, `text`).
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "slack",
    flavour: Flavour {
        markup: Markup::Marks(Notation::Slack),
        limit: Some(4000),
        unit: Unit::Utf16,
        tables: Tables::Code,
    },
    caption_limit: None,
    tool_results: ToolResults::Markdown,
    guide: "- Write Markdown; it is turned into Slack's mrkdwn.\n\
            - `||spoiler||` arrives behind the word (spoiler), and is left out of notifications.\n\
            - Text past 4,000 characters arrives as several messages.\n\
            - Headings become bold lines, tables code blocks. Nested lists keep their shape.\n\
            - `<!channel>`, `<@U012AB3CD>` and the like call nobody.\n",
};

/// One a second a channel, short bursts allowed (<https://docs.slack.dev/apis/web-api/rate-limits>, chat.postMessage).
pub(in crate::channels) const LIMITS: Limits =
    Limits { chat: &[rate(3, Duration::from_secs(1))], ..Limits::NONE };
