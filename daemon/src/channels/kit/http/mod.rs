//! One account's way to its platform over HTTP: what every adapter that speaks it needs alike.
//!
//! Whether a request arrived is known only from an answer of the platform itself, so there are three ends: an [`Answer`],
//! and two kinds of [`Silence`]. Every answer is read as far as it may go, asked what it says of limits ([`quota`]), and
//! its words are passed on only without the account's secret. Redirects and proxies are whoever makes the client's matter.

pub mod base;
pub mod granted;
pub mod inlined;
mod masked;
pub mod quota;
pub mod reader;
pub mod signature;
pub mod token;
pub mod within;

pub use masked::masked;
pub use reader::{Decode, Reader, Verdict};

use std::time::{Duration, SystemTime};

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use tokio::time::timeout;

use self::token::Token;
use crate::channels::{
    Failure,
    limits::{Allowance, Scope},
    rate_hints::RateHints,
};
use crate::{cause::innermost, files::kept::Checked, settings::secret::Secret};

/// For a whole request, from the connection to the end of the answer, where nobody says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// The longest answer that is read, in bytes. Most have a few hundred; one to a group tells of each of its members, of whom
/// Signal allows a thousand.
const MAX_ANSWER: usize = 256 * 1024;

/// The slowest that an upload may be, in bytes a second: 25 MB in less than four minutes.
const UPLOAD_RATE: u64 = 128 * 1024;
/// However large a file is: less than the whole delivery may take.
const UPLOAD_LONGEST: Duration = Duration::from_secs(400);

/// An account's way to its platform.
pub struct Http {
    /// Makes requests; [`ask`](Self::ask) performs them.
    pub client: Client,
    /// Who answers, for people: `the homeserver`.
    platform: &'static str,
    token: Token,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// When to come back, as its headers have it.
    pub retry_after: Option<Duration>,
    /// Its body; null where there is none, and where it is no JSON and the status says no.
    pub body: Value,
}

impl Answer {
    /// Decodes an answer from its body, as far as that was read.
    ///
    /// # Errors
    /// It says yes, and its body is no JSON.
    pub fn decode(
        status: StatusCode,
        retry_after: Option<Duration>,
        body: &[u8],
    ) -> Result<Self, serde_json::Error> {
        let body = match status.is_success() {
            // "Accepted", "No Content": all that there is to say.
            true if body.is_empty() => Value::Null,
            true => serde_json::from_slice(body)?,
            false => serde_json::from_slice(body).unwrap_or_default(),
        };
        Ok(Self { status, retry_after, body })
    }
}

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Silence {
    /// No connection: the request was not sent.
    NotSent(String),
    /// It may have been sent.
    Lost(String),
}

impl From<Silence> for Failure {
    fn from(silence: Silence) -> Self {
        match silence {
            Silence::NotSent(why) => Self::Retry(why),
            Silence::Lost(why) => Self::Unknown(why),
        }
    }
}

impl Silence {
    /// What it means for a request that changes nothing that anybody sees: a question, an upload.
    pub fn harmless(self) -> Failure {
        let (Self::NotSent(why) | Self::Lost(why)) = self;
        Failure::Retry(why)
    }
}

impl Http {
    /// A way to `platform` on which its token is never repeated.
    pub fn new(client: Client, platform: &'static str, token: impl Into<Token>) -> Self {
        Self { client, platform, token: token.into() }
    }

    /// The token, for the one place that sends it.
    pub fn token(&self) -> Secret {
        self.token.now()
    }

    /// Who decodes this platform's answers, with the token as it is now.
    pub fn reader(&self) -> Reader {
        Reader::new(self.platform, self.token.now())
    }

