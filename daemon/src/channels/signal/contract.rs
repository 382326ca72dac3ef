//! What signal-cli says in each case of the contract.

use super::spellings;
use crate::{
    channels::testing::{
        contract::{Alike, Case, Contract, Ends, Scene, plays, usual},
        http::Reply,
    },
    message::action::Action,
};

/// Of an account of a signal-cli.
pub(in crate::channels) const CONTRACTS: &[Contract] = &[Contract {
    channel: "signal",
    way: "",
    settings: |stage| format!("url = \"http://127.0.0.1:{}\"\naccount = \"+4915112345678\"", stage.port),
    address: "+4915112345679",
    alike: ALIKE,
    spelt: spellings::spelt,
    unknown: &["\\+49151[0-9]{8}", "u:[a-z]{3,9}\\.[0-9]{2,4}", "[#@][a-z]{2,9}( [a-z]{2,9})?"],
    acquainted: &[ACCOUNTS],
    message: "1700000000000",
    user: "+4915112345679",
    file: ("a b.txt", "text/plain"),
    card: "",
    secret: None,
    scene,
}];

const ALIKE: &[Alike] = &[
    Alike {
        identity: "aaaaaaaa-0000-4000-8000-00000000000b",
        spelt: &[
            "aaaaaaaa-0000-4000-8000-00000000000b",
            "AAAAAAAA-0000-4000-8000-00000000000B",
            "uuid:aaaaaaaa-0000-4000-8000-00000000000b",
        ],
        asked: &[("+49 151 1234-5679", &[KNOWN]), ("u:Anna.01", &[NOBODY, KNOWN]), ("@Anna Lee", &[KNOWN])],
    },
    Alike {
        identity: "group:Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=",
        spelt: &[
            "group:Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=",
            "group:Pmpi-EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI",
        ],
        asked: &[("#The house", &[GROUPS])],
    },
];
const KNOWN: Reply = Reply::Says(
    200,
    "",
    r#"{"jsonrpc":"2.0","result":[{"number":"+4915112345679","uuid":"aaaaaaaa-0000-4000-8000-00000000000b","username":"anna.01","name":"Anna Lee"}],"id":"r"}"#,
);
const GROUPS: Reply = Reply::Says(
    200,
    "",
    r#"{"jsonrpc":"2.0","result":[{"id":"Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=","name":"The house","isMember":true}],"id":"r"}"#,
);

const ID: &str = "1700000000000";
const SENT: Reply = Reply::Says(
    200,
    "",
    r#"{"jsonrpc":"2.0","result":{"timestamp":1700000000000,"results":[{"type":"SUCCESS"}]},"id":"k"}"#,
);
const LIMITED: Reply = Reply::Says(
    200,
    "",
    r#"{"jsonrpc":"2.0","error":{"code":-5,"message":"rate limiting","data":{"response":{"results":[{"type":"RATE_LIMIT_FAILURE","retryAfterSeconds":7}]}}},"id":"k"}"#,
);
const LIMITED_VAGUELY: Reply = Reply::Says(
    200,
    "",
    r#"{"jsonrpc":"2.0","error":{"code":-5,"message":"rate limiting","data":null},"id":"k"}"#,
);
const ACCOUNTS: Reply =
    Reply::Says(200, "", r#"{"jsonrpc":"2.0","result":[{"number":"+4915112345678"}],"id":"r"}"#);
const VERSION: Reply = Reply::Says(200, "", r#"{"jsonrpc":"2.0","result":{"version":"0.14.2"},"id":"r"}"#);
const DEVICES: Reply = Reply::Says(200, "", r#"{"jsonrpc":"2.0","result":[{"id":1}],"id":"r"}"#);
const NOBODY: Reply = Reply::Says(200, "", r#"{"jsonrpc":"2.0","result":[],"id":"r"}"#);

fn scene(case: Case) -> Scene {
    match case {
        Case::Limited => plays([ACCOUNTS, DEVICES, LIMITED], Ends::Waits),
        Case::LimitedVaguely => plays([ACCOUNTS, DEVICES, LIMITED_VAGUELY], Ends::Retried),
        Case::Removed => Scene::Never("it tells everybody a second time, and refuses nothing"),
        Case::Refused | Case::Replaced => Scene::Never("signal-cli asks nobody who they are"),
        Case::Ready => {
            plays([ACCOUNTS, VERSION, DEVICES, NOBODY], Ends::Sent("+4915112345678 by signal-cli 0.14.2"))
        }
        Case::NotReady => plays([NOBODY], Ends::Refused("signal-cli has no account +4915112345678")),
        Case::File | Case::Operation(Action::Edit | Action::Delete | Action::React | Action::Poll) => {
            plays([ACCOUNTS, DEVICES, SENT], Ends::Sent(ID))
        }
        _ => usual(&[ACCOUNTS, DEVICES], SENT, ID, case),
    }
}
