//! What of a turn is spoken: the words that the runner gives for that, else the text as it reads without its marks.

use super::{Response, blocks, quiet};
use crate::voice;

/// The words to be spoken, if a voice was asked for and there are any. `text` is the turn's own, as it is sent.
pub(super) fn words(response: &Response, text: Option<&str>, quiet: &[String]) -> Option<String> {
    if !response.voice_requested {
        return None;
    }
    match response.voice_text.trim() {
        "" => voice::words_of(text?),
        words => quiet::without_tokens(&blocks::without_internal(words), quiet),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoken(requested: bool, voice_text: &str, text: Option<&str>) -> Option<String> {
        let response =
            Response { voice_requested: requested, voice_text: voice_text.into(), ..Response::default() };
        words(&response, text, &["NO_REPLY".to_owned()])
    }

    #[test]
    fn the_words_given_are_spoken_and_else_the_text_without_its_marks() {
        assert_eq!(spoken(true, " Hello. ", Some("Text.")).as_deref(), Some("Hello."));
        assert_eq!(spoken(true, " ", Some("It is **green**.")).as_deref(), Some("It is green."));
        assert_eq!(spoken(false, "Hello.", Some("Text.")), None);
        assert_eq!(spoken(true, "", None), None);
    }

    #[test]
    fn quiet_words_and_what_is_internal_are_not_spoken() {
        assert_eq!(spoken(true, "NO_REPLY", Some("Text.")), None);
        assert_eq!(spoken(true, "Hi.<internal>or not</internal>", None).as_deref(), Some("Hi."));
    }
}
