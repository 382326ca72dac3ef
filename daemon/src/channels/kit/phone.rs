//! Phone numbers, in the one form that is a number everywhere: ITU-T E.164.
//!
//! A platform may read a spelling that this does not take, and reach somebody by it: what is no number here is an address of
//! nobody, so that a list of numbers cannot be evaded by writing one otherwise.

use std::ops::RangeInclusive;

/// The longest number, and the shortest that is one with its country.
const DIGITS: RangeInclusive<usize> = 7..=15;

/// Countries in which no number goes on with a 0 behind the code: it is what is dialled within the country. Italy (39), Ivory
/// Coast (225) and some others keep it. ITU-T E.164, list of assigned country codes; those whose `nationalPrefix` is 0 in
/// <https://github.com/google/libphonenumber/blob/master/resources/PhoneNumberMetadata.xml>, and in which none begins with it.
const NO_ZERO: &[&str] = &[
    "1", "7", "20", "27", "30", "31", "32", "33", "34", "36", "40", "41", "43", "44", "45", "46", "47", "48",
    "49", "51", "52", "53", "54", "55", "56", "57", "58", "60", "61", "62", "63", "64", "65", "66", "81",
    "82", "84", "86", "90", "91", "92", "93", "94", "95", "98", "211", "212", "213", "218", "231", "232",
    "233", "234", "243", "249", "250", "251", "252", "254", "255", "256", "260", "261", "262", "263", "264",
    "265", "291", "353", "355", "358", "359", "370", "373", "374", "377", "380", "381", "382", "383", "385",
    "386", "387", "389", "421", "423", "508", "590", "591", "593", "594", "595", "596", "598", "686", "850",
    "855", "856", "880", "886", "961", "962", "963", "964", "966", "967", "970", "971", "972", "976", "977",
    "994", "995", "996",
];

/// The most digits of a number, with its code, in countries where something else than a 0 may stand before it (`+1 1 555…`,
/// `+7 8 916…`, a carrier's code): what parses numbers takes that away (`nationalPrefixForParsing` in the same file).
const MAX_DIGITS: &[(&str, usize)] = &[
    ("1", 11),
    ("7", 11),
    ("52", 13),
    ("54", 13),
    ("55", 13),
    ("241", 11),
    ("298", 9),
    ("370", 11),
    ("375", 12),
    ("506", 13),
    ("692", 10),
    ("993", 11),
];

/// Carriers' codes that no number begins with, and San Marino's numbers without its 0549: they are taken away, or put in.
const NO_NUMBER: &[&str] = &["35215", "611831", "611832", "3788", "3789"];

/// Mobile numbers that are dialled with and without a digit: the country's code, behind how many digits it stands, and which it
/// is. Without it a number has twelve digits.
const OPTIONAL: &[(&str, usize, char)] = &[("52", 2, '1'), ("54", 2, '9'), ("55", 4, '9')];

/// The digits of a number that begins with its country's code, without the `+`. Spaces, hyphens and pairs of brackets may stand
/// between them; a `(0)` may not, nor the 0 for calls within the country.
pub(in crate::channels) fn digits(text: &str) -> Option<String> {
    let compact: String = text.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
    let digits: String = compact.chars().filter(|c| !matches!(c, '(' | ')')).collect();
    let is_one = DIGITS.contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit())
        && !digits.starts_with('0')
        && !compact.contains("(0)")
        && !NO_ZERO.iter().any(|code| digits.strip_prefix(code).is_some_and(|rest| rest.starts_with('0')))
        && !MAX_DIGITS.iter().any(|(code, most)| digits.starts_with(code) && digits.len() > *most)
        && !NO_NUMBER.iter().any(|begin| digits.starts_with(begin));
    is_one.then_some(digits)
}

