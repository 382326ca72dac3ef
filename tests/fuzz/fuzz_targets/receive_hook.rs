//! What somebody posts to an account, whatever it says: nothing is taken that is not proved, and what is taken is within bounds.
#![no_main]

use std::{sync::LazyLock, time::Instant};

use gatepost::{
    channels::{
        incoming::NotTaken,
        received::{AuthorKind, Event},
        webhook::receive::{Taking, body::Pointer, proof::Proof},
    },
    settings::secret::Secret,
};
use libfuzzer_sys::fuzz_target;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// Whoever may send has this; the input has what they say.
const TOKEN: &str = "correct-horse-battery";

/// Accounts whose senders sign.
static SIGNED: LazyLock<[Taking; 2]> = LazyLock::new(|| {
    let standard = [Secret::from("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")];
    let standard = Proof::standard(&standard).expect("a secret of the standard");
    [Taking::new("ci", standard), Taking::new("ci", Proof::github(&[Secret::from(TOKEN)]))]
});

// Lines of `name: value` up to an empty one, and the body.
fuzz_target!(|data: &[u8]| {
    let end = data.windows(2).position(|two| two == b"\n\n").unwrap_or(data.len());
    let (head, body) = (&data[..end], data.get(end + 2..).unwrap_or_default());
    let mut headers = HeaderMap::new();
    for line in head.split(|byte| *byte == b'\n').take(32) {
        let Some(at) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (&line[..at], line[at + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    let now = Instant::now();
    for account in SIGNED.iter() {
        // Nobody comes by a signature.
        assert_eq!(account.take(&headers, body, (now, 0)), Err(NotTaken::Proof));
    }
    headers.insert("x-token", HeaderValue::from_static(TOKEN));
    // A new one, so that each is the first of its minute.
    let mut account = Taking::new("ci", Proof::token(&[Secret::from(TOKEN)], "x-token".parse().ok()));
    account.text_at = Pointer::parse("/a/0").ok();
    let Ok(received) = account.take(&headers, body, (now, 0)) else { return };
    assert!(received.author.kind == AuthorKind::Program && received.author.id == "ci");
    assert!(
        matches!(received.event, Event::Webhook(_)) && !received.mentions_me && !received.conversation.direct
    );
    let received = received.bounded().expect("it has ids that fit");
    assert_eq!(received.clone().bounded(), Ok(received));
});
