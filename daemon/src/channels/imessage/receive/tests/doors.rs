//! Through which door an account hears, as its settings say.

use crate::{
    channels::{account::Opening, imessage::open, testing::http::http},
    store::Store,
};

#[test]
fn an_account_hears_only_if_it_is_to_hear_and_shows_signs_by_the_private_api_alone() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "hush").unwrap();
    let file = format!("\"file:{}\"", secret.display());
    let server = format!("url = \"http://127.0.0.1:1\"\npassword = {file}\n");
    let hook = format!("webhook_secret = {file}\n");
    let (program, receive) = ("kind = \"imsg\"\ncommand = [\"/bin/imsg\"]\n", "receive = true\n");
    let opened = |settings: &[&str]| {
        let settings = toml::from_str(&settings.concat()).unwrap();
        let opening = Opening { account: "a", settings, http: http(), store: store.clone() };
        open(opening).map(|account| {
            (account.notifications().map(|how| how.proof_header), account.typing_lasts().is_some())
        })
    };
    for (settings, hears) in [
        (vec![&server[..]], (None, false)),
        (vec![receive, &server], (None, true)),
        (vec![receive, &server, "private_api = false\n"], (None, false)),
        (vec![receive, &server, &hook], (Some("authorization"), true)),
        (vec![receive, program], (None, false)),
    ] {
        assert_eq!(opened(&settings).unwrap(), hears, "{settings:?}");
    }
    for (settings, why) in [
        (vec![&server[..], &hook], "needs receive = true"),
        (vec![receive, program, &hook], "is for BlueBubbles"),
    ] {
        let refused = opened(&settings).unwrap_err().to_string();
        assert!(refused.contains(why), "{why}: {refused}");
    }
}
