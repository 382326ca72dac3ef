//! A man at the broker: a cable that knows MQTT, and can give the messages of either direction in another order than they
//! were said.
//!
//! Whoever listens on a broker can only say things again; whoever runs it can also keep one back and let the next go
//! first: of every two messages, the second goes first, and none is lost. Or he spoils one in so many frames: loses it, says
//! it twice, cuts it short, or flips a bit of it.

use std::{
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::Result;

/// PUBLISH, whatever its flags (MQTT 3.1.1, section 3.3).
const PUBLISH: u8 = 0x30;
/// No packet here is longer, in bytes.
const MAX_PACKET: usize = 64 * 1024;

/// The man. He ends with the test's process.
pub struct Man {
    port: u16,
    up: Arc<Hand>,
    down: Arc<Hand>,
}

/// What he does with one direction.
#[derive(Default)]
struct Hand {
    swaps: AtomicBool,
    swapped: AtomicUsize,
    /// One in so many frames is spoilt; none where this is 0.
    one_in: AtomicUsize,
    spoilt: [AtomicUsize; FAULTS],
}

/// Lost, said twice, cut short, a bit of it flipped.
const FAULTS: usize = 4;

impl Man {
    /// One before the broker on this port of loopback, who carries everything as it comes until he is told otherwise.
    ///
    /// # Errors
    /// The system has no port for him.
    pub fn before(broker: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let man = Self { port: listener.local_addr()?.port(), up: Arc::default(), down: Arc::default() };
        let (up, down) = (Arc::clone(&man.up), Arc::clone(&man.down));
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, broker)) {
                    // A connection that could not be made is one that was lost.
                    let _ = stand_between(near, far, &up, &down);
                }
            }
        });
        Ok(man)
    }

    /// Where he is met, a port of loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether he turns round what the companion says.
    pub fn swaps_up(&self, swaps: bool) {
        self.up.swaps.store(swaps, Ordering::SeqCst);
    }

    /// Whether he turns round what the hub says.
    pub fn swaps_down(&self, swaps: bool) {
        self.down.swaps.store(swaps, Ordering::SeqCst);
    }

    /// Spoils one in so many frames, of either direction, from now on; none with 0.
    pub fn spoils_one_in(&self, frames: usize) {
        self.up.one_in.store(frames, Ordering::SeqCst);
        self.down.one_in.store(frames, Ordering::SeqCst);
    }

    /// How many frames he has lost, said twice, cut short and flipped.
    pub fn spoilt(&self) -> [usize; FAULTS] {
        std::array::from_fn(|fault| {
            [&self.up, &self.down].iter().map(|hand| hand.spoilt[fault].load(Ordering::SeqCst)).sum()
        })
    }

    /// How often he has turned two round, up and down.
    pub fn swapped(&self) -> (usize, usize) {
        (self.up.swapped.load(Ordering::SeqCst), self.down.swapped.load(Ordering::SeqCst))
    }
}

