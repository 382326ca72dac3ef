//! Our own Markdown, the set-up of a channel, as plain text for a terminal.
//!
//! It knows what those documents use: headings, fences, emphasis, code spans, and links. It reads line by line, since a link or an
//! emphasis in them does not cross a line; the test over all of them finds one that does.

/// How far a block of code is indented.
const INDENT: &str = "    ";

/// The document without its marks: a heading underlined, a block indented, a link as its text and its address.
pub(super) fn for_terminal(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut in_block = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continue;
        }
        if in_block {
            push_line(&mut text, if line.is_empty() { "" } else { INDENT }, line);
            continue;
        }
        let title = line.trim_start_matches('#');
        if title.len() < line.len() && title.starts_with(' ') {
            let (title, is_first) = (inline(title.trim()), line.starts_with("# "));
            push_line(&mut text, "", &title);
            push_line(&mut text, "", &(if is_first { "=" } else { "-" }).repeat(title.chars().count()));
            continue;
        }
        push_line(&mut text, "", &inline(line));
    }
    text.truncate(text.trim_end().len());
    text
}

fn push_line(text: &mut String, indent: &str, line: &str) {
    text.push_str(indent);
    text.push_str(line);
    text.push('\n');
}

/// A line without marks. Code spans keep theirs, since they say where what is to be typed ends.
fn inline(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for (number, piece) in line.split('`').enumerate() {
        if number > 0 {
            text.push('`');
        }
        match number % 2 {
            0 => text.push_str(&piece.replace("**", "").replace("<https://", "https://").replace('>', "")),
            _ => text.push_str(piece),
        }
    }
    unlinked(&text)
}

/// `[text](address)` as `text (address)`; a link within the repository leads nowhere here, and is its text.
fn unlinked(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, link)) = rest.split_once('[') {
        let parts = link.split_once("](").and_then(|(label, behind)| Some((label, behind.split_once(')')?)));
        match parts.filter(|(label, _)| !label.contains(['[', ']'])) {
            Some((label, (address, after))) => {
                text.extend([before, label]);
                if address.starts_with("https://") {
                    text.extend([" (", address, ")"]);
                }
                rest = after;
            }
            None => {
                text.extend([before, "["]);
                rest = link;
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::registry::KINDS;

    #[test]
    fn marks_go_and_what_is_to_be_typed_stays() {
        let markdown = "# ntfy: a `topic`\n\n## 1. At\n\n1. See **[the\u{20}docs](https://a.test/x)** and [there](../b.md).\n2. `a**b` <https://c.test>\n\n```sh\ncat x > y\n\nls **\n```\n";
        let wanted = "ntfy: a `topic`\n===============\n\n1. At\n-----\n\n1. See the docs (https://a.test/x) and there.\n2. `a**b` https://c.test\n\n    cat x > y\n\n    ls **";
        assert_eq!(for_terminal(markdown), wanted);
        assert_eq!(inline("an array [1] and [x"), "an array [1] and [x");
    }

    #[test]
    fn no_mark_is_left_in_the_setup_of_any_channel() {
        for kind in KINDS {
            let shown = for_terminal(kind.setup);
            let prose = shown.lines().filter(|line| !line.starts_with(INDENT));
            for line in prose {
                let bare: String = line.split('`').step_by(2).collect();
                for mark in ["**", "](", "```", "<http", "# "] {
                    assert!(!bare.contains(mark), "{}: {line}", kind.name);
                }
            }
            // What is copied from there is whole.
            for line in kind.setup.lines().filter(|line| line.starts_with("[channels.")) {
                assert!(shown.contains(&format!("{INDENT}{line}\n")), "{line}");
            }
        }
    }
}
