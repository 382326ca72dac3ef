//! Reads HTML parts: what they show, and whether they are well-formed.

use gatepost_render::Dialect;

use super::{CLOSE, HIDE, OPEN, UNHIDE};

const INLINE: [&str; 8] = ["strong", "em", "del", "b", "i", "s", "code", "a"];
const BLOCKS: [&str; 16] = [
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "pre",
    "blockquote",
    "ul",
    "ol",
    "li",
    "table",
    "thead",
    "tbody",
    "tr",
];

/// What a reader sees of `html`; an error if it is not well-formed by itself.
pub(crate) fn visible(html: &str, dialect: Dialect) -> Result<String, String> {
    let mut out = String::new();
    // The open tags, each with the URL of a link, the number of a list's next item, or a mark if a row has cells.
    let mut open: Vec<(&str, String)> = Vec::new();
    let mut rest = html;
    while let Some(c) = rest.chars().next() {
        if c == '&' {
            let (character, len) = reference(rest).ok_or_else(|| format!("a bare & in {html}"))?;
            out.push(character);
            rest = &rest[len..];
        } else if c == '<' {
            let end = rest.find('>').ok_or("a tag without an end")?;
            let before = out.len();
            tag(&rest[1..end], &mut open, &mut out).map_err(|error| format!("{error} in {html}"))?;
            // On Telegram, a block does not end a line.
            if dialect == Dialect::Telegram && out[before..] == *"\n" {
                out.truncate(before);
            }
            rest = &rest[end + 1..];
        } else if c == '>' {
            return Err(format!("a bare > in {html}"));
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    if open.is_empty() { Ok(out) } else { Err(format!("{open:?} left open in {html}")) }
}

fn reference(text: &str) -> Option<(char, usize)> {
    let known = [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"')];
    known
        .into_iter()
        .find(|(name, _)| text.starts_with(name))
        .map(|(name, character)| (character, name.len()))
}

fn tag<'a>(tag: &'a str, open: &mut Vec<(&'a str, String)>, out: &mut String) -> Result<(), String> {
    if let Some(name) = tag.strip_prefix('/') {
        let (opened, address) = open.pop().ok_or_else(|| format!("</{name}> closes nothing"))?;
        if opened != name {
            return Err(format!("</{name}> closes <{opened}>"));
        }
        match name {
            "a" => out.extend([OPEN].into_iter().chain(address.chars()).chain([CLOSE])),
            "span" | "tg-spoiler" => out.push(UNHIDE),
            name if BLOCKS.contains(&name) => out.push('\n'),
            _ => {}
        }
        return Ok(());
    }
    let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    match name {
        "br" => out.push('\n'),
        "span" | "tg-spoiler" => {
            if (name == "span") != (attributes == "data-mx-spoiler") {
                return Err(format!("<{tag}> hides nothing"));
            }
            out.push(HIDE);
            open.push((name, String::new()));
        }
        "hr" => out.push_str("\n---\n"),
        "th" | "td" => {
            match open.last_mut() {
                // Remember that the row has a cell.
                Some(("tr", cells)) if cells.is_empty() => cells.push('1'),
                Some(("tr", _)) => out.push_str(" | "),
                _ => return Err("a cell outside a row".to_owned()),
            }
            open.push((name, String::new()));
        }
        "a" => {
            let address = attributes.strip_prefix("href=\"").and_then(|url| url.strip_suffix('"'));
            let address = address.filter(|url| !url.contains('"')).ok_or("a link without an address")?;
            if open.iter().any(|(name, _)| *name == "a") {
                return Err("a link in a link".to_owned());
            }
            open.push((name, visible(address, Dialect::Matrix)?));
        }
        "ol" => {
            out.push('\n');
            let start = attributes.strip_prefix("start=\"").and_then(|start| start.strip_suffix('"'));
            open.push((name, start.unwrap_or("1").to_owned()));
        }
        "li" => {
            out.push('\n');
            match open.last_mut() {
                Some(("ul", _)) => out.push_str("- "),
                Some(("ol", next)) => {
                    out.push_str(&format!("{next}. "));
                    let number: u64 = next.parse().map_err(|_| "a list without a number")?;
                    *next = number.saturating_add(1).to_string();
                }
                _ => return Err("an item outside a list".to_owned()),
            }
            open.push((name, String::new()));
        }
        name if BLOCKS.contains(&name) => {
            out.push('\n');
            open.push((name, String::new()));
        }
        name if INLINE.contains(&name) => open.push((name, String::new())),
        name => return Err(format!("an unknown tag <{name}>")),
    }
    Ok(())
}
