//! Markdown to a tree of styled text once, then to each platform's flavour, part by part.
//!
//! [`parse()`] reads an agent's Markdown. [`render`] cuts it along its structure and writes each part by itself, so tags,
//! fences and table headers are always complete. Nothing that the agent wrote is dropped or passed through: raw HTML is
//! text, and a link that a platform cannot carry shows its URL.
//!
//! ```text
//! parse ─► document ─► layout ─► split ─► write
//!          text,       what a    where    body, HTML,
//!          styles,     flavour   to cut   text for
//!          blocks      needs              approvers
//! ```
//!
//! Read this first, then `document`, which everything works on; then `layout`, which decides what each line costs, and
//! `split`, which relies on that. No module uses one below it:
//!
//! | module | holds |
//! |---|---|
//! | [`flavour`](Flavour), [`part`](Part) | what a channel passes in, and what it gets back |
//! | `scan`, `html_escape` | fast scans over bytes, and character references |
//! | `document` | blocks, text, styles, links, spoilers, tables |
//! | `parse` | Markdown to a document |
//! | `markup` | which marks each platform has, escapes, and what it cannot show |
//! | `cost`, `measure` | what a platform counts, and how much of it a text takes |
//! | `layout` | a document as one flavour needs it |
//! | `split` | where to cut |
//! | `write` | a part in every form that is needed |
//!
//! A few words have one meaning throughout. A *mark* is one or more characters that format text, such as `**` or `- `. A
//! *leaf* is a block without blocks in it, and a *container* one that has some (CommonMark's "leaf block" and "container
//! block"). An *attribute* is one way to format text, such as bold; the attributes of a range are its *style*. A *piece* is a
//! range of a leaf, and a *part* a list of pieces. An *atom* is never cut. *Shown* is what an approver reads.
//!
//! The crate knows no other part of the hub: a flavour is a value that the channel passes in. It is a crate of its own
//! because it works on every byte of a message and is compiled for speed, and the rest of the hub for size.

#![forbid(unsafe_code)]

// The promises in `tests/promises` are compiled into the fuzz target too, and there the crate has this name.
#[cfg(test)]
extern crate self as gatepost_render;

mod cost;
mod document;
mod flavour;
mod html_escape;
mod layout;
mod markup;
mod measure;
mod parse;
mod part;
mod scan;
mod split;
#[cfg(test)]
mod tests;
mod write;

pub use document::Document;
pub use flavour::{Dialect, Flavour, MIN_LIMIT_UNITS, MIN_MARKED_LIMIT_UNITS, Markup, Notation, Tables};
pub use parse::parse;
pub use part::{Look, Mention, Part, RenderError, Run, Style, StyleKind};
pub use write::without_spoilers;

/// A Matrix event has at most 65,536 bytes (client-server API, "Size limits"). The rest is for JSON, keys, and what escaping
/// in JSON adds.
const MATRIX_MAX_PART_BYTES: usize = 56_000;

/// The limit of the first attempt for Matrix, in any unit. A part of more would rarely fit in an event with its HTML.
const MATRIX_MAX_PART_UNITS: usize = 20_000;

/// A text that Telegram gets as it is, without markup: whoever has a name in it is not called.
pub fn without_usernames(text: &str) -> String {
    markup::escape_text(markup::BodyMarkup::Telegram, text)
}

/// Cuts `document` into parts for one flavour. A blank document has none.
///
/// # Errors
///
/// [`RenderError::LimitTooSmall`] if the limit is below [`MIN_LIMIT_UNITS`], or below [`MIN_MARKED_LIMIT_UNITS`] if marks or
/// the labels of spoilers count; [`RenderError::MarkupTooLarge`] if a Matrix event cannot hold the markup of even the
/// shortest part.
pub fn render(document: &Document, flavour: &Flavour) -> Result<Vec<Part>, RenderError> {
    let smallest = min_limit_units(document, flavour.markup);
    if let Some(limit) = flavour.limit.filter(|limit| *limit < smallest) {
        return Err(RenderError::LimitTooSmall { limit, smallest });
    }
    if document.is_blank() {
        return Ok(Vec::new());
    }
    match fitting(document, flavour)? {
        (_, Some(parts)) => Ok(parts),
        (limit, None) => Ok(render_within(document, flavour, limit)),
    }
}

/// What is seen of each part on the platform: as many as [`render`] returns, cut at the same places.
///
/// # Errors
///
/// As [`render`].
pub fn looks(document: &Document, flavour: &Flavour) -> Result<Vec<Vec<Run>>, RenderError> {
    if document.is_blank() {
        return Ok(Vec::new());
    }
    let (limit, _) = fitting(document, flavour)?;
    let layout = layout::lay_out(document, flavour, limit);
    let parts = split::split(&layout);
    Ok(parts.iter().map(|pieces| write::write_looks(&layout, pieces, flavour)).collect())
}

/// The limit within which parts can be sent, and the parts where they had to be written to find it.
fn fitting(
    document: &Document,
    flavour: &Flavour,
) -> Result<(Option<usize>, Option<Vec<Part>>), RenderError> {
    let Markup::Html(Dialect::Matrix) = flavour.markup else { return Ok((flavour.limit, None)) };
    let smallest = min_limit_units(document, flavour.markup);
    // The length of the HTML is only known once it is written. It is rarely much longer than the text, so one attempt is
    // usually enough.
    let mut limit = flavour.limit.map_or(MATRIX_MAX_PART_UNITS, |limit| limit.min(MATRIX_MAX_PART_UNITS));
    while limit >= smallest {
        let parts = render_within(document, flavour, Some(limit));
        let bytes = |part: &Part| part.text.len() + part.html.as_ref().map_or(0, String::len);
        if parts.iter().all(|part| bytes(part) <= MATRIX_MAX_PART_BYTES) {
            return Ok((Some(limit), Some(parts)));
        }
        limit /= 2;
    }
    Err(RenderError::MarkupTooLarge)
}

fn min_limit_units(document: &Document, markup: Markup) -> usize {
    match markup {
        Markup::Marks(_) => MIN_MARKED_LIMIT_UNITS,
        Markup::Plain | Markup::Html(Dialect::Matrix | Dialect::Email) if document.has_spoilers() => {
            MIN_MARKED_LIMIT_UNITS
        }
        _ => MIN_LIMIT_UNITS,
    }
}

fn render_within(document: &Document, flavour: &Flavour, limit: Option<usize>) -> Vec<Part> {
    let layout = layout::lay_out(document, flavour, limit);
    let parts = split::split(&layout);
    parts.iter().map(|pieces| write::write_part(&layout, pieces, flavour)).collect()
}
