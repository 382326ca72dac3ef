//! A small disk of one's own, to be filled.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

/// A file system in memory, mounted for the length of a test.
pub struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts one of so many megabytes at `path`, which must not be there; nothing where mounting is not allowed.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn mount(path: &Path, megabytes: u32) -> Result<Option<Self>> {
        fs::create_dir(path)?;
        let size = format!("size={megabytes}m,mode=0700");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path).output();
        match mount {
            Ok(mount) if mount.status.success() => Ok(Some(Self { path: path.into() })),
            Ok(mount) => {
                skipped(&format!("cannot mount: {}", String::from_utf8_lossy(&mount.stderr).trim()));
                Ok(None)
            }
            Err(error) => {
                skipped(&format!("cannot run mount: {error}"));
                Ok(None)
            }
        }
    }

    /// Bytes that are free.
    ///
    /// # Errors
    /// `df` does not say.
    pub fn free(&self) -> Result<u64> {
        let df = Command::new("df").args(["--output=avail", "-B1"]).arg(&self.path).output()?;
        let text = String::from_utf8(df.stdout)?;
        text.lines().nth(1).and_then(|line| line.trim().parse().ok()).with_context(|| text.clone())
    }

    /// Fills it with a file until at most `left` bytes are free.
    ///
    /// # Errors
    /// It does not get full.
    pub fn fill(&self, left: u64) -> Result<PathBuf> {
        let path = self.path.join("ballast");
        let mut file = File::options().create(true).append(true).open(&path)?;
        let block = [0x5a; 4096];
        while self.free()? > left {
            let blocks = ((self.free()? - left) / 4096).max(1);
            for _ in 0..blocks {
                // No room is what is wanted.
                if file.write_all(&block).is_err() {
                    break;
                }
            }
        }
        ensure!(self.free()? <= left.max(4096), "{} bytes are still free", self.free()?);
        Ok(path)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.path).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("cannot unmount {}", self.path.display());
        }
    }
}

/// Past the harness, which keeps what passing tests print to itself.
fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "\nSKIPPED, AND NOTHING WAS TESTED: {why}");
}
