//! What the unit of the package lets the hub do, and what systemd does when the hub ends.
//!
//! Installed by `tests/run --setup-only`: Debian 12. It takes a systemd in a container.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use gatepost_tests::peers::debian::Debian;

use super::{house::House, made::Packages};

const CONFIGURATION: &str = "etc/gatepost/gatepost.toml";
/// How long systemd may take for something.
const LONGEST: Duration = Duration::from_secs(60);

/// A Debian in which the hub has been installed and set up, and runs; [`None`] where there is no systemd.
fn running() -> Result<Option<House>> {
    if !Debian::may_be() {
        println!("left out: it takes root");
        return Ok(None);
    }
    let mut house = House::fresh()?;
    if !house.debian.is_booted() {
        println!("left out: it takes a systemd");
        return Ok(None);
    }
    house.install(&Packages::get()?.old)?;
    house.run(&["gatepost", "init", "--service"])?;
    house.start()?;
    Ok(Some(house))
}

impl House {
    fn sh(&self, script: &str) -> Result<String> {
        self.run(&["sh", "-ec", script])
    }

    /// Replaces text in the configuration.
    fn configure(&self, from: &str, to: &str) -> Result<()> {
        let path = self.debian.root().join(CONFIGURATION);
        let text = fs::read_to_string(&path)?;
        ensure!(text.contains(from), "no {from} in {text}");
        Ok(fs::write(path, text.replacen(from, to, 1))?)
    }

