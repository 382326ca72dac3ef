//! A hub as a service: the configuration that `gatepost init --service` writes, what systemd hands to a unit, and `gatepost health`.

use std::{fs, os::unix::fs::PermissionsExt as _, thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::{SpawnedHub, gatepost};

use super::configuration::fails;

#[test]
fn the_services_configuration_is_for_its_group_and_has_the_packages_places() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("gatepost.toml");
    let path = file.to_str().context("a path")?;
    let written = gatepost(&["--config", path, "init", "--service"], b"", &[])?;
    ensure!(written.status == 0 && written.stderr.contains("systemctl enable --now gatepost"), "{written:?}");
    ensure!(fs::metadata(&file)?.permissions().mode() & 0o777 == 0o640);
    ensure!(fs::read_to_string(&file)?.contains("data_dir = \"/var/lib/gatepost\""));
    let nowhere = folder.path().join("none/gatepost.toml");
    let refused = ["--config", nowhere.to_str().context("a path")?, "init", "--service"];
    fails(&gatepost(&refused, b"", &[])?, 1, "install it first")
}

/// As systemd starts a hub: its data are in the directory of its unit, and its secrets where systemd has put them. A command at a shell
/// has neither, and reads the files from which they come.
#[test]
fn a_unit_gives_the_data_directory_and_the_credentials() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("gatepost.toml");
    let path = file.to_str().context("a path")?;
    let state = folder.path().join("state");
    let loaded = folder.path().join("loaded");
    fs::create_dir(&loaded)?;
    fs::write(&file, "[channels.telegram.home]\ntoken = \"credential:bot\"\n")?;
    let (state, at) = (state.to_str().context("a path")?, loaded.to_str().context("a path")?);
    let unit = [("STATE_DIRECTORY", state), ("CREDENTIALS_DIRECTORY", at)];
    let check =
        |environment: &[(&str, &str)]| gatepost(&["--config", path, "check", "--offline"], b"", environment);
    fails(&check(&unit)?, 1, "no systemd credential bot")?;
    for name in ["bot", "gatepost_bot"] {
        fs::write(loaded.join(name), "1:s3cret")?;
        ensure!(check(&unit)?.status == 0, "{:?}", check(&unit)?);
        fs::remove_file(loaded.join(name))?;
    }
    fails(&check(&[])?, 1, "no systemd credential bot: put it into a file bot")?;
    fs::create_dir(folder.path().join("credentials"))?;
    let of_package = folder.path().join("credentials/bot");
    fs::write(&of_package, "1:s3cret")?;
    fs::set_permissions(&of_package, fs::Permissions::from_mode(0o600))?;
    ensure!(check(&[])?.status == 0, "{:?}", check(&[])?);
    // Where the data are, a command that works on them says.
    let listed = gatepost(&["--config", path, "restore", "--list"], b"", &[("STATE_DIRECTORY", state)])?;
    ensure!(format!("{listed:?}").contains(state), "{listed:?}");
    Ok(())
}

#[test]
fn health_says_whether_a_hub_takes_messages_and_waits_for_one() -> Result<()> {
    let mut hub = SpawnedHub::start("[channels.local.home]\n")?;
    ensure!(hub.cli(&["health"])?.well()?.trim() == "ready");
    hub.kill()?;
    let nobody = hub.cli(&["health"])?;
    ensure!(nobody.status == 4 && nobody.stderr.contains("no hub answers at"), "{nobody:?}");
    let path = hub.config();
    let waits = thread::spawn(move || {
        let path = path.to_str().context("a path")?;
        gatepost(&["--config", path, "health", "--wait", "60"], b"", &[])
    });
    thread::sleep(Duration::from_millis(700));
    hub.run()?;
    let waited = waits.join().expect("it does not panic")?;
    ensure!(waited.status == 0 && waited.stderr.contains("waiting: no hub answers at"), "{waited:?}");
    Ok(())
}
