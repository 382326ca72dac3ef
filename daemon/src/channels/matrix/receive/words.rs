//! The words of a message event, and the file that it names.

use serde_json::Value;

use super::known::{options, poll, poll_text};

/// A file in the homeserver's media repository
/// (<https://spec.matrix.org/v1.18/client-server-api/#content-repository>).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MediaFile {
    pub(super) server: String,
    pub(super) media: String,
    pub(super) name: Option<String>,
    /// The media type that the sender claims.
    pub(super) kind: Option<String>,
    /// The size that the sender claims, in bytes.
    pub(super) size: u64,
    pub(super) voice: bool,
}

/// What a message says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) file: Option<MediaFile>,
    /// Why there is no file where one was meant.
    pub(super) missing: Option<String>,
}

/// Reads the content of `m.room.message` or `m.sticker`; nothing if it is no message that says something
/// (<https://spec.matrix.org/v1.18/client-server-api/#mroommessage-msgtypes>).
pub(super) fn said(content: &Value, sticker: bool) -> Option<Said> {
    let body = content["body"].as_str()?;
    let kind = content["msgtype"].as_str().unwrap_or_default();
    match kind {
        _ if sticker => Some(with_file(content, body)),
        "m.image" | "m.file" | "m.audio" | "m.video" => Some(with_file(content, body)),
        // A client asks another to verify keys, by a message for those that cannot.
        "m.key.verification.request" => None,
        "m.emote" => Some(Said { text: format!("* {}", unquoted(content, body)), ..Said::default() }),
        "m.location" => {
            let place = content["geo_uri"].as_str().unwrap_or_default();
            Some(Said { text: format!("{body}\n{place}").trim_end().to_owned(), ..Said::default() })
        }
        // Clients are to show the body of a kind that they do not know.
        _ => Some(Said { text: unquoted(content, body).to_owned(), ..Said::default() }),
    }
}

/// The question of a poll and its options, a line each.
pub(super) fn asked(content: &Value) -> Option<String> {
    let question = poll_text(&poll(content)?["question"])?;
    let options = options(content).into_iter().map(|(_, text)| format!("\n- {text}"));
    Some(question.to_owned() + &options.collect::<String>())
}

/// #media-captions: the body is a caption only where it is something else than the file's name.
fn with_file(content: &Value, body: &str) -> Said {
    let name = content["filename"].as_str();
    let caption = name.filter(|name| *name != body).map_or("", |_| body);
    let info = &content["info"];
    let found = content["url"].as_str().and_then(address);
    let missing = match (&found, content.get("file")) {
        (Some(_), _) => None,
        (None, Some(_)) => Some("a file is encrypted, which this hub cannot read yet".to_owned()),
        (None, None) => Some("a file has no address in the homeserver's media repository".to_owned()),
    };
    let file = found.map(|(server, media)| MediaFile {
        server,
        media,
        name: Some(name.unwrap_or(body)).filter(|name| !name.is_empty()).map(str::to_owned),
        kind: info["mimetype"].as_str().map(str::to_owned),
        size: info["size"].as_u64().unwrap_or(0),
        voice: content.get("org.matrix.msc3245.voice").is_some() || content.get("m.voice").is_some(),
    });
    Said { text: unquoted(content, caption).to_owned(), file, missing }
}

/// `mxc://SERVER/ID` (<https://spec.matrix.org/v1.18/client-server-api/#matrix-content-mxc-uris>). Other signs could make another
/// path of it.
fn address(uri: &str) -> Option<(String, String)> {
    let (server, media) = uri.strip_prefix("mxc://")?.split_once('/')?;
    let of = |text: &str, others: &[u8]| {
        (1..=255).contains(&text.len())
            && text.bytes().all(|sign| sign.is_ascii_alphanumeric() || others.contains(&sign))
            && text.bytes().any(|sign| sign != b'.')
    };
    (of(server, b".-:[]") && of(media, b"-_")).then(|| (server.to_owned(), media.to_owned()))
}

/// The text without the quote that clients once put before an answer, for programs that know none
/// (<https://spec.matrix.org/v1.12/client-server-api/#fallbacks-for-rich-replies>): it is another's words.
fn unquoted<'a>(content: &Value, body: &'a str) -> &'a str {
    let answers = content["m.relates_to"]["m.in_reply_to"]["event_id"].is_string();
    if !answers || !(body.starts_with("> <@") || body.starts_with("> * <@")) {
        return body;
    }
    let mut rest = body;
    while let Some(line) = rest.strip_prefix('>') {
        rest = line.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest.strip_prefix('\n').unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_is_a_caption_only_beside_another_filename() {
        let image = |body: &str, filename: Value| {
            let content = json!({"msgtype": "m.image", "body": body, "filename": filename, "url": "mxc://hub.test:8448/aB_-9",
                "info": {"mimetype": "image/png", "size": 12}});
            said(&content, false).unwrap()
        };
        let captioned = image("Look!", json!("cat.png"));
        assert_eq!((captioned.text.as_str(), captioned.missing), ("Look!", None));
        let file = captioned.file.unwrap();
        assert_eq!((file.server.as_str(), file.media.as_str(), file.size), ("hub.test:8448", "aB_-9", 12));
        assert_eq!(file.name.as_deref(), Some("cat.png"));
        for bare in [image("cat.png", json!(null)), image("cat.png", json!("cat.png"))] {
            assert_eq!((bare.text.as_str(), bare.file.unwrap().name.as_deref()), ("", Some("cat.png")));
        }
    }

    #[test]
    fn an_address_is_two_names_and_no_path() {
        for bad in [
            "mxc://hub.test",
            "mxc://hub.test/",
            "mxc:///a",
            "mxc://../a",
            "mxc://hub.test/..",
            "mxc://a/b/c",
            "mxc://a/b?c",
            "https://hub.test/a",
            "mxc://ä/b",
            "",
        ] {
            assert_eq!(address(bad), None, "{bad}");
        }
        let lacking =
            said(&json!({"msgtype": "m.file", "body": "a", "file": {"url": "mxc://a/b"}}), false).unwrap();
        assert!(lacking.missing.unwrap().contains("encrypted"));
    }

    #[test]
    fn the_quote_before_an_answer_is_taken_off_and_one_that_somebody_wrote_stays() {
        let reply = json!({"m.in_reply_to": {"event_id": "$e"}});
        let text = |body: &str, relates: &Value| {
            said(&json!({"msgtype": "m.text", "body": body, "m.relates_to": relates}), false).unwrap().text
        };
        assert_eq!(text("> <@ada:hub.test> one\n> two\n\nyes\n> no", &reply), "yes\n> no");
        assert_eq!(text("> <@ada:hub.test> one", &reply), "");
        assert_eq!(text("> wise words\n\nyes", &reply), "> wise words\n\nyes");
        assert_eq!(text("> <@ada:hub.test> one\n\nyes", &json!({})), "> <@ada:hub.test> one\n\nyes");
    }
}
