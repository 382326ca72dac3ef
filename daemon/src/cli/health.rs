//! `gatepost health`.

use std::time::{Duration, Instant};

use super::Failed;
use crate::{
    client::{ClientError, Place},
    printing::{print_note, print_result},
};

/// Between two looks.
const INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Ask only whether it lives. It does so while its disk is full, when it takes no messages.
    #[arg(long)]
    alive: bool,
    /// Look for so many seconds until that is so.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, hide_default_value = true)]
    wait: u32,
}

pub(super) async fn run(place: &Place, arguments: &Arguments) -> Result<(), Failed> {
    let (start, longest) = (Instant::now(), Duration::from_secs(arguments.wait.into()));
    let mut last = String::new();
    loop {
        let (asked, answer) = match arguments.alive {
            true => (place.alive().await, "alive"),
            false => (place.ready().await, "ready"),
        };
        let error: ClientError = match asked {
            Ok(()) => return Ok(print_result!("{answer}")?),
            Err(error) => error,
        };
        // No waiting mends those.
        let is_final = matches!(error, ClientError::Config(_) | ClientError::Http(_));
        if is_final || start.elapsed() >= longest {
            return Err(match error {
                // It takes the connection, and says nothing.
                ClientError::Broken(..) => Failed::NoHub(error.to_string()),
                error => error.into(),
            });
        }
        let why = error.to_string();
        if why != last {
            print_note!("waiting: {why}");
            last = why;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
