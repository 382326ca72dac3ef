//! A secret taken out of words from outside, however they spell it.
//!
//! A server or proxy that repeats a request has the secrets of its address as they stood there: signs of it as `%2F`, a blank
//! as `+`. Any mixture of these is found, in capitals or not. `percent-encoding` decodes a text as a whole, so the words around the
//! secret would change, and a mixture would not be found where the secret has a `%` of its own.

/// The words with the secret as `***`.
pub fn masked(words: &str, secret: &str) -> String {
    if secret.is_empty() {
        return words.to_owned();
    }
    let (bytes, mut out, mut rest, mut at) = (words.as_bytes(), String::with_capacity(words.len()), 0, 0);
    while at < bytes.len() {
        match words.is_char_boundary(at).then(|| end_of(&bytes[at..], secret.as_bytes())).flatten() {
            Some(length) => {
                out.push_str(&words[rest..at]);
                out.push_str("***");
                at += length;
                rest = at;
            }
            None => at += 1,
        }
    }
    out.push_str(&words[rest..]);
    out
}

/// The length of the secret where words begin with it, in bytes. They end with a whole sign where it does: each of its bytes
/// is one of theirs, or three signs that are ASCII.
fn end_of(words: &[u8], secret: &[u8]) -> Option<usize> {
    if words.starts_with(secret) {
        return Some(secret.len());
    }
    let mut at = 0;
    for &byte in secret {
        at += match &words[at..] {
            [b'%', high, low, ..] if hex(*high).zip(hex(*low)).is_some_and(|(h, l)| h << 4 | l == byte) => 3,
            [first, ..] if *first == byte => 1,
            [b'+', ..] if byte == b' ' => 1,
            _ => return None,
        };
    }
    Some(at)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_secret_is_found_in_every_spelling() {
        let secret = "p@ss word/1~ä%";
        for spelled in
            [secret, "p%40ss+word%2F1%7E%C3%A4%25", "p%40ss%20word%2f1~%c3%a4%25", "%70@ss word%2F1~ä%25"]
        {
            assert_eq!(masked(&format!("a={spelled}&b"), secret), "a=***&b", "{spelled}");
        }
        assert_eq!(masked("token=a%25b%3D", "a%25b%3D"), "token=***", "one that has such signs of its own");
        assert_eq!(masked("hush, hushhush ush", "hush"), "***, ****** ush");
        for other in ["", "%", "%4", "p%40ss", "100 % sure", "%zz"] {
            assert_eq!(masked(other, secret), other);
        }
        assert_eq!(masked("anything", ""), "anything");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_beside_it_and_nothing_panics(
            before in "[a-g%ä]{0,9}", after in "[a-g%ä]{0,9}", secret in "[h-z/?&=ü ]{1,9}", words in ".{0,40}", any in ".{0,5}",
        ) {
            let encoded: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
            for spelled in [&secret, &encoded] {
                prop_assert_eq!(
                    masked(&format!("{before}|{spelled}|{after}"), &secret), format!("{before}|***|{after}")
                );
            }
            masked(&words, &any);
        }
    }
}
