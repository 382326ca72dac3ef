//! Files, which the server hands over as they lie on the Mac: pictures and recordings that only Apple's programs read it makes into JPEG
//! and MP3 on the way (`AttachmentRouter.download`, `routers/attachmentRouter.ts` at 2d43933).

use std::time::Duration;

use reqwest::{StatusCode, header::CONTENT_TYPE};
use tokio::time::{Instant, sleep};

use super::super::source::Sent;
use crate::{
    channels::{
        RateHints,
        hub_handle::HubHandle,
        imessage::api::Api,
        kit::{
            body::Body,
            http::Silence,
            in_time::{LONGEST, time_for, within},
        },
    },
    message::attachment::Attachment,
};

/// How often one is asked for that Messages has not fetched yet.
const TRIES: u32 = 4;
/// What the server makes another file of, by the end of its name, and what that is then.
const MADE: [(&str, &str, &str); 4] = [
    ("heic", "image/jpeg", "jpeg"),
    ("heif", "image/jpeg", "jpeg"),
    ("tiff", "image/jpeg", "jpeg"),
    ("caf", "audio/mp", "mp3"),
];

/// Fetches a file and gives it to the hub, until then at the longest; else a line that says why not.
pub(super) async fn keep(
    api: &Api,
    hub: &dyn HubHandle,
    sent: &Sent,
    until: Instant,
    pause: Duration,
) -> Result<Attachment, String> {
    let kept = within(time_for(sent.size, until), fetch(api, hub, sent, pause)).await;
    kept.map(|kept| Attachment { voice: sent.voice, ..kept })
        .map_err(|why| sent.missing(&api.http.words(&why)))
}

async fn fetch(api: &Api, hub: &dyn HubHandle, sent: &Sent, pause: Duration) -> Result<Attachment, String> {
    let mut tries = 1;
    let response = loop {
        let request = api.http.client.get(api.at(&["attachment", &sent.at, "download"]));
        let why = match api.http.stream(request, LONGEST, &mut RateHints::default()).await {
            Ok(Ok(response)) => break response,
            Ok(Err(answer)) => {
                // It is not on the Mac yet, or Messages has not fetched it ("does not exist in disk").
                let may_come =
                    matches!(answer.status, StatusCode::NOT_FOUND | StatusCode::INTERNAL_SERVER_ERROR);
                let why = format!("BlueBubbles answered {}", answer.status.as_u16());
                if !may_come {
                    return Err(why);
                }
                why
            }
            Err(Silence::NotSent(why) | Silence::Lost(why)) => why,
        };
        if tries == TRIES {
            return Err(why);
        }
        tries += 1;
        sleep(pause).await;
    };
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
    let name = sent.name.as_deref().map(|name| named(name, kind.as_deref().unwrap_or_default()));
    let kind = kind.or_else(|| sent.kind.clone());
    let body = Body::of(response, u64::MAX);
    let kept = hub.keep_file(name.as_deref(), kind.as_deref(), Box::new(body)).await;
    kept.map_err(|why| why.to_string())
}

/// What the file that came is called: the name is of what lies on the Mac.
fn named(name: &str, kind: &str) -> String {
    let Some((stem, end)) = name.rsplit_once('.') else { return name.to_owned() };
    let end = end.to_ascii_lowercase();
    let made = MADE.iter().find(|(was, becomes, _)| *was == end && kind.starts_with(becomes));
    made.map_or_else(|| name.to_owned(), |(.., now)| format!("{stem}.{now}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_makes_another_file_of_has_another_name() {
        for (name, kind, is) in [
            ("IMG_1.HEIC", "image/jpeg", "IMG_1.jpeg"),
            ("IMG_1.HEIC", "image/heic", "IMG_1.HEIC"),
            ("Audio Message.caf", "audio/mp3", "Audio Message.mp3"),
            ("a.b.pdf", "application/pdf", "a.b.pdf"),
            ("none", "image/jpeg", "none"),
        ] {
            assert_eq!(named(name, kind), is, "{name} {kind}");
        }
    }
}
