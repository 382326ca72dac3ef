//! What whoever receives a webhook says in each case.

use crate::channels::testing::contract::spellings::identities;
use crate::channels::testing::{
    contract::{Alike, Case, Contract, Ends, Scene, plays, usual},
    http::Reply,
};

pub(in crate::channels) const CONTRACTS: &[Contract] = &[Contract {
    channel: "webhook",
    way: "",
    settings: |stage| {
        let (port, secret) = (stage.port, stage.secret());
        format!("url = \"http://127.0.0.1:{port}/hook\"\nsecret = \"file:{}\"", secret.display())
    },
    address: "kitchen",
    alike: &[Alike { identity: "kitchen", spelt: &["kitchen"], asked: &[] }],
    spelt: || identities("[a-z][A-Za-z0-9_-]{1,20}"),
    unknown: &[],
    acquainted: &[],
    message: "7",
    user: "ada",
    file: ("", ""),
    card: "",
    secret: Some(|_, age| format!("whsec_hush{age:?}{}", "A".repeat(25))),
    scene,
}];

fn scene(case: Case) -> Scene {
    const TAKEN: Reply = Reply::Says(200, "", r#"{"id":"7"}"#);
    const REFUSED: Reply =
        Reply::Says(401, "", r#"{"error":"hushOldAAAAAAAAAAAAAAAAAAAAAAAAA signs nothing"}"#);
    match case {
        Case::Refused => plays([REFUSED], Ends::Refused("replace the token")),
        Case::Replaced => plays([REFUSED, TAKEN], Ends::Sent("7")),
        Case::Ready => plays([Reply::Says(405, "", "")], Ends::Sent("somebody answers at 127.0.0.1")),
        Case::Nameless => plays([Reply::Says(200, "", "{}")], Ends::Sent("00112233445566778899aabbccddeeff")),
        // Any answer of 200 to 299 is a yes, whatever is in it.
        Case::Malformed => {
            plays([Reply::Says(200, "", "OK")], Ends::Sent("00112233445566778899aabbccddeeff"))
        }
        Case::NotReady => Scene::Never("a webhook is asked nothing, for every question would be a message"),
        _ => usual(&[], TAKEN, "7", case),
    }
}
