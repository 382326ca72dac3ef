//! Five sample messages as every channel gets them, for reading: `golden/SAMPLE.txt`, written again with
//! `GATEPOST_GOLDEN=write`.

use std::path::Path;

use super::*;
use crate::markup::ZERO_WIDTH_SPACE;

const LIMIT: usize = 180;

fn flavours() -> [(&'static str, Flavour); 10] {
    let flavour = |markup, tables| Flavour { markup, limit: Some(LIMIT), unit: Unit::Utf16, tables };
    let marks = |notation| flavour(Markup::Marks(notation), Tables::Code);
    [
        ("discord", marks(Notation::Discord)),
        ("telegram", flavour(Markup::Html(Dialect::Telegram), Tables::Code)),
        ("slack", marks(Notation::Slack)),
        ("whatsapp", Flavour { tables: Tables::Plain, ..marks(Notation::WhatsApp) }),
        ("signal", flavour(Markup::Styles, Tables::Code)),
        ("imessage", flavour(Markup::Plain, Tables::Plain)),
        ("googlechat", Flavour { unit: Unit::Bytes, ..marks(Notation::GoogleChat) }),
        ("teams", marks(Notation::Teams)),
        ("matrix", flavour(Markup::Html(Dialect::Matrix), Tables::Native)),
        ("email", Flavour { limit: None, ..flavour(Markup::Html(Dialect::Email), Tables::Native) }),
    ]
}

/// A sample as all channels get it. Zero-width spaces are made visible.
fn shown(sample: &str, limit: Option<usize>) -> String {
    let mut out = format!("What an agent wrote (limit {}):\n\n{}\n", limit.unwrap_or(LIMIT), short(sample));
    for (channel, flavour) in flavours() {
        let limit = limit.filter(|_| flavour.limit.is_some()).or(flavour.limit);
        let parts = parts(sample, Flavour { limit, ..flavour });
        for (n, part) in parts.iter().enumerate() {
            out += &format!("\n======== {channel} {}/{}, {} units\n", n + 1, parts.len(), part.units);
            let body = part.html.as_ref().filter(|_| channel == "telegram").unwrap_or(&part.text);
            out += &short(body);
            out.push('\n');
            if let Some(html) = part.html.as_ref().filter(|_| channel != "telegram") {
                out += &format!("-------- HTML\n{}\n", short(html));
            }
            for style in &part.styles {
                out += &format!("-------- {} at {}, {} long\n", style.kind.name(), style.start, style.len);
            }
        }
    }
    out.replace(ZERO_WIDTH_SPACE, "\u{2423}")
}

/// Without the lines in the middle of a long text.
fn short(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').collect();
    let Some(skipped) = lines.len().checked_sub(30) else { return text.to_owned() };
    [&lines[..6], &[&*format!("[{} lines]", skipped + 19)], &lines[lines.len() - 5..]].concat().join("\n")
}

fn assert_golden(name: &str, is: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/golden").join(name);
    if std::env::var_os("GATEPOST_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, is).unwrap();
    }
    let was = std::fs::read_to_string(&path).unwrap();
    assert!(is == was, "{name} differs: look at what GATEPOST_GOLDEN=write makes of it");
}

#[test]
fn a_table_reads_the_same_everywhere() {
    let rows: String = (1..=6)
        .map(|n| format!("| pump *{n}* | {}.5 bar | [log](https://a.example/{n}) |\n", n * 3))
        .collect();
    let sample = format!(
        "Readings of **today**:\n\n| Name | Pressure | More |\n|---|---|---|\n{rows}\nThat is all_of_it."
    );
    assert_golden("table.txt", &shown(&sample, None));
}

#[test]
fn a_quote_with_a_list_and_a_fence_reads_the_same_everywhere() {
    let sample = "> She wrote **this**:\n>\n> - first & foremost\n> - then\n>   1. deeper\n>\n> ```sh\n> echo \"a < b\" *x*\n> ```\n>\n\
                  > > and somebody before her\n\nI agree with 2 * 3 = 6, @everyone.\n\n- item\n\n  > quote in it\n\n  ```\n  code in it\n  ```\n";
    assert_golden("quote.txt", &shown(sample, None));
}

#[test]
fn an_unclosed_bracket_reads_the_same_everywhere() {
    let sample = format!("[see **the {}", "several more words ".repeat(14));
    assert_golden("bracket.txt", &shown(sample.trim_end(), None));
}

#[test]
fn two_hundred_lines_of_code_read_the_same_everywhere() {
    let code: String = (1..=200).map(|n| format!("    let line_{n} = *call({n});\n")).collect();
    assert_golden("code.txt", &shown(&format!("Here:\n\n```rust\n{code}```\n\nDone."), Some(2000)));
}

#[test]
fn a_nested_fence_reads_the_same_everywhere() {
    let code: String = (1..=8).map(|n| format!("echo step {n}\n")).collect();
    let sample =
        format!("A fence in a fence:\n\n````markdown\n# Title\n\n```sh\n{code}```\n````\n\nAnd `` a`b ``.");
    assert_golden("fence.txt", &shown(&sample, None));
}
