//! What parts of the hub are told: keys with their documentation, names, [`file`]s, certificates ([`pem`]), and
//! [`secret`]s, with who else can read them ([`readers`]).
//!
//! It knows nobody, so that channels can say which settings they take and the configuration can read them.

pub mod file;
pub mod pem;
pub mod readers;
pub mod secret;

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name within its table.
    pub name: &'static str,
    /// Its default, or an example where there is no default, as TOML.
    pub value: &'static str,
    /// Whether that is its default.
    pub is_default: bool,
    /// What it does, in a sentence or two.
    pub doc: &'static str,
    /// What it says of an account's identity.
    pub identity: Identifies,
}

/// What a key's value says of who an account is at its platform, and on which server: what a person approves it for.
#[derive(Debug, Clone, Copy)]
pub enum Identifies {
    /// With another value it is another account. Whoever adds a key need not think of it.
    Whole,
    /// Only this part of the value counts: the public part of a token that may be replaced, for instance.
    Part(fn(&str) -> String),
    /// It is the same account whatever the value is.
    Nothing,
}

impl Key {
    /// The same, of a key that may change while the account stays the same one.
    pub const fn no_identity(self) -> Self {
        Self { identity: Identifies::Nothing, ..self }
    }

    /// The same, of a key with the account's identity in one part of its value.
    pub const fn identity_in(self, part: fn(&str) -> String) -> Self {
        Self { identity: Identifies::Part(part), ..self }
    }

    /// Whether its value is a secret, or several: what its example points to.
    pub fn holds_secret(&self) -> bool {
        self.value.trim_start_matches('[').starts_with("\"file:")
    }
}

/// A key with its default.
pub const fn key(name: &'static str, value: &'static str, doc: &'static str) -> Key {
    Key { name, value, is_default: true, doc, identity: Identifies::Whole }
}

/// A key without a default, with an example.
pub const fn example(name: &'static str, value: &'static str, doc: &'static str) -> Key {
    Key { is_default: false, ..key(name, value, doc) }
}

/// Whether a text can name an agent, a token or an account.
pub fn is_name(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}
