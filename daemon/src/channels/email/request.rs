//! A mail: as it is stored and hashed, and as the bytes that a server gets.
//!
//! Header injection is impossible: every header goes through lettre's types, which encode line breaks, and ids and
//! addresses are checked before. Everything the reader sees is in the [`Request`]; `Date` and `Message-ID` are added when
//! it leaves, the id made from the part's key, so that it is the same at every attempt.

use lettre::{
    Address, Message,
    message::{
        Body, Mailbox, MultiPart, SinglePart,
        header::{ContentDisposition, ContentTransferEncoding, ContentType, HeaderName, HeaderValue},
    },
};
use serde::{Deserialize, Serialize};

use super::content::Content;
use crate::{
    channels::{OutgoingPart, PartKey},
    message::attachment::{Attachment, referred},
};

/// RFC 5322 §2.1.1: what a line should not exceed, in characters. A subject that fits is shown whole by readers.
const SUBJECT_LIMIT: usize = 78;

/// All of a mail but what is made when it leaves.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// The mailbox that it comes from.
    from: String,
    /// The one address that it goes to.
    to: String,
    subject: String,
    plain: String,
    /// A complete document.
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
    /// The Message-ID of the mail being answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<String>,
    /// The Message-IDs of the thread, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    references: Option<String>,
    /// RFC 3834 §5: keeps vacation programs from answering the hub.
    auto_submitted: String,
    /// Behind the text, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<Attached>,
}

/// A file of a mail.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attached {
    /// `attachment:` and its hash.
    file: String,
    name: String,
    kind: String,
}

impl Attached {
    fn new(file: &Attachment) -> Self {
        // RFC 2046 §5.2.1: these may not be encoded, and a file has lines of any length.
        let encodable = !["message/", "multipart/"].iter().any(|kind| file.kind.starts_with(kind));
        let kind = if encodable { &file.kind } else { "application/octet-stream" };
        Self { file: file.reference(), name: file.name.clone(), kind: kind.to_owned() }
    }
}

/// A mail that is ready to leave.
pub(super) struct Mail {
    /// Its Message-ID.
    pub(super) id: String,
    /// The envelope's sender.
    pub(super) sender: Address,
    /// The envelope's recipient.
    pub(super) recipient: Address,
    /// Headers and body, 7 bits a byte.
    pub(super) content: Content,
}

impl Request {
    /// The mail that a part becomes.
    pub(super) fn new(from: &Mailbox, outgoing: &OutgoingPart<'_>) -> Self {
        let root = outgoing.thread.map(bracketed);
        let parent = outgoing.reply_to.map(bracketed);
        // RFC 5322 §3.6.4: References lists the thread, and its last entry is the parent.
        let references = match (&root, &parent) {
            (Some(root), Some(parent)) if root != parent => Some(format!("{root} {parent}")),
            (root, parent) => parent.as_ref().or(root.as_ref()).cloned(),
        };
        Self {
            from: from.to_string(),
            to: outgoing.address.to_owned(),
            subject: subject(outgoing.headline, from),
            plain: outgoing.part.text.clone(),
            html: outgoing.part.html.as_deref().map(document),
            in_reply_to: parent.or(root),
            references,
            auto_submitted: "auto-generated".to_owned(),
            files: outgoing.files.iter().map(Attached::new).collect(),
        }
    }

    /// What no mail can name, though a call did: a message or thread that is no Message-ID.
    pub(super) fn unfit(&self) -> Option<String> {
        let named = [("replyTo or threadId", &self.in_reply_to), ("replyTo or threadId", &self.references)];
        named.into_iter().find_map(|(field, ids)| message_ids(field, ids.as_ref()?).err())
    }

