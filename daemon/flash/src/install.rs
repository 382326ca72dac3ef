//! How a board is written: its chip is asked first, the flash is written in pieces, and the chip itself computes the MD5 of each.
//!
//! A piece that the flash has already is left alone, so that an attempt that failed costs what was missing. Whatever happens, a board
//! can be written again: its ROM takes no part in it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use espflash::{
    command::{Command, CommandType},
    connection::{Connection, ResetAfterOperation, ResetBeforeOperation},
    flasher::{FlashSize, SpiAttachParams, SpiSetParams},
    image_format::Segment,
    target::{Chip, ProgressCallbacks},
};

use crate::{
    Board,
    image::Image,
    port::{self, BAUD, Port, PortError},
};

/// Bytes that are written and verified at once: a block of the flash, which is erased in one go.
const PIECE: usize = 64 * 1024;
/// Bytes of a frame of data that the ROM takes.
const FRAME: usize = 1024;
/// How often writing is begun anew.
const ATTEMPTS: u32 = 3;
/// How fast a serial bridge writes at the first attempt. A later one stays at the speed that everything speaks.
const FAST_BAUD: u32 = 460_800;
/// How long the ROM may take for a frame.
const TIMEOUT: Duration = Duration::from_secs(3);
/// What a chip's own USB calls itself (Espressif, "USB JTAG/serial debug unit"). It has no speed.
const USB_JTAG: u16 = 0x1001;

/// Why a board was not written.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// It was unplugged.
    #[error(
        "{} has gone away while the board was written, which has no whole firmware now: plug it in and run this again", .0.display()
    )]
    GoneWhileWriting(PathBuf),
    /// Nobody answers.
    #[error(
        "nothing answers on {} as an ESP32 does: hold BOOT, press and release RESET, let go of BOOT, and run this again at once; if that \
         does not help, try another cable, as some carry no data", .0.display()
    )]
    Silent(PathBuf),
    /// It is something else.
    #[error("the board has a chip that companions do not run on: {0}. They run on an ESP32-C3 or ESP32-C6")]
    OtherChip(String),
    /// It does not do as it is told.
    #[error(
        "the board could not be written, {ATTEMPTS} times: {0}; try another cable and another port, and run this again"
    )]
    Failed(String),
}

/// What is told while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The board was recognised.
    Board(Board),
    /// So many bytes of so many are in the flash and verified, or on their way.
    Written(usize, usize),
    /// It is tried again.
    Again,
}

/// Which board is on a port. What it runs goes on, where the port can restart it; else it stays in its loader.
///
/// # Errors
/// Nothing of ours is there.
pub fn detect(path: &Path) -> Result<Board, InstallError> {
    let mut session = Session::begin(path, port::open(path)?)?;
    if session.has_reset {
        // Whether it was restarted changes nothing of what it is.
        let _ = session.restart();
    }
    Ok(session.board)
}

/// The same of a board that may be restarting, and that is written next: it stays in its loader.
///
/// # Errors
/// Nothing of ours is there.
pub fn detect_to_write(path: &Path) -> Result<Board, InstallError> {
    Ok(Session::begin(path, port::open_again(path)?)?.board)
}

/// Writes a board, verifies it and starts it.
///
/// # Errors
/// It was not written, and why; it may have been written in part then.
pub fn write(path: &Path, image: &Image, tell: &mut dyn FnMut(Progress)) -> Result<Board, InstallError> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        // It was there a moment ago, and may have been restarted.
        let mut session = Session::begin(path, port::open_again(path)?)?;
        if attempt == 1 {
            tell(Progress::Board(session.board));
        }
        let written = session.write(&image.bytes, attempt == 1, tell).and_then(|()| session.restart());
        match written {
            Ok(()) => return Ok(session.board),
            Err(_) if !path.exists() => return Err(InstallError::GoneWhileWriting(path.into())),
            Err(error) if attempt >= ATTEMPTS => return Err(InstallError::Failed(error.to_string())),
            Err(_) => tell(Progress::Again),
        }
    }
}

