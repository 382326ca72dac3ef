//! The guide to questions: its hook of a coding agent answers as that agent reads it, and its script does nothing without a yes.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{TestHub, program},
    main_job::CONFIG,
    peers,
};
use serde_json::{Value, json};

use crate::guide;

/// The program under its name in a folder, and the environment that the guide wants.
fn with_program(command: &mut Command, folder: &Path, hub: &str, token: &str) -> Result<Child> {
    let path = std::env::var("PATH").context("there is a PATH")?;
    command
        .env("PATH", format!("{}:{path}", folder.display()))
        .envs([("GATEPOST_HUB", hub), ("GATEPOST_TOKEN", token)])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command.spawn()?)
}

#[tokio::test(flavor = "multi_thread")]
async fn its_hook_and_its_script_do_what_a_person_says() -> Result<()> {
    let blocks = guide("daemon/docs/ask.md")?.blocks;
    let hook =
        blocks.iter().find(|block| block.text.starts_with("#!/usr/bin/env python3")).context("the hook")?;
    let line =
        blocks.iter().flat_map(|block| block.text.lines()).find(|line| line.starts_with("gatepost ask"));
    let line = line.context("the script")?;
    let folder = tempfile::tempdir()?;
    symlink(program::program()?, folder.path().join("gatepost"))?;
    fs::write(folder.path().join("ask-person.py"), &hook.text)?;
    fs::write(folder.path().join("deploy"), "#!/bin/sh\ntouch deployed\n")?;
    Command::new("chmod").arg("+x").arg(folder.path().join("deploy")).status()?;

    let mut fixture = TestHub::start(CONFIG).await?;
    let token = fixture.agent("deploy").await?.token().to_owned();
    let hub = format!("http://{}", fixture.hub()?.address());
    // What Claude Code hands to a hook, as far as this one reads it.
    let call = json!({
        "session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "rm -r build", "description": "Clean up"},
    });
    for (verdict, decision) in [(Verdict::Approve, "allow"), (Verdict::Deny, "deny")] {
        let mut asking = Command::new(peers::python()?);
        let mut asking = with_program(asking.arg("ask-person.py"), folder.path(), &hub, &token)?;
        asking.stdin.take().context("stdin")?.write_all(call.to_string().as_bytes())?;
        let seen = format!("{:?}", fixture.decide(verdict).await?);
        ensure!(seen.contains("Bash: rm -r build"), "{seen}");
        let answered = asking.wait_with_output()?;
        let answer: Value = serde_json::from_slice(&answered.stdout)?;
        ensure!(answer["hookSpecificOutput"]["permissionDecision"] == decision, "{answer}");
        ensure!(answer["hookSpecificOutput"]["hookEventName"] == "PreToolUse", "{answer}");

        let script = with_program(Command::new("sh").args(["-c", line]), folder.path(), &hub, &token)?;
        fixture.decide(verdict).await?;
        script.wait_with_output()?;
        let deployed = folder.path().join("deployed");
        ensure!(
            deployed.exists() == (verdict == Verdict::Approve),
            "it did not do what the answer was: {decision}"
        );
        let _ = fs::remove_file(deployed);
    }
    // Nobody can be asked: it is a no.
    fixture.stop().await;
    let mut asking = Command::new(peers::python()?);
    let mut asking = with_program(asking.arg("ask-person.py"), folder.path(), &hub, &token)?;
    asking.stdin.take().context("stdin")?.write_all(call.to_string().as_bytes())?;
    let answer: Value = serde_json::from_slice(&asking.wait_with_output()?.stdout)?;
    ensure!(answer["hookSpecificOutput"]["permissionDecision"] == "deny", "{answer}");
    Ok(())
}
