//! The log, on the board's serial line; and the last word of a panic.

use core::fmt::{self, Write};

/// The NS16550A's transmit register.
const TRANSMIT: *mut u8 = 0x1000_0000 as *mut u8;
/// SiFive's test device: writing [`FAIL`] ends QEMU with status 1.
const FINISHER: *mut u32 = 0x0010_0000 as *mut u32;
const FAIL: u32 = 1 << 16 | 0x3333;

/// Writes without waiting: QEMU's UART is never full.
pub struct Uart;

impl Write for Uart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            // SAFETY: the board has this register there, and a write to it touches no memory.
            unsafe { TRANSMIT.write_volatile(byte) };
        }
        Ok(())
    }
}

/// A line with the time in milliseconds.
#[macro_export]
macro_rules! log {
    ($($what:tt)*) => {{
        use core::fmt::Write as _;
        // Writing to the UART cannot fail.
        let _ = write!($crate::uart::Uart, "{:>8} ", gatepost_net::now().0);
        let _ = writeln!($crate::uart::Uart, $($what)*);
    }};
}

/// Says why, and ends the emulator: a board would start again, but here somebody should know.
#[panic_handler]
fn panic(why: &core::panic::PanicInfo<'_>) -> ! {
    log!("PANIC {why}");
    // SAFETY: the board has this register there; the write ends the emulator.
    unsafe { FINISHER.write_volatile(FAIL) };
    loop {}
}
