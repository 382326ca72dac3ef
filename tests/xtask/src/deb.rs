//! A Debian package of the hub: its programs, the service's files of `daemon/packaging`, man pages and completions.
//!
//! It is put together file by file and handed to `dpkg-deb`, as <https://www.debian.org/doc/debian-policy/> wants it. The same tree makes
//! the same bytes: all times in it are those of the commit, or `SOURCE_DATE_EPOCH`.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;

use super::{VERSION, cargo, hub, notices, root, run};

/// What the package stands on: glibc packs relocations since 2.36 (`daemon/build.rs`), Debian 12's version. Without authorities no
/// channel that speaks TLS can be set up, and then no hub starts.
const DEPENDS: &str = "libc6 (>= 2.36), libgcc-s1, systemd, ca-certificates";
const MAINTAINER: &str = "The Gatepost authors <gatepost@gatepost.invalid>";
const HOMEPAGE: &str = "https://github.com/gatepost/gatepost";
/// Where its programs go: the hub's, and the one that writes boards, which nobody starts but that.
const PROGRAMS: [&str; 2] = ["usr/bin/gatepost", "usr/libexec/gatepost-flash"];
/// The files that it installs as they are: where, and from where.
const FILES: [(&str, &str); 8] = [
    ("usr/lib/systemd/system/gatepost.service", "daemon/packaging/systemd/gatepost.service"),
    ("usr/lib/systemd/system/gatepost-update.path", "daemon/packaging/systemd/gatepost-update.path"),
    ("usr/lib/systemd/system/gatepost-update.service", "daemon/packaging/systemd/gatepost-update.service"),
    ("usr/lib/sysusers.d/gatepost.conf", "daemon/packaging/sysusers.d/gatepost.conf"),
    ("usr/lib/tmpfiles.d/gatepost.conf", "daemon/packaging/tmpfiles.d/gatepost.conf"),
    ("usr/share/doc/gatepost/README.Debian", "daemon/packaging/deb/README.Debian"),
    ("usr/share/doc/gatepost/copyright", "daemon/packaging/deb/copyright"),
    ("usr/share/lintian/overrides/gatepost", "daemon/packaging/deb/lintian-overrides"),
];
/// The scripts that `dpkg` runs.
const SCRIPTS: [&str; 4] = ["preinst", "postinst", "prerm", "postrm"];
/// The shells whose completions it brings, and where each looks for them.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/gatepost"),
    ("zsh", "usr/share/zsh/vendor-completions/_gatepost"),
    ("fish", "usr/share/fish/vendor_completions.d/gatepost.fish"),
];

/// What is to be made.
#[derive(Debug, clap::Args)]
pub(crate) struct Wanted {
    /// The architecture, as Debian calls it.
    architecture: Architecture,
    /// A program that is there already, with gatepost-flash beside it. Without it, both are built.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The version, if not the workspace's.
    #[arg(long)]
    version: Option<String>,
    /// The folder that the package is written into: target/deb.
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

/// For which machines there is a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Architecture {
    /// A PC.
    Amd64,
    /// A Raspberry Pi 3 or newer with a system of 64 bits.
    Arm64,
    /// A Raspberry Pi 2 or newer with a system of 32 bits.
    Armhf,
}

impl Architecture {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Amd64, Self::Arm64, Self::Armhf];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
            Self::Armhf => "armhf",
        }
    }

    fn machine(self) -> hub::Machine {
        match self {
            Self::Amd64 => hub::Machine::X86_64,
            Self::Arm64 => hub::Machine::Aarch64,
            Self::Armhf => hub::Machine::Armv7,
        }
    }
}

/// Makes the package of a release, of a program that is there already or is built.
pub(crate) fn build(
    architecture: Architecture,
    program: Option<PathBuf>,
    version: &str,
    into: &Path,
) -> Result<PathBuf> {
    let version = Some(version.to_owned());
    make(&Wanted { architecture, program, version, into: Some(into.to_owned()) })
}

