//! The disk that stands for a flash.
//!
//! QEMU hands every write to the host's file system before it says that it is done: what was written outlives a QEMU
//! that is killed.

use gatepost_companion::flash::blocks::{self, BLOCK_BYTES};
use virtio_drivers::device::blk::SECTOR_SIZE;

use crate::Disk;

const _: () = assert!(BLOCK_BYTES == SECTOR_SIZE);

/// The board's disk, in blocks.
pub struct Flash(pub Disk);

impl blocks::Disk for Flash {
    type Error = virtio_drivers::Error;

    fn count(&self) -> usize {
        self.0.capacity() as usize
    }

    fn read(&mut self, block: usize, bytes: &mut [u8; BLOCK_BYTES]) -> Result<(), virtio_drivers::Error> {
        self.0.read_blocks(block, bytes)
    }

    fn write(&mut self, block: usize, bytes: &[u8; BLOCK_BYTES]) -> Result<(), virtio_drivers::Error> {
        self.0.write_blocks(block, bytes)
    }
}
