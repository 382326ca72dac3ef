//! The commit that all parts of a release are made from. It is written beside the folder, which has nothing but the release.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};

use super::super::{deb::said, root};

/// Checks that what is in a folder was made from the commit that is checked out; or, if everything is `made anew`, says so from now on.
pub(super) fn is_that_of(folder: &Path, keeps_parts: bool) -> Result<()> {
    let head = said(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()))?;
    check(folder, &head, keeps_parts)
}

fn check(folder: &Path, head: &str, keeps_parts: bool) -> Result<()> {
    let file = beside(folder)?;
    let made_from = match fs::read_to_string(&file) {
        Ok(commit) => Some(commit.trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).context(file.display().to_string()),
    };
    match made_from {
        Some(commit) if keeps_parts => ensure!(
            commit == head,
            "{} was made from {commit}, and this is {head}: make all parts anew, without --only",
            folder.display()
        ),
        None if keeps_parts && folder.exists() => {
            bail!("nothing says what {} was made from: make all parts, without --only", folder.display())
        }
        _ => {
            fs::create_dir_all(folder.parent().context("a folder")?)?;
            fs::write(&file, format!("{head}\n")).with_context(|| file.display().to_string())?;
        }
    }
    Ok(())
}

/// `release/1.4.0.commit`.
fn beside(folder: &Path) -> Result<PathBuf> {
    let mut name = folder.file_name().context("a folder")?.to_owned();
    name.push(".commit");
    Ok(folder.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_two_commits_are_no_release() -> Result<()> {
        let release = tempfile::tempdir()?;
        let folder = release.path().join("1.4.0");
        check(&folder, "one", true)?;
        fs::create_dir(&folder)?;
        check(&folder, "one", true)?;
        let refused = check(&folder, "two", true).unwrap_err().to_string();
        assert!(refused.contains("was made from one") && refused.contains("without --only"), "{refused}");
        check(&folder, "two", false)?;
        check(&folder, "two", true)?;
        fs::remove_file(beside(&folder)?)?;
        assert!(check(&folder, "two", true).is_err(), "nobody knows what is in it");
        Ok(())
    }
}
