//! `gatepost setup` when something was wrong: each answer can be given anew, until it is right.
//!
//! Installed by `tests/run --setup-only`: a terminal.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{gatepost, program::Ended},
    mocks::{Answer, MockServer},
    peers::Left,
};
use serde_json::json;

use super::setup::{answer, at_a_terminal};

const TOKEN: &str = "tk_house";

/// An ntfy that takes everything, from whoever has the token.
fn ntfy() -> Result<MockServer> {
    MockServer::open(|request| {
        let has_token = request.header("authorization") == format!("Bearer {TOKEN}");
        match request.path.as_str() {
            "/v1/health" => (200, json!({"healthy": true})),
            _ if !has_token => (401, json!({"code": 40101, "error": "unauthorized"})),
            "/v1/account" => (200, json!({"username": "house", "role": "user"})),
            _ => (200, json!({"id": "m1", "time": 1, "event": "message", "topic": "house"})),
        }
    })
}

#[test]
fn a_wrong_address_a_wrong_token_and_a_chat_that_cannot_be_written_to_are_asked_for_again() -> Result<()> {
    let (folder, mock) = (tempfile::tempdir()?, ntfy()?);
    let arguments = ["setup", "--platform", "ntfy", "--companion", "none", "--agent", "cook"];
    let mut setup = at_a_terminal(folder.path(), &arguments)?;
    // Nobody listens there.
    answer(&mut setup, r"url, such as .*: $", "http://127.0.0.1:1/")?;
    answer(&mut setup, r"Paste the token.*: $", TOKEN)?;
    // The answer from before is offered, and another one given.
    answer(&mut setup, r"url, such as .* \[http://127\.0\.0\.1:1/\]: $", &mock.url())?;
    answer(&mut setup, r"Paste the token.*: $", "tk_stale")?;
    // Enter keeps it.
    answer(&mut setup, r"url, such as .*: $", "")?;
    answer(&mut setup, r"Paste the token.*: $", TOKEN)?;
    for topic in ["first", "second"] {
        mock.next_for("/", Answer::Says(404, json!({"code": 40401, "error": "page not found"})));
        answer(&mut setup, r"Where may the agent write\?.*: $", topic)?;
        answer(&mut setup, r"(?s)the test message was not sent.*Try another chat\? \[Y/n\]: $", "y")?;
    }
    answer(&mut setup, r"Where may the agent write\?.*: $", "house")?;
    setup.wait("cook may write to ntfy:house now")?;
    ensure!(setup.end()? == Left { status: 0, restored: true });
    let config = fs::read_to_string(folder.path().join("gatepost.toml"))?;
    ensure!(config.contains(&mock.url()) && !config.contains("127.0.0.1:1/"), "{config}");

    // Later the token is another one: setup says into which file it belongs.
    fs::write(folder.path().join("secrets/ntfy"), "tk_stale")?;
    let file = folder.path().join("gatepost.toml");
    let again =
        ["-c", file.to_str().context("UTF-8")?, "setup", "--platform", "ntfy", "--to", "garden", "--yes"];
    let Ended { status, stderr, .. } = gatepost(&again, b"", &[])?;
    ensure!(status != 0 && stderr.contains("/secrets/ntfy, and run setup again"), "{stderr}");
    Ok(())
}
