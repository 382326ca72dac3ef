//! The board's serial line, and its switch.

use core::fmt;

/// The NS16550A's register of data, written to transmit and read to receive
/// (<https://github.com/qemu/qemu/blob/master/hw/char/serial.c>).
const DATA: *mut u8 = 0x1000_0000 as *mut u8;
/// Its line status, whose lowest bit says that a byte has come.
const STATUS: *mut u8 = 0x1000_0005 as *mut u8;
const RECEIVED: u8 = 1;
/// SiFive's test device: [`FAIL`] ends QEMU with status 1, [`RESET`] resets the board
/// (<https://github.com/qemu/qemu/blob/master/include/hw/misc/sifive_test.h>).
const FINISHER: *mut u32 = 0x0010_0000 as *mut u32;
const FAIL: u32 = 1 << 16 | 0x3333;
const RESET: u32 = 0x7777;

/// Writes without waiting: QEMU's UART is never full.
pub struct Uart;

impl fmt::Write for Uart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        Self::send(text.as_bytes());
        Ok(())
    }
}

impl Uart {
    /// Writes bytes without waiting.
    pub fn send(bytes: &[u8]) {
        for byte in bytes {
            // SAFETY: the board has this register there, and a write to it touches no memory.
            unsafe { DATA.write_volatile(*byte) };
        }
    }

    /// A byte that has come.
    pub fn receive() -> Option<u8> {
        // SAFETY: the board has these registers there, and reading them touches no memory.
        unsafe { (STATUS.read_volatile() & RECEIVED != 0).then(|| DATA.read_volatile()) }
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
