//! What Google Chat says in each case of the contract, to an app and to a webhook.

use crate::channels::testing::contract::spellings::identities;
use crate::{
    channels::testing::{
        contract::{Alike, Case, Contract, Ends, Scene, plays, usual},
        http::Reply,
    },
    message::action::Action,
};

/// Of a service account and of an incoming webhook.
pub(in crate::channels) const CONTRACTS: &[Contract] = &[
    Contract {
        channel: "googlechat",
        way: "by an app",
        settings: |stage| {
            let (port, key) = (stage.port, stage.secret());
            let base = format!("http://127.0.0.1:{port}");
            format!("key = \"file:{}\"\nbase_url = \"{base}\"\ntoken_url = \"{base}/token\"", key.display())
        },
        address: "spaces/AAAA",
        alike: &[Alike {
            identity: "spaces/AAAA",
            spelt: &["spaces/AAAA"],
            asked: &[("#The Kitchen", &[GRANTED, SOME, REST])],
        }],
        spelt: || identities("spaces/[A-Za-z0-9_-]{6,16}"),
        unknown: &["#[a-z]{2,9}( [a-z]{2,9})?"],
        acquainted: &[],
        message: "spaces/AAAA/messages/M.M",
        user: "users/1",
        file: ("", ""),
        card: r#"{"sections": [{"widgets": [{"textParagraph": {"text": "in a card"}}]}]}"#,
        secret: Some(|_, age| {
            let key = include_str!("testdata/service-account.json");
            key.replace("\"private_key_id\": \"", &format!("\"private_key_id\": \"hush{age:?}"))
        }),
        scene: by_app,
    },
    Contract {
        channel: "googlechat",
        way: "by a webhook",
        settings: |stage| format!("webhook = \"file:{}\"", stage.secret().display()),
        address: "spaces/AAAA",
        alike: &[Alike { identity: "spaces/AAAA", spelt: &["spaces/AAAA"], asked: &[] }],
        spelt: || identities("spaces/AAAA"),
        unknown: &[],
        acquainted: &[],
        message: "spaces/AAAA/messages/M.M",
        user: "users/1",
        file: ("", ""),
        card: r#"{"sections": [{"widgets": [{"textParagraph": {"text": "in a card"}}]}]}"#,
        secret: Some(|stage, age| {
            format!("http://127.0.0.1:{}/v1/spaces/AAAA/messages?key=hush1&token=hush{age:?}", stage.port)
        }),
        scene: by_webhook,
    },
];

const ID: &str = "spaces/AAAA/messages/M.M";
/// The spaces that the app is in, on two pages.
const SOME: Reply = Reply::Says(
    200,
    "",
    r#"{"spaces":[{"name":"spaces/DM","spaceType":"DIRECT_MESSAGE"},{"name":"spaces/BBBB","displayName":"Kitchen"}],"nextPageToken":"x="}"#,
);
const REST: Reply =
    Reply::Says(200, "", r#"{"spaces":[{"name":"spaces/AAAA","displayName":"The kitchen"}]}"#);
const GRANTED: Reply =
    Reply::Says(200, "", r#"{"access_token":"ya29.hush","expires_in":3599,"token_type":"Bearer"}"#);
const CREATED: Reply =
    Reply::Says(200, "", r#"{"name":"spaces/AAAA/messages/M.M","thread":{"name":"spaces/AAAA/threads/M"}}"#);
const GONE: Reply =
    Reply::Says(404, "", r#"{"error":{"code":404,"message":"Message not found.","status":"NOT_FOUND"}}"#);
const REFUSED: Reply = Reply::Says(
    401,
    "",
    r#"{"error":{"code":401,"message":"hushOld of hush1 is nobody's","status":"UNAUTHENTICATED"}}"#,
);
const DELETED: Reply =
    Reply::Says(400, "", r#"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#);

fn by_app(case: Case) -> Scene {
    match case {
        Case::Refused => plays([DELETED], Ends::Refused("invalid_grant")),
        Case::Replaced => plays([DELETED, GRANTED, CREATED], Ends::Sent(ID)),
        Case::Ready => plays(
            [GRANTED, Reply::Says(200, "", r#"{"spaces":[{"name":"spaces/AAAA"}]}"#)],
            Ends::Sent("gatepost@hub-test.iam.gserviceaccount.com"),
        ),
        Case::NotReady => plays([DELETED], Ends::Refused("refuses the service account")),
        Case::Removed => plays([GRANTED, Reply::Close, GONE, GONE], Ends::Sent(ID)),
        Case::Operation(Action::Thread) => plays([GRANTED, CREATED], Ends::Sent("spaces/AAAA/threads/M")),
        Case::Operation(_) => plays([GRANTED, CREATED], Ends::Sent(ID)),
        Case::Located => plays([GRANTED, CREATED], Ends::Sent("spaces/AAAA/threads/M")),
        Case::Missing => plays([GRANTED, GONE], Ends::Sent("")),
        _ => usual(&[GRANTED], CREATED, ID, case),
    }
}

fn by_webhook(case: Case) -> Scene {
    match case {
        Case::Refused => plays([REFUSED], Ends::Refused("replace the token")),
        Case::Replaced => plays([REFUSED, CREATED], Ends::Sent(ID)),
        Case::Ready => plays([], Ends::Sent("")),
        Case::NotReady => Scene::Never("a webhook is asked nothing, for every question would be a message"),
        Case::Operation(Action::Thread) => plays([CREATED], Ends::Sent("spaces/AAAA/threads/M")),
        _ => usual(&[], CREATED, ID, case),
    }
}
