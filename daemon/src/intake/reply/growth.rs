//! A turn's text is taken apart in time in proportion to its length, whatever it is made of.
//!
//! Measured in the time that this thread had a processor, so that a loaded machine changes nothing: of sixteen times a text,
//! what is linear takes sixteen times as long and what is quadratic 256 times. The bound lies between, far from both.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::{blocks, quiet};

const SHORT: usize = 12 * 1024;
const TIMES: usize = 16;
const MAX_MULTIPLE: u32 = 64;
/// Too short to be measured.
const NOTHING: Duration = Duration::from_millis(1);

/// What is measured, on a text.
type Work<'w> = &'w dyn Fn(&str) -> usize;
/// Makes a text of about so many bytes.
type Make = fn(usize) -> String;

const TEXTS: [(&str, Make); 9] = [
    ("quiet tokens, then signs", |bytes| "NO_REPLY ".repeat(bytes / 18) + &"!".repeat(bytes / 2)),
    ("signs, then quiet tokens", |bytes| "!".repeat(bytes / 2) + &" HEARTBEAT_OK".repeat(bytes / 26)),
    ("quiet tokens around words", |bytes| {
        "NO_REPLY ".repeat(bytes / 27) + &"word ".repeat(bytes / 15) + &"NO_REPLY ".repeat(bytes / 27)
    }),
    ("blocks, one line", |bytes| "<message to=\"ann\">Hello</message>".repeat(bytes / 33)),
    ("blocks that do not end", |bytes| "<message to=\"ann\">Hello ".repeat(bytes / 24)),
    ("tags in code, one line", |bytes| "`<message to=\"ann\">` ".repeat(bytes / 21)),
    ("backticks", |bytes| "` ".repeat(bytes / 2)),
    ("internal", |bytes| "<internal>a</internal>".repeat(bytes / 22)),
    ("internal that does not end", |bytes| "<internal>".repeat(bytes / 10)),
];

fn on_processor() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

/// The least of some runs: what else this thread was charged for only adds.
fn time(work: Work<'_>, text: &str) -> Duration {
    let once = |_| {
        let before = on_processor();
        std::hint::black_box(work(std::hint::black_box(text)));
        on_processor() - before
    };
    (0..5).map(once).min().unwrap()
}

#[test]
fn a_turn_is_read_in_time_in_proportion_to_its_length() {
    let tokens = ["NO_REPLY".to_owned(), "HEARTBEAT_OK".to_owned()];
    let works: [(&str, Work<'_>); 2] = [
        ("blocks", &|text| blocks::parse(text).bare.len()),
        ("quiet", &|text| quiet::without_tokens(text, &tokens).map_or(0, |rest| rest.len())),
    ];
    for (name, make) in TEXTS {
        for (what, work) in works {
            let [short, long] = [SHORT, SHORT * TIMES].map(|bytes| time(work, &make(bytes)));
            assert!(long <= short * MAX_MULTIPLE + NOTHING, "{what} of {name}: {short:?}, then {long:?}");
        }
    }
}

#[test]
fn quadratic_work_is_over_the_bound() {
    let looked =
        |text: &str| (0..text.len() / 1024).filter(|at| text[*at..].bytes().all(|b| b != b'x')).count();
    let [short, long] = [SHORT, SHORT * TIMES].map(|bytes| time(&looked, &"a".repeat(bytes)));
    assert!(long > short * MAX_MULTIPLE + NOTHING, "{short:?}, then {long:?}");
}
