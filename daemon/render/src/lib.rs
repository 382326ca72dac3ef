//! Markdown to a tree of styled text once, then to each platform's flavour, part by part.
//!
//! [`parse`] reads an agent's Markdown; [`render`] cuts it on its structure and renders each part by itself, so that
//! tags, fences and table headers are always whole. Nothing the agent wrote is dropped or passed through: raw HTML is
//! text, and a link that a platform cannot carry shows its address.
//!
//! ```text
//! parse ─► tree (text + looks + blocks) ─► layout (what this flavour needs) ─► split ─► write, html, plain
//! ```
//!
//! Read `tree` first, then `layout`, which decides what each line costs, and `split`, which relies on it.
//!
//! It knows no other part of the hub: a flavour is a value that the channel hands in. A crate of its own, since what works on
//! every byte is compiled to be fast, and the rest of the hub to be small.

#![forbid(unsafe_code)]

// As whoever compiles the promises beside the renderer calls it.
#[cfg(test)]
extern crate self as gatepost_render;

mod atoms;
mod escape;
mod glance;
mod html;
mod layout;
mod link;
mod look;
mod measure;
mod parse;
mod pen;
mod plain;
mod settle;
mod split;
mod spoiler;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod words;
mod write;

use gatepost_chunk::Unit;

pub use parse::parse;
pub use plain::without_spoilers;
pub use tree::Document;

use layout::Layout;
use link::Links;
use plain::Spoilers;

/// The smallest limit that leaves room for text beside quote marks and indentation, in any unit.
pub const SMALLEST_LIMIT: usize = 16;

/// A Matrix event has at most 65,536 bytes (Matrix specification, client-server API, "Size limits"); the rest is for
/// JSON, keys and what escaping adds.
const MATRIX_BYTES: usize = 56_000;

/// No platform is known to want more in one part than this; it keeps a first attempt for Matrix from being wasted.
const MATRIX_TEXT: usize = 20_000;

/// The smallest limit for a flavour whose marks count, as that of a spoiler does in readable text.
pub const SMALLEST_MARKED_LIMIT: usize = 80;

/// What a platform takes besides text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// Nothing: text only.
    Plain,
    /// HTML beside the text.
    Html(Dialect),
    /// Ranges of the text that have a style, as Signal has them: [`Part::styles`].
    Styles,
    /// Marks among the text, which count; signs in the text that would be read as marks are escaped or made inert.
    Marks(Notation),
}

impl Markup {
    /// Whether its platform hides a spoiler until a reader asks for it.
    fn hides(self) -> bool {
        match self {
            Self::Styles | Self::Html(Dialect::Matrix | Dialect::Telegram) => true,
            Self::Marks(notation) => notation == Notation::Discord,
            Self::Plain | Self::Html(Dialect::Email) => false,
        }
    }
}

/// Whose HTML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The tags of `org.matrix.custom.html`; text and HTML of a part together stay within one event.
    Matrix,
    /// A fragment for the body of an e-mail: the same tags, with inline styles for tables and code.
    Email,
    /// The tags of the Bot API. [`Part::text`] is what they leave visible, which is what Telegram counts; a part has at
    /// most 100 entities and about 9.5 KB of tags, which is all that Telegram reads.
    Telegram,
}

/// Whose marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// Discord's Markdown.
    Discord,
    /// Slack's mrkdwn.
    Slack,
    /// WhatsApp's.
    WhatsApp,
    /// Google Chat's.
    GoogleChat,
    /// The part of Markdown that Microsoft Teams reads.
    Teams,
}

/// A stretch of [`Part::text`] with a style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Where it begins, in UTF-16 units.
    pub start: usize,
    /// How long it is, in UTF-16 units; never zero.
    pub len: usize,
    /// The style.
    pub kind: StyleKind,
}

/// The styles of Signal that an agent can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StyleKind {
    /// `BOLD`.
    Bold,
    /// `ITALIC`.
    Italic,
    /// `STRIKETHROUGH`.
    Strikethrough,
    /// `MONOSPACE`.
    Monospace,
    /// `SPOILER`.
    Spoiler,
}

impl StyleKind {
    /// Its name in Signal's protocol and in `signal-cli`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bold => "BOLD",
            Self::Italic => "ITALIC",
            Self::Strikethrough => "STRIKETHROUGH",
            Self::Monospace => "MONOSPACE",
            Self::Spoiler => "SPOILER",
        }
    }
}

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// As a table of the markup; in plain text, aligned by display columns.
    Native,
    /// Aligned by display columns, in a code block.
    Code,
    /// A list item for each row, each cell behind its header.
    Bullets,
    /// A line for each row, cells separated by bars.
    Plain,
}

/// How one channel wants its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flavour {
    /// What it takes besides text.
    pub markup: Markup,
    /// The most `unit`s of [`Part::text`]; `None` for a single part. HTML is not counted, but see [`Dialect::Matrix`].
    pub limit: Option<usize>,
    /// The unit of `limit`.
    pub unit: Unit,
    /// How tables are written.
    pub tables: Tables,
}

