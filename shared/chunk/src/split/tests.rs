use std::{format, string::String, string::ToString, vec::Vec};

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

use super::*;
use crate::boundary::is_space;

const UNITS: [Unit; 4] = [Unit::Bytes, Unit::CodePoints, Unit::Utf16, Unit::Graphemes];
const MODES: [Mode; 3] = [Mode::Length, Mode::Newline, Mode::Markdown];

fn texts(text: &str, limit: usize, unit: Unit, mode: Mode) -> Vec<&str> {
    split(text, limit, unit, mode).unwrap().map(|chunk| chunk.text).collect()
}

fn sent(text: &str, limit: usize) -> Vec<String> {
    split(text, limit, Unit::Bytes, Mode::Markdown).unwrap().map(|chunk| chunk.to_string()).collect()
}

#[test]
fn length_fills_a_chunk_to_the_last_word() {
    assert_eq!(texts("one two.\nthree four", 14, Unit::Bytes, Mode::Length), ["one two.\nthree", "four"]);
}

#[test]
fn newline_prefers_a_paragraph_then_a_line_then_a_sentence_then_a_word() {
    let newline = |text, limit| texts(text, limit, Unit::Bytes, Mode::Newline);
    assert_eq!(newline("a b c.\n\nd e\nf g h", 12), ["a b c.", "d e\nf g h"]);
    assert_eq!(newline("a b c d\ne f g h", 12), ["a b c d", "e f g h"]);
    assert_eq!(newline("It is done. Send it now.", 20), ["It is done.", "Send it now."]);
    assert_eq!(newline("several words here", 16), ["several words", "here"]);
    assert_eq!(newline("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    assert_eq!(newline("これは本です。それも本です。", 30), ["これは本です。", "それも本です。"]);
}

#[test]
fn a_short_first_line_does_not_make_a_tiny_chunk() {
    let long = "word ".repeat(40);
    let text = format!("[\n{long}");
    assert!(texts(&text, 100, Unit::Bytes, Mode::Newline)[0].len() > 50);
    assert!(texts(&format!("see {}", "x".repeat(300)), 100, Unit::Bytes, Mode::Newline)[0].len() > 50);
}

#[test]
fn clusters_stay_whole() {
    for unit in [Unit::Bytes, Unit::CodePoints, Unit::Utf16] {
        let limit = unit.count("👨‍👩‍👧") + 1;
        assert_eq!(texts("👨‍👩‍👧👨‍👩‍👧x", limit, unit, Mode::Newline), ["👨‍👩‍👧", "👨‍👩‍👧x"], "{unit}");
    }
    assert_eq!(texts("🇩🇪🇫🇷🇮🇹", 20, Unit::Bytes, Mode::Length), ["🇩🇪🇫🇷", "🇮🇹"]);
    assert_eq!(texts("ae\u{301}e\u{301}", 2, Unit::CodePoints, Mode::Length), ["a", "e\u{301}", "e\u{301}"]);
    assert_eq!(texts("ab\r\ncd\r\n\r\nef", 5, Unit::Bytes, Mode::Newline), ["ab", "cd", "ef"]);
    // The number sign takes the space into its cluster.
    assert_eq!(texts("漢\u{600} ", 5, Unit::Bytes, Mode::Length), ["漢", "\u{600} "]);
}

#[test]
fn a_cluster_over_the_limit_is_cut_between_code_points() {
    assert_eq!(texts("👨‍👩‍👧!", 3, Unit::CodePoints, Mode::Length), ["👨\u{200d}👩", "\u{200d}👧!"]);
}

#[test]
fn the_limit_is_counted_in_its_unit() {
    let text = "ä😀".repeat(3);
    let sizes =
        |unit| texts(&text, 6, unit, Mode::Length).iter().map(|t| t.chars().count()).collect::<Vec<_>>();
    assert_eq!(sizes(Unit::Bytes), [2, 2, 2]);
    assert_eq!(sizes(Unit::Utf16), [4, 2]);
    assert_eq!(sizes(Unit::CodePoints), [6]);
}

#[test]
fn no_limit_is_too_small_unless_a_code_point_says_so() {
    let error = split("a", 0, Unit::Bytes, Mode::Length).unwrap_err();
    assert_eq!(error.to_string(), "a limit of 0 cannot hold this text: use at least 1");
    assert_eq!(split("😀", 1, Unit::Utf16, Mode::Length).unwrap_err().needed, 2);
    assert_eq!(texts("abc", 1, Unit::Utf16, Mode::Length), ["a", "b", "c"]);
}

#[test]
fn a_cut_fence_is_closed_and_opened_again_with_its_language() {
    let text = format!("Before.\n\n```rust\n{}```\nAfter.", "let x = 1;\n".repeat(12));
    let chunks = sent(&text, 80);
    assert!(chunks.len() > 1);
    for chunk in &chunks {
        assert!(chunk.len() <= 80, "{chunk:?}");
        assert_eq!(chunk.lines().filter(|line| line.starts_with("```")).count() % 2, 0, "{chunk:?}");
    }
    assert!(chunks[1].starts_with("```rust\nlet x"));
    assert!(chunks.last().unwrap().ends_with("\n```\nAfter."));
    assert!(!chunks.iter().any(|chunk| chunk.contains("```rust\n```")));
}

#[test]
fn a_sixty_line_code_block_loses_no_line() {
    let code: String = (0..60).map(|n| format!("    line {n}();\n")).collect();
    let chunks = sent(&format!("```python\n{code}```"), 200);
    let lines: String = chunks
        .iter()
        .flat_map(|chunk| chunk.lines())
        .filter(|line| !line.starts_with("```"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(lines, code);
}

#[test]
fn a_fence_in_a_quote_is_opened_again_in_the_quote() {
    let text = format!("> ```sh\n{}> ```\n\nafter", "> echo hello\n".repeat(6));
    let chunks = sent(&text, 60);
    assert!(chunks.iter().skip(1).any(|chunk| chunk.starts_with("> ```sh\n> echo")));
    assert!(chunks[0].ends_with("\n> ```"));
    assert!(chunks.last().unwrap().ends_with("after"));
}

#[test]
fn an_unclosed_fence_is_closed_at_the_end() {
    assert_eq!(sent("```\ncode", 40), ["```\ncode\n```"]);
}

#[test]
fn a_limit_too_small_for_fences_takes_them_for_text() {
    for chunk in split("```javascript\ncode();\n```", 12, Unit::Bytes, Mode::Markdown).unwrap() {
        assert_eq!((chunk.reopen, chunk.close), (None, None));
        assert!(chunk.units <= 12);
    }
}

#[test]
fn a_longer_fence_holds_a_shorter_one() {
    let text = "````md\n```\ninner\n```\nmore text here\nand here\n````";
    let chunks = sent(text, 40);
    assert!(
        chunks.iter().all(|chunk| chunk.starts_with("````md\n") && chunk.ends_with("\n````")),
        "{chunks:?}"
    );
}

#[test]
fn white_space_alone_makes_no_chunk() {
    for mode in MODES {
        assert_eq!(split(" \r\n\t\n  ", 4, Unit::Bytes, mode).unwrap().count(), 0);
    }
}

#[test]
fn the_indentation_of_a_line_is_kept_in_markdown() {
    let text = "- one item that is long\n  - nested item\n  - another";
    assert_eq!(texts(text, 26, Unit::Bytes, Mode::Markdown)[1], "  - nested item");
}

fn prose() -> impl Strategy<Value = String> {
    "([a-d ]|[a-d]{1,12}|[.!?] |\n|\n\n|\r\n|漢|。|👨‍👩‍👧|🇩🇪|e\u{301}| \u{301}|\u{a0}|\u{600}|\\PC){0,120}"
}

fn markdown() -> impl Strategy<Value = String> {
    "(\n```[a-z]{0,9}\n|\n~~~~ x\n|\n```\n|\n````|> |>|- |1\\. |[a-z]{1,30}|[ ]{1,12}|\n|\n\n|\t|\r\n|`|👨‍👩‍👧|\u{301}|\\PC){0,60}"
}

/// Holds for every text, limit, unit and mode.
fn check(text: &str, limit: usize, unit: Unit, mode: Mode) -> Result<(), TestCaseError> {
    let Ok(chunks) = split(text, limit, unit, mode) else {
        prop_assert!(limit < unit.widest_possible());
        return Ok(());
    };
    let mut end = 0;
    for chunk in chunks {
        prop_assert!(chunk.range.start >= end && chunk.range.end > chunk.range.start);
        prop_assert_eq!(&text[chunk.range.clone()], chunk.text);
        prop_assert!(
            text[end..chunk.range.start].trim().is_empty(),
            "dropped {:?}",
            &text[end..chunk.range.start]
        );
        // Only a space that carries marks, in a cluster over the limit, can stand alone.
        let whole =
            text.grapheme_indices(true).any(|(at, _)| at == chunk.range.end) || chunk.range.end == text.len();
        prop_assert!(!whole || !chunk.text.trim_matches(is_space).is_empty());
        prop_assert!(chunk.units <= limit, "{} over {limit}: {:?}", chunk.units, chunk.to_string());
        prop_assert_eq!(unit.count(&chunk.to_string()), chunk.units, "{:?}", chunk.to_string());
        end = chunk.range.end;
        for edge in [chunk.range.start, chunk.range.end] {
            let cut = text.grapheme_indices(true).find(|(at, c)| *at < edge && edge < at + c.len());
            if let Some((_, cluster)) = cut {
                // Fences may take three quarters of a chunk, indentation half of the rest.
                let allowed = if mode == Mode::Markdown { limit / 8 } else { limit };
                prop_assert!(unit.count(cluster) > allowed, "cut {cluster:?} at {edge}");
            }
        }
    }
    prop_assert!(text[end..].trim().is_empty(), "dropped {:?}", &text[end..]);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn chunks_hold_the_whole_text_within_the_limit(text in prose(), limit in 1usize..70, unit in 0usize..4) {
        for mode in MODES {
            check(&text, limit, UNITS[unit], mode)?;
        }
    }

    #[test]
    fn fences_never_push_a_chunk_over_the_limit(text in markdown(), limit in 1usize..90, unit in 0usize..4) {
        check(&text, limit, UNITS[unit], Mode::Markdown)?;
    }

    #[test]
    fn every_chunk_closes_the_fences_it_opens(
        lines in proptest::collection::vec("[a-z ]{0,20}", 1..60), limit in 24usize..90,
    ) {
        let text = format!("text\n```sh\n{}\n```\ntext", lines.join("\n"));
        for chunk in split(&text, limit, Unit::Bytes, Mode::Markdown).unwrap() {
            let chunk = chunk.to_string();
            prop_assert_eq!(chunk.lines().filter(|line| line.starts_with("```")).count() % 2, 0, "{:?}", chunk);
        }
    }
}
