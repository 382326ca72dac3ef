//! Requests to the Chat API, and whether they arrived.
//!
//! An app's requests carry an access token, which it gets for a signed statement; a webhook's carry nothing but the
//! secret that its address is. Neither is ever in an error.

use std::time::{Duration, SystemTime};

use reqwest::{Method, RequestBuilder, Response, StatusCode, Url, header::CONTENT_TYPE};
use serde_json::{Map, Value};

use super::{
    answer::{created, refusal, verdict},
    key::{Replaceable, SCOPE, ServiceAccount},
    request::Request,
    space,
};
use crate::{
    channels::{
        Failure, Located, PartKey, RateHints,
        kit::{
            http::{Answer, Http, Reader, Silence, Verdict, base::Base, granted::Granted, token::Token},
            removals::Removals,
        },
        limits::Scope,
    },
    settings::secret::Secret,
};

/// "Requires app authentication"
/// (<https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/create#NotificationType>).
const SILENT: (&str, &str) =
    ("createMessageNotificationOptions.notificationType", "NOTIFICATION_TYPE_SILENT");
/// The member of a message that quotes another one.
const QUOTED: &str = "quotedMessageMetadata";

/// A message goes into the thread that it names or nowhere: another place is not what was approved.
const OR_FAIL: (&str, &str) = ("messageReplyOption", "REPLY_MESSAGE_OR_FAIL");

/// An account's way to its spaces.
pub(super) struct Client {
    http: Http,
    pub(super) way: Route,
    removals: Removals,
}

/// As whom it speaks.
pub(super) enum Route {
    /// As an app.
    App {
        /// The API.
        base: Base,
        /// Who it is.
        account: Box<Replaceable>,
        /// What it was let in with.
        granted: Granted,
    },
    /// As the webhook of one space.
    Webhook {
        /// `spaces/ID`.
        space: String,
    },
}

impl Client {
    /// An app.
    pub(super) fn app(http: reqwest::Client, base: Base, account: Replaceable) -> Self {
        let way = Route::App { base, account: Box::new(account), granted: Granted::default() };
        // Its secret stays in the account; what is masked of words is the access token, which is not known yet.
        Self {
            http: Http::new(http, "Google Chat", Secret::from("-----BEGIN PRIVATE KEY-----")),
            way,
            removals: Removals::default(),
        }
    }

    /// A webhook, whose address is its secret.
    pub(super) fn webhook(http: reqwest::Client, address: Token) -> Result<Self, String> {
        const WHAT: &str =
            "webhook: its address is https://chat.googleapis.com/v1/spaces/…/messages?key=…&token=…";
        let url = Url::parse(address.now().expose()).map_err(|_| WHAT)?;
        let path: Vec<&str> = url.path_segments().ok_or(WHAT)?.collect();
        let named = match path.as_slice() {
            [.., "spaces", id, "messages"] => space(&format!("spaces/{id}")).map_err(|_| WHAT)?,
            _ => return Err(WHAT.into()),
        };
        let has = |name: &str| url.query_pairs().any(|(key, value)| key == name && !value.is_empty());
        if !matches!(url.scheme(), "https" | "http") || !has("key") || !has("token") {
            return Err(WHAT.into());
        }
        Ok(Self {
            http: Http::new(http, "Google Chat", address),
            way: Route::Webhook { space: named },
            removals: Removals::default(),
        })
    }

    /// Performs a request; returns the name of what it made or was done to.
    pub(super) async fn perform(
        &self,
        request: Request,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        match request {
            Request::Create { space, answers, opens, quotes, silent, mut message } => {
                if let Some(answered) = answers {
                    let (thread, quoted) = self.answered(&answered, hints).await?;
                    message.insert("thread".into(), thread);
                    if let Some(quoted) = quoted.filter(|_| quotes) {
                        message.insert(QUOTED.into(), quoted);
                    }
                }
                self.create(&space, opens, silent, message, key, hints).await
            }
            Request::Update { name, message } => {
                let query = [("updateMask", message.keys().cloned().collect::<Vec<_>>().join(","))];
                self.ask(Method::PATCH, &name, &query, Some(&message), hints).await.map(|_| name)
            }
            Request::Delete { name } => {
                let (gone, ended) = match self.send(Method::DELETE, &name, &[], None, hints).await {
                    Ok(answer) if answer.status.is_success() => (false, Ok(())),
                    Ok(answer) => {
                        (answer.status == StatusCode::NOT_FOUND, Err(self.classify(&answer, hints).await))
                    }
                    Err(failure) => (false, Err(failure)),
                };
                self.removals.settle(key, gone, ended).map(|_| name)
            }
        }
    }

