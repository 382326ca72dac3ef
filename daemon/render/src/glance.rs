//! Most text is letters of ASCII: that is seen at a glance, eight bytes or more at a time, before anything is decoded.

const EACH: u64 = 0x0101_0101_0101_0101;

/// Where the first byte is that is no printable sign of ASCII: white space, a control character, or part of another
/// sign. A delete character passes for printable.
pub(super) fn first_unprintable(bytes: &[u8]) -> Option<usize> {
    let (blocks, rest) = bytes.as_chunks::<8>();
    for (n, block) in blocks.iter().enumerate() {
        let block = u64::from_le_bytes(*block);
        // The highest bit of a byte is set where it is, or where taking 0x21 away borrows; up to the first that is right.
        let found = (block | block.wrapping_sub(EACH * 0x21)) & (EACH * 0x80);
        if found != 0 {
            return Some(8 * n + found.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|b| *b <= b' ' || *b >= 0x80)?;
    Some(8 * blocks.len() + at)
}

/// Whether HTML has to write a sign of `text` as a reference.
pub(super) fn has_signs(text: &str) -> bool {
    memchr::memchr3(b'&', b'<', b'>', text.as_bytes()).is_some()
}

/// Whether all of `text` is letters and digits of ASCII, and blanks.
pub(super) fn are_letters(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_unprintable_byte_is_found_wherever_it_stands() {
        for odd in 0..=u8::MAX {
            let is_odd = odd <= b' ' || odd >= 0x80;
            for at in 0..24 {
                let mut bytes = [b'~'; 24];
                bytes[at] = odd;
                assert_eq!(first_unprintable(&bytes), is_odd.then_some(at), "{odd:#x} at {at}");
                // What follows the first one changes nothing.
                bytes[23] = b' ';
                assert_eq!(first_unprintable(&bytes), Some(if is_odd { at } else { 23 }));
            }
        }
        assert_eq!(first_unprintable(b""), None);
    }
}
