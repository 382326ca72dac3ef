//! The hub's own hooks.

use serde::Deserialize;

/// How the hub's tokens and contexts begin, before 64 hexadecimal digits.
const TOKENS: [&str; 2] = ["gp_", "gpc_"];

/// One of the hub's own hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Builtin {
    /// Cancels a message with one of the hub's own tokens or a private key in it. Looks for nothing else: a text that
    /// somebody means to hide is not found.
    Secrets,
    /// Adds a channel's formatting guide to an answer, once a session. Is there without a section of its own.
    Guide,
}

impl Builtin {
    /// The secret in a text because of which it must not be sent, if it has one.
    pub(crate) fn objection(self, text: &str) -> Option<&'static str> {
        match self {
            Self::Secrets if TOKENS.iter().any(|token| holds_token(text, token)) => {
                Some("a token of the hub")
            }
            Self::Secrets if holds_private_key(text) => Some("a private key"),
            // The other one is asked about other things.
            Self::Secrets | Self::Guide => None,
        }
    }
}

fn holds_token(text: &str, prefix: &str) -> bool {
    let digits = |rest: &str| rest.bytes().take_while(u8::is_ascii_hexdigit).count();
    text.match_indices(prefix).any(|(at, _)| digits(&text[at + prefix.len()..]) >= 64)
}

/// As RFC 7468 and its like mark it.
fn holds_private_key(text: &str) -> bool {
    text.lines().any(|line| line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_private_keys_are_found_and_talk_about_them_is_not() {
        let cancels = |text: &str| Builtin::Secrets.objection(text).is_some();
        let context = format!("gpc_{}", crate::random::hex::<32>());
        assert!(cancels(&format!("my token is `{}`, keep it", crate::agents::new_token())));
        assert!(cancels(&context));
        assert!(cancels("x\n  -----BEGIN OPENSSH PRIVATE KEY-----\nabc"));
        for harmless in ["", "gp_ is how tokens begin", "gp_deadbeef", "-----BEGIN CERTIFICATE-----", "gpc_é"]
        {
            assert!(!cancels(harmless), "{harmless}");
        }
    }
}
