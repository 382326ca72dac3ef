//! A mail taken apart by a parser that is not ours: Python's `email`.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

const READER: &str = r"
import base64, email, email.policy, json, sys
mail = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
def defects(part):
    return [repr(d) for d in part.defects] + [repr(d) for v in part.values() for d in getattr(v, 'defects', [])]
json.dump({
    'type': mail.get_content_type(),
    'headers': [[name.lower(), str(value)] for name, value in mail.items()],
    'parts': [[part.get_content_type(), part.get_content().replace('\r\n', '\n')] for part in mail.walk()
              if not part.is_multipart() and not part.is_attachment()],
    'files': [[part.get_filename(), part.get_content_type(), base64.b64encode(part.get_payload(decode=True)).decode()]
              for part in mail.walk() if part.is_attachment()],
    'defects': [defect for part in mail.walk() for defect in defects(part)],
}, sys.stdout)
";

/// A mail's headers and parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mime {
    /// The media type of the whole.
    pub kind: String,
    /// Names in lower case, values decoded, in order.
    pub headers: Vec<(String, String)>,
    /// Media type and decoded text, with plain line feeds, of each part that holds no others and is no attachment.
    pub parts: Vec<(String, String)>,
    /// Name, media type and bytes, in base64, of each attachment.
    pub files: Vec<[String; 3]>,
    /// What the parser found wrong.
    pub defects: Vec<String>,
}

impl Mime {
    /// Reads a mail as a server stored it.
    ///
    /// # Errors
    /// It cannot be read at all.
    pub fn read(mail: &str) -> Result<Self> {
        let mut python = Command::new(super::python()?)
            .args(["-c", READER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // It reads all of it before it writes.
        python.stdin.take().context("its input is a pipe")?.write_all(mail.as_bytes())?;
        let done = python.wait_with_output()?;
        ensure!(done.status.success(), "cannot read the mail: {}", String::from_utf8_lossy(&done.stderr));
        let read: Value = serde_json::from_slice(&done.stdout)?;
        let texts = |value: &Value| {
            value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let pairs = |name: &str| {
            let pairs = read[name].as_array().into_iter().flatten().map(texts);
            pairs.map(|mut pair| (pair.remove(0), pair.pop().unwrap_or_default())).collect::<Vec<_>>()
        };
        Ok(Self {
            kind: read["type"].as_str().unwrap_or_default().to_owned(),
            headers: pairs("headers"),
            parts: pairs("parts"),
            files: {
                let files = read["files"].as_array().into_iter().flatten().map(texts);
                files.filter_map(|file| file.try_into().ok()).collect()
            },
            defects: texts(&read["defects"]),
        })
    }

    /// The one value of a header; empty where there is none, or several.
    pub fn header(&self, name: &str) -> &str {
        let mut values = self.headers.iter().filter(|(header, _)| header == name);
        match (values.next(), values.next()) {
            (Some((_, value)), None) => value,
            _ => "",
        }
    }

    /// The text of the part of this media type.
    pub fn part(&self, kind: &str) -> &str {
        self.parts.iter().find(|(part, _)| part == kind).map_or("", |(_, text)| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_is_taken_apart() {
        let mail = "Subject: =?utf-8?q?h=C3=A9?=\r\nContent-Type: text/plain; charset=utf-8\r\n\
                    Content-Transfer-Encoding: quoted-printable\r\n\r\na=3Db=\r\nc\r\n";
        let mime = Mime::read(mail).unwrap();
        assert_eq!(mime.header("subject"), "hé");
        assert_eq!(mime.part("text/plain"), "a=bc\n");
        assert_eq!((mime.kind.as_str(), mime.defects.len()), ("text/plain", 0));
    }

    #[test]
    fn a_multipart_without_its_end_is_defective() {
        let mail = "Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nhello\r\n";
        assert!(!Mime::read(mail).unwrap().defects.is_empty());
    }
}
