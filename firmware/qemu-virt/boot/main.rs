//! The emulated board's loader: it starts the image that `otadata` leads to, as ESP-IDF's loader does on an ESP32.
//!
//! QEMU is given this program with `-kernel`; it reads the board's flash, which is a virtio disk, takes the slot that
//! [`choose`] names, or the other one if the image there does not verify, copies the program to where it runs, and jumps
//! there. After a reset QEMU puts the loader back and starts it again. It is the kind without rollback, as espflash's is: the
//! firmware counts its starts itself.
//!
//! [`flat`] says what an image is. It is hashed in memory, after it was copied: what runs is what was verified.
#![no_std]
#![no_main]
#![warn(missing_docs)]

use core::{
    arch::{asm, global_asm},
    fmt::Write as _,
    slice,
};

use gatepost_companion::{
    flash::{SECTOR_BYTES, blocks::BLOCK_BYTES},
    slots::{
        Slot,
        choose::{Loader, choose},
        entry::{ENTRY_BYTES, Entry},
        flat::{self, HEADER_BYTES, Header, MAX_PROGRAM_BYTES},
        partitions::{IMAGES, OTADATA},
    },
};
use gatepost_virtio::{self as virtio, Disk, handover, machine};
// The critical section of a single hart.
use riscv as _;
use virtio_drivers::transport::DeviceType;

/// Where a program runs.
const PROGRAM: usize = 0x8000_0000;
/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// For the descriptors of one request to the disk.
const HEAP: usize = 1024;

#[global_allocator]
static ALLOCATOR: embedded_alloc::LlffHeap = embedded_alloc::LlffHeap::empty();

global_asm!(".section .reset, \"ax\"", "tail _start");

#[riscv_rt::entry]
fn main() -> ! {
    // SAFETY: the first and only call, before anything allocates.
    unsafe {
        embedded_alloc::init!(ALLOCATOR, HEAP);
    }
    let mut disk = virtio::take(DeviceType::Block, Disk::new);
    let entries = [0, 1].map(|sector| {
        let mut block = [0; BLOCK_BYTES];
        read(&mut disk, OTADATA + sector * SECTOR_BYTES, &mut block);
        Entry::from_bytes(block.first_chunk::<ENTRY_BYTES>().expect("a block is longer"))
    });
    let choice = choose(entries, Loader::Plain);
    for slot in [choice.first, choice.first.other()] {
        if let Some(header) = load(&mut disk, slot) {
            if let Some(entry) = choice.initial(slot) {
                write_entry(&mut disk, entry);
            }
            // Nothing of it may reach into the program's memory.
            drop(disk);
            say(["boot: ota_0", "boot: ota_1"][slot.index()]);
            handover::leave(slot, &header);
            start();
        }
        say(["boot: no image that verifies in ota_0", "boot: no image that verifies in ota_1"][slot.index()]);
    }
    say("boot: nothing to start: write the image of a slot to offset 0x10000 of the flash");
    machine::fail()
}

/// Copies the program of a slot to where it runs; its header, if it is whole.
fn load(disk: &mut Disk, slot: Slot) -> Option<[u8; HEADER_BYTES]> {
    let at = IMAGES[slot.index()];
    let mut first = [0; BLOCK_BYTES];
    read(disk, at, &mut first);
    let (bytes, begin) = first.split_first_chunk::<HEADER_BYTES>()?;
    let header = Header::from_bytes(bytes)?;
    let (length, rest) =
        (header.length as usize, header.length as usize - begin.len().min(header.length as usize));
    // SAFETY: the board has its memory there, nothing of the loader lies in it, and the length was compared with it.
    let room = unsafe {
        slice::from_raw_parts_mut(PROGRAM as *mut u8, (MAX_PROGRAM_BYTES as usize + BLOCK_BYTES).max(length))
    };
    room[..begin.len()].copy_from_slice(begin);
    let blocks = rest.next_multiple_of(BLOCK_BYTES);
    let behind = &mut room[begin.len()..][..blocks];
    for (number, chunk) in behind.chunks_mut(CHUNK_BYTES).enumerate() {
        read(disk, at + (BLOCK_BYTES + number * CHUNK_BYTES) as u32, chunk);
    }
    flat::verifies(bytes, &room[..length]).then_some(*bytes)
}

/// Starts the program that was copied. Nothing of the loader's is used any more.
fn start() -> ! {
    // SAFETY: a program lies there that was verified; its code was written as data, which the fence makes visible.
    unsafe { asm!("fence.i", "jr {}", in(reg) PROGRAM, options(noreturn)) }
}

/// Reads whole blocks.
fn read(disk: &mut Disk, at: u32, bytes: &mut [u8]) {
    disk.read_blocks(at as usize / BLOCK_BYTES, bytes).expect("the flash can be read");
}

/// Writes the first sector of `otadata`, as after an erase.
fn write_entry(disk: &mut Disk, entry: Entry) {
    let mut block = [0xff; BLOCK_BYTES];
    block[..ENTRY_BYTES].copy_from_slice(&entry.to_bytes());
    disk.write_blocks(OTADATA as usize / BLOCK_BYTES, &block).expect("the flash can be written");
}

/// Without the machinery that formats numbers: it is larger than all the rest.
fn say(what: &str) {
    for text in [what, "\n"] {
        // Writing to the serial line cannot fail.
        let _ = machine::Uart.write_str(text);
    }
}

/// Names the source, as far as that needs no formatting.
#[panic_handler]
fn panic(why: &core::panic::PanicInfo<'_>) -> ! {
    say("boot: PANIC: is there a flash of 4 MB that can be read and written? In");
    if let Some(at) = why.location() {
        say(at.file());
    }
    machine::fail()
}