    /// The bytes, under a Message-ID made from the key. The error says what is wrong with the stored mail.
    pub(super) fn mail(&self, key: &PartKey) -> Result<Mail, String> {
        let from: Mailbox = self.from.parse().map_err(|e| format!("from: {e}"))?;
        let recipient: Address = self.to.parse().map_err(|e| format!("to: {e}"))?;
        let id = format!("<{}@{}>", key.0, from.email.domain());
        let mut builder = Message::builder()
            .from(from.clone())
            .to(Mailbox::new(None, recipient.clone()))
            .subject(self.subject.as_str())
            .message_id(Some(id.clone()))
            .date_now()
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                self.auto_submitted.clone(),
            ));
        if let Some(ids) = &self.in_reply_to {
            builder = builder.in_reply_to(message_ids("in_reply_to", ids)?);
        }
        if let Some(ids) = &self.references {
            builder = builder.references(message_ids("references", ids)?);
        }
        let plain = SinglePart::plain(self.plain.clone());
        let both = |html: &String, plain| {
            MultiPart::alternative().singlepart(plain).singlepart(SinglePart::html(html.clone()))
        };
        if self.files.is_empty() {
            let message = match &self.html {
                Some(html) => builder.multipart(both(html, plain)),
                None => builder.singlepart(plain),
            };
            let content = message.map_err(|e| e.to_string())?.formatted().into();
            return Ok(Mail { id, sender: from.email, recipient, content });
        }
        let mut all = MultiPart::mixed().build();
        all = match &self.html {
            Some(html) => all.multipart(both(html, plain)),
            None if self.plain.is_empty() => all,
            None => all.singlepart(plain),
        };
        let mut files = Vec::with_capacity(self.files.len());
        for file in &self.files {
            let digest = referred(&file.file).ok_or("a file is named by no hash")?;
            let kind = ContentType::parse(&file.kind).map_err(|e| format!("a file's type: {e}"))?;
            // Its place, which no text can hold by chance.
            let place = crate::random::hex::<24>();
            let body =
                Body::dangerous_pre_encoded(place.clone().into_bytes(), ContentTransferEncoding::Base64);
            let part = SinglePart::builder().header(kind).header(ContentDisposition::attachment(&file.name));
            all = all.singlepart(part.body(body));
            files.push((place, digest));
        }
        let message = builder.multipart(all).map_err(|e| e.to_string())?;
        let content = Content::with_files(message.formatted(), &files)?;
        Ok(Mail { id, sender: from.email, recipient, content })
    }
}

/// An id as people copy it, with or without its angle brackets.
fn bracketed(id: &str) -> String {
    if id.starts_with('<') { id.to_owned() } else { format!("<{id}>") }
}

/// One or more msg-ids, RFC 5322 §3.6.4.
pub(super) fn message_ids(field: &str, ids: &str) -> Result<String, String> {
    let sound = |id: &str| {
        id.strip_prefix('<')
            .and_then(|id| id.strip_suffix('>'))
            .and_then(|id| id.split_once('@'))
            .is_some_and(|(left, right)| {
                [left, right].iter().all(|side| {
                    !side.is_empty() && side.bytes().all(|b| b.is_ascii_graphic() && !b"<>@".contains(&b))
                })
            })
    };
    if !ids.is_empty() && ids.split(' ').all(sound) {
        Ok(ids.to_owned())
    } else {
        Err(format!("{field}: {ids:?} is not the Message-ID of a mail, such as <abc@example.org>"))
    }
}

/// The headline as a subject: one line, at most [`SUBJECT_LIMIT`] characters, never blank.
fn subject(headline: &str, from: &Mailbox) -> String {
    let line = headline.replace(|c: char| c.is_control() || c.is_whitespace(), " ");
    // An RFC 2047 word in the text would be decoded by the reader's program and read otherwise than it was shown.
    let line =
        line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ").replace("=?", "= ?");
    if line.is_empty() {
        let name = from.name.clone().unwrap_or_else(|| from.email.to_string());
        return format!("Message from {name}");
    }
    if line.chars().count() <= SUBJECT_LIMIT {
        return line;
    }
    let cut: String = line.chars().take(SUBJECT_LIMIT - 1).collect();
    // Between words, unless that would lose more than a third of it.
    let kept = cut.rfind(' ').filter(|at| *at > cut.len() * 2 / 3).map_or(cut.as_str(), |at| &cut[..at]);
    format!("{kept}…")
}

