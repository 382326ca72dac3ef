//! What a mail server says in each case of the contract.

use super::mock::{AUTHORITY, Step};
use super::spellings;
use crate::channels::testing::contract::{Alike, Case, Contract, Ends, Scene, UNCLAIMED, stage::Script};

/// Of an account.
pub(in crate::channels) const CONTRACTS: &[Contract] = &[Contract {
    channel: "email",
    way: "",
    settings: |stage| {
        let (port, password) = (stage.port, stage.secret());
        let authority = stage.write("ca.pem", AUTHORITY);
        format!(
            "host = \"localhost\"\nport = {port}\nfrom = \"hub@hub.test\"\nuser = \"hub\"\npassword = \"file:{}\"\n\
             ca_file = \"{}\"",
            password.display(),
            authority.display()
        )
    },
    address: "ada@example.org",
    alike: &[Alike {
        identity: "Ada@example.org",
        spelt: &["Ada@example.org", "Ada@Example.ORG"],
        asked: &[],
    }],
    spelt: spellings::spelt,
    unknown: &[],
    acquainted: &[],
    message: "<00112233445566778899aabbccddeeff@hub.test>",
    user: "ada@example.org",
    file: ("a b.txt", "text/plain"),
    card: "",
    secret: Some(|_, age| format!("hush{age:?}")),
    scene,
}];

fn scene(case: Case) -> Scene {
    const ID: &str = "<00112233445566778899aabbccddeeff@hub.test>";
    let says = |script: &'static [(&'static str, Step)], ends| Scene::Plays(Script::Smtp(script), ends);
    const WRONG: &str = "535 5.7.8 AGh1YgBodXNoT2xk is wrong";
    match case {
        Case::Text | Case::Parts(_) | Case::File => says(&[], Ends::Sent(ID)),
        Case::LimitedVaguely => says(&[("MAIL", Step::Answer("451 4.7.1 too many"))], Ends::Retried),
        Case::Trouble => says(&[(".", Step::Answer("451 4.3.0 trouble"))], Ends::Retried),
        // RFC 5321 §3.8: "Service not available, closing transmission channel".
        Case::Unavailable => says(&[("MAIL", Step::Answer("421 4.3.2 shutting down"))], Ends::Retried),
        Case::Away => Scene::Plays(Script::Nobody, Ends::Retried),
        Case::Closed => says(&[(".", Step::Close)], Ends::Unknown),
        Case::Silent => says(&[(".", Step::Hang)], Ends::Unknown),
        Case::Malformed => says(&[(".", Step::Answer("what?"))], Ends::Unknown),
        Case::Refused => says(&[("AUTH", Step::Answer(WRONG))], Ends::Refused("check user and password")),
        Case::Replaced => says(&[("AUTH PLAIN AGh1YgBodXNoT2xk", Step::Answer(WRONG))], Ends::Sent(ID)),
        Case::Ready => says(&[], Ends::Sent("")),
        Case::NotReady => says(&[("AUTH", Step::Answer(WRONG))], Ends::Refused("check user and password")),
        Case::Limited => Scene::Never("SMTP has no word for when to come back"),
        Case::Gateway => Scene::Never("the server that answers is the one that takes the mail"),
        Case::Nameless => Scene::Never("a mail has its id from the hub"),
        Case::Endless => Scene::Never("an answer that does not end is given up with its time, as silence is"),
        Case::Operation(_) | Case::Removed => Scene::Never(UNCLAIMED),
        Case::Located | Case::Missing => {
            Scene::Never("a server that takes mail tells nothing of mail that it took")
        }
    }
}
