//! A hub of our own for one board, and its broker in one: it says only what a test lets it say of releases and cards.
//!
//! The link's cryptography and frames are the link crate's; MQTT is as much of 3.1.1 as one client needs
//! (<https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/os/mqtt-v3.1.1-os.html>). It has no outbox and no database, so many of them
//! fit into one test.

use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, anyhow};
use gatepost::random;
use gatepost_build::development::RELEASE_SEED;
use gatepost_companion::{Bond, Keys};
use gatepost_link::{
    Digest, RequestId,
    decision::{Decision, PublicKey},
    document::{Document, MAX_DOCUMENT, Part as DocumentPart},
    envelope::{self, MAX_FRAME, VERSION},
    frame::{self, Down, Offer, PIECE, Part, Report, Running, State, Up},
    seal::{SealKey, SealSecret},
    session::{self, Arrived, Ends, Session},
    topic::Topics,
    update::signed::MAX_SIGNED_BYTES,
};

use super::{broker::System, inside};
use crate::release::Release;

/// Most bytes of a packet that is read.
const MAX_PACKET: usize = 16 * 1024;
/// Between two looks for a new connection.
const PAUSE: Duration = Duration::from_millis(10);

/// The hub.
pub struct ReleasingHub {
    port: u16,
    keys: Keys,
    bond: Bond,
    state: Arc<Mutex<Hub>>,
    over: Arc<AtomicBool>,
}

/// What it knows.
struct Hub {
    ends: Ends,
    secret: SealSecret,
    device: SealKey,
    down: String,
    line: Option<TcpStream>,
    session: Option<Session>,
    release: Option<Release>,
    document: Vec<u8>,
    heard: Vec<(Instant, Up)>,
}

impl ReleasingHub {
    /// Starts one on a port of loopback, with a board that is paired with it.
    ///
    /// # Errors
    /// There is no port.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let (keys, secret) = (inside::keys(), SealSecret(random::bytes()));
        let (hub, device) = (PublicKey(random::bytes()), inside::device(&keys));
        let login = |text: &str| text.try_into().map_err(|_| anyhow!("it is short"));
        let bond = Bond {
            hub,
            seal: secret.public(),
            user: login("board")?,
            password: login("word")?,
            version: VERSION,
        };
        let state = Hub {
            ends: Ends::new(hub, device),
            secret,
            device: keys.seal.public(),
            down: Topics::new(hub, device).down.as_str().to_owned(),
            line: None,
            session: None,
            release: None,
            document: Vec::new(),
            heard: Vec::new(),
        };
        let (state, over) = (Arc::new(Mutex::new(state)), Arc::new(AtomicBool::new(false)));
        let port = listener.local_addr()?.port();
        let (hub, until) = (Arc::clone(&state), Arc::clone(&over));
        thread::spawn(move || listen(&listener, &hub, &until));
        Ok(Self { port, keys, bond, state, over })
    }

    /// Where its broker listens on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The board's keys.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The board's bond with it.
    pub fn bond(&self) -> &Bond {
        &self.bond
    }

    /// Offers a release from the board's next [`Running`] on, to a board that runs an older version.
    pub fn offers(&self, release: &Release) {
        lock(&self.state).release = Some(release.clone());
    }

    /// Asks for a decision on a short message.
    ///
    /// # Errors
    /// There is no session.
    pub fn ask(&self) -> Result<RequestId> {
        let request = RequestId(random::bytes());
        let document = document(request)?;
        let mut hub = lock(&self.state);
        hub.document = document;
        let offer = Offer {
            request,
            document: Digest::of(&hub.document),
            length: hub.document.len() as u32,
            expires_ms: 300_000,
        };
        hub.say(&Down::Offer(offer))?;
        Ok(request)
    }

    /// What it heard of the board, in its order.
    pub fn heard(&self) -> Vec<(Instant, Up)> {
        lock(&self.state).heard.clone()
    }

    /// Forgets what it heard.
    pub fn forget(&self) {
        lock(&self.state).heard.clear();
    }

    /// What the board last said of its firmware.
    pub fn running(&self) -> Option<Running> {
        let hub = lock(&self.state);
        hub.heard.iter().rev().find_map(|(_, up)| match up {
            Up::Running(running) => Some(*running),
            _ => None,
        })
    }

    /// The decision on this request.
    pub fn decision(&self, request: RequestId) -> Option<(Instant, Decision)> {
        let hub = lock(&self.state);
        hub.heard.iter().find_map(|(at, up)| match up {
            Up::Decision(decision) if decision.request == request => Some((*at, *decision)),
            _ => None,
        })
    }

    /// How far into the image the board last asked for a piece.
    pub fn asked_to(&self) -> u32 {
        let hub = lock(&self.state);
        let asked = hub.heard.iter().rev().find_map(|(_, up)| match up {
            Up::FetchBlock { part: Part::Image, offset, .. } => Some(*offset),
            _ => None,
        });
        asked.unwrap_or(0)
    }
}

