//! A document as pages of text cells: the request, then the text of each part, then the files.
//!
//! The first page begins with what matters first, large: who asks, to whom, on which channel. A short text is enlarged if all of
//! it fits one page so.
//!
//! Every field except hashes appears in full on some page. One function both counts the pages and draws one, so every
//! page that is counted can be drawn. A field's content cannot imitate the labels that this module writes: a label
//! starts a row, while a continued field starts each further row with a space; a large fact stands alone in its row, in a style that
//! no label has; a part's number is in the first row, where the part's text never is.
//!
//! `gatepost_chunk` decides where lines break; this module makes sure that all of them are shown. A line that is too wide
//! continues in the next row, and a page that is too long continues on the next page.
//!
//! Here is what stands on the pages; `rows` is how a field becomes rows.

mod rows;

use core::fmt::Write as _;

use gatepost_link::document::{Document, Part, Target};
use heapless::Vec;

use super::{
    escape::{self, Script},
    geometry::{Geometry, MAX_ROWS},
    pictogram::Pictogram,
    row::{Line, Row, Size, Style},
};

/// How many bytes of a file's hash are shown.
const SHOWN_HASH_BYTES: usize = 8;
/// How much a short text is enlarged.
const ENLARGED: usize = 2;
/// A text that takes more pages so is not enlarged: each page is a press.
const ENLARGED_PAGES: usize = 2;

/// One page, and the number of all pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    /// Pages of the whole document; at least 1.
    pub count: u16,
    /// The section of the page: `request`, `text` or `files`.
    pub title: &'static str,
    /// The page's rows.
    pub rows: Vec<Row, MAX_ROWS>,
}

/// Lays out `document` and keeps page number `wanted`, counted from 1. With 0 it only counts the pages.
pub fn lay_out(document: &Document<'_>, geometry: Geometry, wanted: u16) -> Sheet {
    let mut layout = Layout {
        geometry,
        wanted,
        marker: None,
        used: 0,
        title: "",
        sheet: Sheet { count: 0, title: "", rows: Vec::new() },
    };
    layout.request(document);
    for (index, part) in document.parts.iter().enumerate() {
        layout.part(index + 1, document.parts.len(), part);
    }
    layout.files(document);
    layout.sheet
}

struct Layout {
    geometry: Geometry,
    wanted: u16,
    /// The first row of every page of the current part.
    marker: Option<Line>,
    /// Rows taken on the current page.
    used: usize,
    title: &'static str,
    sheet: Sheet,
}

impl Layout {
    fn request(&mut self, document: &Document<'_>) {
        self.page("request");
        let sizes = Size::all(self.geometry);
        self.fact(sizes, "agent: ", document.agent, Script::Human, Some(Pictogram::AGENT));
        // The first page of a small screen has room for three large facts alone.
        let is_small = !self.geometry.is_large() && !self.geometry.is_text();
        let is_first = !is_small || !document.also.is_empty();
        let wants = |layout: &mut Self| layout.field("wants to: ", document.action, Script::Machine);
        if is_first {
            wants(self);
        }
        match document.also.is_empty() {
            true => document.targets().for_each(|target| self.target(&target)),
            false => self.targets(document),
        }
        if !is_first {
            wants(self);
        }
        match document.origin {
            Some(origin) => self.field("from: ", origin, Script::Machine),
            None => self.label(format_args!("in no conversation")),
        }
        if let Some(message) = document.reply_to {
            self.field("answers: ", message, Script::Machine);
        }
        for option in &document.options {
            self.field("option: ", option, Script::Human);
        }
        if document.parts.len() != 1 {
            self.label(format_args!("parts: {}", document.parts.len()));
        }
        if !document.attachments.is_empty() {
            self.label(format_args!("files: {}", document.attachments.len()));
        }
    }

