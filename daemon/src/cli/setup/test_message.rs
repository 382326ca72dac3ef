//! The test message. It takes the way of every message, through a hub: one of its own, in a temporary folder, that has the new
//! account and nothing else, and ends with it. So nothing that waits in the person's hub moves, and a failure is found before
//! anything is written.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    time::Duration,
};

use reqwest::Method;
use serde_json::{Value, json};

use super::{edit::quoted, platform::Candidate};
use crate::{
    agents::{self, Role},
    cli::{Failed, output},
    client::{Client, Request},
    hub::{Extras, Hub},
    store::private_file,
};

/// The agent whose message it is, in that hub.
const AGENT: &str = "setup";
/// How long the platform may take.
const WAIT: Duration = Duration::from_secs(30);
/// What it says.
const TEXT: &str = "This is a test message from Gatepost, which can write here.";

/// Sends it, and waits for its end.
///
/// # Errors
/// It is not sent, and why.
pub(super) async fn send(candidate: &Candidate, address: &str) -> Result<(), Failed> {
    let target = format!("{}:{address}", candidate.platform.name);
    let rights = format!(
        "[agents.{AGENT}]\nallow = [{}]\ncross_context = \"allow\"\ndecorate = false\n",
        quoted(&target)
    );
    let mut config = candidate.config(&rights)?;
    config.hub.data_dir = candidate.folder().join("hub");
    // One may have been tried before, for another chat: its agent has a token already.
    private_file::remove_folder(&config.hub.data_dir).map_err(Failed::refused)?;
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    config.hub.listen = anywhere;
    // No companion meets it.
    let free = TcpListener::bind(anywhere).and_then(|listener| listener.local_addr());
    config.broker.listen = free.map_err(Failed::refused)?;
    let hub = Hub::start(&config, Extras::default()).await.map_err(Failed::refused)?;
    let sent = through(&hub, &target).await;
    hub.stop().await;
    sent
}

async fn through(hub: &Hub, target: &str) -> Result<(), Failed> {
    let token = agents::add(hub.store(), AGENT, Role::Agent, "operator").await.map_err(Failed::refused)?;
    let client = Client::new(format!("http://{}", hub.address()), token)?;
    let request = Request {
        query: vec![("wait", WAIT.as_secs().to_string())],
        body: Some(json!({"to": target, "message": TEXT})),
        wait: WAIT,
    };
    let receipt = client.call(Method::POST, "/v1/messages", request).await?;
    let what = output::receipt(&receipt);
    match receipt.get("state").and_then(Value::as_str) {
        Some("sent") => Ok(()),
        Some("failed") => Err(Failed::Refused(format!("the test message was not sent: {what}"))),
        // The hub that would go on with it ends here.
        _ => Err(Failed::Refused(format!(
            "the test message may not have arrived, so look into the chat; nothing more is sent of it: {what}"
        ))),
    }
}
