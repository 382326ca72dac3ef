//! The one request that there is, and what its answers mean.
//!
//! Every answer has status 200; an error is in its body. signal-cli speaks to Signal's servers while we wait, and knows no
//! more of a message whose connection broke than we do: [`Failure::Unknown`], unless it names an error that comes before
//! anything was sent.
//!
//! A daemon that was started for one account (`-a`) sends as that one, whatever account a request names, and does not say
//! which it is (signal-cli-jsonrpc(5), "Multi-account mode"). Nothing is handed to such a one.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    channels::{
        Failure, heard,
        http::{Answer, Http, Silence, base::Base, inlined, quota},
        limits::{Allowance, Scope},
    },
    files::kept::{Checked, Kept},
    message::attachment::referred,
    settings::secret::Secret,
};

/// Where the file stands in a request.
pub(super) const FILE: &str = "/params/attachment/0";
/// The slowest that a delivery may be: less than the whole delivery may take.
const LONGEST: Duration = Duration::from_secs(500);

/// For so long a daemon that served several accounts is believed to do so still.
const BELIEVED: Duration = Duration::from_mins(1);

/// What went wrong, by signal-cli's numbers (`SignalJsonRpcCommandHandler` and JSON-RPC 2.0 §5.1).
mod code {
    pub(super) const USER: i64 = -1;
    pub(super) const UNTRUSTED: i64 = -4;
    pub(super) const RATE_LIMIT: i64 = -5;
    pub(super) const METHOD: i64 = -32601;
    pub(super) const PARAMETERS: i64 = -32602;
    pub(super) const REQUEST: i64 = -32600;
    pub(super) const JSON: i64 = -32700;
}

/// A daemon.
pub(super) struct Client {
    http: Http,
    url: Base,
    account: String,
    serves_all: Mutex<Option<Instant>>,
}

impl Client {
    /// The daemon at `url`, for its account.
    pub(super) fn new(http: reqwest::Client, url: Base, account: String) -> Self {
        let serves_all = Mutex::default();
        Self { http: Http::new(http, "signal-cli", Secret::from("")), url, account, serves_all }
    }

    /// The account, as its requests name it.
    pub(super) fn account(&self) -> &str {
        &self.account
    }

    /// The way to the daemon.
    pub(super) fn http(&self) -> &Http {
        &self.http
    }

    /// Performs a request; the result, or what became of it.
    pub(super) async fn perform(&self, id: &str, wire: &Value, kept: &Kept) -> Result<Value, Failure> {
        if let Some(why) = wire["refused"].as_str() {
            return Err(Failure::Permanent(why.into()));
        }
        let request =
            json!({ "jsonrpc": "2.0", "id": id, "method": wire["method"], "params": wire["params"] });
        let file = match inlined::reference(&request, FILE).and_then(referred) {
            Some(digest) => {
                Some(kept.open(&digest).await.map_err(|error| Failure::Permanent(error.to_string()))?)
            }
            None if request.pointer(FILE).is_some() => {
                return Err(Failure::Permanent("the stored request names its file by no hash".into()));
            }
            None => None,
        };
        self.serves_all().await?;
        let answer = self.ask(request, file).await.inspect_err(|_| self.believe(None))?;
        if !answer.status.is_success() {
            let said = format!("{}; check url", answer.status);
            return Err(self.http.judge(&answer, &said, Scope::Account));
        }
        let error = &answer.body["error"];
        if !error.is_null() {
            return Err(self.judge(error, wire["method"].as_str().unwrap_or_default()));
        }
        let results = answer.body["result"]["results"].as_array().map_or(&[][..], Vec::as_slice);
        let missed = results.iter().filter(|result| result["type"] != "SUCCESS").count();
        if missed > 0 {
            tracing::warn!(
                missed,
                of = results.len(),
                "a Signal message did not reach every member of its group"
            );
        }
        Ok(answer.body["result"].clone())
    }

    /// Fails where the daemon was started for one account.
    pub(super) async fn serves_all(&self) -> Result<(), Failure> {
        let since = *self.serves_all.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_some_and(|since| since.elapsed() < BELIEVED) {
            return Ok(());
        }
        let answer = self.ask(accounts(), None).await.map_err(Silence::harmless)?;
        if !answer.status.is_success() {
            let said = format!("{}; check url", answer.status);
            return Err(self.http.judge(&answer, &said, Scope::Account).harmless());
        }
        if serves_one(&answer) {
            return Err(Failure::Permanent(self.started_for_one()));
        }
        self.believe(Some(Instant::now()));
        Ok(())
    }

