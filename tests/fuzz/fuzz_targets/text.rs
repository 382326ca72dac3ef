//! What the hub reads in words: the blocks and quiet tokens of a turn, targets and addresses, a configuration, and words that repeat
//! a secret. Nothing is lost that belongs to somebody, nothing grows, and what is read once is read the same again.
#![no_main]

use std::path::Path;

use gatepost::{
    channels::{kit::http::masked, registry::NAMES},
    config::Config,
    intake::reply::blocks,
    message::{quiet, target::Destination},
};
use gatepost_fuzz::accounts::ACCOUNTS;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &str)| {
    let (kind, text) = input;
    match kind % 5 {
        0 => turn(text),
        1 => target(text),
        2 => address(text),
        3 => configuration(text),
        _ => secret(text),
    }
});

fn turn(text: &str) {
    let tokens = ["NO_REPLY".to_owned(), "HEARTBEAT_OK".to_owned()];
    let parsed = blocks::parse(text);
    let kept: usize = parsed.blocks.iter().map(|block| block.to.len() + block.text.len()).sum();
    assert!(kept + parsed.bare.len() <= text.len());
    if let Some(bare) = quiet::without_tokens(&parsed.bare, &tokens) {
        assert_eq!(quiet::without_tokens(&bare, &tokens).as_ref(), Some(&bare), "what is left stays");
    }
}

fn target(text: &str) {
    if let Ok(meant) = Destination::parse(text, &NAMES) {
        assert_eq!(Destination::parse(&meant.to_string(), &NAMES).as_ref(), Ok(&meant), "{text:?}");
    }
}

fn address(text: &str) {
    for account in &*ACCOUNTS {
        for person in [false, true] {
            if let Ok(spelt) = account.spell(text, person) {
                let again = account.spell(&spelt, person);
                assert_eq!(again.as_deref(), Ok(&*spelt), "{} {text:?}", account.capabilities().channel);
            }
        }
    }
}

fn configuration(text: &str) {
    // Lists, names and addresses in it are read with it.
    let _ = Config::parse(text, Path::new("gatepost.toml"));
}

/// The secret, and behind the first line's end words that may have it in them.
fn secret(text: &str) {
    let Some((secret, words)) = text.split_once('\n') else { return };
    let told = masked(words, secret);
    if !secret.is_empty() && !secret.contains('*') {
        assert!(!told.contains(secret), "{secret:?} in {told:?}");
    }
}
