//! Files as a call asks for them: where each comes from, and what its caller says of it. Nothing has been looked at yet.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost_link::Digest;
use serde_json::{Map, Value};

use super::{
    attachment::{digest, is_kind},
    given::wrong_value,
    refusal::{Code, Refusal},
};
use crate::spelling::nearest;

/// The most files that a call may name, whatever the configuration allows.
pub const MOST: usize = 32;
/// The longest caption, in bytes. One that is longer than its platform takes goes as text before its file.
pub const MAX_CAPTION: usize = 16 * 1024;
/// The longest URL or path, in bytes.
const MAX_SOURCE: usize = 2048;
/// Where a file comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A path beneath the agent's own folder.
    Path(String),
    /// An address to fetch it from.
    Url(String),
    /// The bytes themselves.
    Bytes(Vec<u8>),
    /// What this caller handed in before, by its hash.
    Upload(Digest),
    /// Words, to be spoken by the hub.
    Words(String),
}

/// A file as a call asks for it. Nothing has been looked at yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Where it comes from.
    pub source: Source,
    /// The name that the recipient sees.
    pub name: Option<String>,
    /// What the caller says that it is.
    pub kind: Option<String>,
    /// Text that goes with it, Markdown.
    pub caption: Option<String>,
    /// Whether it is a voice message.
    pub voice: bool,
}

/// Each member's name, then its aliases.
pub(super) const MEMBERS: &[&[&str]] = &[
    &["path"],
    &["url"],
    &["base64", "data"],
    &["file"],
    &["name", "filename"],
    &["mime", "mimeType", "type"],
    &["caption"],
];
/// What `type` may say where it names no media type, in any letters. What a file is, its bytes say.
const TYPES: &[&str] = &["image", "audio", "video", "document", "file"];
/// What a voice message may have for its words.
pub(super) const WORDS: &str = "text";

impl Asked {
    /// The files of a call, in the order in which they go: the voice message before the others.
    pub(super) fn parse(
        voice: Option<&Value>,
        attachments: Option<&Value>,
        media: Option<&Value>,
    ) -> Result<Vec<Self>, Refusal> {
        if attachments.is_some() && media.is_some() {
            let error = "\"attachments\" and \"media\" both name files";
            return Err(Refusal::input(error, "give \"attachments\" alone").because("contradictory"));
        }
        let mut asked = Vec::new();
        if let Some(voice) = voice {
            asked.push(Self { voice: true, ..Self::one("voice", voice)? });
        }
        for (name, value) in [("attachments", attachments), ("media", media)] {
            match value {
                None => {}
                Some(Value::Array(list)) if list.len() > MOST => return Err(too_many(list.len(), MOST)),
                Some(Value::Array(list)) => {
                    for value in list {
                        asked.push(Self::one(name, value)?);
                    }
                }
                Some(value) => asked.push(Self::one(name, value)?),
            }
        }
        Ok(asked)
    }

    fn one(parameter: &str, value: &Value) -> Result<Self, Refusal> {
        match value {
            // No path looks like this, but what a model puts into quotes does.
            Value::String(text)
                if serde_json::from_str::<Value>(text)
                    .is_ok_and(|held| held.is_array() || held.is_object()) =>
            {
                Err(wrong_value(parameter, value, "files as they are"))
            }
            // As the tools that agents know have it: an address, or a path.
            Value::String(text) => Ok(Self {
                source: source(if is_url(text) { "url" } else { "path" }, text)?,
                name: None,
                kind: None,
                caption: None,
                voice: false,
            }),
            Value::Object(members) if parameter == "voice" && members.contains_key(WORDS) => {
                Self::words(members)
            }
            Value::Object(members) => Self::object(members),
            _ => {
                let error = format!("{parameter:?} holds something that is no file");
                Err(Refusal::input(
                    error,
                    "give {\"path\": …}, {\"url\": …}, {\"base64\": …} or {\"file\": …}",
                )
                .because("wrong_type"))
            }
        }
    }

