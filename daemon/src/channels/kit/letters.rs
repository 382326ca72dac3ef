//! What there is to read in a name. Two that a reader takes for the same are the same here, though their signs are others: whoever has
//! the plain spelling of somebody's name must not be found alone.
//!
//! A sign may be read in several ways: `™` is a picture or two letters, `ü` is a `u` or a `ue`. So a name has several readings, and two
//! names are the same if one of them is. To take too much for the same is safe, for then nobody is written to by the name.
//!
//! Left out: Latin letters that look like each other (`l` and `I`, `rn` and `m`), and scripts of which few letters look like Latin ones.

use icu_normalizer::DecomposingNormalizerBorrowed;

/// Marks that are kept until it is said what letter they make: those of `ü` and `å`.
const DIAERESIS: char = '\u{308}';
const RING: char = '\u{30a}';
/// What makes a keycap of a digit (<https://www.unicode.org/reports/tr51/#def_emoji_keycap_sequence>), and what may stand before it.
const KEYCAP: char = '\u{20e3}';
const AS_PICTURE: char = '\u{fe0f}';
/// Letters that nobody sees, by the property Default_Ignorable_Code_Point
/// (<https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt>); two more become one of them.
const UNSEEN: [char; 4] = ['\u{115f}', '\u{1160}', '\u{17b4}', '\u{17b5}'];
/// Letters on a dark ground, which are in the order of the alphabet: in circles and in squares.
const ON_DARK: [u32; 2] = [0x1f150, 0x1f170];

/// Small letters with a stroke, of two, in the form of capitals, and of other scripts, and the Latin ones for which they are taken. Greek
/// and Cyrillic ones look so as capitals, or as small letters (<https://www.unicode.org/reports/tr39/#Confusable_Detection>, `confusables.txt`).
const LOOK_ALIKES: [(char, &str); 82] = [
    ('æ', "ae"),
    ('œ', "oe"),
    ('þ', "th"),
    ('ð', "d"),
    ('đ', "d"),
    ('ħ', "h"),
    ('ł', "l"),
    ('ŋ', "n"),
    ('ŧ', "t"),
    ('ƀ', "b"),
    ('ɨ', "i"),
    ('ʉ', "u"),
    ('ƶ', "z"),
    ('ɡ', "g"),
    ('ɑ', "a"),
    ('ᴀ', "a"),
    ('ʙ', "b"),
    ('ᴄ', "c"),
    ('ᴅ', "d"),
    ('ᴇ', "e"),
    ('ꜰ', "f"),
    ('ɢ', "g"),
    ('ʜ', "h"),
    ('ɪ', "i"),
    ('ᴊ', "j"),
    ('ᴋ', "k"),
    ('ʟ', "l"),
    ('ᴍ', "m"),
    ('ɴ', "n"),
    ('ᴏ', "o"),
    ('ᴘ', "p"),
    ('ʀ', "r"),
    ('ꜱ', "s"),
    ('ᴛ', "t"),
    ('ᴜ', "u"),
    ('ᴠ', "v"),
    ('ᴡ', "w"),
    ('ʏ', "y"),
    ('ᴢ', "z"),
    ('α', "a"),
    ('β', "b"),
    ('ε', "e"),
    ('ζ', "z"),
    ('η', "h"),
    ('ι', "i"),
    ('κ', "k"),
    ('μ', "m"),
    ('ν', "n"),
    ('ο', "o"),
    ('ρ', "p"),
    ('τ', "t"),
    ('υ', "y"),
    ('χ', "x"),
    ('ϳ', "j"),
    ('а', "a"),
    ('в', "b"),
    ('г', "r"),
    ('ԁ', "d"),
    ('е', "e"),
    ('һ', "h"),
    ('і', "i"),
    ('ј', "j"),
    ('к', "k"),
    ('ӏ', "l"),
    ('м', "m"),
    ('н', "h"),
    ('о', "o"),
    ('п', "n"),
    ('р', "p"),
    ('ԛ', "q"),
    ('с', "c"),
    ('ѕ', "s"),
    ('т', "t"),
    ('у', "y"),
    ('ү', "y"),
    ('ѵ', "v"),
    ('ԝ', "w"),
    ('х', "x"),
    ('ѡ', "w"),
    ('օ', "o"),
    ('ս', "u"),
    ('հ', "h"),
];

/// The ways in which a name may be read, each once; none without a letter or a digit.
pub(super) fn readings(name: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |reading: String| {
        if !reading.is_empty() && !all.contains(&reading) {
            all.push(reading);
        }
    };
    add(reading(name, false));
    if !name.is_ascii() {
        let without = without_pictures(name);
        add(reading(name, true));
        add(reading(&without, false));
        add(reading(&without, true));
    }
    all
}

