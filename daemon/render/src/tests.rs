use proptest::prelude::*;

use gatepost_chunk::Unit;

use super::*;

mod flavours;
mod golden;
mod kept;
mod looks;
mod mentions;
mod optimum;
mod promises;
mod spoilers;

const PLAIN: Flavour =
    Flavour { markup: Markup::Plain, limit: None, unit: Unit::Utf16, tables: Tables::Code };
const MATRIX: Flavour = Flavour {
    markup: Markup::Html(Dialect::Matrix),
    limit: Some(4000),
    unit: Unit::CodePoints,
    tables: Tables::Native,
};

fn parts(markdown: &str, flavour: Flavour) -> Vec<Part> {
    super::render(&parse(markdown), &flavour).unwrap()
}

fn texts(markdown: &str, limit: usize) -> Vec<String> {
    let flavour = Flavour { limit: Some(limit), ..PLAIN };
    parts(markdown, flavour).into_iter().map(|part| part.text).collect()
}

fn text(markdown: &str) -> String {
    let parts = parts(markdown, PLAIN);
    assert_eq!(parts.len(), 1, "{parts:?}");
    parts[0].text.clone()
}

fn html(markdown: &str) -> String {
    parts(markdown, MATRIX)[0].html.clone().unwrap()
}

/// The tags of `html` in order, after checking that they nest and that nothing else could be read as one.
fn balanced(html: &str) -> Result<(), String> {
    let mut open = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let end = rest[at..].find('>').ok_or("a tag without an end")? + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes nothing in {html}"));
            }
        } else if !matches!(tag, "br" | "hr") {
            open.push(tag.split(' ').next().unwrap_or(tag));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} left open in {html}")) }
}

