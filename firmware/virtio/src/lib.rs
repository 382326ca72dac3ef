//! virtio's devices on QEMU's riscv32 board `virt`, and the memory that they share with the processor: for the runner there
//! what a chip's own drivers are for others. Nothing is decided here.
//!
//! [`display`] is the graphics card; [`flash`] is the disk that stands for a flash; [`random`] are numbers fit for keys;
//! [`machine`] is the board's serial line and its switch; [`net`] is the network card, and [`wire`] what the set-up takes for
//! a radio; [`handover`] is what its loader tells the program that it starts.
//!
//! Pages come from a region that the runner's linker script keeps for nothing else, between `_devices_start` and
//! `_devices_end`. Every device is found once and kept but the screen, which may be started again: pages that it gives back
//! are given to it again.
#![no_std]
#![warn(missing_docs)]

pub mod display;
pub mod flash;
pub mod handover;
pub mod machine;
pub mod net;
pub mod random;
pub mod wire;

use core::{cell::RefCell, ptr::NonNull};

use critical_section::Mutex;
use gatepost_companion::dma_pool::Pool;
use virtio_drivers::{
    BufferDirection, Error, Hal, PAGE_SIZE, PhysAddr,
    device::{blk::VirtIOBlk, input::VirtIOInput, net::VirtIONet, rng::VirtIORng},
    transport::{
        DeviceType,
        mmio::{MmioTransport, VirtIOHeader},
    },
};

/// Where the board has the registers of its virtio devices, a page each.
const REGISTERS: usize = 0x1000_1000;
/// Packets in each of the network's two rings.
pub const PACKETS: usize = 4;
/// Bytes of a packet's buffer: a full Ethernet frame and virtio's header.
pub const PACKET: usize = 1536;

type Transport = MmioTransport<'static>;
/// The network.
pub type Network = VirtIONet<Memory, Transport, PACKETS>;
/// The keyboard.
pub type Input = VirtIOInput<Memory, Transport>;
/// The random numbers.
pub type Entropy = VirtIORng<Memory, Transport>;
/// The disk.
pub type Disk = VirtIOBlk<Memory, Transport>;

/// A slot with a device in it.
pub struct Slot(NonNull<VirtIOHeader>);

/// Two of a slot's registers: what the device is, and its state; and the state of one whose driver runs (virtio 1.2, 4.2.2
/// and 2.1).
const KIND: usize = 0x08;
const STATUS: usize = 0x70;
const RUNS: u32 = 1 | 2 | 4 | 8;

impl Slot {
    /// The board's first slot with such a device, if there is one.
    pub fn with(kind: DeviceType) -> Option<Self> {
        let mut slots =
            (0..8).filter_map(|slot| NonNull::new((REGISTERS + slot * 0x1000) as *mut _).map(Self));
        slots.find(|slot| slot.read(KIND) == kind as u32)
    }

    /// Whether the device is as its driver left it.
    pub fn is_running(&self) -> bool {
        self.read(STATUS) == RUNS
    }

    /// The device's driver, which `new` is. Any before must be gone.
    pub fn start<D>(&self, new: impl Fn(Transport) -> Result<D, Error>) -> Result<D, Error> {
        // SAFETY: the board has a page of virtio registers there, and its last user is gone.
        let transport = unsafe { MmioTransport::new(self.0, 0x1000) };
        transport.map_err(|_| Error::NotReady).and_then(new)
    }

    fn read(&self, register: usize) -> u32 {
        // SAFETY: every slot has these registers, and reading them changes nothing.
        unsafe { self.0.byte_add(register).cast::<u32>().read_volatile() }
    }
}

/// The driver of the device of this kind, which `new` is. Once: two would confuse each other.
pub fn take<D>(kind: DeviceType, new: impl Fn(Transport) -> Result<D, Error>) -> D {
    let slot = Slot::with(kind).unwrap_or_else(|| panic!("start QEMU with a -device for {kind:?}"));
    slot.start(new).expect("QEMU's device does as virtio says")
}

unsafe extern "C" {
    static _devices_start: u8;
    static _devices_end: u8;
}

/// The pages of the region.
static PAGES: Mutex<RefCell<Pool>> = Mutex::new(RefCell::new(Pool::new()));

/// Where the region begins.
fn start() -> usize {
    &raw const _devices_start as usize
}

/// The memory that devices share; addresses are what they are on the bus.
pub struct Memory;

// SAFETY: the pages lie in a region that the linker keeps for nothing else, each has one user at a time, aligned and zeroed,
// and there is neither an MMU nor a cache between processor and devices.
unsafe impl Hal for Memory {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let first = critical_section::with(|token| PAGES.borrow_ref_mut(token).allocate(pages));
        let start = start() + first * PAGE_SIZE;
        assert!(start + pages * PAGE_SIZE <= &raw const _devices_end as usize, "too many devices");
        let memory = NonNull::new(start as *mut u8).expect("it is not zero");
        // SAFETY: within the region, and nobody else's.
        unsafe { memory.write_bytes(0, pages * PAGE_SIZE) };
        (start as PhysAddr, memory)
    }

    unsafe fn dma_dealloc(at: PhysAddr, _: NonNull<u8>, pages: usize) -> i32 {
        let first = (at as usize - start()) / PAGE_SIZE;
        critical_section::with(|token| PAGES.borrow_ref_mut(token).free(first, pages));
        0
    }

    unsafe fn mmio_phys_to_virt(address: PhysAddr, _: usize) -> NonNull<u8> {
        NonNull::new(address as usize as *mut u8).expect("no register lies at zero")
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.cast::<u8>().as_ptr() as usize as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}
