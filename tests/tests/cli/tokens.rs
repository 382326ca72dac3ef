//! Whose token a program uses. The hub keeps the operator's token beside its configuration: a program that is started there
//! without a token of its own must not become the operator, and every client is told who it is.
//!
//! Installed by `tests/run --setup-only`: the protocol's client.

use std::process::{Command, Output, Stdio};

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{Ended, INBOX, SpawnedHub, asks, client::text, free, program},
    peers::{McpClient, python},
};
use serde_json::{Value, json};

fn config() -> String {
    format!("{}{}{INBOX}", asks("engineer", &["local:team"]), free("shell", &["local:*"]))
}

const HINT: &str = "gatepost agent add NAME";

fn call() -> Value {
    json!({"to": "local:team", "message": "Past every hold?"})
}

/// Nothing was taken, whoever asked for it.
fn nothing_was_taken(hub: &SpawnedHub) -> Result<()> {
    let all = hub.operator()?.get("/v1/messages")?.taken()?;
    ensure!(all["messages"] == json!([]), "{all}");
    Ok(())
}

#[test]
fn a_program_beside_the_operators_token_does_not_send_with_it() -> Result<()> {
    let hub = SpawnedHub::start(&config())?;
    let call = call().to_string();
    for (command, input) in [
        (&["mcp"][..], ""),
        (&["message"], call.as_str()),
        (&["send", "--to", "local:team", "Past every hold?"], ""),
    ] {
        for token in ["", "  "] {
            let Ended { status, stdout, stderr } =
                hub.cli_with(command, input.as_bytes(), &[("GATEPOST_TOKEN", token)])?;
            ensure!(status == 2 && stdout.is_empty(), "{command:?}: {status}, {stdout}");
            ensure!(stderr.contains(HINT) && stderr.contains("--as-operator"), "{command:?}: {stderr}");
        }
    }
    nothing_was_taken(&hub)
}

#[test]
fn a_terminal_alone_makes_nobody_the_operator() -> Result<()> {
    let hub = SpawnedHub::start(&config())?;
    // A terminal of its own, in which nobody types: many programs that run agents give them one.
    let spawn = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let at_a_terminal = |more: &[&str]| -> Result<Output> {
        Ok(Command::new(python()?)
            .args(["-c", spawn])
            .arg(program()?)
            .args(["send", "--to", "local:team", "--wait", "30", "Typed."])
            .args(more)
            .env("GATEPOST_CONFIG", hub.config())
            .env_remove("GATEPOST_TOKEN")
            .stdin(Stdio::null())
            .output()?)
    };
    let refused = at_a_terminal(&[])?;
    let shown = String::from_utf8_lossy(&refused.stdout);
    ensure!(refused.status.code() == Some(2) && shown.contains("--as-operator"), "{refused:?}");
    ensure!(hub.operator()?.arrived("team")?.is_empty(), "it was sent");
    let typed = at_a_terminal(&["--as-operator"])?;
    ensure!(typed.status.success(), "{typed:?}");
    let arrived = hub.operator()?.arrived("team")?;
    ensure!(arrived.len() == 1 && text(&arrived[0], "text") == "Typed.", "{arrived:?}");
    Ok(())
}