    /// What a verdict means for the part, and what is to be done about it at once: a limit is noted, a refused token is read
    /// anew.
    pub fn settle(&self, verdict: Verdict, hints: &mut RateHints) -> Failure {
        match verdict {
            Verdict::Retry(why) => Failure::Retry(why),
            Verdict::Wait { by, after, why } => {
                if let Some(by) = by {
                    hints.note(Allowance::none(by, after));
                }
                Failure::Wait { after, why }
            }
            Verdict::Permanent(why) => Failure::Permanent(why),
            Verdict::Unknown(why) => Failure::Unknown(why),
            Verdict::Token(why) => self.refused(why),
        }
    }

    /// What an answer means that says no, by its status alone: see [`Reader::classify`].
    pub fn classify(&self, answer: &Answer, said: &str, by: Scope, hints: &mut RateHints) -> Failure {
        self.settle(self.reader().classify(answer, said, by), hints)
    }

    /// What it means that the platform refuses the token: a new one may have been put in its place.
    pub fn refused(&self, why: String) -> Failure {
        if self.token.renewed() {
            Failure::Retry(format!("{why}; there is a new token, with which it goes again"))
        } else {
            Failure::Permanent(format!(
                "{why}; replace the token, which is read again when it is refused (or run gatepost reload, for one of another account)"
            ))
        }
    }

    /// How long a request may take that brings a file of this size.
    pub fn longest(size: u64) -> Duration {
        (TIMEOUT + Duration::from_secs(size / UPLOAD_RATE)).min(UPLOAD_LONGEST)
    }

    /// A file as a request's body.
    pub fn body(file: Checked) -> reqwest::Body {
        tokio::fs::File::from_std(file.file).into()
    }

    /// Performs a request, and notes in `hints` what its answer says of limits.
    ///
    /// # Errors
    /// There was no answer, or one that says yes and cannot be read.
    pub async fn ask(&self, request: RequestBuilder, hints: &mut RateHints) -> Result<Answer, Silence> {
        self.ask_within(request, TIMEOUT, hints).await
    }

    /// The same where the status alone is the answer: a yes with a body that is no JSON is a yes, and its body is null.
    ///
    /// # Errors
    /// There was no answer.
    pub async fn ask_status(
        &self,
        request: RequestBuilder,
        hints: &mut RateHints,
    ) -> Result<Answer, Silence> {
        self.perform(request, TIMEOUT, |_| Ok(Value::Null), hints).await
    }

    /// The same for a request that may take this long, such as one that brings a file.
    ///
    /// # Errors
    /// As those of [`ask`](Self::ask).
    pub async fn ask_within(
        &self,
        request: RequestBuilder,
        longest: Duration,
        hints: &mut RateHints,
    ) -> Result<Answer, Silence> {
        let unread = |_| Err(Silence::Lost(format!("{}'s answer is no JSON", self.platform)));
        self.perform(request, longest, unread, hints).await
    }

    /// Performs a request whose answer is a stream: the stream, of at most `longest`, or the answer that says no.
    ///
    /// # Errors
    /// There was no answer.
    pub async fn stream(
        &self,
        request: RequestBuilder,
        longest: Duration,
        hints: &mut RateHints,
    ) -> Result<Result<Response, Answer>, Silence> {
        let late =
            |_| Silence::Lost(format!("no answer from {} within {} s", self.platform, TIMEOUT.as_secs()));
        let sent = timeout(TIMEOUT, request.timeout(longest).send()).await.map_err(late)?;
        let response = sent.map_err(|error| self.silence(error))?;
        if response.status().is_success() {
            return Ok(Ok(response));
        }
        let answer =
            timeout(TIMEOUT, self.answer(response, |_| Ok(Value::Null), hints)).await.map_err(late)?;
        answer.map(Err)
    }

    /// Performs a request; `unread` says what a yes is whose body is no JSON.
    async fn perform(
        &self,
        request: RequestBuilder,
        longest: Duration,
        unread: impl FnOnce(serde_json::Error) -> Result<Value, Silence>,
        hints: &mut RateHints,
    ) -> Result<Answer, Silence> {
        let response = request.timeout(longest).send().await.map_err(|error| self.silence(error))?;
        self.answer(response, unread, hints).await
    }

