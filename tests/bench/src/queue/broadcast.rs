//! One text to many conversations, beside the same text to one.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{
    Outcome,
    fixture::{Fixture, block_on},
    load::Client,
    median,
    mock::Mock,
};
use crate::document;

/// Conversations, the most that a broadcast may name.
pub(super) const TARGETS: usize = 100;
/// Bytes of the text.
pub(super) const TEXT: usize = 50_000;

/// The median times from the call to its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// With many targets.
    pub many: Duration,
    /// With one.
    pub one: Duration,
}

/// Measures both in turns; each text is new to the hub.
pub(super) fn measure(rounds: usize) -> Outcome<Times> {
    let silent = Mock::start(true)?;
    let mut fixture = Fixture::build(Some(silent.address()))?;
    fixture.run()?;
    let times = block_on(async {
        let mut hub = Client::connect(fixture.address(), fixture.token()).await?;
        let (mut many, mut one) = (vec![], vec![]);
        for round in 0..rounds {
            let text = |to: &str| format!("# Round {round} to {to}\n\n{}", document::mixed(TEXT));
            let targets: Vec<String> = (0..TARGETS).map(|n| format!("local:{n}")).collect();
            let call = json!({"action": "broadcast", "targets": targets, "message": text("all")});
            let began = Instant::now();
            hub.call(&call.to_string()).await?;
            many.push(began.elapsed());
            let call = json!({"to": "local:0", "message": text("one")});
            let began = Instant::now();
            hub.call(&call.to_string()).await?;
            one.push(began.elapsed());
        }
        Ok::<_, Box<dyn std::error::Error>>(Times { many: median(many), one: median(one) })
    })??;
    fixture.kill();
    Ok(times)
}
