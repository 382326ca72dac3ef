//! Reads the marks of each platform, by the platforms' rules alone and without code of the writer.

use gatepost_render::Notation;

use super::{CLOSE, HIDE, OPEN, UNHIDE};

const ZERO_WIDTH_SPACE: &str = "\u{200b}";

/// What a reader sees of a part; an error if a mark stays open, or if text would be read as a mark by mistake.
pub(crate) fn visible(notation: Notation, text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut fence: Option<String> = None;
    for line in text.split('\n') {
        let bare = line.trim_start_matches([' ', '>']);
        let ticks = bare.len() - bare.trim_start_matches('`').len();
        match &fence {
            Some(open) if bare == open => fence = None,
            Some(_) => out.push_str(&entities(notation, line)),
            None if ticks >= 3 && !bare[ticks..].contains('`') => fence = Some("`".repeat(ticks)),
            None if opens_in_item(bare).is_some() => {
                let fenced = opens_in_item(bare).unwrap_or_default();
                out.push_str(&line[..line.len() - fenced.len()]);
                fence = Some(fenced.chars().take_while(|c| *c == '`').collect());
            }
            // A thematic break, and not marks that were left open.
            None if notation == Notation::Teams && after_marks(bare) == "***" => {
                out.push_str(&line.replace("***", "---"));
            }
            None => out.push_str(&inline(notation, line)?),
        }
        out.push('\n');
    }
    if fence.is_some() {
        Err(format!("a fence is open in {text:?}"))
    } else {
        Ok(out.replace(ZERO_WIDTH_SPACE, ""))
    }
}

/// Whether `mark` may end something in `text`.
fn may_end(text: &str, mark: &str) -> bool {
    text.match_indices(mark).any(|(at, _)| !text[..at].is_empty() && !text[..at].ends_with(ZERO_WIDTH_SPACE))
}

/// The fence that begins after the mark of an item.
fn opens_in_item(line: &str) -> Option<&str> {
    let rest = after_marks(line);
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    (ticks >= 3 && !rest[ticks..].contains('`')).then_some(rest)
}

/// A line without the marks of the items and quotes that begin in it.
fn after_marks(line: &str) -> &str {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let after = ["- ", "• ", "> "].iter().find_map(|mark| line.strip_prefix(mark));
    match after.or_else(|| digits.strip_prefix(". ").filter(|_| digits.len() < line.len())) {
        Some(after) => after_marks(after.trim_start_matches(' ')),
        None => line,
    }
}

/// The length of the URL that `text` begins with, as platforms find it.
fn address(text: &str) -> usize {
    let mut depth = 0;
    let is_end = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth < 0 || c.is_whitespace() || "<>\\`|[]".contains(c)
    };
    text.find(is_end).unwrap_or(text.len())
}

fn entities(notation: Notation, text: &str) -> String {
    if matches!(notation, Notation::Slack) {
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    } else {
        text.to_owned()
    }
}

