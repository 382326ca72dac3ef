//! Memory that virtio's devices share, and the devices themselves.
//!
//! Pages come from a region of their own. Every device is found once and kept but the screen, which may be started again:
//! pages that it gives back are given to it again.

use alloc::vec::Vec;
use core::{
    cell::RefCell,
    marker::PhantomData,
    ptr::NonNull,
    sync::atomic::{AtomicUsize, Ordering},
};

use critical_section::Mutex;

use virtio_drivers::{
    BufferDirection, Error, Hal, PAGE_SIZE, PhysAddr,
    device::{blk::VirtIOBlk, gpu::VirtIOGpu, input::VirtIOInput, net::VirtIONet, rng::VirtIORng},
    transport::{
        DeviceType, Transport as _,
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
/// The screen.
pub type Gpu = VirtIOGpu<Memory, Transport>;
/// The keyboard.
pub type Input = VirtIOInput<Memory, Transport>;
/// The random numbers.
pub type Entropy = VirtIORng<Memory, Transport>;
/// The disk.
pub type Disk = VirtIOBlk<Memory, Transport>;

/// A slot with a device that may be started again.
pub struct Slot<D> {
    registers: NonNull<VirtIOHeader>,
    new: fn(Transport) -> Result<D, Error>,
    driver: PhantomData<D>,
}

/// The register of a device's state, behind the first, and what it says of one whose driver runs (virtio 1.2, 4.2.2, 2.1).
const STATUS: usize = 0x70;
const RUNS: u32 = 1 | 2 | 4 | 8;

impl<D> Slot<D> {
    /// Whether the device is as its driver left it.
    pub fn runs(&self) -> bool {
        // SAFETY: the slot has this register, and reading it changes nothing.
        unsafe { self.registers.byte_add(STATUS).cast::<u32>().read_volatile() == RUNS }
    }

    /// Its driver, anew. The one before must be gone.
    pub fn start(&self) -> Result<D, Error> {
        // SAFETY: the board has a page of virtio registers there, and its last user is gone.
        let transport = unsafe { MmioTransport::new(self.registers, 0x1000) };
        transport.map_err(|_| Error::NotReady).and_then(self.new)
    }
}

/// The board's eight virtio slots, and what is in them.
pub struct Slots(Vec<(NonNull<VirtIOHeader>, Transport)>);

impl Slots {
    /// To be called once: two drivers of one device would confuse each other.
    pub fn look() -> Self {
        let slots = (0..8).filter_map(|slot| {
            let header = NonNull::new((REGISTERS + slot * 0x1000) as *mut VirtIOHeader)?;
            // SAFETY: the board has a page of virtio registers there, and nobody else uses it.
            Some((header, unsafe { MmioTransport::new(header, 0x1000) }.ok()?))
        });
        Self(slots.collect())
    }

    /// Takes the device of this kind, whose driver `new` is.
    pub fn take<D>(&mut self, kind: DeviceType, new: impl Fn(Transport) -> Result<D, Error>) -> D {
        let found = self.find(kind).unwrap_or_else(|| panic!("start QEMU with a -device for {kind:?}"));
        new(found.1).expect("QEMU's device does as virtio says")
    }

    /// Takes the slot with the device of this kind, whose driver `new` is, if there is one.
    pub fn slot<D>(&mut self, kind: DeviceType, new: fn(Transport) -> Result<D, Error>) -> Option<Slot<D>> {
        let (registers, _) = self.find(kind)?;
        Some(Slot { registers, new, driver: PhantomData })
    }

    fn find(&mut self, kind: DeviceType) -> Option<(NonNull<VirtIOHeader>, Transport)> {
        let at = self.0.iter().position(|(_, device)| device.device_type() == kind)?;
        Some(self.0.remove(at))
    }
}

unsafe extern "C" {
    static _devices_start: u8;
    static _devices_end: u8;
}

/// Pages given out.
static GIVEN: AtomicUsize = AtomicUsize::new(0);
/// What came back: address and pages, none where there is nothing. One device starts again, with few pieces of memory.
static BACK: Mutex<RefCell<[(usize, usize); 8]>> = Mutex::new(RefCell::new([(0, 0); 8]));

/// Takes a place out of those that came back, of so many pages, and puts another in.
fn change(pages: usize, into: (usize, usize)) -> Option<usize> {
    critical_section::with(|token| {
        let mut back = BACK.borrow_ref_mut(token);
        let place = back.iter_mut().find(|(_, count)| *count == pages)?;
        Some(core::mem::replace(place, into).0)
    })
}

/// The memory that devices share; addresses are what they are on the bus.
pub struct Memory;

// SAFETY: the pages lie in a region that the linker keeps for nothing else, each has one user at a time, aligned and zeroed,
// and there is neither an MMU nor a cache between processor and devices.
unsafe impl Hal for Memory {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let start = change(pages, (0, 0)).unwrap_or_else(|| {
            let first = GIVEN.load(Ordering::Relaxed);
            GIVEN.store(first + pages, Ordering::Relaxed);
            &raw const _devices_start as usize + first * PAGE_SIZE
        });
        assert!(start + pages * PAGE_SIZE <= &raw const _devices_end as usize, "too many devices");
        let memory = NonNull::new(start as *mut u8).expect("it is not zero");
        // SAFETY: within the region, and nobody else's.
        unsafe { memory.write_bytes(0, pages * PAGE_SIZE) };
        (start as PhysAddr, memory)
    }

    unsafe fn dma_dealloc(_: PhysAddr, start: NonNull<u8>, pages: usize) -> i32 {
        // Without a place for it, it is lost.
        let _ = change(0, (start.as_ptr() as usize, pages));
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
