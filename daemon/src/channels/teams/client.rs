//! Requests to the Bot Connector or a workflow, and whether they arrived.
//!
//! A bot's requests carry an access token that it gets for its client secret; a webhook's nothing but the secret that its
//! address is. Neither is ever in an error. A picture is read and put into the request as it leaves.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::{
    Method, Response, StatusCode, Url,
    header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE},
};
use serde_json::{Map, Value, json};

use super::{
    answer::{refusal, verdict},
    bounds::{MAX_PICTURE, PICTURES, too_long},
    consent,
    request::Request,
    token_verification::Believer,
};
use crate::{
    channels::{
        Failure, PartKey, RateHints,
        callback::CallbackRefused,
        kit::{
            http::{Answer, Http, Reader, Silence, Verdict, base::Base, granted::Granted, token::Token},
            removals::Removals,
        },
        limits::Scope,
    },
    files::kept::{Checked, Kept},
    message::attachment::referred,
    settings::secret::Secret,
};

/// What a token is for: <https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication>.
const SCOPE: &str = "https://api.botframework.com/.default";

/// "Message doesn't exist or it has been deleted"
/// (<https://learn.microsoft.com/microsoftteams/platform/bots/build-conversational-capability#status-codes-from-bot-conversational-apis>).
const GONE: &str = "ActivityNotFoundInConversation";

/// The id of what has none: a workflow says that it took it, and nothing more.
const TAKEN: &str = "accepted";

/// An account's way to Teams.
pub(super) struct Client {
    http: Http,
    way: Route,
    removals: Removals,
}

/// As whom it speaks.
enum Route {
    Bot(Box<Bot>),
    Webhook,
}

struct Bot {
    service: Base,
    token_url: Url,
    app_id: String,
    granted: Granted,
}

impl Client {
    /// A bot.
    pub(super) fn bot(
        http: reqwest::Client,
        service: Base,
        login: Base,
        tenant: &str,
        app_id: String,
        secret: impl Into<Token>,
    ) -> Self {
        let token_url = login.at(&[tenant, "oauth2", "v2.0", "token"]);
        let way = Route::Bot(Box::new(Bot { service, token_url, app_id, granted: Granted::default() }));
        Self { http: Http::new(http, "Teams", secret), way, removals: Removals::default() }
    }

    /// The webhook of a workflow, whose address is its secret.
    pub(super) fn webhook(http: reqwest::Client, address: Token) -> Result<Self, String> {
        let url =
            Url::parse(address.now().expose()).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        if url.is_none_or(|url| !url.has_host() || url.query().is_none()) {
            return Err("webhook: copy the whole address of the workflow, with all behind its ?".into());
        }
        let http = Http::new(http, "Teams", address);
        Ok(Self { http, way: Route::Webhook, removals: Removals::default() })
    }

    /// Whether it is a webhook.
    pub(super) fn is_webhook(&self) -> bool {
        matches!(self.way, Route::Webhook)
    }

    /// Performs a request; returns the id of what it made or was done to.
    pub(super) async fn perform(
        &self,
        request: Request,
        kept: &Kept,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        match request {
            Request::Send { conversation, answers, mut activity } => {
                bounded(&activity)?;
                hold(&mut activity, kept).await?;
                let path = segments(&conversation, answers.as_deref());
                let said = self.ask(Method::POST, &path, Some(&activity), hints).await?;
                // Of what it shows as two messages, Teams names none.
                Ok(said["id"].as_str().map_or_else(|| format!("{TAKEN}:{}", key.0), str::to_owned))
            }
            Request::Offer { conversation, answers, name, size, file, says } => {
                // What is offered can be handed over, as far as anybody knows yet.
                open(&file, kept).await?;
                let mut activity = consent::offer(&name, size, &says, key);
                if let Some(answers) = &answers {
                    activity.insert("replyToId".into(), answers.as_str().into());
                }
                bounded(&activity)?;
                let path = segments(&conversation, answers.as_deref());
                let said = self.ask(Method::POST, &path, Some(&activity), hints).await?;
                Ok(said["id"].as_str().map_or_else(|| format!("{TAKEN}:{}", key.0), str::to_owned))
            }
            Request::Update { conversation, id, activity } => {
                bounded(&activity)?;
                self.ask(Method::PUT, &segments(&conversation, Some(&id)), Some(&activity), hints)
                    .await
                    .map(|_| id)
            }
            Request::Delete { conversation, id } => {
                self.remove(&segments(&conversation, Some(&id)), key, hints).await.map(|()| id)
            }
            Request::Post { message } => {
                bounded(&message)?;
                self.ask(Method::POST, &[], Some(&message), hints).await.map(|_| format!("{TAKEN}:{}", key.0))
            }
        }
    }

