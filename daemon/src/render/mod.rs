//! Markdown to a tree of styled text once, then to each platform's flavour, part by part.
//!
//! [`parse`] reads an agent's Markdown; [`render`] cuts it on its structure and renders each part by itself, so that
//! tags, fences and table headers are always whole. Nothing the agent wrote is dropped or passed through: raw HTML is
//! text, and a link that a platform cannot carry shows its address.
//!
//! ```text
//! parse ─► tree (text + looks + blocks) ─► layout (what this flavour needs) ─► split ─► plain, html
//! ```
//!
//! Read `tree` first, then `layout`, which decides what each line costs, and `split`, which relies on it.
//!
//! The module knows no other part of the hub: a flavour is a value that the channel hands in.

mod atoms;
mod html;
mod layout;
mod parse;
mod plain;
mod split;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod tree;

use gatepost_chunk::Unit;

pub use parse::parse;
pub use tree::Document;

use layout::Layout;

/// The smallest limit that leaves room for text beside quote marks and indentation, in any unit.
pub const SMALLEST_LIMIT: usize = 16;

/// A Matrix event has at most 65,536 bytes (Matrix specification, client-server API, "Size limits"); the rest is for
/// JSON, keys and what escaping adds.
const MATRIX_BYTES: usize = 56_000;

/// No platform is known to want more in one part than this; it keeps a first attempt for Matrix from being wasted.
const MATRIX_TEXT: usize = 20_000;

/// What a platform takes besides text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// Nothing: text only.
    Plain,
    /// HTML beside the text.
    Html(Dialect),
}

/// Whose HTML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The tags of `org.matrix.custom.html`; text and HTML of a part together stay within one event.
    Matrix,
    /// A fragment for the body of an e-mail: the same tags, with inline styles for tables and code.
    Email,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Readable plain text; links as `label (url)`.
    pub text: String,
    /// The same as HTML, balanced by itself, if the flavour has markup.
    pub html: Option<String>,
    /// Units of `text`.
    pub units: usize,
    /// What an approver sees: the visible text, each link as `label <url>`, nothing hidden.
    pub shown: String,
}

/// Why a document cannot be rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderError {
    /// The limit leaves no room for text.
    LimitTooSmall {
        /// The limit that was asked for.
        limit: usize,
    },
    /// No cut makes text and markup of every part fit in one event.
    MarkupTooLarge,
}

impl std::fmt::Display for RenderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LimitTooSmall { limit } => {
                write!(f, "a limit of {limit} leaves no room for text: use at least {SMALLEST_LIMIT}")
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
/// [`RenderError::LimitTooSmall`] for a limit below [`SMALLEST_LIMIT`]; [`RenderError::MarkupTooLarge`] if a Matrix
/// event cannot hold the markup of even the shortest part.
pub fn render(document: &Document, flavour: &Flavour) -> Result<Vec<Part>, RenderError> {
    if let Some(limit) = flavour.limit.filter(|limit| *limit < SMALLEST_LIMIT) {
        return Err(RenderError::LimitTooSmall { limit });
    }
    if document.is_blank() {
        return Ok(Vec::new());
    }
    let Markup::Html(Dialect::Matrix) = flavour.markup else {
        return Ok(parts(document, flavour, flavour.limit));
    };
    // Markup is only known once it is written. It is rarely much longer than the text, so this rarely turns twice.
    let mut limit = flavour.limit.map_or(MATRIX_TEXT, |limit| limit.min(MATRIX_TEXT));
    while limit >= SMALLEST_LIMIT {
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
            let text = plain::write(&layout, pieces, text::Links::Round);
            let html = match flavour.markup {
                Markup::Plain => None,
                Markup::Html(dialect) => Some(html::write(&layout, pieces, dialect)),
            };
            let units = flavour.unit.count(&text);
            Part { html, units, shown: plain::write(&layout, pieces, text::Links::Angle), text }
        })
        .collect()
}
