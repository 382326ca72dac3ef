//! How each platform writes marks.
//!
//! One table of small facts. A fact that costs characters is counted in `measure` and written in `write` from the same
//! function here, so the two cannot drift apart.

use super::html::{escape_attribute, escaped_len};
use super::link::{Link, LinkKind, Links};
use super::look::Tag;
use super::text::Text;
use super::{Dialect, Markup, Notation};

/// Invisible, and no platform reads a mark across it: what stands in for an escape where a platform has none.
pub(super) const INERT: &str = "\u{200b}";
/// The same as a sign.
pub(super) const INERT_SIGN: char = '\u{200b}';

/// What stands before a spoiler where the platform has none: its reader is told what comes.
pub(super) const SPOILER: &str = "(spoiler) ";

/// The most entities of a Telegram message; later ones are ignored (Bot API, "Formatting options").
const TELEGRAM_TAGS: usize = 100;

/// The most bytes of tags and character references in a Telegram message, a little under what its servers are known to
/// read.
const TELEGRAM_MARKUP: usize = 9_500;

/// What the body of a part is written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pen {
    /// Readable text, also beside HTML for Matrix and e-mail.
    Plain,
    /// Readable text with the styles of its stretches apart.
    Styles,
    /// The visible text, with HTML of which only that is counted.
    Telegram,
    /// Marks among the text.
    Marks(Notation),
}

impl From<Markup> for Pen {
    fn from(markup: Markup) -> Self {
        match markup {
            Markup::Plain | Markup::Html(Dialect::Matrix | Dialect::Email) => Self::Plain,
            Markup::Html(Dialect::Telegram) => Self::Telegram,
            Markup::Styles => Self::Styles,
            Markup::Marks(notation) => Self::Marks(notation),
        }
    }
}

impl Pen {
    /// Whether marks stand among the text, where they count, end at every line, and look like what an agent may write.
    pub(super) fn has_marks(self) -> bool {
        matches!(self, Self::Marks(_))
    }

    /// Whether signs are made inert for want of an escape.
    pub(super) fn disarms(self) -> bool {
        matches!(self, Self::Marks(Notation::Slack | Notation::WhatsApp | Notation::GoogleChat))
    }

    /// Whether a word may not go on right behind a mark (nor begin right before one) if it is to be read as one.
    pub(super) fn keeps_to_words(self, tag: Tag) -> bool {
        match self {
            Self::Marks(_) if tag == Tag::Spoiler => false,
            Self::Marks(Notation::Discord | Notation::Teams) => tag == Tag::Emphasis,
            Self::Marks(_) => true,
            _ => false,
        }
    }

    /// What goes before and behind text that has `tag`; nothing for links, which have [`Pen::link`].
    pub(super) fn marks(self, tag: Tag) -> [&'static str; 2] {
        match (self, tag) {
            // What hides a text is Telegram's tag and Signal's range; Matrix' HTML is not counted.
            (Self::Telegram | Self::Styles, Tag::Spoiler) => ["", ""],
            (Self::Plain | Self::Marks(_), Tag::Spoiler) if !self.hides() => [SPOILER, ""],
            _ => [self.mark(tag); 2],
        }
    }

    /// Whether marks on either side hide a text.
    pub(super) fn hides(self) -> bool {
        self == Self::Marks(Notation::Discord)
    }

