//! Root at a shell, and a data directory of another user.

use std::{fs, io, os::unix::fs::MetadataExt as _, path::Path};

use rustix::{
    process::{Gid, Uid, geteuid},
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};

/// The user to whom a directory belongs, if this is root and that user is not.
fn other_owner(directory: &Path) -> Option<(Uid, Gid)> {
    let found = fs::metadata(directory).ok()?;
    let is_others = geteuid().is_root() && found.uid() != 0;
    is_others.then(|| (Uid::from_raw(found.uid()), Gid::from_raw(found.gid())))
}

/// Whether this is root, and the directory another user's.
pub fn is_anothers(directory: &Path) -> bool {
    other_owner(directory).is_some()
}

/// Becomes the user to whom the directory belongs, if this is root. The hub could not open what root makes in its directory; and
/// root would follow the links that the hub's user laid there, out of it. Linux changes the user of the calling thread and of those
/// that it starts, so this comes before all others; there is no way back.
///
/// # Errors
/// The kernel says no: this root may not become others.
pub fn become_owner(directory: &Path) -> io::Result<()> {
    let Some((user, group)) = other_owner(directory) else { return Ok(()) };
    set_thread_groups(&[group])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    Ok(())
}
