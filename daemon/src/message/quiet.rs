//! Tokens by which an agent says that there is nothing to say.
//!
//! A text that is nothing but such a token is not sent; one at either end of a text is taken off, for elsewhere
//! HEARTBEAT_OK reached people.

/// Around a token, what models put there: marks of Markdown, quotes, a full stop.
const AROUND: &[char] = &['*', '_', '`', '~', '"', '\'', '.', '!'];

/// The text without the tokens at its ends; nothing, where nothing is left. Takes time in proportion to the text: what is taken
/// off is never looked at again.
pub fn without_tokens(text: &str, tokens: &[String]) -> Option<String> {
    let mut rest = text.trim();
    let mut taken_off = false;
    while let Some(shorter) = tokens.iter().find_map(|token| without(rest, token)) {
        rest = shorter.trim();
        taken_off = true;
    }
    // Once, and not for each token: what stands around may be long.
    let bare = rest.trim_matches(AROUND);
    let nothing =
        bare.is_empty() && (taken_off || rest.is_empty()) || tokens.iter().any(|token| bare == token);
    (!nothing).then(|| rest.to_owned())
}

/// The text without `token` at one of its ends, where it stands as a word of its own.
fn without<'a>(text: &'a str, token: &str) -> Option<&'a str> {
    if token.is_empty() {
        return None;
    }
    let own_word = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    if let Some(after) = text.strip_prefix(token).filter(|after| own_word(after.chars().next())) {
        return Some(after);
    }
    text.strip_suffix(token).filter(|before| own_word(before.chars().next_back()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoken(text: &str) -> Option<String> {
        without_tokens(text, &["NO_REPLY".to_owned(), "HEARTBEAT_OK".to_owned()])
    }

    #[test]
    fn a_token_alone_says_nothing() {
        for text in [
            "NO_REPLY",
            " HEARTBEAT_OK\n",
            "**HEARTBEAT_OK**",
            "`NO_REPLY`.",
            "NO_REPLY!!!",
            "HEARTBEAT_OK NO_REPLY",
            "",
        ] {
            assert_eq!(spoken(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_token_at_an_end_is_taken_off_and_one_within_is_text() {
        assert_eq!(spoken("All is well.\n\nHEARTBEAT_OK").as_deref(), Some("All is well."));
        assert_eq!(spoken("NO_REPLY\nBut: the door is open").as_deref(), Some("But: the door is open"));
        for text in ["NO_REPLYING is a word", "Say HEARTBEAT_OK if all is well", "MY_NO_REPLY"] {
            assert_eq!(spoken(text).as_deref(), Some(text));
        }
        assert_eq!(spoken("!!!").as_deref(), Some("!!!"));
        assert_eq!(without_tokens("NO_REPLY", &[]).as_deref(), Some("NO_REPLY"));
    }
}
