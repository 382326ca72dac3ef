//! Root at a shell, and a data directory of another user.

use std::{fs, io, os::unix::fs::MetadataExt as _, panic::resume_unwind, path::Path, thread};

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

/// Does this as the user to whom the directory belongs, if this is root: on a thread of its own, and root goes on being root.
///
/// # Errors
/// As [`become_owner`].
pub fn as_owner<T: Send>(directory: &Path, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    if !is_anothers(directory) {
        return Ok(work());
    }
    thread::scope(|scope| {
        let working = scope.spawn(|| become_owner(directory).map(|()| work()));
        working.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
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
