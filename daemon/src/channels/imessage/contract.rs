//! What stands between the hub and Messages says in each case of the contract: a BlueBubbles server, or the program imsg.

use crate::{
    channels::{
        contract::{Alike, Case, Contract, Ends, NOT_TOLD, Scene, UNCLAIMED, plays, stage::Script, usual},
        http::double::Reply,
    },
    message::action::Action,
};

/// Of BlueBubbles with its Private API, and of imsg.
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
        acquainted: &[],
        message: "B-2",
        user: "+4915112345679",
        file: ("a b.txt", "text/plain"),
        card: "",
        secret: Some(|_, age| format!("hush-{age:?}")),
        scene: by_bluebubbles,
    },
    Contract {
        channel: "imessage",
        way: "by imsg",
        settings: |stage| format!("kind = \"imsg\"\ncommand = [\"{}\"]", stage.program().display()),
        address: "+4915112345679",
        alike: ALIKE,
        acquainted: &[],
        message: "G-7",
        user: "+4915112345679",
        file: ("a b.txt", "text/plain"),
        card: "",
        secret: None,
        scene: by_imsg,
    },
];

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
    match case {
        Case::Refused => plays([PASSWORD], Ends::Refused("replace the token")),
        Case::Replaced => plays([PASSWORD, SENT], Ends::Sent("A-1")),
        Case::Ready => plays([READY], Ends::Sent("BlueBubbles 1.9.9")),
        Case::NotReady => plays([PASSWORD], Ends::Refused("replace the token")),
        Case::Located => plays([HERE], Ends::Sent("")),
        Case::Missing => plays([THERE], Ends::Sent("")),
        Case::File => plays([SENT, SENT], Ends::Sent("A-1")),
        Case::Removed => {
            Scene::Never("what it says to a second one, it says to whatever goes wrong in Messages")
        }
        Case::Deed(Action::React | Action::Edit | Action::Delete) => plays([SENT], Ends::Sent("B-2")),
        _ => usual(&[], SENT, "A-1", case),
    }
}

fn by_imsg(case: Case) -> Scene {
    const WELL: &str = r#"echo '{"status":"sent","id":7,"guid":"G-7"}'"#;
    let runs = |script, ends| Scene::Plays(Script::Program(script), ends);
    match case {
        Case::Text | Case::Parts(_) | Case::File => runs(WELL, Ends::Sent("G-7")),
        Case::Trouble => runs("echo 'AppleScript failed' >&2; exit 1", Ends::Unknown),
        Case::Away => Scene::Plays(Script::Nobody, Ends::Retried),
        Case::Closed => runs("kill -9 $$", Ends::Unknown),
        Case::Silent => runs("exec sleep 600", Ends::Unknown),
        Case::Malformed => runs("echo not json", Ends::Unknown),
        Case::Nameless => runs("echo {}", Ends::Unknown),
        Case::Ready => runs(WELL, Ends::Sent("imsg on this machine")),
        Case::NotReady => runs("echo 'permission denied' >&2; exit 1", Ends::Refused("Full Disk Access")),
        Case::Limited | Case::LimitedVaguely => Scene::Never("Messages knows no limit that it tells of"),
        Case::Endless => Scene::Never("what it writes too much is thrown away, until its time is over"),
        Case::Gateway => Scene::Never("nobody stands between the program and the hub"),
        Case::Unavailable => Scene::Never("a program that runs takes what it is given"),
        Case::Refused | Case::Replaced => Scene::Never("a program on this machine asks nobody who they are"),
        Case::Deed(_) | Case::Removed => Scene::Never(UNCLAIMED),
        Case::Located | Case::Missing => Scene::Never(NOT_TOLD),
    }
}
