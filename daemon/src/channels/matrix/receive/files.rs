//! Files out of the homeserver's media repository, into the hub.

use std::time::Duration;

use reqwest::StatusCode;

use super::words::MediaFile;
use crate::{
    cause::innermost,
    channels::{
        hub_handle::HubHandle,
        kit::{body::Body, http::Http},
        matrix::client::Client,
    },
    message::attachment::Attachment,
};

/// The longest that one file is waited for: who writes next waits as well.
const LONGEST: Duration = Duration::from_mins(2);

impl Client {
    /// Fetches a file and has the hub keep it; in words, why that is not so.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv1mediadownloadservernamemediaid>
    pub(super) async fn keep(&self, hub: &dyn HubHandle, file: &MediaFile) -> Result<Attachment, String> {
        let path = ["_matrix", "client", "v1", "media", "download", &file.server, &file.media];
        let request = self.http.client.get(self.homeserver.at(&path)).bearer_auth(self.http.token().expose());
        let answer = request.timeout(Http::longest(file.size).min(LONGEST)).send().await;
        let answer = answer.map_err(|error| format!("a file did not come: {}", self.cause(error)))?;
        let status = answer.status();
        if status != StatusCode::OK {
            return Err(format!("a file did not come: the homeserver answered {}", status.as_u16()));
        }
        // The hub has a bound of its own.
        let bytes = Box::new(Body::of(answer, u64::MAX));
        let kept = hub.keep_file(file.name.as_deref(), file.kind.as_deref(), bytes).await;
        let kept = kept.map_err(|why| self.http.words(&why.to_string()))?;
        Ok(Attachment { voice: file.voice, ..kept })
    }

    /// What lies behind an error, without the address.
    pub(super) fn cause(&self, error: reqwest::Error) -> String {
        self.http.words(&innermost(&error.without_url()).to_string())
    }
}
