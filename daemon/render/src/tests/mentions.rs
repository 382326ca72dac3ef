//! Links that call a person.

use super::*;

const LIMIT: Option<usize> = Some(400);

fn marks(notation: Notation) -> Flavour {
    Flavour { markup: Markup::Marks(notation), limit: LIMIT, unit: Unit::Utf16, tables: Tables::Code }
}

fn html(dialect: Dialect) -> Flavour {
    Flavour { markup: Markup::Html(dialect), ..marks(Notation::Slack) }
}

/// What is sent of a text in one part, what an approver reads, and whom it calls.
fn sent(markdown: &str, flavour: Flavour) -> (String, String, Vec<String>) {
    let [part] = &parts(markdown, flavour)[..] else { panic!("{markdown}") };
    assert_eq!(part.units, flavour.unit.count(&part.text));
    let sent = part.html.clone().unwrap_or_else(|| part.text.clone());
    (sent, part.shown.clone(), part.mentions.clone())
}

fn is(markdown: &str, flavour: Flavour, expected: [&str; 2], mentions: &[&str]) {
    let (sent, shown, called) = sent(markdown, flavour);
    assert_eq!([sent.as_str(), shown.as_str()], expected, "{markdown}");
    assert_eq!(called, mentions, "{markdown}");
}

#[test]
fn each_platform_gets_its_own_mention_and_an_approver_the_id() {
    let text = "[Ann](mention:U0ANN) and [*Bob*](mention:U0BOB): [Ann *Lee*](mention:U0ANN)?";
    let slack = "<@U0ANN> and <@U0BOB>: <@U0ANN>?";
    let shown = "<@U0ANN> and <@U0BOB>: <@U0ANN>?";
    is(text, marks(Notation::Slack), [slack, shown], &["U0ANN", "U0BOB"]);
    is("a_b [Ann](mention:42)!", marks(Notation::Discord), ["a\\_b <@42>!", "a_b <@42>!"], &["42"]);
    let text = "# [Ann](mention:users/42)\n\n- [Bob](mention:users/7)";
    let chat = "<users/42>\n\n- <users/7>";
    is(text, marks(Notation::GoogleChat), [chat, "<users/42>\n\n- <users/7>"], &["users/42", "users/7"]);
    let telegram = "<a href=\"tg://user?id=42\">Ann</a>, hi";
    is("[Ann](mention:42), hi", html(Dialect::Telegram), [telegram, "Ann <mention:42>, hi"], &["42"]);
    let matrix = "<p><a href=\"https://matrix.to/#/@a%2Fb:hub.test\">Ann</a>, hi</p>";
    let expected = [matrix, "Ann <mention:@a/b:hub.test>, hi"];
    is("[Ann](mention:@a/b:hub.test), hi", html(Dialect::Matrix), expected, &["@a/b:hub.test"]);
    let whatsapp = "@4915112345679 and @175105850253361!";
    let text = "[Ann](mention:+4915112345679) and [Bob](mention:175105850253361@lid)!";
    let shown = "@4915112345679 <mention:+4915112345679> and @175105850253361 <mention:175105850253361@lid>!";
    is(text, marks(Notation::WhatsApp), [whatsapp, shown], &["+4915112345679", "175105850253361@lid"]);
    // What programs without markup show has the name alone.
    assert_eq!(parts("[Ann](mention:@a:b), hi", html(Dialect::Matrix))[0].text, "Ann, hi");
}

/// Whom a part calls, and the text that stands there.
fn called(part: &Part) -> Vec<(&str, String)> {
    let units: Vec<u16> = part.text.encode_utf16().collect();
    let of = |one: &Mention| String::from_utf16(&units[one.start..one.start + one.len]).unwrap();
    part.called.iter().map(|one| (one.id.as_str(), of(one))).collect()
}

const UUID: &str = "aaaaaaaa-0000-4000-8000-00000000000b";

#[test]
fn signal_is_told_beside_the_text_where_somebody_is_called() {
    let signal = Flavour { markup: Markup::Styles, ..marks(Notation::Slack) };
    let text =
        format!("😀 **Hi [Ann](mention:{UUID})**, [Bob\\_B](mention:+4915112345679)! [ ](mention:{UUID})");
    let [part] = &parts(&text, signal)[..] else { panic!() };
    assert_eq!(part.text, format!("😀 Hi @Ann, @Bob B! @{UUID}"));
    let ann = (UUID, "@Ann".to_owned());
    assert_eq!(called(part), [ann, ("+4915112345679", "@Bob B".into()), (UUID, format!("@{UUID}"))]);
    assert_eq!(part.mentions, [UUID, "+4915112345679"]);
    assert!(part.shown.contains(&format!("@Ann <mention:{UUID}>")), "{}", part.shown);
    assert_eq!(part.styles[0].start, 3);
}

