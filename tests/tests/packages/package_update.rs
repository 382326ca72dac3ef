//! The hub updates itself as a package: by the real apt, from a signed repository, in a Debian that is booted.
//!
//! Installed by `tests/run --setup-only`: Debian 12, GnuPG.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use gatepost_tests::peers::debian::Debian;
use serde_json::Value;

use super::{
    house::House,
    made::{Packages, packaged},
    signer::{Signer, publish},
};

/// How long an update may take until its end.
const LONGEST: Duration = Duration::from_secs(180);
/// How many messages are handed in meanwhile.
const MESSAGES: usize = 40;

/// A hub that runs as a service, and the repository that its package comes from.
struct Updated {
    house: House,
    folder: PathBuf,
    signer: Signer,
}

/// How an update ended, and what was seen of it on the way.
struct Seen {
    states: Vec<String>,
    last: Value,
}

impl Updated {
    fn new(packages: &Packages) -> Result<Self> {
        let mut house = House::fresh()?;
        let folder = house.debian.root().join("srv/apt");
        fs::create_dir_all(&folder)?;
        if house.debian.is_booted() {
            house.install(&packages.old)?;
            house.run(&["gatepost", "init", "--service"])?;
            house.start()?;
        }
        let source = "deb [signed-by=/srv/apt/key.gpg] file:/srv/apt ./\n";
        fs::write(house.debian.root().join("etc/apt/sources.list.d/gatepost.list"), source)?;
        // One that cannot be reached does not matter.
        fs::write(house.debian.root().join("etc/apt/sources.list"), "deb file:/srv/none ./\n")?;
        let updated = Self { house, folder, signer: Signer::new()? };
        updated.publish(&packages.old)?;
        Ok(updated)
    }

    /// Adds a package to the repository. apt forgets the lists that it had: it tells two of them that lie on its own disk apart by the
    /// second in which they were written, and a test writes several in one.
    fn publish(&self, package: &Path) -> Result<()> {
        publish(&self.folder, package, &self.signer)?;
        self.house.debian.forget_lists()
    }

    fn hub(&self) -> Result<Value> {
        let said = self.house.run(&["gatepost", "ota", "status", "--json"])?;
        Ok(serde_json::from_str::<Value>(&said)?["hub"].take())
    }

    /// Asks for an update, and looks until it has ended. A hub that is away meanwhile says nothing.
    fn roll_out(&self, more: &[&str]) -> Result<Seen> {
        let said = self.house.run(&[&["gatepost", "ota", "roll-out", "hub"], more].concat())?;
        ensure!(said.contains("gatepost ota status"), "{said}");
        let (start, mut states) = (Instant::now(), Vec::<String>::new());
        while start.elapsed() < LONGEST {
            let update = self.hub().map(|mut hub| hub["update"].take()).unwrap_or_default();
            let state = update["state"].as_str().unwrap_or_default().to_owned();
            if !state.is_empty() && states.last() != Some(&state) {
                states.push(state.clone());
            }
            if ["installed", "went_back", "refused", "failed"].contains(&state.as_str()) {
                return Ok(Seen { states, last: update });
            }
            thread::sleep(Duration::from_millis(100));
        }
        let log = self.house.run(&["journalctl", "--no-pager", "-u", "gatepost-update", "-u", "gatepost"])?;
        bail!("no end after {LONGEST:?}: {states:?}\n{log}")
    }

    /// The rows that the audit has of the hub's updates, each with what it says.
    fn rows(&self, event: &str) -> Result<Vec<Value>> {
        let said = self.house.run(&["gatepost", "audit", "show", "--limit", "10000", "--json"])?;
        let rows: Value = serde_json::from_str(&said)?;
        let rows = rows.as_array().with_context(|| said.clone())?;
        Ok(rows.iter().filter(|row| row["event"] == event).cloned().collect())
    }

