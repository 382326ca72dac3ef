//! `gatepost channels`: which channels there are, and how an account on one is set up. No hub is asked.

use serde_json::json;

use super::{Failed, markdown, output};
use crate::{
    channels::registry::{KINDS, NAMES, kind},
    printing::print_result,
    spelling::nearest,
};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the channels, one a line. `gatepost channels` alone does the same.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show how an account on a channel is set up: the steps at the platform, the configuration, and what goes wrong.
    Setup {
        /// The channel.
        #[arg(value_name = "CHANNEL")]
        name: String,
    },
}

pub(super) fn run(arguments: Arguments) -> Result<(), Failed> {
    match arguments.command {
        None => list(arguments.json),
        Some(Command::List { json }) => list(json),
        Some(Command::Setup { name }) => {
            let kind = kind(&name.to_ascii_lowercase()).ok_or_else(|| unknown(&name))?;
            Ok(print_result!("{}", markdown::for_terminal(kind.setup))?)
        }
    }
}

fn list(as_json: bool) -> Result<(), Failed> {
    if as_json {
        let rows: Vec<_> =
            KINDS.iter().map(|kind| json!({"channel": kind.name, "account": kind.title()})).collect();
        return Ok(print_result!("{}", json!(rows))?);
    }
    let rows: Vec<_> = KINDS.iter().map(|kind| vec![kind.name.into(), kind.title().into()]).collect();
    Ok(print_result!("{}", output::table(&["CHANNEL", "AN ACCOUNT IS"], &rows))?)
}

fn unknown(name: &str) -> Failed {
    let advice = match nearest(&name.to_ascii_lowercase(), NAMES.iter().copied()) {
        Some(known) => format!("did you mean {known}? Try: gatepost channels setup {known}"),
        None => format!("there are {}", NAMES.join(", ")),
    };
    Failed::Usage(format!("there is no channel {name:?}; {advice}"))
}