/// A document around a fragment. It needs no title: a mail has its subject (HTML Standard, "The title element").
fn document(fragment: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body>\n{fragment}\n</body></html>\n"
    )
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        channels::testing::sample::{self, key},
        render::Part,
    };

    fn from() -> Mailbox {
        "Gatepost <hub@hub.test>".parse().unwrap()
    }

    fn part(text: &str, html: Option<&str>) -> Part {
        Part { html: html.map(Into::into), ..sample::part(text) }
    }

    fn outgoing<'a>(part: &'a Part, headline: &'a str) -> OutgoingPart<'a> {
        OutgoingPart { headline, ..sample::outgoing("ada@example.org", part) }
    }

    pub(in crate::channels::email) fn request() -> Request {
        let part = part("Hello", Some("<p>Hello</p>"));
        Request::new(&from(), &outgoing(&part, "Hello"))
    }

    fn bytes(request: &Request) -> String {
        String::from_utf8(request.mail(&key()).unwrap().content.bytes()).unwrap()
    }

    #[test]
    fn what_answers_no_mail_is_refused_before_anybody_is_asked() {
        let part = part("Hello", None);
        let unfit = |reply_to, thread| {
            Request::new(&from(), &OutgoingPart { reply_to, thread, ..outgoing(&part, "Hello") }).unfit()
        };
        assert_eq!(unfit(Some("<last@example.org>"), Some("root@example.org")), None);
        assert_eq!(unfit(None, None), None);
        assert!(unfit(Some("abc"), None).unwrap().contains("such as <abc@example.org>"));
        assert!(unfit(Some("<last@example.org>"), Some("abc")).is_some());
    }

    #[test]
    fn a_letter_becomes_this_wire() {
        let part = part("Dinner at 8?\nAda", Some("<p>Dinner at <b>8</b>?</p>"));
        let mut outgoing = outgoing(&part, "Dinner at 8?");
        outgoing.thread = Some("root@example.org");
        outgoing.reply_to = Some("<last@example.org>");
        assert_eq!(
            serde_json::to_value(Request::new(&from(), &outgoing)).unwrap(),
            json!({
                "auto_submitted": "auto-generated",
                "from": "Gatepost <hub@hub.test>",
                "html": "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body>\n<p>Dinner at <b>8</b>?</p>\n</body></html>\n",
                "in_reply_to": "<last@example.org>",
                "plain": "Dinner at 8?\nAda",
                "references": "<root@example.org> <last@example.org>",
                "subject": "Dinner at 8?",
                "to": "ada@example.org",
            })
        );
    }

    #[test]
    fn a_mail_has_the_same_message_id_at_every_attempt() {
        let (one, two) = (request().mail(&key()).unwrap(), request().mail(&key()).unwrap());
        assert_eq!(one.id, "<00112233445566778899aabbccddeeff@hub.test>");
        assert_eq!(one.id, two.id);
        let text = bytes(&request());
        assert!(text.contains("Message-ID: <00112233445566778899aabbccddeeff@hub.test>\r\n"), "{text}");
    }

    #[test]
    fn a_mail_has_both_forms_and_says_that_a_program_wrote_it() {
        let text = bytes(&request());
        for line in [
            "From: Gatepost <hub@hub.test>\r\n",
            "To: ada@example.org\r\n",
            "Subject: Hello\r\n",
            "Auto-Submitted: auto-generated\r\n",
            "Date: ",
            "Content-Type: multipart/alternative;",
            "Content-Type: text/plain; charset=utf-8\r\n",
            "Content-Type: text/html; charset=utf-8\r\n",
        ] {
            assert!(text.contains(line), "{line:?} in {text}");
        }
        assert!(text.find("text/plain") < text.find("text/html"), "the best form comes last");
    }

    #[test]
    fn a_mail_is_ascii_whatever_was_written() {
        let long = "ä".repeat(2000);
        let part = part(&long, Some(&long));
        assert!(bytes(&Request::new(&from(), &outgoing(&part, "Grüße aus Köln 🎉"))).is_ascii());
    }

    #[test]
    fn no_text_becomes_a_header() {
        let evil = "x\r\nBcc: eve@example.org\r\n\r\nbody";
        let part = part("t", None);
        let mut request = Request::new(&from(), &outgoing(&part, evil));
        assert_eq!(request.subject, "x Bcc: eve@example.org body");
        // And not even when the stored row was tampered with.
        request.subject = evil.into();
        request.auto_submitted = evil.into();
        assert!(!bytes(&request).contains("\nBcc:"));
        for field in ["in_reply_to", "references", "to", "from"] {
            let mut value = serde_json::to_value(self::request()).unwrap();
            value[field] = json!("<a@b>\r\nBcc: eve@example.org");
            assert!(Request::deserialize(value).unwrap().mail(&key()).is_err(), "{field}");
        }
    }

    #[test]
    fn a_subject_is_one_line_and_never_blank() {
        assert_eq!(subject(" \n\t", &from()), "Message from Gatepost");
        assert_eq!(subject("", &"hub@hub.test".parse().unwrap()), "Message from hub@hub.test");
        assert_eq!(subject("a\u{7}\u{85}b  c", &from()), "a b c");
        assert_eq!(subject("=?utf-8?q?pay?=", &from()), "= ?utf-8?q?pay?=");
        let long = subject(&"word ".repeat(40), &from());
        assert!(long.chars().count() <= SUBJECT_LIMIT && long.ends_with("word…"), "{long}");
        assert_eq!(subject(&"ä".repeat(100), &from()).chars().count(), SUBJECT_LIMIT);
    }

    #[test]
    fn a_thread_without_a_parent_answers_its_root() {
        let part = part("t", None);
        let mut outgoing = outgoing(&part, "t");
        outgoing.thread = Some("<root@example.org>");
        let request = Request::new(&from(), &outgoing);
        assert_eq!(request.in_reply_to.as_deref(), Some("<root@example.org>"));
        assert_eq!(request.references.as_deref(), Some("<root@example.org>"));
    }
}
