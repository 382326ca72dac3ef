//! A reader of each platform's marks, written apart from the writer and from the platforms' rules alone.

use super::super::pen::INERT;
use super::Notation;

/// What a reader sees of a part; an error where a mark stays open or would be read as one by mistake.
pub(super) fn visible(notation: Notation, text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut fence: Option<String> = None;
    for line in text.split('\n') {
        let bare = line.trim_start_matches([' ', '>']);
        let ticks = bare.len() - bare.trim_start_matches('`').len();
        match &fence {
            Some(open) if bare == open => fence = None,
            Some(_) => out.push_str(&entities(notation, line)),
            None if ticks >= 3 && !bare[ticks..].contains('`') => fence = Some("`".repeat(ticks)),
            // A rule, which is no mark that was left open.
            None if notation == Notation::Teams && behind_marks(bare) == "***" => {
                out.push_str(&line.replace("***", "---"));
            }
            None => out.push_str(&inline(notation, line)?),
        }
        out.push('\n');
    }
    if fence.is_some() { Err(format!("a fence is open in {text:?}")) } else { Ok(out.replace(INERT, "")) }
}

/// A line without the marks of the items that it begins.
fn behind_marks(line: &str) -> &str {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match line.strip_prefix("- ").or_else(|| number.strip_prefix(". ").filter(|_| number != line)) {
        Some(rest) => behind_marks(rest.trim_start_matches([' ', '>'])),
        None => line,
    }
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
    let zero = INERT.chars().next();
    let mut out = String::new();
    let mut open: Vec<&str> = Vec::new();
    let mut label = false;
    let mut at = 0;
    let mut address_end = 0;
    'signs: while let Some(c) = line[at..].chars().next() {
        let rest = &line[at..];
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
                    Some((reference, sign)) if notation == Notation::Slack => {
                        out.push(*sign);
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
            address_end =
                at + rest.find(|c: char| c.is_whitespace() || "<>\\`|".contains(c)).unwrap_or(rest.len());
        }
        if backslash && c == '\\' {
            let sign = rest[1..].chars().next().ok_or("a backslash escapes nothing")?;
            out.push(sign);
            at += 1 + sign.len_utf8();
            continue;
        }
        if references {
            for (reference, sign) in [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&')] {
                if rest.starts_with(reference) {
                    out.push(sign);
                    at += reference.len();
                    continue 'signs;
                }
            }
            if c == '&' || (c == '<' && notation == Notation::Teams) {
                return Err(format!("a bare {c} in {line:?}"));
            }
        }
        if backslash && c == '[' {
            label = true;
            at += 1;
            continue;
        }
        if backslash && label && rest.starts_with("](") {
            label = false;
            at += rest.find(')').ok_or("an address without an end")? + 1;
            continue;
        }
        if matches!(notation, Notation::Slack | Notation::GoogleChat)
            && c == '<'
            && !rest[1..].starts_with(INERT)
        {
            if !rest.starts_with("<http") && !rest.starts_with("<mailto:") {
                return Err(format!("no link: {rest:?}"));
            }
            label = true;
            at += rest.find('|').ok_or("a link without a label")? + 1;
            continue;
        }
        if label && c == '>' && matches!(notation, Notation::Slack | Notation::GoogleChat) {
            label = false;
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
                continue 'signs;
            }
            let next = rest[mark.len()..].chars().next();
            // To CommonMark a zero-width space is a character like any other; elsewhere it is what takes a mark's power.
            let opens = (backslash || next != zero)
                && next.is_some_and(|c| !c.is_whitespace())
                && (backslash || !before.is_some_and(char::is_alphanumeric))
                && !(at < address_end && mark != "`");
            if opens {
                if open.contains(&mark) {
                    return Err(format!("{mark} twice in {line:?}"));
                }
                open.push(mark);
                at += mark.len();
                continue 'signs;
            }
        }
        out.push(c);
        at += c.len_utf8();
    }
    if open.is_empty() && !label { Ok(out) } else { Err(format!("{open:?} open at the end of {line:?}")) }
}
