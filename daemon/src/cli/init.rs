//! `gatepost init`.

use std::{fs::OpenOptions, io::Write as _, path::Path};

use super::Failed;
use crate::config::template;
use crate::printing::{print, print_note, print_result};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Print the configuration and write nothing.
    #[arg(long)]
    print: bool,
}

pub(super) fn run(path: &Path, arguments: &Arguments) -> Result<(), Failed> {
    if arguments.print {
        let file = template();
        return Ok(print(file.strip_suffix('\n').unwrap_or(&file))?);
    }
    let failed = |error: std::io::Error| {
        Failed::Refused(format!(
            "cannot write {}: {error} (an existing file is never overwritten)",
            path.display()
        ))
    };
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    file.write_all(template().as_bytes()).map_err(failed)?;
    print_result!("wrote {}", path.display())?;
    print_note!(
        "next: gatepost check, then gatepost run; make an agent's token with: gatepost agent add NAME"
    );
    Ok(())
}
