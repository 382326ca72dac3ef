//! Parts as HTML, each balanced by itself.
//!
//! Everything that an agent wrote is escaped; only tags from the list in the Matrix specification (client-server API,
//! `org.matrix.custom.html`) come out, and only addresses that a reader expects behind a link become one.

use super::Dialect;
use super::layout::{Block, Form, LaidTable, Layout};
use super::link::{Link, Links, behind_scheme};
use super::look::Tag;
use super::pen::SPOILER;
use super::plain;
use super::split::Piece;
use super::text::Text;
use super::tree::Container;

/// The schemes that may stand behind a link. Others, such as `javascript:`, are shown as text.
const SCHEMES: [&str; 4] = ["http://", "https://", "mailto:", "matrix:"];

pub(super) fn write(layout: &Layout<'_>, pieces: &[Piece], dialect: Dialect) -> String {
    let mut writer = Writer { layout, dialect, out: String::new(), open: Vec::new(), bare: None };
    for piece in pieces {
        writer.piece(piece, &pieces[0]);
    }
    writer.close_to(0);
    writer.out
}

struct Writer<'a> {
    layout: &'a Layout<'a>,
    dialect: Dialect,
    out: String,
    /// The containers whose tags are open, each with the number of the item that was last opened in it.
    open: Vec<(usize, Option<u64>)>,
    /// The item that text without a paragraph of its own was last written to.
    bare: Option<usize>,
}

