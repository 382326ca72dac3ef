//! Every rendered part is what its platform's own library takes, and means there what it means to us.
//!
//! Thousands of parts for each channel, of the renderer's five lessons, a mixed document and hundreds of nasty ones, each
//! under several limits, go to judges that we did not write; `tests/peers/flavours` says what each of them can see.
//!
//! Installed by `tests/run --setup-only`: the platforms' libraries.

use gatepost::{
    channels::registry::format,
    render::{self, Flavour},
};
use gatepost_tests::{
    documents::{lessons, nasty},
    peers::{JUDGED, html_check, judge},
};
use serde_json::{Value, json};

#[path = "../../bench/src/document.rs"]
#[allow(dead_code, reason = "the benchmark's own; only its mixed document is wanted here")]
mod bench;

/// How many nasty documents there are, unless `CASES` says another number.
const NASTY: u64 = 200;

/// The least number of parts that a judge has to see, of each channel.
const LEAST_PARTS: usize = 2_000;

/// What is rendered: each document with its name and the limits that it is rendered under, besides the channel's own.
fn corpus() -> impl Iterator<Item = (String, String, Vec<usize>)> {
    let lessons = lessons().into_iter().map(|(name, text)| (name.to_owned(), text, vec![80, 180, 2000]));
    let mixed = [("mixed".to_owned(), bench::mixed(30_000), vec![97, 500, 1999])];
    let cases = std::env::var("CASES").map_or(NASTY, |cases| cases.parse().expect("CASES is a number"));
    let nasty = (0..cases).map(|n| {
        let from = |least: usize, n: u64| least + usize::try_from(n).expect("it is small");
        // A phone's screen, and a page; one document in four is cut as finely as marks allow.
        (format!("nasty({n})"), nasty(n), vec![from(80, n % 4 * n % 171), from(300, n * 7 % 1400)])
    });
    lessons.chain(mixed).chain(nasty)
}

/// A part, and what was rendered to get it.
struct Rendered {
    origin: String,
    line: Value,
}

/// All parts of the corpus for `channel`, as `gatepost render --json` prints them, numbered through.
fn rendered(channel: &str) -> Vec<Rendered> {
    let flavour = format(channel).expect("the channel has a format").flavour;
    let mut all = Vec::new();
    for (name, markdown, limits) in corpus() {
        let document = render::parse(&markdown);
        for limit in limits.into_iter().map(Some).chain([flavour.limit]) {
            let flavour = Flavour { limit, ..flavour };
            for (n, part) in
                render::render(&document, &flavour).expect("a legal limit").into_iter().enumerate()
            {
                let mut line = json!({"index": all.len(), "text": part.text, "units": part.units});
                if let Some(html) = part.html {
                    line["html"] = html.into();
                }
                all.push(Rendered { origin: format!("{name}, limit {limit:?}, part {n}"), line });
            }
        }
    }
    assert!(all.len() >= LEAST_PARTS, "only {} parts for {channel}", all.len());
    all
}

/// Fails unless the judge of `channel` has nothing against any of `parts`.
fn all_are_taken(channel: &str, parts: &[Rendered]) {
    let lines: Vec<Value> = parts.iter().map(|part| part.line.clone()).collect();
    let verdict = judge(channel, &lines).expect("it can judge");
    assert_eq!(verdict.checked, parts.len());
    let against = verdict.against.iter().map(|reason| {
        let index =
            reason.strip_prefix("part ").and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
        let origin = index.and_then(|index| parts.get(index)).map_or("?", |part| &part.origin);
        format!("{origin}: {reason}")
    });
    nothing_is(against.collect(), channel, parts.len());
}

/// Fails unless an HTML5 parser has nothing against the HTML of any of `parts`.
fn all_html_is_whole(channel: &str, parts: &[Rendered]) {
    let html: Vec<&str> = parts.iter().map(|part| part.line["html"].as_str().expect("it has HTML")).collect();
    nothing_is(html_check(&html).expect("it can judge"), channel, parts.len());
}

