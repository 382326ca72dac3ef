use proptest::prelude::*;

use super::promises::marks::visible;
use super::*;
use crate::markup::ZERO_WIDTH_SPACE;

const TELEGRAM: Flavour = Flavour {
    markup: Markup::Html(Dialect::Telegram),
    limit: Some(4096),
    unit: Unit::Utf16,
    tables: Tables::Code,
};
const SIGNAL: Flavour = Flavour { markup: Markup::Styles, limit: Some(4000), ..TELEGRAM };
const NOTATIONS: [Notation; 5] =
    [Notation::Discord, Notation::Slack, Notation::WhatsApp, Notation::GoogleChat, Notation::Teams];

const fn marks(notation: Notation) -> Flavour {
    Flavour { markup: Markup::Marks(notation), limit: Some(2000), ..TELEGRAM }
}

fn one(markdown: &str, flavour: Flavour) -> Part {
    let mut parts = parts(markdown, flavour);
    assert_eq!(parts.len(), 1, "{parts:?}");
    parts.remove(0)
}

fn telegram(markdown: &str) -> String {
    let part = one(markdown, TELEGRAM);
    assert_eq!(stripped(part.html.as_ref().unwrap()), part.text);
    part.html.unwrap()
}

fn marked(notation: Notation, markdown: &str) -> String {
    one(markdown, marks(notation)).text
}

#[test]
fn telegram_gets_its_tags() {
    assert_eq!(
        telegram(
            "# A & B\n\n**bold *both*** ~~gone~~ `a<b` [x](https://a.example/?q=\"1\"&r)\n\n- one\n  - in\n2. two"
        ),
        "<b>A &amp; B</b>\n\n<b>bold <i>both</i></b> <s>gone</s> <code>a&lt;b</code> \
         <a href=\"https://a.example/?q=&quot;1&quot;&amp;r\">x</a>\n\n• one\n  • in\n\n2. two"
    );
    assert_eq!(
        telegram("> quoted\n>\n> > twice\n>\n> ```rust\n> a < b\n> ```\n\nafter"),
        "<blockquote>quoted\n\n&gt; twice\n\n<pre><code class=\"language-rust\">a &lt; b</code></pre></blockquote>\n\nafter"
    );
    assert_eq!(telegram("|a|b|\n|-|-|\n|1|2|"), "<pre>a | b\n--|--\n1 | 2</pre>");
}

#[test]
fn telegram_shows_an_address_that_it_makes_no_link_of() {
    assert_eq!(telegram("[x](javascript:alert(1)) [y](tg://z)"), "x (javascript:alert(1)) y (tg://z)");
    assert_eq!(one("[x](https://evil.example)", TELEGRAM).shown, "x <https://evil.example>");
}

#[test]
fn telegram_gets_no_link_that_its_parser_drops_or_turns_into_another() {
    assert_eq!(
        telegram("[mail](mailto:me@a.example) <me@b.example>"),
        "mail (mailto:me@a.example) me@b.example"
    );
    for url in ["http://nas:5000/photos", "http://localhost", "https://a.example:99999/", "https:///x"] {
        assert_eq!(telegram(&format!("[x]({url})")), format!("x ({url})"));
    }
    for url in
        ["http://nas.local/photos", "http://10.0.0.7:8080", "https://me@a.example:443?q", "http://[::1]/"]
    {
        assert_eq!(telegram(&format!("[x]({url})")), format!("<a href=\"{url}\">x</a>"));
    }
}

#[test]
fn a_style_ends_up_where_its_link_does_not() {
    let long = format!("**[a](https://{}.example) b**", "x".repeat(65));
    for notation in [Notation::Teams, Notation::Slack] {
        let parts = parts(&long, Flavour { limit: Some(80), ..marks(notation) });
        let seen: String = parts.iter().map(|part| visible(notation, &part.text).unwrap()).collect();
        assert!(!seen.contains('*'), "{seen}");
    }
    // A URL cannot be escaped, so the style around it is dropped.
    assert_eq!(marked(Notation::WhatsApp, "_[aa](https://a.example/_?b)_"), "aa (https://a.example/_?b)");
}

