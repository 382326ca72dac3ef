//! Writes the pieces of a part in every form that is needed: the body to send, HTML, and the text for approvers.
//!
//! | module | writes |
//! |---|---|
//! | `body` | the text to send, Telegram's HTML and Signal's styled ranges; the only form whose length counts |
//! | `html` | the HTML of Matrix and e-mail |
//! | `looks` | what is seen of it on the platform, as runs with styles |
//! | `visible` | the visible text for approvers and for previews |

mod body;
mod html;
mod looks;
mod visible;

use crate::document::{SPOILER_LABEL, UrlForm};
use crate::flavour::{Dialect, Flavour, Markup, Notation};
use crate::layout::{Layout, Piece};
use crate::part::Part;

pub(crate) use looks::write as write_looks;
use visible::SpoilerForm;
pub use visible::without_spoilers;

#[cfg(test)]
pub(crate) use body::write as write_body;

/// What the text version of a Matrix event says instead of a spoiler (client-server API, "Spoiler messages").
const MATRIX_SPOILER_LABEL: &str = "[Spoiler]";

/// Writes one part.
pub(crate) fn write_part(layout: &Layout<'_>, pieces: &[Piece], flavour: &Flavour) -> Part {
    let body = body::write(layout, pieces);
    let (html, mentions) = match flavour.markup {
        Markup::Html(Dialect::Telegram) => (Some(body.html), body.mentions),
        Markup::Html(dialect) => {
            let (html, mentions) = html::write(layout, pieces, dialect);
            (Some(html), mentions)
        }
        Markup::Plain | Markup::Styles | Markup::Marks(_) => (None, body.mentions),
    };
    let mut text = body.text;
    if flavour.markup == Markup::Marks(Notation::WhatsApp) {
        // WhatsApp shows white space at the beginning of a message.
        text.drain(..text.len() - text.trim_start().len());
    }
    let preview = visible::has_spoilers(layout, pieces).then(|| {
        let label = match flavour.markup {
            Markup::Html(Dialect::Matrix) => MATRIX_SPOILER_LABEL,
            _ => SPOILER_LABEL.trim_end(),
        };
        visible::write(layout, pieces, UrlForm::Round, SpoilerForm::Omitted { label })
    });
    let spoilers = if flavour.markup.hides_spoilers() { SpoilerForm::Marked } else { SpoilerForm::Labelled };
    let shown = visible::write(layout, pieces, UrlForm::Angle, spoilers);
    let (units, styles, called) = (flavour.unit.count(&text), body.styles, body.called);
    Part { text, html, styles, units, shown, mentions, called, preview }
}