fn nothing_is(against: Vec<String>, channel: &str, checked: usize) {
    println!("{channel}: {checked} parts, {} reasons against them", against.len());
    let first = against.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(against.is_empty(), "{} reasons against {checked} parts for {channel}:\n{first}", against.len());
}

#[test]
fn telegrams_own_parser_finds_our_text_our_entities_and_our_addresses() {
    let parts = rendered("telegram");
    all_are_taken("telegram", &parts);
    all_html_is_whole("telegram", &parts);
}

#[test]
fn slacks_own_models_take_every_part_and_nobody_is_called() {
    all_are_taken("slack", &rendered("slack"));
}

#[test]
fn discords_own_schema_takes_every_part_and_nobody_is_called() {
    all_are_taken("discord", &rendered("discord"));
}

#[test]
fn googles_own_library_reads_every_part_and_nobody_is_called() {
    all_are_taken("googlechat", &rendered("googlechat"));
}

#[test]
fn the_html_of_every_part_for_matrix_and_mail_is_whole_by_itself() {
    for channel in ["matrix", "email"] {
        all_html_is_whole(channel, &rendered(channel));
    }
}

#[test]
fn every_judge_refuses_a_broken_part_between_good_ones() {
    let broken: [(&str, Value, &str); 13] = [
        ("telegram", json!({"text": "a", "units": 1, "html": "<b>a"}), "TDLib does not read it"),
        ("telegram", json!({"text": "a", "units": 1, "html": "a b"}), "TDLib reads 'a b'"),
        ("telegram", json!({"text": "ab", "units": 3, "html": "a<b>b</b>"}), "3 units"),
        (
            "telegram",
            json!({"text": "a", "units": 1, "html": "<a href=\"javascript:x\">a</a>"}),
            "TDLib finds []",
        ),
        ("slack", json!({"text": "<!channel> a", "units": 12}), "a bare sign"),
        ("slack", json!({"text": 5, "units": 1}), "no section"),
        ("slack", json!({"text": "x".repeat(4001), "units": 4001}), "too long"),
        ("discord", json!({"text": 5, "units": 1}), "no request"),
        ("discord", json!({"text": "x".repeat(2001), "units": 2001}), "too long"),
        ("discord", json!({"text": "`@here` @everyone", "units": 17}), "'@everyone' calls somebody"),
        ("googlechat", json!({"text": ["a"], "units": 1}), "no message"),
        ("googlechat", json!({"text": "é".repeat(16_001), "units": 32_002}), "too long"),
        ("googlechat", json!({"text": "hello <users/all>", "units": 17}), "'<users/all>' is obeyed"),
    ];
    let good = json!({"text": "good", "units": 4, "html": "good"});
    let numbered = |index: usize, part: &Value| {
        let mut part = part.clone();
        part["index"] = index.into();
        part
    };
    for channel in JUDGED {
        let own: Vec<_> = broken.iter().filter(|(judged, ..)| *judged == channel).collect();
        assert!(!own.is_empty(), "{channel}");
        let parts: Vec<Value> = own
            .iter()
            .enumerate()
            .flat_map(|(n, (_, part, _))| [numbered(2 * n, &good), numbered(2 * n + 1, part)])
            .collect();
        let against = judge(channel, &parts).unwrap().against;
        for (n, (_, part, why)) in own.iter().enumerate() {
            let start = format!("part {}:", 2 * n + 1);
            let found = against.iter().any(|reason| reason.starts_with(&start) && reason.contains(why));
            assert!(found, "{channel} takes {part} without {why:?}: {against:?}");
        }
        let of_good =
            |reason: &&String| (0..own.len()).any(|n| reason.starts_with(&format!("part {}:", 2 * n)));
        assert_eq!(against.iter().find(of_good), None, "{channel}");
    }
}
