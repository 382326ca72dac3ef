//! What parts of the hub are told: keys with their documentation, names, [`file`]s, and [`secret`]s, with who else can read them ([`readers`]).
//!
//! It knows nobody, so that channels can say which settings they take and the configuration can read them.

pub mod file;
pub mod readers;
pub mod secret;

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name within its table.
    pub name: &'static str,
    /// Its default, or an example where there is no default, as TOML.
    pub value: &'static str,
    /// What it does, in a sentence or two.
    pub doc: &'static str,
}

impl Key {
    /// Whether its value is a secret, or several: what its example points to.
    pub fn holds_secret(&self) -> bool {
        self.value.trim_start_matches('[').starts_with("\"file:")
    }
}

/// Shorthand for tables of keys.
pub const fn key(name: &'static str, value: &'static str, doc: &'static str) -> Key {
    Key { name, value, doc }
}

/// Whether a text can name an agent, a token or an account.
pub fn is_name(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}
