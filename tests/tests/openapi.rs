//! The HTTP door is as `/openapi.json` says: somebody else's program reads it and makes up calls of its own.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{TestHub, client::text},
    peers::schemathesis,
};
use serde_json::json;

/// Nothing is held, so that nothing is waited for.
const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:*"]
cross_context = "allow"
decorate = false
per_minute = 0

[agents.shell]
allow = ["local:*"]
cross_context = "allow"
decorate = false
per_minute = 0

[approval]
allow_software_companion = true

[channels.local.home]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_somebody_else_makes_up_are_answered_as_the_description_says() -> Result<()> {
    let mut house = TestHub::start(CONFIG).await?;
    let (agent, operator) = (house.agent("engineer").await?, house.operator()?);
    let sent = agent.send_and_wait(&json!({"to": "local:team", "message": "Here I am."}))?;
    let companions = operator.get("/v1/companions")?.taken()?;
    let start = Instant::now();
    schemathesis(
        operator.base(),
        &[
            ("GATEPOST_OPERATOR", operator.token()),
            ("GATEPOST_AGENT", agent.token()),
            ("GATEPOST_MESSAGE", text(&sent, "id")),
            ("GATEPOST_COMPANION", text(&companions["companions"][0], "key")),
        ],
    )?;
    println!("schemathesis: {:?}", start.elapsed());
    // After all of that it still does its work.
    let sent = agent.send_and_wait(&json!({"to": "local:team", "message": "And still am."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    house.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_that_is_not_described_is_refused_and_says_which_are() -> Result<()> {
    let mut house = TestHub::start(CONFIG).await?;
    let nobody = house.anybody(None)?;
    let described = nobody.get("/openapi.json")?;
    ensure!(
        described.kind == "application/json" && described.body["openapi"] == "3.1.0",
        "{}",
        described.kind
    );
    for (path, item) in described.body["paths"].as_object().context("paths")? {
        let methods = item.as_object().context("methods")?;
        let path: String = path
            .split('/')
            .map(|part| if part.starts_with('{') { "x" } else { part })
            .collect::<Vec<_>>()
            .join("/");
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let status = nobody.raw(method, &path, &[], b"")?.status;
            match methods.get(&method.to_lowercase()) {
                None => ensure!(status == 405, "{method} {path}: {status}"),
                // A platform shows who it is in its own way.
                Some(_) if path.starts_with("/v1/platform/") => {
                    ensure!([401, 403].contains(&status), "{method} {path} takes anything: {status}");
                }
                Some(operation) if operation["security"].is_array() => {
                    ensure!(status == 200, "{method} {path} is for anybody: {status}");
                }
                Some(_) => ensure!(status == 401, "{method} {path} needs a token: {status}"),
            }
        }
    }
    house.stop().await;
    Ok(())
}
