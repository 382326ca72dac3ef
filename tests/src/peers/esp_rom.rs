//! A stand-in for what is burnt into an ESP32: the loader that answers on a serial port, here a pseudo-terminal, over which a
//! program writes the flash (<https://docs.espressif.com/projects/esptool/en/latest/esp32c3/advanced-topics/serial-protocol.html>).
//!
//! It is as strict as a chip: flash that was not erased keeps its zeros, blocks come in their order, and a checksum that is wrong is
//! refused. Espressif's own esptool writes it too (`tests/tests/firmware/installer.rs`), which is what makes it worth trusting.
//! Once it is told to restart it is what runs: another serial line, if it was given one.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::{ffi::OsStrExt as _, fs::symlink, net::UnixStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context as _, Result};
use md5::{Digest as _, Md5};
use rustix::{
    fs::{OFlags, fcntl_setfl},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use tempfile::TempDir;

/// Bytes of its flash.
pub const FLASH: usize = 4 * 1024 * 1024;
const SECTOR: usize = 4096;
/// Between two looks at the line.
const LOOK: Duration = Duration::from_millis(1);
const END: u8 = 0xc0;
const ESCAPE: u8 = 0xdb;
/// What a block's checksum begins with.
const CHECKSUM: u8 = 0xef;
/// The error of the ROM for a block that is damaged.
const BAD_CHECKSUM: u8 = 0x07;
/// And for what it does not know, or not now.
const INVALID: u8 = 0x05;

/// What goes wrong, once, at a data frame of this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// It is lost on the line.
    Drops(usize),
    /// It arrives damaged, and is refused.
    Refuses(usize),
    /// Somebody pulls the cable.
    Leaves(usize),
    /// It restarts, again and again, and says so.
    Restarts(usize),
}

/// The chip, and the line that leads to it.
pub struct EspRom {
    folder: TempDir,
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
    line: Option<JoinHandle<()>>,
}

struct State {
    chip: u32,
    fault: Fault,
    flash: Vec<u8>,
    frames: usize,
    /// Where the next block goes, its number, and where they end.
    writing: Option<(usize, u32, usize)>,
    restarts: usize,
    /// The line of what runs after a restart.
    runs: Option<PathBuf>,
}

impl EspRom {
    /// A chip of this number, which waits in its loader; its flash is as it leaves the factory.
    ///
    /// # Errors
    /// The system has no pseudo-terminal.
    pub fn start(chip: u32, fault: Fault) -> Result<Self> {
        Self::with(Self::state_of(chip, fault))
    }

    /// A chip that speaks on this socket once it was restarted.
    ///
    /// # Errors
    /// The system has no pseudo-terminal.
    pub fn before(chip: u32, runs: PathBuf) -> Result<Self> {
        let rom = Self::start(chip, Fault::None)?;
        rom.state().runs = Some(runs);
        Ok(rom)
    }

    /// A chip that does not wait in its loader: what it runs speaks on this socket.
    ///
    /// # Errors
    /// The system has no pseudo-terminal.
    pub fn running(runs: PathBuf) -> Result<Self> {
        let mut state = Self::state_of(0, Fault::None);
        (state.runs, state.restarts) = (Some(runs), 1);
        Self::with(state)
    }

    fn state_of(chip: u32, fault: Fault) -> State {
        let flash = vec![0xff; FLASH];
        State { chip, fault, flash, frames: 0, writing: None, restarts: 0, runs: None }
    }

