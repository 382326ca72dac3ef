//! Spoilers: what hides a text on each platform, and what hides nothing.

use proptest::prelude::*;

use super::optimum::flavours;
use super::*;

/// The only part of a text on the channel of this name.
fn one(channel: &str, markdown: &str) -> Part {
    let (_, flavour) = flavours(4000).into_iter().find(|(name, _)| *name == channel).unwrap();
    let mut parts = parts(markdown, flavour);
    assert_eq!(parts.len(), 1, "{parts:?}");
    parts.remove(0)
}

fn hidden_by_signal(markdown: &str) -> Vec<String> {
    let part = one("signal", markdown);
    let utf16: Vec<u16> = part.text.encode_utf16().collect();
    let spoilers = part.styles.iter().filter(|style| style.kind == StyleKind::Spoiler);
    spoilers.map(|style| String::from_utf16(&utf16[style.start..style.start + style.len]).unwrap()).collect()
}

#[test]
fn a_spoiler_is_hidden_by_every_platform_that_can() {
    let markdown = "It was ||the **butler**||.";
    assert_eq!(one("discord", markdown).text, "It was ||the **butler**||.");
    assert_eq!(one("telegram", markdown).html.unwrap(), "It was <tg-spoiler>the <b>butler</b></tg-spoiler>.");
    assert_eq!(
        one("matrix", markdown).html.unwrap(),
        "<p>It was <span data-mx-spoiler>the <strong>butler</strong></span>.</p>"
    );
    assert_eq!(hidden_by_signal(markdown), ["the butler"]);
}

#[test]
fn elsewhere_a_spoiler_is_said_to_be_one() {
    let markdown = "It was ||the **butler**||.";
    assert_eq!(one("slack", markdown).text, "It was (spoiler) the *butler*.");
    assert_eq!(one("teams", markdown).text, "It was (spoiler) the **butler**.");
    for channel in ["whatsapp", "googlechat"] {
        assert_eq!(one(channel, markdown).text, "It was (spoiler) the *butler*.");
    }
    for channel in ["imessage", "plain", "email", "matrix"] {
        assert_eq!(one(channel, markdown).text, "It was (spoiler) the butler.");
    }
    assert_eq!(one("email", markdown).html.unwrap(), "<p>It was (spoiler) the <strong>butler</strong>.</p>");
}

#[test]
fn an_approver_sees_the_text_and_that_it_is_a_spoiler() {
    for (name, flavour) in flavours(4000) {
        let part = &parts("It was ||the butler||.", flavour)[0];
        let shown = match HIDING.contains(&name) {
            true => "It was (spoiler) ||the butler||.",
            false => "It was (spoiler) the butler.",
        };
        assert_eq!(part.shown, shown, "{name}");
    }
}

/// The channels that hide a spoiler.
const HIDING: [&str; 4] = ["discord", "telegram", "matrix", "signal"];

#[test]
fn what_an_agent_writes_like_a_spoiler_is_not_shown_to_an_approver_as_one() {
    let open = r"\(spoiler) \|\|the butler\|\|";
    for channel in HIDING {
        let hidden = one(channel, "||the butler||").shown;
        assert_eq!(hidden, "(spoiler) ||the butler||", "{channel}");
        assert_eq!(one(channel, open).shown, r"(spoiler) \||the butler||", "{channel}");
        // The same with markup around it, in code, over a line end, and with a backslash of its own.
        for like in [
            "**(spoiler)** `||x||`",
            "`(spoiler) ||x||`",
            "```\n(spoiler) ||x||\n```",
            "(spoiler)\n\\|\\|x||",
        ] {
            assert!(!one(channel, like).shown.contains(") ||"), "{channel}: {like}");
            assert!(one(channel, like).shown.contains(r"\||x||"), "{channel}: {like}");
        }
        assert_eq!(one(channel, r"(spoiler) \\\|\|x").shown, r"(spoiler) \\||x", "{channel}");
        // Bars inside a spoiler do not end it.
        assert_eq!(one(channel, r"||a\|\|b|| c").shown, r"(spoiler) ||a\|\|b|| c", "{channel}");
        assert_eq!(one(channel, r"||a|| b\|\| c").shown, r"(spoiler) ||a|| b|| c", "{channel}");
    }
    assert_eq!(one("slack", open).shown, "(spoiler) ||the butler||");
}

#[test]
fn a_preview_leaves_the_text_of_a_spoiler_out() {
    let markdown = "# Who: ||the butler||\n\nIt was [||him||](https://butler.example)!";
    assert_eq!(one("slack", markdown).preview.unwrap(), "Who: (spoiler)\n\nIt was (spoiler)!");
    assert_eq!(one("matrix", markdown).preview.unwrap(), "Who: [Spoiler]\n\nIt was [Spoiler]!");
    assert_eq!(parse(markdown).headline(60), "Who: (spoiler)");
    assert_eq!(one("slack", "a || b").preview, None);
}

