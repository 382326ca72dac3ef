//! Two serial lines as one: a board has its UART, and many have the chip's own USB beside it. The set-up is told over either, and
//! answers where it was spoken to last.
//!
//! A USB line that nobody reads takes no bytes, however long one waits: an answer that is not taken in time is dropped, so that it
//! never keeps the other line waiting.

use embassy_futures::select::{Either, select};
use embedded_hal_async::delay::DelayNs;
use embedded_io_async::{Error, ErrorKind, ErrorType, Read, Write};

/// How long an answer may take to be taken: 128 bytes at 115,200 baud need 12 ms.
const WRITE_TIMEOUT_MS: u32 = 200;

/// Two lines.
pub struct Lines<A, B, D> {
    first: A,
    second: B,
    delay: D,
    /// Whether the last bytes came over the second.
    is_second: bool,
}

impl<A, B, D> Lines<A, B, D> {
    /// Of these two; the first is answered until the second has spoken.
    pub fn new(first: A, second: B, delay: D) -> Self {
        Self { first, second, delay, is_second: false }
    }
}

impl<A, B, D> ErrorType for Lines<A, B, D> {
    type Error = ErrorKind;
}

impl<A: Read, B: Read, D> Read for Lines<A, B, D> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        let mut other = [0; 64];
        let room = buffer.len().min(other.len());
        match select(self.first.read(buffer), self.second.read(&mut other[..room])).await {
            Either::First(read) => {
                self.is_second = false;
                read.map_err(|error| error.kind())
            }
            Either::Second(read) => {
                self.is_second = true;
                let count = read.map_err(|error| error.kind())?;
                buffer[..count].copy_from_slice(&other[..count]);
                Ok(count)
            }
        }
    }
}

impl<A: Write, B: Write, D: DelayNs> Write for Lines<A, B, D> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        if !self.is_second {
            return self.first.write(bytes).await.map_err(|error| error.kind());
        }
        match select(self.second.write(bytes), self.delay.delay_ms(WRITE_TIMEOUT_MS)).await {
            Either::First(written) => written.map_err(|error| error.kind()),
            Either::Second(()) => Err(ErrorKind::TimedOut),
        }
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use core::{convert::Infallible, future::pending};
    use std::vec::Vec;

    use embassy_futures::block_on;

    use super::*;

    #[derive(Default)]
    struct Line {
        input: Vec<u8>,
        output: Vec<u8>,
        is_deaf: bool,
    }

    impl ErrorType for &mut Line {
        type Error = Infallible;
    }

    impl Read for &mut Line {
        async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
            if self.input.is_empty() {
                pending::<()>().await;
            }
            let count = buffer.len().min(self.input.len());
            buffer[..count].copy_from_slice(&self.input[..count]);
            self.input.drain(..count);
            Ok(count)
        }
    }

    impl Write for &mut Line {
        async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
            if self.is_deaf {
                pending::<()>().await;
            }
            self.output.extend(bytes);
            Ok(bytes.len())
        }

        async fn flush(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    /// Time that passes at once.
    struct Soon;

    impl DelayNs for Soon {
        async fn delay_ns(&mut self, _: u32) {}
    }

    #[test]
    fn who_spoke_last_is_answered() {
        let (mut uart, mut usb) = (Line::default(), Line::default());
        usb.input = b"state".to_vec();
        let mut lines = Lines::new(&mut uart, &mut usb, Soon);
        let mut bytes = [0; 3];
        block_on(async {
            lines.write_all(b"first").await.unwrap();
            assert_eq!(lines.read(&mut bytes).await, Ok(3));
            lines.write_all(b"second").await.unwrap();
            lines.first.input = b"x".to_vec();
            assert_eq!((lines.read(&mut bytes).await, bytes[0]), (Ok(1), b'x'));
            lines.write_all(b"again").await.unwrap();
            assert_eq!((lines.read(&mut bytes).await, &bytes[..2]), (Ok(2), &b"te"[..]));
        });
        assert_eq!((&uart.output[..], &usb.output[..]), (&b"firstagain"[..], &b"second"[..]));
    }

    #[test]
    fn a_line_that_nobody_reads_keeps_nobody_waiting() {
        let (mut uart, mut usb) = (Line::default(), Line { is_deaf: true, ..Line::default() });
        usb.input = b"state".to_vec();
        let mut lines = Lines::new(&mut uart, &mut usb, Soon);
        block_on(async {
            assert_eq!(lines.read(&mut [0; 64]).await, Ok(5));
            assert_eq!(lines.write_all(b"answer").await, Err(ErrorKind::TimedOut));
        });
    }
}
