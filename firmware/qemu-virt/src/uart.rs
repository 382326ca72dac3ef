//! The log, on the board's serial line; and the last word of a panic.

use gatepost_virtio::machine;

use crate::clock;

/// A line with the time in milliseconds.
#[macro_export]
macro_rules! log {
    ($($what:tt)*) => {{
        use core::fmt::Write as _;
        // Writing to the UART cannot fail.
        let _ = write!(gatepost_virtio::machine::Uart, "{:>8} ", gatepost_net::now().0);
        let _ = writeln!(gatepost_virtio::machine::Uart, $($what)*);
    }};
}

/// Says why. On trial it starts again, as a board does; else it ends the emulator, for somebody should know.
#[panic_handler]
fn panic(why: &core::panic::PanicInfo<'_>) -> ! {
    log!("PANIC {why}");
    if clock::is_watched() { machine::reset() } else { machine::fail() }
}
