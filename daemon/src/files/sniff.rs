//! What a file is, by its content.
//!
//! A sender may call a file what it likes; the person who approves it and the program that opens it are told what it
//! is. A claim counts only where the content cannot tell: of plain text, whose kinds look alike. One that contradicts the
//! content is kept, and shown beside it.

/// How much of a file is looked at, in bytes.
pub(super) const HEAD: usize = 16 * 1024;

const TEXT: &str = "text/plain";
const BYTES: &str = "application/octet-stream";

/// Kinds of text that are not called so.
const TEXTS: &[&str] = &[
    "application/json",
    "application/ld+json",
    "application/geo+json",
    "application/x-ndjson",
    "application/xml",
    "application/yaml",
    "application/toml",
    "application/sql",
    "application/javascript",
    "application/x-sh",
    "application/rtf",
    "application/pgp-signature",
    "application/pgp-encrypted",
    "application/x-subrip",
    "image/svg+xml",
    "message/rfc822",
];

/// What the table calls every file of Microsoft's old format of files within a file.
const OFFICE: &str = "application/msword";
/// What such a file can be; its first bytes do not tell.
const OFFICES: &[&str] = &[
    OFFICE,
    "application/vnd.ms-excel",
    "application/vnd.ms-powerpoint",
    "application/vnd.ms-outlook",
    "application/vnd.visio",
];

/// A file's type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sniffed {
    /// The media type, in lower case.
    pub(super) kind: String,
    /// For a name where nobody gave one.
    pub(super) extension: &'static str,
    /// The claim, if the content says otherwise.
    pub(super) said_to_be: Option<String>,
}

/// Judges by the first bytes; `claim` is a media type in lower case.
pub(super) fn sniff(head: &[u8], claim: Option<&str>) -> Sniffed {
    let (kind, extension) = match known(head) {
        Some((kind, _)) if kind == OFFICE => match claim.filter(|claim| OFFICES.contains(claim)) {
            Some(claim) => return Sniffed { kind: claim.to_owned(), extension: "bin", said_to_be: None },
            None => ("application/x-ole-storage", "bin"),
        },
        Some(found @ ("text/xml", _)) => match claim.filter(|claim| claim.ends_with("+xml")) {
            Some(claim) => return Sniffed { kind: claim.to_owned(), extension: "xml", said_to_be: None },
            None => found,
        },
        Some(found) => found,
        None if is_text(head) => match claim {
            Some(claim) if is_kind_of_text(claim) => {
                return Sniffed { kind: claim.to_owned(), extension: "txt", said_to_be: None };
            }
            _ => (TEXT, "txt"),
        },
        None => (BYTES, "bin"),
    };
    // The type cannot be found out, so the claim cannot be refuted; it does not become true by that.
    let contradicts = |claim: &&str| !same(claim, kind) && *claim != BYTES;
    let said_to_be = claim.filter(contradicts).map(str::to_owned);
    Sniffed { kind: kind.to_owned(), extension, said_to_be }
}

/// The media type and extension in the table of formats.
fn known(head: &[u8]) -> Option<(&'static str, &'static str)> {
    // A skippable frame (RFC 8878 §3.1.2) says nothing of what follows; and on a machine of 32 bits, one that says that it
    // has 4 GB keeps the table looking for ever.
    if matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]) {
        return None;
    }
    let found = infer::get(head)?;
    // A text may begin as a picture or a program does ("BMW", "MZ") or speak of a PDF in its first lines.
    let begins = match found.mime_type() {
        "text/html" | "text/xml" | "text/x-shellscript" | "application/rtf" | "application/postscript" => {
            true
        }
        "application/pdf" => head.trim_ascii_start().starts_with(b"%PDF"),
        _ => false,
    };
    (begins || !is_text(head)).then(|| (registered(found.mime_type()), found.extension()))
}

fn is_kind_of_text(claim: &str) -> bool {
    // What looks like HTML has been found out already; what does not is none.
    (claim.starts_with("text/") && claim != "text/html") || TEXTS.contains(&claim)
}

