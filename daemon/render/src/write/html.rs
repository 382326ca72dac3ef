//! Parts as HTML for Matrix and e-mail. Every tag that a part opens is closed in it.
//!
//! Everything that an agent wrote is escaped. Only tags that the Matrix specification allows are written (client-server
//! API, `org.matrix.custom.html`), and only URLs of the usual schemes become links.

use std::ops::Range;

use crate::document::{Attribute, ContainerKind, Link, SPOILER_LABEL, Text, UrlForm, strip_scheme};
use crate::flavour::Dialect;
use crate::html_escape::{push_attribute, push_text};
use crate::layout::{Block, Layout, Piece, TableForm, TableLayout};
use crate::markup::is_language_name;

use super::body::note;

/// The schemes of URLs that become links. Others, such as `javascript:`, are shown as text.
const LINKED_SCHEMES: [&str; 4] = ["http://", "https://", "mailto:", "matrix:"];

/// The HTML, and the ids of whom it calls.
pub(super) fn write(layout: &Layout<'_>, pieces: &[Piece], dialect: Dialect) -> (String, Vec<String>) {
    let (out, mentions) = (String::new(), Vec::new());
    let mut writer = Writer { layout, dialect, out, mentions, open: Vec::new(), bare_item: None };
    for piece in pieces {
        writer.piece(piece, &pieces[0]);
    }
    writer.close_down_to(0);
    (writer.out, writer.mentions)
}

struct Writer<'a> {
    layout: &'a Layout<'a>,
    dialect: Dialect,
    out: String,
    mentions: Vec<String>,
    /// The containers whose tags are open, each with the number of the last item in it.
    open: Vec<(usize, Option<u64>)>,
    /// The item to which text was written last without a paragraph of its own.
    bare_item: Option<usize>,
}

