//! Whom a message is judged by: the identity of its target and of the entries that it is compared with.
//!
//! Two questions are asked of a list, and they fail to different sides. Whether a message **may** go is answered yes only for
//! an identity that is known, or for the very spelling of the entry. Whether somebody **must be asked** is answered no only
//! if it is known that no entry means this target: while an entry or the target cannot be brought to its identity, a person is
//! asked.

use std::collections::HashMap;

use super::{
    Touched,
    allowlist::{Allowlist, Pattern},
};
use crate::message::target::Target;

/// Where a message goes, as it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The hub's account there.
    pub account: &'a str,
    /// Where it goes: its address is the identity, or, while nobody knows that, what was written.
    pub target: &'a Target,
    /// The address as it was written, if that is another.
    pub written_as: Option<&'a str>,
    /// Why nobody knows whose address it is.
    pub unidentified: Option<&'a str>,
    /// Identities whose entry holds this one, too.
    pub held_with: &'a [String],
    /// The messages there that it names.
    pub touched: &'a [Touched],
    /// Whether it acts on people, or on messages that others may have written.
    pub moderates: bool,
}

impl<'a> Subject<'a> {
    /// A target whose address is its identity.
    pub fn known(account: &'a str, target: &'a Target) -> Self {
        Self {
            account,
            target,
            written_as: None,
            unidentified: None,
            held_with: &[],
            touched: &[],
            moderates: false,
        }
    }

    /// The address as it was written.
    pub fn written(&self) -> &'a str {
        self.written_as.unwrap_or(&self.target.address)
    }
}

/// What is known of those entries on a channel whose spelling does not tell whose they are: the identity of each address, or why
/// nobody can say. An entry that is not in it is its own identity.
pub type Entries = HashMap<String, Result<String, String>>;

impl Allowlist {
    /// Whether an entry allows this target.
    pub fn permits(&self, subject: &Subject<'_>, entries: &Entries) -> bool {
        self.iter().any(|pattern| pattern.permits(subject, entries))
    }

    /// Why a person must be asked about this target, if an entry wants that or may want it.
    pub fn holds(&self, subject: &Subject<'_>, entries: &Entries) -> Option<String> {
        let mut here = self.iter().filter(|pattern| pattern.is_on(&subject.target.channel)).peekable();
        here.peek()?;
        let entries_here: Vec<_> = here.collect();
        if let Some(entry) = entries_here.iter().find(|pattern| pattern.means(subject, entries)) {
            return Some(match entry {
                Pattern::Address(channel, address) if *address != subject.target.address => {
                    format!("{channel}:{address}, who that is, is under `hold`")
                }
                _ => format!("{} is under `hold`", subject.target),
            });
        }
        if let Some(why) = subject.unidentified {
            let (channel, written) = (&subject.target.channel, subject.written());
            return Some(format!(
                "nobody knows whose address {written} is, and `hold` has entries on {channel} ({why})"
            ));
        }
        entries_here.iter().find_map(|pattern| match pattern {
            Pattern::Address(channel, address) => match entries.get(address) {
                Some(Err(why)) => {
                    Some(format!("{channel}:{address} is under `hold`, and nobody knows who that is ({why})"))
                }
                _ => None,
            },
            _ => None,
        })
    }
}

impl Pattern {
    fn permits(&self, subject: &Subject<'_>, entries: &Entries) -> bool {
        if !self.is_on(&subject.target.channel) {
            return false;
        }
        let Self::Address(_, address) = self else { return true };
        let identity = match entries.get(address) {
            None => Some(address),
            Some(Ok(identity)) => Some(identity),
            Some(Err(_)) => None,
        };
        let is_known = subject.unidentified.is_none();
        address == subject.written() || is_known && identity.is_some_and(|it| *it == subject.target.address)
    }

    /// Whether this entry means the subject as far as anybody knows. In whatever letters: nobody gets around a question by
    /// another spelling of the same mailbox.
    fn means(&self, subject: &Subject<'_>, entries: &Entries) -> bool {
        let Self::Address(_, address) = self else { return true };
        let identity = match entries.get(address) {
            Some(Ok(identity)) => identity,
            None | Some(Err(_)) => address,
        };
        let target = [subject.written(), &subject.target.address];
        let of_subject = target.into_iter().chain(subject.held_with.iter().map(String::as_str));
        of_subject
            .into_iter()
            .any(|one| one.eq_ignore_ascii_case(address) || one.eq_ignore_ascii_case(identity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> Allowlist {
        Allowlist::parse(entries.iter().map(|entry| (*entry).to_owned())).unwrap()
    }

    fn target(channel: &str, address: &str) -> Target {
        Target { channel: channel.into(), address: address.into(), thread: Some("t".into()) }
    }

    #[test]
    fn entries_permit_what_they_say() {
        let list = list(&["slack:C1", "email:*"]);
        let permits =
            |channel, address| list.permits(&Subject::known("a", &target(channel, address)), &Entries::new());
        assert!(permits("slack", "C1") && permits("email", "a@b.test"));
        assert!(!permits("slack", "C12") && !permits("telegram", "C1"));
    }

    #[test]
    fn an_unknown_identity_is_permitted_by_its_very_spelling_alone_and_held_by_any_entry() {
        let target = target("telegram", "-1005");
        let unknown = Subject {
            written_as: Some("@news"),
            unidentified: Some("no answer"),
            ..Subject::known("a", &target)
        };
        let none = Entries::new();
        assert!(list(&["telegram:@news"]).permits(&unknown, &none));
        assert!(list(&["telegram:*"]).permits(&unknown, &none));
        assert!(!list(&["telegram:-1005"]).permits(&unknown, &none), "an old answer allows nothing");
        assert!(list(&["telegram:7"]).holds(&unknown, &none).unwrap().contains("no answer"));
        assert_eq!(list(&["slack:C1"]).holds(&unknown, &none), None);
    }

    #[test]
    fn an_entry_that_nobody_can_identify_allows_nobody_else_and_holds_everybody() {
        let target = target("telegram", "-1005");
        let subject = Subject::known("a", &target);
        let away = Entries::from([("@news".to_owned(), Err("no answer".to_owned()))]);
        assert!(!list(&["telegram:@news"]).permits(&subject, &away));
        assert!(list(&["telegram:@news"]).holds(&subject, &away).unwrap().contains("@news"));
        let known = Entries::from([("@news".to_owned(), Ok("-1005".to_owned()))]);
        assert!(list(&["telegram:@news"]).permits(&subject, &known));
        assert!(list(&["telegram:@news"]).holds(&subject, &known).unwrap().contains("@news"));
        let other = Entries::from([("@news".to_owned(), Ok("-1006".to_owned()))]);
        assert_eq!(list(&["telegram:@news"]).holds(&subject, &other), None);
        assert!(!list(&["telegram:@news"]).permits(&subject, &other));
    }

    #[test]
    fn a_list_that_asks_is_not_evaded_by_other_letters_or_a_tag() {
        let hold = list(&["email:boss@example.org"]);
        let target = target("email", "Boss@example.org");
        assert!(hold.holds(&Subject::known("a", &target), &Entries::new()).is_some());
        assert!(!hold.permits(&Subject::known("a", &target), &Entries::new()));
        let tagged = Target { address: "boss+x@example.org".into(), ..target };
        let held_with = ["boss@example.org".to_owned()];
        let subject = Subject { held_with: &held_with, ..Subject::known("a", &tagged) };
        assert!(hold.holds(&subject, &Entries::new()).is_some());
    }
}
