//! Files that people send: Meta says where one is, for some minutes, and hands it over to the account's token
//! (<https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media>).
//!
//! The token goes to Meta's own host for files, or to where the account's API is, and to nobody else, whatever an answer names.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost_link::Digest;
use reqwest::{StatusCode, Url};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::{
    channels::{
        Failure, RateHints,
        hub_handle::HubHandle,
        kit::{
            body::Body,
            http::{Silence, base::Base},
        },
        received::missing,
        whatsapp::graph::Graph,
    },
    message::attachment::{self, Attachment},
};

/// Where files are: `lookaside.fbsbx.com`.
const HOSTS: &str = ".fbsbx.com";
/// The longest id of a file, in characters.
const MAX_ID: usize = 128;

/// A file that is still at Meta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
    /// Of its bytes, as Meta had them from the sender.
    sha256: Option<Digest>,
    voice: bool,
    /// What it is for people: `image`.
    what: String,
}

impl Sent {
    /// The file of a message of this type.
    pub(super) fn read(what: &str, object: &Value) -> Option<Self> {
        let word = |name: &str, most: usize| -> Option<String> {
            let word = object[name].as_str().filter(|word| !word.is_empty());
            word.map(|word| word.chars().take(most).collect())
        };
        let id = object["id"].as_str()?;
        let is_one = (1..=MAX_ID).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric());
        Some(Self {
            id: is_one.then(|| id.to_owned())?,
            name: word("filename", 200),
            // Behind a `;` stands how it is encoded.
            kind: word("mime_type", 100)
                .map(|kind| kind.split(';').next().unwrap_or(&kind).trim().to_owned()),
            sha256: digest(&object["sha256"]),
            voice: object["voice"] == true,
            what: what.to_owned(),
        })
    }

    fn named(&self, why: &str) -> String {
        missing(self.name.as_deref().unwrap_or(&self.what), why)
    }
}

/// A digest as messages have it, in base64, or as the API does, in hexadecimal digits.
fn digest(value: &Value) -> Option<Digest> {
    let text = value.as_str()?;
    let decoded = || Some(Digest(STANDARD.decode(text).ok()?.try_into().ok()?));
    attachment::digest(text).or_else(decoded)
}

/// Fetches a file and gives it to the hub; else a line that says why not.
pub(super) async fn keep(
    graph: &Graph,
    hub: &dyn HubHandle,
    sent: &Sent,
    until: Instant,
) -> Result<Attachment, String> {
    let kept = timeout_at(until, fetch(graph, hub, sent, until)).await;
    let kept = kept.unwrap_or_else(|_| Err("it takes too long".into()));
    let kept = kept.map_err(|why| sent.named(&graph.http().words(&why)))?;
    match sent.sha256 {
        Some(digest) if digest != kept.sha256 => Err(sent.named("its bytes are not those that were sent")),
        _ => Ok(Attachment { voice: sent.voice, ..kept }),
    }
}

async fn fetch(
    graph: &Graph,
    hub: &dyn HubHandle,
    sent: &Sent,
    until: Instant,
) -> Result<Attachment, String> {
    let (address, size) = address(graph, sent).await?;
    let hints = &mut RateHints::default();
    let request = graph.http().client.get(address).bearer_auth(graph.http().token().expose());
    let left = until.saturating_duration_since(Instant::now());
    let response = match graph.http().stream(request, left, hints).await {
        Ok(Ok(response)) if response.status() == StatusCode::OK => response,
        Ok(Ok(response)) => return Err(format!("Meta answered {}", response.status().as_u16())),
        Ok(Err(answer)) => return Err(format!("Meta answered {}", answer.status.as_u16())),
        Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(why),
    };
    let body = Body::of(response, size.unwrap_or(u64::MAX));
    let kept = hub.keep_file(sent.name.as_deref(), sent.kind.as_deref(), Box::new(body)).await;
    kept.map_err(|why| why.to_string())
}

/// Where it is, and how large.
async fn address(graph: &Graph, sent: &Sent) -> Result<(Url, Option<u64>), String> {
    let hints = &mut RateHints::default();
    let mut renewed = false;
    let answer = loop {
        let mut url = graph.base().at(&[&sent.id]);
        url.query_pairs_mut().append_pair("phone_number_id", graph.number());
        let answer = match graph.ask(graph.http().client.get(url), hints).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(why),
        };
        if answer.status.is_success() {
            break answer.body;
        }
        match graph.classify(&answer, hints) {
            // There may be a new token.
            Failure::Retry(_) if !renewed => renewed = true,
            failure => return Err(failure.to_string()),
        }
    };
    let address = answer["url"].as_str().and_then(|url| Url::parse(url).ok());
    let address = address.ok_or("Meta does not say where it is")?;
    if !is_trusted(&address, graph.base()) {
        return Err("it lies at a host that is not Meta's".into());
    }
    let size = &answer["file_size"];
    Ok((address, size.as_u64().or_else(|| size.as_str()?.parse().ok())))
}

/// Whether the token may go there.
fn is_trusted(address: &Url, api: &Base) -> bool {
    let of_meta = address.scheme() == "https"
        && address.port().is_none()
        && address.host_str().is_some_and(|host| host.ends_with(HOSTS));
    of_meta || address.origin() == api.at(&[]).origin()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_goes_to_meta_and_to_the_accounts_own_api_alone() {
        let api = Base::parse("graph_url", "https://graph.facebook.com/v24.0").unwrap();
        for (address, trusted) in [
            ("https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1&hash=x", true),
            ("https://graph.facebook.com/x", true),
            ("http://lookaside.fbsbx.com/x", false),
            ("https://lookaside.fbsbx.com:8443/x", false),
            ("https://fbsbx.com.example.org/x", false),
            ("https://evilfbsbx.com/x", false),
            ("https://lookaside.fbsbx.com@example.org/x", false),
            ("http://graph.facebook.com/x", false),
            ("http://127.0.0.1/x", false),
        ] {
            assert_eq!(is_trusted(&Url::parse(address).unwrap(), &api), trusted, "{address}");
        }
    }

    #[test]
    fn a_digest_is_the_same_in_either_spelling() {
        let digest_of = Digest::of(b"hello");
        for text in [digest_of.to_string(), STANDARD.encode(digest_of.0)] {
            assert_eq!(digest(&json!(text)), Some(digest_of), "{text}");
        }
        for other in ["", "x", "aGVsbG8="] {
            assert_eq!(digest(&json!(other)), None, "{other}");
        }
    }
}
