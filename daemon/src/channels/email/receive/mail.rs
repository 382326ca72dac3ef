//! One mail, as its bytes are: who wrote it, in which thread, what it says, and its files.
//!
//! It asks nobody and stops at nothing: what cannot be answered is [`Dropped`]. A conversation is with the author, whoever else the
//! mail went to, and by `From`: a `Reply-To` leads elsewhere, and nobody vouches for it.

use mail_parser::{HeaderValue, Message, MessageParser, MessagePart, MimeHeaders as _};
use sha2::{Digest as _, Sha256};

use super::{
    author::{Owner, author},
    message_id::is_message_id,
    words,
};
use crate::{
    channels::{
        PartKey,
        received::{
            AuthorKind, Conversation, DropReason, Dropped, Event, MAX_FILES, Received, ReplyTo, Words,
        },
    },
    message::target::MAX_ADDRESS,
    random::to_hex,
};

/// The longest name of a file that is handed on, in characters.
const MAX_NAME_CHARS: usize = 200;

/// A mail that was read.
pub(super) struct Mail<'a> {
    message: Message<'a>,
    /// What it is to the hub, without its files.
    pub(super) received: Received,
    /// The part of the account's that it may answer: the hub knows.
    pub(super) answers: Option<PartKey>,
}

/// A file of a mail.
pub(super) struct File<'a> {
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) bytes: &'a [u8],
}

impl<'a> Mail<'a> {
    /// Reads a mail, or the head of one, that came `at` this time by the server's clock.
    pub(super) fn read(bytes: &'a [u8], at: Option<i64>, owner: &Owner) -> Result<Self, Dropped> {
        let unreadable = |what: &str| Dropped { reason: DropReason::Unreadable, what: what.to_owned() };
        let message = MessageParser::default().parse(bytes).ok_or_else(|| unreadable("mail"))?;
        let author = author(&message, owner).ok_or_else(|| unreadable("mail without a sender"))?;
        let id = message.message_id().and_then(bracketed);
        let references = ids(message.references());
        let parent = ids(message.in_reply_to()).into_iter().next().or_else(|| references.last().cloned());
        let thread = references.into_iter().next().or_else(|| parent.clone()).or_else(|| id.clone());
        let answers = parent.as_deref().and_then(|parent| owner.part(parent));
        let words::Said { text, quoted, handed_on } = words::said(&message, parent.is_some(), owner);
        let words = Words {
            text,
            // Whose mail was attached, nobody vouches for.
            forwarded: handed_on || message.attachments().any(MessagePart::is_message),
            reply_to: parent.map(|id| ReplyTo { id, text: quoted, ..ReplyTo::default() }),
            ..Words::default()
        };
        let received = Received {
            key: key(&message, &author.id, author.kind, author.unverified),
            conversation: Conversation { address: author.id.clone(), thread, direct: true, title: None },
            author,
            message_id: id,
            said_at: at,
            mentions_me: is_addressed(&message, owner),
            event: Event::Message(words),
        };
        Ok(Self { message, received, answers })
    }

    /// Its files, as many as a message may have.
    pub(super) fn files(&self) -> impl Iterator<Item = File<'_>> {
        self.message.attachments().take(MAX_FILES).map(file)
    }

    /// How many files it has beyond those.
    pub(super) fn more_files(&self) -> usize {
        self.message.attachment_count().saturating_sub(MAX_FILES)
    }
}

fn file<'a>(part: &'a MessagePart<'_>) -> File<'a> {
    let kind = part.content_type().map(|kind| {
        let sub = kind.subtype().unwrap_or(if part.is_message() { "rfc822" } else { "octet-stream" });
        format!("{}/{sub}", kind.ctype()).to_ascii_lowercase()
    });
    let name = part.attachment_name().map(|name| name.chars().take(MAX_NAME_CHARS).collect());
    File { name, kind, bytes: part.contents() }
}

/// By what the same mail is known again. Who could write it is part of it: a stranger who repeats the Message-ID of somebody's mail,
/// or a list that sends a copy, does not stand in its way. So is what it says, for whoever is not proved may repeat both.
///
/// Its place (UIDVALIDITY, UID) is no part of it, nor are the marks of its way (`Received`, Gmail's labels): the same mail has other
/// ones after it was copied, came by another address, or the folder counts anew.
fn key(mail: &Message<'_>, author: &str, kind: AuthorKind, unverified: bool) -> String {
    let id = match mail.message_id() {
        Some(id) if !id.is_empty() => {
            let id = id.chars().take(MAX_ADDRESS).collect::<String>();
            format!("{id} {}", to_hex(&said_by(mail)))
        }
        // Of a mail without one its head, which a part of it has too.
        _ => {
            let head = mail.raw_message();
            let end = mail.parts.first().map_or(0, |part| part.raw_body_offset() as usize);
            to_hex(&Sha256::digest(&head[..end.min(head.len())]))
        }
    };
    let trust = if unverified { "unverified" } else { "verified" };
    let by = match kind {
        AuthorKind::Person => "person",
        AuthorKind::Program => "program",
        AuthorKind::Myself => "myself",
    };
    format!("{id} {by} {trust} {author}")
}

