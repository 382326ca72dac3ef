//! What an error in the middle of an SMTP dialogue means for the mail.
//!
//! A server's 4yz means later, its 5yz means never (RFC 5321 §4.2.1), and a line that breaks means later, as long as
//! the content had not wholly left. Certificate errors mean never, for resending does not mend them, but for those
//! that a clock makes: a hub without a battery wakes up in the past, and must not throw its queue away for it.

use std::{error::Error, fmt, io};

use base64::{Engine, engine::general_purpose::STANDARD};
use lettre::transport::smtp;
use rustls::CertificateError;

use crate::{
    cause::{found, innermost},
    channels::Failure,
};

/// The longest answer of a server that is passed on, in characters.
const MAX_WORDS: usize = 300;

/// What was being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Connect,
    StartTls,
    Login,
    Sender,
    Recipient,
    Data,
    Content,
    Noop,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "the greeting",
            Self::StartTls => "STARTTLS",
            Self::Login => "the login",
            Self::Sender => "the sender",
            Self::Recipient => "the recipient",
            Self::Data => "DATA",
            Self::Content => "the mail",
            Self::Noop => "NOOP",
        })
    }
}

/// Sorts an error. `server` names the server, `secret` is what must not be repeated from its words.
pub(super) fn classify(
    server: &str,
    phase: Phase,
    error: &(dyn Error + 'static),
    secret: Option<&str>,
) -> Failure {
    if let Some(code) = error.downcast_ref::<smtp::Error>().and_then(smtp::Error::status) {
        let words = words(&error.source().map(ToString::to_string).unwrap_or_default(), secret);
        let code = u16::from(code);
        let said = format!("{server} answered {phase} with {code} {words}");
        return if code < 500 { Failure::Retry(said) } else { Failure::Permanent(said + hint(phase)) };
    }
    let cause = match innermost(error).downcast_ref::<io::Error>() {
        // rustls words this as advice to programmers.
        Some(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => "it closed the connection".into(),
        _ => words(&innermost(error).to_string(), secret),
    };
    match certificate(error) {
        Some(fault) if is_of_the_clock(fault) => Failure::Retry(format!(
            "the certificate of {server} is not valid today: {cause}; look at this hub's clock, then at the server"
        )),
        Some(_) => Failure::Permanent(format!(
            "the certificate of {server} cannot be trusted: {cause}; host must be the name in it, and ca_file the \
             authority that signed it if that is your own"
        )),
        // The dialogue is at fault and would be again: a challenge that nobody knows, say.
        None if error.downcast_ref::<smtp::Error>().is_some_and(smtp::Error::is_client) => {
            Failure::Permanent(format!("{server} cannot be spoken with at {phase}: {cause}"))
        }
        None => Failure::Retry(format!("the line to {server} broke at {phase}: {cause}{}", no_answer(phase))),
    }
}

/// What the person who set up the account can do about silence or nonsense, which is what TLS and plain text look like
/// to each other.
pub(super) fn no_answer(phase: Phase) -> &'static str {
    if phase == Phase::Connect { "; check host, port and tls" } else { "" }
}

/// What the person who set up the account can do about a refusal for good.
fn hint(phase: Phase) -> &'static str {
    match phase {
        // RFC 4954 §6: 535 bad credentials, 534 too weak a mechanism, 530 must log in.
        Phase::Login => "; check user and password (many services want an app password here)",
        Phase::Sender => "; check that this account may send as from, and that user and password are set",
        _ => "",
    }
}

/// A server's words, on one line, bounded, without the password in any form that SMTP gives it.
///
/// Some servers repeat the line that they did not understand, and RFC 4954 puts the password into one.
pub(super) fn words(text: &str, secret: Option<&str>) -> String {
    let mut text = text.replace(char::is_control, " ");
    for secret in secret.into_iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret, "***").replace(&STANDARD.encode(secret), "***");
        // AUTH PLAIN is base64 of everything, with the password last: any long base64 word may be it.
        text = text
            .split(' ')
            .map(|word| {
                let decoded = STANDARD.decode(word).unwrap_or_default();
                if decoded.windows(secret.len()).any(|w| w == secret.as_bytes()) { "***" } else { word }
            })
            .collect::<Vec<_>>()
            .join(" ");
    }
    match text.char_indices().nth(MAX_WORDS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// The fault of the server's certificate, if that is what it was.
pub(super) fn certificate<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a CertificateError> {
    match found(error) {
        Some(rustls::Error::InvalidCertificate(fault)) => Some(fault),
        _ => None,
    }
}

/// Whether a certificate is at fault only by what the time is said to be.
pub(super) fn is_of_the_clock(fault: &CertificateError) -> bool {
    matches!(
        fault,
        CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tls(fault: CertificateError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, rustls::Error::InvalidCertificate(fault))
    }

    #[test]
    fn a_wrong_clock_does_not_throw_the_queue_away() {
        for fault in [CertificateError::Expired, CertificateError::NotValidYet] {
            let failure = classify("mail:587", Phase::StartTls, &tls(fault), None);
            assert!(matches!(&failure, Failure::Retry(why) if why.contains("clock")), "{failure:?}");
        }
    }

    #[test]
    fn an_untrusted_certificate_is_for_good_and_says_what_to_do() {
        for fault in [CertificateError::UnknownIssuer, CertificateError::NotValidForName] {
            let failure = classify("mail:587", Phase::StartTls, &tls(fault), None);
            assert!(matches!(&failure, Failure::Permanent(why) if why.contains("ca_file")), "{failure:?}");
        }
    }

    #[test]
    fn the_password_is_not_repeated_from_a_servers_words() {
        let (plain, login) = (STANDARD.encode("\0hub\0hunter2"), STANDARD.encode("hunter2"));
        for said in
            [format!("what is AUTH PLAIN {plain}"), format!("what is {login}"), "no hunter2 here".into()]
        {
            let words = words(&said, Some("hunter2"));
            assert!(words.contains("***"), "{words}");
            assert!(
                !words.contains("hunter2") && !words.contains(&plain) && !words.contains(&login),
                "{words}"
            );
        }
    }

    #[test]
    fn a_servers_words_are_one_bounded_line() {
        assert_eq!(words("a\r\nb", None), "a  b");
        assert_eq!(words(&"ä".repeat(1000), None).chars().count(), MAX_WORDS + 1);
    }
}
