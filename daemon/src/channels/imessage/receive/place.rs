//! Who wrote, and where, by what Messages itself names: a handle, and a conversation's GUID.

use crate::channels::{
    imessage::target::{canonical, identity},
    received::{Author, AuthorKind, Conversation},
};

/// The conversation with this GUID, by the address at which the account answers there; nothing if it is no conversation with people.
///
/// Since macOS 26 the service in it is `any`; before, it was how the last message went. That a conversation gets another one must make no
/// other conversation of it. Of a person who writes by SMS the GUID stays: they are answered by SMS.
pub(super) fn conversation(guid: &str, title: Option<&str>) -> Option<Conversation> {
    let (address, direct) = match guid.splitn(3, ';').collect::<Vec<_>>().as_slice() {
        ["any" | "iMessage", "-", id] => (canonical(id).or_else(|_| canonical(guid)), true),
        [_, "-", _] => (canonical(guid), true),
        ["any" | "iMessage", "+", id] => (canonical(&format!("iMessage;+;{id}")), false),
        [_, "+", _] => (canonical(guid), false),
        _ => return None,
    };
    let title = title.map(str::trim).filter(|title| !direct && !title.is_empty());
    Some(Conversation { address: address.ok()?, direct, title: title.map(str::to_owned), thread: None })
}

/// A handle in the one spelling of a number or a mailbox; of what is neither, as what writes by SMS under it.
pub(super) fn handle(address: &str) -> Option<String> {
    let as_sender = || {
        let guid = canonical(&format!("SMS;-;{address}")).ok()?;
        Some(identity(&guid).unwrap_or(guid))
    };
    match address.contains(';') {
        true => None,
        false => canonical(address).ok().or_else(as_sender),
    }
}

/// Who has this handle. Apple vouches for whoever writes by iMessage; who sends an SMS may write any number into it.
pub(super) fn author(address: &str, service: Option<&str>) -> Option<Author> {
    let unverified = service.is_some_and(|service| service != "iMessage");
    Some(Author { id: handle(address)?, unverified, ..Author::default() })
}

/// The account itself, whose handle in a conversation is this.
pub(super) fn myself(own: Option<&str>) -> Author {
    let id = own.and_then(handle).unwrap_or_else(|| "me".to_owned());
    Author { id, kind: AuthorKind::Myself, ..Author::default() }
}
