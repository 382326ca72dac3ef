//! What the board's loader tells the program that it starts, in a place of the memory that neither uses for anything else.

use core::ptr;

use gatepost_companion::slots::{
    Slot,
    flat::{HEADER_BYTES, Header},
};

/// Behind the memory of the program (memory.x), and before the loader's.
const PLACE: *mut Handover = 0x8030_0000 as *mut Handover;
const MAGIC: u32 = 0x4750_4831;

#[derive(Clone, Copy)]
#[repr(C)]
struct Handover {
    magic: u32,
    slot: u32,
    header: [u8; HEADER_BYTES],
}

/// Leaves word of the slot whose image is started, and of its header.
pub fn leave(slot: Slot, header: &[u8; HEADER_BYTES]) {
    let handover = Handover { magic: MAGIC, slot: slot.index() as u32, header: *header };
    // SAFETY: the board has memory there, and nothing else lies in it.
    unsafe { ptr::write_volatile(PLACE, handover) };
}

/// What the loader left; [`None`] if no loader was there.
pub fn read() -> Option<(Slot, Header)> {
    // SAFETY: the board has memory there, and any bytes are a value.
    let Handover { magic, slot, header } = unsafe { ptr::read_volatile(PLACE) };
    let slot = *Slot::ALL.get(slot as usize).filter(|_| magic == MAGIC)?;
    Some((slot, Header::from_bytes(&header)?))
}
