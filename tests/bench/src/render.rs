//! The renderer: its rate beside pulldown-cmark's own, how its cost grows with the input, a reply to all channels, and
//! the memory of a long message.

use std::process::Command;

use gatepost::channels::registry::{self, flavour, format};
use gatepost::render::{Flavour, parse, render};
use pulldown_cmark::{Options, Parser};

use crate::measure::{medians, once};
use crate::{MEGABYTE, document, verdict};

/// Of pulldown-cmark's own parse rate.
const TIMES_PULLDOWN: f64 = 0.33;
/// For ten times the input.
const TIMES_FOR_TEN: f64 = 12.0;
/// Milliseconds for a reply to all channels.
const REPLY_MS: f64 = 2.0;
const REPLY: usize = 10_000;
/// Bytes of memory for a document: so many times its own, and these.
const TIMES_INPUT: usize = 4;
const MEMORY: usize = 8_000_000;

fn parts(markdown: &str, flavour: &Flavour) -> usize {
    render(&parse(markdown), flavour).map_or(0, |parts| parts.iter().map(|part| part.units).sum())
}

/// pulldown-cmark alone, with what the renderer asks of it.
fn events(markdown: &str) -> usize {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    Parser::new_ext(markdown, options).count()
}

/// The rate of Telegram's HTML, as a share of pulldown-cmark's, and the time of a reply to all channels.
pub(crate) fn rates() {
    let (document, reply) = (document::mixed(MEGABYTE), document::mixed(REPLY));
    let telegram = flavour("telegram");
    let works: [&dyn Fn() -> usize; 2] = [&|| parts(&document, &telegram), &|| events(&document)];
    let [ours, theirs] = medians(works);
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    println!(
        "\nTelegram HTML of 1 MB mixed: {:.1} MB/s, {ratio:.2} x pulldown-cmark (budget {TIMES_PULLDOWN})  {}",
        document.len() as f64 / ours.as_secs_f64() / 1e6,
        verdict(ratio >= TIMES_PULLDOWN)
    );
    // Parsed once, as a broadcast is.
    let all = || {
        let document = parse(&reply);
        registry::KINDS
            .iter()
            .map(|kind| render(&document, &kind.format.flavour).map_or(0, |parts| parts.len()))
            .sum()
    };
    let [time] = medians([&all]);
    let ms = time.as_secs_f64() * 1e3;
    println!(
        "reply of {} bytes to all {} channels: {ms:.2} ms (budget {REPLY_MS})  {}",
        reply.len(),
        registry::KINDS.len(),
        verdict(ms < REPLY_MS)
    );
}

/// Makes a document of about so many bytes.
type Make = fn(usize) -> String;

/// One document like what agents write, the others made to be slow.
const KINDS: [(&str, Make); 19] = [
    ("mixed", document::mixed),
    ("one line", |bytes| "word ".repeat(bytes / 5)),
    ("one word", |bytes| "a".repeat(bytes)),
    ("brackets", |bytes| "[".repeat(bytes / 10)),
    ("bracketed words", |bytes| "[a ".repeat(bytes / 10)),
    ("images", |bytes| "![".repeat(bytes / 10)),
    ("backticks", |bytes| "` ".repeat(bytes / 10)),
    ("backticks, ever more", |bytes| {
        // As many bytes in runs of 1, 2, 3 …: none of them is ever closed.
        (1..).scan(0, |sum, n| (*sum < bytes / 10).then(|| (*sum += n + 1, "`".repeat(n) + " ").1)).collect()
    }),
    ("fences", |bytes| "```\n".repeat(bytes / 10)),
    ("quotes", |bytes| ">".repeat(bytes / 10)),
    ("quotes, one a line", |bytes| "> a\n".repeat(bytes / 4)),
    ("stars", |bytes| "*".repeat(bytes / 10)),
    ("open stars", |bytes| "*a ".repeat(bytes / 10)),
    ("stars and underscores", |bytes| "*a _b ".repeat(bytes / 10)),
    ("closed stars", |bytes| "**a** ".repeat(bytes / 10)),
    ("rows", |bytes| "| a | b |\n|---|---|\n".to_owned() + &"| cell of a row | 12 |\n".repeat(bytes / 100)),
    ("deep nesting", |bytes| "- > ".repeat(bytes / 100) + "a"),
    ("links", |bytes| "[a](https://a.example/b) ".repeat(bytes / 25)),
    // A note of five digits and its use are 24 bytes; numbers of one length, so that ten times the notes are ten times
    // the bytes.
    ("footnotes", |bytes| (10_000..).take(bytes / 24).map(|n| format!("a[^{n}]\n\n[^{n}]: b\n\n")).collect()),
];

