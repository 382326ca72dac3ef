//! The hub as an image with two slots: RAUC verifies a bundle by the keyring of the image, and writes the slot that does not run.
//!
//! The bundle lies where the hub's user can write, so what is verified could be exchanged before it is installed. The helper copies it
//! into its own folder first, and gives RAUC that. Whether the new slot is well, the next starts say: if the hub does not answer there,
//! the machine restarts, and after three of them the boot loader takes the slot before. Then it is seen which slot runs.

use std::{
    collections::HashMap,
    fs::{self, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    time::Duration,
};

use gatepost_link::update::Version;

use super::{
    Kind,
    apply::Job,
    programs::{NotDone, Run},
    report::Stage,
    request::{Wished, open_bundle},
};

const RAUC: &str = "/usr/bin/rauc";
/// The version of the slot that runs: the helper is of it.
const RUNNING: &str = env!("CARGO_PKG_VERSION");
/// The longest bundle, in bytes: more than a slot has.
const MAX_BUNDLE: u64 = 2 << 30;
/// How long a look may take. The first word to the service starts it.
const LOOKING: Duration = Duration::from_mins(2);
/// How long an installation may take.
const INSTALLING: Duration = Duration::from_mins(30);

/// Carries out a request. If it goes well, the machine restarts.
pub(super) async fn update(job: &mut Job, wished: Option<&Wished>) -> Result<(), NotDone> {
    job.begin(Kind::Image, RUNNING, true);
    let bundle = job.places.state.join("bundle.raucb");
    let (data, to) = (job.places.data.clone(), bundle.clone());
    let copied = tokio::task::spawn_blocking(move || copy(&data, &to)).await;
    if let Err(error) = copied.map_err(io::Error::other).flatten() {
        remove(&bundle);
        let why = format!("{} cannot be used: {error}", job.places.bundle().display());
        return job.refuse(&why);
    }
    let installed = install(job, &bundle, wished).await;
    remove(&bundle);
    if let Err(why) = installed {
        return job.refuse(&why);
    }
    job.come_to(Stage::Restarting);
    if let Err(error) = Run::new("/usr/bin/systemctl", &["reboot"], LOOKING).done().await {
        job.end(Stage::Restarting, &format!("it is installed, but {error}: restart the machine"));
    }
    Ok(())
}

/// Finishes what a helper before this one began: after a restart, by the slot that runs.
pub(super) async fn take_up(job: &mut Job) -> Result<(), NotDone> {
    remove(&job.places.state.join("bundle.raucb"));
    let system = system().await?;
    let slot = job.report.slot.clone();
    match (slot, job.report.stage) {
        (Some(slot), _) if Some(&slot) == system.booted() => job.come_to(Stage::Installed),
        (Some(slot), _) if Some(&slot) == system.next() => {
            job.end(Stage::Refused, "it is installed, but the machine has not restarted with it: restart it");
        }
        (_, Stage::Restarting) => {
            job.end(
                Stage::WentBack,
                "no start with the new slot was a good one: journalctl -b -1 may say why",
            );
        }
        _ => job.end(Stage::Refused, "it was cut off before it was installed: ask for it again"),
    }
    Ok(())
}

/// Copies the bundle to where root alone can write.
fn copy(data: &Path, to: &Path) -> io::Result<()> {
    let (file, length) = open_bundle(data)?;
    if length > MAX_BUNDLE {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {MAX_BUNDLE} bytes"),
        ));
    }
    remove(to);
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut file.take(MAX_BUNDLE), &mut copy)?;
    copy.sync_all()
}

fn remove(bundle: &Path) {
    if let Err(error) = fs::remove_file(bundle)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "cannot remove the copy of the bundle");
    }
}

/// Verifies the bundle and installs it.
async fn install(job: &mut Job, bundle: &Path, wished: Option<&Wished>) -> Result<(), String> {
    let path = bundle.display().to_string();
    let info =
        Run::new(RAUC, &["info", "--output-format=shell", &path], LOOKING).done().await.map_err(said)?;
    let version = values(&info).remove("RAUC_MF_VERSION").filter(|version| !version.is_empty());
    let version = version.ok_or("the bundle names no version")?;
    if let Some(wished) = wished.filter(|wished| wished.as_str() != version) {
        return Err(format!("the bundle is version {version}, and {} was asked for", wished.as_str()));
    }
    // An old bundle is signed as well, and whoever takes over a hub would choose one with a hole.
    if !is_newer(&version, RUNNING) {
        return Err(format!(
            "the bundle is version {version}, and {RUNNING} runs: what is not newer is put there by root (rauc install FILE)"
        ));
    }
    let system = system().await.map_err(said)?;
    job.report.slot = Some(system.other().ok_or("RAUC knows no slot that does not run")?.to_owned());
    job.report.to = Some(version);
    job.come_to(Stage::Installing);
    let install = ["install", path.as_str()];
    let installed = Run::new(RAUC, &install, INSTALLING).watched(|line| {
        if let Some(percent) = progress(line) {
            job.progress(Stage::Installing, percent);
        }
    });
    installed.await.map(drop).map_err(said)
}