    /// That it serves several accounts, since when; or nothing of it any more.
    pub(super) fn believe(&self, since: Option<Instant>) {
        *self.serves_all.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn started_for_one(&self) -> String {
        format!(
            "signal-cli runs for one account and does not say whether that is {}: start its daemon without -a",
            self.account
        )
    }

    pub(super) async fn ask(&self, json: Value, file: Option<Checked>) -> Result<Answer, Silence> {
        let request = self.http.client.post(self.url.at(&["api", "v1", "rpc"]));
        let longest = (2 * Http::longest(file.as_ref().map_or(0, |file| file.size))).min(LONGEST);
        let request = match file {
            None => request.json(&json),
            Some(file) => inlined::body(request, json, FILE, file)
                .ok_or_else(|| Silence::NotSent("the request has no place for its file".into()))?,
        };
        self.http.ask_within(request, longest).await
    }

    /// What an error means for the message.
    pub(super) fn judge(&self, error: &Value, method: &str) -> Failure {
        let number = error["code"].as_i64().unwrap_or(0);
        let message = error["message"].as_str().unwrap_or("it gave no reason");
        let said = format!("signal-cli said {number}, {}", self.http.words(message));
        let results = error["data"]["response"]["results"].as_array().map_or(&[][..], Vec::as_slice);
        let any = |kind: &str| results.iter().any(|result| result["type"] == kind);
        match number {
            code::PARAMETERS if message.contains("account") => Failure::Permanent(self.no_account()),
            code::METHOD => {
                Failure::Permanent(format!("{said}: this signal-cli has no {method}, use a newer one"))
            }
            code::PARAMETERS | code::REQUEST | code::JSON => Failure::Permanent(said),
            code::UNTRUSTED => Failure::Permanent(format!(
                "{said}: the recipient has a new safety number; compare it, then run signal-cli trust"
            )),
            code::RATE_LIMIT => self.limited(said, results),
            code::USER if any("RATE_LIMIT_FAILURE") => self.limited(said, results),
            code::USER if any("NETWORK_FAILURE") => Failure::Unknown(format!("{said}: its network failed")),
            code::USER if any("UNREGISTERED_FAILURE") => {
                Failure::Permanent(format!("{said}: the recipient is not on Signal"))
            }
            code::USER => Failure::Permanent(said),
            // An exception, its name in brackets at the end.
            _ if ["ConnectException", "UnknownHostException", "NoRouteToHostException"]
                .iter()
                .any(|name| message.contains(name)) =>
            {
                Failure::Retry(said)
            }
            _ if message.contains("RateLimitException") => self.limited(said, results),
            _ if ["AttachmentInvalidException", "AuthorizationFailedException"]
                .iter()
                .any(|name| message.contains(name)) =>
            {
                Failure::Permanent(said)
            }
            _ => Failure::Unknown(said),
        }
    }

    fn limited(&self, said: String, results: &[Value]) -> Failure {
        let seconds = results.iter().filter_map(|result| result["retryAfterSeconds"].as_u64()).max();
        let captcha = results.iter().any(|result| result["token"].is_string());
        let why = if captcha {
            format!("{said}: Signal wants to see a person; run signal-cli submitRateLimitChallenge, or wait")
        } else {
            said
        };
        match seconds.filter(|seconds| *seconds > 0) {
            Some(seconds) => {
                let after = Duration::from_secs(seconds).min(quota::LONGEST);
                heard::note(Allowance::none(Scope::Account, after));
                Failure::Wait { after, why }
            }
            None => Failure::Retry(why),
        }
    }

    fn no_account(&self) -> String {
        format!("signal-cli has no account {}: register or link it there", self.account)
    }

    /// The account, if the daemon has it.
    pub(super) async fn who_am_i(&self) -> Result<String, String> {
        let answer = match self.ask(accounts(), None).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(why),
        };
        if !answer.status.is_success() {
            let said = format!("{}; check url", answer.status);
            return Err(self.http.judge(&answer, &said, Scope::Account).to_string());
        }
        if serves_one(&answer) {
            return Err(self.started_for_one());
        }
        let accounts = answer.body["result"].as_array().ok_or("what answers is no signal-cli; check url")?;
        let is_it = |account: &&Value| account["number"] == self.account || account["aci"] == self.account;
        match accounts.iter().find(is_it) {
            Some(_) => Ok(self.account.clone()),
            None => Err(self.no_account()),
        }
    }
}

/// Which accounts there are, which a daemon for one of them does not say.
fn accounts() -> Value {
    json!({ "jsonrpc": "2.0", "id": "accounts", "method": "listAccounts" })
}

/// Whether it has no such method.
fn serves_one(answer: &Answer) -> bool {
    answer.body["error"]["code"] == code::METHOD
}
