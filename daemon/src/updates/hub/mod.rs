//! The hub's own update: asked for by the hub, carried out by a helper of root's.
//!
//! The hub runs without rights, so it cannot replace itself. It writes a [`request`] into its data directory. `gatepost-update.path` sees
//! it and starts `gatepost update apply` as root ([`apply`]), which trusts nothing in the request: packages are verified by apt's signed
//! lists, an image by RAUC's keyring, and a request can at most name a version of them. What the helper does stands in its [`report`], in
//! a folder that root alone can write. The hub shows it ([`asking`]), and writes how it ended into the audit, once.
//!
//! - [`request`] and [`report`]: the two files;
//! - [`asking`]: the hub's side;
//! - [`apply`]: the helper's; `packaged` with apt and dpkg (`former` keeps the version before), `image` with RAUC, `proof` whether the
//!   hub is well afterwards, `programs` how programs are run.

pub mod apply;
pub mod asking;
mod former;
mod image;
mod packaged;
mod programs;
mod proof;
pub mod report;
pub mod request;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::paths::SERVICE_DATA_DIR;

/// What the helper keeps: `StateDirectory=` of `gatepost-update.service`. Root's, and readable by the hub.
pub const STATE_DIR: &str = "/var/lib/gatepost_update";
/// The folder in the hub's data directory in which requests and bundles are handed over.
pub const INTAKE: &str = "updates";
/// The bundle that is installed on an image, in [`INTAKE`].
pub const BUNDLE: &str = "hub.raucb";

/// How this hub came onto the machine, and so what replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// As a Debian package: apt replaces it.
    Package,
    /// As part of an image with two slots: RAUC writes the other one.
    Image,
}

impl Kind {
    /// That of this machine; [`None`] if somebody put the program there by hand.
    pub fn here() -> Option<Self> {
        Self::beneath(Path::new("/"))
    }

    fn beneath(root: &Path) -> Option<Self> {
        let is = |path: &str| root.join(path).is_file();
        match () {
            () if is("etc/rauc/system.conf") && is("usr/bin/rauc") => Some(Self::Image),
            // By hand, units go into /etc. The helper asks dpkg itself.
            () if is("usr/lib/systemd/system/gatepost-update.path") && is("usr/bin/dpkg-query") => {
                Some(Self::Package)
            }
            () => None,
        }
    }
}

/// Where the hub and its helper meet.
#[derive(Debug, Clone)]
pub struct Places {
    /// The hub's data directory.
    pub data: PathBuf,
    /// [`STATE_DIR`].
    pub state: PathBuf,
}

impl Places {
    /// Those of a hub that runs as a service.
    pub fn of_service() -> Self {
        Self { data: SERVICE_DATA_DIR.into(), state: STATE_DIR.into() }
    }

    /// The folder in which requests and bundles are handed over.
    pub fn intake(&self) -> PathBuf {
        self.data.join(INTAKE)
    }

    /// The bundle that an image is updated with.
    pub fn bundle(&self) -> PathBuf {
        self.intake().join(BUNDLE)
    }
}

/// Whether a file in [`INTAKE`] belongs here, and not to a release of companions' firmware.
pub(super) fn keeps(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_suffix(".new").unwrap_or(name);
    [request::NAME, BUNDLE].contains(&name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_machine_is_known_by_what_would_replace_the_hub() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        assert_eq!(Kind::beneath(root.path()), None);
        put("usr/bin/dpkg-query");
        assert_eq!(Kind::beneath(root.path()), None, "a program that somebody has put on a Debian by hand");
        put("usr/lib/systemd/system/gatepost-update.path");
        put("usr/bin/rauc");
        assert_eq!(
            Kind::beneath(root.path()),
            Some(Kind::Package),
            "a computer with RAUC's program is no image"
        );
        put("etc/rauc/system.conf");
        assert_eq!(Kind::beneath(root.path()), Some(Kind::Image));
    }

    #[test]
    fn what_is_handed_over_is_no_file_of_a_release() {
        for (name, kept) in
            [("hub.request", true), ("hub.request.new", true), ("hub.raucb", true), ("ab12.gpu", false)]
        {
            assert_eq!(keeps(&Path::new("/data/updates").join(name)), kept, "{name}");
        }
    }
}
