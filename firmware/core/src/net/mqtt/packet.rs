//! MQTT 3.1.1 packets (OASIS standard of 29 October 2014): those that a companion sends, and those that it reads.
//!
//! Reading never panics and refuses what the standard forbids. Section numbers refer to the standard.

use heapless::Vec;

use super::access::Access;

/// Bytes of the longest head that a companion sends: CONNECT with a last will and a login.
pub const MAX_HEAD_BYTES: usize = 320;
/// PINGREQ.
pub const PING: [u8; 2] = [0xc0, 0];
/// DISCONNECT. The broker does not publish the last will then.
pub const DISCONNECT: [u8; 2] = [0xe0, 0];

/// A packet up to its payload, or all of it.
pub type Head = Vec<u8, MAX_HEAD_BYTES>;

/// A packet from the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incoming<'a> {
    /// CONNACK with its return code; 0 means accepted.
    Connected(u8),
    /// SUBACK, and whether the subscription was granted.
    Subscribed(bool),
    /// PUBLISH.
    Message {
        /// Where it was published.
        topic: &'a str,
        /// The identifier to acknowledge; `None` for QoS 0.
        id: Option<u16>,
        /// Its content.
        payload: &'a [u8],
    },
    /// The start of a PUBLISH that is larger than any frame. The rest is skipped.
    TooLarge {
        /// The identifier to acknowledge, if any.
        id: Option<u16>,
    },
    /// PUBACK.
    Acknowledged,
    /// PINGRESP.
    Pong,
}

/// Bytes that are not MQTT, or a packet that a broker must not send to this client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// CONNECT (3.1): a clean session, a login, and a last will if there is a presence topic.
pub fn connect(access: &Access, keep_alive_s: u16) -> Head {
    let mut body = Head::new();
    text(&mut body, "MQTT");
    // Level 4; user name, password, clean session; a will of QoS 1 that is not retained.
    put(&mut body, &[4, 0xc2 | if access.presence.is_some() { 0x0c } else { 0 }]);
    put(&mut body, &keep_alive_s.to_be_bytes());
    text(&mut body, &access.client);
    if let Some(presence) = &access.presence {
        text(&mut body, presence);
        text(&mut body, "0");
    }
    text(&mut body, &access.user);
    text(&mut body, &access.password);
    packet(0x10, &body)
}

/// SUBSCRIBE (3.8) to one topic with QoS 1.
pub fn subscribe(id: u16, topic: &str) -> Head {
    let mut body = Head::new();
    put(&mut body, &id.to_be_bytes());
    text(&mut body, topic);
    put(&mut body, &[1]);
    packet(0x82, &body)
}

/// PUBLISH (3.3) with QoS 1, up to its payload of `length` bytes.
pub fn publish(id: u16, topic: &str, length: usize) -> Head {
    let mut head = Head::new();
    put(&mut head, &[0x32]);
    remaining(&mut head, 2 + topic.len() + 2 + length);
    text(&mut head, topic);
    put(&mut head, &id.to_be_bytes());
    head
}

/// PUBLISH (3.3) with QoS 0, up to its payload of `length` bytes.
pub fn publish_once(topic: &str, length: usize) -> Head {
    let mut head = Head::new();
    put(&mut head, &[0x30]);
    remaining(&mut head, 2 + topic.len() + length);
    text(&mut head, topic);
    head
}

/// PUBACK (3.4).
pub fn acknowledge(id: u16) -> [u8; 4] {
    let [high, low] = id.to_be_bytes();
    [0x40, 2, high, low]
}

fn packet(first: u8, body: &Head) -> Head {
    let mut packet = Head::new();
    put(&mut packet, &[first]);
    remaining(&mut packet, body.len());
    put(&mut packet, body);
    packet
}

/// Appends bytes. All parts are bounded, and CONNECT is the largest packet.
fn put(head: &mut Head, bytes: &[u8]) {
    head.extend_from_slice(bytes).expect("MAX_HEAD_BYTES holds the longest login and the longest topics");
}

