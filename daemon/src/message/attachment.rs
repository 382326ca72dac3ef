//! Files that go along with a message, once the hub has them.
//!
//! A file is named by the hash of its bytes from the moment it is staged; name, type and size are what people are shown
//! beside it. A name is a name and never a path, and nothing in it reads otherwise than it is.

use gatepost_link::Digest;
use serde::{Deserialize, Serialize};

use crate::plain_text::is_hidden;

/// The longest name of a file, in bytes.
pub const MAX_NAME: usize = 120;
/// The longest media type that is listened to, in bytes.
const MAX_KIND: usize = 100;

/// A file that the hub has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Attachment {
    /// SHA-256 of its bytes.
    #[serde(with = "hex")]
    #[schema(value_type = String)]
    pub sha256: Digest,
    /// The name that the recipient sees.
    pub name: String,
    /// The media type, by its content.
    pub kind: String,
    /// What it was said to be, where that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said_to_be: Option<String>,
    /// Bytes.
    pub size: u64,
    /// Text that goes with it, Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caption: Option<String>,
    /// Whether it is a voice message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub voice: bool,
    /// The words that the hub made it from by speaking them: a person who approves reads them, and hooks do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spoken: Option<String>,
}

impl Attachment {
    /// It in one line, as an approver is shown it. The name stands last: it is the caller's own words. Those that were spoken
    /// have a line of their own.
    pub fn described(&self) -> String {
        let what = if self.voice { "voice" } else { "file" };
        let said = self.said_to_be.as_ref().map_or_else(String::new, |said| format!(", said to be {said}"));
        let spoken = self.spoken.as_ref().map_or_else(String::new, |words| {
            format!("\n[it says] {}", words.split_whitespace().collect::<Vec<_>>().join(" "))
        });
        format!("[{what}, {}{said}, {} bytes] {}{spoken}", self.kind, self.size, self.name)
    }

    /// How a stored request names it until it leaves: `attachment:` and its hash.
    pub fn reference(&self) -> String {
        format!("{SCHEME}{}", self.sha256)
    }
}

const SCHEME: &str = "attachment:";

/// The hash in a [reference](Attachment::reference).
pub fn referred(text: &str) -> Option<Digest> {
    digest(text.strip_prefix(SCHEME)?)
}

/// Reads 64 lower-case hexadecimal digits.
pub fn digest(text: &str) -> Option<Digest> {
    let text = text.as_bytes();
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut hash = [0; 32];
    if text.len() != 2 * hash.len() {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(text.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(Digest(hash))
}

mod hex {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use super::Digest;

    pub(super) fn serialize<S: Serializer>(digest: &Digest, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(digest)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(from)?;
        super::digest(&text).ok_or_else(|| D::Error::custom("not a SHA-256 in hexadecimal"))
    }
}

/// Whether a text, in lower case, is a media type without parameters (RFC 6838 §4.2).
pub fn is_kind(text: &str) -> bool {
    let name = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    text.len() <= MAX_KIND && text.split_once('/').is_some_and(|(kind, sub)| name(kind) && name(sub))
}

/// What is left of a name that came from outside: its last component, without what does not show as it is.
pub fn clean_name(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown: String = last.chars().filter(|&c| !is_hidden(c)).collect();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = shown.trim_matches(['.', ' ']);
    if shown.is_empty() {
        return None;
    }
    if shown.len() <= MAX_NAME {
        return Some(shown.to_owned());
    }
    // The end of a name says what it is.
    let extension = shown.rfind('.').map_or("", |at| &shown[at..]);
    let extension = if extension.len() <= 12 { extension } else { "" };
    let room = shown.floor_char_boundary(MAX_NAME - extension.len());
    Some(format!("{}{extension}", shown[..room].trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_path_and_hides_nothing() {
        for (name, clean) in [
            ("report.pdf", Some("report.pdf")),
            ("../../etc/passwd", Some("passwd")),
            ("C:\\secret\\a.txt", Some("a.txt")),
            ("photo\u{202e}gnp.exe", Some("photognp.exe")),
            ("a\r\nb\u{0}.txt", Some("ab.txt")),
            ("a\u{200b}b  c.txt", Some("ab c.txt")),
            (".bashrc", Some("bashrc")),
            ("..", None),
            ("a/", None),
            ("", None),
        ] {
            assert_eq!(clean_name(name).as_deref(), clean, "{name:?}");
        }
        let long = clean_name(&format!("{}.pdf", "ä".repeat(200))).unwrap();
        assert!(long.len() <= MAX_NAME && long.ends_with("ä.pdf"), "{long}");
    }

    #[test]
    fn a_stored_file_reads_back_as_it_was() {
        let file = Attachment {
            sha256: Digest([7; 32]),
            name: "a.txt".into(),
            kind: "text/plain".into(),
            said_to_be: Some("image/png".into()),
            size: 5,
            caption: None,
            voice: true,
            spoken: None,
        };
        let text = serde_json::to_string(&file).unwrap();
        assert_eq!(serde_json::from_str::<Attachment>(&text).unwrap(), file);
        assert_eq!(referred(&file.reference()), Some(file.sha256));
        assert_eq!(file.described(), "[voice, text/plain, said to be image/png, 5 bytes] a.txt");
        let spoken = Attachment { spoken: Some("Hello,\n Ann.".into()), ..file };
        assert!(
            spoken.described().ends_with("5 bytes] a.txt\n[it says] Hello, Ann."),
            "{}",
            spoken.described()
        );
        assert_eq!(referred("attachment:x"), None);
    }
}
