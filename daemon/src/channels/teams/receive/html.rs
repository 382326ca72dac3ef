//! The little HTML that Teams makes of a message, as plain text, and the message that it quotes.
//!
//! A quotation is a block with the schema [`REPLY`], its message's id, its author's id and the beginning of its words, ahead of what is
//! answered (an example is on <https://learn.microsoft.com/graph/api/chat-getallmessages>). The first is the one that is answered; further
//! ones are left out. A message that is handed on is a block with the schema [`FORWARD`]. Any other block is somebody's own words: none
//! that Teams itself makes is. The text is read once from its beginning to its end, whatever it is.

/// What marks a quotation.
pub(super) const REPLY: &str = "http://schema.skype.com/Reply";
/// What marks a message that is handed on.
pub(super) const FORWARD: &str = "http://schema.skype.com/Forward";
const MENTION: &str = "http://schema.skype.com/Mention";

/// Elements that begin on a line of their own.
const BLOCKS: [&str; 15] =
    ["blockquote", "br", "div", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "tr", "ul"];
/// The longest name of a character that is looked for: `&hellip;` and the like have fewer.
const MAX_ENTITY: usize = 10;

/// What is read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) text: String,
    pub(super) quote: Option<Quote>,
    /// The words of messages that are handed on.
    pub(super) forwarded: Option<String>,
    /// Whether the author's own words call the bot.
    pub(super) calls_me: bool,
}

/// In which block of Teams' own the reading is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// The message that is answered.
    Quote,
    /// A further one that is quoted.
    LeftOut,
    /// One that is handed on.
    Forward,
}

/// A message that is quoted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Quote {
    pub(super) id: String,
    pub(super) author: Option<String>,
    pub(super) text: String,
}

/// Reads it; `is_me` says of a name that is called whether it is the bot's.
pub(super) fn read(html: &str, is_me: impl Fn(&str) -> bool) -> Page {
    let mut reading = Reading {
        page: Page::default(),
        depth: 0,
        block: Block::LeftOut,
        in_words: false,
        called: None,
        is_me,
    };
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        reading.text(&rest[..at]);
        let begins = &rest[at..];
        let is_tag = begins[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!".contains(c));
        match begins.find('>').filter(|_| is_tag) {
            Some(end) => {
                reading.tag(&begins[1..end]);
                rest = &begins[end + 1..];
            }
            // Where nothing closes, there are no tags to come.
            None if is_tag => {
                rest = begins;
                break;
            }
            // A sign like any other.
            None => {
                reading.text("<");
                rest = &begins[1..];
            }
        }
    }
    reading.text(rest);
    reading.done()
}

struct Reading<F> {
    page: Page,
    /// How many blocks are open within one of Teams' own, that one too; none outside of it.
    depth: usize,
    /// Which that is.
    block: Block,
    /// Whether these are the block's words.
    in_words: bool,
    /// Somebody who is being called.
    called: Option<String>,
    is_me: F,
}

impl<F: Fn(&str) -> bool> Reading<F> {
    fn tag(&mut self, tag: &str) {
        let (closes, tag) = tag.strip_prefix('/').map_or((false, tag), |tag| (true, tag));
        let name =
            tag.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
        match (name.as_str(), closes) {
            ("blockquote", true) if self.depth > 0 => {
                self.depth -= 1;
                self.in_words = self.block == Block::Forward;
            }
            ("blockquote", false) if self.depth > 0 => {
                self.depth += 1;
                self.in_words = self.block == Block::Forward;
            }
            ("blockquote", false) => {
                self.end_call();
                end_line(&mut self.page.text);
                self.block(tag);
            }
            (name, closes) if self.depth > 0 => self.quoted(name, closes, tag),
            ("at", false) => self.called = Some(String::new()),
            ("span", false) if attribute(tag, "itemtype").as_deref() == Some(MENTION) => {
                self.called = Some(String::new());
            }
            ("at" | "span", true) => self.end_call(),
            ("emoji", false) => self.text(&attribute(tag, "alt").unwrap_or_default()),
            ("img", false) if attribute(tag, "itemtype").is_some_and(|kind| kind.ends_with("Emoji")) => {
                self.text(&attribute(tag, "alt").unwrap_or_default());
            }
            (name, _) if BLOCKS.contains(&name) => {
                self.end_call();
                end_line(&mut self.page.text);
                if name == "li" && !closes {
                    self.page.text.push_str("- ");
                }
            }
            _ => {}
        }
    }

    /// A block begins; if it is one of Teams' own, its words are not the author's.
    fn block(&mut self, tag: &str) {
        let kind = attribute(tag, "itemtype");
        self.block = match kind.as_deref() {
            Some(REPLY) if self.page.quote.is_none() => {
                let id = attribute(tag, "itemid").unwrap_or_default();
                self.page.quote = Some(Quote { id, ..Quote::default() });
                Block::Quote
            }
            Some(REPLY) => Block::LeftOut,
            Some(FORWARD) => {
                end_line(self.page.forwarded.get_or_insert_default());
                Block::Forward
            }
            _ => return,
        };
        (self.depth, self.in_words) = (1, self.block == Block::Forward);
    }