/// A version as Debian has it: a candidate for 1.0.0 is `1.0.0-rc.1` for Cargo, and `1.0.0~rc.1` for Debian, which sorts `~` first.
fn debians(version: &str) -> String {
    format!("{}-1", version.replacen('-', "~", 1))
}

/// The package's file.
pub(crate) fn file_name(architecture: Architecture, version: &str) -> String {
    format!("gatepost_{}_{}.deb", debians(version), architecture.name())
}

/// The files of the package, in a folder.
struct Tree {
    folder: PathBuf,
}

/// Makes the package, prints its size, and returns where it is.
pub(crate) fn make(wanted: &Wanted) -> Result<PathBuf> {
    let machine = wanted.architecture.machine();
    let (program, flasher) = match &wanted.program {
        Some(program) => {
            let program = root().join(program);
            let flasher = program.with_file_name("gatepost-flash");
            (program, flasher)
        }
        None => (hub::build(machine)?, hub::build_flasher(machine)?),
    };
    let released = wanted.version.clone().unwrap_or_else(|| VERSION.into());
    let version = debians(&released);
    let into = wanted.into.clone().unwrap_or_else(|| root().join("target/deb"));
    let into = root().join(into);
    fs::create_dir_all(&into)?;
    let epoch = epoch()?;
    let temporary = tempfile::tempdir()?;
    let tree = Tree { folder: temporary.path().join("gatepost") };
    tree.fill([&program, &flasher], &version, &epoch)?;
    let notices = notices::of_the_hub(&[wanted.architecture.machine()])?;
    tree.write_compressed("usr/share/doc/gatepost/THIRD-PARTY", notices.as_bytes())?;
    tree.control(wanted.architecture, &version)?;
    let file = into.join(file_name(wanted.architecture, &released));
    let built = Command::new("dpkg-deb")
        .args(["--root-owner-group", "-Zxz", "--build"])
        .args([&tree.folder, &file])
        .env("SOURCE_DATE_EPOCH", &epoch)
        .stdout(Stdio::null())
        .status()
        .context("cannot run dpkg-deb: apt-get install dpkg")?;
    ensure!(built.success(), "dpkg-deb: {built}");
    println!("{}: {} bytes", wanted.architecture.name(), fs::metadata(&file)?.len());
    println!("{}", file.display());
    Ok(file)
}

/// The time that all files have: seconds since 1970.
pub(crate) fn epoch() -> Result<String> {
    match env::var("SOURCE_DATE_EPOCH") {
        Ok(epoch) => Ok(epoch),
        Err(_) => said(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root())),
    }
}

/// A time in a form of `date`'s: `-R` as mails have it.
pub(crate) fn date(epoch: &str, form: &str) -> Result<String> {
    said(Command::new("date").args(["-u", form, "-d", &format!("@{epoch}")]).env("LC_ALL", "C"))
}

/// Compresses a file, without its name and its time, so that the same bytes come of it each time.
pub(crate) fn compress(file: &Path, more: &[&str]) -> Result<()> {
    run(Command::new("gzip").arg("-9n").args(more).arg(file))
}

