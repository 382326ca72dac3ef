//! Files that somebody sent: fetched at once, because their addresses hold for an hour
//! (<https://core.telegram.org/bots/api#getfile>).

use tokio::time::Instant;

use crate::{
    channels::{
        Failure,
        hub_handle::HubHandle,
        kit::{
            body::Body,
            http::Http,
            in_time::{time_for, within},
        },
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

impl Sent {
    /// The line for one that could not be kept, and why.
    pub(super) fn missing(&self, why: &str) -> String {
        missing(&self.name, why)
    }
}

/// Fetches a file and gives it to the hub, until then at the longest; else a line that says why not.
pub(super) async fn keep(
    client: &Client,
    hub: &dyn HubHandle,
    sent: &Sent,
    until: Instant,
) -> Result<Attachment, String> {
    if let Some(size) = sent.size.filter(|size| *size > LARGEST) {
        let why = format!("{} MB; Telegram gives a bot 20 MB at most", size.div_ceil(1024 * 1024));
        return Err(sent.missing(&why));
    }
    // Nothing was shown to anybody yet: what was lost is asked for once more.
    let twice = async {
        let kept = match fetch(client, hub, sent).await {
            Err(Failure::Retry(_)) => fetch(client, hub, sent).await,
            kept => kept,
        };
        kept.map_err(|failure| failure.to_string())
    };
    let kept = within(time_for(sent.size.or(Some(LARGEST)), until), twice).await;
    kept.map(|kept| Attachment { voice: sent.voice, ..kept }).map_err(|why| sent.missing(&why))
}

async fn fetch(client: &Client, hub: &dyn HubHandle, sent: &Sent) -> Result<Attachment, Failure> {
    let path = client.path_of(&sent.id).await?;
    let response = client.download(&path, Http::longest(sent.size.unwrap_or(LARGEST))).await?;
    let body = Box::new(Body::of(response, LARGEST));
    let kept = hub.keep_file(Some(&sent.name), sent.kind.as_deref(), body).await;
    kept.map_err(|why| Failure::Permanent(why.to_string()))
}
