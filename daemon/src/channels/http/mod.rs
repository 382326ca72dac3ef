//! One account's way to its platform over HTTP: what every adapter that speaks it needs alike.
//!
//! Whether a request arrived is known only from an answer of the platform itself, so there are three ends: an [`Answer`],
//! and two kinds of [`Silence`]. Every answer is read as far as it may go, asked what it says of limits ([`quota`]), and
//! its words are passed on only without the account's secret. Redirects and proxies are whoever makes the client's matter.

#[cfg(test)]
pub(super) mod double;
pub mod quota;

use std::time::{Duration, SystemTime};

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::Value;

use super::heard;
use crate::{cause::innermost, settings::secret::Secret};

/// For a whole request, from the connection to the end of the answer, where nobody says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// The longest answer that is read, in bytes. The ones that matter have a few hundred.
const MAX_ANSWER: usize = 64 * 1024;

/// The longest words of a server that are passed on, in characters.
const MAX_WORDS: usize = 300;

/// An account's way to its platform.
pub struct Http {
    /// Makes requests; [`ask`](Self::ask) performs them.
    pub client: Client,
    /// Who answers, for people: `the homeserver`.
    platform: &'static str,
    secret: Secret,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// When to come back, as its headers have it.
    pub retry_after: Option<Duration>,
    /// Its body; null where that is no JSON and the status says no.
    pub body: Value,
}

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Silence {
    /// No connection: the request was not sent.
    NotSent(String),
    /// It may have been sent.
    Lost(String),
}

impl Http {
    /// A way to `platform` on which `secret` is never repeated.
    pub fn new(client: Client, platform: &'static str, secret: Secret) -> Self {
        Self { client, platform, secret }
    }

    /// Performs a request, and notes what its answer says of limits.
    ///
    /// # Errors
    /// There was no answer, or one that says yes and cannot be read.
    pub async fn ask(&self, request: RequestBuilder) -> Result<Answer, Silence> {
        self.ask_within(request, TIMEOUT).await
    }

    /// The same for a request that may take this long, such as one that brings a file.
    ///
    /// # Errors
    /// As those of [`ask`](Self::ask).
    pub async fn ask_within(&self, request: RequestBuilder, longest: Duration) -> Result<Answer, Silence> {
        let response = request.timeout(longest).send().await.map_err(|error| self.silence(&error))?;
        let (status, now) = (response.status(), SystemTime::now());
        let limited = status == StatusCode::TOO_MANY_REQUESTS;
        let retry_after = quota::retry_after(response.headers(), limited, now);
        quota::allowances(response.headers(), limited, now).into_iter().for_each(heard::note);
        // An answer that says no has said so, whatever becomes of its words.
        let body = match (self.read(response).await, status.is_success()) {
            (Ok(bytes), true) => serde_json::from_slice(&bytes)
                .map_err(|_| Silence::Lost(format!("{}'s answer is no JSON", self.platform)))?,
            (Ok(bytes), false) => serde_json::from_slice(&bytes).unwrap_or_default(),
            (Err(why), true) => return Err(Silence::Lost(self.words(&why))),
            (Err(_), false) => Value::Null,
        };
        Ok(Answer { status, retry_after, body })
    }

    /// Words from outside, on one line, bounded, without the secret.
    pub fn words(&self, text: &str) -> String {
        let text = text.replace(self.secret.expose(), "***").replace(char::is_control, " ");
        match text.char_indices().nth(MAX_WORDS) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        }
    }

    fn silence(&self, error: &reqwest::Error) -> Silence {
        let (platform, cause) = (self.platform, self.words(&innermost(error).to_string()));
        if error.is_connect() || error.is_builder() {
            Silence::NotSent(format!("cannot connect to {platform}: {cause}"))
        } else {
            Silence::Lost(format!("no answer from {platform}: {cause}"))
        }
    }

    /// The body, as far as it may go.
    async fn read(&self, mut response: Response) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| innermost(&error).to_string())? {
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
    use super::{
        double::{Double, Reply},
        *,
    };
    use crate::channels::limits::{Allowance, Scope};

    async fn asked(script: &'static [Reply]) -> (Result<Answer, Silence>, Vec<Allowance>) {
        let port = Double::start(script).port;
        let http = Http::new(double::http(), "the platform", Secret::from("hush"));
        heard::listening(http.ask(http.client.get(format!("http://127.0.0.1:{port}/")))).await
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

    #[tokio::test]
    async fn who_is_given_a_moment_only_is_lost_after_it() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", port.local_addr().unwrap());
        let http = Http::new(double::http(), "the platform", Secret::from("hush"));
        // It is connected, and nobody answers.
        let lost = http.ask_within(http.client.get(url), Duration::from_millis(50)).await;
        assert!(matches!(lost, Err(Silence::Lost(_))), "{lost:?}");
    }

    #[test]
    fn words_are_bounded_on_one_line_and_without_the_secret() {
        let http = Http::new(double::http(), "the platform", Secret::from("hush"));
        assert_eq!(http.words("be hush\nnow"), "be *** now");
        assert_eq!(http.words(&"ä".repeat(500)).chars().count(), MAX_WORDS + 1);
    }
}