impl Writer<'_> {
    fn piece(&mut self, piece: &Piece, first: &Piece) {
        let laid = &self.layout.leaves[piece.leaf];
        let path = self.containers(laid.parent, first);
        let shared = self.open.iter().zip(&path).take_while(|((a, _), b)| a == *b).count();
        self.close_to(shared);
        self.renumber(path.get(shared).copied());
        for at in shared..path.len() {
            self.open_container(path[at], path.get(at + 1).copied());
        }
        let bare = path.last().copied().filter(|node| self.is_tight_item(*node));
        let was_bare = self.bare.take();
        match &laid.block {
            Block::Text { heading: None, text, .. } if bare.is_some() => {
                if was_bare == bare {
                    self.out.push_str("<br>");
                }
                inline(text.text(), piece, self.dialect, &mut self.out);
                self.bare = bare;
            }
            Block::Text { heading, text, .. } => {
                let tag = heading.map_or_else(|| "p".to_owned(), |level| format!("h{level}"));
                self.out.push_str(&format!("<{tag}>"));
                inline(text.text(), piece, self.dialect, &mut self.out);
                self.out.push_str(&format!("</{tag}>"));
            }
            Block::Table(table) if table.form == Form::Native => self.table(table, piece),
            Block::Table(table) if table.form == Form::Plain => self.rows(table, piece),
            Block::Code { .. } | Block::Table(_) => self.code(piece),
            Block::Rule => self.out.push_str("<hr>"),
        }
    }

    /// The containers to open around a leaf. An item that began in an earlier part is not begun again: a second mark
    /// would read as a second item.
    fn containers(&self, parent: Option<usize>, first: &Piece) -> Vec<usize> {
        let began_before = |node: usize| {
            let leaf = self.layout.first_leaf(node);
            leaf < first.leaf || (leaf == first.leaf && !first.begins)
        };
        let mut path: Vec<usize> = Vec::new();
        for node in self.layout.path(parent) {
            match self.layout.nodes[node].kind {
                Container::Item { .. } if began_before(node) => {
                    path.pop();
                }
                _ => path.push(node),
            }
        }
        path
    }

    fn is_tight_item(&self, node: usize) -> bool {
        let item = &self.layout.nodes[node];
        let list = item.parent.map(|list| self.layout.nodes[list].kind);
        matches!(item.kind, Container::Item { .. })
            && matches!(list, Some(Container::List { tight: true, .. }))
    }

    /// Begins the open list anew if its next item has not the number that a reader would count to: one without any text
    /// was left out.
    fn renumber(&mut self, next: Option<usize>) {
        let number = |node: usize| match self.layout.nodes[node].kind {
            Container::Item { number } => number,
            _ => None,
        };
        let Some((list, Some(last))) = self.open.last().copied() else { return };
        if next.and_then(number).is_some_and(|number| number != last.saturating_add(1)) {
            self.close_to(self.open.len() - 1);
            self.open_container(list, next);
        }
    }

    fn open_container(&mut self, node: usize, inner: Option<usize>) {
        let tag = match self.layout.nodes[node].kind {
            Container::Quote => "<blockquote>".to_owned(),
            Container::Item { .. } => "<li>".to_owned(),
            Container::List { ordered: false, .. } => "<ul>".to_owned(),
            Container::List { ordered: true, .. } => match inner.map(|item| self.layout.nodes[item].kind) {
                Some(Container::Item { number: Some(number) }) if number != 1 => {
                    format!("<ol start=\"{number}\">")
                }
                _ => "<ol>".to_owned(),
            },
        };
        self.out.push_str(&tag);
        if let (Some((_, last)), Container::Item { number }) =
            (self.open.last_mut(), self.layout.nodes[node].kind)
        {
            *last = number;
        }
        self.open.push((node, None));
        self.bare = None;
    }

    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some((node, _)) = self.open.pop() else { break };
            self.out.push_str(match self.layout.nodes[node].kind {
                Container::Quote => "</blockquote>",
                Container::Item { .. } => "</li>",
                Container::List { ordered: true, .. } => "</ol>",
                Container::List { ordered: false, .. } => "</ul>",
            });
            self.bare = None;
        }
    }

    fn code(&mut self, piece: &Piece) {
        let Some(code) = plain::code(self.layout, piece) else { return };
        self.out.push_str(self.styled("<pre>", "<pre style=\"background:#f4f4f4;padding:8px\">"));
        match &self.layout.leaves[piece.leaf].block {
            Block::Code { language, .. } if is_language(language) => {
                self.out.push_str(&format!("<code class=\"language-{language}\">"));
            }
            _ => self.out.push_str("<code>"),
        }
        escape(&code, &mut self.out);
        self.out.push_str("</code></pre>");
    }

    fn table(&mut self, table: &LaidTable<'_>, piece: &Piece) {
        self.out.push_str(self.styled("<table>", "<table style=\"border-collapse:collapse\">"));
        self.out.push_str("<thead>");
        self.row(table, None, "th");
        self.out.push_str("</thead>");
        if !piece.range.is_empty() {
            self.out.push_str("<tbody>");
            for row in piece.range.clone() {
                self.row(table, Some(row), "td");
            }
            self.out.push_str("</tbody>");
        }
        self.out.push_str("</table>");
    }

    fn row(&mut self, table: &LaidTable<'_>, row: Option<usize>, tag: &str) {
        self.out.push_str("<tr>");
        for cell in table.table.cells(row) {
            let style = self.styled("", " style=\"border:1px solid #ccc;padding:4px 8px;text-align:left\"");
            self.out.push_str(&format!("<{tag}{style}>"));
            inline_all(cell, self.dialect, &mut self.out);
            self.out.push_str(&format!("</{tag}>"));
        }
        self.out.push_str("</tr>");
    }

    /// A table without columns: a line for each row.
    fn rows(&mut self, table: &LaidTable<'_>, piece: &Piece) {
        self.out.push_str("<p>");
        inline_all(table.table.text_line(None).open(), self.dialect, &mut self.out);
        for row in piece.range.clone() {
            self.out.push_str("<br>");
            inline_all(table.table.text_line(Some(row)).open(), self.dialect, &mut self.out);
        }
        self.out.push_str("</p>");
    }

    fn styled(&self, matrix: &'static str, email: &'static str) -> &'static str {
        match self.dialect {
            Dialect::Matrix | Dialect::Telegram => matrix,
            Dialect::Email => email,
        }
    }
}

fn inline_all(text: Text<'_>, dialect: Dialect, out: &mut String) {
    write_inline(text, 0..text.as_str().len(), dialect, out);
}

fn inline(text: Text<'_>, piece: &Piece, dialect: Dialect, out: &mut String) {
    write_inline(text, piece.range.clone(), dialect, out);
}