    fn with(state: State) -> Result<Self> {
        let (mut line, port) = pseudo_terminal()?;
        let folder = tempfile::tempdir()?;
        let link = folder.path().join("usb-Espressif-if00");
        symlink(port, &link)?;
        let (state, stop) = (Arc::new(Mutex::new(state)), Arc::new(AtomicBool::new(false)));
        let (chip, ends) = (Arc::clone(&state), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            let runs = {
                let state = chip.lock().unwrap_or_else(PoisonError::into_inner);
                state.runs.clone().filter(|_| state.restarts > 0)
            };
            // What runs behind the line may end before it.
            let _ = match runs {
                Some(socket) => run(&mut line, &socket, &ends),
                None => serve(&mut line, &chip, &ends),
            };
            let _ = fs::remove_file(link);
        });
        Ok(Self { folder, state, stop, line: Some(thread) })
    }

    /// The port.
    pub fn port(&self) -> PathBuf {
        self.folder.path().join("usb-Espressif-if00")
    }

    /// What is in the flash.
    pub fn flash(&self) -> Vec<u8> {
        self.state().flash.clone()
    }

    /// Puts these bytes into the flash, as something before has left them.
    pub fn put(&self, at: usize, bytes: &[u8]) {
        self.state().flash[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// How many frames of data it was sent.
    pub fn frames(&self) -> usize {
        self.state().frames
    }

    /// How often it was told to restart.
    pub fn restarts(&self) -> usize {
        self.state().restarts
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for EspRom {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(line) = self.line.take() {
            let _ = line.join();
        }
    }
}

/// A pseudo-terminal: its near end, which nothing waits at and no other program inherits, and the name of its far one.
///
/// # Errors
/// The system has none.
pub fn pseudo_terminal() -> Result<(File, PathBuf)> {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).context("openpt")?;
    grantpt(&near)?;
    unlockpt(&near)?;
    fcntl_setfl(&near, OFlags::RDWR | OFlags::NONBLOCK)?;
    let far = PathBuf::from(OsStr::from_bytes(ptsname(&near, Vec::new())?.as_bytes()));
    Ok((File::from(near), far))
}

/// What becomes of the line after a frame.
enum Next {
    Answer(Vec<u8>),
    Silence,
    Leave,
    Restart,
    Run(Option<PathBuf>),
}

fn serve(line: &mut File, state: &Mutex<State>, stop: &AtomicBool) -> io::Result<()> {
    let mut input = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        read(line, &mut input)?;
        while let Some(frame) = frame(&mut input) {
            let next = state.lock().unwrap_or_else(PoisonError::into_inner).handle(&frame);
            match next {
                Next::Answer(bytes) => line.write_all(&bytes)?,
                Next::Silence => {}
                Next::Leave => return Ok(()),
                Next::Restart => return restart(line, stop),
                Next::Run(None) => {}
                Next::Run(Some(socket)) => return run(line, &socket, stop),
            }
        }
    }
    Ok(())
}

/// What a supply that is too weak makes of a board.
fn restart(line: &mut File, stop: &AtomicBool) -> io::Result<()> {
    while !stop.load(Ordering::SeqCst) {
        // Nobody may read.
        _ = line.write(b"ESP-ROM:esp32c3-api1-20210207\r\nrst:0xf (BROWNOUT_RST),boot:0x7\r\n");
        thread::sleep(10 * LOOK);
    }
    Ok(())
}

