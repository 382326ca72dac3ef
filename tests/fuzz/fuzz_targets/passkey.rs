//! What a browser hands over for a passkey, changed in any way: nothing that a real passkey did not sign passes for its signature, and none
//! is added for a challenge that was not given out.
#![no_main]

use arbitrary::Arbitrary;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gatepost::approval::passkeys::assertion::{Assertion, Made, PublicKey, Site, challenge_in};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// A passkey of Chromium's, and what it signed.
const VECTOR: &str = include_str!("../../../daemon/src/approval/passkeys/vector.json");

#[derive(Debug, Arbitrary)]
struct Input {
    /// Bytes that are others: in which piece, where, and what.
    changed: Vec<(u8, u16, u8)>,
    /// A piece that is another, as a whole.
    replaced: Option<(u8, Vec<u8>)>,
    algorithm: i8,
}

impl Input {
    fn piece(&self, number: u8, real: &[u8]) -> Vec<u8> {
        let mut piece = match &self.replaced {
            Some((which, bytes)) if which % 5 == number => bytes.clone(),
            _ => real.to_vec(),
        };
        for (_, at, byte) in self.changed.iter().filter(|(which, ..)| which % 5 == number) {
            if let Some(place) = piece.get_mut(usize::from(*at)) {
                *place = *byte;
            }
        }
        piece
    }
}

fuzz_target!(|input: Input| {
    let vector: Value = serde_json::from_str(VECTOR).expect("it is JSON");
    let bytes = |piece: &Value| URL_SAFE_NO_PAD.decode(piece.as_str().expect("a text")).expect("base64url");
    let (made, signed) = (&vector["reg"], &vector["auth"]);
    let origin = vector["origin"].as_str().expect("a text").to_owned();
    let challenge = |client_data: &[u8]| {
        URL_SAFE_NO_PAD.decode(challenge_in(client_data).expect("it has one")).expect("base64url")
    };

    let (client_data, authenticator_data) =
        (bytes(&signed["clientData"]), bytes(&signed["authenticatorData"]));
    let key = PublicKey { spki: bytes(&made["spki"]), algorithm: -7, rp_id: "localhost".into() };
    let assertion = Assertion {
        client_data: input.piece(0, &client_data),
        authenticator_data: input.piece(1, &authenticator_data),
        signature: input.piece(2, &bytes(&signed["signature"])),
    };
    let known = assertion.verify(&key, &challenge(&client_data), |at| at == origin);
    let is_real = assertion.client_data == client_data && assertion.authenticator_data == authenticator_data;
    assert!(known.is_err() || is_real, "{assertion:?}");
    // By whatever key it is: an answer, and no panic.
    let other = PublicKey { spki: input.piece(3, &key.spki), algorithm: input.algorithm.into(), ..key };
    let _ = assertion.verify(&other, &challenge(&client_data), |_| true);

    let (client_data, authenticator_data) = (bytes(&made["clientData"]), bytes(&made["authenticatorData"]));
    let new = Made {
        // Behind the site, flags, counter, the maker and its length.
        credential: input.piece(4, &authenticator_data[55..87]),
        client_data: input.piece(0, &client_data),
        authenticator_data: input.piece(1, &authenticator_data),
        spki: input.piece(3, &bytes(&made["spki"])),
        algorithm: -7,
    };
    let sites = [Site { origin: origin.clone(), rp_id: "localhost".into() }];
    if new.checked(&challenge(&client_data), &sites).is_ok() {
        assert_eq!(challenge_in(&new.client_data), challenge_in(&client_data), "{new:?}");
    }
});
