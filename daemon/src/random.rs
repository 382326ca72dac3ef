//! Randomness from the operating system.

use std::fmt::Write as _;

/// `N` random bytes.
///
/// # Panics
///
/// If the operating system has no randomness to give: nothing that needs a secret may go on then.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// `N` random bytes as lower-case hexadecimal.
pub fn hex<const N: usize>() -> String {
    to_hex(&bytes::<N>())
}

/// Lower-case hexadecimal.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
