//! What the hub's own inbox does in each case.

use crate::channels::testing::contract::spellings::identities;
use crate::channels::testing::contract::{Alike, Case, Contract, Ends, Scene, UNCLAIMED, stage::Script};

pub(in crate::channels) const CONTRACTS: &[Contract] = &[Contract {
    channel: "local",
    way: "",
    settings: |_| "limit = 1500".into(),
    address: "kitchen",
    alike: &[Alike { identity: "kitchen", spelt: &["kitchen"], asked: &[] }],
    spelt: || identities("[a-z][A-Za-z0-9_-]{1,20}"),
    unknown: &[],
    acquainted: &[],
    message: "local:1",
    user: "ada",
    file: ("a b.txt", "text/plain"),
    card: "",
    secret: None,
    scene,
}];

fn scene(case: Case) -> Scene {
    match case {
        // Its id comes with the end of its part.
        Case::Text | Case::File | Case::Parts(_) | Case::Ready => Scene::Plays(Script::Hub, Ends::Sent("")),
        Case::Operation(_) | Case::Removed => Scene::Never(UNCLAIMED),
        _ => Scene::Never("it is a row in the hub's own database, and nobody is asked for it"),
    }
}