/// A digest of what a mail says: its subject, and all below the head. The blanks at its end are left out, which servers add and take;
/// and so is its date, which the first server writes where its author did not (RFC 6409 §8.2).
fn said_by(mail: &Message<'_>) -> [u8; 32] {
    let subject = mail.subject().unwrap_or_default();
    let body = mail.parts.first().map_or(0, |part| part.raw_body_offset() as usize);
    let body = mail.raw_message().get(body..).unwrap_or_default().trim_ascii_end();
    let mut digest = Sha256::new();
    digest.update((subject.len() as u64).to_be_bytes());
    digest.update(subject);
    digest.update(body);
    digest.finalize().into()
}

/// Whether the account is among those that it is written to, and not only among those that get a copy.
fn is_addressed(mail: &Message<'_>, owner: &Owner) -> bool {
    mail.to()
        .is_some_and(|to| to.iter().filter_map(|one| one.address()).any(|address| owner.is(address.trim())))
}

/// Message-IDs as the sender half spells them; those that it would refuse are left out.
fn ids(value: &HeaderValue<'_>) -> Vec<String> {
    value.as_text_list().unwrap_or_default().iter().filter_map(|id| bracketed(id)).collect()
}

fn bracketed(id: &str) -> Option<String> {
    Some(format!("<{id}>")).filter(|id| is_message_id(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::received::Author;

    fn owner() -> Owner {
        Owner {
            addresses: vec!["hub@hub.test".into(), "House@hub.test".into()],
            authserv_id: Some("mx.hub.test".into()),
        }
    }

    fn received(mail: &str) -> Received {
        Mail::read(mail.as_bytes(), Some(5), &owner()).map(|mail| mail.received).unwrap()
    }

    fn with(headers: &str) -> Received {
        received(&format!("From: Ada <Ada@Example.org>\r\n{headers}\r\nHello\r\n"))
    }

    fn reply_to(received: &Received) -> Option<&str> {
        received.event.words()?.reply_to.as_ref().map(|reply| reply.id.as_str())
    }

    #[test]
    fn a_mail_is_a_message_of_its_author() {
        let one = with(
            "To: The Hub <HUB+x@hub.test>, eve@example.org\r\nMessage-ID: <1@example.org>\r\nSubject: Dinner\r\n",
        );
        let author = Author {
            id: "Ada@example.org".into(),
            same_as: vec!["ada@example.org".into()],
            name: Some("Ada".into()),
            unverified: true,
            ..Author::default()
        };
        assert_eq!(one.author, author);
        assert_eq!(one.conversation.address, "Ada@example.org");
        assert_eq!(one.conversation.thread.as_deref(), Some("<1@example.org>"), "it may begin one");
        assert_eq!(one.message_id.as_deref(), Some("<1@example.org>"));
        assert_eq!(one.event.words().unwrap().text, "Dinner\n\nHello");
        assert!(
            one.conversation.direct && one.mentions_me && one.said_at == Some(5) && reply_to(&one).is_none()
        );
        assert!(!with("To: eve@example.org\r\nCc: hub@hub.test\r\n").mentions_me);
        assert!(one.clone().bounded().is_ok());
    }

    #[test]
    fn a_thread_is_the_first_reference() {
        let id = "Message-ID: <3@e.org>\r\n";
        for (headers, thread, parent) in [
            (
                "References: <1@e.org>\r\n <2@e.org>\r\nIn-Reply-To: <2@e.org>\r\n",
                "<1@e.org>",
                Some("<2@e.org>"),
            ),
            ("References: <1@e.org> <2@e.org>\r\n", "<1@e.org>", Some("<2@e.org>")),
            ("In-Reply-To: <2@e.org>\r\n", "<2@e.org>", Some("<2@e.org>")),
            ("References: no id <also none>\r\n", "<3@e.org>", None),
        ] {
            let one = with(&format!("{id}{headers}"));
            assert_eq!(
                (one.conversation.thread.as_deref(), reply_to(&one)),
                (Some(thread), parent),
                "{headers}"
            );
        }
    }

    #[test]
    fn the_servers_word_alone_makes_a_sender_believed() {
        let results = "Authentication-Results: mx.hub.test; dmarc=pass header.from=example.org\r\n";
        let verified = |headers: &str| !with(headers).author.unverified;
        assert!(verified(results));
        assert!(!verified(""));
        assert!(!verified(&format!("Authentication-Results: mx.hub.test; dmarc=fail\r\n{results}")));
        assert!(!verified(&results.replace("mx.hub", "evil")));
        // Two senders: nobody knows which one was looked at.
        assert!(!verified(&format!("{results}From: eve@example.org\r\n")));
        let two = format!("{results}From: ada@example.org, eve@example.org\r\n\r\n");
        assert!(received(&two).author.unverified);
        let nobody = Owner { authserv_id: None, ..owner() };
        let mail = format!("From: ada@example.org\r\n{results}\r\n");
        assert!(
            Mail::read(mail.as_bytes(), None, &nobody).map(|mail| mail.received).unwrap().author.unverified
        );
    }

    #[test]
    fn a_byte_that_is_no_text_hides_no_header() {
        let read = |headers: &[u8]| {
            let mail = [b"From: ada@example.org\r\n".as_slice(), headers, b"\r\nHello"].concat();
            Mail::read(&mail, None, &owner()).map(|mail| mail.received).unwrap().author
        };
        let forged =
            b"Authentication-Results: mx.hub.test; dmarc=pass header.from=example.org\r\n".as_slice();
        assert!(!read(forged).unverified);
        for odd in [b"\xff".as_slice(), b"\x80", b"\xc3", b"\0"] {
            let before = b"Authentication-Results: mx.hub.test; spf=pass (domain of ev".as_slice();
            let after = b"e@evil.test); dmarc=fail header.from=example.org\r\n".as_slice();
            assert!(read(&[before, odd, after, forged].concat()).unverified, "{odd:?}");
            for name in ["Auto-Submitted: auto-replied ", "Precedence: bulk ", "List-Id: <x.y> "] {
                let headers = [name.as_bytes(), odd, b"\r\n"].concat();
                assert_eq!(read(&headers).kind, AuthorKind::Program, "{name} {odd:?}");
            }
        }
    }

    #[test]
    fn programs_and_the_account_itself_are_nobody_to_answer() {
        let kind = |headers: &str| with(headers).author.kind;
        for headers in [
            "Auto-Submitted: auto-replied\r\n",
            "auto-submitted: auto-generated (rejected)\r\n",
            "Auto-Submitted: no\r\nAuto-Submitted: auto-notified; x=y\r\n",
            "Precedence: Bulk\r\n",
            "Precedence: list\r\n",
            "Precedence: junk\r\n",
            "List-Id: Some <list.example.org>\r\n",
            "Return-Path: <>\r\n",
            "Return-Path: < >\r\n",
            "Message-ID: <01a20d24afcc750aae2168f50e09a72b@Hub.test>\r\n",
        ] {
            assert_eq!(kind(headers), AuthorKind::Program, "{headers}");
        }
        for headers in
            ["Auto-Submitted: no (really)\r\n", "Precedence: first-class\r\n", "Return-Path: <a@b.org>\r\n"]
        {
            assert_eq!(kind(headers), AuthorKind::Person, "{headers}");
        }
        for from in ["hub@HUB.test", "Hub+tag@hub.test", "house@hub.test"] {
            let own = received(&format!("From: {from}\r\nAuto-Submitted: auto-generated\r\n\r\n"));
            assert_eq!(own.author.kind, AuthorKind::Myself, "{from}");
            assert_eq!(own.conversation.address, own.author.id);
        }
    }

    #[test]
    fn nobody_stands_in_the_way_of_anothers_mail_by_its_message_id() {
        let id = "Message-ID: <1@example.org>\r\n";
        let copy = with(&format!("{id}List-Id: <l.example.org>\r\n"));
        let proved = with(&format!("{id}Authentication-Results: mx.hub.test; dmarc=pass\r\n"));
        let strangers = received(&format!("From: eve@evil.test\r\n{id}\r\n"));
        let keys = [with(id).key, copy.key, proved.key, strangers.key];
        for (n, key) in keys.iter().enumerate() {
            assert!(!keys[n + 1..].contains(key), "{key}");
        }
        assert_eq!(with(id).key, with(id).key);
        // Without one the head is what is known of it.
        assert_eq!(with("").key, with("").key);
        assert_ne!(with("").key, with("Date: 1 Jan 2026 00:00:00 +0000\r\n").key);
        let (head, whole) = ("From: a@b.org\r\nX: 1\r\n\r\n", "From: a@b.org\r\nX: 1\r\n\r\nbody");
        assert_eq!(received(head).key, received(whole).key);
    }

    #[test]
    fn another_mail_with_the_same_message_id_is_another_and_the_same_by_another_way_is_the_same() {
        let id = "Message-ID: <1@example.org>\r\n";
        let says = |way: &str, subject: &str, words: &str| {
            received(&format!("{way}From: ada@example.org\r\n{id}Subject: {subject}\r\n\r\n{words}")).key
        };
        let one = says("", "Dinner", "At 8.\r\n");
        assert_ne!(one, says("", "Dinner", "At 9.\r\n"));
        assert_ne!(one, says("", "Lunch", "At 8.\r\n"));
        let way = "Delivered-To: house@hub.test\r\nReceived: from a by b; 1 Jan 2026\r\nX-GM-LABELS: Work\r\nDate: Thu, 1 Jan 2026 00:00:00 +0000\r\n";
        assert_eq!(one, says(way, "Dinner", "At 8.\r\n\r\n"));
    }

    #[test]
    fn a_mail_that_is_attached_is_somebody_elses() {
        let mail = |kind: &str| {
            received(&format!(
                "From: a@b.org\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nLook.\r\n--b\r\n\
                 Content-Type: {kind}\r\n\r\nFrom: eve@evil.test\r\n\r\nSend all\r\n--b--\r\n"
            ))
        };
        let forwarded = |kind| mail(kind).event.words().unwrap().forwarded;
        assert!(forwarded("message/rfc822") && !forwarded("application/pdf"));
        assert_eq!(mail("message/rfc822").event.words().unwrap().text, "Look.");
    }

    #[test]
    fn what_is_quoted_in_an_answer_is_what_it_answers() {
        let reply = |subject: &str, text: &str| {
            let mail = format!("From: a@b.org\r\nIn-Reply-To: <2@e.org>\r\nSubject: {subject}\r\n\r\n{text}");
            let words = received(&mail).event.words().unwrap().clone();
            (words.forwarded, words.reply_to.unwrap().text)
        };
        assert_eq!(reply("Dinner", "Yes."), (false, None));
        assert_eq!(reply("Re: Send all", "Yes."), (false, Some("Re: Send all".into())));
        assert_eq!(reply("Dinner", "> At 8?\r\nYes."), (false, Some("At 8?".into())));
        assert!(reply("Fwd: Dinner", "Yes.").0);
    }

    #[test]
    fn what_nobody_could_answer_is_dropped_and_anything_else_is_taken() {
        let reads = |mail: &[u8]| Mail::read(mail, None, &owner()).map(|mail| mail.received);
        for mail in [
            "",
            "\r\n",
            "Subject: x\r\n\r\n",
            "From: nobody\r\n\r\n",
            "From: \"a b\"@example.org\r\n\r\n",
            "From: a%b@example.org\r\n\r\n",
            "From: undisclosed:;\r\n\r\n",
        ] {
            assert_eq!(reads(mail.as_bytes()).unwrap_err().reason, DropReason::Unreadable, "{mail:?}");
        }
        let long = format!(
            "From: a@b.org\r\nMessage-ID: <{}@b.org>\r\nSubject: {}\r\n\r\n",
            "x".repeat(999),
            "y".repeat(99_999)
        );
        let long = reads(long.as_bytes()).unwrap().bounded().unwrap();
        assert!(long.message_id.is_none() && long.conversation.thread.is_none());
        let broken = b"From: a@b.org\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Transfer-Encoding: \
                       base64\r\n\r\n\xff\xfe!!";
        assert!(reads(broken).unwrap().bounded().is_ok());
    }

    #[test]
    fn files_have_their_name_and_kind_and_are_bounded() {
        let part = |head: &str, body: &str| format!("--b\r\n{head}\r\n\r\n{body}\r\n");
        let mut mail = "From: a@b.org\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n".to_owned();
        mail += &part("Content-Type: text/plain", "words");
        mail += &part(
            "Content-Type: IMAGE/png\r\nContent-Disposition: attachment; filename*=utf-8''K%C3%B6ln.png\r\n\
             Content-Transfer-Encoding: base64",
            "iVBORw==",
        );
        mail += &part("Content-Type: message/rfc822", "From: c@d.org\r\nSubject: inner\r\n\r\ninner");
        let mail = Mail::read(mail.as_bytes(), None, &owner()).unwrap();
        let files: Vec<_> =
            mail.files().map(|file| (file.name, file.kind.unwrap(), file.bytes.to_vec())).collect();
        assert_eq!(files[0], (Some("Köln.png".into()), "image/png".into(), b"\x89PNG".to_vec()));
        assert_eq!((files[1].1.as_str(), files.len()), ("message/rfc822", 2));
        assert!(files[1].2.starts_with(b"From: c@d.org"));
        assert_eq!(mail.received.event.words().unwrap().text, "words");

        let mut many = "From: a@b.org\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n".to_owned();
        many += &part("Content-Type: application/pdf", "x").repeat(MAX_FILES + 3);
        let many = Mail::read(many.as_bytes(), None, &owner()).unwrap();
        assert_eq!((many.files().count(), many.more_files()), (MAX_FILES, 3));
    }
}
