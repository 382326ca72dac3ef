//! The repository for apt: read, installed from, upgraded from, and refused once somebody has changed it.
//!
//! Installed by `tests/run --setup-only`: Debian 12, GnuPG.

use std::{fs, path::PathBuf};

use anyhow::{Result, ensure};
use gatepost_tests::peers::debian::Debian;

use super::{
    made::Packages,
    signer::{Signer, publish},
};

#[test]
fn apt_installs_and_upgrades_from_the_repository_and_refuses_a_changed_one() -> Result<()> {
    if !Debian::may_be() {
        println!("left out: it takes root");
        return Ok(());
    }
    let (packages, signer) = (Packages::get()?, Signer::new()?);
    let debian = Debian::fresh()?;
    let folder: PathBuf = debian.root().join("srv/apt");
    fs::create_dir_all(&folder)?;
    publish(&folder, &packages.old, &signer)?;
    fs::write(
        debian.root().join("etc/apt/sources.list"),
        "deb [signed-by=/srv/apt/key.gpg] file:/srv/apt ./\n",
    )?;
    let installed = || -> Result<String> {
        debian.run(&["apt-get", "-q", "update"])?.well()?;
        debian.run(&["apt-get", "-qy", "install", "--no-install-recommends", "gatepost"])?.well()?;
        debian.run(&["dpkg-query", "--show", "--showformat=${Version}", "gatepost"])?.well()
    };
    ensure!(installed()? == "0.1.0-1");
    publish(&folder, &packages.new, &signer)?;
    ensure!(installed()? == "0.2.0-1");

    let list = fs::read_to_string(folder.join("Packages"))?;
    fs::write(folder.join("Packages"), list.replace("Installed-Size: ", "Installed-Size: 1"))?;
    fs::remove_file(folder.join("Packages.gz"))?;
    debian.forget_lists()?;
    let changed = debian.run(&["apt-get", "-q", "update"])?;
    ensure!(changed.status != 0, "apt takes a list that was changed: {changed:?}");
    Ok(())
}
