//! `kill -9` behind every piece of what passes between a hub and its platform, from a line that Ann writes to the answer that she has:
//! the line is in one turn, and the answer there once, or nobody knows and the hub says so.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{hub::client::text, mocks::Wire, torture::number};

use super::{
    agent::{self, Agent},
    houses::{self, House, Told},
    stage::Stage,
};

/// So long a hub that is to die at a piece that does not come is given: some platforms are written to once a second.
const QUIET: Duration = Duration::from_secs(3);

#[test]
fn a_kill_behind_every_piece_of_what_passes_loses_no_line_and_doubles_no_answer() -> Result<()> {
    let steps = usize::try_from(number("RECEIVING_STEPS", 10)?)?;
    houses::each(|house| each_step(house, steps))
}

/// How often the answer to a line is there, as it was or as the agent changed it.
fn times(house: &dyn House, line: &str) -> Result<usize> {
    let words = [agent::answer(line), agent::better(line)];
    Ok(house.arrived()?.iter().filter(|one| words.contains(&one.text)).count())
}

fn is_answered(house: &dyn House, line: &str) -> Result<bool> {
    Ok(times(house, line)? > 0)
}

fn each_step(house: &dyn House, steps: usize) -> Result<()> {
    let mut stage = Stage::build(house)?;
    let client = stage.hub.agent("engineer")?;
    let agent = Agent::new(&client);
    let (mut killed, mut unknown) = (0, 0);
    thread::scope(|scope| -> Result<()> {
        scope.spawn(|| agent.work());
        let done = (|| -> Result<()> {
            for step in 0..steps {
                let line = format!("line{step:05} of a step");
                // What notifies the hub comes by the door, and the answer by the other: each has its turn.
                let door = house.notifies().then_some(&stage.door);
                let wires: Vec<&Wire> = stage.wires.iter().chain(door).collect();
                let wire = wires[step % wires.len()];
                wire.after(step / wires.len() % house.pieces(), stage.killer()?);
                // A hub that dies at the notification itself takes it when it runs again.
                let taken = house.tell(Told::Line(step, &line)).is_ok();
                let start = Instant::now();
                while wire.waits() && start.elapsed() < QUIET && !is_answered(house, &line)? {
                    thread::sleep(Duration::from_millis(5));
                }
                killed += usize::from(!wire.waits());
                stage.clear();
                stage.hub.kill()?;
                stage.hub.run_without_waiting()?;
                if !taken {
                    stage.tell(Told::Line(step, &line))?;
                }
                stage.has(&line)?;
                let receipt = stage.until("it is answered, for good", || {
                    let Some(id) = agent.did().answers.get(&line).cloned() else { return Ok(None) };
                    let message = client.message(&id)?;
                    Ok(["sent", "unknown"].contains(&text(&message, "state")).then_some(message))
                })?;
                if text(&receipt, "state") == "sent" {
                    // A mail server has taken it before its reader has it.
                    stage.until("the answer arrives", || Ok((times(house, &line)? > 0).then_some(())))?;
                }
                let times = times(house, &line)?;
                match text(&receipt, "state") {
                    "sent" => {
                        ensure!(
                            times == 1,
                            "step {step}: sent, and it is there {times} times: {:?}",
                            house.arrived()
                        )
                    }
                    _ => {
                        unknown += 1;
                        ensure!(times <= 1, "step {step}: it is there {times} times");
                    }
                }
                let rows = stage.lines()?.iter().filter(|one| **one == line).count();
                ensure!(rows == 1, "step {step}: {rows} rows");
            }
            Ok(())
        })();
        agent.stop();
        done
    })
    .with_context(|| house.name().to_owned())?;
    println!("{}: {killed} kills at a piece in {steps} steps, {unknown} answers unknown", house.name());
    ensure!(killed * 2 >= steps, "{killed} of {steps} pieces came");
    ensure!(stage.hub.cli(&["audit", "verify"])?.status == 0);
    Ok(())
}
