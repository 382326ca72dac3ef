//! `gatepost init`.

use std::{
    borrow::Cow,
    fs::{OpenOptions, Permissions},
    io::{ErrorKind, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown},
    path::PathBuf,
};

use super::Failed;
use crate::config::{paths, template};
use crate::printing::{print, print_note, print_result};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Print the configuration and write nothing.
    #[arg(long)]
    print: bool,
    /// Write every key with its explanation, not only what a first hub needs.
    #[arg(long)]
    full: bool,
    /// Write the configuration of the service that the package installs: /etc/gatepost/gatepost.toml, its data in /var/lib/gatepost,
    /// its secrets in /etc/gatepost/credentials.
    #[arg(long)]
    service: bool,
}

/// What comes next, of a hub that somebody starts.
const NEXT: &str =
    "next: gatepost check, then gatepost run; make an agent's token with: gatepost agent add NAME";
/// The same of the service.
const NEXT_OF_SERVICE: &str = "next:
  sudo gatepost check                     # is it valid, and is every channel ready?
  sudo systemctl enable --now gatepost    # runs now, and after each start of this machine
  sudo gatepost agent add engineer        # prints the token of your agent";

pub(super) fn run(named: Option<PathBuf>, arguments: &Arguments) -> Result<(), Failed> {
    let (place, next) = match arguments.service {
        true => (paths::SERVICE_FILE, NEXT_OF_SERVICE),
        false => (paths::DEFAULT_FILE, NEXT),
    };
    let path = &*named.unwrap_or_else(|| place.into());
    let file = match arguments.full {
        true => Cow::Owned(template::full()),
        false => Cow::Borrowed(template::SHORT),
    };
    let file = match arguments.service {
        true => Cow::Owned(template::of_service(&file)),
        false => file,
    };
    if arguments.print {
        return Ok(print(file.strip_suffix('\n').unwrap_or(&file))?);
    }
    let failed = |error: std::io::Error| {
        let hint = match error.kind() {
            ErrorKind::NotFound if arguments.service => "the package makes the folder: install it first",
            ErrorKind::PermissionDenied if arguments.service => {
                "write it as root: sudo gatepost init --service"
            }
            _ => "an existing file is never overwritten",
        };
        Failed::Refused(format!("cannot write {}: {error} ({hint})", path.display()))
    };
    let mut options = OpenOptions::new();
    if arguments.service {
        options.mode(0o600);
    }
    let mut opened = options.write(true).create_new(true).open(path).map_err(failed)?;
    opened.write_all(file.as_bytes()).map_err(failed)?;
    if arguments.service {
        // Whatever root's umask and group are.
        let group = path.parent().and_then(|folder| folder.metadata().ok()).map(|folder| folder.gid());
        fchown(&opened, None, group).map_err(failed)?;
        opened.set_permissions(Permissions::from_mode(0o640)).map_err(failed)?;
    }
    print_result!("wrote {}", path.display())?;
    print_note!("{next}");
    Ok(())
}
