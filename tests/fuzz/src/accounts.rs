//! An account of each channel, opened as the configuration opens it. None of them ever connects to anything.

use std::sync::{Arc, LazyLock};

use gatepost::{
    channels::{Adapter, account::Opening, registry},
    store::Store,
};
use tempfile::TempDir;

/// The accounts, some channels with several ways.
pub static ACCOUNTS: LazyLock<Vec<Arc<dyn Adapter>>> = LazyLock::new(|| {
    // It is removed with the process, if that ends in order.
    static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));
    let store = Store::open(&FOLDER.path().join("data")).expect("a database");
    // Its drop would join the writer, which a process that libFuzzer ends never comes to.
    let http = http();
    settings(FOLDER.path())
        .into_iter()
        .map(|(channel, settings)| {
            let opening = Opening {
                account: "home",
                settings: toml::from_str(&settings).expect("it is TOML"),
                http: http.clone(),
                store: store.clone(),
            };
            let kind = registry::kind(channel).expect("it is a channel");
            (kind.open)(opening).unwrap_or_else(|error| panic!("{channel}: {error}"))
        })
        .collect()
});

fn http() -> reqwest::Client {
    // Somebody else may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

fn settings(folder: &std::path::Path) -> Vec<(&'static str, String)> {
    let secret = |name: &str, content: &str| {
        let path = folder.join(name);
        std::fs::write(&path, content).expect("a file");
        format!("\"file:{}\"", path.display())
    };
    let token = secret("token", "123456:token");
    let key =
        secret("key", include_str!("../../../daemon/src/channels/googlechat/testdata/service-account.json"));
    let space = secret("space", "https://chat.test/v1/spaces/AAAA/messages?key=k&token=t");
    let workflow = secret("workflow", "https://flow.test/workflows/1/invoke?sig=s");
    let whsec = secret("whsec", &format!("whsec_{}", "A".repeat(32)));
    let cloud = format!("phone_number_id = \"106\"\ntoken = {token}");
    let evolution = format!("evolution_url = \"http://127.0.0.1:9\"\ninstance = \"home\"\napi_key = {token}");
    vec![
        ("local", String::new()),
        ("email", "host = \"localhost\"\nport = 9\nfrom = \"hub@hub.test\"\n".into()),
        ("matrix", format!("token = {token}\nhomeserver = \"http://127.0.0.1:9\"")),
        ("telegram", format!("token = {token}")),
        ("discord", format!("token = {token}")),
        ("slack", format!("token = {token}")),
        ("googlechat", format!("key = {key}")),
        ("googlechat", format!("webhook = {space}")),
        ("teams", format!("app_id = \"app-1\"\nsecret = {token}")),
        ("teams", format!("webhook = {workflow}")),
        ("signal", "url = \"http://127.0.0.1:9\"\naccount = \"+4915112345678\"".into()),
        ("whatsapp", format!("kind = \"cloud\"\n{cloud}")),
        ("whatsapp", format!("kind = \"evolution\"\n{evolution}")),
        ("whatsapp", format!("kind = \"hybrid\"\n{cloud}\n{evolution}")),
        ("imessage", format!("url = \"http://127.0.0.1:9\"\npassword = {token}")),
        ("webhook", format!("url = \"http://127.0.0.1:9\"\nsecret = {whsec}")),
        ("ntfy", "url = \"http://127.0.0.1:9\"".into()),
    ]
}
