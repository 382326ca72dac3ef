//! The Debian package: made twice, judged by lintian, installed, used, upgraded with messages under way, taken away.
//!
//! The program in it is the one that the tests run, without its names. Installed by `tests/run --setup-only`: Debian 12, lintian,
//! piuparts.

use std::{fs, process::Command};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::peers::debian::Debian;

use super::{
    house::House,
    made::{Packages, packaged_under},
};

/// The worst that `systemd-analyze security` may say, of 10.
const MAX_EXPOSURE: f64 = 1.5;
/// How many messages are handed in while the package is upgraded.
const MESSAGES: usize = 40;

#[test]
fn the_same_tree_makes_the_same_bytes_and_lintian_finds_nothing_in_them() -> Result<()> {
    let packages = Packages::get()?;
    let again = tempfile::tempdir()?;
    for umask in ["002", "077"] {
        let other = packaged_under(umask, packages.program(), "0.1.0", again.path())?;
        ensure!(
            fs::read(&packages.old)? == fs::read(other)?,
            "the package is another one under umask {umask}"
        );
    }
    let notices = Command::new("sh")
        .args([
            "-c",
            "dpkg-deb --fsys-tarfile \"$0\" | tar -xO ./usr/share/doc/gatepost/THIRD-PARTY.gz | zcat",
        ])
        .arg(&packages.old)
        .output()?;
    let notices = String::from_utf8(notices.stdout)?;
    for wanted in ["\nrustls ", "\ntokio ", "\nunicode-ident ", "UNICODE LICENSE V3", "Copyright"] {
        ensure!(notices.contains(wanted), "{wanted:?} is not in the notices");
    }
    let found = Command::new("lintian").arg("--pedantic").arg(&packages.old).output()?;
    let said = String::from_utf8_lossy(&found.stdout);
    ensure!(found.status.success() && said.trim().is_empty(), "{said}");
    Ok(())
}

/// piuparts installs a package into a system, takes it away, and compares all files with those before. What it takes from a mirror is
/// there already, so it gets an empty one, by a path.
#[test]
fn piuparts_finds_nothing_left_behind() -> Result<()> {
    if !Debian::may_be() {
        println!("left out: it takes root");
        return Ok(());
    }
    let (packages, debian) = (Packages::get()?, Debian::files()?);
    let architecture = packages.architecture();
    let folder = tempfile::tempdir()?;
    let distribution = folder.path().join("dists/bookworm");
    let list = format!("main/binary-{architecture}/Packages");
    fs::create_dir_all(distribution.join(&list).parent().context("a folder")?)?;
    fs::write(distribution.join(&list), "")?;
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    fs::write(
        distribution.join("Release"),
        format!(
            "Codename: bookworm\nArchitectures: {architecture}\nComponents: main\n\
             Date: Wed, 01 Jan 2025 00:00:00 UTC\nSHA256:\n {empty} 0 {list}\n"
        ),
    )?;
    let unsigned = "Acquire::AllowInsecureRepositories \"true\";\n";
    fs::write(debian.root().join("etc/apt/apt.conf.d/90unsigned"), unsigned)?;
    let judged = Command::new("piuparts")
        .args(["--distribution", "bookworm", "--no-upgrade-test", "--warn-on-debsums-errors"])
        .args(["--hard-link", "--do-not-verify-signatures", "--mirror"])
        .arg(format!("file:{} main", folder.path().display()))
        .arg("--bindmount")
        .arg(folder.path())
        .arg("--existing-chroot")
        .arg(debian.root())
        .arg(&packages.old)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output()
        .context("piuparts")?;
    let said = String::from_utf8_lossy(&judged.stdout);
    ensure!(judged.status.success() && said.contains("PASS: All tests."), "{said}");
    Ok(())
}

#[test]
fn it_is_installed_used_upgraded_and_taken_away() -> Result<()> {
    if !Debian::may_be() {
        println!("left out: it takes root");
        return Ok(());
    }
    let packages = Packages::get()?;
    let mut house = House::fresh()?;
    println!("systemd runs in it: {}", house.debian.is_booted());
    let installed = house.install(&packages.old)?;
    ensure!(installed.contains("gatepost init --service"), "{installed}");
    let rights = house.run(&["stat", "--format=%a %U %G", "/etc/gatepost", "/etc/gatepost/credentials"])?;
    ensure!(rights == "2750 root gatepost\n700 root root\n", "{rights}");
    house.run(&["gatepost", "init", "--service"])?;
    let rights = house.run(&["stat", "--format=%a %U %G", "/etc/gatepost/gatepost.toml"])?;
    ensure!(rights == "640 root gatepost\n", "{rights}");
    house.run(&["gatepost", "check", "--offline"])?;
    house.start()?;
    if house.debian.is_booted() {
        let said = house.run(&["systemd-analyze", "security", "--no-pager", "gatepost"])?;
        let exposure = said.rsplit_once("gatepost.service: ").and_then(|(_, rest)| rest.split(' ').next());
        let exposure: f64 = exposure.with_context(|| said.clone())?.parse()?;
        ensure!(exposure <= MAX_EXPOSURE, "{exposure}: {said}");
        let status = house.run(&["sh", "-c", "cat /proc/$(systemctl show -P MainPID gatepost)/status"])?;
        for wanted in ["CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"] {
            ensure!(status.contains(wanted), "{wanted}: {status}");
        }
    }

    // Messages are under way over the upgrade: each arrives once.
    let agent = house.hand_in(MESSAGES)?;
    let upgraded = house.install(&packages.new).and_then(|said| house.restart_by_hand().map(|()| said));
    let ended = agent.wait_with_output()?;
    upgraded?;
    ensure!(ended.status.success(), "not all was taken: {}", String::from_utf8_lossy(&ended.stdout));
    let inbox = house.each_arrived_once(MESSAGES)?;
    house.run(&["gatepost", "audit", "verify"])?;

    // An older one is refused with words, and the newer one goes on.
    let file = house.debian.take(&packages.old)?;
    let refused = house.debian.run(&["dpkg", "--install", &file])?;
    ensure!(refused.status != 0 && refused.stderr.contains("README.Debian"), "{refused:?}");
    house.run(&["gatepost", "health", "--wait", "30"])?;

    // Taken away, the data stay; installed again, the hub goes on; purged, nothing is left.
    house.stop();
    house.run(&["dpkg", "--remove", "gatepost"])?;
    ensure!(house.debian.root().join("var/lib/gatepost/gatepost.db").exists());
    house.install(&packages.new)?;
    if house.debian.is_booted() {
        house.run(&["gatepost", "health", "--wait", "60"])?;
        ensure!(house.inbox()? == inbox, "it begins anew");
    }
    house.run(&["dpkg", "--purge", "gatepost"])?;
    for path in ["etc/gatepost", "var/lib/gatepost", "usr/bin/gatepost"] {
        ensure!(!house.debian.root().join(path).exists(), "{path} is left");
    }
    Ok(())
}
