//! The Cloud API: the requests that sending takes, and what their answers mean.
//!
//! It recognises no message that comes a second time, so a lost answer is unknown; the part's key goes along as
//! `biz_opaque_callback_data`, comes back in the notification of its status, and settles it there ([`super::status`]). An
//! upload alone reaches nobody, and may be tried again. What a refusal means, its code says ([`super::codes`]).

use std::{
    collections::VecDeque,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::{
    RequestBuilder,
    multipart::{Form, Part},
};
use serde_json::{Value, json};

use super::{
    cloud::Request,
    codes::{OUTSIDE_WINDOW, WINDOW_HINT, code, meaning, sent, verdict},
};
use crate::{
    channels::{
        Failure, PartKey, RateHints,
        kit::http::{Answer, Http, Silence, base::Base, token::Token},
    },
    files::kept::Kept,
    message::attachment::referred,
};

/// Parts that are remembered as refused for that.
const REMEMBERED: usize = 512;

/// How often a number that was not ready is asked at most whether it is again. Messages that the other way carries meanwhile
/// arrive, so it need not be sooner.
const ASKED_AGAIN: Duration = Duration::from_mins(1);
/// How long that may hold up the message that goes the other way.
const ASKED_WITHIN: Duration = Duration::from_secs(5);

/// A number.
pub(super) struct Graph {
    http: Http,
    url: Base,
    number: String,
    /// As far as is known.
    ready: AtomicBool,
    /// When it was last asked whether it is ready again.
    asked: Mutex<Option<Instant>>,
    /// How often at most it is asked that.
    again: Duration,
    /// Parts of which the platform told, after it had taken them, that they were outside of the 24 hours.
    outside: Mutex<VecDeque<String>>,
}

/// Why something was not sent.
pub(super) enum Unsent {
    /// The number, the account or the way to it is not ready; nothing has left.
    NotReady(Failure),
    /// It is about this message.
    Failed(Failure),
}

impl From<Failure> for Unsent {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Silence> for Unsent {
    fn from(silence: Silence) -> Self {
        match silence {
            Silence::NotSent(_) => Self::NotReady(silence.into()),
            Silence::Lost(_) => Self::Failed(silence.into()),
        }
    }
}

impl From<Unsent> for Failure {
    fn from(unsent: Unsent) -> Self {
        let (Unsent::NotReady(failure) | Unsent::Failed(failure)) = unsent;
        failure
    }
}

impl Graph {
    /// The number with this id, behind an address that has the version in it.
    pub(super) fn new(http: reqwest::Client, url: Base, number: String, token: impl Into<Token>) -> Self {
        let http = Http::new(http, "the Cloud API", token);
        Self {
            http,
            url,
            number,
            ready: AtomicBool::new(true),
            asked: Mutex::default(),
            again: ASKED_AGAIN,
            outside: Mutex::default(),
        }
    }

    /// The same, asked more often whether it is ready again.
    #[cfg(test)]
    pub(super) fn asked_every(self, again: Duration) -> Self {
        Self { again, ..self }
    }

    /// The number's id.
    pub(super) fn number(&self) -> &str {
        &self.number
    }

    /// Where the API is.
    pub(super) fn base(&self) -> &Base {
        &self.url
    }

    /// The way there.
    pub(super) fn http(&self) -> &Http {
        &self.http
    }

    /// Whether it could send, when something was last heard of it.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Asks a number that was not ready whether it is again, so that the messages planned from then on go its way: a way
    /// that is not taken tells nothing of itself.
    pub(super) async fn look_again(&self) {
        if self.is_ready() || !self.is_due() {
            return;
        }
        // What it says of limits is heard by nobody: it is not the limit of whatever is being delivered.
        let ask = async {
            // The first refusal may be what makes a token that was replaced be read.
            if self.who_am_i().await.is_err() {
                let _ = self.who_am_i().await;
            }
        };
        let _ = tokio::time::timeout(ASKED_WITHIN, ask).await;
    }

    /// Whether it was not asked for long enough; notes that it is now.
    fn is_due(&self) -> bool {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let due = asked.is_none_or(|last| last.elapsed() >= self.again);
        if due {
            *asked = Some(Instant::now());
        }
        due
    }

    /// Performs a request, and the one that may stand in for it; the message's id.
    pub(super) async fn send(
        &self,
        request: &Request,
        key: &PartKey,
        kept: &Kept,
        hints: &mut RateHints,
    ) -> Result<String, Unsent> {
        let instead = request.outside_window.get();
        if self.is_outside(key) {
            let Some(instead) = instead else {
                return Err(Failure::Permanent(format!("the Cloud API refused it: {WINDOW_HINT}")).into());
            };
            return self
                .post(instead.clone(), key, hints)
                .await?
                .map_err(|answer| self.unsent(&answer, hints));
        }
        let mut message = request.message.clone();
        self.hand_over(&mut message, kept, hints).await?;
        match (self.post(message, key, hints).await?, instead) {
            (Ok(id), _) => Ok(id),
            (Err(answer), Some(instead)) if code(&answer) == OUTSIDE_WINDOW => {
                self.post(instead.clone(), key, hints).await?.map_err(|answer| self.unsent(&answer, hints))
            }
            (Err(answer), _) => Err(self.unsent(&answer, hints)),
        }
    }

    /// What an answer that says no means for the message.
    fn unsent(&self, answer: &Answer, hints: &mut RateHints) -> Unsent {
        match self.classify(answer, hints) {
            // A token that has been replaced is worth another try.
            failure @ Failure::Permanent(_) if meaning(answer).is_not_ready() => Unsent::NotReady(failure),
            failure => Unsent::Failed(failure),
        }
    }

    /// Notes that this part is outside of the 24 hours; whether that is news.
    pub(super) fn note_outside(&self, key: &PartKey) -> bool {
        let mut outside = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
        let news = !outside.contains(&key.0);
        if news {
            if outside.len() >= REMEMBERED {
                outside.pop_front();
            }
            outside.push_back(key.0.clone());
        }
        news
    }

    fn is_outside(&self, key: &PartKey) -> bool {
        self.outside.lock().unwrap_or_else(PoisonError::into_inner).contains(&key.0)
    }

    /// Posts a message: its id, or the answer that said no.
    async fn post(
        &self,
        mut message: Value,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Result<String, Answer>, Unsent> {
        message["biz_opaque_callback_data"] = json!(key.0);
        let request = self.http.client.post(self.url.at(&[&self.number, "messages"])).json(&message);
        let answer = self.ask(request, hints).await?;
        if !answer.status.is_success() {
            return Ok(Err(answer));
        }
        self.ready.store(true, Ordering::Relaxed);
        Ok(Ok(sent(&answer.body).map_err(|verdict| self.http.settle(verdict, hints))?))
    }

    /// Performs a request with the token.
    pub(super) async fn ask(
        &self,
        request: RequestBuilder,
        hints: &mut RateHints,
    ) -> Result<Answer, Silence> {
        let asked = self.http.ask(request.bearer_auth(self.http.token().expose()), hints).await;
        if matches!(asked, Err(Silence::NotSent(_))) {
            self.ready.store(false, Ordering::Relaxed);
        }
        asked
    }

    /// Uploads the file of a message, if it has one, and puts its id in.
    ///
    /// <https://developers.facebook.com/docs/whatsapp/cloud-api/reference/media#upload-media>
    async fn hand_over(&self, message: &mut Value, kept: &Kept, hints: &mut RateHints) -> Result<(), Unsent> {
        let broken = || Failure::Permanent("the stored message names its file by no hash".into());
        let Some(file) = message.as_object_mut().and_then(|message| message.remove("file")) else {
            return Ok(());
        };
        let kind = message["type"].as_str().unwrap_or_default().to_owned();
        let digest = message[&kind]["id"].as_str().and_then(referred).ok_or_else(broken)?;
        let (name, mime) =
            (file["name"].as_str().unwrap_or("file"), file["kind"].as_str().unwrap_or_default());
        let checked = kept.open(&digest).await.map_err(|error| Failure::Permanent(error.to_string()))?;
        let (size, longest) = (checked.size, Http::longest(checked.size));
        let part = Part::stream_with_length(Http::body(checked), size)
            .file_name(name.to_owned())
            .mime_str(mime)
            .map_err(|_| broken())?;
        let form = Form::new()
            .text("messaging_product", "whatsapp")
            .text("type", mime.to_owned())
            .part("file", part);
        let request = self.http.client.post(self.url.at(&[&self.number, "media"])).multipart(form);
        let request = request.bearer_auth(self.http.token().expose());
        // It is in no conversation, whether it arrived or not.
        let answer =
            self.http.ask_within(request, longest, hints).await.map_err(|silence| match silence {
                Silence::NotSent(_) => Unsent::NotReady(silence.harmless()),
                Silence::Lost(_) => Unsent::Failed(silence.harmless()),
            })?;
        if !answer.status.is_success() {
            let failure = self.classify(&answer, hints).harmless();
            return Err(if meaning(&answer).is_not_ready() {
                Unsent::NotReady(failure)
            } else {
                Unsent::Failed(failure)
            });
        }
        let id = answer.body["id"].as_str();
        let id =
            id.ok_or_else(|| Failure::Retry("the Cloud API took the file, but did not say as what".into()))?;
        message[&kind]["id"] = json!(id);
        Ok(())
    }

    /// What an answer that says no means for the message, and for the number.
    pub(super) fn classify(&self, answer: &Answer, hints: &mut RateHints) -> Failure {
        if meaning(answer).is_not_ready() {
            self.ready.store(false, Ordering::Relaxed);
        }
        self.http.settle(verdict(&self.http.reader(), answer), hints)
    }

    /// The number, or why it cannot send.
    ///
    /// <https://developers.facebook.com/docs/whatsapp/business-management-api/manage-phone-numbers>, and whether anything
    /// above the number forbids it: <https://developers.facebook.com/docs/whatsapp/cloud-api/health-status>.
    pub(super) async fn who_am_i(&self) -> Result<String, String> {
        let hints = &mut RateHints::default();
        let mut url = self.url.at(&[&self.number]);
        url.query_pairs_mut()
            .append_pair("fields", "display_phone_number,verified_name,status,health_status");
        let answer = match self.ask(self.http.client.get(url), hints).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(why),
        };
        if !answer.status.is_success() {
            self.ready.store(false, Ordering::Relaxed);
            return Err(self.classify(&answer, hints).to_string());
        }
        let blocked = answer.body["health_status"]["can_send_message"] == "BLOCKED";
        let status = match answer.body["status"].as_str().unwrap_or("CONNECTED") {
            "CONNECTED" if blocked => "BLOCKED",
            status => status,
        };
        self.ready.store(status == "CONNECTED", Ordering::Relaxed);
        let number = answer.body["display_phone_number"].as_str().unwrap_or("the number");
        if status == "CONNECTED" {
            Ok(number.to_owned())
        } else {
            Err(format!("phone {}: {number} cannot send", self.http.words(&status.to_lowercase())))
        }
    }
}
