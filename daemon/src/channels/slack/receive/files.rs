//! Files that people send, fetched at once: an agent is told of a message with them.
//!
//! The bot's token goes to Slack's own hosts alone. Where a scope is missing, Slack does not refuse: it sends the page at which
//! people sign in (<https://docs.slack.dev/reference/objects/file-object>, `url_private`).

use std::time::Duration;

use reqwest::{
    Response, Url,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName},
};
use tokio::time::{Instant, timeout_at};

use super::draft::Link;
use crate::{
    cause::innermost,
    channels::{RateHints, hub_handle::HubHandle, kit::body::Body, received::Words, slack::client::Client},
    message::attachment::Attachment,
};

/// For all files of a message together. What takes more than three seconds Slack tells again meanwhile, which is known by its key.
const IN_ALL: Duration = Duration::from_mins(1);

const NO_SCOPE: &str = "Slack shows a page to sign in at instead: the app needs files:read; add the scope and install the app again";

/// Fetches files, one after the other, and says which are missing.
pub(super) async fn fetch_all(client: &Client, hub: &dyn HubHandle, links: Vec<Link>, words: &mut Words) {
    let until = Instant::now() + IN_ALL;
    for link in links {
        let fetched = timeout_at(until, fetch(client, hub, &link)).await;
        match fetched.unwrap_or_else(|_| Err("it takes too long".into())) {
            Ok(file) => words.files.push(file),
            Err(why) => words.missing.push(format!("{}: {why}", link.name)),
        }
    }
}

async fn fetch(client: &Client, hub: &dyn HubHandle, link: &Link) -> Result<Attachment, String> {
    let url = match &link.url {
        Some(url) => url.clone(),
        None => ask(client, &link.id).await?,
    };
    let url = Url::parse(&url).ok().filter(|url| is_slacks(client, url));
    let url = url.ok_or("it is at no address of Slack's")?;
    let failed = |error: reqwest::Error| {
        client.http.words(&format!("it cannot be fetched: {}", innermost(&error.without_url())))
    };
    let request = client.http.client.get(url).bearer_auth(client.http.token().expose());
    let response = request.send().await.map_err(failed)?;
    match response.status().as_u16() {
        200 if is_sign_in(&response, link) => return Err(NO_SCOPE.into()),
        200 => {}
        302 | 401 | 403 => return Err(NO_SCOPE.into()),
        status => return Err(format!("Slack answered {status}")),
    }
    // The hub has a bound of its own.
    let body = Box::new(Body::of(response, u64::MAX));
    let kept = hub.keep_file(Some(&link.name), link.kind.as_deref(), body).await;
    kept.map_err(|not_kept| client.http.words(&not_kept.to_string()))
}

/// Where a file is that other workspaces share (`check_file_info` in
/// <https://docs.slack.dev/apis/slack-connect/#files>).
async fn ask(client: &Client, file: &str) -> Result<String, String> {
    let hints = &mut RateHints::default();
    let said = client.question("files.info", &[("file", file)], hints).await;
    let said = said.map_err(|failure| failure.to_string())?;
    let urls = [&said["file"]["url_private_download"], &said["file"]["url_private"]];
    let url = urls.into_iter().find_map(|url| url.as_str());
    url.map(str::to_owned).ok_or_else(|| "Slack does not say where it is".into())
}

/// Whether an answer is a page and no file: a file that is a page itself has the size that Slack says.
fn is_sign_in(response: &Response, link: &Link) -> bool {
    let header = |name: HeaderName| response.headers().get(name).and_then(|value| value.to_str().ok());
    let is_page = header(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/html"));
    let length = header(CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    let is_itself = link.kind.as_deref() == Some("text/html") && length.is_some() && length == link.size;
    is_page && !is_itself
}

/// Over TLS at Slack, or where the account's own requests go.
fn is_slacks(client: &Client, url: &Url) -> bool {
    let own = client.base.at(&[]);
    let is_own = (url.scheme(), url.host_str(), url.port()) == (own.scheme(), own.host_str(), own.port());
    let hosts = [".slack.com", ".slack-gov.com"];
    is_own
        || (url.scheme() == "https"
            && url.host_str().is_some_and(|host| hosts.iter().any(|slack| host.ends_with(slack))))
}
