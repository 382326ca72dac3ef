//! The requests that there are, and in which order they go.
//!
//! Every answer has status 200; an error is in its body, and [`classify`](super::classify) says what it means. Before a message goes,
//! Signal is asked something that only its servers know (`listDevices`), for of a message that fails on the way signal-cli does
//! not say whether it left. It is not asked again for [`REACHED`] after anything else went through.
//!
//! A daemon that was started for one account (`-a`) sends as that one, whatever account a request names, and does not say
//! which it is (signal-cli-jsonrpc(5), "Multi-account mode"). Nothing is handed to such a one.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use reqwest::{RequestBuilder, Response, header};
use serde_json::{Value, json};

use super::{
    classify::{self, code},
    reached::recipients,
    request::Request,
    version::Version,
};
use crate::{
    cause::innermost,
    channels::{
        Failure, RateHints,
        kit::{
            http::{Answer, Http, Silence, base::Base, inlined},
            json::taken,
        },
        limits::Scope,
    },
    files::kept::{Checked, Kept},
    message::{attachment::referred, recipients::Recipients},
    settings::secret::Secret,
};

/// Where the file stands in a request.
pub(super) const FILE: &str = "/params/attachment/0";
/// The slowest that a delivery may be: less than the whole delivery may take.
const LONGEST: Duration = Duration::from_secs(500);

/// For so long a daemon that served several accounts is believed to do so still.
const BELIEVED: Duration = Duration::from_mins(1);
/// For so long Signal is believed to be reachable after something went through.
const REACHED: Duration = Duration::from_secs(10);
/// A stream that is silent is found out otherwise: longer than any program runs.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);
/// For a question that the daemon answers by itself.
const BRIEF: Duration = Duration::from_secs(5);

/// A daemon.
pub(super) struct Client {
    http: Http,
    url: Base,
    account: String,
    known: Mutex<Known>,
}

/// What a daemon has said of itself.
#[derive(Debug, Default)]
struct Known {
    /// It served several accounts then.
    serves_all: Option<Instant>,
    /// Something got as far as Signal then.
    reached: Option<Instant>,
    version: Option<Version>,
    /// The account's own id.
    aci: Option<String>,
}

/// What a request came to.
#[derive(Debug)]
pub(super) struct Performed {
    /// The result.
    pub(super) result: Value,
    /// Whom it reached, of a group.
    pub(super) recipients: Option<Recipients>,
}

impl Client {
    /// The daemon at `url`, for its account.
    pub(super) fn new(http: reqwest::Client, url: Base, account: String) -> Self {
        let known = Mutex::default();
        Self { http: Http::new(http, "signal-cli", Secret::from("")), url, account, known }
    }

    /// The account, as its requests name it.
    pub(super) fn account(&self) -> &str {
        &self.account
    }

    /// The way to the daemon.
    pub(super) fn http(&self) -> &Http {
        &self.http
    }

    /// Performs a request.
    pub(super) async fn perform(
        &self,
        id: &str,
        request: &Request,
        kept: &Kept,
        hints: &mut RateHints,
    ) -> Result<Performed, Failure> {
        let Request { method, params, .. } = request;
        let builder = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let file = match inlined::reference(&builder, FILE).and_then(referred) {
            Some(digest) => {
                Some(kept.open(&digest).await.map_err(|error| Failure::Permanent(error.to_string()))?)
            }
            None if builder.pointer(FILE).is_some() => {
                return Err(Failure::Permanent("the stored request names its file by no hash".into()));
            }
            None => None,
        };
        self.serves_all(hints).await?;
        self.reaches_signal(hints).await?;
        self.is_own(request, hints).await?;
        let answer = self.ask(builder, file, hints).await.inspect_err(|_| self.forget())?;
        let group = params["groupId"].is_array();
        let result =
            self.result(&answer, method, group, hints).inspect_err(|_| self.known().reached = None)?;
        self.known().reached = Some(Instant::now());
        let results = result["results"].as_array().map_or(&[][..], Vec::as_slice);
        let missed = results.iter().any(|result| result["type"] != "SUCCESS");
        let contacts = if group && missed { self.contacts(hints).await } else { vec![] };
        let recipients = if group { recipients(results, &contacts) } else { None };
        Ok(Performed { recipients, result })
    }

    /// Which version it is, once it has said so.
    pub(super) fn version(&self) -> Option<Version> {
        self.known().version
    }

    /// Asks which version it is, unless it has said so.
    pub(super) async fn learn_version(&self, hints: &mut RateHints) -> Option<Version> {
        if let known @ Some(_) = self.version() {
            return known;
        }
        let answer = self.ask(question("version", None), None, hints).await.ok()?;
        let version = answer.body["result"]["version"].as_str().and_then(Version::read);
        self.known().version = version;
        version
    }