    async fn create(
        &self,
        space: &str,
        opens: bool,
        silent: bool,
        mut message: Map<String, Value>,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        let mut query = vec![("requestId", key.0.clone())];
        // "client-", lower case, digits and hyphens, 63 at most.
        let named = format!("client-{}", key.0);
        if let Route::App { .. } = self.way {
            query.push(("messageId", named.clone()));
        }
        if message.contains_key("thread") {
            query.push((OR_FAIL.0, OR_FAIL.1.to_owned()));
        }
        if silent && matches!(self.way, Route::App { .. }) {
            query.push((SILENT.0, SILENT.1.to_owned()));
        }
        let path = format!("{space}/messages");
        let mut answer = self.send(Method::POST, &path, &query, Some(&message), hints).await?;
        // What is quoted was changed meanwhile, or is none that can be quoted here: the answer stands in its thread.
        if refusal(&answer).status == "INVALID_ARGUMENT" && message.remove(QUOTED).is_some() {
            answer = self.send(Method::POST, &path, &query, Some(&message), hints).await?;
        }
        match answer {
            answer if answer.status.is_success() => {
                created(&answer.body, opens).map_err(|verdict| self.http.settle(verdict, hints))
            }
            // It is there under the part's own name.
            answer
                if answer.status == StatusCode::CONFLICT && refusal(&answer).status == "ALREADY_EXISTS" =>
            {
                Ok(format!("{path}/{named}"))
            }
            answer => Err(self.classify(&answer, hints).await),
        }
    }

    /// The thread of a message, and how it is quoted.
    ///
    /// <https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/get>,
    /// <https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages#QuotedMessageMetadata>: the time is
    /// when it was changed last, or else made.
    async fn answered(
        &self,
        message: &str,
        hints: &mut RateHints,
    ) -> Result<(Value, Option<Value>), Failure> {
        let found = self.ask(Method::GET, message, &[], None, hints).await.map_err(Failure::harmless)?;
        let time = found["lastUpdateTime"].as_str().or(found["createTime"].as_str());
        let quoted = time
            .map(|time| serde_json::json!({ "name": message, "lastUpdateTime": time, "quoteType": "REPLY" }));
        match found["thread"]["name"].as_str() {
            Some(name) => Ok((serde_json::json!({ "name": name }), quoted)),
            None => Err(Failure::Permanent(
                "the answered message is in no thread: send it without a reply".into(),
            )),
        }
    }