/// The letters and digits, each in the one form of those that look alike (<https://www.unicode.org/reports/tr15/>, NFKD), small. In capitals
/// first: there `ß` is `SS`, and both forms of sigma are one. Where a language writes `ue` for `ü`, it is read as that if `spelt_out`.
fn reading(name: &str, spelt_out: bool) -> String {
    let decomposed = DecomposingNormalizerBorrowed::new_nfkd().normalize(name);
    let is_read = |c: &char| c.is_alphanumeric() && !UNSEEN.contains(c) || matches!(*c, DIAERESIS | RING);
    let letters: String = decomposed.chars().map(off_dark).filter(is_read).collect();
    let mut read = String::with_capacity(letters.len());
    for letter in letters.to_uppercase().to_lowercase().chars() {
        match letter {
            DIAERESIS if spelt_out && read.ends_with(['a', 'o', 'u']) => read.push('e'),
            RING if spelt_out && read.ends_with('a') => read.push('a'),
            DIAERESIS | RING => {}
            'ø' => read.push_str(if spelt_out { "oe" } else { "o" }),
            other => match LOOK_ALIKES.iter().find(|(one, _)| *one == other && !other.is_ascii()) {
                Some((_, latin)) => read.push_str(latin),
                None => read.push(other),
            },
        }
    }
    read
}

/// A letter on a dark ground as the letter.
fn off_dark(letter: char) -> char {
    let of = |first: &u32| {
        let at = u32::from(letter).checked_sub(*first).filter(|at| *at < 26)?;
        char::from_u32(u32::from('a') + at)
    };
    ON_DARK.iter().find_map(of).unwrap_or(letter)
}

fn without_pictures(name: &str) -> String {
    let mut left = String::with_capacity(name.len());
    let mut rest = name.chars();
    while let Some(sign) = rest.next() {
        let mut behind = rest.clone().skip_while(|next| *next == AS_PICTURE);
        let is_keycap = sign.is_ascii_digit() && behind.next() == Some(KEYCAP);
        if !is_keycap && !is_picture(sign) {
            left.push(sign);
        }
    }
    left
}

/// Whether it is one of the emoji in which a letter or a digit stands
/// (<https://www.unicode.org/Public/UCD/latest/ucd/emoji/emoji-data.txt>, `Emoji`).
const fn is_picture(sign: char) -> bool {
    matches!(
        sign,
        '\u{2122}'
            | '\u{2139}'
            | '\u{24c2}'
            | '\u{3297}'
            | '\u{3299}'
            | '\u{1f170}'
            | '\u{1f171}'
            | '\u{1f17e}'
            | '\u{1f17f}'
            | '\u{1f18e}'
            | '\u{1f191}'..='\u{1f19a}'
            | '\u{1f201}'
            | '\u{1f202}'
            | '\u{1f21a}'
            | '\u{1f22f}'
            | '\u{1f232}'..='\u{1f23a}'
            | '\u{1f250}'
            | '\u{1f251}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        let other = readings(other);
        readings(one).iter().any(|reading| other.contains(reading))
    }

    #[test]
    fn pictures_with_letters_in_them_and_letters_that_nobody_sees_are_not_read() {
        for name in [
            "Ann Lee ™️",
            "Ann Lee™",
            "Ann Lee ℹ️",
            "Ann Lee Ⓜ️",
            "Ann Lee 🅰️",
            "Ann Lee 🆎🆗",
            "Ann Lee ㊗️㊙️",
            "Ann Lee 🈁🈂️🈚🈯🈲🈺🉐🉑",
            "Ann Lee 1️⃣",
            "Ann Lee 1⃣",
            "Ann \u{3164}Lee",
            "Ann\u{115f}Lee\u{1160}",
            "Ann Lee\u{ffa0}",
        ] {
            assert!(same(name, "ann lee"), "{name}: {:?}", readings(name));
        }
        assert!(same("🅰🅽🅽", "Ann") && same("Ⓐⓝⓝ", "Ann") && same("Room 1️⃣", "room 1"));
        assert!(!same("Ann 1", "Ann") && !same("Ann Lee M", "Ann Lee"));
        assert!(readings("\u{3164}™️").iter().all(|reading| reading == "tm"), "{:?}", readings("™️"));
    }

    #[test]
    fn letters_that_look_like_others_are_those() {
        for (name, plain) in [
            ("Łukasz", "lukasz"),
            ("Søren", "Soren"),
            ("Søren", "Soeren"),
            ("Đorđe", "dorde"),
            ("Þór", "Thor"),
            ("Æsa", "aesa"),
            ("Müller", "Mueller"),
            ("Mu\u{308}ller", "Muller"),
            ("MÜLLER", "mueller"),
            ("Åse", "Aase"),
            ("Åse", "Ase"),
            ("ᴀɴɴ ʟᴇᴇ", "Ann Lee"),
            ("\u{410}nn", "Ann"),
            ("\u{391}nn", "ann"),
            ("\u{420}\u{430}ul", "paul"),
        ] {
            assert!(same(name, plain) && same(plain, name), "{name} {plain}: {:?}", readings(name));
        }
        for (one, other) in [("Мария", "Марина"), ("Νίκος", "Νίκη"), ("Anna", "Ann"), ("Moller", "Mueller")]
        {
            assert!(!same(one, other), "{one} {other}");
        }
        assert!(same("ΝΊΚΟΣ", "Νίκος") && same("МАРИЯ", "Мария"));
    }

    #[test]
    fn each_look_alike_is_a_small_letter_that_is_found() {
        for (letter, latin) in LOOK_ALIKES {
            assert_eq!(reading(&letter.to_string(), false), latin, "{letter} {:x}", u32::from(letter));
        }
    }
}