    /// The mark on either side of text that has `tag`, if there is one.
    pub(super) fn mark(self, tag: Tag) -> &'static str {
        let Self::Marks(notation) = self else { return "" };
        let doubled = matches!(notation, Notation::Discord | Notation::Teams);
        match tag {
            Tag::Link(_) => "",
            Tag::Strong if doubled => "**",
            Tag::Strong => "*",
            Tag::Emphasis => "_",
            Tag::Strike if doubled => "~~",
            Tag::Strike => "~",
            Tag::Code => "`",
            // <https://support.discord.com/hc/en-us/articles/360022320632-Spoiler-Tags>
            Tag::Spoiler if self.hides() => "||",
            Tag::Spoiler => "",
        }
    }

    /// Whether the platform is told of the link, rather than the reader.
    pub(super) fn links(self, link: &Link) -> bool {
        match self {
            Self::Plain | Self::Styles | Self::Marks(Notation::WhatsApp) => false,
            Self::Telegram => link.kind == LinkKind::Web,
            // The label would end there: Google Chat has no escape for it.
            Self::Marks(Notation::GoogleChat) if link.has_angle => false,
            Self::Marks(_) => link.kind >= LinkKind::Usual,
        }
    }

    /// Whether the label of a link may have styles of its own.
    pub(super) fn styles_labels(self) -> bool {
        !matches!(self, Self::Marks(Notation::Slack | Notation::GoogleChat))
    }

    /// What goes before and behind the label of a link, among the text.
    pub(super) fn link(self, text: Text<'_>, link: &Link) -> (String, String) {
        if link.is_bare(&text.as_str()[link.range.clone()]) {
            return Default::default();
        }
        if !self.links(link) {
            return (String::new(), self.literal(&Links::Round.written(&link.url)));
        }
        match self {
            Self::Marks(Notation::Discord | Notation::Teams) => {
                ("[".to_owned(), format!("]({})", encoded(&link.url, ends_in_markdown)))
            }
            Self::Marks(Notation::Slack) => {
                (format!("<{}|", encoded(&link.url, ends_in_angles).replace('&', "&amp;")), ">".to_owned())
            }
            Self::Marks(Notation::GoogleChat) => {
                (format!("<{}|", encoded(&link.url, ends_in_angles)), ">".to_owned())
            }
            _ => Default::default(),
        }
    }

    /// The tags around `tag` in Telegram's HTML; `None` for a link that is none.
    #[inline]
    pub(super) fn html(self, text: Text<'_>, tag: Tag) -> Option<Html<'_>> {
        Some(match tag {
            Tag::Link(link) => {
                let link = text.links().get(link).filter(|link| self.links(link))?;
                Html { open: "<a href=\"", url: Some(&link.url), close: "</a>" }
            }
            Tag::Strong => Html { open: "<b>", url: None, close: "</b>" },
            Tag::Emphasis => Html { open: "<i>", url: None, close: "</i>" },
            Tag::Strike => Html { open: "<s>", url: None, close: "</s>" },
            Tag::Code => Html { open: "<code>", url: None, close: "</code>" },
            // <https://core.telegram.org/bots/api#html-style>
            Tag::Spoiler => Html { open: "<tg-spoiler>", url: None, close: "</tg-spoiler>" },
        })
    }

    /// What our own words cost an escape in: the brackets of an address.
    fn literal(self, address: &str) -> String {
        match self {
            Self::Marks(notation) => super::escape::written(notation, address),
            _ => address.to_owned(),
        }
    }

    pub(super) fn bullet(self) -> &'static str {
        match self {
            Self::Telegram | Self::Styles | Self::Marks(Notation::Slack) => "• ",
            _ => "- ",
        }
    }

    /// A thematic break. Teams would read hyphens under a line as a heading.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::Marks(Notation::Teams) => "***",
            _ => super::plain::RULE,
        }
    }

    /// Whether the outermost quote is a tag around its text, not a mark before each line.
    pub(super) fn quotes_by_tag(self) -> bool {
        self == Self::Telegram
    }

    /// Whether code has a fence of backticks around it, inside a quote or not. Where a quote is a mark for single
    /// lines, a fence in it would be read as text.
    pub(super) fn fences(self, in_quote: bool) -> bool {
        match self {
            Self::Telegram | Self::Styles => false,
            Self::Marks(Notation::Slack | Notation::WhatsApp | Notation::GoogleChat) => !in_quote,
            _ => true,
        }
    }

    /// Whether a fence may be longer than three backticks, which makes room for three in the code.
    pub(super) fn fences_grow(self) -> bool {
        matches!(self, Self::Plain | Self::Marks(Notation::Teams))
    }

    /// Whether the line that opens a fence names the language.
    pub(super) fn names_language(self) -> bool {
        !matches!(self, Self::Marks(Notation::Slack | Notation::WhatsApp | Notation::GoogleChat))
    }

    /// What ends a line within a paragraph. Teams, like CommonMark, joins lines that have nothing at their end.
    pub(super) fn line_end(self) -> &'static str {
        match self {
            Self::Marks(Notation::Teams) => "  \n",
            _ => "\n",
        }
    }

    /// What a heading begins with; the others are bold.
    pub(super) fn heading(self, level: u8) -> Option<&'static str> {
        match (self, level) {
            (Self::Plain, _) => Some(""),
            (Self::Marks(Notation::Discord), 1) => Some("# "),
            (Self::Marks(Notation::Discord), 2) => Some("## "),
            (Self::Marks(Notation::Discord), 3) => Some("### "),
            _ => None,
        }
    }

    /// The most that a part may have of what a platform limits besides text: entities, and bytes of markup.
    pub(super) fn second_limits(self) -> (usize, usize) {
        match self {
            Self::Telegram => (TELEGRAM_TAGS, TELEGRAM_MARKUP),
            _ => (usize::MAX / 4, usize::MAX / 4),
        }
    }
}

/// A pair of tags.
pub(super) struct Html<'a> {
    open: &'static str,
    /// Where a link leads: it stands in the tag that opens.
    url: Option<&'a str>,
    pub(super) close: &'static str,
}

/// What ends a tag behind an address.
const BEHIND_URL: &str = "\">";

impl Html<'_> {
    pub(super) fn write_open(&self, out: &mut String) {
        out.push_str(self.open);
        if let Some(url) = self.url {
            escape_attribute(url, out);
            out.push_str(BEHIND_URL);
        }
    }

    /// The bytes of both tags.
    #[inline]
    pub(super) fn len(&self) -> usize {
        let url = self.url.map_or(0, |url| escaped_len(url) + BEHIND_URL.len());
        self.open.len() + url + self.close.len()
    }
}

fn ends_in_markdown(b: u8) -> bool {
    matches!(b, b'(' | b')' | b'<' | b'>' | b'\\' | b'*' | b'_' | b'~' | b'`' | b'|' | b'[' | b']')
}

fn ends_in_angles(b: u8) -> bool {
    matches!(b, b'<' | b'>' | b'|')
}

/// An address with every sign that would end it too soon written in per cent. They are all ASCII.
fn encoded(url: &str, ends: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(url.len());
    let mut done = 0;
    for (at, b) in url.bytes().enumerate().filter(|(_, b)| ends(*b)) {
        out.push_str(&url[done..at]);
        out.push_str(&format!("%{b:02X}"));
        done = at + 1;
    }
    out.push_str(&url[done..]);
    out
}
