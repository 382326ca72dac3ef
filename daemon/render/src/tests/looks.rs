//! What is seen of each part on its platform.

use gatepost_chunk::Unit;

use crate::{Dialect, Flavour, Look, Markup, Notation, Run, Tables, looks, parse, render};

fn flavour(markup: Markup, limit: Option<usize>) -> Flavour {
    Flavour { markup, limit, unit: Unit::CodePoints, tables: Tables::Code }
}

const ALL: [Markup; 6] = [
    Markup::Plain,
    Markup::Styles,
    Markup::Html(Dialect::Telegram),
    Markup::Html(Dialect::Matrix),
    Markup::Marks(Notation::Slack),
    Markup::Marks(Notation::WhatsApp),
];

fn seen(markdown: &str, markup: Markup) -> Vec<Run> {
    looks(&parse(markdown), &flavour(markup, None)).unwrap().concat()
}

fn run(text: &str, styles: &[Look]) -> Run {
    Run { text: text.to_owned(), styles: styles.to_vec() }
}

#[test]
fn styles_are_seen_and_their_marks_are_not() {
    let text = "a **b _c_** `d` ~~e~~\n\n> q\n\n```\nx = 1\n```";
    for markup in &ALL[1..] {
        assert_eq!(
            seen(text, *markup),
            [
                run("a ", &[]),
                run("b ", &[Look::Bold]),
                run("c", &[Look::Bold, Look::Italic]),
                run(" ", &[]),
                run("d", &[Look::Code]),
                run(" ", &[]),
                run("e", &[Look::Strike]),
                run("\n\n", &[]),
                run("q", &[Look::Quote]),
                run("\n\n", &[]),
                run("x = 1", &[Look::Block]),
            ],
            "{markup:?}"
        );
    }
}

#[test]
fn the_address_of_a_link_is_seen_only_where_the_platform_cannot_hide_it() {
    let text = "see [the build](https://ci.example.org/1) now";
    let hidden = [run("see ", &[]), run("the build", &[Look::Link]), run(" now", &[])];
    assert_eq!(seen(text, Markup::Marks(Notation::Slack)), hidden);
    assert_eq!(seen(text, Markup::Html(Dialect::Telegram)), hidden);
    let open =
        [run("see ", &[]), run("the build", &[Look::Link]), run(" (https://ci.example.org/1) now", &[])];
    assert_eq!(seen(text, Markup::Marks(Notation::WhatsApp)), open);
    assert_eq!(seen(text, Markup::Plain), [run("see the build (https://ci.example.org/1) now", &[])]);
}

#[test]
fn there_are_as_many_as_parts_whatever_is_cut() {
    let text = "- one **two** three\n- `four` five\n\n> six seven\n\n".repeat(40);
    for markup in ALL {
        let (document, flavour) = (parse(&text), flavour(markup, Some(300)));
        let parts = render(&document, &flavour).unwrap();
        let looks = looks(&document, &flavour).unwrap();
        assert_eq!(parts.len(), looks.len(), "{markup:?}");
        let squeezed = |text: &str| text.chars().filter(char::is_ascii_alphabetic).collect::<String>();
        for (part, runs) in parts.iter().zip(&looks) {
            let seen: String = runs.iter().map(|run| run.text.as_str()).collect();
            assert_eq!(squeezed(&part.shown), squeezed(&seen), "{markup:?}");
        }
    }
    assert!(looks(&parse("  "), &flavour(Markup::Plain, None)).unwrap().is_empty());
}