#[test]
fn teams_is_told_by_name_whom_a_tag_calls_and_no_mark_stands_in_it() {
    let teams = marks(Notation::Teams);
    for (text, sent, id) in [
        ("Hi [Ann](mention:29:1a-b_c)!", "Hi <at>Ann</at>!", "29:1a-b_c"),
        ("**[Ann *Lee*](mention:ann@hub.test)**", "**<at>Ann Lee</at>**", "ann@hub.test"),
        ("[**Ann**](mention:29:1)", "**<at>Ann</at>**", "29:1"),
        ("[`</at>` & _A_*b*](mention:29:1)", "<at>at Ab</at>", "29:1"),
        ("# [Ann](mention:29:1) a_b", "**<at>Ann</at> a\\_b**", "29:1"),
    ] {
        let [part] = &parts(text, teams)[..] else { panic!() };
        assert_eq!((part.text.as_str(), &part.mentions[..]), (sent, &[id.to_owned()][..]));
        let [one] = &part.called[..] else { panic!("{part:?}") };
        assert!(sent.contains(&format!("<at>{}</at>", one.name)) && one.id == id, "{one:?}");
        assert_eq!(called(part), [(id, one.name.clone())]);
    }
    // What an agent writes itself is no tag.
    let [part] = &parts("<at>Ann</at>", teams)[..] else { panic!() };
    assert!(!part.text.contains("<at>") && part.called.is_empty(), "{}", part.text);
}

#[test]
fn where_somebody_is_called_is_said_for_each_part_and_no_name_is_cut() {
    let text = "[Ann Lee](mention:+4915112345679) wörds 😀 ".repeat(30);
    for markup in [Markup::Styles, Markup::Marks(Notation::Teams)] {
        for limit in 80..140 {
            let flavour = Flavour { markup, limit: Some(limit), ..marks(Notation::Slack) };
            let text = match markup {
                Markup::Styles => text.clone(),
                _ => text.replace("+4915112345679", "29:1abc"),
            };
            let parts = parts(&text, flavour);
            let mut names = 0;
            for part in &parts {
                names += part.called.len();
                for (_, name) in called(part) {
                    assert!(["@Ann Lee", "Ann Lee"].contains(&name.as_str()), "{name}");
                }
                assert_eq!(part.text.matches("Ann").count(), part.called.len());
            }
            assert!(parts.len() > 3 && names == 30, "{names}");
        }
    }
}

#[test]
fn what_is_no_persons_id_calls_nobody_anywhere() {
    for id in
        ["!channel", "&99", "everyone", "here", "users/all", "!subteam^S1", "#7", "@everyone", "", "%3C"]
    {
        let text = format!("[Ann](<mention:{id}>) done");
        for notation in
            [Notation::Discord, Notation::Slack, Notation::GoogleChat, Notation::Teams, Notation::WhatsApp]
        {
            if notation == Notation::Slack && ["everyone", "here"].contains(&id) {
                // No more than text there: groups have another sign. Its channel refuses them all the same.
                continue;
            }
            let (sent, _, called) = sent(&text, marks(notation));
            assert!(sent.starts_with("Ann") && called.is_empty(), "{notation:?}: {id}: {sent} {called:?}");
        }
        let signal = Flavour { markup: Markup::Styles, ..marks(Notation::Slack) };
        assert!(parts(&text, signal)[0].called.is_empty(), "{id}");
        for dialect in [Dialect::Telegram, Dialect::Matrix, Dialect::Email] {
            let (sent, _, called) = sent(&text, html(dialect));
            assert!(!sent.contains("<a ") && called.is_empty(), "{dialect:?}: {id}: {sent} {called:?}");
        }
        assert_eq!(parse(&text).mentions(), [id], "its channel is to say so");
    }
    // As it was without any of this.
    for text in ["`[Ann](mention:42)`", "```\n[Ann](mention:42)\n```", "<@42> \\[Ann](mention:42)"] {
        let (sent, _, called) = sent(text, marks(Notation::Discord));
        assert!(!sent.contains("<@42>") && called.is_empty() && parse(text).mentions().is_empty(), "{sent}");
    }
}

