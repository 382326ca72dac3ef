//! How text looks on every channel: one table, so that a limit, a guide and a capability never tell different stories.
//!
//! A channel is in here as soon as text can be rendered for it, also before it has an adapter; an adapter takes its
//! [`Flavour`] from here. The guide is what an agent is told when it asks how to write for a channel.

use gatepost_chunk::Unit;

use crate::render::{Dialect, Flavour, Markup, Notation, Tables};

/// How the results of an agent's tools are written when a conversation runs over a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolResults {
    /// In code blocks.
    Markdown,
    /// As they are.
    Plain,
}

impl ToolResults {
    /// Its name in interfaces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Plain => "plain",
        }
    }
}

/// One channel's ways with text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// The channel's name in targets and configuration.
    pub channel: &'static str,
    /// How text is rendered, for an account without settings of its own.
    pub flavour: Flavour,
    /// The most that the text beside a picture or a file may have, in the flavour's unit, where that is less: zero where it
    /// always goes before it, as a part of its own.
    pub caption_limit: Option<usize>,
    /// How tool results are written. A column of its own: what a channel can show and what its agents are used to read
    /// are two questions.
    pub tool_results: ToolResults,
    /// What an agent should know, in lines of Markdown.
    pub guide: &'static str,
}

/// The format of `channel`.
pub fn format(channel: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.channel == channel)
}

/// How text is rendered for `channel`: as the hub's own inbox shows it, where nothing is known of it.
pub fn flavour(channel: &str) -> Flavour {
    format(channel).unwrap_or(&LOCAL).flavour
}

/// How tool results are written for `channel`: plain where nothing is known of it.
pub fn tool_result_format(channel: &str) -> ToolResults {
    format(channel).map_or(ToolResults::Plain, |format| format.tool_results)
}

/// The hub's own inbox, for people at a terminal.
pub const LOCAL: Format = Format {
    channel: "local",
    flavour: Flavour { markup: Markup::Plain, limit: None, unit: Unit::CodePoints, tables: Tables::Code },
    caption_limit: None,
    tool_results: ToolResults::Plain,
    guide: "- Write Markdown; people read it as tidy plain text.\n\
            - Nothing can be hidden: `||spoiler||` arrives behind the word (spoiler).\n\
            - There is no limit: a message arrives in one piece.\n\
            - Tables are lined up, links show their address.\n",
};

/// E-mail (RFC 5322): one message, however long.
pub const EMAIL: Format = Format {
    channel: "email",
    flavour: Flavour {
        markup: Markup::Html(Dialect::Email),
        limit: None,
        unit: Unit::CodePoints,
        tables: Tables::Native,
    },
    caption_limit: None,
    tool_results: ToolResults::Plain,
    guide: "- Write Markdown; it is sent as HTML with a plain text beside it.\n\
            - The first visible line becomes the subject, so begin with one that says what it is about.\n\
            - `||spoiler||` arrives behind the word (spoiler), and is left out of the subject.\n\
            - Headings, lists, quotes, tables and code all come through. The message is never split.\n",
};

