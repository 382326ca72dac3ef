//! Phone numbers, in the one form that is a number everywhere: ITU-T E.164.
//!
//! A platform may read a spelling that this does not take, and reach somebody by it: what is no number here is an address of
//! nobody, so that a list of numbers cannot be evaded by writing one otherwise.

use std::ops::RangeInclusive;

/// The longest number, and the shortest that is one with its country.
const DIGITS: RangeInclusive<usize> = 7..=15;

/// Countries with a code of one or two digits (ITU-T E.164, list of assigned country codes) in which no number goes on with a 0
/// behind the code: it is what is dialled within the country. Italy (39) keeps it, and so do some with three digits.
const NO_ZERO: &[&str] = &[
    "1", "7", "20", "27", "30", "31", "32", "33", "34", "36", "40", "41", "43", "44", "45", "46", "47", "48",
    "49", "51", "52", "53", "54", "55", "56", "57", "58", "60", "61", "62", "63", "64", "65", "66", "81",
    "82", "84", "86", "90", "91", "92", "93", "94", "95", "98",
];

/// The digits of a number that begins with its country's code, without the `+`. Spaces, hyphens and pairs of brackets may stand
/// between them; a `(0)` may not, nor the 0 for calls within the country.
pub(super) fn digits(text: &str) -> Option<String> {
    let compact: String = text.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
    let digits: String = compact.chars().filter(|c| !matches!(c, '(' | ')')).collect();
    let is_one = DIGITS.contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit())
        && !digits.starts_with('0')
        && !compact.contains("(0)")
        && !NO_ZERO.iter().any(|code| digits.strip_prefix(code).is_some_and(|rest| rest.starts_with('0')));
    is_one.then_some(digits)
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
        ] {
            assert_eq!(digits(wrong), None, "{wrong}");
        }
    }
}
