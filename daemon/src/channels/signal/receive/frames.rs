//! The stream's framing: server-sent events (<https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>),
//! as `ServerSentEventSender` of signal-cli writes them
//! (<https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/http/ServerSentEventSender.java>): lines that end
//! with a line feed, the id before the data. A carriage return alone, which ends a line too, it never writes, and JSON has none.
//!
//! What is longer than its bound is passed by up to its end, and told as such: the next event comes all the same.

/// The longest event that is kept, in bytes. Signal's own bound for a long text is 64 KiB; a message that names a thousand people, or
/// brings a hundred link previews, has some hundred.
pub(super) const MAX_EVENT: usize = 4 * 1024 * 1024;
/// The longest id. signal-cli's have a time and a number.
const MAX_ID: usize = 200;
/// The longest name of a kind.
const MAX_KIND: usize = 40;

/// What the stream says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    /// A comment, which says that somebody is there.
    Alive,
    /// An event, and the id behind which the stream goes on.
    Event { id: Option<String>, kind: String, data: Vec<u8> },
    /// An event that is too long.
    TooLong { id: Option<String> },
}

/// What of the stream is not a whole event yet.
#[derive(Debug, Default)]
pub(super) struct Frames {
    line: Vec<u8>,
    id: Option<String>,
    kind: String,
    data: Option<Vec<u8>>,
    too_long: bool,
}

impl Frames {
    /// Takes the next bytes, and adds what they complete.
    pub(super) fn feed(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        // Behind the last line feed is the beginning of a line.
        let rest = lines.next_back().unwrap_or_default();
        for end in lines {
            self.begin(end);
            let mut line = std::mem::take(&mut self.line);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            self.line(line, frames);
        }
        self.begin(rest);
    }

    /// A piece of a line.
    fn begin(&mut self, piece: &[u8]) {
        // The names of the fields are short.
        match self.line.len() + piece.len() <= MAX_EVENT + MAX_KIND {
            true => self.line.extend_from_slice(piece),
            false => {
                self.too_long = true;
                // Its first byte stays: an empty line would be the event's end.
                self.line.truncate(1);
            }
        }
    }

    fn line(&mut self, mut line: Vec<u8>, frames: &mut Vec<Frame>) {
        if line.is_empty() {
            let id = self.id.take();
            let kind = std::mem::take(&mut self.kind);
            match (std::mem::take(&mut self.too_long), self.data.take()) {
                (true, _) => frames.push(Frame::TooLong { id }),
                (false, Some(data)) => frames.push(Frame::Event { id, kind, data }),
                // Without data there is no event.
                (false, None) => {}
            }
            return;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"" => frames.push(Frame::Alive),
            b"id" => self.id = text(value, MAX_ID),
            b"event" => self.kind = text(value, MAX_KIND).unwrap_or_else(|| "event".into()),
            b"data" => {
                // The line itself becomes the data: an event may have megabytes.
                let begins = line.len() - value.len();
                line.drain(..begins);
                self.add(line);
            }
            _ => {}
        }
    }

    fn add(&mut self, value: Vec<u8>) {
        let length = self.data.as_ref().map_or(0, Vec::len) + value.len();
        self.too_long |= length >= MAX_EVENT;
        match &mut self.data {
            _ if self.too_long => self.data = None,
            None => self.data = Some(value),
            Some(data) => {
                data.push(b'\n');
                data.extend(value);
            }
        }
    }
}

/// A word that a header can have in it, for an id goes back in one.
fn text(value: &[u8], most: usize) -> Option<String> {
    let fits = !value.is_empty() && value.len() <= most && value.iter().all(u8::is_ascii_graphic);
    std::str::from_utf8(value).ok().filter(|_| fits).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<Frame> {
        let (mut parser, mut frames) = (Frames::default(), Vec::new());
        pieces.iter().for_each(|piece| parser.feed(piece, &mut frames));
        frames
    }

    fn event(id: Option<&str>, kind: &str, data: &str) -> Frame {
        Frame::Event { id: id.map(str::to_owned), kind: kind.into(), data: data.into() }
    }

    #[test]
    fn events_are_the_same_however_the_line_cuts_them() {
        let stream = b":\nevent:receive\ndata:{\"a\":1}\n\n:\nid:17-2\nevent:receive\ndata: {}\n\nid:x\n\ndata:a\r\ndata:b\r\n\r\n";
        let expected = [
            Frame::Alive,
            event(None, "receive", "{\"a\":1}"),
            Frame::Alive,
            event(Some("17-2"), "receive", "{}"),
            event(None, "", "a\nb"),
        ];
        assert_eq!(read(&[stream]), expected);
        for at in 0..stream.len() {
            assert_eq!(read(&[&stream[..at], &stream[at..]]), expected, "{at}");
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(read(&bytes), expected);
    }

    #[test]
    fn what_is_too_long_is_passed_by_with_its_id_and_the_next_comes() {
        let long = vec![b'x'; MAX_EVENT + 100];
        let next = b"\n\nid:2\ndata:{}\n\n".as_slice();
        let expected = [Frame::TooLong { id: Some("1".into()) }, event(Some("2"), "", "{}")];
        assert_eq!(read(&[b"id:1\ndata:", &long, next]), expected);
        assert_eq!(read(&[b"id:1\ndata:", &long[..MAX_EVENT], &long, &long, next]), expected);
        let half = &long[..MAX_EVENT / 2 + 1];
        assert_eq!(read(&[b"id:1\ndata:", half, b"\ndata:", half, b"\ndata:x", next]), expected);
    }

    #[test]
    fn an_id_that_no_header_can_have_is_none() {
        for id in ["a b", "\u{e9}", "a\0", ""] {
            let stream = format!("id:{id}\ndata:{{}}\n\n");
            assert_eq!(read(&[stream.as_bytes()]), [event(None, "", "{}")], "{id:?}");
        }
        assert_eq!(read(&[b"data\n\n"]), [event(None, "", "")], "as it is where there is no data");
        assert_eq!(read(&[b"\n\nother:x\n\n"]), []);
    }
}
