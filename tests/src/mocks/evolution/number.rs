//! How it spells numbers: `createJid` of `src/utils/createJid.ts`@1b1eb0356ae02db1ca5f8b0442ac5a76c38753c8:35-71, whose
//! lines the others below are too.

/// A number or an id as WhatsApp's protocol has it.
pub(super) fn jid(number: &str) -> String {
    let number = without_device(number);
    if ["@g.us", "@s.whatsapp.net", "@lid", "@broadcast"].iter().any(|end| number.contains(end)) {
        return number;
    }
    let dropped = |c: &char| !c.is_whitespace() && !['+', '(', ')'].contains(c);
    let bare: String = number.chars().filter(dropped).collect();
    let bare = bare.split([':', '@']).next().unwrap_or_default();
    // Lines 54 to 57: a group as groups were once named, by its founder and its time.
    if bare.contains('-') && bare.len() >= 23 {
        let group: String = bare.chars().filter(|c| c.is_ascii_digit() || *c == '-').collect();
        return format!("{group}@g.us");
    }
    let digits: String = bare.chars().filter(char::is_ascii_digit).collect();
    if digits.len() >= 18 {
        return format!("{digits}@g.us");
    }
    format!("{}@s.whatsapp.net", brazilian(&mexican_or_argentinian(&digits)))
}

/// `number.replace(/:\d+/, '')` (line 36): the first colon that digits follow goes with them.
fn without_device(number: &str) -> String {
    for (at, _) in number.match_indices(':') {
        let rest = number[at + 1..].trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() < number.len() - at - 1 {
            return format!("{}{rest}", &number[..at]);
        }
    }
    number.to_owned()
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

/// `formatBRNumber` (lines 17 to 33): of 13 digits, the one behind the area's code goes where the area is 31 or above
/// and the number begins with 7 or above.
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
        assert_eq!(jid("+49 (151) 12345679:4"), "4915112345679@s.whatsapp.net");
        assert_eq!(jid("4915112345679-1500000000"), "4915112345679-1500000000@g.us");
        assert_eq!(jid("status@broadcast"), "status@broadcast");
    }
}