/// What a program prints, if it ends well.
pub(crate) fn said(command: &mut Command) -> Result<String> {
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

impl Tree {
    fn write(&self, path: &str, bytes: &[u8], mode: u32) -> Result<()> {
        let file = self.folder.join(path);
        self.folder_of(path)?;
        fs::write(&file, bytes).with_context(|| file.display().to_string())?;
        Ok(fs::set_permissions(&file, fs::Permissions::from_mode(mode))?)
    }

    /// Makes the folders above a file, with the rights that policy wants, whatever the umask is (10.9).
    fn folder_of(&self, path: &str) -> Result<()> {
        let above = self.folder.join(Path::new(path).parent().context("a path within the package")?);
        fs::create_dir_all(&above)?;
        for folder in above.ancestors().take_while(|folder| folder.starts_with(&self.folder)) {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    }

    /// Writes a file as policy wants documentation: compressed, with `.gz` behind its name.
    fn write_compressed(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.write(path, bytes, 0o644)?;
        compress(&self.folder.join(path), &[])
    }

    fn fill(&self, programs: [&Path; 2], version: &str, epoch: &str) -> Result<()> {
        for (program, path) in programs.into_iter().zip(PROGRAMS) {
            let bytes = fs::read(program).with_context(|| program.display().to_string())?;
            self.write(path, &bytes, 0o755)?;
        }
        for (path, from) in FILES {
            self.write(path, &fs::read(root().join(from)).with_context(|| from.to_owned())?, 0o644)?;
        }
        let date = date(epoch, "-R")?;
        let changes = format!(
            "gatepost ({version}) stable; urgency=medium\n\n  * What changed is in changelog.gz.\n\n -- {MAINTAINER}  {date}\n"
        );
        self.write_compressed("usr/share/doc/gatepost/changelog.Debian", changes.as_bytes())?;
        self.write_compressed("usr/share/doc/gatepost/changelog", &fs::read(root().join("CHANGELOG.md"))?)?;
        self.pages()
    }

    /// What the program of this machine says of its commands: pages of the manual, and what shells complete.
    fn pages(&self) -> Result<()> {
        let gatepost = |arguments: &[&str]| {
            let mut cargo = cargo();
            cargo.args(["run", "--quiet", "--locked", "--package", "gatepost", "--"]).args(arguments);
            said(cargo.current_dir(root()))
        };
        let pages = tempfile::tempdir()?;
        gatepost(&["man", "--dir", pages.path().to_str().context("a path")?])?;
        for page in fs::read_dir(pages.path())? {
            let page = page?;
            let name = page.file_name().into_string().ok().context("a name")?;
            self.write_compressed(&format!("usr/share/man/man1/{name}"), &fs::read(page.path())?)?;
        }
        for (shell, path) in COMPLETIONS {
            let script = gatepost(&["completions", shell])? + "\n";
            self.write(path, script.as_bytes(), 0o644)?;
        }
        Ok(())
    }

    /// Writes what `dpkg` reads of the package, and the scripts that it runs.
    fn control(&self, architecture: Architecture, version: &str) -> Result<()> {
        let mut files = Vec::new();
        list(&self.folder, Path::new(""), &mut files)?;
        files.sort();
        let size: u64 = files.iter().map(|(_, bytes)| bytes.div_ceil(1_024)).sum();
        let names = files.iter().map(|(name, _)| name);
        let sums = said(Command::new("md5sum").arg("--").args(names).current_dir(&self.folder))? + "\n";
        let control = format!(
            "Package: gatepost\nVersion: {version}\nArchitecture: {}\nMaintainer: {MAINTAINER}\nInstalled-Size: {size}\n\
             Depends: {DEPENDS}\nSection: net\nPriority: optional\nHomepage: {HOMEPAGE}\n\
             Description: gate for the messages that AI agents send to people\n \
             Agents hand it their messages over MCP, HTTP or the command line. It checks\n \
             who may write to whom, asks a person at a companion with a display and two\n \
             buttons, formats and splits for each platform, delivers without loss or\n \
             doubles, and proves what happened.\n",
            architecture.name()
        );
        self.write("DEBIAN/control", control.as_bytes(), 0o644)?;
        self.write("DEBIAN/md5sums", sums.as_bytes(), 0o644)?;
        for script in SCRIPTS {
            let text = fs::read_to_string(root().join("daemon/packaging/deb").join(script))?;
            self.write(&format!("DEBIAN/{script}"), text.replace("@VERSION@", version).as_bytes(), 0o755)?;
        }
        Ok(())
    }
}

/// All files in a folder, with their sizes.
pub(crate) fn list(root: &Path, beneath: &Path, found: &mut Vec<(PathBuf, u64)>) -> Result<()> {
    for entry in fs::read_dir(root.join(beneath))? {
        let entry = entry?;
        let path = beneath.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => list(root, &path, found)?,
            false => found.push((path, entry.metadata()?.len())),
        }
    }
    Ok(())
}