#[test]
fn a_style_right_behind_an_address_has_no_marks() {
    let markdown = "https://a.example/**[c]** and https://a.example/b **c**";
    assert_eq!(marked(Notation::WhatsApp, markdown), "https://a.example/[c] and https://a.example/b *c*");
    let markdown = "https://a.example/\\_**[c]**";
    assert_eq!(marked(Notation::WhatsApp, markdown), "https://a.example/\u{200b}_\u{200b}[c]");
    assert_eq!(marked(Notation::Slack, "https://a.example/<<**c**"), "https://a.example/&lt;&lt;c");
}

#[test]
fn an_address_ends_before_a_bracket_that_was_open_before_it() {
    let markdown = "(see https://a.example/x_(y)_z) and _more_";
    assert_eq!(marked(Notation::Slack, markdown), markdown);
    let markdown = "# `[x y](https://a.example)~~`[~~[x y](https://a.example)";
    let seen = visible(Notation::Discord, &marked(Notation::Discord, markdown)).unwrap();
    assert_eq!(seen.matches("~~").count(), 2, "{seen}");
}

#[test]
fn a_label_that_google_chat_would_end_too_soon_shows_its_address() {
    assert_eq!(marked(Notation::GoogleChat, "[a > b](https://a.example)"), "a > b (https://a.example)");
    assert_eq!(marked(Notation::GoogleChat, "[a b](https://a.example)"), "<https://a.example|a b>");
}

#[test]
fn a_sign_at_the_edge_of_a_label_is_no_mark() {
    let slack = marked(Notation::Slack, "a_ [b_](https://a.example/) c");
    assert_eq!(slack, "a\u{200b}_ <https://a.example/|b\u{200b}_\u{200b}> c");
    let slack = marked(Notation::Slack, "_a [_ b](https://a.example/)");
    assert_eq!(slack, "_\u{200b}a <https://a.example/|\u{200b}_ b>");
}

#[test]
fn a_style_beside_what_takes_its_marks_power_has_none() {
    assert_eq!(marked(Notation::WhatsApp, "_a b\u{200b}_ and `c\u{200b}`"), "a b\u{200b} and c\u{200b}");
    assert_eq!(marked(Notation::WhatsApp, "a\u{200b}`b`"), "a\u{200b}b");
    assert_eq!(marked(Notation::WhatsApp, "`\u{200b}b`"), "\u{200b}b");
}

#[test]
fn code_that_begins_with_a_sign_stays_code() {
    for notation in [Notation::Slack, Notation::WhatsApp, Notation::GoogleChat] {
        assert_eq!(marked(notation, "use `*args` and `__init__`"), "use `*args` and `__init__`");
    }
}

#[test]
fn a_line_of_code_that_fits_in_a_part_is_not_cut() {
    let line = "x".repeat(89);
    let parts =
        parts(&format!("```\nfirst\n{line}\n```"), Flavour { limit: Some(100), ..marks(Notation::Slack) });
    assert_eq!(
        parts.iter().map(|part| part.text.clone()).collect::<Vec<_>>(),
        ["```\nfirst\n```".to_owned(), format!("```\n{line}\n```"),]
    );
}

#[test]
fn the_mark_of_an_item_is_counted_with_the_table_in_it() {
    let markdown = "- |a|\n  |-|\n".to_owned() + &"  |bbbbbbbbbbbbbbb|\n".repeat(8);
    let flavour = Flavour { limit: Some(93), unit: Unit::Bytes, tables: Tables::Plain, ..SIGNAL };
    assert!(parts(&markdown, flavour).iter().all(|part| part.units <= 93));
}