    /// What a response says.
    async fn answer(
        &self,
        response: Response,
        unread: impl FnOnce(serde_json::Error) -> Result<Value, Silence>,
        hints: &mut RateHints,
    ) -> Result<Answer, Silence> {
        let (status, now) = (response.status(), SystemTime::now());
        let limited = status == StatusCode::TOO_MANY_REQUESTS;
        let retry_after = quota::retry_after(response.headers(), limited, now);
        quota::allowances(response.headers(), limited, now).into_iter().for_each(|said| hints.note(said));
        let bytes = match self.read(response).await {
            Ok(bytes) => bytes,
            Err(why) if status.is_success() => return Err(Silence::Lost(self.words(&why))),
            // An answer that says no has said so, whatever becomes of its words.
            Err(_) => Vec::new(),
        };
        match Answer::decode(status, retry_after, &bytes) {
            Ok(answer) => Ok(answer),
            Err(error) => Ok(Answer { status, retry_after, body: unread(error)? }),
        }
    }

    /// Words from outside, on one line, bounded, without the secret.
    pub fn words(&self, text: &str) -> String {
        self.reader().words(text)
    }

    /// Without the address, which may have a secret in it.
    pub fn silence(&self, error: reqwest::Error) -> Silence {
        let error = error.without_url();
        let (platform, cause) = (self.platform, self.words(&innermost(&error).to_string()));
        if error.is_connect() || error.is_builder() {
            Silence::NotSent(format!("cannot connect to {platform}: {cause}"))
        } else {
            Silence::Lost(format!("no answer from {platform}: {cause}"))
        }
    }

