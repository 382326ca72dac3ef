//! What WhatsApp says in each case of the contract, by the Cloud API and by an Evolution API.

use super::spellings;
use crate::channels::testing::contract::spellings::ODD_NUMBERS;
use crate::{
    channels::testing::{
        contract::{Alike, Case, Contract, Ends, Scene, plays, stage::Stage, usual},
        http::Reply,
    },
    message::action::Action,
};

/// Of both ways, and of an account that has both.
pub(in crate::channels) const CONTRACTS: &[Contract] = &[
    Contract {
        channel: "whatsapp",
        way: "by the Cloud API",
        settings: |stage| format!("kind = \"cloud\"\n{}", cloud(stage)),
        address: ANNA,
        alike: ALIKE,
        spelt: spellings::spelt,
        unknown: UNKNOWN,
        acquainted: &[],
        message: "wamid.1",
        user: ANNA,
        file: ("a b.txt", "text/plain"),
        card: "",
        secret: Some(|_, age| format!("EAAhush{age:?}")),
        scene: by_cloud,
    },
    Contract {
        channel: "whatsapp",
        way: "by an Evolution API",
        settings: |stage| format!("kind = \"evolution\"\n{}", evolution(stage)),
        address: ANNA,
        alike: ALIKE,
        spelt: spellings::with_groups,
        unknown: &ODD_NUMBERS,
        acquainted: &[],
        message: "3EB0AA",
        user: ANNA,
        file: ("a b.txt", "text/plain"),
        card: "",
        secret: Some(|_, age| format!("evo-hush-{age:?}")),
        scene: by_evolution,
    },
    Contract {
        channel: "whatsapp",
        way: "by both",
        settings: |stage| format!("kind = \"hybrid\"\n{}\n{}", cloud(stage), evolution(stage)),
        address: ANNA,
        alike: ALIKE,
        spelt: spellings::spelt,
        unknown: UNKNOWN,
        acquainted: &[],
        message: "3EB0AA",
        user: ANNA,
        file: ("a b.txt", "text/plain"),
        card: "",
        secret: Some(|_, age| format!("EAAhush{age:?}")),
        scene: by_both,
    },
];

const ALIKE: &[Alike] = &[
    Alike {
        identity: "5511987654321",
        spelt: &["5511987654321", "+55 11 98765-4321", "+55 11 8765-4321", "551187654321@s.whatsapp.net"],
        asked: &[],
    },
    Alike { identity: "525512345678", spelt: &["525512345678", "+52 1 55 1234 5678"], asked: &[] },
    Alike { identity: "541112345678", spelt: &["541112345678", "phone:+54 9 11 1234-5678"], asked: &[] },
];

const ANNA: &str = "4915112345679";

fn cloud(stage: &Stage) -> String {
    let (port, token) = (stage.port, stage.secret());
    format!(
        "phone_number_id = \"106\"\ntoken = \"file:{}\"\ngraph_url = \"http://127.0.0.1:{port}\"",
        token.display()
    )
}

fn evolution(stage: &Stage) -> String {
    let (port, key) = (stage.port, stage.secret());
    format!(
        "instance = \"home\"\napi_key = \"file:{}\"\nevolution_url = \"http://127.0.0.1:{port}\"",
        key.display()
    )
}

const SENT: Reply = Reply::Says(200, "", r#"{"messaging_product":"whatsapp","messages":[{"id":"wamid.1"}]}"#);
const EXPIRED: Reply = Reply::Says(
    401,
    "",
    r#"{"error":{"message":"(190) EAAhushOld has expired","type":"OAuthException","code":190}}"#,
);
const MADE: Reply = Reply::Says(201, "", r#"{"key":{"fromMe":true,"id":"3EB0AA"},"status":"PENDING"}"#);
const UPLOADED: Reply = Reply::Says(200, "", r#"{"id":"4490709327384033"}"#);
const CONNECTED: Reply = Reply::Says(200, "", r#"{"display_phone_number":"+49","status":"CONNECTED"}"#);

fn by_cloud(case: Case) -> Scene {
    const LIMITED: Reply =
        Reply::Says(400, "Retry-After: 7\r\n", r#"{"error":{"message":"slower","code":131056}}"#);
    match case {
        Case::Limited => plays([LIMITED], Ends::Waits),
        Case::Refused => plays([EXPIRED], Ends::Refused("replace the token")),
        Case::Replaced => plays([EXPIRED, SENT], Ends::Sent("wamid.1")),
        Case::Ready => plays([CONNECTED], Ends::Sent("+49")),
        Case::NotReady => plays([EXPIRED], Ends::Refused("replace the token")),
        Case::File => plays([UPLOADED, SENT], Ends::Sent("wamid.1")),
        Case::Operation(Action::React) => plays([SENT], Ends::Sent("wamid.1")),
        _ => usual(&[], SENT, "wamid.1", case),
    }
}

fn by_evolution(case: Case) -> Scene {
    const KEY: Reply =
        Reply::Says(401, "", r#"{"status":401,"response":{"message":"Unauthorized evo-hush-Old"}}"#);
    match case {
        Case::Refused => plays([KEY], Ends::Refused("replace the token")),
        Case::Replaced => plays([KEY, MADE], Ends::Sent("3EB0AA")),
        Case::Ready => {
            plays([Reply::Says(200, "", r#"{"instance":{"state":"open"}}"#)], Ends::Sent("instance home"))
        }
        Case::NotReady => plays([KEY], Ends::Refused("replace the token")),
        Case::Removed => Scene::Never("it tells everybody a second time, and refuses nothing"),
        Case::File | Case::Operation(_) => plays([MADE], Ends::Sent("3EB0AA")),
        Case::Located => {
            let found = r#"{"messages":{"records":[{"key":{"id":"3EB0AA","remoteJid":"4915112345679@s.whatsapp.net"}}]}}"#;
            plays([Reply::Says(200, "", found)], Ends::Sent(""))
        }
        Case::Missing => {
            let other = r#"{"messages":{"records":[{"key":{"id":"3EB0AA","remoteJid":"4915112345670@s.whatsapp.net"}}]}}"#;
            plays([Reply::Says(200, "", other)], Ends::Sent(""))
        }
        _ => usual(&[], MADE, "3EB0AA", case),
    }
}

/// Texts go by the first way, what is done to a message by the way that it came: here, by the second.
fn by_both(case: Case) -> Scene {
    match case {
        Case::Operation(_) | Case::Removed | Case::Located | Case::Missing => by_evolution(case),
        // Neither is ready.
        Case::Refused | Case::NotReady => plays([EXPIRED, EXPIRED], Ends::Refused("replace the token")),
        _ => by_cloud(case),
    }
}

/// Addresses whose spelling does not tell whose they are.
const UNKNOWN: &[&str] =
    &[ODD_NUMBERS[0], ODD_NUMBERS[1], ODD_NUMBERS[2], ODD_NUMBERS[3], "[A-Z]{2}\\.(ENT\\.)?[0-9]{10,20}"];
