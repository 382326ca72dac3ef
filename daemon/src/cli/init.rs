//! `gatepost init`.

use std::{borrow::Cow, fs::OpenOptions, io::Write as _, path::Path};

use super::Failed;
use crate::config::template;
use crate::printing::{print, print_note, print_result};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Print the configuration and write nothing.
    #[arg(long)]
    print: bool,
    /// Write every key with its explanation, not only what a first hub needs.
    #[arg(long)]
    full: bool,
}

pub(super) fn run(path: &Path, arguments: &Arguments) -> Result<(), Failed> {
    let file = match arguments.full {
        true => Cow::Owned(template::full()),
        false => Cow::Borrowed(template::SHORT),
    };
    if arguments.print {
        return Ok(print(file.strip_suffix('\n').unwrap_or(&file))?);
    }
    let failed = |error: std::io::Error| {
        Failed::Refused(format!(
            "cannot write {}: {error} (an existing file is never overwritten)",
            path.display()
        ))
    };
    let mut opened = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    opened.write_all(file.as_bytes()).map_err(failed)?;
    print_result!("wrote {}", path.display())?;
    print_note!(
        "next: gatepost check, then gatepost run; make an agent's token with: gatepost agent add NAME"
    );
    Ok(())
}
