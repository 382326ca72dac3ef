//! `vector.json` is from a real Chromium: a passkey that was made for the challenge of 32 times 7, and then signed the SHA-256 of a text.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;

use super::*;

const VECTOR: &str = include_str!("../vector.json");
const TEXT: &[u8] = b"gatepost/decision/web/1 statement";
const AT: &str = "http://localhost:18901";

/// The part `one` of the vector's `of`.
fn bytes(of: &str, one: &str) -> Vec<u8> {
    let vector: Value = serde_json::from_str(VECTOR).unwrap();
    URL_SAFE_NO_PAD.decode(vector[of][one].as_str().unwrap()).unwrap()
}

fn key() -> PublicKey {
    PublicKey { spki: bytes("reg", "spki"), algorithm: -7, rp_id: "localhost".into() }
}

fn asserted() -> Assertion {
    Assertion {
        client_data: bytes("auth", "clientData"),
        authenticator_data: bytes("auth", "authenticatorData"),
        signature: bytes("auth", "signature"),
    }
}

fn made() -> Made {
    let authenticator_data = bytes("reg", "authenticatorData");
    Made {
        credential: authenticator_data[ATTESTED..ATTESTED + 32].to_vec(),
        client_data: bytes("reg", "clientData"),
        authenticator_data,
        spki: bytes("reg", "spki"),
        algorithm: -7,
    }
}

fn verify(assertion: &Assertion, key: &PublicKey) -> Result<u32, Unsigned> {
    assertion.verify(key, &Digest::of(TEXT).0, |origin| origin == AT)
}

/// The same client data with one text in it exchanged.
fn rewritten(client_data: &[u8], before: &str, after: &str) -> Vec<u8> {
    let text = str::from_utf8(client_data).unwrap();
    assert!(text.contains(before), "{text}");
    text.replace(before, after).into_bytes()
}

fn sites() -> Vec<Site> {
    vec![Site { origin: AT.into(), rp_id: "localhost".into() }]
}

#[test]
fn what_a_real_browser_signed_is_verified() {
    assert_eq!(verify(&asserted(), &key()), Ok(2));
    let (made, counter) = made().checked(&[7; 32], &sites()).unwrap();
    assert_eq!((made, counter), (key(), 1));
    assert_eq!(challenge_in(&asserted().client_data), Some(URL_SAFE_NO_PAD.encode(Digest::of(TEXT).0)));
}

#[test]
fn no_bit_of_what_was_signed_can_be_another() {
    let whole = asserted();
    for (piece, length) in [whole.client_data.len(), whole.authenticator_data.len(), whole.signature.len()]
        .into_iter()
        .enumerate()
    {
        for bit in 0..length * 8 {
            let mut changed = whole.clone();
            let bytes = match piece {
                0 => &mut changed.client_data,
                1 => &mut changed.authenticator_data,
                _ => &mut changed.signature,
            };
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&changed, &key()).is_err(), "piece {piece}, bit {bit}");
        }
    }
    for bit in 0..key().spki.len() * 8 {
        let mut other = key();
        other.spki[bit / 8] ^= 1 << (bit % 8);
        assert!(verify(&whole, &other).is_err(), "key, bit {bit}");
    }
}

#[test]
fn each_thing_that_a_browser_or_an_authenticator_says_is_asked_for() {
    let whole = asserted();
    let with = |before: &str, after: &str| {
        let client_data = rewritten(&whole.client_data, before, after);
        verify(&Assertion { client_data, ..whole.clone() }, &key())
    };
    assert_eq!(with("webauthn.get", "webauthn.create"), Err(Unsigned::Kind));
    assert_eq!(with("ajNhigKK", "ajNhigKL"), Err(Unsigned::Challenge));
    assert_eq!(with("localhost:18901", "localhost:18902"), Err(Unsigned::Origin));
    assert_eq!(with("http://", "https://"), Err(Unsigned::Origin));
    assert_eq!(with("\"crossOrigin\":false", "\"crossOrigin\":true"), Err(Unsigned::Framed));
    assert_eq!(with("\"crossOrigin\":false", "\"type\":\"webauthn.get\""), Err(Unsigned::Unreadable));
    assert_eq!(with("\"crossOrigin\":false", "\"later\":1"), Err(Unsigned::Signature), "a browser may add");
    let flags = |flags: u8| {
        let mut authenticator_data = whole.authenticator_data.clone();
        authenticator_data[32] = flags;
        verify(&Assertion { authenticator_data, ..whole.clone() }, &key())
    };
    assert_eq!(flags(4), Err(Unsigned::Absent));
    assert_eq!(flags(1), Err(Unsigned::Unverified));
    assert_eq!(flags(1 | 4 | 8), Err(Unsigned::Signature));
    let elsewhere = PublicKey { rp_id: "localhost.evil.example".into(), ..key() };
    assert_eq!(verify(&whole, &elsewhere), Err(Unsigned::Site));
    let other = whole.verify(&key(), &Digest::of(b"another statement").0, |_| true);
    assert_eq!(other, Err(Unsigned::Challenge));
}

