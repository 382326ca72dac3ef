//! The lines of minisign's files: a comment that nobody signed, and base64.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// How the first line begins.
pub(super) const UNTRUSTED: &str = "untrusted comment: ";

/// A file of two lines.
pub(super) fn two(comment: &str, bytes: &[u8]) -> String {
    format!("{UNTRUSTED}{comment}\n{}\n", STANDARD.encode(bytes))
}

/// The `N` bytes of the line of base64 behind the comment.
pub(super) fn second<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut lines = text.lines();
    lines.next().filter(|line| line.starts_with(UNTRUSTED))?;
    let bytes = base64(lines.next()?)?;
    lines.next().is_none().then_some(bytes)
}

/// The `N` bytes of a line of base64.
pub(super) fn base64<const N: usize>(line: &str) -> Option<[u8; N]> {
    STANDARD.decode(line.trim_end()).ok()?.try_into().ok()
}

/// A line of base64.
pub(super) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