fn text(head: &mut Head, text: &str) {
    put(head, &(text.len() as u16).to_be_bytes());
    put(head, text.as_bytes());
}

/// The remaining length (2.2.3): seven bits a byte, the lowest first.
fn remaining(head: &mut Head, mut length: usize) {
    loop {
        let more = length > 0x7f;
        put(head, &[(length & 0x7f) as u8 | if more { 0x80 } else { 0 }]);
        length >>= 7;
        if !more {
            return;
        }
    }
}

/// The length of a packet and where its body begins; `None` if more bytes are needed to know.
pub fn measure(bytes: &[u8]) -> Result<Option<(usize, usize)>, Malformed> {
    // The first byte already bounds the length, so that bytes from something other than a broker fail at once.
    let max_length = match bytes.first() {
        None => return Ok(None),
        Some(0x20 | 0x40) => 2,
        Some(0x90) => 3,
        Some(0xd0) => 0,
        Some(0x30..=0x3f) => usize::MAX,
        Some(_) => return Err(Malformed),
    };
    let mut length = 0;
    for (index, byte) in bytes.iter().skip(1).take(4).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            let body = index + 2;
            return if length <= max_length { Ok(Some((body + length, body))) } else { Err(Malformed) };
        }
    }
    if bytes.len() > 4 { Err(Malformed) } else { Ok(None) }
}

/// Reads a packet, given its first byte and its whole body.
pub fn read(first: u8, body: &[u8]) -> Result<Incoming<'_>, Malformed> {
    match (first, body) {
        (0x20, [_, code]) => Ok(Incoming::Connected(*code)),
        (0x90, [_, _, code]) => Ok(Incoming::Subscribed(matches!(code, 0..=2))),
        (0x40, [_, _]) => Ok(Incoming::Acknowledged),
        (0xd0, []) => Ok(Incoming::Pong),
        (0x30..=0x3f, _) => {
            let Message { topic, id, payload } = message(first, body)?;
            let topic = core::str::from_utf8(topic).map_err(|_| Malformed)?;
            Ok(Incoming::Message { topic, id, payload })
        }
        _ => Err(Malformed),
    }
}

/// Reads the start of a packet that is larger than any frame.
pub fn read_large(first: u8, start: &[u8]) -> Result<Incoming<'_>, Malformed> {
    match first {
        0x30..=0x3f => message(first, start).map(|message| Incoming::TooLarge { id: message.id }),
        _ => Err(Malformed),
    }
}

/// The fields of a PUBLISH, or of its start.
struct Message<'a> {
    topic: &'a [u8],
    id: Option<u16>,
    payload: &'a [u8],
}

