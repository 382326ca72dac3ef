//! What Telegram says in each case of the contract.

use proptest::{prelude::*, strategy::Union};

use crate::channels::testing::contract::spellings::{Spelt, numbered, same};
use crate::{
    channels::testing::{
        contract::{Alike, Case, Contract, Ends, Scene, plays, usual},
        http::Reply,
    },
    message::action::Action,
};

/// Of a bot.
pub(in crate::channels) const CONTRACTS: &[Contract] = &[Contract {
    channel: "telegram",
    way: "",
    settings: |stage| {
        let (port, token) = (stage.port, stage.secret());
        format!("token = \"file:{}\"\nbase_url = \"http://127.0.0.1:{port}\"", token.display())
    },
    address: "-1001234567890",
    alike: ALIKE,
    spelt,
    unknown: &["@[a-z][a-z0-9_]{4,20}", "-[1-9][0-9]{4,10}"],
    acquainted: &[],
    message: "42",
    user: "99",
    file: ("a b.png", "image/png"),
    card: "",
    secret: Some(|_, age| format!("123456:hush_{age:?}")),
    scene,
}];

const ALIKE: &[Alike] = &[
    Alike {
        identity: "-1001234567890",
        spelt: &["-1001234567890", "tg:-1001234567890"],
        asked: &[
            (
                "@Gatepost_News",
                &[Reply::Says(200, "", r#"{"ok":true,"result":{"id":-1001234567890,"type":"channel"}}"#)],
            ),
            (
                "-123",
                &[Reply::Says(
                    400,
                    "",
                    r#"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-1001234567890}}"#,
                )],
            ),
        ],
    },
    Alike {
        identity: "-5",
        spelt: &[],
        asked: &[("-5", &[Reply::Says(200, "", r#"{"ok":true,"result":{"status":"member"}}"#)])],
    },
];

const SENT: Reply = Reply::Says(200, "", r#"{"ok":true,"result":{"message_id":42}}"#);
const GONE: Reply = Reply::Says(
    400,
    "",
    r#"{"ok":false,"error_code":400,"description":"Bad Request: message to delete not found"}"#,
);
const DONE: Reply = Reply::Says(200, "", r#"{"ok":true,"result":true}"#);
const TOPIC: Reply = Reply::Says(200, "", r#"{"ok":true,"result":{"message_thread_id":31,"name":"June"}}"#);
const REJECTED: Reply = Reply::Says(401, "", r#"{"ok":false,"error_code":401,"description":"Unauthorized"}"#);

fn scene(case: Case) -> Scene {
    match case {
        Case::Refused => plays([REJECTED], Ends::Refused("bot token rejected")),
        Case::Replaced => plays([REJECTED, SENT], Ends::Sent("42")),
        Case::Ready => plays(
            [Reply::Says(200, "", r#"{"ok":true,"result":{"id":1,"username":"HubBot"}}"#)],
            Ends::Sent("@HubBot"),
        ),
        Case::NotReady => plays([REJECTED], Ends::Refused("bot token rejected")),
        Case::File | Case::Operation(Action::Poll) => plays([SENT], Ends::Sent("42")),
        Case::Removed => plays([Reply::Close, GONE, GONE], Ends::Sent("42")),
        Case::Operation(Action::Thread) => plays([TOPIC], Ends::Sent("31")),
        Case::Operation(Action::Kick) => plays([DONE, DONE], Ends::Sent("99")),
        Case::Operation(Action::Timeout | Action::Ban) => plays([DONE], Ends::Sent("99")),
        Case::Operation(_) => plays([DONE], Ends::Sent("42")),
        _ => usual(&[], SENT, "42", case),
    }
}

fn spelt() -> BoxedStrategy<Spelt> {
    Union::new([numbered("", 1..1_u64 << 40), numbered("-", 1_000_000_000_000..1_999_999_999_999_u64)])
        .prop_map(|forms| {
            let named: Vec<_> =
                ["tg:", "telegram:"].iter().map(|name| format!("{name}{}", forms[0])).collect();
            same(forms.into_iter().chain(named))
        })
        .boxed()
}