#[test]
fn what_was_shown_to_an_approver_is_quoted_without_spoilers() {
    let shown = one("signal", "a ||b \\|\\| c|| d ||e|| f").shown;
    assert_eq!(shown, r"a (spoiler) ||b \|\| c|| d (spoiler) ||e|| f");
    assert_eq!(super::super::without_spoilers(&shown), "a (spoiler) f");
    assert_eq!(super::super::without_spoilers("a || b (spoiler) ||cut of"), "a || b (spoiler)");
    assert_eq!(super::super::without_spoilers("a || b"), "a || b");
    let open = one("signal", r"(spoiler) \|\|b\|\|").shown;
    assert_eq!(super::super::without_spoilers(&open), "(spoiler) ||b||");
}

#[test]
fn bars_that_hide_nothing_are_text() {
    let literal = [
        "a || b",
        "a || b || c",
        "||open",
        "close||",
        "||open\n\nclose||",
        "|| padded ||",
        "||||",
        "|||three|||",
        "a | b | c",
        "\\|\\|escaped\\|\\|",
        "\\||half||",
        "https://a.example/||x||",
        "<https://a.example/||x||>",
        "[||](https://a.example)",
    ];
    for markdown in literal {
        let part = one("signal", markdown);
        assert_eq!(part.styles, [], "{markdown}");
        assert_eq!(part.preview, None, "{markdown}");
        assert_eq!(part.text.matches('|').count(), markdown.matches('|').count(), "{markdown}");
        assert!(!one("imessage", markdown).text.contains("(spoiler)"), "{markdown}");
        let discord = one("discord", markdown).text;
        let seen = promises::marks::visible(Notation::Discord, &discord).unwrap();
        assert!(!seen.contains('\u{fdd3}'), "{markdown} is hidden as {discord}");
    }
}

#[test]
fn bars_in_code_are_code() {
    assert_eq!(one("discord", "`a || b ||c||`").text, "`a || b ||c||`");
    assert_eq!(one("signal", "```\n||x||\n```").text, "||x||");
    assert_eq!(hidden_by_signal("```\n||x||\n```\n\n`||y||`"), [""; 0]);
}

#[test]
fn the_bars_of_a_table_are_its_own() {
    let markdown = "| a | b |\n|---|---|\n|| x ||\n| \\|\\|y\\|\\| | z |";
    for (name, flavour) in flavours(4000) {
        let part = &parts(markdown, flavour)[0];
        assert_eq!(part.preview, None, "{name}");
        assert!(part.shown.contains("||y||") && !part.text.contains("(spoiler)"), "{name}: {part:?}");
    }
}

#[test]
fn what_a_spoiler_touches_of_a_link_it_hides_all_of() {
    let markdown = "see [the ||house||](https://a.example) and ||[his](https://b.example) name||";
    assert_eq!(
        one("discord", markdown).text,
        "see ||[the house](https://a.example)|| and ||[his](https://b.example) name||"
    );
    assert_eq!(hidden_by_signal(markdown), ["the house (https://a.example)", "his (https://b.example) name"]);
}

#[test]
fn styles_and_spoilers_overlap() {
    let markdown = "**a ||b** c|| _d_";
    assert_eq!(one("discord", markdown).text, "**a** ||**b** c|| _d_");
    assert_eq!(
        one("telegram", markdown).html.unwrap(),
        "<b>a </b><tg-spoiler><b>b</b> c</tg-spoiler> <i>d</i>"
    );
    assert_eq!(hidden_by_signal(markdown), ["b c"]);
}

#[test]
fn code_in_a_spoiler_stays_hidden() {
    // Telegram takes no code in a spoiler.
    assert_eq!(one("telegram", "||the `code`||").html.unwrap(), "<tg-spoiler>the code</tg-spoiler>");
    // Discord would end the spoiler at the bars in the code.
    let discord = one("discord", "||the `a || b` code and \\|\\||| end").text;
    let seen = promises::marks::visible(Notation::Discord, &discord).unwrap();
    assert_eq!(seen.trim_end(), "\u{fdd3}the a || b code and ||\u{fdd4} end");
}

#[test]
fn a_spoiler_of_several_lines_is_hidden_on_each() {
    let markdown = "> ||one\n> two||\n\nend";
    assert_eq!(one("discord", markdown).text, "> ||one||\n> ||two||\n\nend");
    assert_eq!(one("slack", markdown).text, "> (spoiler) one\n> two\n\nend");
    assert_eq!(hidden_by_signal(markdown), ["one\n> two"]);
}

#[test]
fn a_spoiler_is_closed_and_opened_again_where_a_part_ends() {
    let markdown = format!("Ends: ||{}||", "all of them live on ".repeat(20).trim_end());
    for (name, flavour) in flavours(100).into_iter().filter(|(_, flavour)| flavour.limit.is_some()) {
        let parts = parts(&markdown, flavour);
        assert!(parts.len() > 3, "{name}");
        for part in &parts {
            let is_marked = part.shown.contains("(spoiler) ||") && part.shown.ends_with("||");
            assert_eq!(is_marked, HIDING.contains(&name), "{name}: {part:?}");
            assert!(part.shown.contains("(spoiler) "), "{name}: {part:?}");
            assert!(!part.preview.as_ref().unwrap().contains("live"), "{name}: {part:?}");
        }
    }
}

