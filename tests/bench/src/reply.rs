//! The text of a turn: how the cost of finding its blocks and of taking off its quiet tokens grows with the input.
//!
//! Whoever runs an agent hands over whatever the model wrote, before anybody has looked at it, so texts are measured that are made to
//! be slow, up to the longest that are looked at (200 KB). Of a megabyte, new memory would cost more than the work.

use gatepost::{intake::reply::blocks, message::quiet};

use crate::measure::minima;
use crate::{MEGABYTE, verdict};

/// For twice the input; what is quadratic takes four times as long.
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

/// The time of twice a text, as a multiple.
pub(crate) fn growth() {
    println!("\nreply: time of 200 KB as a multiple of the time of 100 KB, budget {TIMES_FOR_TWO}");
    println!("{:<28}{:<8}{:>9}{:>8}", "text", "what", "multiple", "ms");
    let tokens = ["NO_REPLY".to_owned(), "HEARTBEAT_OK".to_owned()];
    let works: [(&str, Work<'_>); 2] = [
        ("blocks", &|text| blocks::parse(text).bare.len()),
        ("quiet", &|text| quiet::without_tokens(text, &tokens).map_or(0, |rest| rest.len())),
    ];
    for (name, make) in TEXTS {
        let [once, twice] = [MEGABYTE / 10, MEGABYTE / 5].map(make);
        for (what, work) in works {
            let [one, two] = minima([&|| work(&once), &|| work(&twice)]);
            let (multiple, ms) = (two.as_secs_f64() / one.as_secs_f64(), two.as_secs_f64() * 1e3);
            println!("{name:<28}{what:<8}{multiple:>9.1}{ms:>8.2}  {}", verdict(multiple <= TIMES_FOR_TWO));
        }
    }
}