    /// The body, as far as it may go.
    async fn read(&self, mut response: Response) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|error| innermost(&error.without_url()).to_string())?
        {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(format!("{}'s answer is too long", self.platform));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::testing::http::{self as mock, Mock, Reply};
    use crate::channels::{
        kit::http::reader::MAX_WORDS,
        limits::{Allowance, Scope},
    };

    async fn asked(script: &'static [Reply]) -> (Result<Answer, Silence>, Vec<Allowance>) {
        let port = Mock::start(script).port;
        let http = Http::new(mock::http(), "the platform", Secret::from("hush"));
        let mut hints = RateHints::default();
        let answer = http.ask(http.client.get(format!("http://127.0.0.1:{port}/")), &mut hints).await;
        (answer, hints.into_allowances())
    }

    #[tokio::test]
    async fn what_an_answer_says_of_limits_is_heard_beside_it() {
        const SENT: Reply = Reply::Says(
            200,
            "X-RateLimit-Limit: 5\r\nX-RateLimit-Remaining: 4\r\nX-RateLimit-Reset-After: 1.5\r\nX-RateLimit-Bucket: b\r\n",
            "{}",
        );
        let (answer, heard) = asked(&[SENT]).await;
        assert_eq!(answer.unwrap().retry_after, None);
        let lasts = Duration::from_millis(1_500);
        assert_eq!(heard, [Allowance { scope: Scope::Chat, quota: "b".into(), left: 4, lasts }]);

        const GLOBAL: Reply = Reply::Says(
            429,
            "Retry-After: 65\r\nX-RateLimit-Global: true\r\nX-RateLimit-Scope: global\r\n",
            "{}",
        );
        let (answer, heard) = asked(&[GLOBAL]).await;
        assert_eq!(answer.unwrap().retry_after, Some(Duration::from_secs(65)));
        assert_eq!(heard, [Allowance::none(Scope::Account, Duration::from_secs(65))]);
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_read_is_lost_only_if_it_said_yes() {
        let lost = asked(&[Reply::Says(200, "", "<p>yes</p>")]).await.0;
        assert_eq!(lost.unwrap_err(), Silence::Lost("the platform's answer is no JSON".into()));
        let refused = asked(&[Reply::Says(403, "", "<p>no</p>")]).await.0.unwrap();
        assert_eq!((refused.status.as_u16(), refused.body), (403, Value::Null));
        assert!(matches!(asked(&[Reply::Endless]).await.0, Err(Silence::Lost(_))));
        assert!(matches!(asked(&[Reply::Close]).await.0, Err(Silence::Lost(_))));
    }

    /// "Accepted", "No Content", and the bare "OK" of a small receiver. Who needs an id from it finds none, and says so.
    #[tokio::test]
    async fn a_yes_with_nothing_to_read_is_a_yes() {
        const EMPTY: [&[Reply]; 3] =
            [&[Reply::Says(200, "", "")], &[Reply::Says(202, "", "")], &[Reply::Says(204, "", "")]];
        for script in EMPTY {
            assert_eq!(asked(script).await.0.unwrap().body, Value::Null, "{script:?}");
        }
    }

    #[tokio::test]
    async fn no_address_is_in_an_error_for_it_may_have_an_old_secret_in_it() {
        let port = Mock::start(&[Reply::Close]).port;
        let http = Http::new(mock::http(), "the platform", Secret::from("the new one"));
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        for url in [
            format!("http://127.0.0.1:{port}/botold-secret/send"),
            format!("http://127.0.0.1:{nobody}/botold-secret/send"),
            "http://[::not-an-address/botold-secret".into(),
            "mailto:botold-secret".into(),
        ] {
            let silence = http.ask(http.client.get(&url), &mut RateHints::default()).await.unwrap_err();
            assert!(!format!("{silence:?}").contains("old-secret"), "{url}: {silence:?}");
        }
    }

    #[tokio::test]
    async fn who_says_that_it_did_nothing_is_asked_again_and_who_may_have_done_something_is_not() {
        let judged = async |status, headers, body| {
            let port = Mock::start(&[Reply::Says(status, headers, body)]).port;
            let http = Http::new(mock::http(), "the platform", Secret::from("hush"));
            let hints = &mut RateHints::default();
            let request = http.client.post(format!("http://127.0.0.1:{port}/"));
            let answer = http.ask(request, hints).await.unwrap();
            http.classify(&answer, "no", Scope::Chat, hints)
        };
        for (status, body) in [(408, ""), (503, r#"{"error":"in maintenance"}"#)] {
            let failure = judged(status, "", body).await;
            assert!(matches!(failure, Failure::Retry(_)), "{status} {body}: {failure:?}");
        }
        let later = judged(503, "Retry-After: 120\r\n", "<h1>Later</h1>").await;
        assert!(matches!(later, Failure::Wait { after, .. } if after.as_secs() == 120), "{later:?}");
        for (status, body) in [
            (500, r#"{"error":"internal"}"#),
            (502, "<h1>Bad gateway</h1>"),
            (503, "upstream connect error or disconnect/reset before headers"),
            (504, r#"{"error":"timeout"}"#),
        ] {
            let failure = judged(status, "", body).await;
            assert!(matches!(failure, Failure::Unknown(_)), "{status} {body}: {failure:?}");
        }
    }

    #[tokio::test]
    async fn who_is_given_a_moment_only_is_lost_after_it() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", port.local_addr().unwrap());
        let http = Http::new(mock::http(), "the platform", Secret::from("hush"));
        // It is connected, and nobody answers.
        let (brief, hints) = (Duration::from_millis(50), &mut RateHints::default());
        let lost = http.ask_within(http.client.get(url), brief, hints).await;
        assert!(matches!(lost, Err(Silence::Lost(_))), "{lost:?}");
    }

    #[test]
    fn words_are_bounded_on_one_line_and_without_the_secret() {
        let http = Http::new(mock::http(), "the platform", Secret::from("hush"));
        assert_eq!(http.words("be hush\nnow"), "be *** now");
        assert_eq!(http.words(&"ä".repeat(500)).chars().count(), MAX_WORDS + 1);
        let open = Http::new(mock::http(), "the platform", Secret::from(""));
        assert_eq!(open.words("be hush"), "be hush");
    }
}
