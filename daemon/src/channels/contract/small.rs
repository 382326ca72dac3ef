//! The contracts of the channels that have no folder.

use super::{Alike, Case, Contract, Ends, Scene, UNCLAIMED, plays, stage::Script, usual};
use crate::channels::http::mock::Reply;

/// Of the hub's own inbox, of webhooks and of ntfy.
pub(super) const CONTRACTS: &[Contract] = &[
    Contract {
        channel: "local",
        way: "",
        settings: |_| "limit = 1500".into(),
        address: "kitchen",
        alike: &[Alike { identity: "kitchen", spelt: &["kitchen"], asked: &[] }],
        acquainted: &[],
        message: "local:1",
        user: "ada",
        file: ("a b.txt", "text/plain"),
        card: "",
        secret: None,
        scene: local,
    },
    Contract {
        channel: "webhook",
        way: "",
        settings: |stage| {
            let (port, secret) = (stage.port, stage.secret());
            format!("url = \"http://127.0.0.1:{port}/hook\"\nsecret = \"file:{}\"", secret.display())
        },
        address: "kitchen",
        alike: &[Alike { identity: "kitchen", spelt: &["kitchen"], asked: &[] }],
        acquainted: &[],
        message: "7",
        user: "ada",
        file: ("", ""),
        card: "",
        secret: Some(|_, age| format!("whsec_hush{age:?}{}", "A".repeat(25))),
        scene: webhook,
    },
    Contract {
        channel: "ntfy",
        way: "",
        settings: |stage| {
            let (port, token) = (stage.port, stage.secret());
            format!("url = \"http://127.0.0.1:{port}\"\ntoken = \"file:{}\"", token.display())
        },
        address: "kitchen",
        alike: &[Alike { identity: "kitchen", spelt: &["kitchen"], asked: &[] }],
        acquainted: &[],
        message: "hwQ2YpKdmg",
        user: "ada",
        file: ("", ""),
        card: "",
        secret: Some(|_, age| format!("tk_hush{age:?}")),
        scene: ntfy,
    },
];

fn local(case: Case) -> Scene {
    match case {
        Case::Text | Case::File => Scene::Plays(Script::Hub, Ends::Sent("local:1")),
        Case::Parts(_) | Case::Ready => Scene::Plays(Script::Hub, Ends::Sent("")),
        Case::Operation(_) | Case::Removed => Scene::Never(UNCLAIMED),
        _ => Scene::Never("it is a row in the hub's own database, and nobody is asked for it"),
    }
}

fn webhook(case: Case) -> Scene {
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

fn ntfy(case: Case) -> Scene {
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