/// What is around a spoiler. No program for mail hides anything.
fn around_spoiler(dialect: Dialect) -> [&'static str; 2] {
    match dialect {
        // <https://spec.matrix.org/v1.18/client-server-api/#spoiler-messages>
        Dialect::Matrix => ["<span data-mx-spoiler>", "</span>"],
        Dialect::Telegram | Dialect::Email => [SPOILER, ""],
    }
}

fn write_inline(text: Text<'_>, range: std::ops::Range<usize>, dialect: Dialect, out: &mut String) {
    let mut open: Vec<Tag> = Vec::new();
    for (at, slice, look) in text.located(range) {
        let link = look.link().map(|link| &text.links()[link]);
        let tags: Vec<Tag> =
            look.tags().filter(|tag| !matches!(tag, Tag::Link(_)) || link.is_some_and(may_link)).collect();
        let shared = open.iter().zip(&tags).take_while(|(a, b)| a == b).count();
        close_tags(&mut open, shared, dialect, out);
        for tag in &tags[shared..] {
            match tag {
                Tag::Link(link) => {
                    out.push_str("<a href=\"");
                    escape_attribute(&text.links()[*link].url, out);
                    out.push_str("\">");
                }
                Tag::Strong => out.push_str("<strong>"),
                Tag::Emphasis => out.push_str("<em>"),
                Tag::Strike => out.push_str("<del>"),
                Tag::Code => out.push_str("<code>"),
                Tag::Spoiler => out.push_str(around_spoiler(dialect)[0]),
            }
            open.push(*tag);
        }
        for (n, line) in slice.split('\n').enumerate() {
            if n > 0 {
                out.push_str("<br>");
            }
            escape(line, out);
        }
        // An address that may not become a link is still shown.
        if let Some(link) = link.filter(|link| !may_link(link) && at + slice.len() == link.range.end)
            && let Some(address) = Links::Round.address(&text.as_str()[link.range.clone()], &link.url)
        {
            escape(&address, out);
        }
    }
    close_tags(&mut open, 0, dialect, out);
}

fn close_tags(open: &mut Vec<Tag>, depth: usize, dialect: Dialect, out: &mut String) {
    for tag in open.drain(depth..).rev() {
        out.push_str(match tag {
            Tag::Link(_) => "</a>",
            Tag::Strong => "</strong>",
            Tag::Emphasis => "</em>",
            Tag::Strike => "</del>",
            Tag::Code => "</code>",
            Tag::Spoiler => around_spoiler(dialect)[1],
        });
    }
}

fn may_link(link: &Link) -> bool {
    SCHEMES.iter().any(|scheme| behind_scheme(&link.url, scheme).is_some())
}

pub(super) fn is_language(language: &str) -> bool {
    !language.is_empty()
        && language.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '#' | '.'))
}

pub(super) fn escape(text: &str, out: &mut String) {
    let mut done = 0;
    for at in memchr::memchr3_iter(b'&', b'<', b'>', text.as_bytes()) {
        out.push_str(&text[done..at]);
        out.push_str(match text.as_bytes()[at] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            _ => "&gt;",
        });
        done = at + 1;
    }
    out.push_str(&text[done..]);
}

pub(super) fn escape_attribute(text: &str, out: &mut String) {
    if memchr::memchr(b'"', text.as_bytes()).is_none() {
        return escape(text, out);
    }
    for (n, piece) in text.split('"').enumerate() {
        if n > 0 {
            out.push_str("&quot;");
        }
        escape(piece, out);
    }
}

/// The bytes of `text` as an attribute.
pub(super) fn escaped_len(text: &str) -> usize {
    let more = |b: &u8| match b {
        b'&' => 4,
        b'<' | b'>' => 3,
        b'"' => 5,
        _ => 0,
    };
    // Sums that fit in a byte: the compiler makes vector instructions of it.
    let more = |block: &[u8]| usize::from(block.iter().map(more).sum::<u8>());
    text.len() + text.as_bytes().chunks(32).map(more).sum::<usize>()
}