/// How often a document is rendered to find the least time; each time in a process of its own.
///
/// The fastest, not the median: whatever else a machine does takes caches and turns away and gives none, so noise only
/// ever adds, and more of it to the longer time. What is left in the fastest of many is the cost.
const PROCESSES: usize = 15;

/// The time of ten times the input, as a multiple, beside pulldown-cmark's own.
///
/// Each time is that of the only document of a process, as `gatepost render` takes it: a process that does the same
/// again and again has a small one's memory at hand, and asks the system for a large one's anew.
pub(crate) fn growth() {
    println!(
        "\nrender: time of 1 MB (or 100,000 signs; 10,000 rows) as a multiple of the time of a tenth; budget {TIMES_FOR_TEN}"
    );
    println!("{:<24}{:<10}{:>9}{:>10}{:>22}", "text", "channel", "multiple", "ms", "pulldown-cmark alone");
    for (name, _) in KINDS {
        let [parsing, parse_ms] = multiple(name, "none");
        for channel in ["telegram", "discord", "matrix"] {
            let [multiple, ms] = multiple(name, channel);
            let verdict = verdict(multiple <= TIMES_FOR_TEN);
            println!(
                "{name:<24}{channel:<10}{multiple:>9.1}{ms:>10.1}{parsing:>14.1}{parse_ms:>8.1}  {verdict}"
            );
        }
    }
}

/// The time of a document of this kind, as a multiple of that of a tenth, and in milliseconds. Both sizes take turns, so
/// that a slow minute is slow for both.
fn multiple(kind: &str, channel: &str) -> [f64; 2] {
    let mut fastest = [f64::NAN; 2];
    for _ in 0..PROCESSES {
        for (fastest, bytes) in fastest.iter_mut().zip([MEGABYTE / 10, MEGABYTE]) {
            let time = own(&["--time-of", kind, channel, &bytes.to_string()]);
            // The least of a number and none is the number.
            *fastest = fastest.min(time.map_or(f64::NAN, |nanoseconds| nanoseconds as f64 / 1e6));
        }
    }
    let [small, large] = fastest;
    [large / small, large]
}

/// Renders one document and prints the nanoseconds of the processor that it took.
pub(crate) fn print_time_of(kind: &str, channel: &str, bytes: usize) {
    let Some((_, make)) = KINDS.into_iter().find(|(name, _)| *name == kind) else { return };
    let flavour = format(channel).map(|format| format.flavour);
    let work = |markdown: &str| match &flavour {
        Some(flavour) => parts(markdown, flavour),
        None => events(markdown),
    };
    // The program itself is read from the disk before.
    std::hint::black_box(work(&document::mixed(REPLY)));
    let document = make(bytes);
    println!("{}", once(&|| work(&document)).as_nanos());
}

/// What this program prints, a number, when it is run with `arguments` as a process of its own.
fn own(arguments: &[&str]) -> Option<usize> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// The most memory that a process of its own had, with and without rendering.
pub(crate) fn memory() {
    println!(
        "\npeak memory of rendering 1 MB mixed; budget {TIMES_INPUT} x input + {} MB",
        MEMORY / MEGABYTE
    );
    let own = |channel| own(&["--peak-of", channel]);
    for channel in ["telegram", "discord", "matrix"] {
        let (Some(without), Some(with)) = (own("none"), own(channel)) else {
            println!("{channel:<24}unknown: this system has no /proc");
            continue;
        };
        let more = with.saturating_sub(without);
        let budget = TIMES_INPUT * MEGABYTE + MEMORY;
        println!("{channel:<24}{:>9.1} MB  {}", more as f64 / 1e6, verdict(more <= budget));
    }
}

/// Renders for `channel`, or nothing if there is no such one, and prints the most bytes of memory that this process had.
pub(crate) fn print_peak_of(channel: &str) {
    let document = document::mixed(MEGABYTE);
    let parts = format(channel).map_or(0, |format| parts(&document, &format.flavour));
    std::hint::black_box((document, parts));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    if let Some(peak) = peak.and_then(|peak| peak.trim().parse::<usize>().ok()) {
        println!("{}", peak * 1024);
    }
}
