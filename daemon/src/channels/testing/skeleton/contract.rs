//! What skeleton says in each case: what the suite of all channels plays with an account.

use crate::channels::testing::contract::{Case, Contract, Scene, spellings};

pub(in crate::channels) const CONTRACTS: &[Contract] = &[Contract {
    channel: "skeleton",
    way: "",
    settings: |stage| {
        let (port, token) = (stage.port, stage.secret());
        format!("url = \"http://127.0.0.1:{port}\"\ntoken = \"file:{}\"", token.display())
    },
    address: "",
    alike: &[],
    spelt: || spellings::identities("[a-z][A-Za-z0-9_-]{1,20}"),
    unknown: &[],
    acquainted: &[],
    message: "",
    user: "",
    file: ("", ""),
    card: "",
    secret: Some(|_, age| format!("hush{age:?}")),
    scene,
}];

/// `usual` has what most platforms over HTTP do alike: end with `_ => usual(&[], TAKEN, ID, case)`.
fn scene(_: Case) -> Scene {
    Scene::Never("")
}
