//! The hub's program for a Raspberry Pi: within its budget, and a hub, under QEMU's emulation of that processor.
//!
//! Installed by `tests/run --setup-only`: a C compiler for aarch64, QEMU.

use std::sync::Arc;

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, agents, client::text},
    peers::chore,
};
use serde_json::json;

#[test]
fn a_hub_for_another_processor_takes_a_message_keeps_it_over_a_kill_and_delivers_it() -> Result<()> {
    let mut hub = SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), &agents("limit = 800"))?;
    // Debian's cross compilers bring that processor's C library along, here.
    let emulator = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"].map(Into::into);
    // It fails if the program is over its budget.
    let program = chore(&["hub", "aarch64"])?;
    hub.is_run_by(emulator.into_iter().chain([program.into_os_string()]));
    hub.run()?;
    let (courier, engineer) = (hub.agent("courier")?, hub.agent("engineer")?);
    let sent = courier.send_and_wait(&json!({"to": "local:team", "message": "The **oven** is on."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let held = engineer.send(&json!({"to": "local:team", "message": "May I?"}))?;
    ensure!(held["state"] == "held", "{held}");
    hub.kill()?;
    hub.run()?;
    engineer.until(text(&held, "id"), "held")?;
    let arrived = hub.operator()?.arrived("team")?;
    ensure!(arrived.len() == 1 && text(&arrived[0], "text") == "The oven is on.", "{arrived:?}");
    hub.terminate()
}
