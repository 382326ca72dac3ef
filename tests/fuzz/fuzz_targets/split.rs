//! What holds for the chunks and the pages of any text: nothing is lost, nothing is over the limit, no cluster is cut
//! without need.
#![no_main]

use arbitrary::Arbitrary;
use gatepost_chunk::{Mode, Unit, display_width, pages, split};
use libfuzzer_sys::fuzz_target;
use unicode_segmentation::UnicodeSegmentation as _;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    limit: u8,
    unit: u8,
    mode: u8,
    columns: u8,
    rows: u8,
    text: &'a str,
}

fuzz_target!(|input: Input<'_>| {
    check_chunks(&input);
    check_pages(&input);
});

fn check_chunks(input: &Input<'_>) {
    let Input { text, .. } = *input;
    let limit = usize::from(input.limit);
    let unit = [Unit::Bytes, Unit::CodePoints, Unit::Utf16, Unit::Graphemes][usize::from(input.unit % 4)];
    let mode = [Mode::Length, Mode::Newline, Mode::Markdown][usize::from(input.mode % 3)];
    let chunks = match split(text, limit, unit, mode) {
        Ok(chunks) => chunks,
        Err(error) => return assert!(limit < error.needed && error.needed <= 4),
    };
    let mut end = 0;
    for chunk in chunks {
        assert!(chunk.range.start >= end && !chunk.range.is_empty());
        assert_eq!(&text[chunk.range.clone()], chunk.text);
        assert!(text[end..chunk.range.start].trim().is_empty(), "dropped before {chunk:?}");
        assert!(chunk.units <= limit, "{chunk:?} is over {limit}");
        assert_eq!(unit.count(&chunk.to_string()), chunk.units);
        end = chunk.range.end;
        // Fences may take three quarters of a chunk, indentation half of the rest.
        let room = if mode == Mode::Markdown { limit / 8 } else { limit };
        for edge in [chunk.range.start, chunk.range.end] {
            let cut =
                text.grapheme_indices(true).find(|(at, cluster)| *at < edge && edge < at + cluster.len());
            assert!(cut.is_none_or(|(_, cluster)| unit.count(cluster) > room), "{cut:?} is cut at {edge}");
        }
    }
    assert!(text[end..].trim().is_empty(), "dropped at the end");
}

fn check_pages(input: &Input<'_>) {
    let (columns, rows) = (usize::from(input.columns), usize::from(input.rows));
    let mut next = 0;
    for page in pages(input.text, columns, rows, display_width) {
        assert_eq!(page.range().start, next);
        assert!(page.range().end > next);
        next = page.range().end;
        assert!(page.lines().count() <= rows.max(1));
        for line in page.lines() {
            let width: usize = line.graphemes(true).map(display_width).sum();
            assert!(width <= columns.max(1) || line.graphemes(true).count() == 1, "{line:?} is {width} wide");
        }
    }
    assert_eq!(next, input.text.len());
}
