//! Who an account is, as a hash: what a message is bound to from its acceptance on.
//!
//! A message names its account by the name in the configuration. Somebody approved it for the bot, the number or the server that
//! this name stood for; a reload or a restart may give the name to another. So every message keeps the fingerprint of its
//! account, and is not sent by an account with another one.
//!
//! Each channel says which of its keys are no identity ([`crate::settings::Identifies`]); all others count, also keys that are added later.
//! Of a secret, its value counts and not where it is kept. The hash is a plain SHA-256: of a secret, only its
//! public part counts, or all of a long random token that does not say whose it is; no channel counts a password.

use sha2::{Digest as _, Sha256};

use super::registry::Kind;
pub use crate::message::fingerprint::Fingerprint;
use crate::settings::{Identifies, Key, secret::SecretSource};

/// Separates these hashes from all others.
const DOMAIN: &[u8] = b"gatepost/account/1";

impl Fingerprint {
    /// Of the account with these settings. A secret that cannot be read counts as empty: its account does not open.
    pub fn of(kind: &Kind, settings: &toml::Table) -> Self {
        let mut hash = Sha256::new_with_prefix(DOMAIN);
        field(&mut hash, kind.name);
        for key in kind.keys {
            if let Some(value) = settings.get(key.name).and_then(|value| counted(key, value)) {
                field(&mut hash, key.name);
                field(&mut hash, &value);
            }
        }
        Self(hash.finalize().into())
    }
}

/// What counts of a key's value.
fn counted(key: &Key, value: &toml::Value) -> Option<String> {
    let part = match key.identity {
        Identifies::Nothing => return None,
        Identifies::Whole => str::to_owned,
        Identifies::Part(part) => part,
    };
    let source = value.as_str().filter(|_| key.holds_secret());
    Some(match source.map(|text| SecretSource::try_from(text.to_owned())) {
        Some(Ok(source)) => part(source.read_whole().unwrap_or_default().trim_end()),
        Some(Err(_)) => String::new(),
        None => match value.as_str() {
            Some(text) => part(text),
            None => serde_json::to_string(value).unwrap_or_default(),
        },
    })
}

/// A field with its length before it, so that no two lists of fields read the same.
fn field(hash: &mut Sha256, field: &str) {
    hash.update((field.len() as u64).to_be_bytes());
    hash.update(field);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::channels::registry::{KINDS, kind};

    fn of(channel: &str, settings: &str) -> Fingerprint {
        Fingerprint::of(kind(channel).unwrap(), &settings.parse().unwrap())
    }

    #[test]
    fn every_key_counts_unless_its_channel_says_that_it_is_no_identity() {
        for kind in KINDS {
            for key in kind.keys.iter().filter(|key| !key.holds_secret()) {
                let set = toml::Table::from_iter([(key.name.to_owned(), "other".into())]);
                let counts = Fingerprint::of(kind, &set) != Fingerprint::of(kind, &toml::Table::new());
                assert_eq!(
                    counts,
                    !matches!(key.identity, Identifies::Nothing),
                    "{} {}",
                    kind.name,
                    key.name
                );
            }
        }
        assert_ne!(of("email", "from = \"a@x.org\""), of("email", "from = \"b@x.org\""));
        assert_eq!(of("telegram", "link_previews = true"), of("telegram", ""));
    }

    #[test]
    fn no_password_counts_since_a_short_one_could_be_found_by_its_hash() {
        for kind in KINDS {
            for key in kind.keys.iter().filter(|key| ["password", "secret", "api_key"].contains(&key.name)) {
                assert!(matches!(key.identity, Identifies::Nothing), "{} {}", kind.name, key.name);
            }
        }
    }

    #[test]
    fn a_renewed_token_of_the_same_bot_is_the_same_account_wherever_it_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let token = |file: &str, value: &str| {
            let path = folder.path().join(file);
            fs::write(&path, value).unwrap();
            format!("token = \"file:{}\"", path.display())
        };
        let first = of("telegram", &token("a", "123:first\n"));
        assert_eq!(of("telegram", &token("b", "123:second")), first);
        assert_ne!(of("telegram", &token("a", "124:first")), first);
        let first = of("discord", &token("a", "MTIz.a.b"));
        assert_eq!(of("discord", &token("a", "MTIz.c.d")), first);
        assert_ne!(of("discord", &token("a", "MTI0.a.b")), first);
        let first = of("slack", &token("a", "xoxb-1-2-a"));
        assert_eq!(of("slack", &token("a", "xoxb-1-2-b-c")), first);
        assert_ne!(of("slack", &token("a", "xoxb-1-3-a")), first);
        // Nothing in it says whose it is.
        assert_ne!(of("slack", &token("a", "xoxe-1")), of("slack", &token("a", "xoxe-2")));
        let first = of("matrix", &token("a", "syt_aHVi_a_b"));
        assert_eq!(of("matrix", &token("a", "syt_aHVi_c_d")), first);
        assert_ne!(of("matrix", &token("a", "syt_YW5u_a_b")), first);
        assert_ne!(of("matrix", &token("a", "mct_a")), of("matrix", &token("a", "mct_b")));
        let space = |address: &str| of("googlechat", &token("a", address).replace("token", "webhook"));
        assert_eq!(space("https://x/spaces/A?key=1"), space("https://x/spaces/A?key=2"));
        assert_ne!(space("https://x/spaces/A?key=1"), space("https://x/spaces/B?key=1"));
        let key = |email: &str, key: &str| {
            let file = format!("{{\"client_email\": \"{email}\",\n\"private_key\": \"{key}\"}}");
            of("googlechat", &token("key", &file).replace("token", "key"))
        };
        assert_eq!(key("a@x", "1"), key("a@x", "2"));
        assert_ne!(key("a@x", "1"), key("b@x", "1"));
    }
}