/// Whether Mexico's, Argentina's and Brazil's numbering plans have numbers of this form; of any other country, yes.
pub(in crate::channels) fn is_planned(digits: &str) -> bool {
    OPTIONAL.iter().find(|(code, ..)| digits.starts_with(code)).is_none_or(|(_, at, digit)| {
        digits.len() == 12 || digits.len() == 13 && digits[*at..].starts_with(*digit)
    })
}

/// A person's number as people are known by it on every platform of numbers: `+`, and the one of its forms that stands for both where it
/// is dialled with and without a digit. Mexico's 1 and Argentina's 9 are left out before ten digits. Brazil's 9 is put before eight digits
/// of which the first is 6 to 9: such were mobile numbers before they got it, and 2 to 5 are landlines
/// (<https://arquivo.jmais.com.br/?p=38805>). A number that its country's plan does not have stays as it is.
pub(in crate::channels) fn person(number: &str) -> Option<String> {
    let digits = digits(number.strip_prefix('+').unwrap_or(number))?;
    Some(format!("+{}", one_form(&digits).unwrap_or(digits)))
}

/// The form of a number that stands for both of those in which it is dialled; nothing where its country's plan has no such number.
pub(in crate::channels) fn one_form(digits: &str) -> Option<String> {
    is_planned(digits).then(|| {
        match digits.get(..2) {
            Some("52" | "54") if digits.len() == 13 => other_form(digits),
            Some("55") if digits.len() == 12 && matches!(digits.as_bytes()[4], b'6'..=b'9') => {
                other_form(digits)
            }
            _ => None,
        }
        .unwrap_or_else(|| digits.to_owned())
    })
}

/// The other form of a number that is dialled with and without a digit, if it may be such a number.
pub(in crate::channels) fn other_form(digits: &str) -> Option<String> {
    let (_, at, digit) = OPTIONAL.iter().find(|(code, ..)| digits.starts_with(code))?;
    let (head, rest) = digits.split_at_checked(*at)?;
    match digits.len() {
        12 => Some(format!("{head}{digit}{rest}")),
        13 => rest.strip_prefix(*digit).map(|rest| format!("{head}{rest}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_spelling_and_what_is_dialled_within_a_country_is_none() {
        for given in ["4915112345678", "49 151 1234-5678", "49 (151) 12345678"] {
            assert_eq!(digits(given).as_deref(), Some("4915112345678"), "{given}");
        }
        // Rome, and Abidjan since 2021.
        for keeps in ["390612345678", "2250712345678"] {
            assert_eq!(digits(keeps).as_deref(), Some(keeps));
        }
        for wrong in [
            "49(0)15112345678",
            "49 ( 0 ) 15112345678",
            "49015112345678",
            "440207123456",
            "015112345678",
            "004915112345678",
            "49.151.12345678",
            "123456",
            "1234567890123456",
            "",
            "+4915112345678",
            "4915112345678x",
            "٤٩١٥١١٢٣٤٥٦٧٨",
            // A parser of numbers takes the 0, the 1, the 8 and the carrier's code away.
            "3530871234567",
            "9710501234567",
            "115551234567",
            "789161234567",
            "3758291234567",
            "352150612345",
            "54111512345678",
        ] {
            assert_eq!(digits(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_number_that_is_dialled_with_and_without_a_digit_has_another_form() {
        for (one, other) in [
            ("5215512345678", "525512345678"),
            ("5491112345678", "541112345678"),
            ("5511987654321", "551187654321"),
            ("5511923456789", "551123456789"),
        ] {
            assert_eq!(other_form(one).as_deref(), Some(other));
            assert_eq!(other_form(other).as_deref(), Some(one));
            assert!(is_planned(one) && is_planned(other));
        }
        for odd in ["5245512345678", "5421112345678", "5551287654321", "52551234567"] {
            assert_eq!((other_form(odd), is_planned(odd)), (None, false), "{odd}");
        }
        assert_eq!((other_form("4915112345678"), is_planned("4915112345678")), (None, true));
    }
}
