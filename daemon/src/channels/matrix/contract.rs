//! What a homeserver says in each case of the contract.

use crate::channels::testing::contract::spellings::identities;
use crate::{
    channels::testing::{
        contract::{Alike, Case, Contract, Ends, Scene, plays, usual},
        http::Reply,
    },
    message::action::Action,
};

/// Of an account.
pub(in crate::channels) const CONTRACTS: &[Contract] = &[Contract {
    channel: "matrix",
    way: "",
    settings: |stage| {
        let (port, token) = (stage.port, stage.secret());
        format!("token = \"file:{}\"\nhomeserver = \"http://127.0.0.1:{port}\"", token.display())
    },
    address: "!room:hub.test",
    alike: ALIKE,
    spelt: || identities("![A-Za-z0-9]{10,18}:[a-z]{2,8}\\.test(:8448)?"),
    unknown: &[
        "#[a-z]{2,9}:hub\\.test",
        "@[a-z]{2,9}:hub\\.test",
        "!a%[0-9a-f]{2}b:hub\\.test",
        "[#@][a-z]{2,9}( [a-z]{2,9})?",
    ],
    acquainted: &[],
    message: "$event",
    user: "@ada:hub.test",
    file: ("a b.txt", "text/plain"),
    card: "",
    secret: Some(|_, age| format!("syt_hush_{age:?}")),
    scene,
}];

const ALIKE: &[Alike] = &[Alike {
    identity: "!room:hub.test",
    spelt: &["!room:hub.test"],
    asked: &[
        (
            "#kitchen:hub.test",
            &[Reply::Says(200, "", r#"{"room_id":"!room:hub.test","servers":["hub.test"]}"#)],
        ),
        (
            "@ada:hub.test",
            &[
                Reply::Says(200, "", r#"{"user_id":"@hub:hub.test","device_id":"D"}"#),
                Reply::Says(
                    200,
                    "",
                    r#"{"@ada:hub.test":["!left:hub.test","!room:hub.test"],"@bob:hub.test":["!b:c"]}"#,
                ),
                Reply::Says(200, "", r#"{"joined_rooms":["!b:c","!room:hub.test"]}"#),
            ],
        ),
        (
            "#Kitchen",
            &[
                Reply::Says(200, "", r#"{"joined_rooms":["!room:hub.test"]}"#),
                Reply::Says(200, "", r#"{"name":"kitchen"}"#),
            ],
        ),
    ],
}];

const PLAIN_ROOM: Reply = Reply::Says(404, "", r#"{"errcode":"M_NOT_FOUND","error":"Event not found."}"#);
const SENT: Reply = Reply::Says(200, "", r#"{"event_id":"$event"}"#);
const DONE: Reply = Reply::Says(200, "", "{}");
const WHOAMI: Reply = Reply::Says(200, "", r#"{"user_id":"@bot:hub.test","device_id":"D1"}"#);
const REFUSED: Reply =
    Reply::Says(401, "", r#"{"errcode":"M_UNKNOWN_TOKEN","error":"Invalid syt_hush_Old"}"#);

fn scene(case: Case) -> Scene {
    const UPLOADED: Reply = Reply::Says(200, "", r#"{"content_uri":"mxc://hub.test/abc"}"#);
    const PINNED: Reply = Reply::Says(200, "", r#"{"pinned":["$event"]}"#);
    match case {
        Case::Refused => plays([REFUSED], Ends::Refused("replace the token")),
        Case::Replaced => plays([REFUSED, PLAIN_ROOM, SENT], Ends::Sent("$event")),
        Case::Ready => plays([WHOAMI], Ends::Sent("@bot:hub.test, device D1")),
        Case::NotReady => plays([REFUSED], Ends::Refused("M_UNKNOWN_TOKEN")),
        Case::Removed => Scene::Never("a redaction goes again under its transaction id, and is the same one"),
        Case::File => plays([PLAIN_ROOM, UPLOADED, SENT], Ends::Sent("$event")),
        Case::Operation(Action::Delete) => plays([SENT], Ends::Sent("$event")),
        Case::Operation(Action::Pin) => plays([PLAIN_ROOM, SENT], Ends::Sent("$event")),
        Case::Operation(Action::Unpin) => plays([PINNED, SENT], Ends::Sent("$event")),
        Case::Operation(Action::Kick | Action::Ban) => plays([DONE], Ends::Sent("@ada:hub.test")),
        Case::Operation(Action::SetPresence) => plays([WHOAMI, DONE], Ends::Sent("@bot:hub.test")),
        Case::Operation(_) => plays([PLAIN_ROOM, SENT], Ends::Sent("$event")),
        Case::Located => {
            let event = r#"{"content":{"m.relates_to":{"rel_type":"m.thread","event_id":"$root"}}}"#;
            plays([Reply::Says(200, "", event)], Ends::Sent("$root"))
        }
        Case::Missing => plays([PLAIN_ROOM], Ends::Sent("")),
        _ => usual(&[PLAIN_ROOM], SENT, "$event", case),
    }
}