#[test]
fn telegram_never_gets_more_entities_than_it_reads() {
    let markdown = "**a** *b* ~~c~~ `d` ".repeat(300);
    for part in parts(&markdown, TELEGRAM) {
        let html = part.html.unwrap();
        assert!(html.matches("</").count() <= 100, "{}", html.matches("</").count());
        balanced(&html).unwrap();
    }
    let markdown = format!("[x](https://a.example/{}) ", "y".repeat(400)).repeat(200);
    for part in parts(&markdown, TELEGRAM) {
        assert!(part.html.unwrap().len() - part.text.len() <= 9_500);
    }
}

#[test]
fn signal_gets_ranges_in_utf16() {
    let part = one("😀 **bold *both*** ~~x~~ `y`\n\n```\ncode\n```", SIGNAL);
    assert_eq!(part.text, "😀 bold both x y\n\ncode");
    let styles: Vec<_> =
        part.styles.iter().map(|style| (style.start, style.len, style.kind.name())).collect();
    assert_eq!(
        styles,
        [
            (3, 9, "BOLD"),
            (8, 4, "ITALIC"),
            (13, 1, "STRIKETHROUGH"),
            (15, 1, "MONOSPACE"),
            (18, 4, "MONOSPACE")
        ]
    );
    assert_eq!(part.html, None);
}

#[test]
fn every_notation_has_its_marks() {
    let markdown = "**bold *both*** ~~gone~~ `code` [x](https://a.example/(b)?c&d)";
    assert_eq!(
        marked(Notation::Discord, markdown),
        "**bold _both_** ~~gone~~ `code` [x](https://a.example/%28b%29?c&d)"
    );
    assert_eq!(
        marked(Notation::Slack, markdown),
        "*bold _both_* ~gone~ `code` <https://a.example/(b)?c&amp;d|x>"
    );
    assert_eq!(
        marked(Notation::WhatsApp, markdown),
        "*bold _both_* ~gone~ `code` x (https://a.example/(b)?c&d)"
    );
    assert_eq!(
        marked(Notation::GoogleChat, markdown),
        "*bold _both_* ~gone~ `code` <https://a.example/(b)?c&d|x>"
    );
    assert_eq!(
        marked(Notation::Teams, markdown),
        "**bold _both_** ~~gone~~ `code` [x](https://a.example/%28b%29?c&d)"
    );
}

#[test]
fn blocks_have_the_marks_of_the_platform() {
    let markdown = "## Title\n\na\nb\n\n> q\n\n```rust\nx\n```\n\n- - deep";
    assert_eq!(marked(Notation::Discord, markdown), "## Title\n\na\nb\n\n> q\n\n```rust\nx\n```\n\n- - deep");
    assert_eq!(marked(Notation::Slack, markdown), "*Title*\n\na\nb\n\n> q\n\n```\nx\n```\n\n• • deep");
    assert_eq!(
        marked(Notation::Teams, markdown),
        "**Title**\n\na  \nb\n\n> q\n\n```rust\nx\n```\n\n- - deep"
    );
}

#[test]
fn nobody_is_called_by_accident() {
    assert_eq!(marked(Notation::Slack, "&lt;!channel&gt; & <@U1>"), "&lt;!channel&gt; &amp; &lt;@U1&gt;");
    let discord =
        marked(Notation::Discord, "@everyone `@HERE` <@1> <#2> me@example.org\n\n```\n@everyone\n```");
    for mention in ["@everyone", "@HERE", "<@1", "<#2"] {
        assert!(!discord.contains(mention), "{discord:?}");
    }
    assert!(discord.contains("me@example.org"));
    assert!(!marked(Notation::GoogleChat, "&lt;users/all&gt;").contains("<users"));
    assert!(!marked(Notation::Teams, "<at>all</at>").contains("<at"));
}

