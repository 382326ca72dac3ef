//! Words from outside on one line, without signs that hide or that change how the rest is read.

/// Controls, and what has no width or turns the direction of what follows.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// The beginning of a text on one line, of at most so many characters; an ellipsis after them says that there is more. White space of
/// any kind is one space.
pub fn one_line(text: &str, most: usize) -> String {
    // What is cut off is not gone through: a text may be long, and is white space in part.
    let plain = text.chars().filter(|c| c.is_whitespace() || !is_hidden(*c)).take(most.saturating_mul(4));
    let plain: String = plain.collect();
    let mut line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(most) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Markdown that shows these very signs: CommonMark takes a backslash before any ASCII punctuation for "as it is"
/// (<https://spec.commonmark.org/0.31.2/#backslash-escapes>).
pub fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(2 * text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            literal.push('\\');
        }
        literal.push(c);
    }
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_bounded_and_as_it_reads() {
        assert_eq!(one_line("a\n\x1b[31mb\t c ", 300), "a [31mb c");
        assert_eq!(one_line(&"ä".repeat(999), 300).chars().count(), 301);
        assert_eq!(one_line("a\u{202e}b\u{200b}c\u{2028}d\u{3164}", 9), "abc d");
        assert_eq!(one_line("four", 4), "four");
    }
}