/// Reads QoS 0 and 1; the device does not subscribe to QoS 2.
fn message(first: u8, body: &[u8]) -> Result<Message<'_>, Malformed> {
    let (length, rest) = body.split_first_chunk().ok_or(Malformed)?;
    let (topic, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into()).ok_or(Malformed)?;
    match first >> 1 & 3 {
        0 => Ok(Message { topic, id: None, payload: rest }),
        1 => {
            let (id, payload) = rest.split_first_chunk().ok_or(Malformed)?;
            Ok(Message { topic, id: Some(u16::from_be_bytes(*id)), payload })
        }
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(presence: Option<&str>) -> Access {
        Access {
            client: "c".try_into().unwrap(),
            user: "u".try_into().unwrap(),
            password: "".try_into().unwrap(),
            down: "d".try_into().unwrap(),
            up: "up".try_into().unwrap(),
            presence: presence.map(|topic| topic.try_into().unwrap()),
        }
    }

    #[test]
    fn what_is_said_has_the_standards_bytes() {
        let with_will = b"\x10\x1a\0\x04MQTT\x04\xce\0\x0a\0\x01c\0\x03g/p\0\x010\0\x01u\0\0";
        assert_eq!(connect(&access(Some("g/p")), 10), with_will);
        assert_eq!(connect(&access(None), 300), b"\x10\x12\0\x04MQTT\x04\xc2\x01\x2c\0\x01c\0\x01u\0\0");
        assert_eq!(subscribe(258, "d"), b"\x82\x06\x01\x02\0\x01d\x01");
        assert_eq!(publish(1, "up", 4096), b"\x32\x86\x20\0\x02up\0\x01");
        assert_eq!(acknowledge(0x0304), [0x40, 2, 3, 4]);
    }

    #[test]
    fn the_longest_login_fits() {
        let long = |length| "x".repeat(length);
        let topic = long(64).as_str().try_into().unwrap();
        let access = Access {
            client: long(32).as_str().try_into().unwrap(),
            user: long(64).as_str().try_into().unwrap(),
            password: long(64).as_str().try_into().unwrap(),
            presence: Some(topic),
            ..access(None)
        };
        assert_eq!(connect(&access, 10).len(), 3 + 10 + (2 + 32) + (2 + 64) + (2 + 1) + (2 + 64) + (2 + 64));
        assert_eq!(publish(1, &long(64), 1 << 20).len(), 1 + 4 - 1 + 2 + 64 + 2);
    }

    #[test]
    fn what_a_broker_says_is_read() {
        assert_eq!(read(0x20, &[0, 5]), Ok(Incoming::Connected(5)));
        assert_eq!(read(0x90, &[0, 1, 1]), Ok(Incoming::Subscribed(true)));
        assert_eq!(read(0x90, &[0, 1, 0x80]), Ok(Incoming::Subscribed(false)));
        assert_eq!(read(0x40, &[0, 1]), Ok(Incoming::Acknowledged));
        assert_eq!(read(0xd0, &[]), Ok(Incoming::Pong));
        let message = Incoming::Message { topic: "ab", id: Some(7), payload: b"xyz" };
        assert_eq!(read(0x32, b"\0\x02ab\0\x07xyz"), Ok(message));
        assert_eq!(read(0x3a, b"\0\x02ab\0\x07xyz"), Ok(message), "said again");
        assert_eq!(read(0x30, b"\0\x01ax"), Ok(Incoming::Message { topic: "a", id: None, payload: b"x" }));
    }

    #[test]
    fn what_no_broker_may_say_is_refused() {
        for (first, body) in [
            (0x00, &b""[..]),
            (0x10, b""),
            (0x20, b"\0"),
            (0x32, b""),
            (0x32, b"\0\x05ab"),
            (0x32, b"\0\x02ab\0"),
            (0x34, b"\0\x02ab\0\x01x"),
            (0x32, b"\0\x01\xff\0\x01"),
            (0x90, b"\0\x01"),
            (0xf0, b""),
        ] {
            assert_eq!(read(first, body), Err(Malformed), "{first:#x} {body:?}");
        }
    }

    #[test]
    fn lengths_are_read_up_to_four_bytes() {
        assert_eq!(measure(&[]), Ok(None));
        assert_eq!(measure(&[0x30]), Ok(None));
        assert_eq!(measure(&[0x30, 0x7f]), Ok(Some((129, 2))));
        assert_eq!(measure(&[0x30, 0x80]), Ok(None));
        assert_eq!(measure(&[0x30, 0x80, 0x01]), Ok(Some((131, 3))));
        assert_eq!(measure(&[0x30, 0xff, 0xff, 0xff, 0x7f]), Ok(Some((268_435_455 + 5, 5))));
        assert_eq!(measure(&[0x30, 0xff, 0xff, 0xff, 0xff]), Err(Malformed));
        for start in [&b"HTTP"[..], b"SSH-2.0", &[0x20, 3], &[0x90, 4], &[0x15, 3, 3]] {
            assert_eq!(measure(start), Err(Malformed), "{start:?}");
        }
    }
}