    /// Whether somebody is the account itself, as far as that is known: by its number or its own id.
    pub(super) fn is_self(&self, author: &str) -> Option<bool> {
        if author == self.account {
            return Some(true);
        }
        if author.starts_with('+') {
            return Some(false);
        }
        self.known().aci.as_ref().map(|aci| aci == author)
    }

    /// Fails where a message that is changed turns out to be somebody else's.
    async fn is_own(&self, request: &Request, hints: &mut RateHints) -> Result<(), Failure> {
        let Some(author) = request.own.as_deref() else { return Ok(()) };
        self.learn_aci(hints).await;
        match self.is_self(author) {
            Some(true) => Ok(()),
            _ => Err(Failure::Permanent(super::request::NOT_OWN.into())),
        }
    }

    /// The account's own id, once it is known.
    pub(super) fn aci(&self) -> Option<String> {
        self.known().aci.clone()
    }

    /// Asks for the account's own id, which its own identity key has beside its number.
    pub(super) async fn learn_aci(&self, hints: &mut RateHints) {
        if self.known().aci.is_some() {
            return;
        }
        let params = json!({ "account": self.account, "number": self.account });
        let Ok(answer) = self.brief("listIdentities", params, hints).await else { return };
        let list = answer.body["result"].as_array().map_or(&[][..], Vec::as_slice);
        let aci = list.iter().find_map(|identity| uuid::Uuid::try_parse(identity["uuid"].as_str()?).ok());
        self.known().aci = aci.map(|aci| aci.to_string());
    }

    /// The people that the account knows, without asking anybody else.
    async fn contacts(&self, hints: &mut RateHints) -> Vec<Value> {
        let answer = self.brief("listContacts", json!({ "account": self.account }), hints).await;
        match answer.map(|mut answer| taken(&mut answer.body, "result")) {
            Ok(Value::Array(contacts)) => contacts,
            _ => Vec::new(),
        }
    }

    /// Asks what the daemon answers by itself, or what is worth no longer a wait.
    pub(super) async fn brief(
        &self,
        method: &str,
        params: Value,
        hints: &mut RateHints,
    ) -> Result<Answer, Silence> {
        let request = self.http.client.post(self.url.at(&["api", "v1", "rpc"]));
        self.http.ask_within(request.json(&question(method, Some(params))), BRIEF, hints).await
    }

    /// The answer to `getAttachment`, as it begins to come; in words, why there is none.
    pub(super) async fn file(&self, params: Value) -> Result<Response, String> {
        let request = self.http.client.post(self.url.at(&["api", "v1", "rpc"]));
        let request = request.json(&question("getAttachment", Some(params))).timeout(LONGEST);
        let answer = request.send().await.map_err(|error| self.lost(error))?;
        match answer.status() {
            status if status.is_success() => Ok(answer),
            status => Err(format!("signal-cli answered {}", status.as_u16())),
        }
    }

