//! One command, and all that a server answers to it.
//!
//! What came is believed once the server has said "OK" (RFC 3501 §7.1: a tagged status ends each command). The streams of `async-imap`
//! end alike at OK, at NO, at BAD and where the connection ends: what had not come was taken for deleted, and passed over for ever.

use async_imap::{
    Session,
    error::{Error, Result},
    imap_proto::{AttributeValue, MailboxDatum, MessageSection, Response, SectionPath, Status},
};

use super::{connection::Bounded, folder::Listed};

/// Says a command, and reads what answers it. How many mails there are may be told in between.
///
/// # Errors
/// The server does not do it, or not to its end.
pub(super) async fn asked<T>(
    session: &mut Session<Bounded>,
    exists: &mut Option<u32>,
    command: &str,
    read: impl Fn(&Response<'_>) -> Vec<T>,
) -> Result<Vec<T>> {
    let ours = session.run_command(command).await?;
    let mut all = Vec::new();
    while let Some(answer) = session.read_response().await? {
        match answer.parsed() {
            Response::Done { tag, status, outcome } if *tag == ours => {
                let said = format!("code: {:?}, info: {:?}", outcome.code, outcome.information.as_deref());
                return match status {
                    Status::Ok => Ok(all),
                    Status::No => Err(Error::No(said)),
                    _ => Err(Error::Bad(said)),
                };
            }
            Response::MailboxData(MailboxDatum::Exists(count)) => *exists = Some(*count),
            answer => all.extend(read(answer)),
        }
    }
    Err(Error::ConnectionLost)
}

/// The UIDs that a search found.
pub(super) fn uids(answer: &Response<'_>) -> Vec<u32> {
    match answer {
        Response::MailboxData(MailboxDatum::Search(uids)) => uids.clone(),
        _ => Vec::new(),
    }
}

/// What is said of a mail.
pub(super) fn listed(answer: &Response<'_>) -> Option<Listed> {
    let Response::Fetch(_, attributes) = answer else { return None };
    let (mut uid, mut size, mut at) = (None, None, None);
    for attribute in attributes {
        match attribute {
            AttributeValue::Uid(is) => uid = Some(*is),
            AttributeValue::Rfc822Size(is) => size = Some(*is),
            AttributeValue::InternalDate(is) => at = time(is),
            _ => {}
        }
    }
    Some(Listed { uid: uid?, size: size?, at })
}

/// A block of a mail, or of its head.
pub(super) fn block(answer: &Response<'_>, uid: u32) -> Option<Vec<u8>> {
    let Response::Fetch(_, attributes) = answer else { return None };
    // Others may come between: somebody's flags have changed.
    if !attributes.contains(&AttributeValue::Uid(uid)) {
        return None;
    }
    attributes.iter().find_map(|attribute| match attribute {
        AttributeValue::BodySection {
            section: None | Some(SectionPath::Full(MessageSection::Header)),
            data: Some(bytes),
            ..
        }
        | AttributeValue::Rfc822(Some(bytes))
        | AttributeValue::Rfc822Header(Some(bytes)) => Some(bytes.to_vec()),
        _ => None,
    })
}

/// A time as a server has it, in milliseconds since 1970: `" 1-Feb-2026 10:00:00 +0000"` (RFC 3501 §9, date-time).
fn time(text: &str) -> Option<i64> {
    let at = jiff::Timestamp::strptime("%d-%b-%Y %H:%M:%S %z", text.trim_start());
    at.ok().map(jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn a_time_is_read_as_imap_has_it() {
        assert_eq!(time("17-Jul-1996 02:44:25 -0700"), Some(837_596_665_000));
        assert_eq!(time(" 1-Jan-1970 00:00:01 +0000"), Some(1000));
        assert_eq!((time(""), time("1 Feb 2026")), (None, None));
    }
}
