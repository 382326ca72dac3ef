//! Why mail is not read, sorted by what is to be done about it. Holds the server's words within bounds, and no mail's.

use std::{error::Error as _, io, time::Duration};

use async_imap::error::Error;

use crate::{
    cause::{found, innermost},
    channels::{
        email::classify::{certificate, is_of_the_clock, words},
        hub_handle::Unavailable,
    },
};

/// More came than was asked for.
#[derive(Debug, thiserror::Error)]
#[error("it says more than it was asked for")]
pub(super) struct TooMuch;

/// Why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// It may be over by itself.
    #[error("{0}")]
    Away(String),
    /// The same, and it says nothing of what was asked for: the server does nothing at all now.
    #[error("{0}")]
    Busy(String),
    /// Somebody has to do something about it.
    #[error("{0}")]
    Refused(String),
    /// The hub did not write down what came.
    #[error("the hub cannot use its database")]
    Hub,
}

impl Trouble {
    /// The server answered nothing for so long.
    pub(super) fn silent(after: Duration) -> Self {
        Self::Away(format!("it says nothing within {} s", after.as_secs()))
    }

    /// Of the handshake.
    pub(super) fn tls(error: io::Error) -> Self {
        let cause = innermost(&error).to_string();
        match certificate(&error) {
            Some(fault) if is_of_the_clock(fault) => Self::Away(format!(
                "its certificate is not valid today: {cause}; look at this hub's clock, then at the server"
            )),
            Some(_) => Self::Refused(format!(
                "its certificate cannot be trusted: {cause}; imap_host must be the name in it, and ca_file the authority that \
                 signed it if that is your own"
            )),
            None => Self::Away(format!("no TLS: {cause}; check imap_host, imap_port and imap_tls")),
        }
    }
}

impl From<Unavailable> for Trouble {
    fn from(_: Unavailable) -> Self {
        Self::Hub
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        // The parser repeats what it cannot read, and that may be a mail.
        let cause = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
            io::ErrorKind::Other if found::<TooMuch>(&error).is_some() => TooMuch.to_string(),
            io::ErrorKind::Other => "it does not speak IMAP as it should".to_owned(),
            _ => innermost(&error).to_string(),
        };
        Self::Away(cause)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) => error.into(),
            Error::No(answer) if is_for_now(&answer) => {
                Self::Busy(format!("it refuses for now: {}", said(&answer, None)))
            }
            Error::No(answer) => Self::Away(format!("it refuses: {}", said(&answer, None))),
            Error::Bad(answer) => Self::Away(format!("it does not understand: {}", said(&answer, None))),
            Error::ConnectionLost => Self::Away("it closed the connection".into()),
            Error::Validate(_) => {
                Self::Refused("imap_user, imap_password or folder has a line break in it".into())
            }
            // What was not understood may be a mail.
            error if error.source().is_some() => Self::Away("it does not speak IMAP as it should".into()),
            _ => Self::Away("it cannot be understood".into()),
        }
    }
}

/// Whether a server that refuses says by a code that it is out of order, whatever it is asked (RFC 5530 §3).
pub(super) fn is_for_now(answer: &str) -> bool {
    let answer = answer.to_ascii_uppercase();
    ["UNAVAILABLE", "INUSE"].iter().any(|code| answer.contains(code))
}

/// A server's words in an answer, as the client quotes it, without a secret.
pub(super) fn said(answer: &str, secret: Option<&str>) -> String {
    let text = answer.split_once("info: Some(\"").and_then(|(_, text)| text.strip_suffix("\")"));
    match text {
        // Quoted, once or more often, it would not be recognised.
        Some(_) if secret.is_some_and(|secret| secret.contains(['"', '\\'])) => {
            "(its words are left out)".to_owned()
        }
        Some(text) => words(&text.replace("\\\"", "\""), secret),
        None => "(without a word)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::said;

    #[test]
    fn a_servers_words_are_bounded_and_have_no_secret() {
        let answer = r#"code: Some(Alert), info: Some("LOGIN \"hub\" \"hunter2\" is wrong")"#;
        assert_eq!(said(answer, Some("hunter2")), r#"LOGIN "hub" "***" is wrong"#);
        assert_eq!(
            said(r#"code: None, info: Some("no a\\\"c here")"#, Some("a\"c")),
            "(its words are left out)"
        );
        assert_eq!(said("code: None, info: None", None), "(without a word)");
        let long = format!("code: None, info: Some(\"{}\")", "x".repeat(10_000));
        assert!(said(&long, None).len() < 1_000);
    }
}
