//! The hub updates itself as an image: by the real RAUC and its service, on two loop devices, with a boot loader that is a script.
//!
//! A container's kernel need not have device mapper, by which RAUC reads a bundle in the format `verity` block by block. So what is
//! installed here is `plain`, and that a changed block of the other format is found shows where RAUC extracts it. Installed by
//! `tests/run --setup-only`: RAUC, squashfs-tools, OpenSSL.

use std::{
    fs,
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{hub::program::program, peers::debian::Debian};
use serde_json::Value;
use tempfile::TempDir;

/// Bytes of the root in a bundle, and of a slot.
const ROOT: usize = 4 << 20;
const SLOT: u64 = 8 << 20;

/// Runs a program; what it wrote to stdout.
fn done(program: &str, arguments: &[&str]) -> Result<String> {
    let ended =
        Command::new(program).args(arguments).stdin(Stdio::null()).output().context(program.to_owned())?;
    ensure!(ended.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
    Ok(String::from_utf8(ended.stdout)?)
}

/// A machine that runs from one of two slots.
struct Machine {
    folder: TempDir,
    loops: Vec<String>,
}

/// Who may sign for it, and a signer of theirs: ECDSA on P-256, as in the guide.
struct Authority(PathBuf);

impl Authority {
    fn new(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let path = |name: &str| folder.join(name).display().to_string();
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"];
        let (ca_key, ca, one_key, request) =
            (path("ca.key"), path("ca.pem"), path("one.key"), path("one.csr"));
        let own = ["req", "-x509", "-days", "30", "-subj", "/CN=Test", "-keyout", &ca_key, "-out", &ca];
        done("openssl", &[&own[..], &key].concat())?;
        let asked = ["req", "-new", "-subj", "/CN=One", "-keyout", &one_key, "-out", &request];
        done("openssl", &[&asked[..], &key].concat())?;
        let one = path("one.pem");
        done(
            "openssl",
            &["x509", "-req", "-in", &request, "-CA", &ca, "-CAkey", &ca_key, "-days", "30", "-out", &one],
        )?;
        Ok(Self(folder.into()))
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Makes a bundle; where it is.
    fn bundle(&self, format: &str, version: &str, root: &[u8]) -> Result<PathBuf> {
        let (content, bundle) = (self.0.join(format), self.0.join(format!("{format}-{version}.raucb")));
        fs::create_dir_all(&content)?;
        fs::write(content.join("rootfs.img"), root)?;
        let manifest = format!(
            "[update]\ncompatible=gatepost-test\nversion={version}\n[bundle]\nformat={format}\n[image.rootfs]\nfilename=rootfs.img\n"
        );
        fs::write(content.join("manifest.raucm"), manifest)?;
        let (cert, key, ring) = (self.path("one.pem"), self.path("one.key"), self.path("ca.pem"));
        let signer = ["--cert", &cert, "--key", &key, "--keyring", &ring, "bundle"];
        done(
            "rauc",
            &[&signer[..], &[&content.display().to_string(), &bundle.display().to_string()]].concat(),
        )?;
        Ok(bundle)
    }
}

impl Machine {
    /// [`None`] where there are no loop devices.
    fn new(authority: &Authority) -> Result<Option<Self>> {
        let mut machine = Self { folder: tempfile::tempdir()?, loops: vec![] };
        for slot in ["A", "B"] {
            let file = machine.path(slot);
            fs::File::create(&file)?.set_len(SLOT)?;
            match done("losetup", &["--find", "--show", &file.display().to_string()]) {
                Ok(device) => machine.loops.push(device.trim().into()),
                Err(error) => {
                    println!("no loop device here: {error:#}");
                    return Ok(None);
                }
            }
        }
        for folder in ["etc/rauc", "lib/gatepost/updates", "lib/gatepost_update", "boot", "mnt"] {
            fs::create_dir_all(machine.path(folder))?;
        }
        for name in ["passwd", "group"] {
            fs::copy(Path::new("/etc").join(name), machine.path("etc").join(name))?;
        }
        fs::copy(authority.path("ca.pem"), machine.path("etc/rauc/ca.pem"))?;
        let folder = machine.folder.path().display().to_string();
        machine.script("loader", &LOADER.replace("@FOLDER@", &folder))?;
        machine.script("systemctl", &format!("#!/bin/sh\necho \"$@\" >> {folder}/systemctl.log\n"))?;
        let slot = |number: usize, name: &str| {
            format!("[slot.rootfs.{number}]\ndevice={}\ntype=raw\nbootname={name}\n", machine.loops[number])
        };
        let system = format!(
            "[system]\ncompatible=gatepost-test\nbootloader=custom\nmountprefix={folder}/mnt\n[handlers]\n\
             bootloader-custom-backend={folder}/loader\n[keyring]\npath=/etc/rauc/ca.pem\n{}{}",
            slot(0, "A"),
            slot(1, "B")
        );
        fs::write(machine.path("etc/rauc/system.conf"), system)?;
        Ok(Some(machine))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn script(&self, name: &str, text: &str) -> Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        fs::write(self.path(name), text)?;
        Ok(fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755))?)
    }

    /// Asks for an update, as the hub does.
    fn ask(&self, id: char, version: &str, bundle: &Path) -> Result<()> {
        let intake = self.path("lib/gatepost/updates");
        fs::copy(bundle, intake.join("hub.raucb"))?;
        let id = id.to_string().repeat(32);
        Ok(fs::write(intake.join("hub.request"), format!("{{\"id\":\"{id}\",\"version\":{version}}}"))?)
    }

    /// Runs the helper on the machine, started from a slot; what it reports. Mounts, bus, service: all end with the first process of
    /// their own namespaces.
    fn help(&self, booted: &str) -> Result<Value> {
        let folder = self.folder.path().display().to_string();
        let helper = program()?.display().to_string();
        let script = [("FOLDER", folder.as_str()), ("BOOTED", booted), ("HELPER", &helper)];
        let script =
            script.iter().fold(HELP.to_owned(), |text, (word, by)| text.replace(&format!("@{word}@"), by));
        let spaces = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-euc", &script];
        let helped = Command::new("unshare").args(spaces).stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&helped.stderr);
        ensure!(helped.status.success(), "{said}{}", String::from_utf8_lossy(&helped.stdout));
        let report =
            fs::read(self.path("lib/gatepost_update/report.json")).with_context(|| said.into_owned())?;
        ensure!(!self.path("lib/gatepost/updates/hub.request").exists(), "the request is left");
        ensure!(!self.path("lib/gatepost_update/bundle.raucb").exists(), "the copy of the bundle is left");
        Ok(serde_json::from_slice(&report)?)
    }

    /// The slot that the next start takes.
    fn next(&self) -> String {
        fs::read_to_string(self.path("boot/primary")).map_or("A".into(), |name| name.trim().to_owned())
    }

    fn has(&self, slot: &str, root: &[u8]) -> Result<bool> {
        let mut start = vec![0; root.len()];
        fs::File::open(self.path(slot))?.read_exact(&mut start)?;
        Ok(start == root)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for device in &self.loops {
            let _ = Command::new("losetup").args(["--detach", device]).status();
        }
    }
}

