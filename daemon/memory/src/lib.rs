//! Gives memory that nobody uses back to the system.
//!
//! glibc keeps what was freed, in an arena for each of many threads, and gives back the end of each at most: after a minute of
//! many connections two thirds of what they took stayed with the hub. This is a crate of its own because the call has no safe
//! form, and the hub itself forbids unsafe code.

/// Gives back what it can, in some milliseconds. Where the C library is not glibc, it does nothing: others give back by
/// themselves.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "malloc_trim(3) has no safe form")]
    // SAFETY: it is MT-Safe by its manual page, takes no pointer, and moves nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_in_use_stays_as_it_is() {
        let kept: Vec<Vec<u8>> = (0..1_000_u32).map(|n| n.to_le_bytes().repeat(100)).collect();
        drop(kept.iter().step_by(2).cloned().collect::<Vec<_>>());
        super::give_back();
        assert!((0_u32..).zip(&kept).all(|(n, bytes)| *bytes == n.to_le_bytes().repeat(100)));
    }
}
