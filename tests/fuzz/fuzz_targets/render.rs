//! The renderer's promises for any text, flavour and limit: see its property tests, whose judge this is.
#![no_main]

#[path = "../../../daemon/render/src/tests/promises/mod.rs"]
mod promises;

use arbitrary::Arbitrary;
use gatepost_chunk::Unit;
use gatepost_render::{self as render, Dialect, Flavour, Markup, Notation, RenderError, Tables};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    markup: u8,
    unit: u8,
    tables: u8,
    limit: u16,
    markdown: &'a str,
}

const MARKUPS: [Markup; 10] = [
    Markup::Plain,
    Markup::Styles,
    Markup::Html(Dialect::Matrix),
    Markup::Html(Dialect::Email),
    Markup::Html(Dialect::Telegram),
    Markup::Marks(Notation::Discord),
    Markup::Marks(Notation::Slack),
    Markup::Marks(Notation::WhatsApp),
    Markup::Marks(Notation::GoogleChat),
    Markup::Marks(Notation::Teams),
];

fuzz_target!(|input: Input<'_>| {
    let markup = MARKUPS[usize::from(input.markup) % MARKUPS.len()];
    let unit = [Unit::Bytes, Unit::CodePoints, Unit::Utf16, Unit::Graphemes][usize::from(input.unit % 4)];
    let tables =
        [Tables::Native, Tables::Code, Tables::Bullets, Tables::Plain][usize::from(input.tables % 4)];
    let limit = (input.limit > 0).then_some(usize::from(input.limit));
    let flavour = Flavour { markup, limit, unit, tables };
    match render::render(&render::parse(input.markdown), &flavour) {
        Ok(parts) => {
            if let Err(broken) = promises::hold(input.markdown, &flavour, &parts) {
                panic!("{flavour:?}: {broken}");
            }
        }
        Err(RenderError::LimitTooSmall { limit, smallest }) => assert!(limit < smallest),
        Err(RenderError::MarkupTooLarge) => assert_eq!(markup, Markup::Html(Dialect::Matrix)),
    }
});
