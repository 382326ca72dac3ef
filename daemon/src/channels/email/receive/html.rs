//! What a mail says that has HTML alone, as plain text: lines where the markup begins one, `>` before what it quotes.
//!
//! It is no browser. What a style sheet hides is shown, for the reader is warned that a stranger wrote it; what never shows (scripts,
//! styles, the head) is left out.

use mail_parser::decoders::html::add_html_token;

use super::quoted::ORIGINAL;

/// Elements that begin on a line of their own.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "tr",
    "ul",
];
/// Elements after which a line is left free.
const PARAGRAPHS: &[&str] = &["p", "h1", "h2", "h3", "h4", "h5", "h6"];
/// Elements of which nothing is seen.
const UNSEEN: &[&str] = &["head", "script", "style", "template", "title"];
/// Elements below which another mail stands, by a part of their tag: Outlook's (by the line above it, where there is no more) and
/// Thunderbird's, Yahoo's, Proton's and Zimbra's. Gmail's and Apple's are `blockquote`.
const OTHERS: &[&str] = &[
    "divRplyFwdMsg",
    "appendonsend",
    "border:none;border-top:solid #E1E1E1",
    "border:none;border-top:solid #B5C4DF",
    "moz-forward-container",
    "yahoo_quoted",
    "protonmail_quote",
    "zwchr",
];
/// Quotations within quotations that are told apart.
const MAX_DEPTH: usize = 8;
/// The longest name of a character: `&CounterClockwiseContourIntegral;`.
const MAX_ENTITY_BYTES: usize = 33;

/// The text.
pub(super) fn to_text(html: &str) -> String {
    let mut page = Page::default();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        page.text(&rest[..at]);
        rest = match &rest[at..] {
            comment if comment.starts_with("<!--") => behind(comment, "-->"),
            tag if tag[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c)) => {
                let end = tag.find('>').unwrap_or(tag.len());
                let after = tag.get(end + 1..).unwrap_or_default();
                page.tag(&tag[1..end], after)
            }
            // A sign like any other.
            other => {
                page.text("<");
                &other[1..]
            }
        };
    }
    page.text(rest);
    page.done()
}

/// What follows the first of these ends.
fn behind<'a>(text: &'a str, end: &str) -> &'a str {
    text.find(end).map_or("", |at| &text[at + end.len()..])
}

#[derive(Default)]
struct Page {
    lines: Vec<String>,
    line: String,
    /// Whether a blank is due before the next word.
    blank: bool,
    depth: usize,
}

impl Page {
    /// Takes a tag, and says what follows it.
    fn tag<'a>(&mut self, tag: &str, after: &'a str) -> &'a str {
        let (closes, tag) = tag.strip_prefix('/').map_or((false, tag), |tag| (true, tag));
        let name =
            tag.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
        let name = name.as_str();
        if !closes && UNSEEN.contains(&name) {
            return after_element(after, name);
        }
        if BLOCKS.contains(&name) {
            self.end_line(name == "br");
            if closes && PARAGRAPHS.contains(&name) {
                self.free_line();
            }
        } else if name == "td" || name == "th" {
            self.blank = true;
        }
        let may_be_others = !closes && matches!(name, "div" | "blockquote" | "hr");
        if may_be_others && OTHERS.iter().any(|mark| tag.contains(mark)) {
            self.lines.push(ORIGINAL.to_owned());
        }
        if name == "blockquote" {
            self.depth = if closes { self.depth.saturating_sub(1) } else { (self.depth + 1).min(MAX_DEPTH) };
        }
        if name == "li" && !closes {
            self.line.push_str("- ");
            self.blank = false;
        }
        after
    }

    fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if first.is_whitespace() {
                self.blank = true;
                rest = rest.trim_start();
                continue;
            }
            if std::mem::take(&mut self.blank) && !self.line.is_empty() && !self.line.ends_with(' ') {
                self.line.push(' ');
            }
            let ends = |c: char| c.is_whitespace() || c == '&';
            let word = rest[first.len_utf8()..].find(ends).map_or(rest.len(), |at| at + first.len_utf8());
            let end = entity(rest).unwrap_or(word);
            add_html_token(&mut self.line, &rest.as_bytes()[..end], false);
            rest = &rest[end..];
        }
    }

    /// Ends the line, if anything is on it or it is to be an empty one.
    fn end_line(&mut self, even_empty: bool) {
        self.blank = false;
        let line = std::mem::take(&mut self.line);
        // No-break spaces: what an editor puts on a line that shall be empty.
        let line = line.replace('\u{a0}', " ");
        let line = line.trim_end();
        if line.is_empty() && even_empty {
            self.free_line();
        } else if !line.is_empty() {
            self.lines.push(format!("{}{line}", "> ".repeat(self.depth)));
        }
    }

    /// Leaves a line free, unless one is.
    fn free_line(&mut self) {
        if self.lines.last().is_some_and(|last| !last.is_empty()) {
            self.lines.push(String::new());
        }
    }

    fn done(mut self) -> String {
        self.end_line(false);
        self.lines.join("\n").trim_end().to_owned()
    }
}

/// How long the named character is that this begins with.
fn entity(text: &str) -> Option<usize> {
    let name = text.strip_prefix('&')?;
    let end = name.bytes().take(MAX_ENTITY_BYTES).position(|b| !b.is_ascii_alphanumeric() && b != b'#')?;
    (name.as_bytes()[end] == b';').then_some(end + 2)
}

/// What follows an element of which nothing is seen.
fn after_element<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        if rest.as_bytes().get(..name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name.as_bytes())) {
            return behind(rest, ">");
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::to_text;

    #[test]
    fn markup_becomes_lines() {
        for (html, text) in [
            ("<p>Hello <b>Ada</b>,</p><p>is it\n on?</p>", "Hello Ada,\n\nis it on?"),
            ("<div>one</div><div><br></div><div>two</div>", "one\n\ntwo"),
            ("a<br>b<br/>c", "a\nb\nc"),
            ("<ul><li>one<li>two</ul>", "- one\n- two"),
            ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"),
            ("<blockquote>a<blockquote>b</blockquote></blockquote>c", "> a\n> > b\nc"),
            ("x &lt;b&gt; &amp; &#x263a; &uuml; 1 < 2 & 3; &nope; &", "x <b> & ☺ ü 1 < 2 & 3; &nope; &"),
        ] {
            assert_eq!(to_text(html), text, "{html}");
        }
    }

    #[test]
    fn what_is_never_seen_is_left_out() {
        for html in [
            "<html><head><title>t</title><style>p{}</style></head>seen",
            "<script>if (a < b) alert('</p>')</script>seen",
            "<!-- <b>no</b> > -->seen",
            "seen<style>never closed",
            "seen<!-- never closed",
            "seen<b",
            "<!doctype html>seen",
        ] {
            assert_eq!(to_text(html), "seen", "{html}");
        }
    }

    #[test]
    fn any_depth_of_quotations_ends() {
        let deep = format!("{}x", "<blockquote>".repeat(10_000));
        assert_eq!(to_text(&deep), format!("{}x", "> ".repeat(8)));
    }
}
