//! What stands between the hub and Messages says in each case of the contract: a BlueBubbles server, or the program imsg.

use super::spellings;
use crate::{
    channels::testing::{
        contract::{Alike, Case, Contract, Ends, NOT_TOLD, Scene, UNCLAIMED, plays, stage::Script, usual},
        http::Reply,
    },
    message::action::Action,
};

/// Of BlueBubbles with its Private API, and of imsg 0.15 (without its bridge) and 0.9.0.
pub(in crate::channels) const CONTRACTS: &[Contract] = &[
    Contract {
        channel: "imessage",
        way: "by BlueBubbles",
        settings: |stage| {
            let (port, password) = (stage.port, stage.secret());
            format!("url = \"http://127.0.0.1:{port}\"\npassword = \"file:{}\"", password.display())
        },
        address: "+4915112345679",
        alike: ALIKE,
        spelt: spellings::spelt,
        unknown: UNKNOWN,
        acquainted: &[],
        message: "B-2",
        user: "+4915112345679",
        file: ("a b.txt", "text/plain"),
        card: "",
        secret: Some(|_, age| format!("hush-{age:?}")),
        scene: by_bluebubbles,
    },
    IMSG,
    Contract { way: "by imsg 0.9.0", scene: by_old_imsg, ..IMSG },
];

const IMSG: Contract = Contract {
    channel: "imessage",
    way: "by imsg",
    settings: |stage| format!("kind = \"imsg\"\ncommand = [\"{}\"]", stage.program().display()),
    address: "+4915112345679",
    alike: ALIKE,
    spelt: spellings::spelt,
    unknown: UNKNOWN,
    acquainted: &[],
    message: "G-7",
    user: "+4915112345679",
    file: ("a b.txt", "text/plain"),
    card: "",
    secret: None,
    scene: by_imsg,
};

const ALIKE: &[Alike] = &[
    Alike {
        identity: "+4915112345679",
        spelt: &[
            "+4915112345679",
            "+49 151 1234-5679",
            "phone:+4915112345679",
            "iMessage;-;+4915112345679",
            "any;-;+4915112345679",
            "SMS;-;+4915112345679",
            "RCS;-;+4915112345679",
            "iMessage;+;+4915112345679",
        ],
        asked: &[],
    },
    Alike {
        identity: "anna@example.org",
        spelt: &["anna@example.org", "Anna@Example.org", "any;-;ANNA@example.org"],
        asked: &[],
    },
    Alike {
        identity: "iMessage;+;chat123456",
        spelt: &["iMessage;+;chat123456", "any;+;chat123456", "SMS;+;chat123456"],
        asked: &[],
    },
];