    /// Writes a file's bytes where somebody made room for them, all at once
    /// (<https://learn.microsoft.com/graph/api/driveitem-createuploadsession#upload-bytes-to-the-upload-session>).
    pub(super) async fn upload(&self, to: &Url, file: Checked) -> Result<(), Failure> {
        let hints = &mut RateHints::default();
        let size = file.size;
        let request = self.http.client.put(to.clone()).header(CONTENT_LENGTH, size);
        let request = request.header(CONTENT_RANGE, format!("bytes 0-{}/{size}", size.saturating_sub(1)));
        let answer = self.http.ask_within(request.body(Http::body(file)), Http::longest(size), hints).await?;
        // "Accepted" is said of a piece after which more are awaited.
        if matches!(answer.status.as_u16(), 200 | 201) {
            return Ok(());
        }
        // Whose address it is Teams said; none of it may be repeated.
        let said = format!("OneDrive answered {}", answer.status.as_u16());
        Err(match (answer.status.as_u16(), answer.retry_after) {
            // "Too Many Requests", "Service Unavailable" (<https://learn.microsoft.com/graph/errors#http-status-codes>).
            (429 | 503, Some(after)) => Failure::Wait { after, why: said },
            // "Request Timeout", "Locked", which pass.
            (408 | 423 | 429, _) => Failure::Retry(said),
            (400..=499, _) => Failure::Permanent(said),
            _ => Failure::Retry(said),
        })
    }

    /// Shows something in a conversation that belongs to what was sent there before.
    pub(super) async fn show(
        &self,
        conversation: &str,
        activity: &Map<String, Value>,
    ) -> Result<(), Failure> {
        let hints = &mut RateHints::default();
        self.ask(Method::POST, &segments(conversation, None), Some(activity), hints).await.map(drop)
    }

    /// Where somebody tries the bot out on this machine, without Teams.
    pub(super) fn tried_out_at(&self) -> Option<&str> {
        match &self.way {
            Route::Bot(bot) => Some(bot.service.host()).filter(|_| bot.service.is_here()),
            Route::Webhook => None,
        }
    }

    /// The bot's application; nothing for a webhook.
    pub(super) fn app_id(&self) -> &str {
        match &self.way {
            Route::Bot(bot) => &bot.app_id,
            Route::Webhook => "",
        }
    }

    /// Whether that is where the bot's requests go, and so may have its token.
    pub(super) fn is_service(&self, url: &Url) -> bool {
        let Route::Bot(bot) = &self.way else { return false };
        let service = bot.service.at(&[]);
        let place = |url: &Url| {
            (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default())
        };
        place(url) == place(&service)
    }

    /// Asks for something that somebody sent; with the bot's token if `signed`.
    pub(super) async fn fetch(&self, url: Url, signed: bool, longest: Duration) -> Result<Response, String> {
        let hints = &mut RateHints::default();
        let mut request = self.http.client.get(url);
        if signed {
            let token = self.access(hints).await.map_err(|failure| failure.to_string())?;
            request = request.bearer_auth(token.expose());
        }
        match self.http.stream(request, longest, hints).await {
            Ok(Ok(response)) if response.status() == StatusCode::OK => Ok(response),
            Ok(Ok(response)) => Err(format!("Microsoft answered {}", response.status().as_u16())),
            Ok(Err(answer)) => Err(format!("Microsoft answered {}", answer.status.as_u16())),
            Err(silence) => Err(silence.harmless().to_string()),
        }
    }

    /// Shows in a conversation that an answer is being written.
    pub(super) async fn show_typing(&self, conversation: &str) {
        let activity = Map::from_iter([("type".to_owned(), json!("typing"))]);
        let _ = self.show(conversation, &activity).await;
    }

    /// Words from outside, without the secret.
    pub(super) fn words(&self, text: &str) -> String {
        self.reader().words(text)
    }

    /// Whether a request to the bot is Teams' own.
    pub(super) async fn believes(
        &self,
        believer: &Believer,
        authorization: &str,
        activity: &Value,
    ) -> Result<(), CallbackRefused> {
        match &self.way {
            Route::Bot(bot) => believer.check(&self.http, &bot.app_id, authorization, activity).await,
            Route::Webhook => Err(CallbackRefused::Nobody),
        }
    }