#[test]
fn nothing_that_is_cut_off_is_read() {
    let whole = asserted();
    for length in 0..whole.client_data.len() {
        let client_data = whole.client_data[..length].to_vec();
        assert!(verify(&Assertion { client_data, ..whole.clone() }, &key()).is_err());
    }
    for length in 0..HEAD {
        let authenticator_data = whole.authenticator_data[..length].to_vec();
        let cut = Assertion { authenticator_data, ..whole.clone() };
        assert_eq!(verify(&cut, &key()), Err(Unsigned::Unreadable));
    }
    for length in 0..key().spki.len() {
        let cut = PublicKey { spki: key().spki[..length].to_vec(), ..key() };
        assert_eq!(verify(&whole, &cut), Err(Unsigned::Key));
    }
    assert_eq!(verify(&Assertion { signature: vec![], ..whole }, &key()), Err(Unsigned::Signature));
    let all = made().authenticator_data;
    for length in 0..ATTESTED + 32 {
        let cut = Made { authenticator_data: all[..length].to_vec(), ..made() };
        assert_eq!(cut.checked(&[7; 32], &sites()), Err(Unsigned::Unreadable), "{length}");
    }
}

#[test]
fn a_passkey_is_added_as_it_was_made_here_and_by_somebody() {
    let checked = |made: &Made| made.checked(&[7; 32], &sites()).map(drop);
    assert_eq!(made().checked(&[8; 32], &sites()).map(drop), Err(Unsigned::Challenge));
    let elsewhere = [Site { origin: "https://hub.example.org".into(), rp_id: "hub.example.org".into() }];
    assert_eq!(made().checked(&[7; 32], &elsewhere).map(drop), Err(Unsigned::Origin));
    let another = [Site { rp_id: "hub.example.org".into(), ..sites().remove(0) }];
    assert_eq!(made().checked(&[7; 32], &another).map(drop), Err(Unsigned::Site));
    let signed = Made { client_data: bytes("auth", "clientData"), ..made() };
    assert_eq!(checked(&signed), Err(Unsigned::Kind));
    let mut other = made();
    other.credential[31] ^= 1;
    assert_eq!(checked(&other), Err(Unsigned::Unreadable), "another's id");
    assert_eq!(checked(&Made { credential: vec![], ..made() }), Err(Unsigned::Unreadable));
    for (flags, why) in [(0x44, Unsigned::Absent), (0x41, Unsigned::Unverified), (0x05, Unsigned::Unreadable)]
    {
        let mut other = made();
        other.authenticator_data[32] = flags;
        assert_eq!(checked(&other), Err(why), "{flags:x}");
    }
    for algorithm in [-8, -257, -35, 0] {
        assert_eq!(checked(&Made { algorithm, ..made() }), Err(Unsigned::Key), "{algorithm}");
    }
}

#[test]
fn the_three_kinds_of_keys_are_verified_and_no_others() {
    use ring::{
        rand::SystemRandom,
        signature::{Ed25519KeyPair, KeyPair as _},
    };
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
    let spki = [b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", pair.public_key().as_ref()].concat();
    let read = Key::read(&spki, -8).unwrap();
    assert!(read.signed(b"text", pair.sign(b"text").as_ref()));
    assert!(!read.signed(b"test", pair.sign(b"text").as_ref()));
    assert!(Key::read(&spki, -7).is_none());
    // An RSA key of 2,048 bits, and its signature over "text" with SHA-256, by OpenSSL.
    let (rsa, signature) = (include_bytes!("rsa.spki"), include_bytes!("rsa.sig"));
    let read = Key::read(rsa, -257).unwrap();
    assert!(read.signed(b"text", signature) && !read.signed(b"test", signature));
    for length in 0..rsa.len() {
        assert!(Key::read(&rsa[..length], -257).is_none(), "{length}");
    }
    assert!(Key::read(&[&rsa[..], &[0]].concat(), -257).is_none());
}

#[test]
fn what_is_stored_is_what_was_signed_and_other_bytes_are_nothing() {
    let stored = asserted().to_bytes();
    assert_eq!(Assertion::read(&stored), Some(asserted()));
    for length in 0..stored.len() - asserted().signature.len() {
        assert_eq!(Assertion::read(&stored[..length]), None, "{length}");
    }
}

#[test]
fn an_origin_belongs_to_the_name_that_it_is_at() {
    for (origin, name) in [
        (AT, "localhost"),
        ("http://localhost", "localhost"),
        ("https://hub.example.org", "hub.example.org"),
        ("https://hub.example.org:8443", "hub.example.org"),
    ] {
        assert!(belongs(origin, name), "{origin}");
    }
    for (origin, name) in [
        ("http://hub.example.org", "hub.example.org"),
        ("https://hub.example.org.evil.example", "hub.example.org"),
        ("https://evil.example/hub.example.org", "hub.example.org"),
        ("https://hub.example.org:x", "hub.example.org"),
        ("https://sub.hub.example.org", "hub.example.org"),
        ("http://localhost.evil.example", "localhost"),
        ("null", "localhost"),
    ] {
        assert!(!belongs(origin, name), "{origin}");
    }
}
