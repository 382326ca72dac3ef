//! Query keys: a call that has one that it does not know is refused.
//!
//! A misspelt key that is quietly ignored widens the call: `?stat=held` lists everything, and a purge of the state `failed` with
//! `oldrThan` lets go of all of it. What a call knows is read from its own description, so that `/openapi.json` and
//! this never tell two stories. That holds for probes (`/healthz`) too; a platform that tells something may add what it likes, for
//! nobody here can change its calls.

use std::sync::Arc;

use axum::{
    extract::{Query, Request},
    http::Method,
};
use serde::de::DeserializeOwned;
use utoipa::openapi::{
    PathItem, RefOr,
    path::{Operation, ParameterIn},
};

use crate::{message::refusal::Refusal, spelling::nearest};

/// The longest key that a refusal repeats, in characters.
const MAX_SHOWN_CHARS: usize = 40;

/// The keys that the calls at one path know.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys(Arc<[(Method, Vec<String>)]>);

impl Keys {
    /// Those of the calls that are described here.
    pub(super) fn described(path: &PathItem) -> Self {
        let operations =
            [(Method::GET, &path.get), (Method::POST, &path.post), (Method::DELETE, &path.delete)];
        let known = operations
            .into_iter()
            .filter_map(|(method, operation)| Some((method, keys(operation.as_ref()?))));
        Self(known.collect())
    }

    fn of(&self, method: &Method) -> &[String] {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        self.0.iter().find(|(known, _)| known == method).map_or(&[], |(_, keys)| keys)
    }
}

fn keys(operation: &Operation) -> Vec<String> {
    let described = operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
        RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => Some(parameter.name.clone()),
        _ => None,
    });
    described.collect()
}

/// Refuses a request with a query key that its call does not know.
pub(super) fn check(request: &Request) -> Result<(), Refusal> {
    if request.uri().query().is_none() {
        return Ok(());
    }
    let given: Vec<(String, String)> = read(request)?;
    let all = request.extensions().get::<Keys>().cloned().unwrap_or_default();
    let known = all.of(request.method());
    let Some((unknown, _)) = given.iter().find(|(key, _)| !known.contains(key)) else { return Ok(()) };
    let meant = nearest(unknown, known.iter().map(String::as_str));
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
        let known = [(Method::GET, vec!["state".to_owned(), "limit".to_owned()]), (Method::POST, vec![])];
        let mut request = Request::builder().method(method).uri(uri).body(Body::empty()).expect("a request");
        request.extensions_mut().insert(Keys(known.into()));
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
