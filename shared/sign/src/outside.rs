//! Whatever a file has in it, reading it ends, and what is not what was written is not taken for it.

use gatepost_link::update::Version;
use proptest::prelude::*;

use crate::{
    date,
    image::Board,
    minisign::{FileSignature, Public, Secret, SecretFile},
    release::Release,
};

fn any_text() -> impl Strategy<Value = String> {
    let lines = prop::collection::vec(
        prop_oneof![
            Just("untrusted comment: x".to_owned()),
            Just("trusted comment: x".to_owned()),
            "[A-Za-z0-9+/]{0,220}={0,2}",
            ".{0,40}",
        ],
        0..6,
    );
    lines.prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any_text()) {
        _ = Public::read(&text);
        _ = FileSignature::read(&text);
        _ = SecretFile::read(&text).map(|file| file.has_password());
        _ = date::parse(&text);
    }

    #[test]
    fn any_bytes_are_an_image_or_a_release_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        board in prop::sample::select(&[Board::Esp32c3, Board::Esp32c6][..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut image = board.image_with(Version::default(), &bytes);
        prop_assert!(board.check(&image).is_ok());
        for (at, byte) in changes {
            *at.get_mut(&mut image) = byte;
        }
        _ = board.check(&image);
        let mut magic = bytes.clone();
        magic.splice(..0, [0xe9]);
        prop_assert!(board.check(&magic).is_err());
        magic.splice(..1, *b"GPU1");
        prop_assert!(Release::read(&magic, 0).is_err());
    }

    #[test]
    fn a_changed_signature_is_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let secret = Secret::from_seed([1; 32]);
        let text = FileSignature::new(&secret, b"sums", "c").unwrap().to_file();
        let mut changed = text.clone().into_bytes();
        // The first line is nobody's.
        let begin = text.find('\n').unwrap() + 1;
        *at.get_mut(&mut changed[begin..]) = byte;
        let Ok(changed) = String::from_utf8(changed) else { return Ok(()) };
        if let Ok(signature) = FileSignature::read(&changed) {
            let holds = signature.verify(&secret.public(), b"sums").is_ok();
            let same = signature == FileSignature::read(&text).unwrap();
            prop_assert_eq!(holds, same, "{}", changed);
        }
    }
}