impl Writer<'_> {
    fn piece(&mut self, piece: &Piece, first: &Piece) {
        let leaf = &self.layout.leaves[piece.leaf];
        let path = self.containers_to_open(leaf.parent, first);
        let common = self.open.iter().zip(&path).take_while(|((open, _), wanted)| open == *wanted).count();
        self.close_down_to(common);
        self.renumber(path.get(common).copied());
        for at in common..path.len() {
            self.open_container(path[at], path.get(at + 1).copied());
        }
        let bare_item = path.last().copied().filter(|container| self.is_item_of_tight_list(*container));
        let previous_bare_item = self.bare_item.take();
        match &leaf.block {
            Block::Text { heading: None, text, .. } if bare_item.is_some() => {
                if previous_bare_item == bare_item {
                    self.out.push_str("<br>");
                }
                self.inline(text.text(), piece.range.clone());
                self.bare_item = bare_item;
            }
            Block::Text { heading, text, .. } => {
                let tag = heading.map_or_else(|| "p".to_owned(), |level| format!("h{level}"));
                self.out.push_str(&format!("<{tag}>"));
                self.inline(text.text(), piece.range.clone());
                self.out.push_str(&format!("</{tag}>"));
            }
            Block::Table(table) if table.form == TableForm::Native => self.table(table, piece),
            Block::Table(table) if table.form == TableForm::Plain => self.table_as_lines(table, piece),
            Block::Table(table) => {
                let lines: Vec<_> = table.head_and_rows(&piece.range, UrlForm::Round).collect();
                self.code("", &lines.join("\n"));
            }
            Block::Code { language, text, .. } => self.code(language, &text[piece.range.clone()]),
            Block::Rule => self.out.push_str("<hr>"),
        }
    }

    /// The containers around a leaf whose tags are needed. An item that began in an earlier part is left out with its list,
    /// because its mark would read as a second item.
    fn containers_to_open(&self, parent: Option<usize>, first: &Piece) -> Vec<usize> {
        let began_earlier = |container: usize| {
            let leaf = self.layout.first_leaf_in(container);
            leaf < first.leaf || (leaf == first.leaf && !first.is_start)
        };
        let mut path: Vec<usize> = Vec::new();
        for container in self.layout.path(parent) {
            match self.layout.containers[container].kind {
                ContainerKind::Item { .. } if began_earlier(container) => {
                    path.pop();
                }
                _ => path.push(container),
            }
        }
        path
    }

    fn is_item_of_tight_list(&self, container: usize) -> bool {
        let item = &self.layout.containers[container];
        let list = item.parent.map(|list| self.layout.containers[list].kind);
        matches!(item.kind, ContainerKind::Item { .. })
            && matches!(list, Some(ContainerKind::List { tight: true, .. }))
    }

    /// Closes and opens the list again if the next item does not have the number that a browser would count to: an item
    /// without text was left out before it.
    fn renumber(&mut self, next: Option<usize>) {
        let number = |container: usize| match self.layout.containers[container].kind {
            ContainerKind::Item { number } => number,
            _ => None,
        };
        let Some((list, Some(last))) = self.open.last().copied() else { return };
        if next.and_then(number).is_some_and(|number| number != last.saturating_add(1)) {
            self.close_down_to(self.open.len() - 1);
            self.open_container(list, next);
        }
    }

    /// Opens a container; `inner` is the one to open in it next.
    fn open_container(&mut self, container: usize, inner: Option<usize>) {
        let kind = self.layout.containers[container].kind;
        let tag = match kind {
            ContainerKind::Quote => "<blockquote>".to_owned(),
            ContainerKind::Item { .. } => "<li>".to_owned(),
            ContainerKind::List { ordered: false, .. } => "<ul>".to_owned(),
            ContainerKind::List { ordered: true, .. } => {
                match inner.map(|item| self.layout.containers[item].kind) {
                    Some(ContainerKind::Item { number: Some(number) }) if number != 1 => {
                        format!("<ol start=\"{number}\">")
                    }
                    _ => "<ol>".to_owned(),
                }
            }
        };
        self.out.push_str(&tag);
        if let (Some((_, last)), ContainerKind::Item { number }) = (self.open.last_mut(), kind) {
            *last = number;
        }
        self.open.push((container, None));
        self.bare_item = None;
    }

    /// Closes all containers but the `depth` outermost.
    fn close_down_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some((container, _)) = self.open.pop() else { break };
            self.out.push_str(match self.layout.containers[container].kind {
                ContainerKind::Quote => "</blockquote>",
                ContainerKind::Item { .. } => "</li>",
                ContainerKind::List { ordered: true, .. } => "</ol>",
                ContainerKind::List { ordered: false, .. } => "</ul>",
            });
            self.bare_item = None;
        }
    }

    fn code(&mut self, language: &str, code: &str) {
        self.out.push_str(self.for_dialect("<pre>", "<pre style=\"background:#f4f4f4;padding:8px\">"));
        match is_language_name(language) {
            true => self.out.push_str(&format!("<code class=\"language-{language}\">")),
            false => self.out.push_str("<code>"),
        }
        push_text(code, &mut self.out);
        self.out.push_str("</code></pre>");
    }

    fn table(&mut self, table: &TableLayout<'_>, piece: &Piece) {
        self.out.push_str(self.for_dialect("<table>", "<table style=\"border-collapse:collapse\">"));
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

    fn row(&mut self, table: &TableLayout<'_>, row: Option<usize>, tag: &str) {
        self.out.push_str("<tr>");
        for cell in table.table.cells(row) {
            let style =
                self.for_dialect("", " style=\"border:1px solid #ccc;padding:4px 8px;text-align:left\"");
            self.out.push_str(&format!("<{tag}{style}>"));
            self.inline(cell, 0..cell.as_str().len());
            self.out.push_str(&format!("</{tag}>"));
        }
        self.out.push_str("</tr>");
    }

    /// A table without columns: one line per row.
    fn table_as_lines(&mut self, table: &TableLayout<'_>, piece: &Piece) {
        self.out.push_str("<p>");
        for row in std::iter::once(None).chain(piece.range.clone().map(Some)) {
            if row.is_some() {
                self.out.push_str("<br>");
            }
            let line = table.table.row_text(row);
            self.inline(line.open(), 0..line.open().as_str().len());
        }
        self.out.push_str("</p>");
    }

    fn for_dialect(&self, matrix: &'static str, email: &'static str) -> &'static str {
        match self.dialect {
            Dialect::Matrix | Dialect::Telegram => matrix,
            Dialect::Email => email,
        }
    }

    /// Text with its styles and links.
    fn inline(&mut self, text: Text<'_>, range: Range<usize>) {
        let mut open: Vec<Attribute> = Vec::new();
        let dialect = self.dialect;
        for (at, slice, style) in text.slices_at(range) {
            let link = style.link().map(|link| &text.links()[link]);
            let becomes_link = |link| becomes_link(link, dialect);
            let is_written = |attribute: &Attribute| !attribute.is_link() || link.is_some_and(becomes_link);
            let attributes: Vec<Attribute> = style.attributes().filter(is_written).collect();
            let common = open.iter().zip(&attributes).take_while(|(a, b)| a == b).count();
            self.close_attributes(&mut open, common);
            for attribute in &attributes[common..] {
                self.open_attribute(text, *attribute);
                open.push(*attribute);
            }
            for (n, line) in slice.split('\n').enumerate() {
                if n > 0 {
                    self.out.push_str("<br>");
                }
                push_text(line, &mut self.out);
            }
            // A URL that does not become a link is still shown.
            if let Some(link) = link.filter(|link| {
                !becomes_link(link) && link.person().is_none() && at + slice.len() == link.range.end
            }) && let Some(url) = UrlForm::Round.after_label(&text.as_str()[link.range.clone()], &link.url)
            {
                push_text(&url, &mut self.out);
            }
        }
        self.close_attributes(&mut open, 0);
    }

    fn open_attribute(&mut self, text: Text<'_>, attribute: Attribute) {
        let tag = match attribute {
            Attribute::Link(link) => {
                let link = &text.links()[link];
                self.out.push_str("<a href=\"");
                match link.person() {
                    Some(id) => {
                        // <https://spec.matrix.org/v1.18/appendices/#matrixto-navigation>
                        self.out.push_str("https://matrix.to/#/");
                        push_attribute(&id.replace('/', "%2F"), &mut self.out);
                        note(&mut self.mentions, id);
                    }
                    None => push_attribute(&link.url, &mut self.out),
                }
                "\">"
            }
            Attribute::Strong => "<strong>",
            Attribute::Emphasis => "<em>",
            Attribute::Strike => "<del>",
            Attribute::Code => "<code>",
            Attribute::Spoiler => spoiler_tags(self.dialect)[0],
        };
        self.out.push_str(tag);
    }

    fn close_attributes(&mut self, open: &mut Vec<Attribute>, kept: usize) {
        for attribute in open.drain(kept..).rev() {
            self.out.push_str(match attribute {
                Attribute::Link(_) => "</a>",
                Attribute::Strong => "</strong>",
                Attribute::Emphasis => "</em>",
                Attribute::Strike => "</del>",
                Attribute::Code => "</code>",
                Attribute::Spoiler => spoiler_tags(self.dialect)[1],
            });
        }
    }
}

/// What is around a spoiler. No mail program hides anything, so there it has a label.
fn spoiler_tags(dialect: Dialect) -> [&'static str; 2] {
    match dialect {
        // <https://spec.matrix.org/v1.18/client-server-api/#spoiler-messages>
        Dialect::Matrix => ["<span data-mx-spoiler>", "</span>"],
        Dialect::Telegram | Dialect::Email => [SPOILER_LABEL, ""],
    }
}

fn becomes_link(link: &Link, dialect: Dialect) -> bool {
    if let Some(id) = link.person() {
        // A user's id (<https://spec.matrix.org/v1.18/appendices/#user-identifiers>): a room's would call all in it.
        return dialect == Dialect::Matrix && id.starts_with('@') && id.contains(':');
    }
    LINKED_SCHEMES.iter().any(|scheme| strip_scheme(&link.url, scheme).is_some())
}