    /// Whether a message is there, and in which thread: every one is in one.
    pub(super) async fn locate(&self, message: &str) -> Result<Located, Failure> {
        let hints = &mut RateHints::default();
        if let Route::Webhook { .. } = self.way {
            return Ok(Located::Unknown);
        }
        let answer = self.send(Method::GET, message, &[], None, hints).await.map_err(Failure::harmless)?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(Located::Elsewhere);
        }
        if !answer.status.is_success() {
            return Err(self.classify(&answer, hints).await.harmless());
        }
        Ok(Located::Here { thread: answer.body["thread"]["name"].as_str().map(str::to_owned) })
    }

    /// Whether it could send, and as whom. A webhook cannot be asked; that it is well-formed was seen when it was opened.
    pub(super) async fn ready(&self) -> Result<String, String> {
        let hints = &mut RateHints::default();
        match &self.way {
            Route::App { account, .. } => {
                let query = [("pageSize", "1".to_owned())];
                let said = self
                    .ask(Method::GET, "spaces", &query, None, hints)
                    .await
                    .map_err(|failure| failure.to_string())?;
                match said["spaces"].as_array().is_some_and(|spaces| !spaces.is_empty()) {
                    true => Ok(account.now().email.clone()),
                    false => Err(format!("{} is in no space: add the Chat app to one", account.now().email)),
                }
            }
            Route::Webhook { space } => {
                Ok(format!("a webhook of {space}; whether Google still knows it, only a message shows"))
            }
        }
    }

    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<&Map<String, Value>>,
        hints: &mut RateHints,
    ) -> Result<Value, Failure> {
        let answer = self.send(method, path, query, body, hints).await?;
        if answer.status.is_success() { Ok(answer.body) } else { Err(self.classify(&answer, hints).await) }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<&Map<String, Value>>,
        hints: &mut RateHints,
    ) -> Result<Answer, Failure> {
        let mut request = match &self.way {
            Route::App { base, .. } => {
                let path: Vec<&str> = std::iter::once("v1").chain(path.split('/')).collect();
                let token = self.access(hints).await?;
                self.request(method, base.at(&path), query).bearer_auth(token.expose())
            }
            Route::Webhook { .. } => {
                let url = Url::parse(self.http.token().expose())
                    .map_err(|_| Failure::Permanent("the webhook's address is none any more".into()))?;
                self.request(method, url, query)
            }
        };
        if let Some(body) = body {
            request = request.json(body);
        }
        Ok(self.http.ask(request, hints).await?)
    }

    fn request(&self, method: Method, mut url: Url, query: &[(&str, String)]) -> RequestBuilder {
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.http.client.request(method, url)
    }

    /// An access token.
    async fn access(&self, hints: &mut RateHints) -> Result<Secret, Failure> {
        let Route::App { account, granted, .. } = &self.way else {
            return Err(Failure::Permanent("a webhook has no access token".into()));
        };
        granted.token(self.grant(account, &account.now(), SCOPE, hints)).await
    }

    /// An access token for something else that the account may do, kept apart from that for the Chat API.
    pub(super) async fn token_for(
        &self,
        granted: &Granted,
        scope: &str,
        hints: &mut RateHints,
    ) -> Result<Secret, Failure> {
        let Route::App { account, .. } = &self.way else {
            return Err(Failure::Permanent("a webhook has no access token".into()));
        };
        granted.token(self.grant(account, &account.now(), scope, hints)).await
    }

    /// Asks for the bytes of a file that somebody sent.
    pub(super) async fn download(&self, resource: &str, longest: Duration) -> Result<Response, String> {
        let hints = &mut RateHints::default();
        let Route::App { base, .. } = &self.way else { return Err("a webhook has no files".into()) };
        let token = self.access(hints).await.map_err(|failure| failure.to_string())?;
        let path: Vec<&str> = ["v1", "media"].into_iter().chain(resource.split('/')).collect();
        let request = self.request(Method::GET, base.at(&path), &[("alt", "media".to_owned())]);
        match self.http.stream(request.bearer_auth(token.expose()), longest, hints).await {
            Ok(Ok(response)) if response.status() == StatusCode::OK => Ok(response),
            Ok(Ok(response)) => Err(format!("Google answered {}", response.status().as_u16())),
            Ok(Err(answer)) => Err(format!("Google answered {}", answer.status.as_u16())),
            Err(silence) => Err(silence.harmless().to_string()),
        }
    }

    /// The way to Google.
    pub(super) fn http(&self) -> &Http {
        &self.http
    }

    async fn grant(
        &self,
        replaceable: &Replaceable,
        account: &ServiceAccount,
        scope: &str,
        hints: &mut RateHints,
    ) -> Result<(Secret, Duration), Failure> {
        let statement =
            account.statement(scope, SystemTime::now()).map_err(|why| Failure::Permanent(why.into()))?;
        let mut form = Url::parse("form:").expect("it is a URL");
        form.query_pairs_mut()
            .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
            .append_pair("assertion", &statement);
        let request = self
            .http
            .client
            .post(account.token_url.at(&[]))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form.query().unwrap_or_default().to_owned());
        let answer = self.http.ask(request, hints).await.map_err(Silence::harmless)?;
        if !answer.status.is_success() {
            // RFC 6749, 5.2. What is refused is who asks: that will not get better by itself.
            let (error, why) =
                (&answer.body["error"], answer.body["error_description"].as_str().unwrap_or_default());
            let words = self.http.words(&format!("{}: {why}", error.as_str().unwrap_or("no reason")));
            return Err(match answer.status.as_u16() {
                400 | 401 | 403 if replaceable.renewed(account) => Failure::Retry(format!(
                    "Google refuses the service account: {words}; there is a new key file, with which it goes again"
                )),
                400 | 401 | 403 => Failure::Permanent(format!(
                    "Google refuses the service account: {words}; look whether its key was deleted, and whether the hub's \
                     clock is right"
                )),
                _ => self.http.classify(&answer, &words, Scope::Account, hints).harmless(),
            });
        }
        let lasts = Duration::from_secs(answer.body["expires_in"].as_u64().unwrap_or_default());
        match answer.body["access_token"].as_str() {
            Some(token) => Ok((Secret::from(token), lasts)),
            None => Err(Failure::Retry("Google grants an access token, but does not say which".into())),
        }
    }

    /// What an answer other than yes means.
    async fn classify(&self, answer: &Answer, hints: &mut RateHints) -> Failure {
        let Route::App { granted, .. } = &self.way else {
            return self.http.settle(verdict(&self.reader(), answer, true), hints);
        };
        // The one that the request had, unless its time is over since.
        let used = granted.token(async { Err(Failure::Retry(String::new())) }).await.ok();
        let reader = used.iter().fold(self.reader(), |reader, token| reader.hiding(token.clone()));
        match (verdict(&reader, answer, false), used) {
            (Verdict::Token(said), Some(token)) if !granted.refused(&token).await => Failure::Permanent(said),
            (Verdict::Token(said), _) => Failure::Retry(format!("{said}; a new one is asked for")),
            (verdict, _) => self.http.settle(verdict, hints),
        }
    }

    /// Who reads the answers: without what stands in a webhook's address, in whole or in part.
    fn reader(&self) -> Reader {
        let reader = self.http.reader();
        match (&self.way, Url::parse(self.http.token().expose())) {
            (Route::Webhook { .. }, Ok(url)) => {
                url.query_pairs().fold(reader, |reader, (_, secret)| reader.hiding(Secret::from(&*secret)))
            }
            _ => reader,
        }
    }
}
