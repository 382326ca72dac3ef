//! Files that were uploaded: fetched at once, for the server keeps them for some hours.
//!
//! A message may point to any address. Nobody but the account's own server is ever asked, and there only for what lies in its
//! `/file`, under the name that the address ends with: so nobody who may publish makes the hub ask somebody in its own network.

use std::time::Duration;

use reqwest::StatusCode;

use super::{super::Ntfy, event::Sent};
use crate::{
    channels::{
        RateHints,
        hub_handle::HubHandle,
        kit::{
            body::Body,
            http::{Http, Silence},
        },
        received::missing,
    },
    message::attachment::Attachment,
};

/// The longest that one file is waited for: what was published next waits as well.
const LONGEST: Duration = Duration::from_mins(2);

/// Fetches a file and gives it to the hub; else a line that says why not.
pub(super) async fn keep(ntfy: &Ntfy, hub: &dyn HubHandle, sent: &Sent) -> Result<Attachment, String> {
    let named = |why: &str| missing(&sent.name, &ntfy.http.words(why));
    let request = ntfy.signed(ntfy.http.client.get(ntfy.url.at(&["file", &sent.file])));
    let longest = Http::longest(sent.size.unwrap_or(u64::MAX)).min(LONGEST);
    let response = match ntfy.http.stream(request, longest, &mut RateHints::default()).await {
        Ok(Ok(response)) if response.status() == StatusCode::OK => response,
        Ok(Ok(response)) => return Err(named(&format!("ntfy answered {}", response.status().as_u16()))),
        Ok(Err(answer)) => return Err(named(&format!("ntfy answered {}", answer.status.as_u16()))),
        Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(named(&why)),
    };
    // The hub has a bound of its own.
    let body = Box::new(Body::of(response, u64::MAX));
    let kept = hub.keep_file(Some(&sent.name), sent.kind.as_deref(), body).await;
    kept.map_err(|why| named(&why.to_string()))
}