/// Carries bytes between the line and what runs.
fn run(line: &mut File, socket: &Path, stop: &AtomicBool) -> io::Result<()> {
    let mut board = UnixStream::connect(socket)?;
    board.set_read_timeout(Some(LOOK))?;
    while !stop.load(Ordering::SeqCst) {
        let mut input = Vec::new();
        read(line, &mut input)?;
        board.write_all(&input)?;
        let mut bytes = [0; 1024];
        match board.read(&mut bytes) {
            Ok(0) => return Ok(()),
            // Nobody may have the port open: a board's words are lost then.
            Ok(count) => _ = line.write_all(&bytes[..count]),
            Err(error) if is_silence(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

fn read(line: &mut File, input: &mut Vec<u8>) -> io::Result<()> {
    let mut bytes = [0; 4096];
    match line.read(&mut bytes) {
        Ok(count) => input.extend_from_slice(&bytes[..count]),
        // Silence, or nobody has the far end open.
        Err(_) => thread::sleep(LOOK),
    }
    Ok(())
}

/// Takes the first whole frame out of the input.
fn frame(input: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        let begin = input.iter().position(|byte| *byte == END)?;
        let end = begin + 1 + input[begin + 1..].iter().position(|byte| *byte == END)?;
        let inside: Vec<u8> = input[begin + 1..end].to_vec();
        // Between two frames there are two ends.
        input.drain(..if inside.is_empty() { end } else { end + 1 });
        if inside.is_empty() {
            continue;
        }
        let mut bytes = Vec::with_capacity(inside.len());
        let mut inside = inside.into_iter();
        while let Some(byte) = inside.next() {
            bytes.push(match byte {
                ESCAPE if inside.next() == Some(0xdc) => END,
                other => other,
            });
        }
        return Some(bytes);
    }
}

fn word(bytes: &[u8], index: usize) -> u32 {
    let bytes = bytes.get(index * 4..index * 4 + 4).and_then(|word| word.try_into().ok());
    u32::from_le_bytes(bytes.unwrap_or_default())
}

/// What some of an ESP32-C3's registers have; esptool asks for them before it writes
/// (<https://github.com/espressif/esptool/blob/master/esptool/targets/esp32c3.py>).
fn register(address: u32) -> u32 {
    match address {
        // The chip's minor revision, in a fuse: v0.4.
        0x6000_8850 => 4 << 18,
        // What the flash says that it is: 4 MB.
        0x6000_2058 => 0x16_40c8,
        _ => 0,
    }
}

fn answer(command: u8, value: u32, data: &[u8], error: u8) -> Vec<u8> {
    let length = u16::try_from(data.len() + 4).unwrap_or(u16::MAX);
    let mut bytes = vec![1, command];
    bytes.extend(length.to_le_bytes());
    bytes.extend(value.to_le_bytes());
    bytes.extend(data);
    bytes.extend([u8::from(error != 0), error, 0, 0]);
    let mut frame = vec![END];
    for byte in bytes {
        match byte {
            END => frame.extend([ESCAPE, 0xdc]),
            ESCAPE => frame.extend([ESCAPE, 0xdd]),
            other => frame.push(other),
        }
    }
    frame.push(END);
    frame
}

impl State {
    fn handle(&mut self, frame: &[u8]) -> Next {
        let Some((head, body)) = frame.split_at_checked(8).filter(|(head, _)| head[0] == 0) else {
            return Next::Silence;
        };
        let (command, sum) = (head[1], head[4]);
        if usize::from(u16::from_le_bytes([head[2], head[3]])) != body.len() {
            return Next::Answer(answer(command, 0, &[], INVALID));
        }
        let well = || Next::Answer(answer(command, 0, &[], 0));
        match command {
            // SYNC, which is answered eight times.
            0x08 => Next::Answer(answer(command, 0x2012_0707, &[], 0).repeat(8)),
            // FLASH_BEGIN
            0x02 => {
                let (size, at) = (word(body, 0) as usize, word(body, 3) as usize);
                let end = at + size.next_multiple_of(SECTOR);
                if end > FLASH {
                    return Next::Answer(answer(command, 0, &[], INVALID));
                }
                self.flash[at / SECTOR * SECTOR..end].fill(0xff);
                self.writing = Some((at, 0, end));
                well()
            }
            // FLASH_DATA
            0x03 => self.data(command, sum, body),
            // FLASH_END
            0x04 if self.writing.take().is_none() => Next::Answer(answer(command, 0, &[], INVALID)),
            0x04 if word(body, 0) == 0 => {
                self.restarts += 1;
                Next::Run(self.runs.clone())
            }
            0x04 => well(),
            // WRITE_REG, SPI_SET_PARAMS, SPI_ATTACH, CHANGE_BAUDRATE
            0x09 | 0x0b | 0x0d | 0x0f => well(),
            // READ_REG
            0x0a => Next::Answer(answer(command, register(word(body, 0)), &[], 0)),
            // SPI_FLASH_MD5
            0x13 => {
                let (at, length) = (word(body, 0) as usize, word(body, 1) as usize);
                let Some(bytes) = self.flash.get(at..at + length) else {
                    return Next::Answer(answer(command, 0, &[], INVALID));
                };
                let hex: String = Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
                Next::Answer(answer(command, 0, hex.as_bytes(), 0))
            }
            // GET_SECURITY_INFO: flags, uses of keys, the chip's number, the interface's version.
            0x14 => {
                let mut info = [0; 20];
                info[12..16].copy_from_slice(&self.chip.to_le_bytes());
                Next::Answer(answer(command, 0, &info, 0))
            }
            _ => Next::Answer(answer(command, 0, &[], INVALID)),
        }
    }

    fn data(&mut self, command: u8, sum: u8, body: &[u8]) -> Next {
        self.frames += 1;
        let fault = match self.fault {
            Fault::Drops(at) if at == self.frames => Next::Silence,
            Fault::Refuses(at) if at == self.frames => Next::Answer(answer(command, 0, &[], BAD_CHECKSUM)),
            Fault::Leaves(at) if at == self.frames => Next::Leave,
            Fault::Restarts(at) if at == self.frames => Next::Restart,
            _ => return self.write(command, sum, body),
        };
        self.fault = Fault::None;
        fault
    }

    fn write(&mut self, command: u8, sum: u8, body: &[u8]) -> Next {
        let refused = |error| Next::Answer(answer(command, 0, &[], error));
        let (length, number) = (word(body, 0) as usize, word(body, 1));
        let Some(data) = body.get(16..).filter(|data| data.len() == length) else { return refused(INVALID) };
        if data.iter().fold(CHECKSUM, |sum, byte| sum ^ byte) != sum {
            return refused(BAD_CHECKSUM);
        }
        let Some((at, next, end)) = self.writing else { return refused(INVALID) };
        if number != next || at >= end {
            return refused(INVALID);
        }
        // The last block may be longer than what was erased: a chip writes it all the same.
        for (cell, byte) in self.flash[at..].iter_mut().zip(data) {
            *cell &= byte;
        }
        self.writing = Some((at + length, next + 1, end));
        Next::Answer(answer(command, 0, &[], 0))
    }
}