fn stand_between(near: TcpStream, far: TcpStream, up: &Arc<Hand>, down: &Arc<Hand>) -> io::Result<()> {
    let ways = [(near.try_clone()?, far.try_clone()?, Arc::clone(up)), (far, near, Arc::clone(down))];
    for (mut from, mut to, hand) in ways {
        to.set_nodelay(true)?;
        thread::spawn(move || {
            // However it ends, both ends are closed then.
            let _ = carry(&mut from, &mut to, &hand);
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}

fn carry(from: &mut TcpStream, to: &mut TcpStream, hand: &Hand) -> io::Result<()> {
    let mut kept: Option<Vec<u8>> = None;
    loop {
        let packet = packet(from)?;
        if packet[0] & 0xf0 != PUBLISH {
            to.write_all(&packet)?;
        } else if let Some(earlier) = kept.take() {
            // Before anybody can have heard it, who then asks.
            hand.swapped.fetch_add(1, Ordering::SeqCst);
            to.write_all(&packet)?;
            to.write_all(&earlier)?;
        } else if hand.swaps.load(Ordering::SeqCst) {
            kept = Some(packet);
        } else {
            for packet in spoil(packet, hand) {
                to.write_all(&packet)?;
            }
        }
    }
}

/// What becomes of a message: one, none, or two.
fn spoil(packet: Vec<u8>, hand: &Hand) -> Vec<Vec<u8>> {
    let one_in = hand.one_in.load(Ordering::SeqCst);
    // What is no message by its form goes on as it came.
    let payload = payload(&packet).unwrap_or(0);
    let dice = |below: usize| u64::from_le_bytes(gatepost::random::bytes()) as usize % below;
    // Presence is no frame, and what is empty cannot be spoilt.
    if one_in == 0 || payload < 2 || dice(one_in) != 0 {
        return vec![packet];
    }
    let fault = dice(FAULTS);
    hand.spoilt[fault].fetch_add(1, Ordering::SeqCst);
    let mut packet = packet;
    match fault {
        0 => vec![],
        1 => vec![packet.clone(), packet],
        2 => {
            let body = packet.len() - head(&packet);
            let cut = 1 + dice(payload);
            let mut shorter = vec![packet[0]];
            let mut length = body - cut;
            loop {
                let more = if length > 0x7f { 0x80 } else { 0 };
                shorter.push((length & 0x7f) as u8 | more);
                length >>= 7;
                if more == 0 {
                    break;
                }
            }
            shorter.extend(&packet[head(&packet)..packet.len() - cut]);
            vec![shorter]
        }
        _ => {
            let at = packet.len() - 1 - dice(payload);
            packet[at] ^= 1 << dice(8);
            vec![packet]
        }
    }
}

/// Bytes of a packet's fixed header.
fn head(packet: &[u8]) -> usize {
    1 + packet.iter().skip(1).position(|byte| byte & 0x80 == 0).map_or(0, |at| at + 1)
}

/// Bytes of a message's payload: what is behind its topic and, above QoS 0, its identifier (section 3.3).
fn payload(packet: &[u8]) -> Option<usize> {
    let body = packet.get(head(packet)..)?;
    let topic = usize::from(u16::from_be_bytes([*body.first()?, *body.get(1)?]));
    let id = if packet[0] & 0x06 == 0 { 0 } else { 2 };
    body.len().checked_sub(2 + topic + id)
}

/// The next packet, whole.
fn packet(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let (mut packet, mut byte) = (Vec::new(), [0]);
    from.read_exact(&mut byte)?;
    packet.push(byte[0]);
    // The remaining length: seven bits a byte, the lowest first (section 2.2.3).
    let (mut length, mut shift) = (0, 0);
    loop {
        from.read_exact(&mut byte)?;
        packet.push(byte[0]);
        length |= usize::from(byte[0] & 0x7f) << shift;
        shift += 7;
        if byte[0] & 0x80 == 0 {
            break;
        }
        if shift > 21 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    if length > MAX_PACKET {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let head = packet.len();
    packet.resize(head + length, 0);
    from.read_exact(&mut packet[head..])?;
    Ok(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spoilt_message_is_a_packet_all_the_same() {
        let hand = Hand::default();
        hand.one_in.store(1, Ordering::SeqCst);
        let whole = [&[0x30, 0x86, 1, 0, 4][..], b"a/up", &[7; 128]].concat();
        assert_eq!((head(&whole), payload(&whole)), (3, Some(128)));
        for _ in 0..200 {
            for packet in spoil(whole.clone(), &hand) {
                let length = packet.len() - head(&packet);
                let stated = usize::from(packet[1] & 0x7f)
                    + usize::from(if head(&packet) == 3 { packet[2] } else { 0 }) * 128;
                assert_eq!(stated, length);
                assert_eq!(&packet[head(&packet)..][..6], &whole[3..9], "the topic stays");
            }
        }
        assert!(hand.spoilt.iter().all(|count| count.load(Ordering::SeqCst) > 0), "all of it was done");
        hand.one_in.store(0, Ordering::SeqCst);
        assert_eq!(spoil(whole.clone(), &hand), [whole]);
    }

    #[test]
    fn of_two_messages_the_second_goes_first_and_nothing_else_is_touched() {
        let broker = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let man = Man::before(broker.local_addr().unwrap().port()).unwrap();
        let mut near = TcpStream::connect((Ipv4Addr::LOCALHOST, man.port())).unwrap();
        let (mut far, _) = broker.accept().unwrap();
        let long = [&[0x32, 0x80, 1][..], &[7; 128]].concat();
        man.swaps_up(true);
        near.write_all(&[&long[..], &[0x40, 2, 0, 9], &[0x32, 1, 5]].concat()).unwrap();
        let (first, second) = ([0x40, 2, 0, 9], [&[0x32, 1, 5][..], &long].concat());
        let mut bytes = vec![0; first.len() + second.len()];
        far.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, [&first[..], &second].concat());
        assert_eq!(man.swapped(), (1, 0));
        far.write_all(&[0x32, 1, 5, 0xd0, 0]).unwrap();
        let mut bytes = [0; 5];
        near.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, [0x32, 1, 5, 0xd0, 0]);
    }
}