fn stripped(html: &str) -> String {
    let mut out = String::new();
    for (n, piece) in html.split('<').enumerate() {
        out.push_str(if n == 0 { piece } else { piece.split_once('>').map_or("", |(_, text)| text) });
    }
    out.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[test]
fn blocks_become_readable_text() {
    let markdown = "# Title\n\nSome *text* with `code`.\n\n- one\n- two\n  1. deep\n\n> quoted\n> > twice\n\n---\n\n```rust\nfn x() {}\n```\n";
    let expected = "Title\n\nSome text with code.\n\n- one\n- two\n  1. deep\n\n> quoted\n>\n> > twice\n\n---\n\n```rust\nfn x() {}\n```";
    assert_eq!(text(markdown), expected);
}

#[test]
fn blocks_become_matrix_html() {
    assert_eq!(
        html("## A & B\n\n**bold *both*** ~~gone~~ `a<b`\nnext\n\n3. three\n4. four\n   - in\n\n> q"),
        "<h2>A &amp; B</h2><p><strong>bold </strong><strong><em>both</em></strong> <del>gone</del> \
         <code>a&lt;b</code><br>next</p><ol start=\"3\"><li>three</li><li>four<ul><li>in</li></ul></li></ol>\
         <blockquote><p>q</p></blockquote>"
            .replace("</strong><strong>", "")
    );
    assert_eq!(
        html("```rust no_run\na < b\n```"),
        "<pre><code class=\"language-rust\">a &lt; b</code></pre>"
    );
    assert_eq!(
        html("|a|b|\n|-|-|\n|1|2|"),
        "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>"
    );
}

#[test]
fn a_link_shows_where_it_goes() {
    let markdown =
        "[click](https://evil.example/x) <https://a.example> <me@a.example> [](https://bare.example)";
    let part = &parts(markdown, MATRIX)[0];
    assert_eq!(
        part.text,
        "click (https://evil.example/x) https://a.example me@a.example https://bare.example"
    );
    assert_eq!(
        part.shown,
        "click <https://evil.example/x> https://a.example me@a.example https://bare.example"
    );
    assert!(html(markdown).starts_with("<p><a href=\"https://evil.example/x\">click</a> "));
    assert!(html(markdown).contains("<a href=\"mailto:me@a.example\">"));
}

#[test]
fn only_known_schemes_become_links() {
    assert_eq!(html("[x](javascript:alert(1))"), "<p>x (javascript:alert(1))</p>");
    assert_eq!(html("[x](data:text/html,y)"), "<p>x (data:text/html,y)</p>");
    assert_eq!(html("[x](HTTPS://a/\"b)"), "<p><a href=\"HTTPS://a/&quot;b\">x</a></p>");
    assert_eq!(parts("[x](javascript:y)", MATRIX)[0].shown, "x <javascript:y>");
}

#[test]
fn an_image_in_a_link_hides_neither_address() {
    assert_eq!(
        text("[![alt](https://i.example)](https://l.example)"),
        "alt (https://i.example) (https://l.example)"
    );
}

#[test]
fn raw_html_is_text() {
    assert_eq!(html("a <script>x</script>"), "<p>a &lt;script&gt;x&lt;/script&gt;</p>");
    assert_eq!(text("<div>\nx\n</div>\n\n<!-- hidden -->"), "<div>\nx\n</div>\n\n<!-- hidden -->");
}

#[test]
fn tasks_and_footnotes_become_text() {
    assert_eq!(text("- [x] done\n- [ ] open[^1]\n\n[^1]: why"), "- [x] done\n- [ ] open[^1]\n\n[^1]: why");
}

#[test]
fn a_table_is_written_in_four_ways() {
    let markdown = "| Name | Age |\n|---|---|\n| 漢字 | 7 |\n| Bob |  |";
    let table = |tables| parts(markdown, Flavour { tables, ..PLAIN })[0].text.clone();
    assert_eq!(table(Tables::Native), "Name | Age\n-----|----\n漢字 | 7\nBob  |");
    assert_eq!(table(Tables::Code), "```\nName | Age\n-----|----\n漢字 | 7\nBob  |\n```");
    assert_eq!(table(Tables::Bullets), "- Name: 漢字\n  Age: 7\n- Name: Bob");
    assert_eq!(table(Tables::Plain), "Name | Age\n漢字 | 7\nBob |");
}

#[test]
fn a_table_that_is_split_repeats_its_header() {
    let rows: String = (0..40).map(|n| format!("| row {n} | value {n} |\n")).collect();
    let markdown = format!("| Key | Value |\n|---|---|\n{rows}");
    for tables in [Tables::Native, Tables::Code, Tables::Plain] {
        let flavour = Flavour { tables, limit: Some(200), ..MATRIX };
        let parts = parts(&markdown, flavour);
        assert!(parts.len() > 2);
        let mut next = 0;
        for part in &parts {
            assert!(part.units <= 200);
            assert!(part.text.contains("Key") && part.text.contains("Value"));
            balanced(part.html.as_ref().unwrap()).unwrap();
            for line in part.text.lines().filter(|line| line.starts_with("row")) {
                assert!(line.starts_with(&format!("row {next}")) && line.ends_with(&format!("value {next}")));
                next += 1;
            }
        }
        assert_eq!(next, 40);
    }
}

#[test]
fn a_sixty_line_code_block_is_closed_and_opened_again() {
    let code: String = (0..60).map(|n| format!("    let line_{n} = {n};\n")).collect();
    let markdown = format!("Before.\n\n```rust\n{code}```\nAfter.");
    let parts = texts(&markdown, 500);
    assert!(parts.len() <= 4, "{}", parts.len());
    let mut lines = String::new();
    for part in &parts {
        let inner: Vec<_> = part.lines().skip_while(|line| *line != "```rust").collect();
        let end = inner.iter().rposition(|line| *line == "```").unwrap();
        for line in &inner[1..end] {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    assert_eq!(lines, code);
    assert!(parts.last().unwrap().ends_with("\n```\n\nAfter."));
}

#[test]
fn a_line_of_code_that_is_cut_keeps_its_indentation() {
    let parts = texts("```\nabcdefg;\n    let line = 2;\n```", 19);
    assert_eq!(parts, ["```\nabcdefg;\n```", "```\n    let lin\n```", "```\ne = 2;\n```"]);
}

#[test]
fn indentation_that_no_part_has_room_for_is_in_none() {
    let flavour = Flavour { markup: Markup::Html(Dialect::Telegram), limit: Some(16), ..PLAIN };
    let code = format!("- a\n\n  ```\n{}bc {}\n  ```", " ".repeat(20), "d".repeat(20));
    let parts = parts(&code, flavour);
    assert!(parts.iter().all(|part| part.units <= 16), "{parts:?}");
    assert_eq!(
        letters(&parts.iter().map(|part| &*part.text).collect::<String>()),
        "abc".to_owned() + &"d".repeat(20)
    );
}

#[test]
fn no_part_is_made_of_the_blanks_in_a_line_of_code() {
    let parts = texts(&format!("```\nabc{}def\n```", " ".repeat(90)), 19);
    assert_eq!(parts, ["```\nabc\n```", "```\ndef\n```"]);
}

#[test]
fn a_fence_in_a_quote_in_a_list_stays_there() {
    let code = "> echo hello\n  ".repeat(12);
    let parts = texts(&format!("- item\n\n  > ```sh\n  {code}> ```\n"), 80);
    assert!(parts.len() > 2);
    for part in &parts[1..] {
        assert!(part.starts_with("  > ```sh\n  > echo"), "{part}");
        assert!(part.ends_with("\n  > ```"), "{part}");
    }
}

#[test]
fn code_with_backticks_gets_a_longer_fence() {
    assert_eq!(text("````\n```\nx\n```\n````"), "````\n```\nx\n```\n````");
}

#[test]
fn a_language_with_a_backtick_is_not_written() {
    assert_eq!(text("~~~a`b\nx\n~~~"), "```\nx\n```");
}

#[test]
fn an_item_without_text_does_not_change_the_numbers_behind_it() {
    assert_eq!(text("1. a\n2.\n3. b\n4. c"), "1. a\n3. b\n4. c");
    assert_eq!(html("1. a\n2.\n3. b\n4. c"), "<ol><li>a</li></ol><ol start=\"3\"><li>b</li><li>c</li></ol>");
}

#[test]
fn what_is_no_text_is_shown_as_missing() {
    assert_eq!(
        text("bell\u{7} \u{1b}[31m \u{0} &#7; `\u{85}` \u{fffe}\ttab"),
        "bell\u{fffd} \u{fffd}[31m \u{fffd} \u{fffd} \u{fffd} \u{fffd}\ttab"
    );
    assert_eq!(
        html("[a&#127;](https://a.example/&#1;)"),
        "<p><a href=\"https://a.example/\u{fffd}\">a\u{fffd}</a></p>"
    );
}

#[test]
fn a_space_in_the_cluster_of_the_sign_before_it_stays_there() {
    assert_eq!(text("year \u{603}\u{2000}"), "year \u{603}\u{2000}");
    // A part does not end there either.
    assert_eq!(texts("a year like \u{600} 1447 and", 16), ["a year like", "\u{600} 1447 and"]);
    let parts = ["any years \u{600}\u{2000}", "like them"];
    assert_eq!(texts(&parts.join(" "), 16), parts);
}

#[test]
fn all_three_line_ends_are_one() {
    let written = "one\ntwo\n\n```\na\n\nb\n```\n\n- item\n  goes on";
    for end in ["\r", "\r\n"] {
        assert_eq!(text(&written.replace('\n', end)), text(written), "{end:?}");
    }
    // As a character reference it is not a line end but an unprintable character.
    assert_eq!(text("a&#13;b"), "a\u{fffd}b");
}

#[test]
fn a_row_and_a_link_stay_on_one_line() {
    assert_eq!(text("[a&#10;b](<https://c.example/&#10;d>)"), "a b (https://c.example/%0Ad)");
    let row = text("| a |\n|---|\n| b&NewLine;c |");
    assert!(row.contains("\nb c\n"), "{row}");
}

#[test]
fn an_unclosed_bracket_does_not_make_a_tiny_part() {
    let parts = texts(&format!("[see {}", "several more words ".repeat(60)), 200);
    assert!(parts[..parts.len() - 1].iter().all(|part| part.len() > 150), "{parts:?}");
}

#[test]
fn a_split_prefers_the_end_of_a_block_when_it_costs_nothing() {
    let markdown = format!("{}\n\n{}", "First paragraph. ".repeat(5), "Second paragraph. ".repeat(6));
    let parts = texts(&markdown, 130);
    assert_eq!(parts.len(), 2);
    assert!(parts[1].starts_with("Second"));
}

#[test]
fn a_heading_goes_with_what_it_heads() {
    let markdown = format!("{}\n\n# Heading\n\n{}", "Words of text. ".repeat(6), "More words. ".repeat(8));
    assert!(texts(&markdown, 120)[1].starts_with("Heading\n\nMore"));
}

#[test]
fn a_link_is_never_cut() {
    let link = "[a label of words](https://example.org/path)";
    let markdown = format!("word {link} ").repeat(20);
    for part in texts(&markdown, 70) {
        assert_eq!(
            part.matches("a label of words (https://example.org/path)").count(),
            part.matches("label").count()
        );
    }
}

#[test]
fn a_link_too_long_for_a_part_becomes_its_label_and_bare_address() {
    let url = format!("https://example.org/{}", "x".repeat(200));
    let flavour = Flavour { limit: Some(100), ..MATRIX };
    let parts = parts(&format!("See [the page]({url}) now."), flavour);
    assert!(!parts.iter().any(|part| part.html.as_ref().unwrap().contains("<a ")));
    let joined: String = parts.iter().map(|part| part.text.as_str()).collect();
    assert!(joined.starts_with("See the page") && joined.contains(&"x".repeat(200)));
}

#[test]
fn an_item_that_is_cut_is_not_marked_twice() {
    let markdown = format!("7. {}\n8. next", "words in an item ".repeat(10));
    let parts = parts(&markdown, Flavour { limit: Some(100), ..MATRIX });
    assert!(
        parts[0].text.starts_with("7. words")
            && parts[0].html.as_ref().unwrap().starts_with("<ol start=\"7\">")
    );
    assert!(parts[1].text.starts_with("   ") && parts[1].html.as_ref().unwrap().starts_with("<p>"));
    assert!(parts[1].html.as_ref().unwrap().ends_with("</p><ol start=\"8\"><li>next</li></ol>"));
}

#[test]
fn a_matrix_event_never_gets_too_large() {
    let flavour = Flavour { limit: Some(60_000), ..MATRIX };
    for markdown in ["*a***b**".repeat(8000), "&".repeat(60_000), "- x\n".repeat(9000)] {
        for part in parts(&markdown, flavour) {
            assert!(part.text.len() + part.html.unwrap().len() <= 60_000);
        }
    }
}

#[test]
fn a_prefix_goes_into_the_first_paragraph_and_is_never_parsed() {
    let decorated = |markdown: &str| {
        let mut document = parse(markdown);
        document.decorate("[*a*, from b] ");
        super::render(&document, &PLAIN).unwrap()[0].text.clone()
    };
    assert_eq!(decorated("Hello **you**"), "[*a*, from b] Hello you");
    assert_eq!(decorated("[x](https://y)"), "[*a*, from b] x (https://y)");
    assert_eq!(decorated("- item"), "[*a*, from b]\n\n- item");
    assert_eq!(decorated("```\ncode\n```"), "[*a*, from b]\n\n```\ncode\n```");
}

#[test]
fn a_headline_is_the_first_visible_line() {
    let headline = |markdown: &str, max| parse(markdown).headline(max);
    assert_eq!(headline("---\n\n# The **title** here\n\ntext", 40), "The title here");
    assert_eq!(headline("several words in a line", 14), "several words…");
    assert_eq!(headline("several words in a line", 13), "several…");
    assert_eq!(headline("unbreakable", 6), "unbre…");
    assert_eq!(headline("", 6), "");
    assert_eq!(headline("long text", 0), "");
}

#[test]
fn blank_documents_have_no_parts() {
    for markdown in ["", "  \n\n", "- \n", "```\n\n```", "[unused]: https://x.example", "|  |\n|--|"] {
        assert!(parse(markdown).is_blank(), "{markdown:?}");
        assert_eq!(super::render(&parse(markdown), &PLAIN), Ok(Vec::new()));
    }
}

#[test]
fn a_limit_without_room_is_an_error() {
    let flavour = Flavour { limit: Some(15), ..PLAIN };
    assert_eq!(
        super::render(&parse("x"), &flavour),
        Err(RenderError::LimitTooSmall { limit: 15, smallest: 16 })
    );
}

#[test]
fn deep_nesting_keeps_its_text() {
    let markdown = format!("{} deep", ">".repeat(5000));
    assert!(text(&markdown).ends_with("deep"));
    let nested: String = (0..60).map(|n| format!("{}- item{n}\n", "  ".repeat(n))).collect();
    let part = &parts(&nested, MATRIX)[0];
    assert!((0..60).all(|n| part.text.contains(&format!("item{n}"))));
    balanced(part.html.as_ref().unwrap()).unwrap();
}

fn markdown() -> impl Strategy<Value = String> {
    let piece = "(# |- |1\\. |> |    |\n|\n\n|```\n|~~~\n|\\*|\\*\\*|_|~~|`|\\[|\\]|\\(|\\)|!\\[|<|>|\\||\\|\\||\
                 \n\\|a\\|b\\|\n\\|-\\|-\\|\n\\|[a-z]{0,40}\\|c\\|\n|\\[x y\\]\\(https://[a-z]{1,40}\\.example\\)|\
                 [a-z]{1,9} |[a-z]{1,60}|[a-z]{2,5}\\. |漢|。|👨‍👩‍👧|e\u{301}|&amp;|\\PC)";
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Text whose letters survive any cut exactly once: no tables, whose headers are repeated.
fn prose() -> impl Strategy<Value = String> {
    let piece = "(# |- |> |\n|\n\n|```\n|\\*|\\*\\*|_|`|\\[x y\\]\\(https://[a-z]{1,60}\\.example\\)|\
                 [a-z]{1,9} |[a-z]{1,90}|[a-z]{2,5}\\. |漢|。|👨‍👩‍👧|e\u{301})";
    proptest::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

/// The letters of all parts. If a part opens a fence again, its language is repeated: it is left out if the letters continue
/// like the `whole` only without it.
fn joined<'a>(parts: impl Iterator<Item = &'a str>, whole: &str) -> String {
    parts.fold(String::new(), |mut joined, part| {
        let goes_on = |said: &str| whole.get(joined.len()..).is_some_and(|rest| rest.starts_with(said));
        let (all, first) = (letters(part), part.lines().next().unwrap_or_default());
        let fence = first.find("```").filter(|_| !goes_on(&all));
        let without = fence.map(|at| letters(&first[..at]) + &letters(&part[first.len()..]));
        joined += without.as_deref().filter(|said| goes_on(said)).unwrap_or(&all);
        joined
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_part_is_over_its_limit_or_unbalanced(
        markdown in markdown(), limit in 16usize..160, unit in 0usize..4, tables in 0usize..4,
    ) {
        let unit = [Unit::Bytes, Unit::CodePoints, Unit::Utf16, Unit::Graphemes][unit];
        let tables = [Tables::Native, Tables::Code, Tables::Bullets, Tables::Plain][tables];
        let flavour = Flavour { markup: Markup::Html(Dialect::Email), limit: Some(limit), unit, tables };
        let document = parse(&markdown);
        // The label of a spoiler takes room.
        let limit = if document.has_spoilers() { limit.max(MIN_MARKED_LIMIT_UNITS) } else { limit };
        let flavour = Flavour { limit: Some(limit), ..flavour };
        let parts = super::render(&document, &flavour).unwrap();
        prop_assert_eq!(parts.is_empty(), document.is_blank());
        for part in parts {
            prop_assert!(part.units <= limit, "{} over {limit}: {:?}", part.units, part.text);
            prop_assert_eq!(part.units, unit.count(&part.text));
            prop_assert!(!part.text.trim().is_empty());
            prop_assert!(!part.shown.trim().is_empty());
            balanced(&part.html.unwrap()).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn the_parts_joined_are_the_whole_text(markdown in prose(), limit in 64usize..200) {
        let document = parse(&markdown);
        let whole = super::render(&document, &PLAIN).unwrap();
        let whole: String = whole.iter().map(|part| letters(&part.text)).collect();
        let parts = super::render(&document, &Flavour { limit: Some(limit), ..MATRIX }).unwrap();
        prop_assert_eq!(&joined(parts.iter().map(|part| part.text.as_str()), &whole), &whole);
        prop_assert_eq!(&joined(parts.iter().map(|part| part.shown.as_str()), &whole), &whole);
        for part in parts.iter().filter(|part| !part.text.contains("https")) {
            let html = letters(&stripped(part.html.as_ref().unwrap()));
            // HTML leaves out a language that is not a plain name.
            let lines = part.text.lines().map(|line| line.find("```").map_or(line, |fence| &line[..fence]));
            prop_assert!(html == letters(&part.text) || html == letters(&lines.collect::<String>()));
        }
    }

    #[test]
    fn any_text_is_a_document(markdown in "\\PC{0,200}", max in 0usize..40) {
        let mut document = parse(&markdown);
        prop_assert!(document.headline(max).chars().count() <= max);
        document.decorate("x ");
        prop_assert!(super::render(&document, &MATRIX).is_ok());
    }
}