/// The name of a type that IANA has registered for it as a file.
fn registered(kind: &'static str) -> &'static str {
    match kind {
        // RFC 7845 §9; the other is how it travels over RTP.
        "audio/opus" => "audio/ogg",
        // RFC 4337.
        "audio/m4a" => "audio/mp4",
        other => other,
    }
}

/// Whether two names mean the same type.
fn same(claim: &str, kind: &str) -> bool {
    let plain = |name: &str| match name {
        "image/jpg" | "image/pjpeg" => "image/jpeg".to_owned(),
        "audio/mp3" => "audio/mpeg".to_owned(),
        "audio/wave" | "audio/vnd.wave" => "audio/wav".to_owned(),
        "audio/m4a" | "audio/x-m4a" => "audio/mp4".to_owned(),
        "audio/opus" | "application/ogg" => "audio/ogg".to_owned(),
        "text/xml" => "application/xml".to_owned(),
        other => match other.split_once("/x-") {
            Some((kind, sub)) => format!("{kind}/{sub}"),
            None => other.to_owned(),
        },
    };
    plain(claim) == plain(kind)
}

/// UTF-8 without controls, as far as one sees; the last character may be cut.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && head.len() == HEAD => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.contains(|c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    fn kind(head: &[u8], claim: Option<&str>) -> (String, Option<String>) {
        let sniffed = sniff(head, claim);
        (sniffed.kind, sniffed.said_to_be)
    }

    #[test]
    fn content_wins_over_what_is_said_of_it() {
        assert_eq!(kind(PNG, None), ("image/png".into(), None));
        assert_eq!(kind(PNG, Some("image/png")), ("image/png".into(), None));
        assert_eq!(kind(PNG, Some("application/pdf")), ("image/png".into(), Some("application/pdf".into())));
        assert_eq!(kind(b"%PDF-1.7\n", Some("image/png")).0, "application/pdf");
        let program = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0\x78\0\x40\0\0\0\0\0\x40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x40\0\x38\0";
        let (found, claim) = kind(program, Some("image/png"));
        assert!(found.contains("executable"), "{found}");
        assert_eq!(claim.as_deref(), Some("image/png"));
        assert_eq!(kind(b"\xff\xd8\xff\xe0\0\x10JFIF", Some("image/jpg")), ("image/jpeg".into(), None));
        assert_eq!(
            kind(b"OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead", None).0,
            "audio/ogg"
        );
    }

    #[test]
    fn of_plain_text_its_sender_may_say_more() {
        assert_eq!(kind(b"a,b\n1,2\n", Some("text/csv")), ("text/csv".into(), None));
        assert_eq!(kind(b"{\"a\": 1}", Some("application/json")), ("application/json".into(), None));
        assert_eq!(kind("Grüße\n".as_bytes(), None), ("text/plain".into(), None));
        assert_eq!(
            kind(b"<?xml version=\"1.0\"?><svg/>", Some("image/svg+xml")),
            ("image/svg+xml".into(), None)
        );
        assert_eq!(
            kind(b"<?xml version=\"1.0\"?><svg/>", Some("application/xml")),
            ("text/xml".into(), None)
        );
        assert_eq!(kind(b"hello", Some("image/png")), ("text/plain".into(), Some("image/png".into())));
        assert_eq!(kind(b"hello", Some("text/html")), ("text/plain".into(), Some("text/html".into())));
        assert_eq!(kind(b"<!DOCTYPE html><html>", Some("text/csv")).0, "text/html");
        // A character that the look cuts in two.
        let long = "ä".repeat(HEAD);
        assert_eq!(kind(&long.as_bytes()[1..], None).0, "application/octet-stream");
        let mut cut = vec![b'a'];
        cut.extend_from_slice(long.as_bytes());
        assert_eq!(kind(&cut[..HEAD], None).0, "text/plain");
    }

    #[test]
    fn what_the_table_of_formats_gets_wrong_is_put_right() {
        let old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0\0\0";
        assert_eq!(kind(old, Some("application/vnd.ms-excel")), ("application/vnd.ms-excel".into(), None));
        assert_eq!(kind(old, None).0, "application/x-ole-storage");
        assert_eq!(kind(old, Some("image/png")).1.as_deref(), Some("image/png"));
        assert_eq!(kind(b"BMW and MZ, in GIF89a\n", None).0, "text/plain");
        assert_eq!(kind(b"#!/bin/sh\nexit\n", Some("text/plain")).0, "text/x-shellscript");
        assert_eq!(kind(b"A PDF begins with %PDF-1.7.", None).0, "text/plain");
        assert_eq!(kind(b"\x50\x2a\x4d\x18\xf8\xff\xff\xff", None).0, "application/octet-stream");
    }

    #[test]
    fn what_nobody_knows_is_bytes_whatever_is_said() {
        assert_eq!(kind(b"\0\x01\x02", None), ("application/octet-stream".into(), None));
        let both = kind(b"\0\x01\x02", Some("image/png"));
        assert_eq!(both, ("application/octet-stream".into(), Some("image/png".into())));
    }

    /// The beginnings that the table of formats looks further behind.
    const STARTS: &[&[u8]] = &[
        b"",
        PNG,
        b"PK\x03\x04\x14\0\x06\0\x08\0\0\0!\0[Content_Types].xml",
        b"PK\x03\x04\n\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0mimetype",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        b"\0\0\0\x18ftypmp42",
        b"\0\0\0\x18ftypheic\0\0\0\0mif1heic",
        b"\x1a\x45\xdf\xa3",
        b"OggS\0\x02",
        b"RIFF\0\0\0\0WEBP",
        b"RIFF\0\0\0\0AVI ",
        b"MZ",
        b"\x7fELF",
        b"<",
        b" <!DOCTYPE",
        b"#!",
        b"%PDF-",
        b"ID3",
        b"II*\0",
        b"wOFF\0\x01\0\0",
        b"Cr24",
        b"!<arch>\ndebian-binary",
        b"\xca\xfe\xba\xbe",
    ];

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_look_fail(
            start in 0..STARTS.len(),
            cut in 0..64_usize,
            rest in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..600),
            repeats in 0..40_usize,
        ) {
            let start = &STARTS[start][..STARTS[start].len().min(cut)];
            let mut head = [start, &rest, start].concat();
            head.extend(rest.repeat(repeats));
            head.truncate(HEAD);
            let sniffed = sniff(&head, Some("text/csv"));
            proptest::prop_assert!(crate::message::attachment::is_kind(&sniffed.kind), "{}", sniffed.kind);
        }
    }
}
