//! What tests of files that go along have in common.

use std::{fs, io, path::Path};

use anyhow::{Result, ensure};

use crate::hub::{Answer, client::text};

/// A picture begins so.
pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
/// A voice message begins so.
pub const OGG: &[u8] = b"OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead\x01\x01";

/// Bytes of no pattern, after these: the same at every call.
pub fn noise(head: &[u8], size: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let noise = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    });
    head.iter().copied().chain(noise).take(size).collect()
}

/// `courier` and `asker` attach from `folder`, and a person is asked about what the second one sends; `other` has no folder.
pub fn config(folder: &Path) -> String {
    format!(
        "[agents.courier]\nallow = [\"*\"]\ncross_context = \"allow\"\ndecorate = false\n\
         attach_from = \"{0}\"\nattach_urls = [\"*\"]\n\
         [agents.asker]\nallow = [\"*\"]\nattach_from = \"{0}\"\n\
         [agents.other]\nallow = [\"*\"]\ncross_context = \"allow\"\n\
         [approval]\nallow_software_companion = true\n\
         [channels.local.home]\n",
        folder.display()
    )
}

/// Files in the folder of the hub with this data directory, whole or not.
///
/// # Errors
/// The file system's.
pub fn staged(data: &Path) -> Result<Vec<String>> {
    let names = match fs::read_dir(data.join("files")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        names => names?,
    };
    names.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Checks a refusal.
///
/// # Errors
/// It is none, or another.
pub fn refused(answer: &Answer, status: u16, reason: &str) -> Result<()> {
    ensure!(answer.status == status && answer.body["reason"] == reason, "not {status} {reason}: {answer:?}");
    ensure!(!text(&answer.body, "hint").is_empty(), "{answer:?}");
    Ok(())
}
