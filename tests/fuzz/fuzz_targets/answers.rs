//! An answer of any platform, whatever it says, to everybody who decodes one: it is an id, or a verdict in bounded words that repeat
//! no secret.
#![no_main]

use std::time::{Duration, SystemTime};

use arbitrary::Arbitrary;
use gatepost::{
    channels::{
        imessage::imsg_line,
        kit::http::{Answer, Reader, Verdict, quota},
        registry::KINDS,
    },
    settings::secret::Secret,
};
use libfuzzer_sys::fuzz_target;
use reqwest::{
    StatusCode,
    header::{HeaderMap, HeaderName, HeaderValue},
};

const SECRET: &str = "hush-hush";
/// The longest sentence about an answer, in characters.
const MAX_SENTENCE: usize = 900;

const HEADERS: [&str; 9] = [
    "retry-after",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset-after",
    "x-ratelimit-bucket",
    "x-ratelimit-scope",
    "x-ratelimit-global",
    "ratelimit",
    "ratelimit-policy",
];

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    status: u16,
    headers: Vec<(u8, &'a [u8])>,
    body: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let Ok(status) = StatusCode::from_u16(200 + input.status % 400) else { return };
    let limited = status == StatusCode::TOO_MANY_REQUESTS;
    let mut headers = HeaderMap::new();
    for (name, value) in input.headers.iter().take(HEADERS.len()) {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.append(HeaderName::from_static(HEADERS[usize::from(*name) % HEADERS.len()]), value);
        }
    }
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    let retry_after = quota::retry_after(&headers, limited, now);
    assert!(retry_after.is_none_or(|after| after <= quota::LONGEST));
    let _ = quota::allowances(&headers, limited, now);
    let _ = imsg_line(input.body);
    let Ok(answer) = Answer::decode(status, retry_after, input.body) else { return };
    let reader = Reader::new("the platform", Secret::from(SECRET));
    let decoders = KINDS.iter().flat_map(|kind| kind.decoders.iter().map(|decoder| (kind.name, decoder)));
    for (channel, (of, decode)) in decoders {
        if let Err(verdict) = decode(&reader, &answer) {
            let (Verdict::Retry(why)
            | Verdict::Wait { why, .. }
            | Verdict::Permanent(why)
            | Verdict::Unknown(why)
            | Verdict::Token(why)) = verdict;
            assert!(why.chars().count() <= MAX_SENTENCE, "{channel} {of}: {why}");
            assert!(!why.contains(SECRET) && !why.contains(char::is_control), "{channel} {of}: {why:?}");
        }
    }
});
