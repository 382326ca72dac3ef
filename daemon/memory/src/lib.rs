//! Returns memory to the operating system: what was freed, and the code that has run and may not run again for hours.
//!
//! glibc keeps freed memory in one arena for each of many threads and returns at most the end of each: after a busy minute
//! with many connections, the hub still held two thirds of the memory that they had used.
//!
//! Code stays mapped once it has run, with some 60 KB around it: a start, a migration, a backup and the description of the
//! interface leave nearly all of the program mapped, of which an idle hub needs a third. What is unmapped stays in the system's
//! cache of files as long as there is room, and comes back without reading anything when it runs.
//!
//! This is a crate of its own because these calls have no safe form, and the hub itself forbids unsafe code.

/// Returns what was freed, which takes some milliseconds. Does nothing if the C library is not glibc: others return memory by
/// themselves.
pub fn give_back_freed() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "malloc_trim(3) has no safe form")]
    // SAFETY: it is MT-Safe by its manual page, takes no pointer, and moves nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Unmaps this program's code, which takes a millisecond; what runs is mapped again. Does nothing on other systems than Linux.
pub fn give_back_code() {
    #[cfg(target_os = "linux")]
    code::give_back();
}

#[cfg(target_os = "linux")]
mod code {
    use std::{env, fs, ops::Range, os::unix::ffi::OsStrExt as _, path::Path};

    pub(super) fn give_back() {
        let (Ok(program), Ok(maps)) = (env::current_exe(), fs::read("/proc/self/maps")) else { return };
        for range in maps.split(|byte| *byte == b'\n').filter_map(|line| code_of(line, &program)) {
            #[expect(unsafe_code, reason = "madvise(2) has no safe form")]
            // SAFETY: the range is one mapping of a file's bytes that can be run and not written, as the kernel has just named it, and
            // nothing unmaps a program's own code. Its pages are none that were ever written, so what comes back is the same.
            unsafe {
                libc::madvise(range.start as *mut libc::c_void, range.len(), libc::MADV_DONTNEED);
            }
        }
    }

    /// Where the code of `program` is, if this line of `/proc/self/maps` is about it: `start-end r-xp offset device inode path`
    /// (<https://man7.org/linux/man-pages/man5/proc_pid_maps.5.html>).
    pub(super) fn code_of(line: &[u8], program: &Path) -> Option<Range<usize>> {
        let line = line.strip_suffix(program.as_os_str().as_bytes())?;
        let mut fields = line.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
        let (range, flags) = (str::from_utf8(fields.next()?).ok()?, fields.next()?);
        let (start, end) = range.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        // Offset, device and inode, and then nothing but the path.
        let is_code = flags == b"r-xp" && fields.count() == 3;
        Some(number(start)?..number(end)?).filter(|range| is_code && !range.is_empty())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_in_use_stays_as_it_is() {
        let kept: Vec<Vec<u8>> = (0..1_000_u32).map(|n| n.to_le_bytes().repeat(100)).collect();
        drop(kept.iter().step_by(2).cloned().collect::<Vec<_>>());
        super::give_back_freed();
        super::give_back_code();
        assert!((0_u32..).zip(&kept).all(|(n, bytes)| *bytes == n.to_le_bytes().repeat(100)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_the_programs_own_code_is_meant() {
        let program = std::path::Path::new("/usr/bin/gatepost");
        let code = |line: &str| super::code::code_of(line.as_bytes(), program);
        let own =
            "557d0577a000-557d06626000 r-xp 0037a000 fe:00 131074                     /usr/bin/gatepost";
        assert_eq!(code(own), Some(0x557d_0577_a000..0x557d_0662_6000));
        for other in [
            "557d0577a000-557d06626000 r--p 0037a000 fe:00 131074                     /usr/bin/gatepost",
            "557d0577a000-557d06626000 rwxp 0037a000 fe:00 131074                     /usr/bin/gatepost",
            "557d0577a000-557d06626000 r-xp 0037a000 fe:00 131074                     /chroot/usr/bin/gatepost",
            "557d0577a000-557d06626000 r-xp 0037a000 fe:00 131074                     /a b/usr/bin/gatepost",
            "557d0577a000-557d06626000 r-xp 0037a000 fe:00 131074                     /usr/lib/libc.so.6",
            "7ffc8a1f2000-7ffc8a1f4000 r-xp 00000000 00:00 0                          [vdso]",
            "",
        ] {
            assert_eq!(code(other), None, "{other}");
        }
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let program = std::env::current_exe().unwrap();
        let found = maps.lines().filter(|line| super::code::code_of(line.as_bytes(), &program).is_some());
        assert!(found.count() > 0, "{maps}");
    }
}
