//! Reactions, which Messages keeps as rows of their own: `associated_message_type` is 2000 and more where one is given, 3000 and more
//! where it is taken back.

/// The signs of 2000 to 2005, by the names that BlueBubbles has for them (`databases/transformers/MessageTypeTransformer.ts` at 073ab73).
const SIGNS: [(&str, &str); 6] = [
    ("love", "❤️"),
    ("like", "👍"),
    ("dislike", "👎"),
    ("laugh", "😂"),
    ("emphasize", "‼️"),
    ("question", "❓"),
];
/// Any other sign, and a sticker, since macOS 15 and 14.
const EMOJI: i64 = 6;
const STICKER: i64 = 7;
/// The first sign of Unicode that an emoji begins with, but for the twelve that are digits and punctuation.
const FIRST_EMOJI: char = '\u{203c}';
/// The longest that one is.
const MAX_EMOJI_CHARS: usize = 16;

/// A reaction of this type, a name or a number, and whether it is taken back; nothing if it is none. Which emoji it is where it is none
/// of the six, nothing but the text says that older devices show: `Reacted 🎉 to “…”`.
pub(super) fn read(kind: &str, text: &str) -> Option<(String, bool)> {
    let (name, removed) = kind.strip_prefix('-').map_or((kind, false), |name| (name, true));
    if let Some((_, sign)) = SIGNS.iter().find(|(known, _)| *known == name) {
        return Some(((*sign).to_owned(), removed));
    }
    let number: i64 = kind.parse().ok().filter(|number| (2000..4000).contains(number))?;
    let (which, removed) = (number % 1000, number >= 3000);
    let sign = match usize::try_from(which).ok().and_then(|which| SIGNS.get(which)) {
        Some((_, sign)) => (*sign).to_owned(),
        None if which == EMOJI => emoji(text).unwrap_or("emoji").to_owned(),
        None if which == STICKER => "sticker".to_owned(),
        None => return None,
    };
    Some((sign, removed))
}

fn emoji(text: &str) -> Option<&str> {
    let is_one = |word: &&str| {
        word.starts_with(|first| first >= FIRST_EMOJI)
            && word.chars().count() <= MAX_EMOJI_CHARS
            && !word.contains(char::is_alphabetic)
    };
    text.split_whitespace().find(is_one)
}

/// The GUID in what a reaction names: `p:0/GUID` for a part of a message, `bp:GUID` for what has its own look.
pub(super) fn target(named: &str) -> &str {
    named.rsplit(['/', ':']).next().unwrap_or(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reaction_is_a_sign_given_or_taken_back() {
        for (kind, text, is) in [
            ("love", "", Some(("❤️", false))),
            ("-laugh", "", Some(("😂", true))),
            ("2001", "", Some(("👍", false))),
            ("3005", "", Some(("❓", true))),
            ("2006", "Reacted 🎉 to “a 🌧 day”", Some(("🎉", false))),
            ("3006", "Hat 👩‍👩‍👧 von „x“ entfernt", Some(("👩‍👩‍👧", true))),
            ("2006", "", Some(("emoji", false))),
            ("2007", "", Some(("sticker", false))),
            ("2008", "", None),
            ("4000", "", None),
            ("sticker", "", None),
            ("", "", None),
        ] {
            assert_eq!(
                read(kind, text),
                is.map(|(sign, removed)| (sign.to_owned(), removed)),
                "{kind} {text}"
            );
        }
        for named in ["p:0/A-1", "bp:A-1", "A-1"] {
            assert_eq!(target(named), "A-1");
        }
    }
}
