//! Files out of the homeserver's media repository, into the hub.

use reqwest::StatusCode;
use tokio::time::Instant;

use super::words::MediaFile;
use crate::{
    cause::innermost,
    channels::{
        hub_handle::HubHandle,
        kit::{
            body::Body,
            in_time::{LONGEST, time_for, within},
        },
        matrix::client::Client,
        received::missing,
    },
    message::attachment::Attachment,
};

impl MediaFile {
    /// The line for one that could not be kept, and why.
    pub(super) fn missing(&self, why: &str) -> String {
        missing(self.name.as_deref().unwrap_or("file"), why)
    }
}

impl Client {
    /// Fetches a file and has the hub keep it, until then at the longest; else a line that says why not. Where it lies its sender
    /// says, and the homeserver waits for that one.
    pub(super) async fn keep(
        &self,
        hub: &dyn HubHandle,
        file: &MediaFile,
        until: Instant,
    ) -> Result<Attachment, String> {
        let kept = within(time_for(Some(file.size), until), self.fetch(hub, file)).await;
        kept.map(|kept| Attachment { voice: file.voice, ..kept }).map_err(|why| file.missing(&why))
    }

    /// <https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv1mediadownloadservernamemediaid>
    async fn fetch(&self, hub: &dyn HubHandle, file: &MediaFile) -> Result<Attachment, String> {
        let path = ["_matrix", "client", "v1", "media", "download", &file.server, &file.media];
        let request = self.http.client.get(self.homeserver.at(&path)).bearer_auth(self.http.token().expose());
        let answer = request.timeout(LONGEST).send().await;
        let answer = answer.map_err(|error| self.cause(error))?;
        let status = answer.status();
        if status != StatusCode::OK {
            return Err(format!("the homeserver answered {}", status.as_u16()));
        }
        // The hub has a bound of its own.
        let bytes = Box::new(Body::of(answer, u64::MAX));
        let kept = hub.keep_file(file.name.as_deref(), file.kind.as_deref(), bytes).await;
        kept.map_err(|why| self.http.words(&why.to_string()))
    }

    /// What lies behind an error, without the address.
    pub(super) fn cause(&self, error: reqwest::Error) -> String {
        self.http.words(&innermost(&error.without_url()).to_string())
    }
}
