//! What is sent of a file of `daemon/web`: the same text without what only its readers need.
//!
//! `build.rs` makes it once, so that the program holds what is sent and nothing else. `tests/web/hub/served.mjs` is the same rule for the
//! page's own tests, which compare both byte by byte; it says what a file must keep to for this to be safe: no text over several lines,
//! every statement with its semicolon, no comment behind code, no operator in a text.

/// The text as it is sent, of the file with this name.
pub(crate) fn served(name: &str, text: &str) -> String {
    match name.rsplit_once('.') {
        Some((_, "js")) => script(text),
        Some((_, "css")) => style(text),
        _ => lines(text, |_| true),
    }
}

/// What is sent for these. No text between quotes has them.
const OPERATORS: [(&str, &str); 9] = [
    (" => ", "=>"),
    (" === ", "==="),
    (" !== ", "!=="),
    (" && ", "&&"),
    (" || ", "||"),
    (" ?? ", "??"),
    (" ? ", "?"),
    (" : ", ":"),
    (") {", "){"),
];

/// Without comments, indentation, empty lines, line ends beside a bracket, after a comma and after a semicolon, and spaces about operators.
fn script(text: &str) -> String {
    let code = without_comments(text, "/**", true);
    let mut code = lines(&code, |line| !line.starts_with("//"));
    for (spaced, tight) in OPERATORS {
        code = code.replace(spaced, tight);
    }
    let mut short = String::with_capacity(code.len());
    let mut rest = code.chars().peekable();
    while let Some(char) = rest.next() {
        let opens = short.ends_with([',', ';', '(', '{', '[']);
        let closes = matches!(rest.peek(), Some(')' | ']' | '}'));
        if char != '\n' || !(opens || closes) {
            short.push(char);
        }
    }
    short
}

/// Without comments, line ends, spaces beside punctuation, and the last semicolon of a rule.
fn style(text: &str) -> String {
    let mut rules = without_comments(text, "/*", false);
    for (spaced, tight) in [(": ", ":"), ("; ", ";"), (", ", ","), ("{ ", "{"), (" {", "{"), (" }", "}")] {
        rules = rules.replace(spaced, tight);
    }
    lines(&rules, |_| true).replace('\n', "").replace(";}", "}")
}

/// The lines that are not empty and wanted, without what they are indented by.
fn lines(text: &str, wanted: impl Fn(&str) -> bool) -> String {
    let kept = text.split_inclusive('\n').map(str::trim_start);
    kept.filter(|line| !line.is_empty() && wanted(line)).collect()
}

/// Without the comments that begin so; with `and_space`, without one space behind each.
fn without_comments(text: &str, begin: &str, and_space: bool) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once(begin) {
        let Some((_, after)) = comment.split_once("*/") else { break };
        kept.push_str(before);
        rest = if and_space { after.strip_prefix(' ').unwrap_or(after) } else { after };
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_script_its_comments_and_its_indentation_are_left_out() {
        let text = "// A head.\n\n/** @param {number} n\n * more */\nexport function twice(n) {\n  // It doubles.\n  return double(/** \
                    @type {number} */ (n), [\n    1,\n    2\n  ]);\n}\nconst url = \"https://x\";\nnext\n  .then();\n";
        let short =
            "export function twice(n){return double((n), [1,2]);}\nconst url = \"https://x\";next\n.then();";
        assert_eq!(served("twice.js", text), short);
    }

    #[test]
    fn of_a_style_sheet_and_of_the_rest_no_less_and_no_more() {
        let text = "/* A head. */\nmain > p, a:hover {\n  margin: 0 auto;\n  color: red;\n}\n@media (width < 9px) {\n  b { top: 1px }\n}\n";
        assert_eq!(
            served("page.css", text),
            "main > p,a:hover{margin:0 auto;color:red}@media (width < 9px){b{top:1px}}"
        );
        assert_eq!(served("index.html", "<p>\n\n  A b\n</p>\n"), "<p>\nA b\n</p>\n");
    }

    #[test]
    fn a_comment_without_an_end_is_none() {
        assert_eq!(served("open.js", "a();/** b\n"), "a();/** b\n");
    }
}
