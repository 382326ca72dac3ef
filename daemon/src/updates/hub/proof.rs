//! Whether the hub is well after an update: it has restarted, it takes messages, and it still does a little later.

use std::time::Duration;

use super::programs::{NotDone, Run};
use crate::config::paths::SERVICE_FILE;

const SYSTEMCTL: &str = "/usr/bin/systemctl";
const UNIT: &str = "gatepost.service";
/// How long a hub may take until it takes messages. A migration of a large database is within it.
const WAIT: &str = "90";
/// More than that, for the program that waits.
const WITHIN: Duration = Duration::from_secs(120);
/// How long it has to go on.
const STEADY: Duration = Duration::from_secs(15);
/// How long systemd may take for a word.
const ASKING: Duration = Duration::from_secs(60);
/// How long systemd may take to start it: more than `TimeoutStartSec` and `TimeoutStopSec` together.
const STARTING: Duration = Duration::from_mins(17);

/// The process of the hub that runs now; [`None`] if none does.
pub(super) async fn process() -> Result<Option<u32>, NotDone> {
    let show = ["show", "--property=MainPID", "--value", UNIT];
    let said = Run::new(SYSTEMCTL, &show, ASKING).done().await?;
    Ok(said.trim().parse().ok().filter(|&pid| pid != 0))
}

/// Starts the hub anew, also one that systemd has given up.
pub(super) async fn restart() -> Result<(), NotDone> {
    Run::new(SYSTEMCTL, &["reset-failed", UNIT], ASKING).done().await?;
    Run::new(SYSTEMCTL, &["restart", UNIT], STARTING).done().await.map(drop)
}

/// Waits until the hub is well. `before`: the process that was replaced.
///
/// # Errors
/// Why it is not, in words.
pub(super) async fn well(before: Option<u32>) -> Result<(), String> {
    let words = |error: NotDone| error.to_string();
    healthy(WAIT).await.map_err(words)?;
    let first = process().await.map_err(words)?.ok_or("it does not run")?;
    if Some(first) == before {
        return Err("it was not restarted".into());
    }
    tokio::time::sleep(STEADY).await;
    healthy("0").await.map_err(words)?;
    match process().await.map_err(words)? {
        Some(now) if now == first => Ok(()),
        _ => Err("it took messages, and then ended".into()),
    }
}

/// Asks with the program that is installed now: one that cannot even ask is not well.
async fn healthy(wait: &str) -> Result<(), NotDone> {
    let ask = ["--config", SERVICE_FILE, "health", "--wait", wait];
    // The configuration may name secrets, which systemd hands to this unit as to the hub's.
    let credentials = std::env::var("CREDENTIALS_DIRECTORY").unwrap_or_default();
    let more = [("CREDENTIALS_DIRECTORY", credentials.as_str())];
    let more = if credentials.is_empty() { &[][..] } else { &more[..] };
    Run { more, ..Run::new("/usr/bin/gatepost", &ask, WITHIN) }.done().await.map(drop)
}