    /// The stream of what comes for the account, behind an event that came before
    /// (<https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/http/HttpServerHandler.java>). It has no end.
    pub(super) fn events(&self, last: Option<&str>) -> RequestBuilder {
        let mut url = self.url.at(&["api", "v1", "events"]);
        url.query_pairs_mut().append_pair("account", &self.account);
        let request = self.http.client.get(url).header(header::ACCEPT, "text/event-stream").timeout(FOREVER);
        match last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        }
    }

    /// What is wrong with a connection.
    pub(super) fn lost(&self, error: reqwest::Error) -> String {
        self.http.words(&innermost(&error.without_url()).to_string())
    }

    /// The result of an answer, or what its error means.
    fn result(
        &self,
        answer: &Answer,
        method: &str,
        group: bool,
        hints: &mut RateHints,
    ) -> Result<Value, Failure> {
        let error = &answer.body["error"];
        if answer.status.is_success() && self.is_no_account(error) {
            return Err(Failure::Permanent(self.no_account()));
        }
        let result = classify::decode(&self.http.reader(), answer, method, group);
        result.map_err(|verdict| self.http.settle(verdict, hints))
    }

    /// What an error means for a question.
    pub(super) fn classify(&self, error: &Value, method: &str, hints: &mut RateHints) -> Failure {
        if self.is_no_account(error) {
            return Failure::Permanent(self.no_account());
        }
        self.http.settle(classify::of_error(&self.http.reader(), error, method, false), hints)
    }

    fn is_no_account(&self, error: &Value) -> bool {
        let words = error["message"].as_str().unwrap_or_default();
        error["code"] == code::PARAMETERS && words.contains("account")
    }

    /// Fails where the daemon was started for one account.
    pub(super) async fn serves_all(&self, hints: &mut RateHints) -> Result<(), Failure> {
        if self.known().serves_all.is_some_and(|since| since.elapsed() < BELIEVED) {
            return Ok(());
        }
        let answer =
            self.ask(question("listAccounts", None), None, hints).await.map_err(Silence::harmless)?;
        if !answer.status.is_success() {
            let said = format!("{}; check url", answer.status);
            return Err(self.http.classify(&answer, &said, Scope::Account, hints).harmless());
        }
        if serves_one(&answer) {
            return Err(Failure::Permanent(self.started_for_one()));
        }
        self.known().serves_all = Some(Instant::now());
        Ok(())
    }

    /// Fails where Signal's servers cannot be reached, or take nothing from this account.
    async fn reaches_signal(&self, hints: &mut RateHints) -> Result<(), Failure> {
        if self.known().reached.is_some_and(|since| since.elapsed() < REACHED) {
            return Ok(());
        }
        let request = question("listDevices", Some(json!({ "account": self.account })));
        let answer = self.ask(request, None, hints).await.map_err(Silence::harmless)?;
        let error = &answer.body["error"];
        let number = error["code"].as_i64().unwrap_or(0);
        let passing = !error.is_null() && ![code::PARAMETERS, code::REQUEST, code::METHOD].contains(&number);
        if answer.status.is_success() && passing {
            let words = self.http.words(error["message"].as_str().unwrap_or("it gave no reason"));
            let said = format!("Signal cannot be reached: signal-cli said {number}, {words}");
            return Err(self.http.settle(classify::before(said, "", &[]), hints));
        }
        self.result(&answer, "listDevices", false, hints).map_err(Failure::harmless)?;
        self.known().reached = Some(Instant::now());
        Ok(())
    }

    /// It may be another one now.
    pub(super) fn forget(&self) {
        *self.known() = Known::default();
    }

    /// As if it had been asked already.
    #[cfg(test)]
    pub(super) fn believe(&self) {
        *self.known() =
            Known { serves_all: Some(Instant::now()), reached: Some(Instant::now()), ..Known::default() };
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn started_for_one(&self) -> String {
        format!(
            "signal-cli runs for one account and does not say whether that is {}: start its daemon without -a",
            self.account
        )
    }

    pub(super) async fn ask(
        &self,
        json: Value,
        file: Option<Checked>,
        hints: &mut RateHints,
    ) -> Result<Answer, Silence> {
        let request = self.http.client.post(self.url.at(&["api", "v1", "rpc"]));
        let longest = (2 * Http::longest(file.as_ref().map_or(0, |file| file.size))).min(LONGEST);
        let request = match file {
            None => request.json(&json),
            Some(file) => inlined::body(request, json, FILE, file)
                .ok_or_else(|| Silence::NotSent("the request has no place for its file".into()))?,
        };
        self.http.ask_within(request, longest, hints).await
    }

    pub(super) fn no_account(&self) -> String {
        format!("signal-cli has no account {}: register or link it there", self.account)
    }

    /// The account and the program, if the daemon has it and Signal can be reached.
    pub(super) async fn who_am_i(&self) -> Result<String, String> {
        let hints = &mut RateHints::default();
        let answer = match self.ask(question("listAccounts", None), None, hints).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => {
                self.forget();
                return Err(why);
            }
        };
        if !answer.status.is_success() {
            let said = format!("{}; check url", answer.status);
            return Err(self.http.classify(&answer, &said, Scope::Account, hints).to_string());
        }
        if serves_one(&answer) {
            return Err(self.started_for_one());
        }
        let accounts = answer.body["result"].as_array().ok_or("what answers is no signal-cli; check url")?;
        if !accounts.iter().any(|account| account["number"] == self.account) {
            return Err(self.no_account());
        }
        // It may have been replaced since it was asked.
        self.known().version = None;
        let version = self.learn_version(hints).await;
        self.known().reached = None;
        self.reaches_signal(hints).await.map_err(|failure| failure.to_string())?;
        self.learn_aci(hints).await;
        Ok(match version {
            Some(version) => format!("{} by {}", self.account, version.described()),
            None => format!("{} by a signal-cli that does not say its version", self.account),
        })
    }
}

/// A request that changes nothing.
fn question(method: &str, params: Option<Value>) -> Value {
    let mut question = json!({ "jsonrpc": "2.0", "id": method, "method": method });
    if let Some(params) = params {
        question["params"] = params;
    }
    question
}

/// Whether it has no such method.
fn serves_one(answer: &Answer) -> bool {
    answer.body["error"]["code"] == code::METHOD
}
