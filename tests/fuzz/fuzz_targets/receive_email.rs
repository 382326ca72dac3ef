//! A mail, whatever its bytes: it is read within bounds, or left out. Nobody is believed without the mail server's word, and who is
//! answered has a plain address.
#![no_main]

use gatepost::channels::{
    email::receive::{Owner, read},
    received::{AuthorKind, MAX_TEXT_CHARS},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let owner = Owner { addresses: vec!["hub@hub.test".into()], authserv_id: Some("mx.hub.test".into()) };
    let Ok(received) = read(bytes, &owner) else { return };
    let Ok(received) = received.bounded() else { panic!("what is read has an author and a conversation") };
    assert_eq!(received.conversation.address, received.author.id);
    assert!(!received.author.id.contains(|c: char| c.is_whitespace() || c.is_control()));
    if !received.author.unverified {
        let says = bytes.windows(11).any(|word| word.eq_ignore_ascii_case(b"mx.hub.test"));
        assert!(says, "somebody is believed without a word of the server's");
    }
    if received.author.id.eq_ignore_ascii_case("hub@hub.test") {
        assert_eq!(received.author.kind, AuthorKind::Myself);
    }
    let words = received.event.words().expect("a mail is a message");
    assert!(words.text.chars().count() <= MAX_TEXT_CHARS);
});
