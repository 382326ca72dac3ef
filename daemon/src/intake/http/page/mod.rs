//! The operator's page: the files of `daemon/web`, as `build.rs` has put them into the program (`served`).
//!
//! Anybody may read them; what they show, they ask of `/v1` by a login. They are given where a browser takes them for safe: on this machine, or
//! over TLS. Elsewhere whoever listens could read the cookie, and with it pair a companion of their own; there the hub says what to do.

#[cfg(test)]
mod served;

use std::sync::LazyLock;

use axum::{
    Router,
    body::Body,
    extract::{Path, Request, State, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing,
};
use gatepost_link::Digest;

use super::{Endpoint, door::is_by_tls, nowhere, problem};
use crate::{
    message::refusal::{Code, Refusal},
    random::to_hex,
};

/// The name of each file, and what is sent of it, packed by gzip.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/web.rs"));
/// The one at `/`.
const FIRST: &str = "index.html";

/// What the page may load and do (<https://www.w3.org/TR/CSP3/>): nothing that is not the hub's own, and no text becomes code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// What each file is known again by, in their order: half of its SHA-256.
static TAGS: LazyLock<Vec<HeaderValue>> = LazyLock::new(|| {
    let tag = |(_, bytes): &(&str, &[u8])| format!("\"{}\"", to_hex(&Digest::of(bytes).0[..16]));
    FILES.iter().map(|file| HeaderValue::from_str(&tag(file)).expect("digits in quotes")).collect()
});

/// The page's paths.
pub(super) fn routes() -> Router<Endpoint> {
    Router::new().route("/", routing::get(first)).route("/web/{file}", routing::get(file))
}

async fn first(State(endpoint): State<Endpoint>, request: Request) -> Response {
    send(&endpoint, FIRST, request).await
}

async fn file(
    State(endpoint): State<Endpoint>,
    name: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    match name {
        Ok(Path(name)) if name != FIRST => send(&endpoint, &name, request).await,
        _ => nowhere(State(endpoint), request.headers().clone()).await,
    }
}

async fn send(endpoint: &Endpoint, name: &str, request: Request) -> Response {
    let headers = request.headers();
    if !endpoint.0.hosts.are_safe(headers, is_by_tls(&request)) {
        let refusal = unsafe_here();
        return match is_for_a_person(headers) {
            true => in_words(&refusal, StatusCode::FORBIDDEN),
            false => problem::response(&refusal),
        };
    }
    if !takes_gzip(headers) {
        let hint = "send Accept-Encoding: gzip, as browsers do, or none";
        let refusal = Refusal::input("the page is sent as gzip alone", hint).because("encoding");
        return problem::with_status(&refusal, StatusCode::NOT_ACCEPTABLE);
    }
    let Some(at) = FILES.iter().position(|(known, _)| *known == name) else {
        return nowhere(State(endpoint.clone()), headers.clone()).await;
    };
    let mut response = match is_known(headers, &TAGS[at]) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::CONTENT_ENCODING, "gzip")], Body::from(FILES[at].1)).into_response(),
    };
    let kind = HeaderValue::from_static(kind(name));
    for (header, value) in [
        (header::CONTENT_TYPE, kind),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
        (header::ETAG, TAGS[at].clone()),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    ] {
        response.headers_mut().insert(header, value);
    }
    response
}

/// Whether a browser has it already (RFC 9110, 13.1.2).
fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let lists = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut known = lists.flat_map(|list| list.split(',')).map(|known| known.trim().trim_start_matches("W/"));
    known.any(|known| known.as_bytes() == tag.as_bytes())
}

/// Whether somebody can unpack it: who does not say takes any coding (RFC 9110, 12.5.3).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let Some(codings) = headers.get(header::ACCEPT_ENCODING) else { return true };
    let is_taken = |coding: &str| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight: String = weight.split_whitespace().collect();
        ["gzip", "x-gzip", "*"].contains(&name.trim())
            && !["q=0", "q=0.0", "q=0.00", "q=0.000"].contains(&&*weight)
    };
    codings.to_str().is_ok_and(|codings| codings.split(',').any(is_taken))
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("webmanifest") => "application/manifest+json",
        _ => "application/octet-stream",
    }
}

fn unsafe_here() -> Refusal {
    let error =
        "the page is not shown here: without TLS, whoever is on this network could take over the login";
    let hint = "from another machine run `ssh -L 8787:localhost:8787 HUB` and open http://localhost:8787; or give the hub a \
                certificate ([web]) or a proxy with TLS, and write its name into [hub] hosts (daemon/docs/page.md)";
    Refusal::new(Code::Forbidden, error, hint).because("insecure")
}

/// Whether somebody looks at the answer in a browser.
pub(super) fn is_for_a_person(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT)
        .and_then(|kinds| kinds.to_str().ok())
        .is_some_and(|kinds| kinds.contains("text/html"))
}

/// A refusal for a person, in plain text.
pub(super) fn in_words(refusal: &Refusal, status: StatusCode) -> Response {
    (status, format!("Gatepost: {}.\n\nWhat to do: {}.\n", refusal.error, refusal.hint)).into_response()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, path::Path};

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn who_cannot_unpack_it_says_so() {
        let takes = |codings: &str| {
            takes_gzip(&[(header::ACCEPT_ENCODING, codings.parse().unwrap())].into_iter().collect())
        };
        assert!(takes_gzip(&HeaderMap::new()));
        for codings in ["gzip, deflate, br, zstd", "br;q=1.0, gzip;q=0.8", "*", "identity, *;q=0.1"] {
            assert!(takes(codings), "{codings}");
        }
        for codings in ["identity", "", "br", "gzip;q=0", "gzip; q=0.0, br"] {
            assert!(!takes(codings), "{codings}");
        }
    }

    #[test]
    fn the_program_holds_each_file_of_the_page_as_the_rule_has_it_and_no_other() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let mut expected: BTreeMap<String, String> = files
            .map(|path| {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                let text = served::served(&name, &fs::read_to_string(&path).unwrap());
                (name, text)
            })
            .collect();
        assert!(expected.remove("types.js").is_some(), "what the hub does not serve");
        let held: BTreeMap<String, String> = FILES
            .iter()
            .map(|(name, bytes)| {
                ((*name).to_owned(), std::io::read_to_string(GzDecoder::new(*bytes)).unwrap())
            })
            .collect();
        assert!(held == expected, "{:?} and {:?}", held.keys(), expected.keys());
        assert!(held.len() > 30 && held.contains_key(FIRST));
        assert!(
            held.keys().all(|name| kind(name) != "application/octet-stream"),
            "a kind that the hub does not know"
        );
        // As `tests/web/flows/source.mjs` has it.
        let bytes: usize = held.values().map(String::len).sum();
        assert!(bytes <= 150_000, "{bytes} bytes");
    }
}
