//! What the configuration names on this machine, and what is not there or cannot be used: addresses, the data directory, programs.
//!
//! A hub that runs has its addresses and its data directory; and whoever runs `check` meanwhile may be another user.

use std::{
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use super::Found;
use crate::{
    cause::refused_address,
    config::{Config, hooks::Transport, voice::Speaks},
    printing::print_note,
    store::DirectoryLock,
};

/// All that is not ready.
pub(super) fn missing(config: &Config) -> Vec<Found> {
    let mut found: Vec<Found> = programs(config)
        .into_iter()
        .filter_map(|(key, program)| Some(Found::missing(key, program.display(), unusable(&program)?)))
        .collect();
    if DirectoryLock::is_held(&config.hub.data_dir) {
        print_note!("the hub runs: whether its addresses are free was not asked");
        return found;
    }
    let directory = &config.hub.data_dir;
    found.extend(unwritable(directory).map(|why| Found::missing("hub.data_dir", directory.display(), why)));
    found.extend(taken(config));
    found
}

/// Addresses at which the hub could not listen.
fn taken(config: &Config) -> Vec<Found> {
    let broker = config.broker.url.is_none().then_some(("broker.listen", config.broker.listen));
    let web = config.web.listen.map(|address| ("web.listen", address));
    let outside = config.hub.platform_listen.map(|address| ("hub.platform_listen", address));
    let addresses = [("hub.listen", config.hub.listen)].into_iter().chain(outside).chain(web).chain(broker);
    let refused = addresses.filter_map(|(key, address)| {
        let error = std::net::TcpListener::bind(address).err()?;
        let mend = refused_address(key, &address, &error);
        Some(Found::missing(key, address, format!("the hub cannot listen there: {error}; {mend}")))
    });
    refused.collect()
}

/// Programs that the hub is to run, by their keys.
pub(super) fn programs(config: &Config) -> Vec<(String, PathBuf)> {
    let hooks = config.hooks.iter().filter(|(_, hook)| hook.enabled);
    let mut programs: Vec<(String, PathBuf)> = hooks
        .filter_map(|(name, hook)| match hook.way() {
            Ok(Transport::Command(program, _)) => Some((format!("hooks.{name}.command"), program)),
            _ => None,
        })
        .collect();
    if let Ok(Speaks::Command(program, _)) = config.voice.speaks() {
        programs.push(("voice.command".into(), program));
    }
    programs
}

/// Why a program cannot be run.
fn unusable(program: &Path) -> Option<String> {
    match program.metadata() {
        Err(error) => Some(format!("it cannot be run: {error}; install it, or write the path where it is")),
        Ok(file) if !file.is_file() => Some("it is no program: write the path of one".into()),
        Ok(file) if file.permissions().mode() & 0o111 == 0 => {
            Some(format!("it may not be run: chmod +x {}", program.display()))
        }
        Ok(_) => None,
    }
}

/// Why the hub could keep nothing in this directory, which it makes if it is not there.
fn unwritable(directory: &Path) -> Option<String> {
    let nearest = directory.ancestors().find(|path| path.as_os_str().is_empty() || path.exists())?;
    let nearest = if nearest.as_os_str().is_empty() { Path::new(".") } else { nearest };
    if !nearest.is_dir() {
        return Some(format!("{} is no folder: give hub.data_dir another path", nearest.display()));
    }
    let error = access(nearest, Access::WRITE_OK | Access::EXEC_OK).err()?;
    Some(format!(
        "the hub cannot write to {}: {}; make it the hub's own (chown), or give hub.data_dir another path",
        nearest.display(),
        io::Error::from(error)
    ))
}
