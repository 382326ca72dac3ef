//! A slow SD card for a program that is started with this library before the C library's (`LD_PRELOAD`, ld.so(8)).
//!
//! What is written goes into the system's memory as fast as ever; what is synced takes as long as the environment says, as on a card that
//! writes its blocks anew. `SLOW_CARD_SYNC_MS` is added to every sync. `SLOW_CARD_STALL_MS` is added to each `SLOW_CARD_STALL_EVERY`th one,
//! for a card that tidies up now and then. One thing at a time, as a card does: whoever syncs meanwhile waits for its turn. The file that
//! `SLOW_CARD_COUNT` names becomes a byte longer by each sync.

use std::{
    env,
    fs::File,
    io::Write as _,
    sync::{Mutex, OnceLock, PoisonError},
    thread,
    time::Duration,
};

/// How slow it is.
struct Card {
    sync: Duration,
    stall: Duration,
    every: u64,
    count: Option<File>,
    /// Syncs until now.
    syncs: Mutex<u64>,
}

fn card() -> &'static Card {
    static CARD: OnceLock<Card> = OnceLock::new();
    CARD.get_or_init(|| {
        let number = |name: &str| env::var(name).ok().and_then(|said| said.parse().ok()).unwrap_or(0);
        let time = |name| Duration::from_millis(number(name));
        Card {
            sync: time("SLOW_CARD_SYNC_MS"),
            stall: time("SLOW_CARD_STALL_MS"),
            every: number("SLOW_CARD_STALL_EVERY"),
            count: env::var_os("SLOW_CARD_COUNT")
                .and_then(|path| File::options().create(true).append(true).open(path).ok()),
            syncs: Mutex::new(0),
        }
    })
}

/// Waits as long as the card takes.
fn wait() {
    let card = card();
    // Nothing that is done while it is held can panic.
    let mut syncs = card.syncs.lock().unwrap_or_else(PoisonError::into_inner);
    *syncs += 1;
    if let Some(mut count) = card.count.as_ref() {
        // Whoever counts sees what is missing.
        let _ = count.write_all(b".");
    }
    let stalls = card.every > 0 && syncs.is_multiple_of(card.every);
    thread::sleep(card.sync + if stalls { card.stall } else { Duration::ZERO });
}

/// fsync(2), after a wait.
#[unsafe(no_mangle)]
pub extern "C" fn fsync(file: libc::c_int) -> libc::c_int {
    wait();
    // SAFETY: the kernel judges the descriptor, which is all that it takes.
    i32::try_from(unsafe { libc::syscall(libc::SYS_fsync, file) }).unwrap_or(-1)
}

/// fdatasync(2), after a wait.
#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(file: libc::c_int) -> libc::c_int {
    wait();
    // SAFETY: the kernel judges the descriptor, which is all that it takes.
    i32::try_from(unsafe { libc::syscall(libc::SYS_fdatasync, file) }).unwrap_or(-1)
}