    /// The same of the token alone, before there is an activity.
    pub(super) async fn vouches(
        &self,
        believer: &Believer,
        authorization: &str,
    ) -> Result<(), CallbackRefused> {
        match &self.way {
            Route::Bot(bot) => believer.token(&self.http, &bot.app_id, authorization).await.map(drop),
            Route::Webhook => Err(CallbackRefused::Nobody),
        }
    }

    /// Whether it could send, and as whom. A webhook cannot be asked.
    pub(super) async fn ready(&self) -> Result<String, String> {
        let hints = &mut RateHints::default();
        match &self.way {
            Route::Bot(bot) => {
                self.access(hints).await.map_err(|failure| failure.to_string())?;
                Ok(format!("app {}", bot.app_id))
            }
            Route::Webhook => {
                Ok("a workflow's webhook; whether it is still there, only a message shows".into())
            }
        }
    }

    /// Removes what the path names.
    async fn remove(&self, path: &[String], key: &PartKey, hints: &mut RateHints) -> Result<(), Failure> {
        let (gone, ended) = match self.answered(Method::DELETE, path, None, hints).await {
            Ok((answer, _)) if answer.status.is_success() => (false, Ok(())),
            Ok((answer, used)) => {
                (refusal(&answer).code == GONE, Err(self.classify(&answer, used.as_ref(), hints).await))
            }
            Err(failure) => (false, Err(failure)),
        };
        self.removals.settle(key, gone, ended).map(drop)
    }

    /// A request, and what a yes says.
    async fn ask(
        &self,
        method: Method,
        path: &[String],
        body: Option<&Map<String, Value>>,
        hints: &mut RateHints,
    ) -> Result<Value, Failure> {
        match self.answered(method, path, body, hints).await? {
            (answer, _) if answer.status.is_success() => Ok(answer.body),
            (answer, used) => Err(self.classify(&answer, used.as_ref(), hints).await),
        }
    }