fn by_bluebubbles(case: Case) -> Scene {
    const SENT: Reply = Reply::Says(200, "", r#"{"status":200,"data":{"guid":"A-1","error":0}}"#);
    const PASSWORD: Reply = Reply::Says(
        401,
        "",
        r#"{"status":401,"message":"hush-Old","error":{"type":"Authentication Error"}}"#,
    );
    const READY: Reply = Reply::Says(
        200,
        "",
        r#"{"data":{"server_version":"1.9.9","private_api":true,"helper_connected":true}}"#,
    );
    const HERE: Reply =
        Reply::Says(200, "", r#"{"data":{"guid":"B-2","chats":[{"guid":"any;-;+4915112345679"}]}}"#);
    const THERE: Reply =
        Reply::Says(200, "", r#"{"data":{"guid":"B-2","chats":[{"guid":"any;-;+4915112345670"}]}}"#);
    const CHAT: Reply = Reply::Says(200, "", r#"{"data":[{"guid":"any;-;+4915112345679"}]}"#);
    match case {
        Case::Refused => plays([PASSWORD], Ends::Refused("replace the token")),
        Case::Replaced => plays([PASSWORD, CHAT, SENT], Ends::Sent("A-1")),
        Case::Ready => plays([READY], Ends::Sent("BlueBubbles 1.9.9")),
        Case::NotReady => plays([PASSWORD], Ends::Refused("replace the token")),
        Case::Located => plays([HERE], Ends::Sent("")),
        Case::Missing => plays([THERE], Ends::Sent("")),
        Case::File => plays([CHAT, SENT], Ends::Sent("A-1")),
        Case::Removed => {
            Scene::Never("what it says to a second one, it says to whatever goes wrong in Messages")
        }
        Case::Operation(Action::React) => plays([CHAT, SENT], Ends::Sent("B-2")),
        Case::Operation(Action::Edit | Action::Delete) => plays([SENT], Ends::Sent("B-2")),
        _ => usual(&[CHAT], SENT, "A-1", case),
    }
}

/// A program that speaks as `imsg rpc` does, with answers to its methods as a shell's `case` has them; it writes what it is
/// asked beside itself. It is 0.15 without its bridge, or what `VERSION` says: one before 0.14.0 has no `status`
/// (openclaw/imsg, `CHANGELOG.md`; the whole program is played by `tests/src/mocks/imsg.rs`).
macro_rules! answers {
    ($cases:expr) => {
        concat!(
            r#"
[ "$1" = --version ] && { echo "${VERSION:=0.15.10}"; exit 0; }
[ "$1" = rpc ] || exit 2
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
none() { say "\"error\":{\"code\":-32601,\"message\":\"Method not found\",\"data\":\"$method\"}"; }
while IFS= read -r line; do
  printf '%s\n' "$line" >>"$0.asked"
  id=${line#*'"id":'} id=${id%%,*}
  method=${line#*'"method":"'} method=${method%%'"'*}
  case $method in
"#,
            $cases,
            r#"
  status) case ${VERSION:=0.15.10} in
    *0.1[4-9]*) say "\"result\":{\"version\":\"$VERSION\",\"protocol_version\":1,\"methods\":[\"status\",\"chats.list\",\"messages.history\",\"message.send_status\",\"send\"]}" ;;
    *) none ;;
    esac ;;
  *) none ;;
  esac
done
"#
        )
    };
}
pub(super) use answers;

/// A program before 0.14.0.
macro_rules! old_answers {
    ($cases:expr) => {
        concat!("VERSION=0.9.0\n", answers!($cases))
    };
}

/// What one version says.
struct Said {
    well: &'static str,
    /// Nobody knows whether it left.
    uncertain: &'static str,
    /// It was sent, and no row was read.
    nameless: &'static str,
    /// The database cannot be read.
    unavailable: &'static str,
    ready: &'static str,
}

/// 0.15.
fn by_imsg(case: Case) -> Scene {
    let said = Said {
        well: answers!(
            r#"send) say '"result":{"ok":true,"transport":"applescript","id":7,"guid":"G-7","message_id":"G-7"}' ;;
               chats.list) say '"result":{"chats":[]}' ;;"#
        ),
        uncertain: answers!(
            r#"send) say '"error":{"code":-32001,"message":"Delivery outcome unknown","data":{"retry_safe":false,"disposition":"may_have_completed"}}' ;;"#
        ),
        nameless: answers!(r#"send) say '"result":{"ok":true,"transport":"applescript"}' ;;"#),
        unavailable: answers!(r#"send) say '"error":{"code":-32002,"message":"Database unavailable"}' ;;"#),
        ready: "imsg 0.15.10 on this machine",
    };
    imsg(&said, case)
}

/// 0.9.0: errors are words alone, and without its database it does not run.
fn by_old_imsg(case: Case) -> Scene {
    let said = Said {
        well: old_answers!(
            r#"send) say '"result":{"ok":true,"transport":"applescript","id":7,"guid":"G-7"}' ;;
               chats.list) say '"result":{"chats":[]}' ;;"#
        ),
        uncertain: old_answers!(
            r#"send) say '"error":{"code":-32603,"message":"Internal error","data":"AppleScript failed: Messages got an error: AppleEvent timed out."}' ;;"#
        ),
        nameless: old_answers!(r#"send) say '"result":{"ok":true,"transport":"applescript"}' ;;"#),
        unavailable: "echo 'authorization denied (code: 23)' >&2; exit 1",
        ready: "imsg 0.9.0 on this machine; older than 0.14.0, which says whether a message that failed may have been sent",
    };
    imsg(&said, case)
}

fn imsg(said: &Said, case: Case) -> Scene {
    let runs = |script, ends| Scene::Plays(Script::Program(script), ends);
    match case {
        Case::Text | Case::Parts(_) | Case::File => runs(said.well, Ends::Sent("G-7")),
        Case::Trouble => runs(said.uncertain, Ends::Unknown),
        Case::Away => Scene::Plays(Script::Nobody, Ends::Retried),
        Case::Closed => runs(answers!("send) kill -9 $$ ;;"), Ends::Unknown),
        Case::Silent => runs(answers!("send) exec sleep 600 ;;"), Ends::Unknown),
        Case::Malformed => runs(answers!("send) echo not json; exit 0 ;;"), Ends::Unknown),
        Case::Nameless => runs(said.nameless, Ends::Unknown),
        Case::Ready => runs(said.well, Ends::Sent(said.ready)),
        Case::NotReady => runs("echo 'permission denied' >&2; exit 1", Ends::Refused("Full Disk Access")),
        Case::Limited | Case::LimitedVaguely => Scene::Never("Messages knows no limit that it tells of"),
        Case::Endless => runs(answers!("send) yes '{\"id\":0}' ;;"), Ends::Unknown),
        Case::Gateway => Scene::Never("nobody stands between the program and the hub"),
        Case::Unavailable => runs(said.unavailable, Ends::Retried),
        Case::Refused | Case::Replaced => Scene::Never("a program on this machine asks nobody who they are"),
        Case::Operation(_) | Case::Removed => Scene::Never(UNCLAIMED),
        Case::Located | Case::Missing => Scene::Never(NOT_TOLD),
    }
}

/// Addresses whose spelling does not tell whose they are.
const UNKNOWN: &[&str] = &[
    "(SMS|any|RCS);-;[0-9]{1,14}",
    "(SMS|any|RCS);-;[0-9]{3,6}[A-Z]{2,5}",
    "(SMS|any|RCS);-;(tel:|p:|mailto:)[a-z0-9@.]{3,12}",
    "(SMS|any|RCS);-;(<anna@example\\.org>|anna\\(c\\)@example\\.org|/anna@example\\.org|anna%example\\.org@example\\.net)",
];
