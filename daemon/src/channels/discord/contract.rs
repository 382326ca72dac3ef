//! What Discord says in each case of the contract, to a bot with and without a connection to its Gateway.

use proptest::prelude::*;

use crate::channels::testing::contract::spellings::{Spelt, numbered, same};
use crate::{
    channels::{
        discord::Step,
        testing::{
            contract::{Alike, Case, Contract, Ends, Scene, plays, stage::Script, usual},
            http::Reply,
        },
    },
    message::action::Action,
};

/// Of a bot.
pub(in crate::channels) const CONTRACTS: &[Contract] = &[
    BOT,
    Contract {
        way: "with its Gateway",
        settings: |stage| format!("{}\ngateway = true", (BOT.settings)(stage)),
        scene: |case| match case {
            Case::Operation(Action::SetPresence) => {
                Scene::Plays(Script::Gateway("MTk4.hush_Old", CONNECTION), Ends::Sent("1986"))
            }
            _ => scene(case),
        },
        ..BOT
    },
];

const ALIKE: &[Alike] = &[
    Alike {
        identity: "@42",
        spelt: &["@42", "<@42>", "<@!42>"],
        asked: &[
            (
                "1001",
                &[Reply::Says(
                    200,
                    "",
                    r#"{"id":"1001","type":1,"recipients":[{"id":"42","username":"ann"}]}"#,
                )],
            ),
            (
                "@Alee",
                &[
                    Reply::Says(200, "", r#"[{"id":"9","name":"Home"}]"#),
                    Reply::Says(
                        200,
                        "",
                        r#"[{"user":{"id":"43","username":"ann leech"}},{"user":{"id":"42","username":"alee","global_name":"Ann Lee"}}]"#,
                    ),
                ],
            ),
        ],
    },
    Alike {
        identity: "7",
        spelt: &[],
        asked: &[
            ("007", &[Reply::Says(200, "", r#"{"id":"7","type":0,"guild_id":"9"}"#)]),
            (
                "#Kitchen",
                &[
                    Reply::Says(200, "", r#"[{"id":"9","name":"Home"}]"#),
                    Reply::Says(
                        200,
                        "",
                        r#"[{"id":"8","type":2,"name":"kitchen"},{"id":"7","type":0,"name":"kitchen"}]"#,
                    ),
                ],
            ),
        ],
    },
];

const CONNECTION: &[Step] = &[Step::Hello(41_250), Step::Ready, Step::Stay];

const BOT: Contract = Contract {
    channel: "discord",
    way: "",
    settings: |stage| {
        let (port, token) = (stage.port, stage.secret());
        format!("token = \"file:{}\"\nbase_url = \"http://127.0.0.1:{port}/api/v10\"", token.display())
    },
    address: "42",
    alike: ALIKE,
    spelt,
    unknown: &["[1-9][0-9]{16,17}", "#[a-z][a-z0-9_-]{1,12}", "@[a-z]{2,9}( [a-z]{2,9})?"],
    acquainted: &[],
    message: "1001",
    user: "99",
    file: ("a b.txt", "text/plain"),
    card: r#"{"title": "in a card"}"#,
    secret: Some(|_, age| format!("MTk4.hush_{age:?}")),
    scene,
};

const CHANNEL: Reply = Reply::Says(200, "", r#"{"id":"42","type":0,"guild_id":"77","parent_id":"5"}"#);
const SENT: Reply = Reply::Says(200, "", r#"{"id":"1001","channel_id":"42"}"#);
const GONE: Reply = Reply::Says(404, "", r#"{"message":"Unknown Message","code":10008}"#);
const DONE: Reply = Reply::Says(204, "", "");
const REJECTED: Reply = Reply::Says(401, "", r#"{"message":"401: Unauthorized, MTk4.hush_Old","code":0}"#);

fn scene(case: Case) -> Scene {
    match case {
        Case::Refused => plays([CHANNEL, REJECTED], Ends::Refused("bot token rejected")),
        Case::Replaced => plays([REJECTED, CHANNEL, SENT], Ends::Sent("1001")),
        Case::Ready => {
            plays([Reply::Says(200, "", r#"{"id":"1986","username":"hub"}"#)], Ends::Sent("hub (1986)"))
        }
        Case::NotReady => plays([REJECTED], Ends::Refused("bot token rejected")),
        Case::File => plays([CHANNEL, SENT], Ends::Sent("1001")),
        Case::Removed => plays([CHANNEL, Reply::Close, GONE, GONE], Ends::Sent("1001")),
        Case::Operation(Action::Thread) => {
            plays([CHANNEL, Reply::Says(201, "", r#"{"id":"31"}"#)], Ends::Sent("31"))
        }
        Case::Operation(Action::Poll) => plays([CHANNEL, SENT], Ends::Sent("1001")),
        Case::Operation(Action::Timeout | Action::Kick | Action::Ban) => {
            plays([CHANNEL, DONE], Ends::Sent("99"))
        }
        Case::Operation(_) => plays([CHANNEL, DONE], Ends::Sent("1001")),
        _ => usual(&[CHANNEL], SENT, "1001", case),
    }
}

fn spelt() -> BoxedStrategy<Spelt> {
    numbered("@", 1..u64::MAX)
        .prop_map(|forms| {
            let id = forms[0][1..].to_owned();
            same(forms.into_iter().chain([format!("<@{id}>"), format!("<@!{id}>"), format!("user:{id}")]))
        })
        .boxed()
}