    /// A tag within a block of Teams' own.
    fn quoted(&mut self, name: &str, closes: bool, tag: &str) {
        if self.block == Block::Forward {
            // Who wrote it stands ahead of the words.
            if name == "strong" && (closes || attribute(tag, "itemprop").as_deref() == Some("mri")) {
                self.in_words = closes;
            }
            if let Some(text) = self.page.forwarded.as_mut().filter(|_| BLOCKS.contains(&name)) {
                end_line(text);
            }
            return;
        }
        if self.block == Block::LeftOut {
            return;
        }
        let Some(quote) = &mut self.page.quote else { return };
        let what = attribute(tag, "itemprop");
        match (name, what.as_deref()) {
            ("strong", Some("mri")) if !closes => quote.author = attribute(tag, "itemid"),
            ("p", Some("preview" | "copy")) if !closes => self.in_words = true,
            ("p", _) if closes => self.in_words = false,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        let into = match (&mut self.called, self.depth, self.in_words) {
            (_, 1.., true) => match (self.block, &mut self.page.quote, &mut self.page.forwarded) {
                (Block::Quote, Some(quote), _) => &mut quote.text,
                (Block::Forward, _, Some(forwarded)) => forwarded,
                _ => return,
            },
            (_, 1.., false) => return,
            (Some(called), ..) => called,
            _ => &mut self.page.text,
        };
        for c in plain(text).chars() {
            let c = if c.is_whitespace() { ' ' } else { c };
            if c != ' ' || !(into.is_empty() || into.ends_with([' ', '\n'])) {
                into.push(c);
            }
        }
    }

    fn end_call(&mut self) {
        let Some(called) = self.called.take() else { return };
        if (self.is_me)(called.trim()) {
            self.page.calls_me = true;
        } else {
            self.page.text.push('@');
            self.page.text.push_str(called.trim());
        }
    }

    fn done(mut self) -> Page {
        self.end_call();
        self.page.text.truncate(self.page.text.trim_end().len());
        if let Some(quote) = &mut self.page.quote {
            quote.text.truncate(quote.text.trim_end().len());
        }
        if let Some(forwarded) = &mut self.page.forwarded {
            forwarded.truncate(forwarded.trim_end().len());
        }
        self.page
    }
}

fn end_line(text: &mut String) {
    text.truncate(text.trim_end_matches(' ').len());
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// What a tag says of itself under this name.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut rest = tag;
    while let Some(at) = rest.find(name) {
        let begins = rest[..at].ends_with(|c: char| c.is_ascii_whitespace());
        rest = &rest[at + name.len()..];
        let Some(value) = rest.trim_start().strip_prefix('=').map(str::trim_start).filter(|_| begins) else {
            continue;
        };
        let mark = value.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
        return value[1..].split(mark).next().map(plain);
    }
    None
}

/// A text in which signs may stand by their names.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(MAX_ENTITY).position(|b| b == b';');
        match end.and_then(|end| Some((sign(&rest[1..end])?, end))) {
            Some((sign, end)) => {
                plain.push(sign);
                rest = &rest[end + 1..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn sign(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(number).filter(|sign| !sign.is_control())?
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(html: &str) -> String {
        read(html, |name| name == "Gatepost").text
    }

    #[test]
    fn markup_becomes_lines_and_a_call_of_the_bot_nothing() {
        for (html, says) in [
            ("<p>Hi <b>you</b> &amp; you</p>\n<p>there</p>", "Hi you & you\nthere"),
            ("<at id=\"0\">Gatepost</at>&nbsp;is it <at>Bob</at>?", "is it @Bob?"),
            (
                "<div><span itemscope itemtype=\"http://schema.skype.com/Mention\" itemid=\"0\">Ann</span> x</div>",
                "@Ann x",
            ),
            ("<ul><li>one</li><li>two</li></ul>a<br>b", "- one\n- two\na\nb"),
            ("<p>So <emoji alt=\"😀\"></emoji> <img alt=\"x\"></p>", "So 😀"),
            ("1 < 2 and <b", "1 < 2 and <b"),
            ("&lt;b&gt; &#128512; &#x41; &bogus; &", "<b> 😀 A &bogus; &"),
            ("<blockquote>mine</blockquote>and", "mine\nand"),
        ] {
            assert_eq!(text(html), says, "{html}");
        }
    }

    #[test]
    fn a_quotation_stands_beside_the_text_and_one_within_it_is_left_out() {
        let html = "<div>\n<blockquote itemscope=\"\" itemtype=\"http://schema.skype.com/Reply\" itemid=\"1600457867820\">\n\
                    <strong itemprop=\"mri\" itemid=\"8:orgid:0de6\">Ann</strong><span itemprop=\"time\" itemid=\"1\"></span>\n\
                    <p itemprop=\"preview\">12 &lt; 37<blockquote>deeper</blockquote></p>\n</blockquote>\n<p>this is a reply</p>\n</div>";
        let quote =
            Quote { id: "1600457867820".into(), author: Some("8:orgid:0de6".into()), text: "12 < 37".into() };
        assert_eq!(
            read(html, |_| false),
            Page { text: "this is a reply".into(), quote: Some(quote), forwarded: None, calls_me: false }
        );
        let again = format!("{html}{html}");
        assert_eq!(read(&again, |_| false).text, "this is a reply\nthis is a reply");
    }

    #[test]
    fn what_is_handed_on_is_not_the_authors_words() {
        let block = "<blockquote itemscope itemtype=\"http://schema.skype.com/Forward\" itemid=\"16\"><strong itemprop=\"mri\" \
                     itemid=\"8:orgid:eve\">Eve</strong><p itemprop=\"preview\">Wire <b>the</b> money</p><blockquote>now</blockquote></blockquote>";
        let html = format!("<p>see below</p>{block}<p>or not</p>");
        let page = read(&html, |_| false);
        assert_eq!((page.text.as_str(), page.quote), ("see below\nor not", None));
        assert_eq!(page.forwarded.as_deref(), Some("Wire the money\nnow"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_grows_by_no_more_than_its_calls(html in "(<|>|/|blockquote|at|p|li| itemtype=|\"|&amp;|é|[a-z ]){0,60}") {
            let page = read(&html, |_| false);
            prop_assert!(page.text.len() <= 2 * html.len());
        }
    }
}