/// What Telegram makes a mention of by itself: an `@` with a name behind it, and no letter before it.
fn names_in(text: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_mention = |at: &usize| {
        text[at + 1..].starts_with(is_name)
            && !text[..*at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
    };
    text.match_indices('@').map(|(at, _)| at).filter(is_mention).map(|at| &text[at..]).collect()
}

#[test]
fn a_name_in_a_text_calls_nobody_on_telegram() {
    let telegram = html(Dialect::Telegram);
    for (text, expected) in [
        ("@evebot", "@|evebot"),
        ("[engineer] @evebot, @Ann_7!", "[engineer] @|evebot, @|Ann_7!"),
        ("(@evebot) \"@evebot\" é@evebot", "(@|evebot) \"@|evebot\" é@|evebot"),
        ("@**evebot**", "@|<b>evebot</b>"),
        ("[x](https://a.example/)@evebot", "<a href=\"https://a.example/\">x</a>@|evebot"),
        ("`x`@evebot", "<code>x</code>@|evebot"),
        ("`@`evebot", "<code>@|</code>evebot"),
        ("# @evebot", "<b>@|evebot</b>"),
        ("- @a\n> @b", "• @|a\n\n<blockquote>@|b</blockquote>"),
        ("||@evebot||", "<tg-spoiler>@|evebot</tg-spoiler>"),
        ("[@evebot](https://a.example/)", "<a href=\"https://a.example/\">@|evebot</a>"),
        ("[@evebot](mention:42)", "<a href=\"tg://user?id=42\">@|evebot</a>"),
        ("[x](foo:@evebot)", "x (foo:@|evebot)"),
        // Telegram takes none of these for an address.
        ("https://localhost/@evebot", "https://localhost/@|evebot"),
        ("https://@evebot", "https://@|evebot"),
        ("https://a.example/\"@evebot", "https://a.example/\"@|evebot"),
        ("https://a.example/`x`@evebot", "https://a.example/<code>x</code>@|evebot"),
        // And nobody is called in these.
        ("ann@example.org, <bob@example.org>.", "ann@example.org, bob@example.org."),
        ("https://a.example/@ann/1 @ 5 a@ @-", "https://a.example/@ann/1 @ 5 a@ @-"),
        ("`@scope/package`", "<code>@scope/package</code>"),
        ("```\n@scope\n```", "<pre>@scope</pre>"),
        ("| a |\n| - |\n| @ann |", "<pre>a\n----\n@ann</pre>"),
    ] {
        let [part] = &parts(text, telegram)[..] else { panic!("{text}") };
        assert_eq!(part.html.as_deref().unwrap().replace('\u{200b}', "|"), expected, "{text}");
        assert_eq!(part.units, Unit::Utf16.count(&part.text), "{text}");
        assert!(!part.shown.contains('\u{200b}'), "an approver reads what was written: {text}");
    }
    assert_eq!(without_usernames("@evebot `@evebot` <a@b.c>"), "@\u{200b}evebot `@\u{200b}evebot` <a@b.c>");
}

#[test]
fn what_keeps_names_from_calling_counts_towards_telegrams_limit() {
    let all = ["@a ".repeat(500), "@a".repeat(700), "a@b".repeat(700), "- @a **@b**`c`@d\n".repeat(90)];
    let table = format!("| a |\n| - |\n{}", "| @a @b |\n".repeat(200));
    for text in all.iter().chain([&table]) {
        for tables in [Tables::Code, Tables::Plain, Tables::Bullets] {
            for limit in 16..80 {
                let flavour = Flavour { limit: Some(limit), tables, ..html(Dialect::Telegram) };
                for part in parts(text, flavour) {
                    assert!(part.units <= limit && part.units == Unit::Utf16.count(&part.text));
                    let named = names_in(&part.text);
                    let in_code = text == &table && part.html.as_deref().unwrap().contains("<pre>");
                    assert!(named.is_empty() || in_code, "{named:?} of {part:?}");
                }
            }
        }
    }
}

#[test]
fn in_a_table_of_code_stands_the_name_and_nobody_is_called() {
    let table = "| Who |\n| --- |\n| [Ann](mention:42) |";
    let (sent, _, called) = sent(table, marks(Notation::Discord));
    assert!(sent.contains("Ann") && !sent.contains("42") && called.is_empty(), "{sent}");
}

#[test]
fn each_part_calls_whom_it_names_and_no_mention_is_cut() {
    let text = format!("[Ann](mention:42) {} [Bob](mention:7)", "word ".repeat(200));
    for flavour in [marks(Notation::Discord), html(Dialect::Telegram)] {
        let parts = parts(&text, flavour);
        assert!(parts.len() > 1);
        let called: Vec<&[String]> = parts.iter().map(|part| part.mentions.as_slice()).collect();
        assert_eq!((called[0], called[parts.len() - 1]), (&["42".to_owned()][..], &["7".to_owned()][..]));
        assert!(called[1..parts.len() - 1].iter().all(|called| called.is_empty()));
    }
    for limit in 80..140 {
        let flavour = Flavour { limit: Some(limit), ..marks(Notation::Discord) };
        for part in parts(&"[Ann](mention:1234567890123456789)".repeat(9), flavour) {
            assert!(part.units <= limit && part.text.matches("<@").count() == part.text.matches('>').count());
            assert_eq!(part.mentions, ["1234567890123456789"]);
        }
    }
}

#[test]
fn a_name_is_seen_where_a_platform_has_no_mentions() {
    for flavour in
        [PLAIN, Flavour { markup: Markup::Styles, ..PLAIN }, marks(Notation::Teams), html(Dialect::Email)]
    {
        let (sent, _, called) = sent("Hi [Ann](mention:42)!", flavour);
        assert!(sent.contains("Hi Ann!") && called.is_empty(), "{sent}");
    }
    let document = parse("[A](mention:1) [B](mention:2) [A](mention:1) [x](https://a.test)");
    assert_eq!(document.mentions(), ["1", "2"]);
}

/// Texts of mentions and what may stand around them.
fn mixed() -> impl Strategy<Value = String> {
    let pieces = [
        "[Ann](mention:42)",
        "[**B** o_b](mention:7)",
        "[x](mention:@everyone)",
        "[`c`](mention:42)",
        "word ",
        "a_b ",
        " ",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "**",
        "_",
        "~~",
        "||",
        "`",
        "# ",
        "<@42>",
        "<@7> ",
        "@everyone ",
        "<",
        "@",
        "[y](https://a.test/)",
        "\\",
        "```\n",
        "| a |\n| - |\n| ",
    ];
    proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 1..40)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Whom Discord's servers would read in a part is whom the part says that it calls.
    #[test]
    fn a_part_calls_whom_it_says_and_no_other(text in mixed(), limit in 80_usize..200) {
        let flavour = Flavour { limit: Some(limit), ..marks(Notation::Discord) };
        let parts = super::render(&parse(&text), &flavour).unwrap();
        promises::hold(&text, &flavour, &parts).map_err(TestCaseError::fail)?;
        for part in parts {
            let read: Vec<String> =
                ["42", "7"].into_iter().filter(|id| part.text.contains(&format!("<@{id}>"))).map(str::to_owned).collect();
            let mut says = part.mentions.clone();
            says.sort();
            prop_assert_eq!(&read, &says, "{:?} of {:?}", part.text, text);
            prop_assert!(!part.text.contains("@everyone"), "{:?}", part.text);
        }
        for dialect in [Dialect::Telegram, Dialect::Matrix] {
            let flavour = Flavour { limit: Some(limit), ..html(dialect) };
            let parts = super::render(&parse(&text), &flavour).unwrap();
            promises::hold(&text, &flavour, &parts).map_err(TestCaseError::fail)?;
            for part in parts {
                let html = part.html.unwrap();
                balanced(&html).map_err(TestCaseError::fail)?;
                prop_assert_eq!(html.contains("tg://user?id="), dialect == Dialect::Telegram && !part.mentions.is_empty());
            }
        }
    }

    /// Where a platform is told beside the text, each place is the name's, none is in another, and Teams' tags are these.
    #[test]
    fn each_place_that_is_told_is_a_names(text in mixed(), limit in 80_usize..200) {
        for (markup, ann, bob) in
            [(Markup::Styles, "+4915112345679", UUID), (Markup::Marks(Notation::Teams), "29:42", "29:7")]
        {
            let text = text.replace("mention:42", &format!("mention:{ann}")).replace("mention:7", &format!("mention:{bob}"));
            let flavour = Flavour { markup, limit: Some(limit), ..marks(Notation::Slack) };
            let parts = super::render(&parse(&text), &flavour).unwrap();
            promises::hold(&text, &flavour, &parts).map_err(TestCaseError::fail)?;
            for part in parts {
                let mut before = 0;
                for one in &part.called {
                    prop_assert!(one.start >= before && one.len > 0, "{:?} of {:?}", part, text);
                    before = one.start + one.len;
                    prop_assert!(part.mentions.contains(&one.id));
                }
                let names: Vec<String> = part.called.iter().map(|one| one.name.clone()).collect();
                let read: Vec<String> = called(&part).into_iter().map(|(_, name)| name).collect();
                prop_assert_eq!(&read, &names, "{:?} of {:?}", part.text, text);
                prop_assert_eq!(part.called.is_empty(), part.mentions.is_empty());
                if markup != Markup::Styles {
                    let tags = part.text.split("<at>").skip(1).filter_map(|rest| rest.split_once("</at>"));
                    prop_assert_eq!(tags.map(|(name, _)| name.to_owned()).collect::<Vec<_>>(), names);
                }
            }
        }
    }
}
