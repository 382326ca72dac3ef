//! `gatepost update`: what `gatepost-update.service` runs as root.

use super::Failed;
use crate::updates::hub::{Places, apply};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Carry out the update that the hub has asked for (`gatepost ota roll-out hub`), and finish one that was cut off. For root.
    Apply,
}

pub(super) async fn run(command: Command) -> Result<(), Failed> {
    match command {
        Command::Apply => apply::apply(Places::of_service()).await.map_err(Failed::refused),
    }
}
