//! How it spells numbers: `createJid` of `src/utils/createJid.ts`, lines 35 to 71 at commit 1b1eb03.

/// A number or an id as WhatsApp's protocol has it.
pub(super) fn jid(number: &str) -> String {
    if ["@g.us", "@s.whatsapp.net", "@lid"].iter().any(|end| number.contains(end)) {
        return number.to_owned();
    }
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    if digits.len() >= 18 {
        return format!("{digits}@g.us");
    }
    format!("{}@s.whatsapp.net", brazilian(&mexican_or_argentinian(&digits)))
}

/// `formatMXOrARNumber` (lines 2 to 14): of 13 digits, the one behind the country's code goes.
fn mexican_or_argentinian(digits: &str) -> String {
    match digits.len() {
        13 if digits.starts_with("52") || digits.starts_with("54") => {
            format!("{}{}", &digits[..2], &digits[3..])
        }
        _ => digits.to_owned(),
    }
}

/// `formatBRNumber` (lines 17 to 33): of 13 digits, the one behind the area's code goes where the area is 31 or above and the number begins with
/// 7 or above.
fn brazilian(digits: &str) -> String {
    let area = || digits[2..4].parse::<u8>().unwrap_or(0);
    match digits.len() {
        13 if digits.starts_with("55") && area() >= 31 && digits.as_bytes()[5] >= b'7' => {
            format!("{}{}", &digits[..4], &digits[5..])
        }
        _ => digits.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::jid;

    #[test]
    fn numbers_of_three_countries_lose_a_digit() {
        for (number, spelled) in [
            ("5531987654321", "553187654321"),
            ("5511987654321", "5511987654321"),
            ("5531957654321", "5531957654321"),
            ("5215512345678", "525512345678"),
            ("5491112345678", "541112345678"),
            ("4915112345679", "4915112345679"),
        ] {
            assert_eq!(jid(number), format!("{spelled}@s.whatsapp.net"), "{number}");
        }
        assert_eq!(jid("120363012345678901@g.us"), "120363012345678901@g.us");
    }
}
