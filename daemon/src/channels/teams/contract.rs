//! What Microsoft Teams says in each case of the contract, to a bot and to a workflow.

use proptest::prelude::*;

use crate::channels::testing::contract::spellings::{Spelt, cased, identities, letters, same};
use crate::{
    channels::testing::{
        contract::{Alike, Case, Contract, Ends, Scene, plays, usual},
        http::Reply,
    },
    message::action::Action,
};

const CARD: &str =
    r#"{"type": "AdaptiveCard", "version": "1.4", "body": [{"type": "TextBlock", "text": "in a card"}]}"#;

/// Of a bot and of a workflow.
pub(in crate::channels) const CONTRACTS: &[Contract] = &[
    Contract {
        channel: "teams",
        way: "by a bot",
        settings: |stage| {
            let (port, secret) = (stage.port, stage.secret());
            let base = format!("http://127.0.0.1:{port}");
            format!(
                "app_id = \"app-1\"\nsecret = \"file:{}\"\nservice_url = \"{base}/teams\"\nlogin_url = \"{base}/login\"",
                secret.display()
            )
        },
        address: "19:abc@thread.tacv2",
        alike: &[Alike { identity: "19:abc@thread.tacv2", spelt: &["19:abc@thread.tacv2"], asked: &[] }],
        spelt,
        unknown: &["19:[a-z0-9]{10,32}@(unq\\.gbl\\.spaces|p2p\\.[a-z]{2,8})"],
        acquainted: &[],
        message: "1700000000000",
        user: "29:1",
        file: ("a b.png", "image/png"),
        card: CARD,
        secret: Some(|_, age| format!("hush~{age:?}")),
        scene: by_bot,
    },
    Contract {
        channel: "teams",
        way: "by a workflow",
        settings: |stage| format!("webhook = \"file:{}\"", stage.secret().display()),
        address: "webhook",
        // Nobody says which conversation it is.
        alike: &[],
        spelt: || identities("webhook"),
        unknown: &[],
        acquainted: &[],
        message: "1",
        user: "ann@hub.test",
        file: ("", ""),
        card: CARD,
        secret: Some(|stage, age| {
            format!("http://127.0.0.1:{}/workflows/1/invoke?api-version=1&sig=hush-{age:?}", stage.port)
        }),
        scene: by_workflow,
    },
];

const GRANTED: Reply =
    Reply::Says(200, "", r#"{"token_type":"Bearer","expires_in":86399,"access_token":"hush.jwt"}"#);
const CREATED: Reply = Reply::Says(201, "", r#"{"id":"1700000000000"}"#);
const GONE: Reply = Reply::Says(
    404,
    "",
    r#"{"error":{"code":"ActivityNotFoundInConversation","message":"Conversation not found."}}"#,
);
const EXPIRED: Reply = Reply::Says(
    401,
    "",
    r#"{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret hush~Old."}"#,
);

fn by_bot(case: Case) -> Scene {
    const ID: &str = "1700000000000";
    match case {
        Case::Refused => plays([EXPIRED], Ends::Refused("AADSTS7000215")),
        Case::Replaced => plays([EXPIRED, GRANTED, CREATED], Ends::Sent(ID)),
        // What became of it Teams does not always say; the part's key stands for it.
        Case::Nameless => {
            let id = "accepted:00112233445566778899aabbccddeeff";
            plays([GRANTED, Reply::Says(200, "", "{}")], Ends::Sent(id))
        }
        Case::Ready => plays([GRANTED], Ends::Sent("app app-1")),
        Case::NotReady => plays([EXPIRED], Ends::Refused("client secret")),
        Case::Removed => plays([GRANTED, Reply::Close, GONE, GONE], Ends::Sent(ID)),
        Case::File | Case::Operation(Action::Poll | Action::Thread) => {
            plays([GRANTED, CREATED], Ends::Sent(ID))
        }
        Case::Operation(_) => plays([GRANTED, Reply::Says(200, "", "")], Ends::Sent(ID)),
        _ => usual(&[GRANTED], CREATED, ID, case),
    }
}

fn by_workflow(case: Case) -> Scene {
    const TAKEN: Reply = Reply::Says(202, "", "");
    const REFUSED: Reply =
        Reply::Says(401, "", r#"{"error":{"code":"DirectApiAuthorizationRequired","message":"hush-Old"}}"#);
    // Nothing comes back of which message it became; the part's key stands for it.
    const ID: &str = "accepted:00112233445566778899aabbccddeeff";
    match case {
        Case::Parts(n) => plays(vec![TAKEN; n], Ends::Sent("")),
        Case::Nameless => Scene::Never("a workflow never says as which message"),
        Case::Refused => plays([REFUSED], Ends::Refused("replace the token")),
        Case::Replaced => plays([REFUSED, TAKEN], Ends::Sent(ID)),
        Case::Ready => plays([], Ends::Sent("")),
        Case::NotReady => Scene::Never("a workflow is asked nothing, for every question would be a message"),
        _ => usual(&[], TAKEN, ID, case),
    }
}

fn spelt() -> BoxedStrategy<Spelt> {
    let guids = ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", letters());
    prop_oneof![
        identities("19:[a-z0-9]{10,32}@thread\\.(tacv2|v2|skype)|a:[A-Za-z0-9_-]{20,60}"),
        guids.prop_map(|(guid, large)| same([guid.clone(), cased(&guid, &large)]))
    ]
    .boxed()
}
