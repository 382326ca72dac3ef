//! What is written around the label of a link.

use crate::document::{Link, Text, UrlForm};
use crate::flavour::Notation;

use super::body::BodyMarkup;
use super::escape::escape_text;

/// What is written before and after the label of `link` inside the text: the marks of a link, or its URL for the reader.
/// Nothing if the label is the URL already.
pub(crate) fn marks_around_label(markup: BodyMarkup, text: Text<'_>, link: &Link) -> (String, String) {
    if link.person().is_some() {
        // Telegram's is a tag; others have another label, or the name alone.
        return match markup {
            BodyMarkup::Marks(Notation::Teams) if markup.accepts_link(link) => {
                ("<at>".into(), "</at>".into())
            }
            _ => Default::default(),
        };
    }
    if link.is_bare(&text.as_str()[link.range.clone()]) {
        return Default::default();
    }
    if !markup.accepts_link(link) {
        return (String::new(), escape_text(markup, &UrlForm::Round.written(&link.url)));
    }
    match markup {
        BodyMarkup::Marks(Notation::Discord | Notation::Teams) => {
            ("[".to_owned(), format!("]({})", percent_encoded(&link.url, ends_markdown_url)))
        }
        BodyMarkup::Marks(Notation::Slack) => {
            let url = percent_encoded(&link.url, ends_angle_url).replace('&', "&amp;");
            (format!("<{url}|"), ">".to_owned())
        }
        BodyMarkup::Marks(Notation::GoogleChat) => {
            (format!("<{}|", percent_encoded(&link.url, ends_angle_url)), ">".to_owned())
        }
        _ => Default::default(),
    }
}

/// Whether a byte would end a URL in `[label](url)`, or be read as a mark in it.
fn ends_markdown_url(b: u8) -> bool {
    matches!(b, b'(' | b')' | b'<' | b'>' | b'\\' | b'*' | b'_' | b'~' | b'`' | b'|' | b'[' | b']')
}

/// Whether a byte would end a URL in `<url|label>`.
fn ends_angle_url(b: u8) -> bool {
    matches!(b, b'<' | b'>' | b'|')
}

/// A URL with every byte percent-encoded that would `end` it. Those bytes are all ASCII.
fn percent_encoded(url: &str, ends: impl Fn(u8) -> bool) -> String {
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
