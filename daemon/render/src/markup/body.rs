//! The table of facts: which marks the body of a message has on each platform.

use crate::document::{Attribute, Link, LinkKind, SPOILER_BARS, SPOILER_LABEL};
use crate::flavour::{Dialect, Markup, Notation};

/// Invisible, and no platform recognises a mark next to it: used where a platform has no escape character.
pub(crate) const ZERO_WIDTH_SPACE: &str = "\u{200b}";

/// [`ZERO_WIDTH_SPACE`] as a character.
pub(crate) const ZERO_WIDTH_SPACE_CHAR: char = '\u{200b}';

/// A thematic break in plain text.
pub(crate) const THEMATIC_BREAK: &str = "---";

/// Telegram ignores all entities of a message after this many (Bot API, "Formatting options").
const TELEGRAM_MAX_ENTITIES: usize = 100;

/// The maximum bytes of tags and character references in a Telegram message: a little less than its servers were observed
/// to read.
const TELEGRAM_MAX_MARKUP_BYTES: usize = 9_500;

/// The longest name of somebody who is called, in characters.
const MAX_NAME: usize = 60;

/// Stands for "no limit", and is small enough that sums of several cannot overflow.
const UNLIMITED: usize = usize::MAX / 4;

/// What the body of a part is written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyMarkup {
    /// Readable text, also as the text version of HTML for Matrix and e-mail.
    Plain,
    /// Readable text, with its styles listed separately.
    Styles,
    /// The visible text, which alone is counted, and HTML made from it.
    Telegram,
    /// Marks inside the text.
    Marks(Notation),
}

impl From<Markup> for BodyMarkup {
    fn from(markup: Markup) -> Self {
        match markup {
            Markup::Plain | Markup::Html(Dialect::Matrix | Dialect::Email) => Self::Plain,
            Markup::Html(Dialect::Telegram) => Self::Telegram,
            Markup::Styles => Self::Styles,
            Markup::Marks(notation) => Self::Marks(notation),
        }
    }
}

impl BodyMarkup {
    /// Whether marks are part of the text: they count towards the limit, end at every line, and look like characters that
    /// an agent may write.
    pub(crate) fn has_marks(self) -> bool {
        matches!(self, Self::Marks(_))
    }

    /// Whether some characters of the text are written otherwise, or with more beside them.
    pub(crate) fn replaces(self) -> bool {
        matches!(self, Self::Marks(_) | Self::Telegram)
    }

    /// Whether marks can only be suppressed by a zero-width space, because the platform has no escape character.
    pub(crate) fn lacks_escapes(self) -> bool {
        matches!(self, Self::Marks(Notation::Slack | Notation::WhatsApp | Notation::GoogleChat))
    }

    /// Whether the mark of `attribute` is recognised only at the edge of a word.
    pub(crate) fn needs_word_edge(self, attribute: Attribute) -> bool {
        match self {
            Self::Marks(_) if attribute == Attribute::Spoiler => false,
            Self::Marks(Notation::Discord | Notation::Teams) => attribute == Attribute::Emphasis,
            Self::Marks(_) => true,
            _ => false,
        }
    }

    /// What is written before and after text that has `attribute`. Nothing for links: see
    /// [`marks_around_label`](super::marks_around_label).
    pub(crate) fn marks(self, attribute: Attribute) -> [&'static str; 2] {
        match (self, attribute) {
            // Telegram hides it with a tag and Signal with a styled range. Matrix' HTML is not counted.
            (Self::Telegram | Self::Styles, Attribute::Spoiler) => ["", ""],
            (Self::Plain | Self::Marks(_), Attribute::Spoiler) if !self.has_spoiler_marks() => {
                [SPOILER_LABEL, ""]
            }
            _ => [self.mark(attribute); 2],
        }
    }

    /// Whether marks on either side hide a text.
    pub(crate) fn has_spoiler_marks(self) -> bool {
        self == Self::Marks(Notation::Discord)
    }

