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

    /// Mounts a file of so many megabytes, with a file system that turns read-only at its first error, at `path`; nothing
    /// where that is not allowed.
    ///
    /// # Errors
    /// The folder or the file cannot be made.
    pub fn that_can_fail(path: &Path, image: &Path, megabytes: u64) -> Result<Option<Self>> {
        fs::create_dir(path)?;
        File::create_new(image)?.set_len(megabytes * 1024 * 1024)?;
        // Without a journal, so that nothing but our error stops it.
        let made = Command::new("mkfs.ext4").args(["-q", "-O", "^has_journal"]).arg(image).status();
        if !made.as_ref().is_ok_and(std::process::ExitStatus::success) {
            skipped(&format!("cannot make a file system: {made:?}"));
            return Ok(None);
        }
        let disk = Self { path: path.into() };
        match disk.mount_image(image) {
            Ok(()) if disk.trigger().is_ok_and(|trigger| trigger.exists()) => Ok(Some(disk)),
            Ok(()) => {
                skipped("this kernel's ext4 has no trigger_fs_error");
                Ok(None)
            }
            Err(error) => {
                std::mem::forget(disk);
                skipped(&format!("cannot mount an image: {error:#}"));
                Ok(None)
            }
        }
    }

    /// From here on it cannot be written.
    ///
    /// # Errors
    /// The kernel does not do it.
    pub fn fail(&self) -> Result<()> {
        Ok(fs::write(self.trigger()?, "for a test")?)
    }

    /// Unmounts it, repairs a copy of it, and mounts that in its place. Not the image itself: a mount namespace that another test
    /// made meanwhile keeps the file system mounted, read-only as it is, and the kernel would give us that one again.
    ///
    /// # Errors
    /// One of these.
    pub fn repair(&self, image: &Path) -> Result<()> {
        let unmounted = Command::new("umount").arg(&self.path).output()?;
        ensure!(unmounted.status.success(), "{}", String::from_utf8_lossy(&unmounted.stderr));
        let repaired = image.with_extension("repaired");
        let copied = Command::new("cp").arg("--sparse=always").args([image, &repaired]).output()?;
        ensure!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        // 1: errors were found and corrected.
        let checked = Command::new("e2fsck").args(["-f", "-y"]).arg(&repaired).output()?;
        ensure!(matches!(checked.status.code(), Some(0 | 1)), "{checked:?}");
        self.mount_image(&repaired)
    }

    fn mount_image(&self, image: &Path) -> Result<()> {
        let mount = Command::new("mount")
            .args(["-o", "loop,errors=remount-ro"])
            .arg(image)
            .arg(&self.path)
            .output()?;
        ensure!(mount.status.success(), "{}", String::from_utf8_lossy(&mount.stderr));
        Ok(())
    }

    fn trigger(&self) -> Result<PathBuf> {
        let found = Command::new("findmnt").args(["-no", "SOURCE"]).arg(&self.path).output()?;
        let device = String::from_utf8(found.stdout)?;
        let name = device.trim().rsplit('/').next().unwrap_or("");
        Ok(Path::new("/sys/fs/ext4").join(name).join("trigger_fs_error"))
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
