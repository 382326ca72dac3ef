//! What restarts the device: a panic, and firmware on trial that hangs.

use esp_backtrace as _;
use esp_hal::{
    delay::Delay,
    peripherals::RTC_TIMER,
    rtc_cntl::{Rtc, Rwdt, RwdtStage},
    system::software_reset,
    time::Duration,
};
use gatepost_companion::update::updater::TRIAL_MS;

/// The trial's own deadline, counted by the program, comes first. The watchdog's clock is an RC oscillator, some percent off.
const WATCHDOG: Duration = Duration::from_millis(TRIAL_MS + 20_000);
/// How long the message of a panic stands before the device restarts: one that panics at every start is not to write to its flash, or
/// log in at its broker, many times a second.
const PANIC_MS: u32 = 5_000;

/// Starts the watchdog, which `esp_hal::init` has stopped. Nobody feeds it.
pub fn start_watchdog(timer: RTC_TIMER<'static>) -> Rwdt {
    let mut watchdog = Rtc::new(timer).rwdt;
    watchdog.set_timeout(RwdtStage::Stage0, WATCHDOG);
    watchdog.enable();
    // What it counted for the loader.
    watchdog.feed();
    watchdog
}

/// After the message of a panic. The device starts anew, as it is of no use as it is; on trial that start counts.
// SAFETY: `esp-backtrace` declares a function of this name and type, and nothing else has one.
#[unsafe(no_mangle)]
fn custom_halt() -> ! {
    Delay::new().delay_millis(PANIC_MS);
    software_reset()
}
