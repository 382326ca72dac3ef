//! Hubs under test.
//!
//! - [`configuration`]: who may write where on it, written once;
//! - [`client`]: speaks to a hub's HTTP interface, as an agent, a bridge or the operator;
//! - [`listener`]: listens to its event stream;
//! - [`inside`]: a hub in this process, with a companion of its own, that can be stopped and started again;
//! - [`companions`]: the list of them, as their owner has it;
//! - [`firmware`]: releases of companions' firmware, and a companion that takes them by a script;
//! - [`board`]: a companion that is a board in QEMU, at such a hub;
//! - [`releasing`]: a hub of our own that offers firmware to one board;
//! - [`updating`]: such a board, through an update; [`update_figures`]: what that takes;
//! - [`program`]: the `gatepost` program, as a command line;
//! - [`spawned`]: a hub that is a process of its own and can be killed;
//! - [`database`]: what a hub wrote down, read behind its back;
//! - [`disk`]: a disk that can be filled;
//! - [`broker`]: somebody at the broker who listens and speaks, without a companion's keys or with them.
//!
//! Nothing here waits for a fixed time: what must happen is looked for again and again, for at most [`PATIENCE`].

pub mod board;
pub mod broker;
pub mod client;
pub mod companions;
pub mod configuration;
pub mod database;
pub mod disk;
pub mod firmware;
pub mod inside;
pub mod listener;
pub mod program;
pub mod releasing;
pub mod spawned;
pub mod update_figures;
pub mod updating;

pub use board::Board;
pub use broker::{Eavesdropper, Impostor};
pub use client::{Answer, Client};
pub use configuration::{COURIER, INBOX, SOFTWARE, agents, agents_on, asks, engineer, free, secret, webhook};
pub use inside::{Guest, TestHub};
pub use program::{
    Ended, gatepost, gatepost_at_a_terminal, gatepost_to_a_full_disk, gatepost_without_a_reader, program,
    slow_card,
};
pub use releasing::ReleasingHub;
pub use spawned::SpawnedHub;
pub use update_figures::UpdateFigures;
pub use updating::UpdatingBoard;

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

/// How long something that must happen may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks until there is something to see.
///
/// Blocks its thread: in a test that runs on several threads, tasks go on meanwhile.
///
/// # Errors
/// There was nothing within [`PATIENCE`], or looking failed.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(seen) = look()? {
            return Ok(seen);
        }
        if start.elapsed() > PATIENCE {
            bail!("{what}: not within {PATIENCE:?}");
        }
        thread::sleep(PAUSE);
    }
}
