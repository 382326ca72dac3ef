//! A stream of bytes as lines. One that does not end is not kept: past its bound it is passed by up to its end.

/// The longest line, in bytes. A message has 4,096 where nobody has set another bound
/// (<https://docs.ntfy.sh/publish/#limitations>), and its escapes six times that.
pub(super) const LONGEST: usize = 256 * 1024;

/// A line that is longer than any that is read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// The line that has begun.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    too_long: bool,
}

impl Lines {
    /// The lines that end in these bytes, without the empty ones.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Result<Vec<u8>, TooLong>> {
        let mut ended = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (piece, ends) = match piece.split_last() {
                Some((b'\n', line)) => (line, true),
                _ => (piece, false),
            };
            if self.begun.len() + piece.len() > LONGEST {
                (self.begun, self.too_long) = (Vec::new(), true);
            }
            if !self.too_long {
                self.begun.extend_from_slice(piece);
            }
            if ends {
                let (line, too_long) = (std::mem::take(&mut self.begun), std::mem::take(&mut self.too_long));
                match too_long {
                    true => ended.push(Err(TooLong)),
                    false if line.trim_ascii().is_empty() => {}
                    false => ended.push(Ok(line)),
                }
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_the_bytes_are_cut() {
        let all = b"{\"a\":1}\n\n{\"b\":\"\xc3\xa4\"}\r\n \nrest";
        for size in 1..all.len() {
            let mut lines = Lines::default();
            let came: Vec<_> = all.chunks(size).flat_map(|bytes| lines.take(bytes)).collect();
            assert_eq!(came, [Ok(b"{\"a\":1}".to_vec()), Ok(b"{\"b\":\"\xc3\xa4\"}\r".to_vec())], "{size}");
        }
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory_and_the_next_one_comes() {
        let mut lines = Lines::default();
        for _ in 0..100 {
            assert_eq!(lines.take(&[b'x'; 64 * 1024]), []);
            assert!(lines.begun.capacity() <= 2 * LONGEST);
        }
        assert_eq!(lines.take(b"x\nnext\n"), [Err(TooLong), Ok(b"next".to_vec())]);
        let longest = [vec![b'x'; LONGEST], b"\n".to_vec()].concat();
        assert_eq!(lines.take(&longest), [Ok(vec![b'x'; LONGEST])]);
    }
}
