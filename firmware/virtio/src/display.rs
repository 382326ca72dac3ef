//! The graphics card as a display that may be lost at any time: also between a command and its answer.
//!
//! A driver of virtio-drivers waits for an answer for ever, and the whole board with it. This one gives a card up that does not
//! answer within [`PATIENCE`]; it is started again then, as a board's display is. Commands and structures are those of virtio
//! 1.2, 5.7 (<https://docs.oasis-open.org/virtio/virtio/v1.2/virtio-v1.2.html>).

use core::{cell::RefCell, hint::spin_loop, ptr::NonNull};

use critical_section::Mutex;
use embassy_time::{Duration, Instant};
use gatepost_companion::ui::framebuffer::GraphicsCard;
use heapless::Vec;
use virtio_drivers::{
    BufferDirection, Error, Hal as _, PAGE_SIZE,
    queue::VirtQueue,
    transport::{DeviceStatus, Transport as _},
};

use crate::{Memory, Slot, Transport};

/// How long a card may take for an answer. QEMU's takes less than a millisecond, and more on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(2);

/// The queue of commands (5.7.2), and how many of its entries are used: a command and its answer.
const COMMANDS: u16 = 0;
const ENTRIES: usize = 2;
/// `VIRTIO_F_VERSION_1` (6), the only feature that is wanted.
const VERSION_1: u64 = 1 << 32;

/// 5.7.6.7 and 5.7.6.8: kinds of commands, and the one answer that says that it was done.
const CREATE: u32 = 0x101;
const SHOW: u32 = 0x103;
const FLUSH: u32 = 0x104;
const TRANSFER: u32 = 0x105;
const ATTACH: u32 = 0x106;
const DONE: u32 = 0x1100;
/// `VIRTIO_GPU_FORMAT_B8G8R8X8_UNORM`.
const BGRX: u32 = 2;
/// The picture's number; zero is none.
const PICTURE: u32 = 1;

/// Bytes of a header (5.7.6.7), which is all that an answer has here: kind, flags, fence, context, ring. And of the longest command.
const HEADER: usize = 24;
const COMMAND: usize = HEADER + 32;

/// A graphics card as a screen of `width` and `height` pixels.
pub struct Card {
    slot: Option<Slot>,
    width: u32,
    height: u32,
    driver: Option<Driver>,
}

impl Card {
    /// The card in this slot, which may be empty.
    pub fn new(slot: Option<Slot>, width: u32, height: u32) -> Self {
        Self { slot, width, height, driver: None }
    }

    /// The picture on the screen: where it begins, and how large it is.
    fn area(&self) -> [u32; 4] {
        [0, 0, self.width, self.height]
    }
}

impl GraphicsCard for Card {
    type Fault = Error;

    fn is_running(&self) -> bool {
        self.driver.is_some() && self.slot.as_ref().is_some_and(Slot::is_running)
    }

    fn start(&mut self) -> Result<&'static mut [u8], Error> {
        self.driver = None;
        let mut driver = self.slot.as_ref().ok_or(Error::NotReady)?.start(Driver::new)?;
        let size = self.width as usize * self.height as usize * 4;
        let (at, memory) = frame(size);
        let [x, y, width, height] = self.area();
        driver.tell(CREATE, &[PICTURE, BGRX, width, height])?;
        driver.tell(ATTACH, &[PICTURE, 1, at as u32, (at >> 32) as u32, size as u32, 0])?;
        driver.tell(SHOW, &[x, y, width, height, 0, PICTURE])?;
        self.driver = Some(driver);
        // SAFETY: so many bytes of the frame are there for as long as the board runs. Who calls this uses what it was given
        // before no more, the driver reads and writes none of it, and the device reads it only while `flush` waits.
        Ok(unsafe { NonNull::slice_from_raw_parts(memory, size).as_mut() })
    }

    fn flush(&mut self) -> Result<(), Error> {
        let [x, y, width, height] = self.area();
        let driver = self.driver.as_mut().ok_or(Error::NotReady)?;
        let flushed = driver
            .tell(TRANSFER, &[x, y, width, height, 0, 0, PICTURE, 0])
            .and_then(|()| driver.tell(FLUSH, &[x, y, width, height, PICTURE, 0]));
        if flushed.is_err() {
            self.driver = None;
        }
        flushed
    }

    fn not_running() -> Error {
        Error::NotReady
    }
}

/// The memory of the picture: there is one screen, so it is allocated once.
fn frame(size: usize) -> (u64, NonNull<u8>) {
    static FRAME: Mutex<RefCell<Option<usize>>> = Mutex::new(RefCell::new(None));
    let pages = size.div_ceil(PAGE_SIZE);
    let allocate = || Memory::dma_alloc(pages, BufferDirection::DriverToDevice).0 as usize;
    let at = critical_section::with(|token| *FRAME.borrow_ref_mut(token).get_or_insert_with(allocate));
    (at as u64, NonNull::new(at as *mut u8).expect("no memory lies at zero"))
}

/// The driver of a card that was started. The transport is dropped first, and the device reset with it: what it was given is in use
/// no more then.
struct Driver {
    transport: Transport,
    queue: VirtQueue<Memory, ENTRIES>,
    command: Vec<u8, COMMAND>,
    answer: [u8; HEADER],
}

impl Driver {
    fn new(mut transport: Transport) -> Result<Self, Error> {
        let mut status = DeviceStatus::empty();
        transport.set_status(status);
        status |= DeviceStatus::ACKNOWLEDGE | DeviceStatus::DRIVER;
        transport.set_status(status);
        transport.write_driver_features(VERSION_1);
        transport.set_status(status | DeviceStatus::FEATURES_OK);
        let queue = VirtQueue::new(&mut transport, COMMANDS, false, false)?;
        transport.finish_init();
        Ok(Self { transport, queue, command: Vec::new(), answer: [0; HEADER] })
    }

    /// Gives a command, and waits until it is done. After an error the driver must be dropped: the device may still know the command.
    fn tell(&mut self, kind: u32, arguments: &[u32]) -> Result<(), Error> {
        self.command.clear();
        self.command.extend_from_slice(&kind.to_le_bytes()).map_err(|_| Error::InvalidParam)?;
        self.command.resize(HEADER, 0).map_err(|_| Error::InvalidParam)?;
        for argument in arguments {
            self.command.extend_from_slice(&argument.to_le_bytes()).map_err(|_| Error::InvalidParam)?;
        }
        let until = Instant::now() + PATIENCE;
        // SAFETY: neither is touched until the device has answered or was reset.
        let token = unsafe { self.queue.add(&[&self.command], &mut [&mut self.answer])? };
        self.transport.notify(COMMANDS);
        while !self.queue.can_pop() {
            if Instant::now() > until {
                return Err(Error::NotReady);
            }
            spin_loop();
        }
        // SAFETY: the two of `add`.
        unsafe { self.queue.pop_used(token, &[&self.command], &mut [&mut self.answer])? };
        if self.answer[..4] == DONE.to_le_bytes() { Ok(()) } else { Err(Error::IoError) }
    }
}