    /// The only target: as a person knows it, its channel, and what else there is to know of it.
    fn target(&mut self, target: &Target<'_>) {
        let (value, script) = match target.known_as {
            Some(name) => (name, Script::Human),
            None => (target.address, Script::Machine),
        };
        let sizes = Size::all(self.geometry);
        self.fact(sizes, "to: ", value, script, None);
        // Below a long one a smaller channel leaves room for all the rest, as a rule.
        let cells: usize = value.chars().map(|c| script.glyph(c).width()).sum();
        let is_long = cells > Size::Two.columns(self.geometry, false);
        let sizes = if is_long { sizes.strip_prefix(&[Size::Three]).unwrap_or(sizes) } else { sizes };
        let pictogram = Pictogram::of_channel(target.channel);
        self.fact(sizes, "channel: ", target.channel, Script::Machine, Some(pictogram));
        self.field("account: ", target.account, Script::Machine);
        match target.known_as {
            Some(_) => self.field("in address book: ", target.address, Script::Machine),
            None => self.note(format_args!("not in address book")),
        }
        if let Some(thread) = target.thread {
            self.field("thread: ", thread, Script::Machine);
        }
    }

    /// Several targets, one as important as the other.
    fn targets(&mut self, document: &Document<'_>) {
        let of = document.targets().count();
        let mut all = Line::new();
        write!(all, "{of} targets").expect("a number and a word fit a line");
        self.fact(Size::all(self.geometry), "to: ", &all, Script::Machine, None);
        for (target, number) in document.targets().zip(1..) {
            self.keep_together(2);
            self.note(format_args!("TARGET {number} of {of}"));
            self.field("channel: ", target.channel, Script::Machine);
            self.field("account: ", target.account, Script::Machine);
            self.field("to: ", target.address, Script::Machine);
            match target.known_as {
                Some(name) => self.field("known here as: ", name, Script::Human),
                None => self.own(format_args!("not in address book"), Style::Plain),
            }
            if let Some(thread) = target.thread {
                self.field("thread: ", thread, Script::Machine);
            }
        }
        self.note(format_args!("FOR ALL {of} TARGETS"));
    }

    fn part(&mut self, number: usize, of: usize, part: &Part<'_>) {
        let mut rows = self.geometry.body_rows();
        if of > 1 {
            let mut marker = Line::new();
            write!(marker, "-- part {number} of {of} --").expect("a marker fits a line");
            self.marker = Some(marker);
            rows -= 1;
        }
        let columns = self.geometry.columns();
        let pages = |scale| gatepost_chunk::pages(part.text, columns / scale, rows / scale, escape::width);
        let enlarged = self.geometry.is_large() && pages(ENLARGED).nth(ENLARGED_PAGES).is_none();
        let (scale, style) =
            if enlarged { (ENLARGED, Style::Large(ENLARGED as u8)) } else { (1, Style::Plain) };
        let mut shown = false;
        for page in pages(scale) {
            shown = true;
            self.page("text");
            for line in page.lines() {
                self.flow(("", ""), line, Script::Human, columns / scale, style);
            }
        }
        if !shown {
            self.page("text");
            self.label(format_args!("(no text)"));
        }
        self.marker = None;
    }

    fn files(&mut self, document: &Document<'_>) {
        if document.attachments.is_empty() {
            return;
        }
        self.page("files");
        match document.attachments.len() {
            1 => self.note(format_args!("1 file NOT SHOWN")),
            count => self.note(format_args!("{count} files NOT SHOWN")),
        }
        for file in &document.attachments {
            self.field("name: ", file.name, Script::Human);
            self.field("type: ", file.kind, Script::Machine);
            self.label(format_args!("size: {} bytes", file.size));
            let mut hash = Line::new();
            for byte in &file.digest.0[..SHOWN_HASH_BYTES] {
                write!(hash, "{byte:02x}").expect("16 digits fit a line");
            }
            self.field("sha: ", &hash, Script::Machine);
        }
    }
}

#[cfg(test)]
mod tests;
