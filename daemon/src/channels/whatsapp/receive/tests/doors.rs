//! Through which door an account hears, as its settings say.

use crate::{
    channels::{account::Opening, testing::http::http, whatsapp::open},
    store::Store,
};

#[test]
fn an_account_hears_by_one_door_for_notifications_and_only_if_it_is_to_hear() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "hush").unwrap();
    let file = format!("\"file:{}\"", secret.display());
    let cloud = format!("phone_number_id = \"106\"\ntoken = {file}\n");
    let phone = format!("evolution_url = \"http://127.0.0.1:1\"\ninstance = \"home\"\napi_key = {file}\n");
    let meta = format!("app_secret = {file}\nverify_token = {file}\n");
    let hook = format!("webhook_secret = {file}\n");
    let opened = |settings: &[&str]| {
        let settings = toml::from_str(&settings.concat()).unwrap();
        let opening = Opening { account: "a", settings, http: http(), store: store.clone() };
        open(opening).map(|account| {
            (account.notifications().map(|how| how.proof_header), account.typing_lasts().is_some())
        })
    };
    let (evolution, hybrid, receive) = ("kind = \"evolution\"\n", "kind = \"hybrid\"\n", "receive = true\n");
    for (settings, hears) in [
        (vec![&cloud[..]], (None, false)),
        (vec![&cloud, &meta], (Some("x-hub-signature-256"), false)),
        (vec![receive, &cloud, &meta], (Some("x-hub-signature-256"), true)),
        (vec![evolution, &phone], (None, false)),
        (vec![evolution, receive, &phone], (None, true)),
        (vec![evolution, receive, &phone, &hook], (Some("authorization"), true)),
        (vec![hybrid, receive, &cloud, &phone, &meta], (Some("x-hub-signature-256"), true)),
        (vec![hybrid, receive, &cloud, &phone, &hook], (Some("authorization"), true)),
    ] {
        assert_eq!(opened(&settings).unwrap(), hears, "{settings:?}");
    }
    for (settings, why) in [
        (vec![receive, &cloud[..]], "give app_secret and verify_token"),
        (vec![receive, &cloud, &meta, &hook], "is for an Evolution API"),
        (vec![hybrid, receive, &cloud, &phone, &meta, &hook], "leave it out"),
        (vec![evolution, &phone, &hook], "needs receive = true"),
    ] {
        let refused = opened(&settings).unwrap_err().to_string();
        assert!(refused.contains(why), "{why}: {refused}");
    }
}
