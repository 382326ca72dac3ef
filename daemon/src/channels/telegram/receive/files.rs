//! Files that somebody sent: fetched at once, because their addresses hold for an hour
//! (<https://core.telegram.org/bots/api#getfile>).

use crate::{
    channels::{
        Failure,
        hub_handle::HubHandle,
        kit::{body::Body, http::Http},
        received::missing,
        telegram::client::Client,
    },
    message::attachment::Attachment,
};

/// "bots can download files of up to 20MB in size" (<https://core.telegram.org/bots/api#getfile>).
pub(super) const LARGEST: u64 = 20 * 1024 * 1024;

/// A file that is still at Telegram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    /// By which it is asked for.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: Option<String>,
    pub(super) size: Option<u64>,
    pub(super) voice: bool,
}

/// Fetches a file and gives it to the hub; else a line that says why not.
pub(super) async fn keep(client: &Client, hub: &dyn HubHandle, sent: &Sent) -> Result<Attachment, String> {
    let named = |why: String| missing(&sent.name, &why);
    if let Some(size) = sent.size.filter(|size| *size > LARGEST) {
        return Err(named(format!("{} MB; Telegram gives a bot 20 MB at most", size.div_ceil(1024 * 1024))));
    }
    // Nothing was shown to anybody yet: what was lost is asked for once more.
    let kept = match fetch(client, hub, sent).await {
        Err(Failure::Retry(_)) => fetch(client, hub, sent).await,
        kept => kept,
    };
    kept.map(|kept| Attachment { voice: sent.voice, ..kept }).map_err(|failure| named(failure.to_string()))
}

async fn fetch(client: &Client, hub: &dyn HubHandle, sent: &Sent) -> Result<Attachment, Failure> {
    let path = client.path_of(&sent.id).await?;
    let response = client.download(&path, Http::longest(sent.size.unwrap_or(LARGEST))).await?;
    let body = Box::new(Body::of(response, LARGEST));
    let kept = hub.keep_file(Some(&sent.name), sent.kind.as_deref(), body).await;
    kept.map_err(|why| Failure::Permanent(why.to_string()))
}
