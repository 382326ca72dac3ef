//! What stands in the text of a turn: words for others in `<message to="name">…</message>`, words for nobody in
//! `<internal>…</internal>`, and bare text.
//!
//! Inside code nothing is a block: a text about such blocks is not sent to whom it names. What is never meant for anybody is
//! taken out first, also within a block or a line of code, and to the text's end where it is left open. Tags are known in
//! capitals too: words for one person must not go to another because of a letter.

use std::{collections::HashMap, ops::Range};

use crate::blocking;

/// The most blocks of one text.
pub(super) const MOST: usize = 32;

const OPEN: &str = "<message";
const CLOSE: &str = "</message>";
const INTERNAL: (&str, &str) = ("<internal>", "</internal>");

/// Words for somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// For whom, as it is written.
    pub to: String,
    /// The words.
    pub text: String,
}

/// A text, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The blocks, in their order; past [`MOST`], one more stands for all others.
    pub blocks: Vec<Block>,
    /// All that stands in no block.
    pub bare: String,
    /// A block was begun and not ended, or names nobody: what it says is in `bare`, for whomever it was meant.
    pub broken: bool,
}

/// Takes a text apart, in time in proportion to its length: at most [`MOST`] blocks are looked for, and each look goes over its
/// line once.
pub fn parse(text: &str) -> Parsed {
    blocking::expect_off_runtime(text.len());
    let text = without_internal(text);
    let mut parsed = Parsed::default();
    let mut rest = text.as_str();
    while let Some(at) = Tags::within(rest).next(OPEN, Code::InLines) {
        let Some((to, length)) = opening(&rest[at..]) else {
            parsed.broken = true;
            break;
        };
        let inside = &rest[at + length..];
        let Some(end) = Tags::within(inside).next(CLOSE, Code::InLines) else {
            parsed.broken = true;
            break;
        };
        // Two that stand in each other: whose words are the inner ones'?
        if Tags::within(&inside[..end]).next(OPEN, Code::InLines).is_some() {
            parsed.broken = true;
            break;
        }
        parsed.bare.push_str(&rest[..at]);
        parsed.blocks.push(Block { to, text: inside[..end].trim().to_owned() });
        rest = &inside[end + CLOSE.len()..];
        if parsed.blocks.len() > MOST {
            break;
        }
    }
    parsed.bare.push_str(rest);
    parsed.bare = parsed.bare.trim().to_owned();
    parsed
}

/// The name in an opening tag, and the tag's length in bytes.
fn opening(text: &str) -> Option<(String, usize)> {
    let end = text.find('>')?;
    let attribute = text[OPEN.len()..end].strip_prefix([' ', '\t'])?.trim();
    let value = attribute
        .strip_prefix("to")
        .or_else(|| attribute.strip_prefix("TO"))?
        .trim_start()
        .strip_prefix('=')?
        .trim_start();
    let quote = value.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    let name = value.strip_prefix(quote)?.strip_suffix(quote)?.trim();
    (!name.is_empty() && !name.contains(quote)).then(|| (name.to_owned(), end + 1))
}

/// A text without what is meant for nobody.
pub(super) fn without_internal(text: &str) -> String {
    let (open, close) = INTERNAL;
    let mut kept = String::with_capacity(text.len());
    let mut tags = Tags::within(text);
    let mut from = 0;
    while let Some(at) = tags.next(open, Code::Fenced) {
        kept.push_str(&text[from..at]);
        let inside = at + open.len();
        from = places(&text[inside..], close).next().map_or(text.len(), |end| inside + end + close.len());
        tags.go_on_at(from);
    }
    kept + &text[from..]
}

/// What a tag is none in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Code {
    /// A fence.
    Fenced,
    /// A fence, and code within a line.
    InLines,
}

/// A walk over a text's tags, line by line.
struct Tags<'t> {
    text: &'t str,
    at: usize,
    /// Where the line that `at` is in ends: found once, however many tags are in it.
    line_end: usize,
}

impl<'t> Tags<'t> {
    fn within(text: &'t str) -> Self {
        Self { text, at: 0, line_end: 0 }
    }

    /// What stands before is over.
    fn go_on_at(&mut self, at: usize) {
        self.at = at;
    }

    /// The next place of `tag` that is not inside of code.
    fn next(&mut self, tag: &str, code: Code) -> Option<usize> {
        let mut fence: Option<(char, usize)> = None;
        while self.at < self.text.len() {
            if self.at >= self.line_end {
                let newline = self.text[self.at..].find('\n');
                self.line_end = newline.map_or(self.text.len(), |newline| self.at + newline + 1);
            }
            let line = &self.text[self.at..self.line_end];
            let trimmed = line.trim_start_matches([' ', '>']);
            let sign = trimmed.chars().next().filter(|sign| ['`', '~'].contains(sign));
            let run = sign.map_or(0, |sign| trimmed.chars().take_while(|&c| c == sign).count());
            match (fence, sign) {
                (None, Some(sign)) if run >= 3 => fence = Some((sign, run)),
                (Some((open, length)), Some(sign))
                    if sign == open && run >= length && trimmed[run..].trim().is_empty() =>
                {
                    fence = None;
                }
                (None, _) => {
                    let inside = match code {
                        Code::Fenced => places(line, tag).next(),
                        Code::InLines => outside(spans(line), places(line, tag)),
                    };
                    if let Some(inside) = inside {
                        return Some(self.at + inside);
                    }
                }
                _ => {}
            }
            self.at = self.line_end;
        }
        None
    }
}