    /// The same, once there are so many: the hub looks every other second.
    fn rows_when(&self, event: &str, count: usize) -> Result<Vec<Value>> {
        let start = Instant::now();
        loop {
            let rows = self.rows(event)?;
            ensure!(rows.len() <= count && start.elapsed() < Duration::from_secs(30), "{event}: {rows:?}");
            if rows.len() == count {
                return Ok(rows);
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn version(&self) -> Result<String> {
        self.house.run(&["dpkg-query", "--show", "--showformat=${Version}", "gatepost"])
    }
}

#[test]
fn the_hub_is_updated_by_apt_and_goes_back_by_itself() -> Result<()> {
    if !Debian::may_be() {
        println!("left out: it takes root");
        return Ok(());
    }
    let packages = Packages::get()?;
    let updated = Updated::new(packages)?;
    if !updated.house.debian.is_booted() {
        println!("left out: it takes a systemd that starts the helper");
        return Ok(());
    }
    let begun = Instant::now();
    let step = |what: &str| println!("{:.1} s: {what}", begun.elapsed().as_secs_f64());
    let hub = updated.hub()?;
    ensure!(hub["installed_as"] == "package" && hub["update"].is_null(), "{hub}");

    let same = updated.roll_out(&[])?;
    let text = same.last["text"].as_str().unwrap_or_default();
    ensure!(same.last["state"] == "refused" && text.contains("no newer version"), "{}", same.last);
    step("nothing newer is refused");

    // Somebody changed the list: it is not what was signed.
    updated.publish(&packages.new)?;
    let (list, whole) =
        (updated.folder.join("Packages"), fs::read_to_string(updated.folder.join("Packages"))?);
    fs::write(&list, whole.replace("Installed-Size: ", "Installed-Size: 1"))?;
    fs::remove_file(updated.folder.join("Packages.gz"))?;
    let changed = updated.roll_out(&[])?;
    let text = changed.last["text"].as_str().unwrap_or_default();
    ensure!(
        changed.last["state"] == "refused" && text.contains("cannot be fetched and verified"),
        "{}",
        changed.last
    );
    ensure!(updated.version()? == "0.1.0-1");
    updated.rows_when("ota.refused", 2)?;
    step("a changed list is refused");

    updated.publish(&packages.new)?;
    let agent = updated.house.hand_in(MESSAGES)?;
    let new = updated.roll_out(&["--version", "0.2.0"])?;
    let ended = agent.wait_with_output()?;
    ensure!(ended.status.success(), "not all was taken: {}", String::from_utf8_lossy(&ended.stdout));
    ensure!(new.last["state"] == "installed" && updated.version()? == "0.2.0-1", "{}", new.last);
    ensure!(new.last["from"] == "0.1.0-1" && new.last["to"] == "0.2.0-1", "{}", new.last);
    ensure!(new.states.iter().any(|state| state == "proving"), "no progress was seen: {:?}", new.states);
    let inbox = updated.house.each_arrived_once(MESSAGES)?;
    step(&format!("updated, by way of {:?}", new.states));

    let bad = updated.house.debian.root().join("root/bad");
    fs::write(&bad, "#!/bin/sh\nexit 1\n")?;
    fs::set_permissions(&bad, fs::Permissions::from_mode(0o755))?;
    fs::copy(packages.program().with_file_name("gatepost-flash"), bad.with_file_name("gatepost-flash"))?;
    let package = packaged(&bad, "0.3.0", bad.parent().context("a folder")?)?;
    updated.publish(&package)?;
    let back = updated.roll_out(&[])?;
    ensure!(back.last["state"] == "went_back" && updated.version()? == "0.2.0-1", "{}", back.last);
    ensure!(back.last["to"] == "0.3.0-1", "{}", back.last);
    ensure!(updated.house.each_arrived_once(MESSAGES)? == inbox);
    step(&format!("gone back, by way of {:?}: {}", back.states, back.last["text"]));

    // Each end is in the audit, once.
    ensure!(updated.rows("ota.rolled_out")?.len() == 4);
    for (event, to) in [("ota.confirmed", "0.2.0-1"), ("ota.went_back", "0.3.0-1")] {
        let rows = updated.rows_when(event, 1)?;
        ensure!(rows[0].to_string().contains(to), "{event}: {rows:?}");
    }
    updated.house.run(&["gatepost", "audit", "verify"])?;
    untrusted(&updated)?;
    cut_off(&updated)?;
    step("done");
    Ok(())
}

/// What a helper has left that was killed is finished at the next start of the machine: here nothing had been installed yet.
fn cut_off(updated: &Updated) -> Result<()> {
    let place = updated.house.debian.root().join("var/lib/gatepost_update/report.json");
    let mut report: Value = serde_json::from_slice(&fs::read(&place)?)?;
    report["stage"] = "installing".into();
    fs::write(&place, report.to_string())?;
    ensure!(updated.hub()?["update"]["state"] == "installing");
    let refused = updated.house.debian.run(&["gatepost", "ota", "roll-out", "hub"])?;
    ensure!(refused.status == 1 && refused.stderr.contains("an update is under way"), "{refused:?}");
    updated.house.run(&["systemctl", "start", "gatepost-update"])?;
    let update = updated.hub()?["update"].clone();
    ensure!(
        update["state"] == "refused" && update["text"].as_str().is_some_and(|text| text.contains("cut off")),
        "{update}"
    );
    Ok(())
}

/// Whoever has taken over the hub's user can have nothing done but an update, and nothing read.
fn untrusted(updated: &Updated) -> Result<()> {
    let request = "/var/lib/gatepost/updates/hub.request";
    let as_hub = |script: &str| {
        updated.house.run(&[
            "setpriv",
            "--reuid=gatepost",
            "--regid=gatepost",
            "--init-groups",
            "sh",
            "-c",
            script,
        ])
    };
    // More often than systemd starts a unit in ten seconds, unless it is told to.
    for what in ["ln -s /etc/shadow", "mkdir", "mkfifo", "ln -s /", "ln -s /dev/zero", "touch"] {
        let fill = if what == "mkdir" { format!("&& touch {request}/full") } else { String::new() };
        as_hub(&format!("{what} {request} {fill}"))?;
        let start = Instant::now();
        while updated.house.debian.root().join(&request[1..]).symlink_metadata().is_ok() {
            ensure!(start.elapsed() < LONGEST, "{what}: it is not taken away");
            thread::sleep(Duration::from_millis(100));
        }
    }
    updated.house.run(&["systemctl", "is-active", "gatepost-update.path"])?;
    let start = Instant::now();
    while updated.house.run(&["systemctl", "show", "--property=ActiveState", "--value", "gatepost-update"])?
        == "activating\n"
    {
        ensure!(start.elapsed() < LONGEST, "the helper does not end");
        thread::sleep(Duration::from_millis(100));
    }
    ensure!(updated.house.debian.root().join("etc/shadow").exists());
    let report = updated.hub()?["update"]["state"].clone();
    ensure!(report == "went_back", "a link is no request: {report}");
    let refused = updated.house.debian.run(&[
        "setpriv",
        "--reuid=gatepost",
        "--clear-groups",
        "gatepost",
        "update",
        "apply",
    ])?;
    ensure!(refused.status == 1 && refused.stderr.contains("this is for root"), "{refused:?}");
    let said = updated.house.run(&["systemd-analyze", "security", "--no-pager", "gatepost-update"])?;
    println!("{}", said.lines().last().unwrap_or_default());
    Ok(())
}
