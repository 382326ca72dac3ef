//! Compares parts with what the agent wrote: every character is there once, in order, and everything else in a part is the
//! mark of a quote, an item or a heading, a fence, a rule, a URL or a repeated header, in its place.
//!
//! In readable text, `>` may be the mark of a quote or a character of the agent's. So this works like a nondeterministic
//! automaton: it keeps all places of the parts that may have been reached, and continues from each.

use std::collections::BTreeSet;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::source::{Around, Block, Kind, Text, needs_address};
use super::{CLOSE, EDGE, OPEN, ZERO_WIDTH_SPACE};

type Places = BTreeSet<usize>;

pub(crate) struct Matcher<'a> {
    seen: Vec<char>,
    /// Anything with more bytes may be too long for one part.
    long: usize,
    /// The farthest place reached, for the error message.
    farthest: std::cell::Cell<usize>,
    /// What is written before and after a spoiler.
    spoiler: [&'a str; 2],
    /// Whether the current place is inside a spoiler.
    is_hidden: std::cell::Cell<bool>,
}

/// What each line of a block may begin with.
#[derive(Clone, Copy)]
struct Margin {
    quotes: usize,
    hashes: usize,
}

/// Whether all of `text` is invisible.
fn shows_nothing(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == ZERO_WIDTH_SPACE)
}

/// The fence around code.
#[derive(Clone, Copy)]
struct Fence<'a> {
    ticks: usize,
    language: &'a str,
}

/// Checks that `parts`, as a reader sees them, show `blocks`, with `spoiler` before and after what is hidden.
pub(crate) fn match_all(
    blocks: &[Block],
    parts: &[String],
    limit: usize,
    spoiler: [&str; 2],
) -> Result<(), String> {
    let mut seen: Vec<char> = Vec::new();
    for part in parts {
        seen.extend(part.chars().filter(|c| *c != ZERO_WIDTH_SPACE));
        seen.push(EDGE);
    }
    let (farthest, is_hidden) = Default::default();
    let matcher = Matcher { seen, long: limit / 8, farthest, spoiler, is_hidden };
    let mut at = Places::from([0]);
    for (n, block) in blocks.iter().enumerate() {
        let after = matcher.block(at, block, n == 0);
        if after.is_empty() {
            let context: String = matcher.seen[matcher.farthest.get()..]
                .iter()
                .take(60)
                .collect::<String>()
                .replace(EDGE, "⏎EDGE⏎");
            return Err(format!("parts {parts:#?}\ndo not show {block:?}\nbut {context:?}"));
        }
        at = after;
    }
    let end = matcher.seen.len();
    let is_end =
        |at: usize| matcher.gap(at, Margin { quotes: 0, hashes: 0 }, false).iter().any(|(at, ..)| *at == end);
    if (blocks.is_empty() && end == 0) || at.iter().any(|at| is_end(*at)) {
        return Ok(());
    }
    Err(format!("parts {parts:#?} show more than they should"))
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() && c != '\n'
}