    /// Has the unit say something else, too.
    fn drop_in(&self, text: &str) -> Result<()> {
        let folder = self.debian.root().join("etc/systemd/system/gatepost.service.d");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("test.conf"), format!("[Service]\n{text}"))?;
        self.run(&["systemctl", "daemon-reload"]).map(drop)
    }

    fn property(&self, name: &str) -> Result<String> {
        Ok(self.run(&["systemctl", "show", "--value", "--property", name, "gatepost"])?.trim().to_owned())
    }

    /// Waits until a property of the unit is one that fits.
    fn wait_for(&self, name: &str, fits: impl Fn(&str) -> bool) -> Result<String> {
        let start = Instant::now();
        loop {
            let value = self.property(name)?;
            if fits(&value) {
                return Ok(value);
            }
            ensure!(start.elapsed() < LONGEST, "{name} is {value}: {}", self.log()?);
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn log(&self) -> Result<String> {
        self.run(&["journalctl", "--no-pager", "--lines=20", "--unit=gatepost"])
    }

    /// What a file attached by its path is answered.
    fn attach(&self, name: &str) -> Result<String> {
        let message =
            format!(r#"{{"to": "local:me", "message": "{name}", "attachments": [{{"path": "{name}"}}]}}"#);
        self.sh(&format!("echo '{message}' | gatepost message --as-operator --wait 10 || true"))
    }
}

#[test]
fn a_file_is_attached_by_its_path_and_one_of_another_owner_is_not() -> Result<()> {
    let Some(house) = running()? else { return Ok(()) };
    house.sh(
        "useradd ann; useradd bob; mkdir /srv/out; echo hers >/srv/out/a.txt; echo his >/srv/out/b.txt; \
         chown -R ann /srv/out; chown bob /srv/out/b.txt; chmod -R a+rX /srv/out",
    )?;
    house.configure("[agents.shell]\n", "[agents.shell]\nattach_from = \"/srv/out\"\n")?;
    house.run(&["systemctl", "restart", "gatepost"])?;
    let hers = house.attach("a.txt")?;
    ensure!(hers.contains(r#""ok":true"#) && hers.contains("a.txt"), "{hers}");
    let his = house.attach("b.txt")?;
    ensure!(his.contains("forbidden") && his.contains("belongs to user"), "{his}");
    Ok(())
}

#[test]
fn the_hub_writes_nothing_but_its_data_and_runs_nothing_that_it_wrote() -> Result<()> {
    let Some(house) = running()? else { return Ok(()) };
    let programs = ["/usr/local/bin/hook", "/opt/hook", "/srv/hook", "/etc/gatepost/hook"];
    for program in programs {
        house.sh(&format!("printf '#!/bin/sh\\necho ran\\n' > {program}; chmod 755 {program}"))?;
    }
    // Where the hub is, as its user.
    let as_hub = |script: &str| {
        let pid = house.property("MainPID")?;
        let enter = ["nsenter", "--target", &pid, "--mount", "--", "setpriv"];
        let user = ["--reuid=gatepost", "--regid=gatepost", "--clear-groups", "sh", "-c", script];
        house.debian.run(&[&enter[..], &user[..]].concat())
    };
    for program in programs {
        let ran = as_hub(program)?;
        ensure!(ran.stdout == "ran\n", "{program}: {ran:?}");
    }
    for folder in ["/etc/gatepost", "/etc", "/srv", "/opt", "/usr/local/bin", "/run", "/dev", "/home"] {
        let wrote = as_hub(&format!("echo x > {folder}/written"))?;
        ensure!(wrote.status != 0, "{folder} can be written: {wrote:?}");
    }
    for folder in ["/var/lib/gatepost", "/tmp", "/var/tmp", "/dev/shm"] {
        let file = format!("{folder}/written");
        let wrote = as_hub(&format!("printf '#!/bin/sh\\n' > {file} && chmod 700 {file}"))?;
        ensure!(wrote.status == 0, "{folder} cannot be written: {wrote:?}");
        let ran = as_hub(&file)?;
        ensure!(ran.status == 126, "{file} can be run: {ran:?}");
    }
    for shared in ["/tmp/written", "/var/tmp/written", "/dev/shm/written"] {
        ensure!(house.debian.run(&["test", "-e", shared])?.status != 0, "{shared} is the machine's");
    }
    Ok(())
}

#[test]
fn a_reload_says_whether_the_configuration_was_taken() -> Result<()> {
    let Some(house) = running()? else { return Ok(()) };
    house.configure("[agents.shell]\n", "[agents.gardener]\nallow = [\"local:*\"]\n\n[agents.shell]\n")?;
    house.run(&["systemctl", "reload", "gatepost"])?;
    let log = house.log()?;
    ensure!(log.contains("gardener") || log.contains("agents"), "{log}");
    let before = house.property("MainPID")?;
    house.configure("[agents.gardener]\nallow", "[agents.gardener]\nalow")?;
    let refused = house.debian.run(&["systemctl", "reload", "gatepost"])?;
    ensure!(refused.status != 0, "{refused:?}");
    ensure!(house.log()?.contains("alow"), "{}", house.log()?);
    ensure!(house.property("ActiveState")? == "active" && house.property("MainPID")? == before);
    Ok(())
}

#[test]
fn a_hub_that_ends_is_started_for_ever_but_one_without_a_configuration_waits_for_a_person() -> Result<()> {
    let Some(house) = running()? else { return Ok(()) };
    let ends_with = |status: u8| {
        house.drop_in(&format!("ExecStart=\nExecStart=/bin/sh -c 'exit {status}'\nRestartSec=100ms\n"))
    };
    ends_with(1)?;
    let begun = house.debian.run(&["systemctl", "restart", "gatepost"])?;
    ensure!(begun.status != 0, "{begun:?}");
    house.wait_for("NRestarts", |count| count.parse::<u32>().is_ok_and(|count| count > 7))?;
    ensure!(house.property("ActiveState")? == "activating", "{}", house.log()?);
    // An upgrade while it waits for its next try: the new program is what runs then.
    house.run(&["rm", "-r", "/etc/systemd/system/gatepost.service.d"])?;
    house.install(&Packages::get()?.new)?;
    house.run(&["gatepost", "health", "--wait", "60"])?;
    let pid = house.property("MainPID")?;
    let program = house.run(&["readlink", &format!("/proc/{pid}/exe")])?;
    ensure!(program.trim() == "/usr/bin/gatepost", "{program}");

    ends_with(78)?;
    house.run(&["sh", "-c", "! systemctl restart gatepost"])?;
    house.wait_for("ActiveState", |state| state == "failed")?;
    ensure!(house.property("NRestarts")? == "0", "{}", house.log()?);
    // The mended one starts at once, by hand or by an upgrade.
    house.run(&["rm", "-r", "/etc/systemd/system/gatepost.service.d"])?;
    house.run(&["dpkg-reconfigure", "gatepost"])?;
    house.run(&["gatepost", "health", "--alive", "--wait", "60"])?;

    // What its owner has stopped stays so.
    house.run(&["systemctl", "stop", "gatepost"])?;
    house.run(&["dpkg-reconfigure", "gatepost"])?;
    ensure!(house.property("ActiveState")? == "inactive");
    Ok(())
}

#[test]
fn an_older_one_is_refused_after_a_removal_and_a_mount_does_not_keep_a_purge_from_ending() -> Result<()> {
    let Some(house) = running()? else { return Ok(()) };
    let packages = Packages::get()?;
    house.install(&packages.new)?;
    house.run(&["dpkg", "--remove", "gatepost"])?;
    let older = house.debian.take(&packages.old)?;
    let refused = house.debian.run(&["dpkg", "--install", &older])?;
    ensure!(refused.status != 0 && refused.stderr.contains("README.Debian"), "{refused:?}");
    house.run(&["env", "GATEPOST_DOWNGRADE=1", "dpkg", "--install", &older])?;

    house.run(&["systemctl", "stop", "gatepost"])?;
    house.run(&["mount", "--bind", "/var/lib/gatepost", "/var/lib/gatepost"])?;
    house.run(&["dpkg", "--purge", "gatepost"])?;
    let left = house.run(&["ls", "-A", "/var/lib/gatepost"])?;
    ensure!(left.is_empty(), "{left}");
    let known = house.debian.run(&["dpkg-query", "--status", "gatepost"])?;
    ensure!(known.status != 0, "{known:?}");
    ensure!(!house.debian.root().join("etc/gatepost").exists());
    house.run(&["umount", "/var/lib/gatepost"]).map(drop)
}

#[test]
fn somebody_who_can_log_in_as_the_hub_and_a_folder_that_is_none_are_named() -> Result<()> {
    if !Debian::may_be() {
        println!("left out: it takes root");
        return Ok(());
    }
    let house = House::fresh()?;
    house.sh("if id gatepost; then userdel gatepost; fi; useradd --shell /bin/bash gatepost")?;
    fs::create_dir(house.debian.root().join("srv/etc"))?;
    house.run(&["ln", "-s", "/srv/etc", "/etc/gatepost"])?;
    let file = house.debian.take(&Packages::get()?.old)?;
    let said = house.debian.run(&["dpkg", "--install", &file])?;
    ensure!(said.status == 0 && said.stderr.contains("somebody can log in as gatepost"), "{said:?}");
    if house.debian.is_booted() {
        ensure!(said.stderr.contains("systemd-tmpfiles --create gatepost.conf"), "{said:?}");
    }
    Ok(())
}
