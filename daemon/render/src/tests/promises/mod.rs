//! What holds for every document, flavour and limit: read from the parts alone, with nothing of the renderer's own.
//!
//! The property tests and the fuzz target `render` both ask here: whoever compiles this beside the renderer has it.

mod account;
mod html;
pub(crate) mod marks;
mod source;

use gatepost_render::{Dialect, Flavour, Markup, Part};

/// Where one part ends and the next begins; where an address that is not to be seen begins and ends. No text has these:
/// they are no characters.
const EDGE: char = '\u{fdd0}';
const OPEN: char = '\u{fdd1}';
const CLOSE: char = '\u{fdd2}';

/// What takes a mark's power and is not to be seen.
const INERT: char = '\u{200b}';

/// Asserts all of it; the error says what does not hold.
pub(crate) fn hold(markdown: &str, flavour: &Flavour, parts: &[Part]) -> Result<(), String> {
    if markdown.contains([EDGE, OPEN, CLOSE]) {
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
    let all = |name: &str, read: &dyn Fn(&Part) -> Result<String, String>| {
        let parts = parts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        account::is_all(&blocks, &parts, limit).map_err(|error| format!("{name}: {error}"))
    };
    all("shown", &|part| Ok(part.shown.clone()))?;
    match flavour.markup {
        Markup::Plain | Markup::Styles => all("text", &|part| Ok(part.text.clone())),
        Markup::Html(dialect) => {
            all("html", &|part| html::visible(part.html.as_deref().unwrap_or_default(), dialect))?;
            if dialect != Dialect::Telegram {
                return all("text", &|part| Ok(part.text.clone()));
            }
            parts.iter().try_for_each(telegram)
        }
        Markup::Marks(notation) => all("text", &|part| marks::visible(notation, &part.text)),
    }
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
