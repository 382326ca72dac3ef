//! Requests to Cloud Pub/Sub (<https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.subscriptions>).

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::super::{answer::refusal, client::Client, is_id};
use crate::channels::{
    Failure, RateHints,
    kit::http::{Answer, Silence, base::Base, granted::Granted},
    limits::Scope,
};

/// <https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.subscriptions/pull#authorization-scopes>
const SCOPE: &str = "https://www.googleapis.com/auth/pubsub";
/// Events that are pulled at once. Each has a message of 32,000 bytes at most, with its cards.
const TOGETHER: usize = 10;
/// The longest answer to a pull of several, and of one: "10 MB" is the longest message of Pub/Sub's
/// (<https://cloud.google.com/pubsub/quotas#resource_limits>), which is a third longer in base64.
const MAX_TOGETHER: usize = 2 * 1024 * 1024;
const MAX_ALONE: usize = 14 * 1024 * 1024;
/// The longest id by which one is acknowledged; they have about 200 characters.
const MAX_ACK: usize = 4_096;

/// A subscription of the account's.
pub(in crate::channels::googlechat) struct Subscription {
    base: Base,
    project: String,
    name: String,
    granted: Granted,
}

/// Something that was pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pulled {
    /// By what it is acknowledged.
    pub(super) ack: String,
    /// The event; nothing where it is no base64.
    pub(super) event: Option<Vec<u8>>,
}

impl Subscription {
    /// `projects/P/subscriptions/S`
    /// (<https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names>: letters, digits, `-._~+%`).
    pub(in crate::channels::googlechat) fn parse(base: Base, text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let is_project = |id: &str| is_id(&id.replace(':', "-"));
        let is_name = |id: &str| (3..=255).contains(&id.len()) && is_id(&id.replace(['~', '+'], "-"));
        match parts[..] {
            ["projects", project, "subscriptions", name]
                if is_project(project) && is_name(name) && text.len() <= 400 =>
            {
                let (project, name) = (project.to_owned(), name.to_owned());
                Ok(Self { base, project, name, granted: Granted::default() })
            }
            _ => {
                Err("subscription: write projects/PROJECT/subscriptions/NAME, as the console shows it".into())
            }
        }
    }

    /// Waits until something comes, for as long as Google does; at most `longest`.
    pub(super) async fn pull(
        &self,
        client: &Client,
        alone: bool,
        longest: Duration,
    ) -> Result<Vec<Pulled>, Failure> {
        let body = json!({ "maxMessages": if alone { 1 } else { TOGETHER } });
        let bound = if alone { MAX_ALONE } else { MAX_TOGETHER };
        let said = self.ask(client, "pull", &body, bound, longest).await?;
        let all = said["receivedMessages"].as_array().into_iter().flatten().take(TOGETHER);
        Ok(all.filter_map(pulled).collect())
    }

    /// Those need not be told again.
    pub(super) async fn acknowledge(&self, client: &Client, acks: &[String]) -> Result<(), Failure> {
        let body = json!({ "ackIds": acks });
        self.ask(client, "acknowledge", &body, MAX_TOGETHER, crate::channels::kit::http::TIMEOUT)
            .await
            .map(drop)
    }

    /// Those are being read: they are told again after `lasts` at the earliest.
    pub(super) async fn hold(
        &self,
        client: &Client,
        acks: &[String],
        lasts: Duration,
    ) -> Result<(), Failure> {
        let body = json!({ "ackIds": acks, "ackDeadlineSeconds": lasts.as_secs() });
        self.ask(client, "modifyAckDeadline", &body, MAX_TOGETHER, crate::channels::kit::http::TIMEOUT)
            .await
            .map(drop)
    }

    async fn ask(
        &self,
        client: &Client,
        verb: &str,
        body: &Value,
        bound: usize,
        longest: Duration,
    ) -> Result<Value, Failure> {
        let hints = &mut RateHints::default();
        let token = client.token_for(&self.granted, SCOPE, hints).await?;
        let mut url = self.base.at(&["v1", "projects", &self.project, "subscriptions"]);
        let path = format!("{}/{}:{verb}", url.path(), self.name);
        url.set_path(&path);
        let http = client.http();
        let request = http.client.post(url).bearer_auth(token.expose()).json(body);
        let answer = read(client, request, bound, longest).await.map_err(Silence::harmless)?;
        if answer.status.is_success() {
            return Ok(answer.body);
        }
        let said = refusal(&answer);
        let hint = match answer.status {
            StatusCode::FORBIDDEN => {
                "; give the service account the role Pub/Sub Subscriber on the subscription"
            }
            StatusCode::NOT_FOUND => {
                "; there is no such subscription: one that is not used for 31 days may expire"
            }
            _ => "",
        };
        let words = http.words(&format!("{} {}{hint}", answer.status.as_u16(), said.status));
        if answer.status == StatusCode::UNAUTHORIZED {
            return Err(match self.granted.refused(&token).await {
                true => Failure::Retry(format!(
                    "Pub/Sub refused the access token: {words}; a new one is asked for"
                )),
                false => Failure::Permanent(format!("Pub/Sub refused the access token: {words}")),
            });
        }
        Err(http.classify(&answer, &format!("Pub/Sub: {words}"), Scope::Account, hints).harmless())
    }
}

/// The answer to a request that may wait long before it begins, and be longer than others.
async fn read(
    client: &Client,
    request: RequestBuilder,
    bound: usize,
    longest: Duration,
) -> Result<Answer, Silence> {
    let http = client.http();
    let mut response = request.timeout(longest).send().await.map_err(|error| http.silence(error))?;
    let (status, mut bytes) = (response.status(), Vec::new());
    while let Some(chunk) = response.chunk().await.map_err(|error| http.silence(error))? {
        if bytes.len() + chunk.len() > bound {
            return Err(Silence::Lost(TOO_LONG.into()));
        }
        bytes.extend_from_slice(&chunk);
    }
    Answer::decode(status, None, &bytes).map_err(|_| Silence::Lost("Pub/Sub's answer is no JSON".into()))
}

/// What a pull says that brings more than is read at once.
pub(super) const TOO_LONG: &str = "what Pub/Sub tells at once is too long";

fn pulled(message: &Value) -> Option<Pulled> {
    let ack = message["ackId"].as_str().filter(|ack| (1..=MAX_ACK).contains(&ack.len()))?;
    let data = message["message"]["data"].as_str().and_then(|data| STANDARD.decode(data).ok());
    Some(Pulled { ack: ack.to_owned(), event: data })
}