/// What RAUC asks a boot loader that it does not know
/// (<https://rauc.readthedocs.io/en/latest/integration.html#custom-bootloader-backend-integration>).
const LOADER: &str = "#!/bin/sh
cd @FOLDER@/boot
case \"$1\" in
get-primary) cat primary 2>/dev/null || echo A ;;
set-primary) echo \"$2\" >primary ;;
get-state) cat \"state.$2\" 2>/dev/null || echo good ;;
set-state) echo \"$3\" >\"state.$2\" ;;
esac
";

/// The machine around the helper: its /etc and /var/lib, a bus of its own with RAUC's service, and a systemctl that writes down what it
/// is told.
const HELP: &str = "
mount --make-rprivate /
mount --bind @FOLDER@/etc /etc
mount --bind @FOLDER@/lib /var/lib
mount --bind @FOLDER@/systemctl /usr/bin/systemctl
mount -t tmpfs tmpfs /run
mkdir /run/dbus
dbus-daemon --session --fork --nopidfile --address unix:path=/run/dbus/system_bus_socket
rauc --override-boot-slot=@BOOTED@ service >/run/rauc 2>&1 &
until rauc status >/dev/null 2>&1; do sleep 0.1; done
@HELPER@ update apply
";

#[test]
fn an_image_is_updated_into_the_other_slot_and_judged_by_the_slot_that_runs_then() -> Result<()> {
    if !Debian::may_be() {
        println!("left out: it takes root");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let (ours, foreign) =
        (Authority::new(&folder.path().join("ours"))?, Authority::new(&folder.path().join("foreign"))?);
    let Some(machine) = Machine::new(&ours)? else { return Ok(()) };
    let root: Vec<u8> = (0..ROOT).map(|at| (at / 512 * 7 + at % 251) as u8).collect();
    let (good, unknown) = (ours.bundle("plain", "0.2.0", &root)?, foreign.bundle("plain", "0.2.0", &root)?);
    let old = ours.bundle("plain", env!("CARGO_PKG_VERSION"), &root)?;

    let refused = |what: &str, report: &Value| -> Result<()> {
        ensure!(report["stage"] == "refused" && report["why"].is_string(), "{what}: {report}");
        ensure!(machine.next() == "A" && !machine.has("B", &root)?, "{what}: the slot is written");
        println!("{what}: {}", report["why"]);
        Ok(())
    };
    machine.ask('1', "null", &unknown)?;
    refused("another authority's", &machine.help("A")?)?;
    machine.ask('2', "null", &good)?;
    let bundle = machine.path("lib/gatepost/updates/hub.raucb");
    change(&bundle)?;
    refused("a changed one", &machine.help("A")?)?;
    machine.ask('3', "\"0.3.0\"", &good)?;
    refused("another version's", &machine.help("A")?)?;
    machine.ask('6', "null", &old)?;
    refused("one that is not newer", &machine.help("A")?)?;
    machine.ask('4', "null", &good)?;
    fs::remove_file(&bundle)?;
    std::os::unix::fs::symlink(&good, &bundle)?;
    refused("a link", &machine.help("A")?)?;
    fs::remove_file(&bundle)?;
    ensure!(!machine.path("systemctl.log").exists());

    machine.ask('5', "\"0.2.0\"", &good)?;
    let written = machine.help("A")?;
    ensure!(
        written["stage"] == "restarting" && written["slot"] == "B" && written["to"] == "0.2.0",
        "{written}"
    );
    ensure!(machine.next() == "B" && machine.has("B", &root)?, "the slot is not written");
    ensure!(fs::read_to_string(machine.path("systemctl.log"))? == "reboot\n");

    // The new slot runs, and its hub is well: else the machine would have restarted before the helper's turn.
    let report = fs::read(machine.path("lib/gatepost_update/report.json"))?;
    ensure!(machine.help("B")?["stage"] == "installed");
    // Or its starts were no good ones, and the boot loader has taken the slot before.
    fs::write(machine.path("lib/gatepost_update/report.json"), report)?;
    fs::write(machine.path("boot/primary"), "A")?;
    let back = machine.help("A")?;
    ensure!(back["stage"] == "went_back" && back["id"] == "5".repeat(32), "{back}");
    Ok(())
}

/// Changes a byte in the middle of a file.
fn change(file: &Path) -> Result<()> {
    let mut file = fs::File::options().read(true).write(true).open(file)?;
    let middle = file.metadata()?.len() / 2;
    let mut byte = [0];
    file.seek(SeekFrom::Start(middle))?;
    file.read_exact(&mut byte)?;
    file.seek(SeekFrom::Start(middle))?;
    Ok(file.write_all(&[byte[0] ^ 1])?)
}

#[test]
fn a_block_of_a_bundle_that_was_changed_after_it_was_signed_is_found_when_it_is_read() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let ours = Authority::new(&folder.path().join("ours"))?;
    // Bytes that do not compress, so that the middle of the bundle is the root.
    let mut root = vec![0; ROOT];
    fs::File::open("/dev/urandom")?.read_exact(&mut root)?;
    let bundle = ours.bundle("verity", "0.2.0", &root)?;
    let (path, ring) = (bundle.display().to_string(), ours.path("ca.pem"));
    let extract = |to: &str| {
        let to = folder.path().join(to).display().to_string();
        Command::new("rauc").args(["--keyring", &ring, "extract", &path, &to]).output()
    };
    ensure!(extract("good")?.status.success());
    ensure!(fs::read(folder.path().join("good/rootfs.img"))? == root);
    change(&bundle)?;
    done("rauc", &["--keyring", &ring, "info", &path])
        .context("the signature is over the hash of the tree")?;
    let bad = extract("bad")?;
    let said = String::from_utf8_lossy(&bad.stderr).into_owned();
    ensure!(!bad.status.success() && said.contains("erification failed"), "{said}");
    Ok(())
}