/// One part of a message: what becomes one platform request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// What is sent as the text: readable, links as `label (url)`, or with the flavour's marks. Beside Telegram's HTML,
    /// what that leaves visible.
    pub text: String,
    /// The same as HTML, balanced by itself, if the flavour has HTML.
    pub html: Option<String>,
    /// The styles of stretches of `text`, if the flavour has them; in order.
    pub styles: Vec<Style>,
    /// Units of `text`.
    pub units: usize,
    /// What an approver sees: the visible text, each link as `label <url>`; nothing hidden. A text that the platform hides is
    /// written as `(spoiler) ||text||`, and no other reads like that: in what an agent wrote like it, a backslash stands before
    /// the bars.
    pub shown: String,
    /// If the part has spoilers: the visible text without theirs, for what is read before anybody asks for it, such as a
    /// notification.
    pub preview: Option<String>,
}

/// Why a document cannot be rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderError {
    /// The limit leaves no room for text.
    LimitTooSmall {
        /// The limit that was asked for.
        limit: usize,
        /// The smallest one for the flavour.
        smallest: usize,
    },
    /// No cut makes text and markup of every part fit in one event.
    MarkupTooLarge,
}

impl std::fmt::Display for RenderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LimitTooSmall { limit, smallest } => {
                write!(f, "a limit of {limit} leaves no room for text: use at least {smallest}")
            }
            Self::MarkupTooLarge => {
                f.write_str("the markup does not fit in one event: send it with less formatting")
            }
        }
    }
}

impl std::error::Error for RenderError {}

/// Cuts `document` into parts for one flavour. A blank document has none.
///
/// # Errors
///
/// [`RenderError::LimitTooSmall`] for a limit below [`SMALLEST_LIMIT`], or below
/// [`SMALLEST_MARKED_LIMIT`] if marks count; [`RenderError::MarkupTooLarge`] if a Matrix
/// event cannot hold the markup of even the shortest part.
pub fn render(document: &Document, flavour: &Flavour) -> Result<Vec<Part>, RenderError> {
    let smallest = match flavour.markup {
        Markup::Marks(_) => SMALLEST_MARKED_LIMIT,
        Markup::Plain | Markup::Html(Dialect::Matrix | Dialect::Email) if document.has_spoilers() => {
            SMALLEST_MARKED_LIMIT
        }
        _ => SMALLEST_LIMIT,
    };
    if let Some(limit) = flavour.limit.filter(|limit| *limit < smallest) {
        return Err(RenderError::LimitTooSmall { limit, smallest });
    }
    if document.is_blank() {
        return Ok(Vec::new());
    }
    let Markup::Html(Dialect::Matrix) = flavour.markup else {
        return Ok(parts(document, flavour, flavour.limit));
    };
    // Markup is only known once it is written. It is rarely much longer than the text, so this rarely turns twice.
    let mut limit = flavour.limit.map_or(MATRIX_TEXT, |limit| limit.min(MATRIX_TEXT));
    while limit >= smallest {
        let parts = parts(document, flavour, Some(limit));
        let bytes = |part: &Part| part.text.len() + part.html.as_ref().map_or(0, String::len);
        if parts.iter().all(|part| bytes(part) <= MATRIX_BYTES) {
            return Ok(parts);
        }
        limit /= 2;
    }
    Err(RenderError::MarkupTooLarge)
}

fn parts(document: &Document, flavour: &Flavour, limit: Option<usize>) -> Vec<Part> {
    let layout = Layout::new(document, flavour, limit);
    let parts = split::split(&layout);
    parts
        .iter()
        .map(|pieces| {
            let written = write::write(&layout, pieces);
            let html = match flavour.markup {
                Markup::Html(Dialect::Telegram) => Some(written.html),
                Markup::Html(dialect) => Some(html::write(&layout, pieces, dialect)),
                Markup::Plain | Markup::Styles | Markup::Marks(_) => None,
            };
            let mut text = written.text;
            if flavour.markup == Markup::Marks(Notation::WhatsApp) {
                // WhatsApp shows white space that a message begins with.
                text.drain(..text.len() - text.trim_start().len());
            }
            let (units, styles) = (flavour.unit.count(&text), written.styles);
            let preview = plain::has_spoilers(&layout, pieces).then(|| {
                let word = match flavour.markup {
                    // What the specification has its body say (client-server API, "Spoiler messages").
                    Markup::Html(Dialect::Matrix) => "[Spoiler]",
                    _ => pen::SPOILER.trim_end(),
                };
                plain::write(&layout, pieces, Links::Round, Spoilers::LeftOut(word))
            });
            let spoilers = if flavour.markup.hides() { Spoilers::Marked } else { Spoilers::Told };
            let shown = plain::write(&layout, pieces, Links::Angle, spoilers);
            Part { text, html, styles, units, shown, preview }
        })
        .collect()
}
