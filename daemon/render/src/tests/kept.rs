//! Checks every promise on random documents: see `promises`.

use proptest::prelude::*;

use super::optimum::flavours;
use super::*;

const TABLES: [Tables; 4] = [Tables::Native, Tables::Code, Tables::Bullets, Tables::Plain];
const UNITS: [Unit; 4] = [Unit::Bytes, Unit::CodePoints, Unit::Utf16, Unit::Graphemes];

fn keeps_its_promises(markdown: &str, flavour: Flavour) -> Result<(), String> {
    promises::hold(markdown, &flavour, &parts(markdown, flavour))
}

/// Documents of whole blocks, as agents write them.
pub(super) fn blocks() -> impl Strategy<Value = String> {
    let words = "([a-z]{1,8}|\\*\\*[a-z]{1,6} [a-z]{1,6}\\*\\*|_[a-z]{1,6}_|~~[a-z]{2,5}~~|`[a-z*_]{1,8}`|\\|\\|[a-z]{1,6} `?[a-z]{1,6}`?\\|\\||\\|\\||漢字。|👨‍👩‍👧|e\u{301}|a & b|1 < 2|\
                 \\[[a-z]{1,9} ?[a-z]{1,9}\\]\\(https://[a-z]{1,30}\\.example/[a-z_]{0,9}\\?a=b&c=[(]d[)]\\)|https://[a-z]{1,9}\\.example/[a-z_]{1,40}|\
                 @everyone|snake_case_name|2 \\* 3|[a-z]{1,9}\\.|\\[\\^1\\]|[a-z]{30,90})";
    let line = proptest::collection::vec(words, 1..12).prop_map(|words| words.join(" ")).boxed();
    let lines = proptest::collection::vec(line.clone(), 1..4).boxed();
    let code =
        proptest::collection::vec("( {0,6}[a-z]{1,20} = [a-z*_`<]{0,20};?|[a-z]{60,120}|)", 1..9).boxed();
    let row = |n| {
        proptest::collection::vec(
            "([a-z]{0,12}|漢字|`a`|\\*\\*b\\*\\*|[a-z ]{1,40}|\\[x\\]\\(https://[a-z]{1,9}\\.example\\))",
            n,
        )
    };
    let table = (1usize..4)
        .prop_flat_map(move |n| (row(n), proptest::collection::vec(row(n), 0..7)))
        .prop_map(|(head, rows)| {
            let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
            let rule = format!("|{}\n", "---|".repeat(head.len()));
            line(&head) + &rule + &rows.iter().map(|row| line(row)).collect::<String>()
        });
    let prefixed = |lines: Vec<String>, first: &'static str, next: &'static str| {
        let lines = lines.iter().flat_map(|lines| lines.split('\n')).enumerate();
        lines.map(|(n, line)| format!("{}{line}\n", if n == 0 { first } else { next })).collect::<String>()
    };
    let fenced = code.prop_map(|lines| format!("```rust\n{}\n```\n", lines.join("\n"))).boxed();
    let block = prop_oneof![
        4 => lines.clone().prop_map(|lines| lines.join("\n") + "\n"),
        1 => line.clone().prop_map(|line| format!("## {line}\n")),
        3 => lines.clone().prop_map(move |lines| lines.iter().map(|line| format!("- {line}\n")).collect::<String>()),
        1 => lines.clone().prop_map(move |lines| prefixed(lines, "> ", "> ")),
        2 => fenced.clone(),
        1 => fenced.clone().prop_map(move |code| prefixed(vec![code], "> ", "> ")),
        1 => fenced.prop_map(move |code| prefixed(vec![code], "1. ", "   ")),
        2 => table.clone(),
        1 => table.prop_map(move |table| prefixed(vec![table], "> - ", ">   ")),
        1 => lines.prop_map(move |lines| prefixed(lines, "- 7. > ", "     > ")),
        1 => Just("---\n".to_owned()),
        1 => Just("[^1]: a note\n".to_owned()),
    ];
    proptest::collection::vec(block, 1..6).prop_map(|blocks| blocks.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(std::env::var("CASES").map_or(96, |n| n.parse().unwrap())))]

    #[test]
    fn every_part_keeps_what_was_promised(
        markdown in prop_oneof![2 => blocks(), 1 => markdown(), 1 => super::flavours::rough()],
        limit in 80usize..400, flavour in 0usize..11, tables in 0usize..5, unit in 0usize..4,
    ) {
        let (_, flavour) = flavours(limit)[flavour];
        let tables = TABLES.get(tables).copied().unwrap_or(flavour.tables);
        let flavour = Flavour { tables, unit: UNITS[unit], ..flavour };
        keeps_its_promises(&markdown, flavour).map_err(TestCaseError::fail)?;
        keeps_its_promises(&markdown, Flavour { limit: None, ..flavour }).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn no_part_but_the_last_is_nearly_empty(markdown in blocks(), limit in 200usize..800, flavour in 0usize..11) {
        let (name, flavour) = flavours(limit)[flavour];
        let parts = parts(&markdown, flavour);
        for part in parts.iter().rev().skip(1) {
            prop_assert!(part.units * 10 >= limit, "{}: {} of {}: {:?}", name, part.units, limit, part.text);
        }
    }
}
