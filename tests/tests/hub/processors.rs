//! The hub's programs for Raspberry Pis: each within its budget, and a hub, under QEMU's emulation of that processor.
//!
//! Installed by `tests/run --setup-only`: C compilers for aarch64 and armhf, QEMU.

use std::{path::Path, sync::Arc};

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, agents, client::text},
    peers::chore,
};
use serde_json::json;

#[test]
fn the_hub_for_a_raspberry_pi_is_within_its_budget_and_keeps_a_message_over_a_kill() -> Result<()> {
    // It fails if the program is over its budget. Debian's cross compilers bring that processor's C library along, here.
    is_a_hub(&chore(&["hub", "aarch64"])?, ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"])
}

#[test]
fn the_hub_for_a_system_of_32_bits_keeps_a_message_over_a_kill() -> Result<()> {
    is_a_hub(&chore(&["hub", "armv7", "--unoptimized"])?, ["qemu-arm", "-L", "/usr/arm-linux-gnueabihf"])
}

/// It takes a message, keeps it over a kill, and delivers it.
fn is_a_hub(program: &Path, emulator: [&str; 3]) -> Result<()> {
    let mut hub = SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), &agents("limit = 800"))?;
    let emulator = emulator.map(Into::into);
    hub.is_run_by(emulator.into_iter().chain([program.into()]));
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