#[test]
fn signs_in_the_text_are_not_read_as_marks() {
    assert_eq!(
        marked(Notation::Discord, "2 \\* 3 \\_x\\_ \\`c\\` \\[a](b)"),
        "2 \\* 3 \\_x\\_ \\`c\\` \\[a](b)"
    );
    assert_eq!(
        marked(Notation::WhatsApp, "2 \\* 3, a snake_case \\*x\\*").replace(ZERO_WIDTH_SPACE, "|"),
        "2 * 3, a snake_case *|x|*"
    );
    assert_eq!(
        marked(Notation::Discord, "1\\. x\n\\- y\n\\# z\n\\> q").replace(ZERO_WIDTH_SPACE, "|"),
        "|1. x\n\\- y\n\\# z\n\\> q"
    );
    assert_eq!(marked(Notation::Slack, "\\> q\n\\- y").replace(ZERO_WIDTH_SPACE, "|"), "|&gt; q\n|- y");
}

#[test]
fn an_address_is_not_escaped() {
    let url = "https://a.example/x_y_z?q=~1*x";
    for notation in [Notation::Discord, Notation::Slack, Notation::WhatsApp] {
        assert_eq!(marked(notation, url), url);
        assert_eq!(marked(notation, &format!("<{url}>")), url);
    }
}

#[test]
fn a_fence_in_code_does_not_end_it() {
    let markdown = "````\n```sh\nx\n```\n````";
    assert_eq!(marked(Notation::Teams, markdown), markdown);
    assert_eq!(
        marked(Notation::Discord, markdown).replace(ZERO_WIDTH_SPACE, "|"),
        "```\n``|`sh\nx\n``|`\n```"
    );
}

#[test]
fn marks_end_where_a_line_or_a_word_does() {
    assert_eq!(marked(Notation::Slack, "**two\nlines**"), "*two*\n*lines*");
    assert_eq!(marked(Notation::Slack, "un**frigging**believable"), "unfriggingbelievable");
    assert_eq!(marked(Notation::Discord, "un**frigging**believable"), "un**frigging**believable");
}

#[test]
fn whatsapp_messages_begin_with_text() {
    let markdown = format!("1. {}", "words in an item ".repeat(20));
    for part in parts(&markdown, Flavour { limit: Some(100), ..marks(Notation::WhatsApp) }) {
        assert!(!part.text.starts_with(char::is_whitespace));
    }
}

#[test]
fn two_hundred_lines_of_code_are_at_most_four_messages() {
    let code: String = (0..200).map(|n| format!("    let line_{n} = call({n}, other);\n")).collect();
    let parts = parts(&format!("```rust\n{code}```"), marks(Notation::Discord));
    assert!(parts.len() <= 4, "{}", parts.len());
    for part in &parts {
        assert!(part.text.starts_with("```rust\n") && part.text.ends_with("\n```"));
    }
}

#[test]
fn marks_cost_hardly_any_part() {
    let markdown =
        "**Bold words that go on** and *more of them* with [a link](https://a.example/b) & `code`. "
            .repeat(400);
    for flavour in NOTATIONS.map(marks).into_iter().chain([Flavour { limit: Some(2000), ..SIGNAL }]) {
        let whole = one(&markdown, Flavour { limit: None, ..flavour });
        let parts = parts(&markdown, flavour);
        let least = whole.units.div_ceil(2000);
        assert!(parts.len() <= least + least / 20 + 1, "{} for {least}: {flavour:?}", parts.len());
        assert!(parts[..parts.len() - 1].iter().all(|part| part.units > 200));
    }
}

#[test]
fn a_limit_without_room_for_marks_is_an_error() {
    let flavour = Flavour { limit: Some(79), ..marks(Notation::Discord) };
    assert_eq!(
        super::render(&parse("x"), &flavour),
        Err(RenderError::LimitTooSmall { limit: 79, smallest: 80 })
    );
}

/// What a reader sees, without white space and without the marks of lists, quotes and spoilers, which a cut may repeat.
fn characters(text: &str) -> String {
    let text = text.replace("(spoiler) ", "").replace(['\u{fdd3}', '\u{fdd4}'], "");
    text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '>' | '-' | '•' | '#')).collect()
}

