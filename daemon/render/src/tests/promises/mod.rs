//! What holds for every document, flavour and limit. It is checked on the parts alone, with no code of the renderer.
//!
//! Shared by the property tests and the fuzz target `render`, which compiles this module by its path.

pub(crate) mod html;
pub(crate) mod marks;
mod matcher;
mod source;

use gatepost_render::{Dialect, Flavour, Markup, Notation, Part, StyleKind};

/// Stand for the edge between two parts, and for the beginning and end of an invisible URL and of a spoiler. They are
/// noncharacters, so no text contains them.
const EDGE: char = '\u{fdd0}';
const OPEN: char = '\u{fdd1}';
const CLOSE: char = '\u{fdd2}';
const HIDE: char = '\u{fdd3}';
const UNHIDE: char = '\u{fdd4}';

/// Suppresses a mark and is invisible.
const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// Checks everything; the error says what does not hold.
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
    let called = source::called(&blocks);
    if let Some(id) = parts.iter().flat_map(|part| &part.mentions).find(|id| !called.contains(&id.as_str())) {
        return Err(format!("{id} is called, and the text calls {called:?}"));
    }
    // What stands for a person is the platform's own: the tests of mentions judge it.
    if !called.is_empty() {
        return Ok(());
    }
    let all = |name: &str, spoiler: [&str; 2], read: &dyn Fn(&Part) -> Result<String, String>| {
        let parts = parts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        matcher::match_all(&blocks, &parts, limit, spoiler).map_err(|error| format!("{name}: {error}"))
    };
    let hidden = ["\u{fdd3}", "\u{fdd4}"];
    let labelled = ["(spoiler) ", ""];
    let hides = match flavour.markup {
        Markup::Styles | Markup::Html(Dialect::Telegram | Dialect::Matrix) => true,
        Markup::Marks(notation) => notation == Notation::Discord,
        Markup::Plain | Markup::Html(_) => false,
    };
    match hides {
        true => all("shown", hidden, &|part| Ok(with_spoilers_marked(&part.shown)))?,
        false => all("shown", labelled, &|part| Ok(part.shown.clone()))?,
    }
    match flavour.markup {
        Markup::Plain => all("text", labelled, &|part| Ok(part.text.clone())),
        Markup::Styles => all("text", hidden, &|part| Ok(with_ranges_marked(part))),
        Markup::Html(dialect) => {
            let spoiler = if dialect == Dialect::Email { labelled } else { hidden };
            all("html", spoiler, &|part| html::visible(part.html.as_deref().unwrap_or_default(), dialect))?;
            if dialect != Dialect::Telegram {
                return all("text", labelled, &|part| Ok(part.text.clone()));
            }
            parts.iter().try_for_each(telegram)
        }
        Markup::Marks(notation) => {
            let spoiler = if notation == Notation::Discord { hidden } else { labelled };
            all("text", spoiler, &|part| marks::visible(notation, &part.text))
        }
    }
}

/// What an approver reads, with spoilers between [`HIDE`] and [`UNHIDE`]: a spoiler begins with `(spoiler) ||` without a
/// backslash.
fn with_spoilers_marked(shown: &str) -> String {
    let (mut out, mut rest, mut hidden) = (String::new(), shown, false);
    while let Some(c) = rest.chars().next() {
        if hidden {
            if let Some(after) = rest.strip_prefix("||") {
                (rest, hidden) = (after, false);
                out.push(UNHIDE);
                continue;
            }
            let backslashes = rest.len() - rest.trim_start_matches('\\').len();
            let after = &rest[backslashes..];
            if backslashes > 0 && after.starts_with('|') {
                out.extend(std::iter::repeat_n('\\', backslashes / 2));
                if backslashes % 2 == 1 {
                    out.push('|');
                    rest = &after[1..];
                } else {
                    rest = after;
                }
                continue;
            }
        } else if let Some(after) = rest.strip_prefix("(spoiler) ||") {
            (rest, hidden) = (after, true);
            out.push(HIDE);
            continue;
        } else if let Some(after) = rest.strip_prefix("(spoiler)") {
            let bars = after.trim_start().trim_start_matches('\\');
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

/// The text of a part with what Signal hides between [`HIDE`] and [`UNHIDE`].
pub(crate) fn with_ranges_marked(part: &Part) -> String {
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

/// Styled ranges begin and end between characters of the text.
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

/// Telegram counts the text without tags, and the tags are within its limits.
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