#[test]
fn an_operators_token_calls_tools_only_on_purpose() -> Result<()> {
    let hub = SpawnedHub::start(&config())?;
    let operator = hub.operator()?;
    let call = call().to_string();
    let post = |path: &str, headers: &[(&str, &str)]| operator.raw("POST", path, headers, call.as_bytes());
    for path in ["/v1/tools/message", "/v1/tools/send_message", "/v1/tools/reply", "/mcp", "/v1/reply"] {
        for headers in [&[][..], &[("gatepost-as-operator", "no")]] {
            let refused = post(path, headers)?;
            ensure!(refused.status == 403, "{path}: {refused:?}");
            let reason = if path == "/v1/reply" { "role" } else { "operator_token" };
            ensure!(refused.body["reason"] == reason, "{path}: {refused:?}");
        }
    }
    let environment = [("GATEPOST_HUB", operator.base()), ("GATEPOST_TOKEN", operator.token())];
    let mut client = McpClient::starting(program()?, &environment)?;
    let refused = client.step(&json!({"instructions": true}))?;
    ensure!(text(&refused, "error").contains("operator's token"), "{refused}");
    nothing_was_taken(&hub)?;

    let taken = post("/v1/tools/message", &[("gatepost-as-operator", "true")])?.taken()?;
    ensure!(taken["state"] == "sent", "{taken}");
    let mut client = McpClient::starting_with(program()?, &["--as-operator"], &environment)?;
    let told = client.step(&json!({"instructions": true}))?;
    ensure!(text(&told, "instructions").starts_with("You act as the operator"), "{told}");
    let sent = client
        .step(&json!({"call": "message", "arguments": {"to": "local:team", "message": "On purpose."}}))?;
    ensure!(sent["answer"]["state"] == "sent", "{sent}");
    Ok(())
}

#[test]
fn every_client_is_told_who_it_is() -> Result<()> {
    let hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("engineer")?;
    let whoami = agent.get("/v1/whoami")?.taken()?;
    ensure!(whoami["agent"] == "engineer" && whoami["role"] == "agent", "{whoami}");
    ensure!(whoami["allow"] == json!(["local:team"]) && whoami["configured"] == true, "{whoami}");
    let is = "You are the agent \"engineer\". You may write to: local:team.";
    for (endpoint, mut client) in McpClient::at_both_doors(&agent)? {
        let told = client.step(&json!({"instructions": true}))?;
        ensure!(text(&told, "instructions").starts_with(is), "{endpoint}: {told}");
    }
    let mut modern = McpClient::modern_at(agent.base(), agent.token())?;
    let told = modern.step(&json!({"instructions": true}))?;
    ensure!(text(&told, "instructions").starts_with(is), "{told}");
    // A file holds a token as well as the environment does.
    let file = hub.folder().path().join("engineer.token");
    std::fs::write(&file, format!("{}\n", agent.token()))?;
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let option = format!("--token-file={}", file.display());
    let mut client = McpClient::starting_with(program()?, &[&option], &[("GATEPOST_HUB", agent.base())])?;
    ensure!(text(&client.step(&json!({"instructions": true}))?, "instructions").starts_with(is));
    Ok(())
}

#[test]
fn a_wrong_token_a_dead_hub_and_an_ended_session_are_told_as_what_they_are() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("engineer")?;
    let wrong = [("GATEPOST_HUB", agent.base()), ("GATEPOST_TOKEN", "gp_00")];
    let told = McpClient::starting(program()?, &wrong)?.step(&json!({"instructions": true}))?;
    ensure!(text(&told, "error").contains("not known, or was revoked"), "{told}");
    let bridge = hub.cli(&["agent", "add", "porch", "--role", "bridge"])?.well()?;
    let bridges = [("GATEPOST_HUB", agent.base()), ("GATEPOST_TOKEN", bridge.trim())];
    let told = McpClient::starting(program()?, &bridges)?.step(&json!({"instructions": true}))?;
    ensure!(text(&told, "error").contains("role bridge"), "{told}");

    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"},
    }});
    let accept = ("accept", "application/json, text/event-stream");
    let begun = agent.raw("POST", "/mcp", &[accept], hello.to_string().as_bytes())?;
    let session = begun.headers.iter().find(|(name, _)| name == "mcp-session-id");
    let session = session.map(|(_, id)| id.clone()).unwrap_or_default();
    let ended = agent.raw("DELETE", "/mcp", &[accept, ("mcp-session-id", &session)], b"")?;
    ensure!(ended.status == 204, "{ended:?}");

    hub.terminate()?;
    let right = [("GATEPOST_HUB", agent.base()), ("GATEPOST_TOKEN", agent.token())];
    let told = McpClient::starting(program()?, &right)?.step(&json!({"instructions": true}))?;
    ensure!(text(&told, "instructions").starts_with("The hub does not run"), "{told}");
    Ok(())
}
