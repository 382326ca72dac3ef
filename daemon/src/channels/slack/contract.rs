//! What Slack says in each case of the contract.

use crate::channels::testing::contract::spellings::identities;
use crate::{
    channels::testing::{
        contract::{Alike, Case, Contract, Ends, Scene, plays, usual},
        http::Reply,
    },
    message::action::Action,
};

/// Of a bot.
pub(in crate::channels) const CONTRACTS: &[Contract] = &[Contract {
    channel: "slack",
    way: "",
    settings: |stage| {
        let (port, token) = (stage.port, stage.secret());
        format!("token = \"file:{}\"\nbase_url = \"http://127.0.0.1:{port}/api\"", token.display())
    },
    address: "C012AB3CD",
    alike: ALIKE,
    spelt: || identities("[CGUW][0-9A-Z]{8,10}"),
    unknown: &["D[0-9A-Z]{8,10}", "#[a-z][a-z0-9_-]{1,12}", "@[a-z]{2,9}( [a-z]{2,9})?"],
    acquainted: &[],
    message: "1790000000.000100",
    user: "U012AB3CD",
    file: ("a b.txt", "text/plain"),
    card: r#"[{"type": "section", "text": {"type": "plain_text", "text": "in a card"}}]"#,
    secret: Some(|_, age| format!("xoxb-1-2-hush-{age:?}")),
    scene,
}];

const ALIKE: &[Alike] = &[
    Alike {
        identity: "U012AB3CD",
        spelt: &["U012AB3CD"],
        asked: &[(
            "D012AB3CDEF",
            &[Reply::Says(
                200,
                "",
                r#"{"ok":true,"channel":{"id":"D012AB3CDEF","is_im":true,"user":"U012AB3CD"}}"#,
            )],
        )],
    },
    Alike {
        identity: "C012AB3CD",
        spelt: &["C012AB3CD"],
        asked: &[(
            "#General",
            &[
                Reply::Says(
                    200,
                    "",
                    r#"{"ok":true,"channels":[{"id":"C0OTHER01","name":"general-2"}],"response_metadata":{"next_cursor":"x="}}"#,
                ),
                Reply::Says(
                    200,
                    "",
                    r#"{"ok":true,"channels":[{"id":"C012AB3CD","name":"general"}],"response_metadata":{"next_cursor":""}}"#,
                ),
            ],
        )],
    },
    Alike {
        identity: "U034EF5GH",
        spelt: &["U034EF5GH"],
        asked: &[(
            "@Ann Lee",
            &[Reply::Says(
                200,
                "",
                r#"{"ok":true,"members":[{"id":"U0GONE001","name":"ann","deleted":true,"profile":{"real_name":"Ann Leigh"}},{"id":"U034EF5GH","name":"alee","profile":{"display_name":"ann","real_name":"Ann Lee"}}]}"#,
            )],
        )],
    },
];

const ID: &str = "1790000000.000100";
const SENT: Reply = Reply::Says(200, "", r#"{"ok":true,"channel":"C012AB3CD","ts":"1790000000.000100"}"#);
const GONE: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"message_not_found"}"#);
/// Where a file is taken: on a server of its own, which the scenarios have, and here on the same.
const PLACE: Reply = Reply::Says(
    200,
    "",
    r#"{"ok":true,"upload_url":"http://127.0.0.1:{port}/upload?sig=hush","file_id":"F012AB3CD"}"#,
);
const SHARED: Reply = Reply::Says(
    200,
    "",
    r#"{"ok":true,"files":[{"id":"F012AB3CD","shares":{"public":{"C012AB3CD":[{"ts":"1790000000.000100"}]}}}]}"#,
);
const YES: Reply = Reply::Says(200, "", r#"{"ok":true}"#);
const REVOKED: Reply = Reply::Says(
    200,
    "",
    r#"{"ok":false,"error":"token_revoked","response_metadata":{"messages":["xoxb-1-2-hush-Old"]}}"#,
);

fn scene(case: Case) -> Scene {
    match case {
        Case::Refused => plays([REVOKED], Ends::Refused("bot token rejected")),
        Case::Replaced => plays([REVOKED, SENT], Ends::Sent(ID)),
        Case::Ready => plays(
            [Reply::Says(200, "", r#"{"ok":true,"user":"hub","team":"Home"}"#)],
            Ends::Sent("hub in Home"),
        ),
        Case::NotReady => plays([REVOKED], Ends::Refused("bot token rejected")),
        Case::File => plays([PLACE, Reply::Says(200, "", "OK - 5"), SHARED], Ends::Sent(ID)),
        Case::Removed => plays([Reply::Close, GONE, GONE], Ends::Sent(ID)),
        Case::Operation(Action::Poll | Action::Thread) => plays([SENT], Ends::Sent(ID)),
        Case::Operation(Action::SetPresence) => plays([YES], Ends::Sent("auto")),
        Case::Operation(_) => plays([YES], Ends::Sent(ID)),
        Case::Located => {
            let message =
                r#"{"ok":true,"messages":[{"ts":"1790000000.000100","thread_ts":"1780000000.000100"}]}"#;
            plays([Reply::Says(200, "", message)], Ends::Sent("1780000000.000100"))
        }
        Case::Missing => {
            plays([Reply::Says(200, "", r#"{"ok":false,"error":"thread_not_found"}"#)], Ends::Sent(""))
        }
        _ => usual(&[], SENT, ID, case),
    }
}