#[test]
fn a_limit_without_room_for_what_says_a_spoiler_is_an_error() {
    let flavour = Flavour { limit: Some(79), ..PLAIN };
    let error = Err(RenderError::LimitTooSmall { limit: 79, smallest: 80 });
    assert_eq!(super::super::render(&parse("||x||"), &flavour), error);
    assert!(super::super::render(&parse("x"), &flavour).is_ok());
}

/// Text with spoilers. Exactly the letters in spoilers are capitals, so each letter shows whether it must be hidden.
fn capitals() -> impl Strategy<Value = String> {
    let open = "(\\|\\|[A-Z]{1,9}\\|\\||\\|\\|\\*\\*[A-Z]{1,5}\\*\\* [A-Z]{1,9}\\|\\||\\*\\*[a-z]{1,5} \\|\\|[A-Z]{1,5}\\|\\|\\*\\*|\
                \n\n\\|\\|[A-Z]{1,4}\n[A-Z]{1,4}\\|\\|\n\n|\\|\\|[A-Z][A-Z ]{0,90}[A-Z]\\|\\||\\|\\|`[A-Z]{1,4} \\|\\| [A-Z]{1,4}` [A-Z]{1,4}\\|\\||\
                [a-z]{1,9}|[a-z]{1,9}\\|[a-z]|`[a-z]{1,4}\\|\\|[a-z]{1,4}`|a \\|\\| b|\\[\\|\\|[A-Z]{1,9}\\|\\|\\]\\(https://1\\.2\\.3\\.4\\)|\
                \\|\\|[A-Z]{1,3}\\\\\\|[A-Z]?\\|\\||_[a-z]{1,5}_|\\*\\*[a-z]{1,9}\\*\\*|- |# |> |\n\n|\n)";
    proptest::collection::vec(open, 1..40).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(std::env::var("CASES").map_or(128, |n| n.parse().unwrap())))]

    #[test]
    fn no_platform_shows_a_letter_that_another_hides(markdown in capitals(), limit in 80usize..400) {
        // A URL is hidden with its label.
        let letters = |text: &str| text.replace("https", "").chars().filter(char::is_ascii_alphabetic).collect::<String>();
        // What is hidden and what is visible in a text that was read with spoilers marked.
        let parted = |text: &str| {
            let (mut hidden, mut shown, mut is_hidden) = (String::new(), String::new(), false);
            for c in text.chars() {
                match c {
                    '\u{fdd3}' => is_hidden = true,
                    '\u{fdd4}' => is_hidden = false,
                    c if is_hidden => hidden.push(c),
                    c => shown.push(c),
                }
            }
            (letters(&hidden), letters(&shown))
        };
        let mut all = Vec::new();
        for (name, flavour) in flavours(limit) {
            let (mut hidden, mut shown) = (String::new(), String::new());
            for part in parts(&markdown, flavour) {
                let capitals = |text: &str| text.chars().any(|c| c.is_ascii_uppercase());
                let is_hidden = capitals(&part.text);
                prop_assert_eq!(part.preview.is_some(), is_hidden, "{}: {:?}", name, part);
                let preview = part.preview.as_ref().map(|preview| preview.replace("[Spoiler]", ""));
                prop_assert!(!preview.is_some_and(|preview| capitals(&preview)), "{}: {:?}", name, part);
                let seen = match flavour.markup {
                    Markup::Styles => promises::with_ranges_marked(&part),
                    Markup::Html(dialect) if dialect != Dialect::Email => {
                        promises::html::visible(part.html.as_ref().unwrap(), dialect).map_err(TestCaseError::fail)?
                    }
                    Markup::Marks(Notation::Discord) => {
                        promises::marks::visible(Notation::Discord, &part.text).map_err(TestCaseError::fail)?
                    }
                    _ => {
                        prop_assert_eq!(part.text.contains("(spoiler) "), is_hidden, "{}: {:?}", name, part);
                        continue;
                    }
                };
                let (more_hidden, more_shown) = parted(&seen);
                hidden += &more_hidden;
                shown += &more_shown;
            }
            if !(hidden.is_empty() && shown.is_empty()) {
                prop_assert!(hidden.chars().all(|c| c.is_ascii_uppercase()), "{name} hides {hidden}");
                prop_assert!(shown.chars().all(|c| c.is_ascii_lowercase()), "{name} shows {shown}");
                all.push((name, hidden));
            }
        }
        for pair in all.windows(2) {
            prop_assert_eq!(&pair[0].1, &pair[1].1, "{} and {}", pair[0].0, pair[1].0);
        }
    }
}
