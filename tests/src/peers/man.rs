//! A man at the broker: a cable that knows MQTT, and can give the messages of either direction in another order than they
//! were said.
//!
//! Whoever listens on a broker can only say things again; whoever runs it can also keep one back and let the next go
//! first. That is what he does: of every two messages, the second goes first, and none is lost.

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
}

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

    /// How often he has done so, up and down.
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
            to.write_all(&packet)?;
        }
    }
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
    fn of_two_messages_the_second_goes_first_and_nothing_else_is_touched() {
        let broker = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let man = Man::before(broker.local_addr().unwrap().port()).unwrap();
        let mut near = TcpStream::connect((Ipv4Addr::LOCALHOST, man.port())).unwrap();
        let (mut far, _) = broker.accept().unwrap();
        let long = [&[0x32, 0x80, 1][..], &[7; 128]].concat();
        man.swaps_up(true);
        near.write_all(&[&long[..], &[0x40, 2, 0, 9], &[0x32, 1, 5]].concat()).unwrap();
        let (first, second) = ([0x40, 2, 0, 9], [&[0x32, 1, 5][..], &long].concat());
        let mut heard = vec![0; first.len() + second.len()];
        far.read_exact(&mut heard).unwrap();
        assert_eq!(heard, [&first[..], &second].concat());
        assert_eq!(man.swapped(), (1, 0));
        far.write_all(&[0x32, 1, 5, 0xd0, 0]).unwrap();
        let mut heard = [0; 5];
        near.read_exact(&mut heard).unwrap();
        assert_eq!(heard, [0x32, 1, 5, 0xd0, 0]);
    }
}