    /// A request's answer, and the access token that it was asked with.
    async fn answered(
        &self,
        method: Method,
        path: &[String],
        body: Option<&Map<String, Value>>,
        hints: &mut RateHints,
    ) -> Result<(Answer, Option<Secret>), Failure> {
        let (mut request, used) = match &self.way {
            Route::Bot(bot) => {
                let token = self.access(hints).await?;
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                let request =
                    self.http.client.request(method, bot.service.at(&path)).bearer_auth(token.expose());
                (request, Some(token))
            }
            Route::Webhook => {
                let url = Url::parse(self.http.token().expose())
                    .map_err(|_| Failure::Permanent("the webhook's address is none any more".into()))?;
                (self.http.client.request(method, url), None)
            }
        };
        let mut longest = crate::channels::kit::http::TIMEOUT;
        if let Some(body) = body {
            let body = Value::from(body.clone()).to_string();
            longest = Http::longest(body.len() as u64);
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        Ok((self.http.ask_within(request, longest, hints).await?, used))
    }

    /// An access token.
    async fn access(&self, hints: &mut RateHints) -> Result<Secret, Failure> {
        let Route::Bot(bot) = &self.way else {
            return Err(Failure::Permanent("a webhook has no access token".into()));
        };
        bot.granted.token(self.grant(&bot.token_url, &bot.app_id, hints)).await
    }

    async fn grant(
        &self,
        token_url: &Url,
        app_id: &str,
        hints: &mut RateHints,
    ) -> Result<(Secret, Duration), Failure> {
        let mut form = Url::parse("form:").expect("it is a URL");
        form.query_pairs_mut()
            .append_pair("grant_type", "client_credentials")
            .append_pair("client_id", app_id)
            .append_pair("client_secret", self.http.token().expose())
            .append_pair("scope", SCOPE);
        let request = self
            .http
            .client
            .post(token_url.clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form.query().unwrap_or_default().to_owned());
        let answer = self.http.ask(request, hints).await.map_err(Silence::harmless)?;
        if !answer.status.is_success() {
            // RFC 6749, 5.2; Microsoft's own codes (AADSTS…) stand in the description.
            let text = |name: &str| answer.body[name].as_str().unwrap_or_default().to_owned();
            let words = match text("error") {
                none if none.is_empty() => format!("{}; check login_url and tenant", answer.status),
                error => self.http.words(&format!("{error}: {}", text("error_description"))),
            };
            return Err(match (answer.status.as_u16(), text("error").as_str()) {
                (400 | 401 | 403, "invalid_client") => {
                    self.http.refused(format!("Microsoft refused the client secret: {words}"))
                }
                (400 | 401 | 403, _) => Failure::Permanent(format!(
                    "Microsoft gives the bot no access: {words}; check app_id and tenant"
                )),
                _ => self.http.classify(&answer, &words, Scope::Account, hints).harmless(),
            });
        }
        let lasts = Duration::from_secs(answer.body["expires_in"].as_u64().unwrap_or_default());
        match answer.body["access_token"].as_str() {
            Some(token) => Ok((Secret::from(token), lasts)),
            None => Err(Failure::Retry("Microsoft grants an access token, but does not say which".into())),
        }
    }

    /// What an answer other than yes means, for a request with this access token.
    async fn classify(&self, answer: &Answer, used: Option<&Secret>, hints: &mut RateHints) -> Failure {
        let reader = used.into_iter().fold(self.reader(), |reader, token| reader.hiding(token.clone()));
        let verdict = verdict(&reader, answer, self.is_webhook());
        match (verdict, &self.way) {
            (Verdict::Token(said), Route::Bot(bot)) => match used {
                Some(token) if !bot.granted.refused(token).await => {
                    Failure::Permanent(format!("{said}; check app_id, tenant and service_url"))
                }
                _ => Failure::Retry(format!("{said}; a new one is asked for")),
            },
            (verdict, _) => self.http.settle(verdict, hints),
        }
    }

    /// Who reads the answers: without what stands in a webhook's address.
    fn reader(&self) -> Reader {
        let reader = self.http.reader();
        match (&self.way, Url::parse(self.http.token().expose())) {
            (Route::Webhook, Ok(url)) => url
                .query_pairs()
                .filter(|(_, value)| value.len() > 3)
                .fold(reader, |reader, (_, secret)| reader.hiding(Secret::from(&*secret))),
            _ => reader,
        }
    }
}

fn segments(conversation: &str, id: Option<&str>) -> Vec<String> {
    let path = ["v3", "conversations", conversation, "activities"];
    path.into_iter().chain(id).map(str::to_owned).collect()
}

/// Fails if a message is longer than Teams takes, pictures aside.
fn bounded(message: &Map<String, Value>) -> Result<(), Failure> {
    too_long(message).map_or(Ok(()), |why| Err(Failure::Permanent(why)))
}

/// Puts the picture into an activity that names one by its hash.
async fn hold(activity: &mut Map<String, Value>, kept: &Kept) -> Result<(), Failure> {
    let Some(attachment) = activity.get_mut("attachments").and_then(|list| list.get_mut(0)) else {
        return Ok(());
    };
    let Some(url) = attachment["contentUrl"].as_str() else { return Ok(()) };
    let kind = attachment["contentType"].as_str().unwrap_or_default().to_owned();
    if !PICTURES.contains(&kind.as_str()) {
        return Err(Failure::Permanent(format!(
            "a bot can hand over pictures on Teams (PNG, JPEG, GIF), and this is {kind}: send a link to it"
        )));
    }
    let bytes = read(open(url, kept).await?).await?;
    attachment["contentUrl"] = json!(format!("data:{kind};base64,{}", STANDARD.encode(bytes)));
    Ok(())
}

/// Opens the file of this reference, if it is still there and still the one that was approved.
pub(super) async fn open(reference: &str, kept: &Kept) -> Result<Checked, Failure> {
    let digest = referred(reference)
        .ok_or_else(|| Failure::Permanent("the stored request names its file by no hash".into()))?;
    kept.open(&digest).await.map_err(|error| Failure::Permanent(error.to_string()))
}

async fn read(file: Checked) -> Result<Vec<u8>, Failure> {
    use tokio::io::AsyncReadExt as _;
    if file.size > MAX_PICTURE {
        return Err(Failure::Permanent(format!(
            "a picture on Teams has {MAX_PICTURE} bytes at most: send a link to it"
        )));
    }
    let mut bytes = Vec::new();
    let read = tokio::fs::File::from_std(file.file).take(MAX_PICTURE).read_to_end(&mut bytes).await;
    read.map(|_| bytes)
        .map_err(|error| Failure::Permanent(format!("the attached file cannot be read: {error}")))
}