pub(super) fn rough() -> impl Strategy<Value = String> {
    let piece = "(# |- |1\\. |> |\n|\n\n|\n\n```\n|\\*|\\*\\*|_|~~|`|\\\\\\*|\\\\_|\\\\`|\\\\~|\\\\\\\\|\\[|\\]|<|&|\\||\\|\\||\\|\\|[a-z]{1,9}( [a-z]{1,9})?\\|\\||@everyone|<@1>|\
                 \\*\\*[a-z]{1,9} [a-z]{1,9}\\*\\* |\\*[a-z]{1,9} \\*\\*[a-z]{1,5}\\*\\* [a-z]\\* |~~[a-z]{1,9}~~|`[a-z_*]{1,9}` |\
                 https://[a-z_]{1,20}\\.example |\
                 [a-z]{1,9} |[a-z]{1,90}|[a-z]{2,5}\\. |1\\) |漢|。|👨‍👩‍👧|e\u{301})";
    proptest::collection::vec(piece, 0..70).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(std::env::var("CASES").map_or(128, |n| n.parse().unwrap())))]

    #[test]
    fn no_part_of_any_flavour_is_over_its_limit(
        markdown in markdown(), limit in 80usize..300, notation in 0usize..7, tables in 0usize..4,
    ) {
        let tables = [Tables::Native, Tables::Code, Tables::Bullets, Tables::Plain][tables];
        let flavour = NOTATIONS.get(notation).map_or(if notation == 5 { TELEGRAM } else { SIGNAL }, |n| marks(*n));
        for unit in [Unit::Bytes, Unit::Utf16] {
            for part in super::parts(&markdown, Flavour { limit: Some(limit), unit, tables, ..flavour }) {
                prop_assert!(part.units <= limit, "{} over {limit}: {:?}", part.units, part.text);
                prop_assert_eq!(part.units, unit.count(&part.text));
                prop_assert!(!part.text.trim().is_empty() && !part.shown.trim().is_empty());
                if let Some(html) = part.html {
                    balanced(&html).map_err(TestCaseError::fail)?;
                    prop_assert_eq!(stripped(&html), part.text);
                }
            }
        }
    }

    #[test]
    fn a_reader_of_each_notation_sees_the_text(markdown in rough(), limit in 80usize..300, notation in 0usize..5) {
        let notation = NOTATIONS[notation];
        let whole = super::parts(&markdown, Flavour { limit: None, ..SIGNAL });
        let whole: String = whole.iter().map(|part| characters(&part.text)).collect();
        let mut seen = String::new();
        for part in super::parts(&markdown, Flavour { limit: Some(limit), ..marks(notation) }) {
            seen += &characters(&visible(notation, &part.text).map_err(TestCaseError::fail)?);
        }
        prop_assert_eq!(seen, whole);
    }

    #[test]
    fn styles_stay_with_their_text(markdown in rough(), limit in 40usize..300) {
        let styled = |flavour: Flavour| {
            let mut all: Vec<(char, Vec<&'static str>)> = Vec::new();
            for part in super::parts(&markdown, flavour) {
                let mut at = 0;
                for c in part.text.chars() {
                    let mut kinds: Vec<_> = part.styles.iter()
                        .filter(|style| (style.start..style.start + style.len).contains(&at))
                        .map(|style| style.kind.name()).collect();
                    kinds.sort_unstable();
                    if c.is_alphanumeric() {
                        all.push((c, kinds));
                    }
                    at += c.len_utf16();
                }
                let total = Unit::Utf16.count(&part.text);
                assert!(part.styles.iter().all(|style| style.len > 0 && style.start + style.len <= total));
            }
            all
        };
        prop_assert_eq!(styled(Flavour { limit: Some(limit), ..SIGNAL }), styled(Flavour { limit: None, ..SIGNAL }));
        let telegram = super::parts(&markdown, Flavour { limit: Some(limit), ..TELEGRAM });
        let telegram: String =
            telegram.iter().map(|part| characters(&part.text.replace(ZERO_WIDTH_SPACE, ""))).collect();
        let whole = super::parts(&markdown, Flavour { limit: None, ..SIGNAL });
        prop_assert_eq!(telegram, whole.iter().map(|part| characters(&part.text)).collect::<String>());
    }
}