    /// The mark on either side of text that has `attribute`; empty if there is none.
    pub(crate) fn mark(self, attribute: Attribute) -> &'static str {
        let Self::Marks(notation) = self else { return "" };
        let is_doubled = matches!(notation, Notation::Discord | Notation::Teams);
        match attribute {
            Attribute::Link(_) => "",
            Attribute::Strong if is_doubled => "**",
            Attribute::Strong => "*",
            Attribute::Emphasis => "_",
            Attribute::Strike if is_doubled => "~~",
            Attribute::Strike => "~",
            Attribute::Code => "`",
            // <https://support.discord.com/hc/en-us/articles/360022320632-Spoiler-Tags>
            Attribute::Spoiler if self.has_spoiler_marks() => SPOILER_BARS,
            Attribute::Spoiler => "",
        }
    }

    /// Whether the platform gets `link` as a link. Otherwise its URL is written after the label.
    pub(crate) fn accepts_link(self, link: &Link) -> bool {
        if let Some(id) = link.person() {
            return self.calls(id) || self == Self::Telegram && is_number(id);
        }
        match self {
            Self::Plain | Self::Styles | Self::Marks(Notation::WhatsApp) => false,
            Self::Telegram => link.kind == LinkKind::Web,
            // The label would end there, and Google Chat has no escape for it.
            Self::Marks(Notation::GoogleChat) if link.has_angle_or_bar => false,
            Self::Marks(_) => link.kind >= LinkKind::Usual,
        }
    }

    /// Whether the person of this id is called by what takes the place of a link's label ([`mention`](Self::mention)). What is no
    /// person's id there calls nobody, and no group either.
    pub(crate) fn calls(self, id: &str) -> bool {
        match self {
            Self::Styles => is_uuid(id) || id.strip_prefix('+').is_some_and(is_phone_number),
            Self::Marks(Notation::Slack) => id.bytes().all(|b| b.is_ascii_alphanumeric()),
            Self::Marks(Notation::Discord) => is_number(id),
            Self::Marks(Notation::GoogleChat) => id.strip_prefix("users/").is_some_and(is_number),
            Self::Marks(Notation::WhatsApp) => {
                id.strip_suffix("@lid").map_or_else(|| is_phone_number(without_plus(id)), is_number)
            }
            Self::Marks(Notation::Teams) => {
                is_uuid(id) || id.strip_prefix("29:").is_some_and(is_word) || is_principal(id)
            }
            _ => false,
        }
    }

    /// What takes the place of the label of a link that [calls](Self::calls) a person. Slack, Discord, Google Chat and WhatsApp
    /// show a name of their own for it. Signal, which shows one too, and Teams are told beside the text where it is: there it is the
    /// name, in one line, without signs that mean something.
    ///
    /// <https://docs.slack.dev/messaging/formatting-message-text#mentioning-users>,
    /// <https://docs.discord.com/developers/reference#message-formatting>,
    /// <https://developers.google.com/workspace/chat/format-messages#messages-@mention>,
    /// <https://github.com/AsamK/signal-cli/blob/master/man/signal-cli.1.adoc> (`--mention`),
    /// <https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/channel-and-group-conversations#work-with-mentions>
    pub(crate) fn mention(self, link: &Link, label: &str) -> Option<String> {
        let id = link.person().filter(|id| self.calls(id))?;
        Some(match self {
            Self::Styles => format!("@{}", name(label, id)),
            Self::Marks(Notation::Teams) => name(label, id),
            Self::Marks(Notation::WhatsApp) => format!("@{}", without_plus(id.trim_end_matches("@lid"))),
            Self::Marks(Notation::GoogleChat) => format!("<{id}>"),
            _ => format!("<@{id}>"),
        })
    }

    /// Whether the platform is told beside the text who is called where.
    pub(crate) fn lists_mentions(self) -> bool {
        matches!(self, Self::Styles | Self::Marks(Notation::Teams))
    }

    /// Whether the label of a link may have styles of its own.
    pub(crate) fn styles_labels(self) -> bool {
        !matches!(self, Self::Marks(Notation::Slack | Notation::GoogleChat))
    }

    /// The mark of an item in a list without numbers.
    pub(crate) fn bullet(self) -> &'static str {
        match self {
            Self::Telegram | Self::Styles | Self::Marks(Notation::Slack) => "• ",
            _ => "- ",
        }
    }

    /// Teams would read hyphens below a line as the underline of a heading.
    pub(crate) fn thematic_break(self) -> &'static str {
        match self {
            Self::Marks(Notation::Teams) => "***",
            _ => THEMATIC_BREAK,
        }
    }

    /// Whether the outermost quote is a tag around its text instead of a mark before each line.
    pub(crate) fn quotes_with_tag(self) -> bool {
        self == Self::Telegram
    }

    /// Whether code has a fence of backticks. Some platforms quote single lines only, so inside a quote they would show a
    /// fence as text.
    pub(crate) fn has_fences(self, in_quote: bool) -> bool {
        match self {
            Self::Telegram | Self::Styles => false,
            Self::Marks(Notation::Slack | Notation::WhatsApp | Notation::GoogleChat) => !in_quote,
            _ => true,
        }
    }

    /// Whether a fence may have more than three backticks, so that the code may contain three.
    pub(crate) fn has_long_fences(self) -> bool {
        matches!(self, Self::Plain | Self::Marks(Notation::Teams))
    }

    /// Whether the line that opens a fence names the language.
    pub(crate) fn names_language(self) -> bool {
        !matches!(self, Self::Marks(Notation::Slack | Notation::WhatsApp | Notation::GoogleChat))
    }

    /// What ends a line within a paragraph. Like CommonMark, Teams joins two lines unless the first ends in two spaces.
    pub(crate) fn line_end(self) -> &'static str {
        match self {
            Self::Marks(Notation::Teams) => "  \n",
            _ => "\n",
        }
    }

    /// What a heading begins with; `None` if it is written in bold instead.
    pub(crate) fn heading_mark(self, level: u8) -> Option<&'static str> {
        match (self, level) {
            (Self::Plain, _) => Some(""),
            (Self::Marks(Notation::Discord), 1) => Some("# "),
            (Self::Marks(Notation::Discord), 2) => Some("## "),
            (Self::Marks(Notation::Discord), 3) => Some("### "),
            _ => None,
        }
    }

    /// The maximum number of entities in a part, and the maximum bytes of its markup.
    pub(crate) fn max_entities_and_markup_bytes(self) -> (usize, usize) {
        match self {
            Self::Telegram => (TELEGRAM_MAX_ENTITIES, TELEGRAM_MAX_MARKUP_BYTES),
            _ => (UNLIMITED, UNLIMITED),
        }
    }
}

