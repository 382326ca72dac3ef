//! The plain split: its rate by unit and mode, beside text-splitter's, and how its cost grows with the input.

use std::time::Duration;

use gatepost_chunk::{Mode, Unit, split};
use text_splitter::TextSplitter;

use crate::measure::{medians, minima};
use crate::{MEGABYTE, document, verdict};

const UNITS: [Unit; 4] = [Unit::Bytes, Unit::CodePoints, Unit::Utf16, Unit::Graphemes];
/// Discord's limit and Telegram's.
const LIMITS: [usize; 2] = [2000, 4096];
/// Budgets, on ASCII prose.
const GB_PER_S: f64 = 1.0;
const TIMES_TEXT_SPLITTER: f64 = 5.0;
/// For ten times the input.
const TIMES_FOR_TEN: f64 = 12.0;

fn chunks(text: &str, limit: usize, unit: Unit, mode: Mode) -> usize {
    split(text, limit, unit, mode).map_or(0, Iterator::count)
}

fn gb_per_s(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e9
}

/// GB/s by text, limit, mode and unit, and the ratio to text-splitter, which counts code points.
pub(crate) fn rates() {
    println!(
        "plain split of 1 MB; budget on ASCII: {GB_PER_S} GB/s and {TIMES_TEXT_SPLITTER} x text-splitter"
    );
    println!(
        "{:<12}{:>6}  {:<9}{:<11}{:>7}{:>17}",
        "text", "limit", "mode", "unit", "GB/s", "x text-splitter"
    );
    for (name, text) in [("ASCII prose", document::prose(MEGABYTE)), ("mixed", document::mixed(MEGABYTE))] {
        for limit in LIMITS {
            let theirs = TextSplitter::new(limit);
            for mode in [Mode::Length, Mode::Newline, Mode::Markdown] {
                for unit in UNITS {
                    let works: [&dyn Fn() -> usize; 2] =
                        [&|| chunks(&text, limit, unit, mode), &|| theirs.chunks(&text).count()];
                    let [ours, theirs] = medians(works);
                    let (rate, ratio) =
                        (gb_per_s(text.len(), ours), theirs.as_secs_f64() / ours.as_secs_f64());
                    let holds = rate >= GB_PER_S && ratio >= TIMES_TEXT_SPLITTER;
                    let budgeted = text.is_ascii() && mode != Mode::Markdown;
                    let verdict = if budgeted { verdict(holds) } else { "" };
                    println!("{name:<12}{limit:>6}  {mode:<9}{unit:<11}{rate:>7.2}{ratio:>17.1}  {verdict}");
                }
            }
        }
    }
}

/// The time of ten times the input, as a multiple, on texts that are made to be slow.
pub(crate) fn growth() {
    println!(
        "\ntime of 1 MB as a multiple of the time of 100 KB, limit 2000, the worst of all units; budget {TIMES_FOR_TEN}"
    );
    println!("{:<24}{:<11}{:<11}{:>9}{:>14}", "text", "mode", "unit", "multiple", "slowest GB/s");
    let shapes: [(&str, &str); 14] = [
        ("one word", "a"),
        ("one line", "word "),
        ("empty lines", "\n"),
        ("blanks", " "),
        ("short lines", "a\n"),
        ("CRLF", "a line\r\n"),
        ("stops", ". "),
        ("closing brackets", "])\"*"),
        ("fences", "```\n"),
        ("quotes", ">"),
        ("flags", "🇩🇪"),
        ("marks", "\u{301}"),
        ("families", "👨‍👩‍👧"),
        ("Chinese", "消息在发送之前"),
    ];
    for (name, piece) in shapes {
        let repeated = |bytes: usize| piece.repeat(bytes / piece.len());
        let (small, large) = (repeated(MEGABYTE / 10), repeated(MEGABYTE));
        for mode in [Mode::Length, Mode::Newline, Mode::Markdown] {
            let measured = UNITS.map(|unit| {
                let works: [&dyn Fn() -> usize; 2] =
                    [&|| chunks(&small, 2000, unit, mode), &|| chunks(&large, 2000, unit, mode)];
                let [small_time, large_time] = minima(works);
                (large_time.as_secs_f64() / small_time.as_secs_f64(), gb_per_s(large.len(), large_time), unit)
            });
            let slowest = measured.iter().map(|(_, rate, _)| *rate).fold(f64::INFINITY, f64::min);
            let Some((multiple, _, unit)) = measured.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
                continue;
            };
            let verdict = verdict(multiple <= TIMES_FOR_TEN);
            println!("{name:<24}{mode:<11}{unit:<11}{multiple:>9.1}{slowest:>14.2}  {verdict}");
        }
    }
}