impl Drop for ReleasingHub {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(line) = lock(&self.state).line.take() {
            // It may be closed already.
            let _ = line.shutdown(Shutdown::Both);
        }
    }
}

fn lock(hub: &Mutex<Hub>) -> MutexGuard<'_, Hub> {
    hub.lock().unwrap_or_else(PoisonError::into_inner)
}

fn document(request: RequestId) -> Result<Vec<u8>> {
    let mut document = Document {
        request,
        audit_head: Digest([1; 32]),
        agent: "engineer",
        origin: None,
        action: "send",
        channel: "local",
        account: "local",
        address: "team",
        known_as: None,
        thread: None,
        reply_to: None,
        options: Default::default(),
        parts: Default::default(),
        attachments: Default::default(),
        also: Default::default(),
    };
    let part = DocumentPart { text: "Shall I?", wire: Digest([2; 32]), wire_alt: None };
    document.parts.push(part).map_err(|_| anyhow!("one part"))?;
    let mut buffer = [0; MAX_DOCUMENT];
    Ok(document.encode(&mut buffer).map_err(|error| anyhow!("{error}"))?.to_vec())
}

fn listen(listener: &TcpListener, hub: &Arc<Mutex<Hub>>, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((line, _)) => {
                let hub = Arc::clone(hub);
                thread::spawn(move || serve(line, &hub));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(PAUSE),
            Err(_) => return,
        }
    }
}

/// Serves the board until the line breaks.
fn serve(mut line: TcpStream, hub: &Mutex<Hub>) {
    let writer = line.set_nonblocking(false).and_then(|()| line.set_nodelay(true));
    let Ok(writer) = writer.and_then(|()| line.try_clone()) else { return };
    {
        let mut hub = lock(hub);
        hub.session = None;
        if let Some(before) = hub.line.replace(writer) {
            let _ = before.shutdown(Shutdown::Both);
        }
    }
    while let Ok((head, body)) = packet(&mut line) {
        if lock(hub).packet(head, &body).is_err() {
            return;
        }
    }
}

