//! The board's serial line, and its switch.

use core::fmt;

/// The NS16550A's transmit register.
const TRANSMIT: *mut u8 = 0x1000_0000 as *mut u8;
/// SiFive's test device: [`FAIL`] ends QEMU with status 1, [`RESET`] resets the board
/// (<https://github.com/qemu/qemu/blob/master/include/hw/misc/sifive_test.h>).
const FINISHER: *mut u32 = 0x0010_0000 as *mut u32;
const FAIL: u32 = 1 << 16 | 0x3333;
const RESET: u32 = 0x7777;

/// Writes without waiting: QEMU's UART is never full.
pub struct Uart;

impl fmt::Write for Uart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            // SAFETY: the board has this register there, and a write to it touches no memory.
            unsafe { TRANSMIT.write_volatile(byte) };
        }
        Ok(())
    }
}

/// Ends the emulator with an error, so that somebody knows.
pub fn fail() -> ! {
    finish(FAIL)
}

/// Resets the board: the loader starts.
pub fn reset() -> ! {
    finish(RESET)
}

fn finish(how: u32) -> ! {
    // SAFETY: the board has this register there; the write ends what runs here.
    unsafe { FINISHER.write_volatile(how) };
    loop {
        core::hint::spin_loop();
    }
}
