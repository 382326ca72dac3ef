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
    // What programs without markup show has the name alone.
    assert_eq!(parts("[Ann](mention:@a:b), hi", html(Dialect::Matrix))[0].text, "Ann, hi");
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
}