/// Reads a packet: its first byte, and all behind its length.
fn packet(line: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut byte = || {
        let mut byte = [0];
        line.read_exact(&mut byte).map(|()| byte[0])
    };
    let head = byte()?;
    let (mut length, mut shift) = (0_usize, 0);
    loop {
        let next = byte()?;
        length |= usize::from(next & 0x7f) << shift;
        shift += 7;
        if next & 0x80 == 0 {
            break;
        }
        if shift > 21 {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    if length > MAX_PACKET {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    line.read_exact(&mut body)?;
    Ok((head, body))
}

impl Hub {
    /// Handles a packet of the board's.
    fn packet(&mut self, head: u8, body: &[u8]) -> Result<()> {
        let id = |at: usize| body.get(at..at + 2).context("a packet breaks off");
        match head >> 4 {
            // CONNECT: anybody may.
            1 => self.write(&[0x20, 2, 0, 0]),
            3 => {
                let topic = usize::from(u16::from_be_bytes(id(0)?.try_into()?));
                let name = body.get(2..2 + topic).context("a packet breaks off")?;
                let is_up = name.ends_with(b"/up");
                let begin = if head & 6 == 0 { 2 + topic } else { 4 + topic };
                if begin > 2 + topic {
                    self.write(&[&[0x40, 2][..], id(2 + topic)?].concat())?;
                }
                let payload = body.get(begin..).context("a packet breaks off")?;
                if is_up { self.payload(payload) } else { Ok(()) }
            }
            8 => self.write(&[&[0x90, 3][..], id(0)?, &[1]].concat()),
            12 => self.write(&[0xd0, 0]),
            _ => Ok(()),
        }
    }

    /// Handles what the board published.
    fn payload(&mut self, payload: &[u8]) -> Result<()> {
        match envelope::decode(payload, VERSION).map_err(|error| anyhow!("{error}"))? {
            envelope::Up::Open { noise } => {
                let opened = session::answer(&self.ends, &self.secret, &self.device, noise, &mut System);
                let (session, noise) = opened.map_err(|error| anyhow!("{error}"))?;
                self.session = Some(session);
                self.publish(&envelope::Down::Opened { noise: &noise })
            }
            envelope::Up::Sealed { number, bytes } => {
                let mut plain = [0; MAX_FRAME];
                let Some(session) = &mut self.session else { return Ok(()) };
                let arrived = session.open(number, bytes, &mut plain).map_err(|error| anyhow!("{error}"))?;
                let Arrived::Text(text) = arrived else { return Ok(()) };
                let up = frame::decode(text).map_err(|error| anyhow!("{error}"))?;
                self.heard.push((Instant::now(), up));
                self.answer(up)
            }
        }
    }

    fn answer(&mut self, up: Up) -> Result<()> {
        match up {
            Up::Ready | Up::Display { .. } | Up::Mute { .. } => self.say_status(),
            Up::Running(running) => {
                self.say_status()?;
                let offered = self.release.clone().filter(|release| is_for(release, &running));
                let Some(release) = offered else { return Ok(()) };
                let utc = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
                let mut buffer = [0; MAX_SIGNED_BYTES];
                let signed = release.signed(RELEASE_SEED)?;
                self.say(&Down::Manifest { signed: signed.to_bytes(&mut buffer), utc, again: false })
            }
            Up::FetchBlock { part, offset, length } => {
                let Some(release) = self.release.clone() else { return Ok(()) };
                let of = match part {
                    Part::List => release.list(),
                    Part::Image => release.image(),
                };
                let begin = (offset as usize).min(of.len());
                let bytes = &of[begin..(begin + usize::from(length)).min(of.len())];
                self.say(&Down::Block { part, offset, bytes })
            }
            Up::Fetch { request, piece } => {
                let document = self.document.clone();
                let bytes = document.chunks(PIECE).nth(piece.into()).context("a piece of it")?;
                self.say(&Down::Piece { request, piece, bytes })
            }
            Up::Decision(decision) => self.say(&Down::Consumed { request: decision.request }),
            Up::Refuse { .. } | Up::Update { .. } => Ok(()),
        }
    }

    fn say_status(&mut self) -> Result<()> {
        self.say(&Down::Status(Report { held: 0, queued: 0, sent: 0, last_s: None, clock_s: None }))
    }

    /// Seals a frame in the session.
    fn say(&mut self, down: &Down<'_>) -> Result<()> {
        let (mut plain, mut sealed) = ([0; MAX_FRAME], [0; MAX_FRAME]);
        let text = frame::encode(down, &mut plain).map_err(|error| anyhow!("{error}"))?;
        let session = self.session.as_mut().context("there is no session")?;
        let (number, bytes) = session.seal(text, &mut sealed).map_err(|error| anyhow!("{error}"))?;
        self.publish(&envelope::Down::Sealed { number, bytes })
    }

    fn publish(&mut self, envelope: &envelope::Down<'_>) -> Result<()> {
        let mut buffer = [0; MAX_FRAME];
        let payload = envelope::encode(envelope, &mut buffer).map_err(|error| anyhow!("{error}"))?;
        let topic = self.down.as_bytes();
        let body = [&(topic.len() as u16).to_be_bytes()[..], topic, payload].concat();
        let mut length = body.len();
        let mut packet = vec![0x30];
        while length > 0x7f {
            packet.push(length as u8 | 0x80);
            length >>= 7;
        }
        packet.push(length as u8);
        packet.extend(body);
        self.write(&packet)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.line.as_mut().context("nobody is there")?.write_all(bytes)?)
    }
}

/// Whether a board that runs this is offered the release.
fn is_for(release: &Release, running: &Running) -> bool {
    running.version < release.manifest().version && running.state == State::Settled
}
