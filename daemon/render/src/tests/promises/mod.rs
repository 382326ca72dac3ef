//! What holds for every document, flavour and limit: read from the parts alone, with nothing of the renderer's own.
//!
//! The property tests and the fuzz target `render` both ask here: whoever compiles this beside the renderer has it.

mod account;
pub(crate) mod html;
pub(crate) mod marks;
mod source;

use gatepost_render::{Dialect, Flavour, Markup, Notation, Part, StyleKind};

/// Where one part ends and the next begins; where an address that is not to be seen begins and ends, and a spoiler. No text
/// has these: they are no characters.
const EDGE: char = '\u{fdd0}';
const OPEN: char = '\u{fdd1}';
const CLOSE: char = '\u{fdd2}';
const HIDE: char = '\u{fdd3}';
const UNHIDE: char = '\u{fdd4}';

/// What takes a mark's power and is not to be seen.
const INERT: char = '\u{200b}';

/// Asserts all of it; the error says what does not hold.
pub(crate) fn hold(markdown: &str, flavour: &Flavour, parts: &[Part]) -> Result<(), String> {
    if markdown.contains([EDGE, OPEN, CLOSE, HIDE, UNHIDE]) {
        return Ok(());
    }
    let limit = flavour.limit.unwrap_or(usize::MAX);
    for part in parts {
        if part.units > limit || part.units != flavour.unit.count(&part.text) {
            return Err(format!("{} units over {limit}: {:?}", part.units, part.text));
        }
        if part.text.trim().is_empty() || part.shown.trim().is_empty() {
            return Err(format!("a blank part: {part:?}"));
        }
        styles(part)?;
    }
    let blocks = source::blocks(markdown);
    let all = |name: &str, spoiler: [&str; 2], read: &dyn Fn(&Part) -> Result<String, String>| {
        let parts = parts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        account::is_all(&blocks, &parts, limit, spoiler).map_err(|error| format!("{name}: {error}"))
    };
    let hidden = ["\u{fdd3}", "\u{fdd4}"];
    let told = ["(spoiler) ", ""];
    let hides = match flavour.markup {
        Markup::Styles | Markup::Html(Dialect::Telegram | Dialect::Matrix) => true,
        Markup::Marks(notation) => notation == Notation::Discord,
        Markup::Plain | Markup::Html(_) => false,
    };
    match hides {
        true => all("shown", hidden, &|part| Ok(carded(&part.shown)))?,
        false => all("shown", told, &|part| Ok(part.shown.clone()))?,
    }
    match flavour.markup {
        Markup::Plain => all("text", told, &|part| Ok(part.text.clone())),
        Markup::Styles => all("text", hidden, &|part| Ok(ranged(part))),
        Markup::Html(dialect) => {
            let spoiler = if dialect == Dialect::Email { told } else { hidden };
            all("html", spoiler, &|part| html::visible(part.html.as_deref().unwrap_or_default(), dialect))?;
            if dialect != Dialect::Telegram {
                return all("text", told, &|part| Ok(part.text.clone()));
            }
            parts.iter().try_for_each(telegram)
        }
        Markup::Marks(notation) => {
            let spoiler = if notation == Notation::Discord { hidden } else { told };
            all("text", spoiler, &|part| marks::visible(notation, &part.text))
        }
    }
}

/// What an approver reads as hidden, and as open: by the rule that a mark is `(spoiler) ||` without a backslash.
fn carded(shown: &str) -> String {
    let (mut out, mut rest, mut hidden) = (String::new(), shown, false);
    while let Some(c) = rest.chars().next() {
        if hidden {
            if let Some(behind) = rest.strip_prefix("||") {
                (rest, hidden) = (behind, false);
                out.push(UNHIDE);
                continue;
            }
            let backslashes = rest.len() - rest.trim_start_matches('\\').len();
            let behind = &rest[backslashes..];
            if backslashes > 0 && behind.starts_with('|') {
                out.extend(std::iter::repeat_n('\\', backslashes / 2));
                if backslashes % 2 == 1 {
                    out.push('|');
                    rest = &behind[1..];
                } else {
                    rest = behind;
                }
                continue;
            }
        } else if let Some(behind) = rest.strip_prefix("(spoiler) ||") {
            (rest, hidden) = (behind, true);
            out.push(HIDE);
            continue;
        } else if let Some(behind) = rest.strip_prefix("(spoiler)") {
            let bars = behind.trim_start().trim_start_matches('\\');
            let before = &rest[..rest.len() - bars.len()];
            if bars.starts_with("||") && before.ends_with('\\') {
                out.push_str(&before[..before.len() - 1]);
                out.push_str("||");
                rest = &bars[2..];
                continue;
            }
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// What Signal hides of a text, by its ranges.
pub(crate) fn ranged(part: &Part) -> String {
    let spoilers = || part.styles.iter().filter(|style| style.kind == StyleKind::Spoiler);
    let (mut out, mut at) = (String::new(), 0);
    for c in part.text.chars() {
        out.extend(spoilers().filter(|style| style.start == at).map(|_| HIDE));
        out.push(c);
        at += c.len_utf16();
        out.extend(spoilers().filter(|style| style.start + style.len == at).map(|_| UNHIDE));
    }
    out
}

/// Ranges of styles lie within the text, between its signs.
fn styles(part: &Part) -> Result<(), String> {
    let mut places = vec![0];
    for c in part.text.chars() {
        places.push(places[places.len() - 1] + c.len_utf16());
    }
    let is_place = |place: usize| places.binary_search(&place).is_ok();
    match part
        .styles
        .iter()
        .find(|style| style.len == 0 || !is_place(style.start) || !is_place(style.start + style.len))
    {
        Some(style) => Err(format!("{style:?} is no stretch of {:?}", part.text)),
        None => Ok(()),
    }
}

/// What Telegram counts is what its tags leave visible, and it reads all of the tags.
fn telegram(part: &Part) -> Result<(), String> {
    let html = part.html.as_deref().unwrap_or_default();
    let mut visible = String::new();
    let mut is_address = false;
    for c in html::visible(html, Dialect::Telegram)?.chars() {
        match c {
            HIDE | UNHIDE => {}
            OPEN => is_address = true,
            CLOSE => is_address = false,
            c if !is_address => visible.push(c),
            _ => {}
        }
    }
    if visible != part.text {
        return Err(format!("{html:?} does not show {:?}", part.text));
    }
    let entities = html.matches("</").count() - html.matches("</code></pre>").count();
    if entities > 100 || html.len() - part.text.len() > 10_000 {
        return Err(format!("{entities} entities in {html:?}"));
    }
    Ok(())
}