    /// A voice message that the hub speaks.
    fn words(members: &Map<String, Value>) -> Result<Self, Refusal> {
        if members.len() > 1 {
            let error = "a voice message is a file, or words to be spoken";
            return Err(Refusal::input(error, "give \"text\" alone, or a file without \"text\"")
                .because("contradictory"));
        }
        let words = text(members, &[WORDS])?.unwrap_or_default();
        if words.trim().is_empty() {
            let error = "a voice message has no words";
            return Err(Refusal::input(error, "write what is to be spoken").because("missing"));
        }
        Ok(Self { source: Source::Words(words), name: None, kind: None, caption: None, voice: false })
    }

    fn object(members: &Map<String, Value>) -> Result<Self, Refusal> {
        let known = || MEMBERS.iter().flat_map(|names| names.iter().copied());
        if let Some(unknown) = members.keys().find(|name| !known().any(|known| known == name.as_str())) {
            let shown: String = unknown.chars().take(40).collect();
            let error = format!("an attachment has no member {shown:?}");
            let hint = match nearest(unknown, known()) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("members are: {}", known().collect::<Vec<_>>().join(", ")),
            };
            return Err(Refusal::input(error, hint).because("unknown_parameter"));
        }
        let sources: Vec<_> = ["path", "url", "base64", "data", "file"]
            .into_iter()
            .filter_map(|name| Some((name, text(members, &[name]).transpose()?)))
            .collect();
        let source = match <[_; 1]>::try_from(sources) {
            Ok([(name, value)]) => source(name, &value?)?,
            Err(_) => {
                let error = "an attachment comes from one place";
                let hint = "give exactly one of \"path\", \"url\", \"base64\" and \"file\"";
                return Err(Refusal::input(error, hint).because("contradictory"));
            }
        };
        let caption = text(members, &["caption"])?.filter(|caption| !caption.trim().is_empty());
        if let Some(caption) = caption.as_ref().filter(|caption| caption.len() > MAX_CAPTION) {
            let error = format!("a caption has {} bytes, at most {MAX_CAPTION} are taken", caption.len());
            return Err(Refusal::new(Code::TooLarge, error, "put it into the message"));
        }
        let rough = text(members, &["type"])?.map(|rough| rough.trim().to_ascii_lowercase());
        let rough = rough.filter(|rough| !TYPES.contains(&rough.as_str()));
        let kind =
            text(members, &["mime", "mimeType"])?.map(|kind| kind.trim().to_ascii_lowercase()).or(rough);
        if kind.as_ref().is_some_and(|kind| !is_kind(kind)) {
            return Err(Refusal::input(
                "an attachment's type is no media type",
                "write such as \"image/png\", or leave it out",
            ));
        }
        Ok(Self { source, name: text(members, &["name", "filename"])?, kind, caption, voice: false })
    }
}

/// More files than are taken.
fn too_many(files: usize, most: usize) -> Refusal {
    let error = format!("the message has {files} files, at most {most} are taken");
    Refusal::new(Code::TooLarge, error, "send them as several messages")
}

fn source(name: &str, value: &str) -> Result<Source, Refusal> {
    let bad = |error: &str, hint: &str| Refusal::input(error, hint).because("attachment");
    if !matches!(name, "base64" | "data")
        && (value.is_empty() || value.len() > MAX_SOURCE || value.contains(char::is_control))
    {
        let error = format!("{name:?} is empty, longer than {MAX_SOURCE} bytes, or has control characters");
        return Err(bad(&error, "give it as it is"));
    }
    match name {
        "path" => Ok(Source::Path(value.to_owned())),
        "url" => Ok(Source::Url(value.to_owned())),
        "file" => digest(value).map(Source::Upload).ok_or_else(|| {
            bad(
                "\"file\" is not what POST /v1/files answered",
                "hand the file in first, and give its \"file\"",
            )
        }),
        _ => STANDARD.decode(value).map(Source::Bytes).map_err(|_| {
            bad(&format!("{name:?} is not base64"), "encode the bytes with padding and without line breaks")
        }),
    }
}

