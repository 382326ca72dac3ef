//! The package that is installed, put together again before another one takes its place.
//!
//! A repository need not have the version before any more, nor apt's cache, and a package may have come by hand. What ran until now is on
//! the disk in any case, as dpkg knows it: its files, its scripts, its fields. So going back asks nobody.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, symlink},
    path::{Path, PathBuf},
    time::Duration,
};

use super::programs::{NotDone, Run};
use crate::store::private_file;

const QUERY: &str = "/usr/bin/dpkg-query";
/// What dpkg says of a package that the package does not say of itself.
const OF_DPKG: [&str; 2] = ["Status:", "Config-Version:"];
/// How long `dpkg-deb` may take.
const PACKING: Duration = Duration::from_mins(5);

/// Why there is no package of the version before.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotKept {
    /// The disk.
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, io::Error),
    /// A program.
    #[error(transparent)]
    Program(#[from] NotDone),
}

/// What dpkg knows of the package.
struct Known {
    /// Its fields.
    fields: String,
    /// The paths of its files and folders, a line each.
    files: String,
    /// The paths of its scripts and sums, a line each: `/var/lib/dpkg/info/gatepost.postinst`.
    control: String,
}

/// Where the package lies in the helper's folder.
pub(super) fn place(state: &Path) -> PathBuf {
    state.join("former.deb")
}

/// Makes the package.
///
/// # Errors
/// There is none.
pub(super) async fn keep(state: &Path) -> Result<(), NotKept> {
    let (tree, package) = (state.join("former"), place(state));
    remove(&tree)?;
    let (fields, files, control) = (
        Run::new(QUERY, &["--status", "gatepost"], PACKING).done().await?,
        Run::new(QUERY, &["--listfiles", "gatepost"], PACKING).done().await?,
        Run::new(QUERY, &["--control-path", "gatepost"], PACKING).done().await?,
    );
    fill(&tree, Path::new("/"), &Known { fields, files, control })?;
    let (from, to) = (tree.display().to_string(), package.display().to_string());
    // Not compressed: it lies there for some minutes.
    let pack = ["--root-owner-group", "-Znone", "--build", from.as_str(), to.as_str()];
    let packed = Run::new("/usr/bin/dpkg-deb", &pack, PACKING).done().await;
    remove(&tree)?;
    packed?;
    Ok(())
}

/// Lets go of it.
pub(super) fn forget(state: &Path) {
    if let Err(error) = fs::remove_file(place(state)) {
        tracing::warn!(%error, "cannot remove the package of the version before");
    }
}

fn remove(tree: &Path) -> Result<(), NotKept> {
    private_file::remove_folder(tree).map_err(|error| NotKept::Io(tree.into(), error))
}

/// Copies what the package of this system consists of.
fn fill(tree: &Path, root: &Path, known: &Known) -> Result<(), NotKept> {
    folder(tree)?;
    // `/.` is the root itself; a line that is no path says where a file was diverted to.
    let paths = |lines: &'_ str| -> Vec<String> {
        lines
            .lines()
            .filter_map(|line| line.strip_prefix('/'))
            .filter(|path| *path != ".")
            .map(str::to_owned)
            .collect()
    };
    for path in paths(&known.files) {
        copy(&root.join(&path), &tree.join(&path))?;
    }
    let control = tree.join("DEBIAN");
    folder(&control)?;
    for path in paths(&known.control) {
        if let Some((_, name)) = path.rsplit_once('.') {
            copy(&root.join(&path), &control.join(name))?;
        }
    }
    let is_own = |line: &&str| !OF_DPKG.iter().any(|field| line.starts_with(field));
    let fields: String = known.fields.lines().filter(is_own).map(|line| format!("{line}\n")).collect();
    let place = control.join("control");
    fs::write(&place, fields.trim_end().to_owned() + "\n").map_err(|error| NotKept::Io(place, error))
}

fn folder(path: &Path) -> Result<(), NotKept> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
    made.map_err(|error| NotKept::Io(path.into(), error))
}

/// One that is not there was left out when the package was unpacked, as of documentation (`path-exclude` of dpkg).
fn copy(from: &Path, to: &Path) -> Result<(), NotKept> {
    let failed = |error| NotKept::Io(from.into(), error);
    let kind = match from.symlink_metadata() {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    match () {
        () if kind.is_dir() => folder(to),
        () if kind.is_symlink() => fs::read_link(from).and_then(|target| symlink(target, to)).map_err(failed),
        () => fs::copy(from, to).map(drop).map_err(failed),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_dpkg_knows_of_the_package_becomes_one_again() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str, mode: u32| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        put("usr/bin/gatepost", "program", 0o755);
        put("var/lib/dpkg/info/gatepost.postinst", "script", 0o755);
        symlink("gatepost", root.path().join("usr/bin/gp")).unwrap();
        let tree = root.path().join("tree");
        let known = Known {
            fields: "Package: gatepost\nStatus: install ok installed\nVersion: 0.1.0-1\nDescription: a\n b\n".into(),
            files: "/.\n/usr\n/usr/bin\n/usr/bin/gatepost\n/usr/bin/gp\n/usr/share/doc/left-out\ndiverted by x to: /y\n".into(),
            control: "/var/lib/dpkg/info/gatepost.postinst\n".into(),
        };
        fill(&tree, root.path(), &known).unwrap();
        assert_eq!(fs::read(tree.join("usr/bin/gatepost")).unwrap(), b"program");
        assert_eq!(fs::read_link(tree.join("usr/bin/gp")).unwrap(), Path::new("gatepost"));
        let mode = fs::metadata(tree.join("DEBIAN/postinst")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        let control = fs::read_to_string(tree.join("DEBIAN/control")).unwrap();
        assert_eq!(control, "Package: gatepost\nVersion: 0.1.0-1\nDescription: a\n b\n");
        assert!(!tree.join("usr/share").exists());
    }
}