/// What RAUC says of a failure, without what GLib logs beside it.
fn said(error: NotDone) -> String {
    let text = error.to_string().replace("rauc: rauc-Message:", "rauc-Message:");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("rauc-Message:")).collect();
    format!("RAUC does not take it: {}", lines.join(" "))
}

/// How far RAUC is by a line of `rauc install`: ` 40% Checking bundle done.`
fn progress(line: &str) -> Option<u8> {
    line.trim_start().split_once('%')?.0.parse().ok().filter(|&percent| percent <= 100)
}

/// What RAUC says of the slots.
struct System(HashMap<String, String>);

async fn system() -> Result<System, NotDone> {
    let status = Run::new(RAUC, &["status", "--output-format=shell"], LOOKING).done().await?;
    Ok(System(values(&status)))
}

impl System {
    /// The boot name of the slot that runs.
    fn booted(&self) -> Option<&String> {
        self.0.get("RAUC_SYSTEM_BOOTED_BOOTNAME")
    }

    /// The boot name of a slot that does not.
    fn other(&self) -> Option<&String> {
        self.bootnames().find(|(_, name)| Some(*name) != self.booted()).map(|(_, name)| name)
    }

    /// The boot name of the slot that the next start takes.
    fn next(&self) -> Option<&String> {
        let slots: Vec<&str> = self.0.get("RAUC_SYSTEM_SLOTS")?.split(' ').collect();
        let primary = self.0.get("RAUC_BOOT_PRIMARY")?;
        let number = slots.iter().position(|slot| slot == primary)? + 1;
        self.0.get(&format!("RAUC_SLOT_BOOTNAME_{number}"))
    }

    fn bootnames(&self) -> impl Iterator<Item = (&String, &String)> {
        let named =
            |(key, name): &(&String, &String)| key.starts_with("RAUC_SLOT_BOOTNAME_") && !name.is_empty();
        self.0.iter().filter(named)
    }
}

/// The variables in output that is meant for a shell; one with a quote in it is none of ours.
fn values(shell: &str) -> HashMap<String, String> {
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let value = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value);
        (!value.contains('\'')).then(|| (name.to_owned(), value.to_owned()))
    };
    shell.lines().filter_map(value).collect()
}

/// Whether a version comes after another: by its numbers, then a candidate (`1.0.0-rc.1`) before what it is one for.
fn is_newer(version: &str, than: &str) -> bool {
    let key = |text: &str| {
        let (numbers, candidate) =
            text.split_once('-').map_or((text, None), |(numbers, rest)| (numbers, Some(rest)));
        Some((Version::new(numbers)?, candidate.is_none(), candidate.map(str::to_owned)))
    };
    key(version).zip(key(than)).is_some_and(|(version, than)| version > than)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_an_order_and_what_is_none_is_not_newer() {
        let order = ["0.9.10", "1.0.0-rc.1", "1.0.0-rc.2", "1.0.0", "1.0.1", "1.10.0"];
        for (at, version) in order.iter().enumerate() {
            for (before, than) in order.iter().enumerate() {
                assert_eq!(is_newer(version, than), at > before, "{version} after {than}");
            }
        }
        assert!(!is_newer("next", "1.0.0") && !is_newer("", "1.0.0") && !is_newer("2.0.0.0", "1.0.0"));
    }

    #[test]
    fn raucs_words_are_read() {
        let failed =
            "rauc-Message: 09:47: Verifying bundle signature... \nsignature verification failed".to_owned();
        let failed = NotDone::Failed("rauc".into(), failed);
        assert_eq!(said(failed), "RAUC does not take it: signature verification failed");
        assert_eq!(progress(" 40% Checking bundle done."), Some(40));
        assert_eq!(progress("100% Installing done."), Some(100));
        for none in ["installing", "400% x", "-1% x", "%", ""] {
            assert_eq!(progress(none), None, "{none}");
        }
        let status = "RAUC_SYSTEM_BOOTED_BOOTNAME='A'\nRAUC_BOOT_PRIMARY='rootfs.1'\nRAUC_SYSTEM_SLOTS='rootfs.1 rootfs.0'\n\
                      RAUC_SLOTS='1 2'\nRAUC_SLOT_BOOTNAME_1='B'\nRAUC_SLOT_BOOTNAME_2='A'\nRAUC_SLOT_PARENT_2=''\nBAD='a'\\''b'\n";
        let system = System(values(status));
        assert_eq!(system.booted().map(String::as_str), Some("A"));
        assert_eq!(system.other().map(String::as_str), Some("B"));
        assert_eq!(system.next().map(String::as_str), Some("B"));
        assert!(!system.0.contains_key("BAD"));
        assert_eq!(System(HashMap::new()).other(), None);
    }
}