fn inline(notation: Notation, line: &str) -> Result<String, String> {
    let backslash = matches!(notation, Notation::Discord | Notation::Teams);
    let references = matches!(notation, Notation::Slack | Notation::Teams);
    let marks: &[&str] = if backslash { &["**", "_", "~~"] } else { &["*", "_", "~"] };
    let zero = ZERO_WIDTH_SPACE.chars().next();
    let mut out = String::new();
    let mut open: Vec<&str> = Vec::new();
    let mut label = false;
    let mut leads_to = String::new();
    let mut at = 0;
    // Where a URL certainly ends, and where what may be read as more of it ends.
    let (mut address_end, mut perhaps_end) = (0, 0);
    // Discord ends a spoiler at the next two bars, even in code (`/^\|\|([\s\S]+?)\|\|/`): where that is, and how many
    // marks were open where it began.
    let mut spoiler: Option<(usize, usize)> = None;
    'characters: while let Some(c) = line[at..].chars().next() {
        let rest = &line[at..];
        match spoiler {
            Some((end, depth)) if at == end && open.len() == depth => {
                spoiler = None;
                out.push(UNHIDE);
                at += 2;
                continue;
            }
            Some((end, _)) if at >= end => return Err(format!("a spoiler ends too soon in {line:?}")),
            None if notation == Notation::Discord && rest.starts_with("||") && open.last() != Some(&"`") => {
                let first = 2 + rest[2..].chars().next().map_or(0, char::len_utf8);
                let end = rest[first..].find("||").ok_or("a spoiler without an end")?;
                spoiler = Some((at + first + end, open.len()));
                out.push(HIDE);
                at += 2;
                continue;
            }
            _ => {}
        }
        let before = line[..at].chars().next_back();
        let can_close = |mark: &str| {
            let next = rest[mark.len()..].chars().next();
            backslash
                || before != zero
                    && before.is_some_and(|c| !c.is_whitespace())
                    && !next.is_some_and(char::is_alphanumeric)
        };
        if open.last() == Some(&"`") {
            if c == '`' && can_close("`") {
                open.pop();
            } else {
                match [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&')].iter().find(|(r, _)| rest.starts_with(r))
                {
                    Some((reference, character)) if notation == Notation::Slack => {
                        out.push(*character);
                        at += reference.len();
                        continue;
                    }
                    _ => out.push(c),
                }
            }
            at += c.len_utf8();
            continue;
        }
        if rest.starts_with("https://") && at >= address_end {
            address_end = at + address(rest);
            perhaps_end =
                at + rest.find(|c: char| c.is_whitespace() || "<>\\`|".contains(c)).unwrap_or(rest.len());
        }
        if backslash && c == '\\' {
            let character = rest[1..].chars().next().ok_or("a backslash escapes nothing")?;
            out.push(character);
            at += 1 + character.len_utf8();
            continue;
        }
        if references {
            for (reference, character) in [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&')] {
                if rest.starts_with(reference) {
                    out.push(character);
                    at += reference.len();
                    continue 'characters;
                }
            }
            if c == '&' || (c == '<' && notation == Notation::Teams) {
                return Err(format!("a bare {c} in {line:?}"));
            }
        }
        if backslash && c == '[' && (at >= perhaps_end || rest.contains("](")) {
            label = true;
            at += 1;
            continue;
        }
        if backslash && label && rest.starts_with("](") {
            label = false;
            let end = rest.find(')').ok_or("an address without an end")?;
            out.extend([OPEN].into_iter().chain(rest[2..end].chars()).chain([CLOSE]));
            at += end + 1;
            continue;
        }
        if matches!(notation, Notation::Slack | Notation::GoogleChat)
            && c == '<'
            && !rest[1..].starts_with(ZERO_WIDTH_SPACE)
        {
            if !rest.starts_with("<http") && !rest.starts_with("<mailto:") {
                return Err(format!("no link: {rest:?}"));
            }
            label = true;
            let end = rest.find('|').ok_or("a link without a label")?;
            leads_to = entities(notation, &rest[1..end]);
            at += end + 1;
            continue;
        }
        if label && c == '>' && matches!(notation, Notation::Slack | Notation::GoogleChat) {
            label = false;
            out.extend([OPEN].into_iter().chain(leads_to.drain(..)).chain([CLOSE]));
            at += 1;
            continue;
        }
        for mark in marks.iter().copied().chain(["`"]) {
            if !rest.starts_with(mark) {
                continue;
            }
            if open.last() == Some(&mark) && can_close(mark) {
                open.pop();
                at += mark.len();
                continue 'characters;
            }
            let next = rest[mark.len()..].chars().next();
            // For CommonMark, a zero-width space is an ordinary character; elsewhere it suppresses the mark.
            let opens = (backslash || next != zero)
                && next.is_some_and(|c| !c.is_whitespace() || backslash && mark == "`")
                && (backslash || !before.is_some_and(char::is_alphanumeric))
                && !(at < address_end && mark != "`")
                && (at >= perhaps_end || may_end(&rest[mark.len()..], mark));
            if opens {
                if open.contains(&mark) {
                    return Err(format!("{mark} twice in {line:?}"));
                }
                open.push(mark);
                at += mark.len();
                continue 'characters;
            }
        }
        out.push(c);
        at += c.len_utf8();
    }
    if open.is_empty() && !label && spoiler.is_none() {
        Ok(out)
    } else {
        Err(format!("{open:?} open at the end of {line:?}"))
    }
}
