//! Files that people send: fetched at once, for their addresses expire within a day.
//!
//! Nothing is asked of any other host than Discord's own, and nobody is told the bot's token there.

use std::time::Duration;

use reqwest::{Url, header::USER_AGENT};
use tokio::time::timeout;

use super::draft::Link;
use crate::{
    cause::innermost,
    channels::{
        discord::client::{AGENT, Client},
        hub_handle::HubHandle,
        kit::body::Body,
        received::Words,
    },
    message::attachment::Attachment,
};

/// For all files of a message together.
const IN_ALL: Duration = Duration::from_mins(2);

/// Whose hosts have the files that people send (<https://docs.discord.com/developers/reference#cdn-formatting>).
const HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

/// Fetches files, one after the other, and says which are missing.
pub(super) async fn fetch_all(client: &Client, hub: &dyn HubHandle, links: Vec<Link>, words: &mut Words) {
    let until = tokio::time::Instant::now() + IN_ALL;
    for link in links {
        let left = until.saturating_duration_since(tokio::time::Instant::now());
        let fetched = timeout(left, fetch(client, hub, &link)).await;
        match fetched.unwrap_or_else(|_| Err("it takes too long".into())) {
            Ok(file) => words.files.push(file),
            Err(why) => words.missing.push(format!("{}: {why}", link.name)),
        }
    }
}

async fn fetch(client: &Client, hub: &dyn HubHandle, link: &Link) -> Result<Attachment, String> {
    let url = Url::parse(&link.url).ok().filter(|url| is_discords(client, url));
    let url = url.ok_or("it is at no address of Discord's")?;
    let failed = |error: reqwest::Error| {
        client.http.words(&format!("it cannot be fetched: {}", innermost(&error.without_url())))
    };
    let response = client.http.client.get(url).header(USER_AGENT, AGENT).send().await.map_err(failed)?;
    if !response.status().is_success() {
        return Err(format!("Discord answered {}", response.status().as_u16()));
    }
    // The hub has a bound of its own.
    let body = Box::new(Body::of(response, u64::MAX));
    let kept = hub.keep_file(Some(&link.name), link.kind.as_deref(), body).await;
    kept.map_err(|not_kept| client.http.words(&not_kept.to_string()))
}

/// Over TLS at Discord, or where the account's own requests go.
fn is_discords(client: &Client, url: &Url) -> bool {
    let own = client.base.at(&[]);
    let is_own = (url.scheme(), url.host_str(), url.port()) == (own.scheme(), own.host_str(), own.port());
    is_own || (url.scheme() == "https" && url.host_str().is_some_and(|host| HOSTS.contains(&host)))
}
