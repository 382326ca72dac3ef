//! What ntfy says in each case.

use crate::channels::testing::contract::spellings::identities;
use crate::channels::testing::{
    contract::{Alike, Case, Contract, Ends, Scene, plays, usual},
    http::Reply,
};

pub(in crate::channels) const CONTRACTS: &[Contract] = &[Contract {
    channel: "ntfy",
    way: "",
    settings: |stage| {
        let (port, token) = (stage.port, stage.secret());
        format!("url = \"http://127.0.0.1:{port}\"\ntoken = \"file:{}\"", token.display())
    },
    address: "kitchen",
    alike: &[Alike { identity: "kitchen", spelt: &["kitchen"], asked: &[] }],
    spelt: || identities("[a-z][A-Za-z0-9_-]{1,20}"),
    unknown: &[],
    acquainted: &[],
    message: "hwQ2YpKdmg",
    user: "ada",
    file: ("", ""),
    card: "",
    secret: Some(|_, age| format!("tk_hush{age:?}")),
    scene,
}];

fn scene(case: Case) -> Scene {
    const TAKEN: Reply = Reply::Says(200, "", r#"{"id":"hwQ2YpKdmg","event":"message"}"#);
    const HEALTHY: Reply = Reply::Says(200, "", r#"{"healthy":true}"#);
    const HOUSE: Reply = Reply::Says(200, "", r#"{"username":"house","role":"user"}"#);
    const REFUSED: Reply = Reply::Says(401, "", r#"{"error":"tk_hushOld is nobody's"}"#);
    match case {
        Case::Refused => plays([REFUSED], Ends::Refused("replace the token")),
        Case::Replaced => plays([REFUSED, TAKEN], Ends::Sent("hwQ2YpKdmg")),
        Case::Ready => plays([HEALTHY, HOUSE], Ends::Sent("ntfy at 127.0.0.1 as house")),
        Case::NotReady => plays([HEALTHY, REFUSED], Ends::Refused("replace the token")),
        _ => usual(&[], TAKEN, "hwQ2YpKdmg", case),
    }
}
