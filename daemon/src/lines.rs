//! Lines of a program or a client that may write without an end.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// A line with its end; the last one may have none.
    Whole,
    /// A longer one: it was read to its end, and nothing of that is kept.
    TooLong,
    /// There are no more.
    End,
}

/// Reads a line of at most `most` bytes, its end included, into `line`.
///
/// # Errors
/// The input's.
pub async fn read(
    input: &mut (impl AsyncBufRead + Unpin),
    most: u64,
    line: &mut Vec<u8>,
) -> io::Result<Line> {
    line.clear();
    (&mut *input).take(most).read_until(b'\n', line).await?;
    if line.is_empty() {
        return Ok(Line::End);
    }
    if (line.len() as u64) < most || line.ends_with(b"\n") {
        return Ok(Line::Whole);
    }
    line.clear();
    skip(input).await?;
    Ok(Line::TooLong)
}

/// Reads a line to its end and keeps nothing of it.
async fn skip(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    loop {
        let piece = input.fill_buf().await?;
        let (length, is_over) = match memchr::memchr(b'\n', piece) {
            Some(at) => (at + 1, true),
            None => (piece.len(), piece.is_empty()),
        };
        input.consume(length);
        if is_over {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    #[tokio::test]
    async fn a_line_is_whole_or_passed_over_to_its_end() {
        let text = b"1234\n12345\n\n1234567890123456789\nlast";
        // Pieces that are shorter than a line, and longer than all of them.
        for piece in [1, 3, 64] {
            let mut input = BufReader::with_capacity(piece, &text[..]);
            let (mut read_all, mut line) = (vec![], vec![]);
            loop {
                let found = read(&mut input, 5, &mut line).await.unwrap();
                read_all.push((found, String::from_utf8(line.clone()).unwrap()));
                if found == Line::End {
                    break;
                }
            }
            let whole = |text: &str| (Line::Whole, text.to_owned());
            let too_long = || (Line::TooLong, String::new());
            assert_eq!(
                read_all,
                [
                    whole("1234\n"),
                    too_long(),
                    whole("\n"),
                    too_long(),
                    whole("last"),
                    (Line::End, String::new())
                ],
                "{piece}"
            );
        }
    }

    #[tokio::test]
    async fn a_long_line_that_the_input_ends_in_is_the_last() {
        let mut input = BufReader::new(&b"123456"[..]);
        let mut line = vec![];
        assert_eq!(read(&mut input, 5, &mut line).await.unwrap(), Line::TooLong);
        assert_eq!(read(&mut input, 5, &mut line).await.unwrap(), Line::End);
    }
}
