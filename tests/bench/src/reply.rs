//! The text of a turn: how the cost of finding its blocks and of taking off its quiet tokens grows with the input.
//!
//! Whoever runs an agent hands over whatever the model wrote, before anybody has looked at it, so texts are measured that are made to
//! be slow. Longer ones than these are refused before they are looked at; growth shows better where there is more.

use gatepost::intake::reply::{blocks, quiet};

use crate::measure::minima;
use crate::{MEGABYTE, verdict};

/// For ten times the input, and for twice.
const TIMES_FOR_TEN: f64 = 12.0;
const TIMES_FOR_TWO: f64 = 2.4;

/// What is measured, on a text.
type Work<'w> = &'w dyn Fn(&str) -> usize;
/// Makes a text of about so many bytes.
type Make = fn(usize) -> String;

const TEXTS: [(&str, Make); 19] = [
    ("words", |bytes| "word ".repeat(bytes / 5)),
    ("quiet tokens", |bytes| "NO_REPLY ".repeat(bytes / 9)),
    ("quiet tokens, then signs", |bytes| "NO_REPLY ".repeat(bytes / 18) + &"!".repeat(bytes / 2)),
    ("signs, then quiet tokens", |bytes| "!".repeat(bytes / 2) + &" HEARTBEAT_OK".repeat(bytes / 26)),
    ("quiet tokens around words", |bytes| {
        "NO_REPLY ".repeat(bytes / 27) + &"word ".repeat(bytes / 15) + &"NO_REPLY ".repeat(bytes / 27)
    }),
    ("blanks", |bytes| " ".repeat(bytes)),
    ("signs", |bytes| "*".repeat(bytes)),
    ("blocks", |bytes| "<message to=\"ann\">Hello</message>\n".repeat(bytes / 34)),
    ("blocks, one line", |bytes| "<message to=\"ann\">Hello</message>".repeat(bytes / 33)),
    ("one long block", |bytes| format!("<message to=\"ann\">{}</message>", "word ".repeat(bytes / 5))),
    ("blocks that do not end", |bytes| "<message to=\"ann\">Hello ".repeat(bytes / 24)),
    ("a name that does not end", |bytes| format!("<message to=\"{}", "a".repeat(bytes))),
    ("tags in code, one line", |bytes| "`<message to=\"ann\">` ".repeat(bytes / 21)),
    ("tags in a fence", |bytes| format!("```\n{}", "<message to=\"ann\">\n".repeat(bytes / 19))),
    ("backticks", |bytes| "` ".repeat(bytes / 2)),
    ("backticks, ever more", |bytes| {
        (1..).scan(0, |sum, n| (*sum < bytes).then(|| (*sum += n + 1, "`".repeat(n) + " ").1)).collect()
    }),
    ("angle brackets", |bytes| "<".repeat(bytes)),
    ("internal", |bytes| "<internal>a</internal>".repeat(bytes / 22)),
    ("internal that does not end", |bytes| "<internal>".repeat(bytes / 10)),
];

/// The time of ten times and of twice a text, as a multiple.
pub(crate) fn growth() {
    println!(
        "\nreply: time of 1 MB as a multiple of the time of 100 KB, budget {TIMES_FOR_TEN}, and of 200 KB, budget {TIMES_FOR_TWO}"
    );
    println!("{:<28}{:<8}{:>10}{:>8}{:>12}", "text", "what", "ten times", "twice", "ms for 1 MB");
    let tokens = ["NO_REPLY".to_owned(), "HEARTBEAT_OK".to_owned()];
    let works: [(&str, Work<'_>); 2] = [
        ("blocks", &|text| blocks::parse(text).bare.len()),
        ("quiet", &|text| quiet::said(text, &tokens).map_or(0, |said| said.len())),
    ];
    for (name, make) in TEXTS {
        let [small, twice, large] = [MEGABYTE / 10, MEGABYTE / 5, MEGABYTE].map(make);
        for (what, work) in works {
            let [one, two, ten] = minima([&|| work(&small), &|| work(&twice), &|| work(&large)]);
            let times = |time: std::time::Duration| time.as_secs_f64() / one.as_secs_f64();
            let (for_ten, for_two, ms) = (times(ten), times(two), ten.as_secs_f64() * 1e3);
            let verdict = verdict(for_ten <= TIMES_FOR_TEN && for_two <= TIMES_FOR_TWO);
            println!("{name:<28}{what:<8}{for_ten:>10.1}{for_two:>8.1}{ms:>12.2}  {verdict}");
        }
    }
}