impl Matcher<'_> {
    fn at(&self, at: usize) -> Option<char> {
        self.farthest.set(self.farthest.get().max(at));
        self.seen.get(at).copied()
    }

    fn blanks(&self, mut at: usize) -> usize {
        while self.at(at).is_some_and(is_blank) {
            at += 1;
        }
        at
    }

    fn run(&self, at: usize, c: char) -> usize {
        (at..).take_while(|at| self.at(*at) == Some(c)).count()
    }

    /// The places after white space, the edge of a part and the marks of lines, each with whether a line and a part ended.
    fn gap(&self, at: usize, margin: Margin, is_line_start: bool) -> Vec<(usize, bool, bool)> {
        let mut found = Vec::new();
        let mut states = vec![(at, 0, false, false)];
        let mut known = BTreeSet::new();
        while let Some(state) = states.pop() {
            if !known.insert(state) {
                continue;
            }
            let (at, marks, line, edge) = state;
            found.push((at, line, edge));
            match self.at(at) {
                Some('\n') => states.push((at + 1, 0, true, edge)),
                Some(EDGE) if !edge => states.push((at + 1, 0, line, true)),
                Some('>') if marks < margin.quotes && (line || edge || is_line_start) => {
                    states.push((at + 1, marks + 1, line, edge));
                }
                Some('#') if line || edge || is_line_start => {
                    let hashes = self.run(at, '#');
                    if hashes == margin.hashes {
                        states.push((at + hashes, usize::MAX, line, edge));
                    }
                }
                Some(c) if is_blank(c) => states.push((at + 1, marks, line, edge)),
                _ => {}
            }
        }
        found
    }

    fn character(&self, places: &Places, c: char) -> Places {
        places.iter().filter(|at| self.at(**at) == Some(c)).map(|at| at + 1).collect()
    }

    fn literal(&self, places: &Places, text: &str) -> Places {
        let mut places = places.clone();
        for c in text.chars().filter(|c| *c != ZERO_WIDTH_SPACE) {
            places = if is_blank(c) { self.skip(&places) } else { self.character(&places, c) };
        }
        places
    }

    fn skip(&self, places: &Places) -> Places {
        places.iter().map(|at| self.blanks(*at)).collect()
    }

    // ---- blocks ----

    fn block(&self, places: Places, block: &Block, is_first: bool) -> Places {
        let margin = Margin {
            quotes: block.path.iter().filter(|around| matches!(around, Around::Quote)).count(),
            hashes: if let Kind::Text { heading, .. } = block.kind { heading } else { 0 },
        };
        let begin = |places: &Places| self.begin(places, &block.path, margin, is_first);
        match &block.kind {
            Kind::Text { text, .. } => self.text(&begin(&places), text, margin, true),
            Kind::Rule => self.literal(&begin(&places), "---"),
            Kind::Code { language, text } => {
                let ticks = ticks_around(text);
                let mut found = self.code(&begin(&places), text, margin, None);
                for language in [language.as_str(), ""] {
                    found.extend(self.code(&begin(&places), text, margin, Some(Fence { ticks, language })));
                }
                found
            }
            Kind::Table { header, rows } => {
                let mut found = self.bullets(&places, block, margin, is_first, header, rows);
                let longest = header.iter().chain(rows.iter().flatten()).map(|cell| {
                    cell.links
                        .iter()
                        .map(|(_, url)| ticks_around(url))
                        .fold(ticks_around(&cell.all), usize::max)
                });
                let fences =
                    (3..=longest.max().unwrap_or(3)).map(|ticks| Some(Fence { ticks, language: "" }));
                for fence in [None].into_iter().chain(fences) {
                    found.extend(self.table(&places, block, margin, is_first, header, rows, fence));
                }
                found
            }
        }
    }

    /// The places where the text of a block begins.
    fn begin(&self, places: &Places, path: &[Around], margin: Margin, is_first: bool) -> Places {
        let mut found = Places::new();
        for at in places {
            for (at, line, edge) in self.gap(*at, Margin { hashes: 0, ..margin }, is_first) {
                if line || edge || is_first {
                    found.insert(at);
                }
            }
        }
        for around in path {
            let mut after = found.clone();
            match around {
                Around::Quote => after.extend(self.character(&found, '>')),
                Around::Item { number: None, begins: true } => {
                    after.extend(self.character(&found, '-'));
                    after.extend(self.character(&found, '•'));
                }
                Around::Item { number: Some(number), begins: true } => {
                    after.extend(self.literal(&found, &format!("{number}.")));
                }
                Around::Item { begins: false, .. } | Around::List => {}
            }
            // Code, and in HTML all text of an item, may begin on a line of its own.
            for at in after {
                let gap = self.gap(at, Margin { hashes: 0, ..margin }, false);
                found.extend(gap.into_iter().filter(|(.., edge)| !edge).map(|(at, ..)| at));
            }
        }
        let headed: Vec<_> =
            found.iter().filter(|at| margin.hashes > 0 && self.run(**at, '#') == margin.hashes).collect();
        let headed: Vec<_> = headed.into_iter().map(|at| self.blanks(at + margin.hashes)).collect();
        found.extend(headed);
        self.skip(&found)
    }

    // ---- text ----

    fn text(&self, places: &Places, text: &Text, margin: Margin, cuts: bool) -> Places {
        let mut places = places.clone();
        let mut at = 0;
        let mut spoilers = text.spoilers.iter().flat_map(|range| [range.start, range.end]).peekable();
        let mut links = text.links.iter().peekable();
        loop {
            // A spoiler contains all of a link or nothing of it.
            let next_link = links.peek().map_or(text.all.len(), |(label, _)| label.start);
            if let Some(edge) = spoilers.next_if(|edge| *edge <= next_link) {
                places = self.characters(&places, &text.all, at..edge, margin, cuts);
                places = self.spoiler(&places, margin, cuts && edge > 0);
                at = edge;
                continue;
            }
            places = self.characters(&places, &text.all, at..next_link, margin, cuts);
            let Some((label, url)) = links.next() else { break };
            places = self.link(&places, &text.all[label.clone()], url, margin, cuts, label.start > 0);
            at = label.end;
        }
        places
    }

    /// The places after the next edge of a spoiler. A part may end before a spoiler.
    fn spoiler(&self, places: &Places, margin: Margin, cuts: bool) -> Places {
        if self.is_hidden.replace(false) {
            return self.literal(places, self.spoiler[1]);
        }
        let places = if cuts { self.cut(places, margin, None) } else { places.clone() };
        let after = self.literal(&places, self.spoiler[0]);
        self.is_hidden.set(true);
        after
    }

    /// The places after `all[range]`. If `cuts`, a part may end between any two grapheme clusters of it.
    fn characters(
        &self,
        places: &Places,
        all: &str,
        range: Range<usize>,
        margin: Margin,
        cuts: bool,
    ) -> Places {
        let mut places = places.clone();
        let mut space: Option<bool> = None;
        let mut at = range.start;
        for cluster in all[range.clone()].graphemes(true) {
            let start = at;
            at += cluster.len();
            if cluster.chars().all(char::is_whitespace) {
                space = Some(space.unwrap_or(false) || cluster.contains('\n'));
                continue;
            }
            places = match space.take() {
                Some(line) => self.space(
                    &places,
                    line,
                    margin,
                    cuts,
                    start == range.start || shows_nothing(&all[..start]),
                ),
                None if cuts && start > 0 => self.cut(&places, margin, None),
                None => places,
            };
            for (n, c) in cluster.chars().filter(|c| *c != ZERO_WIDTH_SPACE).enumerate() {
                if n > 0 && cuts && cluster.len() > self.long {
                    places = self.cut(&places, margin, None);
                }
                places = self.character(&places, c);
            }
        }
        // White space before a link, or at the end of the text.
        match space {
            Some(line) => {
                let mut after = self.space(&places, line, margin, cuts, false);
                if range.end == all.len() || shows_nothing(&all[..range.end]) {
                    after.extend(places);
                }
                after
            }
            None => places,
        }
    }

    fn space(&self, places: &Places, line: bool, margin: Margin, cuts: bool, is_leading: bool) -> Places {
        let mut found = if is_leading { places.clone() } else { Places::new() };
        let is_hidden = self.is_hidden.get();
        for start in places {
            for (at, has_line, has_edge) in self.gap(*start, margin, false) {
                let is_cut = has_edge && cuts && !is_hidden;
                if at > *start && (is_cut || !has_edge && has_line == line) {
                    found.insert(at);
                }
            }
        }
        if is_hidden {
            // It is closed and opened again if a part ends here, and may be at any other white space.
            self.is_hidden.set(false);
            let closed = self.literal(places, self.spoiler[1]);
            let opened = self.space(&closed, line, margin, cuts, false);
            found.extend(self.literal(&opened, self.spoiler[0]));
            self.is_hidden.set(true);
        }
        found
    }

    /// The same places, and those after the edge of a part, with the fence closed before and opened again after it.
    fn cut(&self, places: &Places, margin: Margin, fence: Option<Fence<'_>>) -> Places {
        let mut found = places.clone();
        found.extend(self.edge(places, margin, fence));
        found
    }

    fn edge(&self, places: &Places, margin: Margin, fence: Option<Fence<'_>>) -> Places {
        let mut found = Places::new();
        let [before, after] = if self.is_hidden.get() { self.spoiler } else { ["", ""] };
        for at in self.close(&self.literal(places, after), margin, fence) {
            for (after, _, edge) in self.gap(at, margin, false) {
                if edge {
                    found.insert(after);
                }
            }
        }
        self.literal(&self.open(&found, margin, fence), before)
    }

    fn link(
        &self,
        places: &Places,
        label: &str,
        url: &str,
        margin: Margin,
        cuts: bool,
        joined: bool,
    ) -> Places {
        let places = if cuts && joined { self.cut(places, margin, None) } else { places.clone() };
        let shown = self.characters(&places, label, 0..label.len(), margin, false);
        let mut found = self.address(&shown, url);
        if needs_address(label, url) {
            found.extend(self.literal(&shown, &format!(" ({url})")));
            found.extend(self.literal(&shown, &format!(" <{url}>")));
        } else {
            found.extend(shown);
        }
        // A link too long for a part is written as its label and its bare URL.
        if cuts && label.len() + url.len() > self.long {
            let label_end = self.characters(&places, label, 0..label.len(), margin, true);
            if needs_address(label, url) {
                let begin = self.space(&label_end, false, margin, true, false);
                found.extend(self.characters(&begin, url, 0..url.len(), margin, true));
            } else {
                found.extend(label_end);
            }
        }
        found
    }

    /// The places after a URL that the reader of a platform's marks found.
    fn address(&self, places: &Places, url: &str) -> Places {
        let mut found = Places::new();
        for at in places.iter().filter(|at| self.at(**at) == Some(OPEN)) {
            let Some(len) = self.seen[*at..].iter().position(|c| *c == CLOSE) else { continue };
            let seen: String = self.seen[at + 1..at + len].iter().collect();
            if decoded(&seen) == decoded(url) {
                found.insert(at + len + 1);
            }
        }
        found
    }

    // ---- code ----

    fn open(&self, places: &Places, margin: Margin, fence: Option<Fence<'_>>) -> Places {
        let Some(fence) = fence else { return places.clone() };
        let places = places.iter().filter(|at| self.run(**at, '`') == fence.ticks).map(|at| at + fence.ticks);
        let places = self.literal(&places.collect(), fence.language);
        self.line(&places, margin, "")
    }

    fn close(&self, places: &Places, margin: Margin, fence: Option<Fence<'_>>) -> Places {
        let Some(fence) = fence else { return places.clone() };
        let places = self.line(places, margin, "");
        places.iter().filter(|at| self.run(**at, '`') == fence.ticks).map(|at| at + fence.ticks).collect()
    }

    /// The places after a line break, the margin and `indent`; without `indent`, all places in the margin.
    fn line(&self, places: &Places, margin: Margin, indent: &str) -> Places {
        let mut found = Places::new();
        for at in self.character(&self.skip(places), '\n') {
            let mut begin = at;
            for marks in 0..=margin.quotes {
                let end = self.blanks(begin);
                if indent.is_empty() {
                    found.insert(end);
                } else {
                    let indent: Vec<char> = indent.chars().collect();
                    if self.seen[begin..end].ends_with(&indent) {
                        found.insert(end);
                    }
                }
                if marks == margin.quotes || self.at(end) != Some('>') {
                    break;
                }
                begin = end + 1;
            }
        }
        found
    }

    /// The places on a line further down in the same part.
    fn next_line(&self, places: &Places, margin: Margin) -> Places {
        let gaps = places.iter().flat_map(|at| self.gap(*at, margin, false));
        gaps.filter(|(_, line, edge)| *line && !edge).map(|(at, ..)| at).collect()
    }

    fn code(&self, places: &Places, text: &str, margin: Margin, fence: Option<Fence<'_>>) -> Places {
        let mut places = self.open(places, margin, fence);
        let mut breaks: Option<usize> = None;
        for line in text.split('\n') {
            let trimmed = line.trim();
            if trimmed.is_empty() {
                breaks = breaks.map(|breaks| breaks + 1);
                continue;
            }
            // Invisible characters do not end the indentation.
            let bare = trimmed.trim_start_matches(|c: char| c.is_whitespace() || c == ZERO_WIDTH_SPACE);
            let trimmed = if bare.is_empty() { trimmed } else { bare };
            let begin = line.trim_end().len() - trimmed.len();
            let indent: String = line[..begin].chars().filter(|c| *c != ZERO_WIDTH_SPACE).collect();
            if let Some(breaks) = breaks {
                let mut after = places.clone();
                for n in 0..=breaks {
                    after = self.line(&after, margin, if n == breaks { &indent } else { "" });
                }
                after.extend(self.edge(&places, margin, fence));
                places = after;
            }
            breaks = Some(0);
            places = self.code_line(&places, trimmed, margin, fence);
        }
        self.close(&places, margin, fence)
    }

    fn code_line(&self, places: &Places, line: &str, margin: Margin, fence: Option<Fence<'_>>) -> Places {
        let mut places = places.clone();
        let mut blanks = String::new();
        for (n, cluster) in line.graphemes(true).enumerate() {
            if cluster.chars().all(char::is_whitespace) {
                blanks.push_str(cluster);
                continue;
            }
            if !blanks.is_empty() {
                // Blanks may be dropped where a part ends.
                let mut after = self.edge(&places, margin, fence);
                for c in blanks.drain(..) {
                    places = self.character(&places, c);
                    after.extend(self.edge(&places, margin, fence));
                }
                places.extend(after);
            } else if n > 0 {
                places = self.cut(&places, margin, fence);
            }
            for (n, c) in cluster.chars().filter(|c| *c != ZERO_WIDTH_SPACE).enumerate() {
                if n > 0 && cluster.len() > self.long {
                    places = self.cut(&places, margin, fence);
                }
                places = self.character(&places, c);
            }
        }
        places
    }

    // ---- tables ----

    /// A row of cells with bars between them.
    fn row(&self, places: &Places, cells: &[Text], margin: Margin, cuts: bool) -> Places {
        let mut places = places.clone();
        for (n, cell) in cells.iter().enumerate() {
            if n > 0 {
                places = self.around_bar(
                    &self.character(&self.around_bar(&places, margin, cuts), '|'),
                    margin,
                    cuts,
                );
            }
            places = self.text(&places, cell, margin, cuts);
        }
        places
    }

    fn around_bar(&self, places: &Places, margin: Margin, cuts: bool) -> Places {
        let mut found = self.skip(places);
        found.extend(places);
        if cuts {
            found.extend(self.edge(places, margin, None));
        }
        found
    }

    #[expect(clippy::too_many_arguments, reason = "one for each column of what a table can be")]
    fn table(
        &self,
        places: &Places,
        block: &Block,
        margin: Margin,
        is_first: bool,
        header: &[Text],
        rows: &[Vec<Text>],
        fence: Option<Fence<'_>>,
    ) -> Places {
        let first = self.begin(places, &block.path, margin, is_first);
        let next = |places: &Places| {
            let path: Vec<_> = block.path.iter().map(continued).collect();
            self.begin(places, &path, margin, false)
        };
        // The header, and the places where a row may follow.
        let head = |places: &Places| {
            let mut found = self.row(places, header, margin, false);
            let is_rule = |at: &usize| matches!(self.at(*at), Some('-' | '|'));
            let ruled = self.next_line(&found, margin);
            found.extend(ruled.iter().map(|at| at + (*at..).take_while(is_rule).count()));
            found
        };
        // The places after a row in a table, and after one that is text.
        let mut inside = head(&self.open(&first, margin, fence));
        let mut outside = if header.iter().all(Text::is_blank) && header.len() < 2 {
            places.clone()
        } else {
            self.row(&first, header, margin, true)
        };
        for (n, cells) in rows.iter().enumerate() {
            let mut ended = self.close(&inside, margin, fence);
            ended.extend(&outside);
            // The whole table may be written as text, from its header on.
            let mut begun = next(&ended);
            if n == 0 && header.iter().all(Text::is_blank) {
                begun.extend(&first);
            }
            let mut before = head(&self.edge(&inside, margin, fence));
            before.extend(head(&self.open(&begun, margin, fence)));
            before.extend(&inside);
            let lines = self.next_line(&before, margin);
            let is_blank = cells.iter().all(Text::is_blank) && cells.len() < 2;
            let mut text = self.row(&begun, cells, margin, true);
            if is_blank {
                text.extend(&ended);
            }
            inside = self.row(&lines, cells, margin, false);
            outside = text;
        }
        let mut found = self.close(&inside, margin, fence);
        found.extend(outside);
        found
    }

    fn bullets(
        &self,
        places: &Places,
        block: &Block,
        margin: Margin,
        is_first: bool,
        header: &[Text],
        rows: &[Vec<Text>],
    ) -> Places {
        let mut places = places.clone();
        let mut path = block.path.clone();
        let mut is_first = is_first;
        let mut any = false;
        for cells in rows {
            let mut cells = header.iter().zip(cells).filter(|(_, cell)| !cell.is_blank()).peekable();
            if cells.peek().is_none() {
                continue;
            }
            any = true;
            path.push(Around::Item { number: None, begins: true });
            places = self.begin(&places, &path, margin, is_first);
            is_first = false;
            path.pop();
            path = path.iter().map(continued).collect();
            for (n, (header, cell)) in cells.enumerate() {
                if n > 0 {
                    places = self.space(&places, true, margin, true, false);
                }
                if !header.is_blank() {
                    places = self.text(&places, header, margin, true);
                    places = self.cut(&self.skip(&places), margin, None);
                    places = self.space(&self.character(&places, ':'), false, margin, true, false);
                }
                places = self.text(&places, cell, margin, true);
            }
        }
        // If all rows are blank, nothing is written.
        if any || !rows.is_empty() { places } else { Places::new() }
    }
}

/// The same container after the first block in it.
fn continued(around: &Around) -> Around {
    match around {
        Around::Item { number, .. } => Around::Item { number: *number, begins: false },
        other => other.clone(),
    }
}

/// The length of a fence with more backticks than the text has in a row.
fn ticks_around(text: &str) -> usize {
    (text.split(|c| c != '`').map(str::len).max().unwrap_or(0) + 1).max(3)
}

/// A URL with its percent-encoded ASCII characters decoded.
fn decoded(url: &str) -> String {
    let mut out = String::new();
    let mut rest = url;
    while let Some(c) = rest.chars().next() {
        let character = rest.strip_prefix('%').and_then(|code| code.get(..2));
        if let Some(character) =
            character.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(u8::is_ascii)
        {
            out.push(char::from(character));
            rest = &rest[3..];
        } else {
            if c != ZERO_WIDTH_SPACE {
                out.push(c);
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}