/// Where a tag stands, in whatever letters.
fn places(text: &str, tag: &str) -> impl Iterator<Item = usize> {
    let at = text.match_indices('<').map(|(at, _)| at);
    at.filter(move |&at| text.get(at..at + tag.len()).is_some_and(|found| found.eq_ignore_ascii_case(tag)))
}

/// The first of these places that is in none of the spans. Both rise.
fn outside(spans: Vec<Range<usize>>, mut places: impl Iterator<Item = usize>) -> Option<usize> {
    let mut spans = spans.into_iter().peekable();
    places.find(|at| {
        while spans.next_if(|span| span.end <= *at).is_some() {}
        spans.peek().is_none_or(|span| !span.contains(at))
    })
}

/// The code within a line: from some backticks to as many, as CommonMark has it, but for code that goes on in the next line.
fn spans(line: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut().filter(|run| run.end == at) {
            Some(run) => run.end += 1,
            None => runs.push(at..at + 1),
        }
    }
    // From the end, so that the next run of each length is known when its first one is met.
    let mut next: HashMap<usize, usize> = HashMap::new();
    let mut closes: Vec<Option<usize>> = vec![None; runs.len()];
    for (index, run) in runs.iter().enumerate().rev() {
        closes[index] = next.insert(run.len(), index);
    }
    let mut spans = Vec::new();
    let mut index = 0;
    while index < runs.len() {
        match closes[index] {
            Some(close) => {
                spans.push(runs[index].start..runs[close].end);
                index = close + 1;
            }
            None => index += 1,
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn blocks(text: &str) -> Vec<(String, String)> {
        parse(text).blocks.into_iter().map(|block| (block.to, block.text)).collect()
    }

    fn pair(to: &str, text: &str) -> (String, String) {
        (to.into(), text.into())
    }

    #[test]
    fn each_block_goes_to_whom_it_names_and_the_rest_is_bare() {
        let text = "Thinking.\n<message to=\"ann\">Hello\n*Ann*</message> then <message to='team'>Hi</message>\nDone.";
        assert_eq!(blocks(text), [pair("ann", "Hello\n*Ann*"), pair("team", "Hi")]);
        assert_eq!(parse(text).bare, "Thinking.\n then \nDone.");
        assert!(!parse(text).broken);
    }

    #[test]
    fn what_is_internal_is_in_nothing_that_is_left_also_when_it_does_not_end() {
        let text = "a <internal>secret</internal> b <message to=\"x\">c<internal>d</internal>e</message> <internal>open";
        let parsed = parse(text);
        assert_eq!(parsed.bare, "a  b");
        assert_eq!(parsed.blocks[0].text, "ce");
        assert!(!format!("{parsed:?}").contains("secret") && !format!("{parsed:?}").contains("open"));
    }

    #[test]
    fn code_is_sent_to_nobody() {
        let text = "Write:\n```xml\n<message to=\"ann\">Hi</message>\n```\n";
        assert_eq!(blocks(text), []);
        assert_eq!(parse(text).bare, text.trim());
        let inside = "<message to=\"ann\">See\n```\n</message>\n```\nend</message>";
        assert_eq!(blocks(inside), [pair("ann", "See\n```\n</message>\n```\nend")]);
    }

    #[test]
    fn words_about_blocks_are_none() {
        let text = "Write `<message to=\"ann\">`, and end it by ``</message> ` ``.";
        assert_eq!((blocks(text), parse(text).bare.as_str(), parse(text).broken), (vec![], text, false));
        let quoted = "<message to=\"ann\">End it by `</message>`.</message>";
        assert_eq!(blocks(quoted), [pair("ann", "End it by `</message>`.")]);
        let odd = "It is 5` long. <message to=\"ann\">Hi</message>";
        assert_eq!(blocks(odd), [pair("ann", "Hi")]);
        // What is meant for nobody is shown to nobody, however it is quoted.
        assert_eq!(parse("a `<internal>b</internal>` c").bare, "a `` c");
    }

    #[test]
    fn capitals_make_no_other_tag() {
        assert_eq!(blocks("<Message TO=\"ann\">Hi</MESSAGE>"), [pair("ann", "Hi")]);
        assert_eq!(parse("a <Internal>b</INTERNAL> c").bare, "a  c");
    }

    #[test]
    fn a_block_that_does_not_end_or_names_nobody_is_said_to_be_broken() {
        for text in [
            "<message to=\"ann\">Hi",
            "<message>Hi</message>",
            "<message to=\"\">Hi</message>",
            "<messages>",
            "<message to=ann>Hi</message>",
            "<message to=\"ann\" account=\"home\">Hi</message>",
            "<message to=\"ann\">Hi</mesage>",
        ] {
            let parsed = parse(text);
            assert!(parsed.broken && parsed.blocks.is_empty(), "{text}");
            assert_eq!(parsed.bare, text);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_apart_without_loss_of_a_block(words in proptest::collection::vec("[a-z ]{0,9}", 0..8)) {
            let text: String = words.iter().map(|word| format!("x<message to=\"n\">{word}</message>")).collect();
            prop_assert_eq!(parse(&text).blocks.len(), words.len());
        }

        #[test]
        fn no_text_is_too_strange(text in "(<message to=\"|<internal>|</internal>|\">|</message>|`|``|```|\n|[a-zäİ ]){0,20}") {
            let parsed = parse(&text);
            prop_assert!(parsed.bare.len() <= text.len());
        }
    }
}
