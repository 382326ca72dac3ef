//! Memory that virtio's devices share, and the devices themselves.
//!
//! Pages come from a region of their own and never go back: every device is found once and kept.

use alloc::vec::Vec;
use core::{
    ptr::NonNull,
    sync::atomic::{AtomicUsize, Ordering},
};

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

/// The board's eight virtio slots, and what is in them.
pub struct Slots(Vec<Transport>);

impl Slots {
    /// To be called once: two drivers of one device would confuse each other.
    pub fn look() -> Self {
        let slots = (0..8).filter_map(|slot| {
            let header = NonNull::new((REGISTERS + slot * 0x1000) as *mut VirtIOHeader)?;
            // SAFETY: the board has a page of virtio registers there, and nobody else uses it.
            unsafe { MmioTransport::new(header, 0x1000) }.ok()
        });
        Self(slots.collect())
    }

    /// Takes the device of this kind, whose driver `new` is.
    pub fn take<D>(&mut self, kind: DeviceType, new: impl Fn(Transport) -> Result<D, Error>) -> D {
        let at = self.0.iter().position(|device| device.device_type() == kind);
        let at = at.unwrap_or_else(|| panic!("start QEMU with a -device for {kind:?}"));
        new(self.0.remove(at)).expect("QEMU's device does as virtio says")
    }
}

unsafe extern "C" {
    static _devices_start: u8;
    static _devices_end: u8;
}

/// Pages given out.
static GIVEN: AtomicUsize = AtomicUsize::new(0);

/// The memory that devices share; addresses are what they are on the bus.
pub struct Memory;

// SAFETY: the pages lie in a region that the linker keeps for nothing else, each is given out once, aligned and zeroed,
// and there is neither an MMU nor a cache between processor and devices.
unsafe impl Hal for Memory {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let first = GIVEN.load(Ordering::Relaxed);
        GIVEN.store(first + pages, Ordering::Relaxed);
        let start = &raw const _devices_start as usize + first * PAGE_SIZE;
        assert!(start + pages * PAGE_SIZE <= &raw const _devices_end as usize, "too many devices");
        let memory = NonNull::new(start as *mut u8).expect("it is not zero");
        // SAFETY: within the region, and given to nobody before.
        unsafe { memory.write_bytes(0, pages * PAGE_SIZE) };
        (start as PhysAddr, memory)
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
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