fn is_url(text: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

fn text(members: &Map<String, Value>, names: &[&str]) -> Result<Option<String>, Refusal> {
    match names.iter().filter_map(|name| members.get(*name)).find(|value| !value.is_null()) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => {
            let error = format!("an attachment's {:?} is not a string", names[0]);
            Err(Refusal::input(error, "give a string").because("wrong_type"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(attachments: Value) -> Result<Vec<Asked>, Refusal> {
        Asked::parse(None, Some(&attachments), None)
    }

    #[test]
    fn a_file_comes_from_one_place() {
        let path =
            parse(json!([{"path": "a/b.png", "caption": "**A**", "mime": "Image/PNG", "name": "c.png"}]));
        let asked = path.unwrap().remove(0);
        assert_eq!(asked.source, Source::Path("a/b.png".into()));
        assert_eq!((asked.kind.as_deref(), asked.name.as_deref()), (Some("image/png"), Some("c.png")));
        assert_eq!(parse(json!({"base64": "aGk="})).unwrap()[0].source, Source::Bytes(b"hi".to_vec()));
        let seeds = json!([{"type": "IMAGE", "data": "aGk=", "filename": "a.png", "mimeType": "image/png"}]);
        let asked = parse(seeds).unwrap().remove(0);
        assert_eq!(asked.source, Source::Bytes(b"hi".to_vec()));
        assert_eq!((asked.kind.as_deref(), asked.name.as_deref()), (Some("image/png"), Some("a.png")));
        for (given, kind) in [("DOCUMENT", None), ("image/Webp", Some("image/webp"))] {
            let asked = parse(json!({"path": "a", "type": given})).unwrap().remove(0);
            assert_eq!(asked.kind.as_deref(), kind, "{given}");
        }
        let hash = "ab".repeat(32);
        assert_eq!(parse(json!([{"file": hash}])).unwrap()[0].source, Source::Upload(Digest([0xab; 32])));
        for wrong in [
            json!([{}]),
            json!([5]),
            json!([{"path": "a", "url": "https://b.test/"}]),
            json!([{"path": 5}]),
            json!([{"path": ""}]),
            json!("[\"a.png\"]"),
            json!(["{\"path\": \"a.png\"}"]),
            json!([{"path": "a\nb"}]),
            json!([{"base64": "!"}]),
            json!([{"file": "../../etc/passwd"}]),
            json!([{"path": "a", "mime": "image"}]),
            json!([{"path": "a", "type": "picture"}]),
            json!([{"base64": "aGk=", "data": "aGk="}]),
            json!([{"data": "!"}]),
            json!([{"path": "a", "pth": "b"}]),
            json!([{"path": "a", "caption": "x".repeat(MAX_CAPTION + 1)}]),
            json!(vec!["a"; MOST + 1]),
        ] {
            assert!(parse(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_seeds_media_is_a_url_or_a_path_and_voice_goes_first() {
        let media = json!(["HTTPS://a.test/x.png", "b.png"]);
        let asked = Asked::parse(Some(&json!("v.ogg")), None, Some(&media)).unwrap();
        let sources: Vec<_> = asked.iter().map(|asked| (&asked.source, asked.voice)).collect();
        assert_eq!(
            sources,
            [
                (&Source::Path("v.ogg".into()), true),
                (&Source::Url("HTTPS://a.test/x.png".into()), false),
                (&Source::Path("b.png".into()), false)
            ]
        );
        assert!(Asked::parse(None, Some(&json!(["a"])), Some(&json!("b"))).is_err());
    }

    #[test]
    fn a_voice_message_may_be_words_and_another_file_may_not() {
        let voice = |value: Value| Asked::parse(Some(&value), None, None).map(|mut asked| asked.remove(0));
        let asked = voice(json!({"text": " Hello. "})).unwrap();
        assert_eq!((asked.source, asked.voice), (Source::Words(" Hello. ".into()), true));
        for wrong in [
            json!({"text": " "}),
            json!({"text": 5}),
            json!({"text": "a", "path": "b"}),
            json!({"text": null}),
        ] {
            assert!(voice(wrong.clone()).is_err(), "{wrong}");
        }
        assert!(parse(json!([{"text": "Hello."}])).is_err());
    }
}
