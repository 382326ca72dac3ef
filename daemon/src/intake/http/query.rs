//! Query keys: a call that has one that it does not know is refused.
//!
//! A misspelt key that is quietly ignored widens the call: `?stat=held` lists everything, and a purge of the state `failed` with
//! `oldrThan` lets go of all of it. What a call knows `build.rs` reads in `/openapi.json`, so that this and the document
//! never tell two stories. That holds for probes (`/healthz`) too; a platform that tells something may add what it likes, for
//! nobody here can change its calls.

use axum::{
    extract::{Query, Request},
    http::Method,
};
use serde::de::DeserializeOwned;

use super::document::QUERY_KEYS;
use crate::{message::refusal::Refusal, spelling::nearest};

/// The longest key that a refusal repeats, in characters.
const MAX_SHOWN_CHARS: usize = 40;

/// The keys that each method at one path knows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Keys(&'static [(&'static str, &'static [&'static str])]);

impl Keys {
    /// Those of the calls at this path.
    pub(super) fn of_path(path: &str) -> Self {
        Self(QUERY_KEYS.iter().find(|(known, _)| *known == path).map_or(&[], |(_, methods)| methods))
    }

    fn of(self, method: &Method) -> &'static [&'static str] {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        self.0.iter().find(|(known, _)| known == method).map_or(&[], |(_, keys)| keys)
    }
}

/// Refuses a request with a query key that its call does not know.
pub(super) fn check(request: &Request) -> Result<(), Refusal> {
    if request.uri().query().is_none() {
        return Ok(());
    }
    let given: Vec<(String, String)> = read(request)?;
    let all = request.extensions().get::<Keys>().copied().unwrap_or_default();
    let known = all.of(request.method());
    let Some((unknown, _)) = given.iter().find(|(key, _)| !known.contains(&&**key)) else { return Ok(()) };
    let meant = nearest(unknown, known.iter().copied());
    let meant = meant.map_or_else(String::new, |key| format!(", did you mean {key:?}?"));
    let shown: String = unknown.chars().take(MAX_SHOWN_CHARS).collect();
    let hint = match known {
        [] => "this call has no query parameters".to_owned(),
        known => format!("the query parameters of this call are: {}", known.join(", ")),
    };
    Err(Refusal::input(format!("there is no query parameter {shown:?}{meant}"), hint).because("query"))
}

/// A request's query parameters.
pub(super) fn read<T: DeserializeOwned>(request: &Request) -> Result<T, Refusal> {
    Query::try_from_uri(request.uri()).map(|Query(query)| query).map_err(|error| {
        Refusal::input(clip(&error.body_text()), "see daemon/docs/http.md for the parameters that there are")
            .because("query")
    })
}

/// What a parser says of outside text: bounded.
pub(super) fn clip(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn checked(method: Method, uri: &str) -> Result<(), Refusal> {
        let mut request = Request::builder().method(method).uri(uri).body(Body::empty()).expect("a request");
        request.extensions_mut().insert(Keys(&[("GET", &["state", "limit"]), ("POST", &[])]));
        check(&request)
    }

    #[test]
    fn a_key_that_a_call_does_not_know_is_refused_with_those_that_it_does() {
        for known in ["/v1/x", "/v1/x?", "/v1/x?limit=3&state=held", "/v1/x?state"] {
            assert!(checked(Method::GET, known).is_ok() && checked(Method::HEAD, known).is_ok(), "{known}");
        }
        let refusal = checked(Method::GET, "/v1/x?limit=3&stat=held").unwrap_err();
        assert_eq!(refusal.error, "there is no query parameter \"stat\", did you mean \"state\"?");
        assert_eq!(refusal.hint, "the query parameters of this call are: state, limit");
        let refusal = checked(Method::POST, "/v1/x?limit=3").unwrap_err();
        assert_eq!(refusal.hint, "this call has no query parameters");
        let long = checked(Method::GET, &format!("/v1/x?{}=1", "x".repeat(2_000))).unwrap_err();
        assert!(long.error.len() < 100, "{}", long.error);
        assert!(checked(Method::DELETE, "/v1/x?limit=3").is_err());
    }
}