/// A board in its loader.
struct Session {
    connection: Connection,
    board: Board,
    has_reset: bool,
}

impl Session {
    fn begin(path: &Path, port: Port) -> Result<Self, InstallError> {
        let before = match port.has_reset {
            true => ResetBeforeOperation::DefaultReset,
            false => ResetBeforeOperation::NoReset,
        };
        let after = ResetAfterOperation::HardReset;
        let mut connection = Connection::new(port.serial, port.usb, after, before, BAUD);
        let silent = || match path.exists() {
            true => InstallError::Silent(path.into()),
            false => PortError::Gone(path.into()).into(),
        };
        connection.begin().and_then(|()| connection.set_timeout(TIMEOUT)).map_err(|_| silent())?;
        let chip = match connection.detect_chip(false) {
            Ok(chip) => chip,
            Err(espflash::Error::ChipDetectError(what)) => return Err(InstallError::OtherChip(what)),
            Err(_) => return Err(silent()),
        };
        let board = Board::of(chip).ok_or_else(|| InstallError::OtherChip(name(chip)))?;
        Ok(Self { connection, board, has_reset: port.has_reset })
    }

    fn write(
        &mut self,
        bytes: &[u8],
        fast: bool,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<(), espflash::Error> {
        let connection = &mut self.connection;
        // Without a stub, verified, and what is there already is skipped.
        let mut target = self.board.chip().flash_target(SpiAttachParams::default(), false, true, true);
        target.begin(connection)?;
        let spi_params = SpiSetParams::default(FlashSize::_4Mb.size());
        connection.command(Command::SpiSetParams { spi_params })?;
        if fast && self.has_reset && connection.usb_pid() != USB_JTAG {
            connection.command(Command::ChangeBaudrate { new_baud: FAST_BAUD, prior_baud: 0 })?;
            connection.set_baud(FAST_BAUD)?;
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut at = 0;
        for piece in bytes.chunks(PIECE) {
            // The ROM writes words.
            let mut padded = piece.to_vec();
            padded.resize(piece.len().next_multiple_of(4), 0xff);
            let address = u32::try_from(at).unwrap_or(u32::MAX);
            let mut telling = Telling { before: at, all: bytes.len(), tell };
            target.write_segment(connection, Segment::new(address, &padded), &mut telling)?;
            at += piece.len();
            tell(Progress::Written(at, bytes.len()));
        }
        Ok(())
    }

    /// Starts what was written.
    fn restart(&mut self) -> Result<(), espflash::Error> {
        if self.has_reset {
            return self.connection.reset();
        }
        // The ROM restarts at the end of a download, which must have begun.
        let (blocks, block_size) = (0, u32::try_from(FRAME).unwrap_or(u32::MAX));
        self.connection.command(Command::FlashBegin {
            size: 0,
            blocks,
            block_size,
            offset: 0,
            supports_encryption: true,
        })?;
        let ended = self.connection.with_timeout(CommandType::FlashEnd.timeout(), |connection| {
            connection.command(Command::FlashEnd { reboot: true })
        });
        // It may be gone before it has answered.
        let _ = ended;
        Ok(())
    }
}

fn name(chip: Chip) -> String {
    chip.to_string().to_uppercase()
}

/// Tells of a piece what the person wants to know of the whole.
struct Telling<'t> {
    before: usize,
    all: usize,
    tell: &'t mut dyn FnMut(Progress),
}

impl ProgressCallbacks for Telling<'_> {
    fn init(&mut self, _: u32, _: usize) {}

    fn update(&mut self, frames: usize) {
        (self.tell)(Progress::Written((self.before + frames * FRAME).min(self.all), self.all));
    }

    fn verifying(&mut self) {}

    fn finish(&mut self, _: bool) {}
}
