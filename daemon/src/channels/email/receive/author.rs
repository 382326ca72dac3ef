//! Who wrote a mail: a person, a program, or the account itself; and whether the mail server vouches for that.
//!
//! A mail by a program engages nobody: two programs that answer each other do not end. What says that it is one are the marks of
//! RFC 3834 and of mailing lists. Whoever leaves them out to be heard is still only as trusted as the sender that they can prove.

use std::borrow::Cow;

use mail_parser::{HeaderName, Message};

use super::{message_id::is_message_id, trust};
use crate::channels::{
    PartKey,
    kit::mailbox,
    received::{Author, AuthorKind},
};

/// Digits of a part's key, which is the left side of a Message-ID of the hub's own.
const KEY_DIGITS: usize = 32;

/// Who the account is, and whose word of others counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner {
    /// Its mailboxes, in their one spelling; the first is the one that it sends from.
    pub addresses: Vec<String>,
    /// The name by which its mail server signs `Authentication-Results`. Without one nobody is vouched for.
    pub authserv_id: Option<String>,
}

impl Owner {
    /// Whether a mailbox is the account's own, a tagged one of it included.
    pub(super) fn is(&self, address: &str) -> bool {
        let own = |one: &str| self.addresses.iter().any(|own| own.eq_ignore_ascii_case(one));
        own(address) || mailbox::held_with(address).iter().any(|same| own(same))
    }

    /// The part that a Message-ID is of, if the account may have made it.
    pub(super) fn part(&self, message_id: &str) -> Option<PartKey> {
        let (key, domain) = message_id.strip_prefix('<')?.strip_suffix('>')?.split_once('@')?;
        let (_, own) = self.addresses.first()?.rsplit_once('@')?;
        let is_key = key.len() == KEY_DIGITS && key.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        (is_key && domain.eq_ignore_ascii_case(own)).then(|| PartKey(key.to_owned()))
    }
}

/// The raw values of a header, topmost first, whatever their bytes are: a server writes something of the sender's into its own, and one
/// that were passed over for that (as `headers_raw` does) would leave the word to the next, which the sender wrote.
fn raw<'m>(mail: &'m Message<'_>, name: &'m str) -> impl Iterator<Item = Cow<'m, str>> {
    let named = mail.headers().iter().filter(move |header| header.name().eq_ignore_ascii_case(name));
    named.map(move |header| {
        let place = header.offset_start as usize..header.offset_end as usize;
        String::from_utf8_lossy(mail.raw_message.get(place).unwrap_or_default())
    })
}

/// Who wrote it; nothing where `From` names nobody who could be answered.
pub(super) fn author(mail: &Message<'_>, owner: &Owner) -> Option<Author> {
    let first = mail.from()?.first()?;
    let id = mailbox::canonical(first.address()?.trim()).ok()?;
    let name = first.name().map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "));
    // Who checks a mail and who reads it may mean another one of several.
    let is_one = mail.header_values(HeaderName::From).count() == 1
        && mail.from().is_some_and(|from| from.iter().count() == 1);
    let domain = id.rsplit('@').next().unwrap_or_default();
    let vouched_for = is_one
        && owner
            .authserv_id
            .as_deref()
            .is_some_and(|server| trust::passed(raw(mail, "Authentication-Results"), server, domain));
    let kind = if owner.is(&id) {
        AuthorKind::Myself
    } else if is_programs(mail, owner) {
        AuthorKind::Program
    } else {
        AuthorKind::Person
    };
    let name = name.filter(|name| !name.is_empty());
    // Telephones and companies write the left side in any size of letters, and no server in use has two mailboxes that differ in it.
    let small = id.to_ascii_lowercase();
    let same_as = if small == id { Vec::new() } else { vec![small] };
    Some(Author { id, same_as, name, kind, unverified: !vouched_for })
}

/// Whether a program wrote it, by its own marks or by the hub's Message-ID.
fn is_programs(mail: &Message<'_>, owner: &Owner) -> bool {
    // RFC 3834 §5: "no" and nothing else is a person's.
    let is_no = |value: &str| {
        let value = value.split([';', '(']).next().unwrap_or_default();
        value.trim().eq_ignore_ascii_case("no")
    };
    let is_bulk = |value: &str| {
        let word = value.split_whitespace().next().unwrap_or_default();
        ["bulk", "list", "junk"].iter().any(|kind| word.eq_ignore_ascii_case(kind))
    };
    raw(mail, "Auto-Submitted").any(|value| !is_no(&value))
        || raw(mail, "Precedence").any(|value| is_bulk(&value))
        // RFC 2919.
        || raw(mail, "List-Id").next().is_some()
        // RFC 5321 §4.5.5: a notification, which nobody may answer.
        || raw(mail, "Return-Path").next().is_some_and(|path| path.split_whitespace().collect::<String>() == "<>")
        || mail
            .message_id()
            .map(|id| format!("<{id}>"))
            .is_some_and(|id| is_message_id(&id) && owner.part(&id).is_some())
}
