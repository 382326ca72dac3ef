//! Returns freed memory to the operating system.
//!
//! glibc keeps freed memory in one arena for each of many threads and returns at most the end of each: after a busy minute
//! with many connections, the hub still held two thirds of the memory that they had used. This is a crate of its own because
//! the call has no safe form, and the hub itself forbids unsafe code.

/// Returns what it can, which takes some milliseconds. Does nothing if the C library is not glibc: others return memory by
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
