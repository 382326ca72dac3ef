//! "Did you mean": for unknown parameters and keys.

/// The known word that a misspelt one most likely stands for.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(40).collect();
    // A slip in every third letter is a misspelling; more is another word.
    let slips = (word.chars().count() / 3).max(1);
    known
        .map(|candidate| (strsim::damerau_levenshtein(&word, candidate), candidate))
        .filter(|(distance, _)| *distance <= slips)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_answered_and_another_word_is_not() {
        let known = || ["message", "channel", "hub"].into_iter();
        assert_eq!(nearest("mesage", known()), Some("message"));
        assert_eq!(nearest("hbu", known()), Some("hub"));
        assert_eq!(nearest("pigeon", known()), None);
    }
}
