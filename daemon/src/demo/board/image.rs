//! The board's firmware: built from the repository's sources, by the repository's own chore.
//!
//! Cargo decides whether there is anything to build, so what runs is never older than its sources.

use std::{
    env,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Command;

use super::BoardError;

/// What a folder holds that is the repository.
const SOURCES: &str = "firmware/qemu-virt/Cargo.toml";

/// The board's loader, beside the image.
const LOADER: &str = "gatepost-qemu-boot";

/// What a board is started with.
pub(super) struct Firmware {
    /// What QEMU starts.
    pub(super) loader: PathBuf,
    /// What the loader starts, from a slot of the flash.
    pub(super) image: PathBuf,
}

/// Loader and image, built if they are missing or older than their sources.
pub(super) async fn build(say: impl Fn(&str)) -> Result<Firmware, BoardError> {
    let root = root().ok_or(BoardError::NoSources)?;
    say(
        "Building the companion's firmware for QEMU's RISC-V board, if it is not built: a minute the first time.",
    );
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut chore = Command::new(&cargo);
    chore.args(["xtask", "firmware", "qemu-virt"]).current_dir(root).stdin(Stdio::null()).kill_on_drop(true);
    let built = chore.output().await;
    let built =
        built.map_err(|error| BoardError::Build(format!("cannot run {}: {error}", cargo.display())))?;
    let output = String::from_utf8_lossy(&built.stdout);
    match output.lines().next_back() {
        // The last line is the image's path.
        Some(path) if built.status.success() => {
            let image = PathBuf::from(path);
            Ok(Firmware { loader: image.with_file_name(LOADER), image })
        }
        _ => Err(BoardError::Build(format!("{output}{}", String::from_utf8_lossy(&built.stderr)))),
    }
}

/// The repository: the folder that this was started in or that the program lies in, or one above either.
fn root() -> Option<PathBuf> {
    let starts = [env::current_dir().ok(), env::current_exe().ok()];
    starts.into_iter().flatten().find_map(|start| above(&start))
}

fn above(start: &Path) -> Option<PathBuf> {
    start.ancestors().find(|folder| folder.join(SOURCES).is_file()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_are_found_from_any_folder_within_them_and_nowhere_else() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let found = above(&here.join("src/demo")).unwrap();
        assert_eq!(found, here.parent().unwrap());
        assert_eq!(above(tempfile::tempdir().unwrap().path()), None);
    }
}
