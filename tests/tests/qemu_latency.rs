//! How long a person waits after a hold: in a file of its own, so that no other test takes the processor meanwhile.
//!
//! `GATEPOST_QEMU_APPROVALS` sets how often it is measured, 20 times if it is not set.

use std::{
    env, thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use gatepost_companion::{Button, Edge, buttons};
use gatepost_tests::hub::{PATIENCE, board::with_board, client::text, engineer};
use serde_json::json;

/// From the end of a hold on the board to the message's arrival, as the hub's own inbox has it.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_arrives_as_soon_as_the_hold_is_long_enough() -> Result<()> {
    let approvals = env::var("GATEPOST_QEMU_APPROVALS").map_or(Ok(20), |count| count.parse())?;
    let (fixture, agent, mut board) = with_board(&engineer("cards_per_hour = 0", "")).await?;
    let mut took = Vec::new();
    for number in 1..=approvals {
        board.view("the board has nothing to do", |view| view == "Idle")?;
        let held = agent.send(&json!({"to": "local:team", "message": format!("Message {number}.")}))?;
        board.read()?;
        board.qemu()?.button(Button::Approve, Edge::Pressed)?;
        let complete = Instant::now() + Duration::from_millis(buttons::HOLD);
        thread::sleep(complete.duration_since(Instant::now()));
        while fixture.arrived("team")?.len() < number && complete.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
        took.push(complete.elapsed().as_millis());
        board.qemu()?.button(Button::Approve, Edge::Released)?;
        agent.ended(text(&held, "id"), "sent")?;
    }
    took.sort_unstable();
    let (half, most) = (took[took.len() / 2], took[took.len() * 99 / 100]);
    println!("{approvals} approvals: p50 {half} ms, p99 {most} ms");
    ensure!(half <= 50 && most <= 150, "too slow: {took:?}");
    Ok(())
}