fn is_number(id: &str) -> bool {
    id.bytes().all(|b| b.is_ascii_digit()) && !id.is_empty()
}

/// A number with its country's code (ITU-T E.164).
fn is_phone_number(id: &str) -> bool {
    is_number(id) && (7..=15).contains(&id.len())
}

fn without_plus(id: &str) -> &str {
    id.strip_prefix('+').unwrap_or(id)
}

fn is_word(id: &str) -> bool {
    id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)) && !id.is_empty()
}

fn is_uuid(id: &str) -> bool {
    let is_sign = |(at, b): (usize, u8)| match at {
        8 | 13 | 18 | 23 => b == b'-',
        _ => b.is_ascii_hexdigit(),
    };
    id.len() == 36 && id.bytes().enumerate().all(is_sign)
}

/// `ann@example.org`, by which somebody signs in at Microsoft.
fn is_principal(id: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_+".contains(&b))
    };
    id.split_once('@').is_some_and(|(name, host)| {
        name.split('.').all(is_part) && host.contains('.') && host.split('.').all(is_part)
    })
}

/// A person's name in one line, without signs that mean something in a text; their id, if nothing is left.
fn name(label: &str, id: &str) -> String {
    let means_something = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && !"-.,'".contains(c);
    let sign = |c: char| if means_something(c) { ' ' } else { c };
    let of = |text: &str| text.chars().map(sign).collect::<String>();
    let words = of(label);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let name: String = words.chars().take(MAX_NAME).collect();
    match name.trim_end() {
        "" => of(id).split_whitespace().collect::<Vec<_>>().join(" "),
        name => name.to_owned(),
    }
}

/// Whether the language of a code block can be written into markup as it is.
pub(crate) fn is_language_name(language: &str) -> bool {
    !language.is_empty()
        && language.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '#' | '.'))
}
