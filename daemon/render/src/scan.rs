//! Fast scans over bytes. Most text is ASCII letters, so eight bytes or more are checked at a time before anything is
//! decoded.

/// A word with the lowest bit of each of its bytes set.
const LOWEST_BITS: u64 = 0x0101_0101_0101_0101;

/// The index of the first byte that is not a visible ASCII character: white space, a control character or a byte of a
/// longer character. DEL counts as visible.
pub(crate) fn find_not_visible_ascii(bytes: &[u8]) -> Option<usize> {
    let (blocks, rest) = bytes.as_chunks::<8>();
    for (n, block) in blocks.iter().enumerate() {
        let block = u64::from_le_bytes(*block);
        // The highest bit of a byte is set if it was set before, or if subtracting 0x21 borrows. A borrow may carry into
        // the bytes that follow, so only the first bit found is reliable.
        let found = (block | block.wrapping_sub(LOWEST_BITS * 0x21)) & (LOWEST_BITS * 0x80);
        if found != 0 {
            return Some(8 * n + found.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|b| *b <= b' ' || *b >= 0x80)?;
    Some(8 * blocks.len() + at)
}

/// Whether `text` consists of ASCII letters, digits and spaces only.
pub(crate) fn is_alphanumeric_or_space(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b' ')
}

/// Like `partition_point`: the index of the first item of `sorted` for which `comes_before` is false, or its length. An
/// index near the beginning is found in a step or two.
#[inline]
pub(crate) fn partition_near_start<T>(sorted: &[T], comes_before: impl Fn(&T) -> bool) -> usize {
    let mut reach = 1;
    while sorted.get(reach - 1).is_some_and(&comes_before) {
        reach *= 2;
    }
    let known = reach / 2;
    known + sorted[known..sorted.len().min(reach)].partition_point(comes_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_that_is_not_visible_is_found_at_every_index() {
        for odd in 0..=u8::MAX {
            let is_odd = odd <= b' ' || odd >= 0x80;
            for at in 0..24 {
                let mut bytes = [b'~'; 24];
                bytes[at] = odd;
                assert_eq!(find_not_visible_ascii(&bytes), is_odd.then_some(at), "{odd:#x} at {at}");
                // What follows the first one changes nothing.
                bytes[23] = b' ';
                assert_eq!(find_not_visible_ascii(&bytes), Some(if is_odd { at } else { 23 }));
            }
        }
        assert_eq!(find_not_visible_ascii(b""), None);
    }
}