/// Matrix: 65,536 bytes an event (client-server API, "Size limits"), far more than anybody reads in one go.
pub const MATRIX: Format = Format {
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

/// Discord: 2,000 characters a message (Create Message, `content`). UTF-16 units are never fewer than what it counts.
pub const DISCORD: Format = Format {
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
            - `@everyone` and other mentions in the text call nobody.\n",
};

/// Telegram: 4,096 UTF-16 units after entities are parsed, captions 1,024 (Bot API, sendMessage and sendPhoto).
pub const TELEGRAM: Format = Format {
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

/// Slack: 4,000 characters advised, 40,000 cut off (chat.postMessage, `text`).
pub const SLACK: Format = Format {
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
            - Mentions written in the text, such as `<!channel>`, call nobody.\n",
};

/// WhatsApp: 4,096 characters a text (Cloud API, text messages), captions 1,024.
pub const WHATSAPP: Format = Format {
    channel: "whatsapp",
    flavour: Flavour {
        markup: Markup::Marks(Notation::WhatsApp),
        limit: Some(4096),
        unit: Unit::Utf16,
        tables: Tables::Plain,
    },
    caption_limit: Some(1024),
    tool_results: ToolResults::Plain,
    guide: "- Write for a phone: short paragraphs, little markup.\n\
            - Bold, italic, struck through and code are shown; headings become bold lines.\n\
            - A link's address follows its text. Table rows become plain lines: prefer a list.\n\
            - Nothing can be hidden: `||spoiler||` arrives behind the word (spoiler).\n\
            - A message has 4,096 characters. Longer text is split for you.\n",
};

/// Signal: text of 4,000 units with ranges of styles beside it.
pub const SIGNAL: Format = Format {
    channel: "signal",
    flavour: Flavour { markup: Markup::Styles, limit: Some(4000), unit: Unit::Utf16, tables: Tables::Code },
    caption_limit: None,
    tool_results: ToolResults::Markdown,
    guide: "- Write Markdown: bold, italic, struck through and monospace come through as Signal's own styles.\n\
            - `||spoiler||` is hidden until a reader opens it, not in code or a table.\n\
            - Text past 4,000 characters arrives as several messages.\n\
            - Headings become bold lines, a link's address follows its text, tables are lined up in monospace.\n",
};

/// iMessage, by either bridge: text and nothing else, and none with a file.
pub const IMESSAGE: Format = Format {
    channel: "imessage",
    flavour: Flavour { markup: Markup::Plain, limit: Some(4000), unit: Unit::Utf16, tables: Tables::Plain },
    caption_limit: Some(0),
    tool_results: ToolResults::Plain,
    guide: "- Only plain text arrives: say what matters in words, not in bold.\n\
            - Nothing can be hidden: `||spoiler||` arrives behind the word (spoiler).\n\
            - Keep it short; past 4,000 characters a text arrives as several messages.\n\
            - Table rows become plain lines, a link's address follows its text.\n",
};

/// Google Chat: 32,000 bytes a message, cards included (spaces.messages, "Maximum message size"); half of them for the text.
pub const GOOGLECHAT: Format = Format {
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

/// Microsoft Teams: about 28 KB an activity; 4,000 units stay readable and leave room for what JSON adds.
pub const TEAMS: Format = Format {
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

/// A webhook: whoever receives it gets plain text in one piece, and the Markdown beside it.
pub const WEBHOOK: Format = Format {
    channel: "webhook",
    flavour: Flavour { markup: Markup::Plain, limit: None, unit: Unit::CodePoints, tables: Tables::Code },
    caption_limit: None,
    tool_results: ToolResults::Plain,
    guide: "- A program receives it in one piece, as plain text and as your Markdown: say what it needs, and no more.\n\
            - In the plain text `||spoiler||` arrives behind the word (spoiler).\n\
            - Headings, lists and tables become tidy lines; a link's address follows its text.\n",
};

/// ntfy: 4,096 bytes a message, beyond which it becomes a file (<https://docs.ntfy.sh/publish/#limitations>).
pub const NTFY: Format = Format {
    channel: "ntfy",
    flavour: Flavour { markup: Markup::Plain, limit: Some(4096), unit: Unit::Bytes, tables: Tables::Plain },
    caption_limit: None,
    tool_results: ToolResults::Plain,
    guide: "- A notification on a phone: a line that says what it is about, and a sentence or two.\n\
            - Only plain text arrives. The first visible line is the title as well.\n\
            - `||spoiler||` arrives behind the word (spoiler), and is left out of the title.\n\
            - Past 4,096 bytes a text arrives as several notifications.\n",
};

/// All channels.
pub const FORMATS: &[Format] = &[
    LOCAL, EMAIL, MATRIX, DISCORD, TELEGRAM, SLACK, WHATSAPP, SIGNAL, IMESSAGE, GOOGLECHAT, TEAMS, WEBHOOK,
    NTFY,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{channels::registry::NAMES, render};

    #[test]
    fn tool_results_are_markdown_on_five_channels() {
        let markdown: Vec<_> = FORMATS
            .iter()
            .filter(|format| format.tool_results == ToolResults::Markdown)
            .map(|format| format.channel)
            .collect();
        assert_eq!(markdown, ["discord", "telegram", "slack", "signal", "googlechat"]);
        assert_eq!(tool_result_format("carrier-pigeon").name(), "plain");
    }

    #[test]
    fn every_channel_has_its_row() {
        for name in NAMES.iter().copied() {
            assert!(format(name).is_some(), "{name} has no format");
        }
    }

    #[test]
    fn every_channel_is_there_once_and_takes_text() {
        for (n, format) in FORMATS.iter().enumerate() {
            assert!(FORMATS[n + 1..].iter().all(|other| other.channel != format.channel));
            assert!(format.guide.lines().all(|line| line.starts_with("- ")), "{}", format.channel);
            let document = render::parse("**Hello** _there_, [you](https://a.example)");
            assert_eq!(render::render(&document, &format.flavour).map(|parts| parts.len()), Ok(1));
        }
    }
}
