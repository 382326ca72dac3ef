//! A TCP proxy on the way to a hub's broker. What belongs to a pairing it takes out; all else it carries.

use std::{
    io::{Error, ErrorKind, Read as _, Result as IoResult, Write as _},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use gatepost_link::{pairing::PAIRING_USER, topic::PAIRING_PREFIX};

/// What an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long he waits before he says something again.
const MOMENT: Duration = Duration::from_millis(250);
/// How soon he knocks again where nobody is paired yet.
const PAUSE: Duration = Duration::from_millis(3);
/// First bytes (MQTT 3.1.1, 2.2).
const CONNECT: u8 = 0x10;
const CONNACK: u8 = 0x20;
const PUBLISH: u8 = 0x30;

/// An MQTT packet: its first byte, and what comes behind its length.
struct Packet(u8, Vec<u8>);

impl Packet {
    fn read(from: &mut TcpStream) -> IoResult<Self> {
        let mut byte = || {
            let mut byte = [0];
            from.read_exact(&mut byte).map(|()| byte[0])
        };
        let first = byte()?;
        let (mut length, mut shift) = (0, 0);
        loop {
            let next = byte()?;
            length |= usize::from(next & 0x7f) << shift;
            shift += 7;
            match next & 0x80 {
                0 => break,
                _ if shift > 21 => return Err(Error::from(ErrorKind::InvalidData)),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        from.read_exact(&mut body)?;
        Ok(Self(first, body))
    }

    fn bytes(&self) -> Vec<u8> {
        let (mut bytes, mut length) = (vec![self.0], self.1.len());
        loop {
            let more = length > 0x7f;
            bytes.push((length & 0x7f) as u8 | if more { 0x80 } else { 0 });
            length >>= 7;
            if !more {
                break;
            }
        }
        bytes.extend_from_slice(&self.1);
        bytes
    }

    /// A message of a pairing: its topic, and what it says. All of them are of quality of service 0, so they have no number.
    fn of_pairing(&self) -> Option<(String, Vec<u8>)> {
        if self.0 & 0xf6 != PUBLISH {
            return None;
        }
        let (length, rest) = self.1.split_first_chunk::<2>()?;
        let (topic, payload) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        let topic = String::from_utf8(topic.to_vec()).ok()?;
        topic.starts_with(PAIRING_PREFIX).then(|| (topic, payload.to_vec()))
    }

    fn publish(topic: &str, payload: &[u8]) -> Self {
        let length = u16::try_from(topic.len()).expect("topics are short").to_be_bytes();
        Self(PUBLISH, [&length, topic.as_bytes(), payload].concat())
    }
}

/// The proxy.
pub(super) struct Proxy {
    port: u16,
    lines: Mutex<mpsc::Receiver<Line>>,
}

impl Proxy {
    /// Before the broker at this port. It listens until the test's process ends.
    pub(super) fn before(broker: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || {
            for device in listener.incoming().flatten() {
                let tell = tell.clone();
                thread::spawn(move || {
                    // Who goes before the hub lets it in, or after the test's end, is missed by nobody.
                    if let Ok(line) = Line::open(device, broker) {
                        let _ = tell.send(line);
                    }
                });
            }
        });
        Ok(Self { port, lines: Mutex::new(lines) })
    }

    /// Where devices take it for the broker.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The next device that the hub has let in.
    pub(super) fn next(&self) -> Result<Line> {
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv_timeout(PATIENCE)
            .context("no device came through")
    }
}

type Shared = Arc<Mutex<TcpStream>>;

/// One device's connection, in his hands on both sides.
pub(super) struct Line {
    device: Shared,
    hub: Shared,
    of_device: mpsc::Receiver<(String, Vec<u8>)>,
    of_hub: mpsc::Receiver<(String, Vec<u8>)>,
    /// What the device's attempt is called, as soon as it has said something.
    attempt: Option<String>,
    /// Messages taken out, and put in, on either side.
    pub(super) counts: Counts,
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counts {
    pub(super) of_device: usize,
    pub(super) of_hub: usize,
    pub(super) to_device: usize,
    pub(super) to_hub: usize,
}

impl Line {
    fn open(mut device: TcpStream, broker: u16) -> Result<Self> {
        device.set_nodelay(true)?;
        let connect = Packet::read(&mut device)?;
        if connect.0 != CONNECT {
            bail!("not a device");
        }
        let mut hub = let_in(&connect, broker)?;
        device.write_all(&Packet(CONNACK, vec![0, 0]).bytes())?;
        let (to_device, to_hub) = (shared(&device)?, shared(&hub)?);
        let ((say, of_device), (answer, of_hub)) = (mpsc::channel(), mpsc::channel());
        let line = Self {
            device: to_device.clone(),
            hub: to_hub.clone(),
            of_device,
            of_hub,
            attempt: None,
            counts: Counts::default(),
        };
        thread::spawn(move || carry(&mut device, &to_hub, &say));
        thread::spawn(move || carry(&mut hub, &to_device, &answer));
        Ok(line)
    }

    /// What the device says next, and nobody else hears.
    pub(super) fn device_says(&mut self) -> Result<Vec<u8>> {
        let (topic, payload) = self.of_device.recv_timeout(PATIENCE).context("the device says nothing")?;
        self.attempt = topic.strip_suffix("/up").map(str::to_owned);
        self.counts.of_device += 1;
        Ok(payload)
    }

    /// What the hub says next, and nobody else hears; nothing, if it says nothing within a moment.
    pub(super) fn hub_says(&mut self) -> Result<Option<Vec<u8>>> {
        match self.of_hub.recv_timeout(MOMENT) {
            Ok((_, payload)) => {
                self.counts.of_hub += 1;
                Ok(Some(payload))
            }
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
            Err(error) => Err(error).context("the hub has gone"),
        }
    }

    /// The next of either side within a moment, or nothing: from the device, or not.
    pub(super) fn either_says(&mut self) -> Option<(bool, Vec<u8>)> {
        if let Ok((_, payload)) = self.of_hub.try_recv() {
            self.counts.of_hub += 1;
            return Some((false, payload));
        }
        let (topic, payload) = self.of_device.recv_timeout(PAUSE).ok()?;
        self.attempt = topic.strip_suffix("/up").map(str::to_owned);
        self.counts.of_device += 1;
        Some((true, payload))
    }

    /// Says this to the device, as the hub.
    pub(super) fn tell_device(&mut self, payload: &[u8]) -> Result<()> {
        self.counts.to_device += 1;
        self.say(&self.device, "down", payload)
    }

    /// Says this to the hub, as the device.
    pub(super) fn tell_hub(&mut self, payload: &[u8]) -> Result<()> {
        self.counts.to_hub += 1;
        self.say(&self.hub, "up", payload)
    }

    fn say(&self, to: &Shared, end: &str, payload: &[u8]) -> Result<()> {
        let attempt = self.attempt.as_ref().context("the device has not said what it goes by")?;
        write(to, &Packet::publish(&format!("{attempt}/{end}"), payload))?;
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        for stream in [&self.device, &self.hub] {
            // It may be closed already.
            let _ = stream.lock().unwrap_or_else(PoisonError::into_inner).shutdown(Shutdown::Both);
        }
    }
}

/// Waits until the broker lets in no device without a login: whoever came in while an attempt before was cleared away would be cut
/// off with it.
pub(super) fn wait_until_shut(broker: u16) -> Result<()> {
    let text = |text: &str| [&[0, text.len() as u8][..], text.as_bytes()].concat();
    let about = [4, 0xc2, 0, 60];
    let body = [&text("MQTT")[..], &about, &text("knock"), &text(PAIRING_USER), &text("")].concat();
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let mut hub = TcpStream::connect((Ipv4Addr::LOCALHOST, broker))?;
        hub.write_all(&Packet(CONNECT, body.clone()).bytes())?;
        if Packet::read(&mut hub).is_ok_and(|answer| answer.0 == CONNACK && answer.1.get(1) != Some(&0)) {
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
    bail!("the hub goes on letting devices in")
}

/// Knocks at the broker in the device's name until strangers are let in.
fn let_in(connect: &Packet, broker: u16) -> Result<TcpStream> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let mut hub = TcpStream::connect((Ipv4Addr::LOCALHOST, broker))?;
        hub.set_nodelay(true)?;
        hub.write_all(&connect.bytes())?;
        if Packet::read(&mut hub).is_ok_and(|answer| answer.0 == CONNACK && answer.1.get(1) == Some(&0)) {
            return Ok(hub);
        }
        thread::sleep(PAUSE);
    }
    bail!("the hub lets nobody in")
}

fn shared(stream: &TcpStream) -> IoResult<Shared> {
    Ok(Arc::new(Mutex::new(stream.try_clone()?)))
}

fn write(to: &Shared, packet: &Packet) -> IoResult<()> {
    to.lock().unwrap_or_else(PoisonError::into_inner).write_all(&packet.bytes())
}

/// Carries what comes until one side ends; messages of a pairing go to `tell` alone.
fn carry(from: &mut TcpStream, to: &Shared, tell: &mpsc::Sender<(String, Vec<u8>)>) {
    while let Ok(packet) = Packet::read(from) {
        let gone = match packet.of_pairing() {
            Some(said) => tell.send(said).is_err(),
            None => write(to, &packet).is_err(),
        };
        if gone {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.lock().unwrap_or_else(PoisonError::into_inner).shutdown(Shutdown::Both);
}
