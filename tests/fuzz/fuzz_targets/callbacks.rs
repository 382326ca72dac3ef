//! What platforms tell of their own accord: notifications with a signature, tokens and the keys that verify them. Only what is
//! signed is believed.
#![no_main]

use gatepost::{
    channels::{
        callback::CallbackRefused,
        teams::token::{Key, Parsed},
        whatsapp::status,
    },
    settings::secret::Secret,
};
use libfuzzer_sys::fuzz_target;
use ring::hmac;

const SECRET: &str = "app secret";

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    match kind % 3 {
        0 => signed(bytes),
        1 => unsigned(bytes),
        _ => token(bytes),
    }
});

/// A notification that is signed: it is one, or none, and never a forgery.
fn signed(body: &[u8]) {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = hmac::sign(&key, body);
    let tag: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let read = status::read(&Secret::from(SECRET), &format!("sha256={tag}"), body);
    assert!(!matches!(read, Err(CallbackRefused::Signature | CallbackRefused::Nobody)), "it is signed");
}

/// A signature, and behind the first line's end a body that it does not sign.
fn unsigned(bytes: &[u8]) {
    let Some((signature, body)) = std::str::from_utf8(bytes).ok().and_then(|text| text.split_once('\n'))
    else {
        return;
    };
    assert!(status::read(&Secret::from(SECRET), signature, body.as_bytes()).is_err());
}

/// An `Authorization` header, and behind the first line's end the key that is said to be published for it.
fn token(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (header, key) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(meant) = Parsed::parse(header).and_then(|parsed| parsed.claims("app-1", 1_500)) else { return };
    let _ = meant.kid();
    if let Ok(key) = serde_json::from_str::<Key>(key) {
        assert!(meant.verify(&key).is_err(), "nobody here has a key");
    }
}
