//! A Bot Connector: Microsoft's own Agents Playground, in which bots for Teams are tried out.
//!
//! It minds what an activity is made of and where it goes, and no token; nor does it look into cards, which the parser of
//! Adaptive Cards does ([`cards_check`]), nor delete. What a bot has sent it shows to a browser alone: whether something
//! is there is seen by changing it.

use std::{
    ffi::OsStr,
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::{leash::Leash, ports};
use crate::mocks::MockServer;

const START: Duration = Duration::from_secs(60);

/// A running playground.
pub struct Playground {
    _leash: Leash,
    /// Whom it tells what people do.
    _bot: MockServer,
    port: u16,
    personal: String,
    group: String,
}

impl Playground {
    /// Starts one, with a personal chat and a group.
    ///
    /// # Errors
    /// It is not installed, or did not come up; the error shows the end of its log.
    pub fn start() -> Result<Self> {
        ports::retrying(Self::start_once)
    }

    fn start_once() -> Result<Self> {
        let program = super::file("node_modules/@microsoft/m365agentsplayground/cli.js");
        if !program.exists() {
            bail!("the Agents Playground is missing: run `tests/run --setup-only`");
        }
        let dir = Leash::folder("playground")?;
        // It would open a browser.
        let bin = dir.path().join("bin");
        fs::create_dir(&bin)?;
        fs::write(bin.join("xdg-open"), "#!/bin/sh\n")?;
        fs::set_permissions(bin.join("xdg-open"), fs::Permissions::from_mode(0o755))?;
        let path = format!("PATH={}:{}", bin.display(), std::env::var("PATH")?);
        let (port, bot) = (ports::free()?, MockServer::saying(serde_json::json!({}))?);
        let endpoint = format!("{}/api/messages", bot.url());
        let port_text = port.to_string();
        // Without telemetry.
        let server: [&OsStr; 12] = [
            "env".as_ref(),
            path.as_ref(),
            "node".as_ref(),
            program.as_os_str(),
            "start".as_ref(),
            "-e".as_ref(),
            endpoint.as_ref(),
            "-c".as_ref(),
            "msteams".as_ref(),
            "-p".as_ref(),
            port_text.as_ref(),
            "--dt".as_ref(),
        ];
        let mut leash = Leash::start("playground", dir, &server)?;
        let http = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)))
            .build()
            .new_agent();
        // It answers when it has found the bot.
        let config: Mutex<Value> = Mutex::default();
        leash.wait_until(START, || {
            let response = http.get(format!("http://127.0.0.1:{port}/_internal/v1/config")).call();
            let text = response.ok().and_then(|mut answer| answer.body_mut().read_to_string().ok());
            let read = text.and_then(|text| serde_json::from_str(&text).ok());
            read.is_some_and(|read| {
                *config.lock().expect("nobody panicked with it") = read;
                true
            })
        })?;
        let config = config.into_inner().expect("nobody panicked with it");
        let id = |chat: &Value| {
            chat["id"].as_str().map(str::to_owned).with_context(|| format!("no id of a chat in {config}"))
        };
        let personal = id(&config["config"]["personalChat"])?;
        let group = id(&config["config"]["groupChats"][0])?;
        Ok(Self { _leash: leash, _bot: bot, port, personal, group })
    }

    /// The Bot Connector's address.
    pub fn service_url(&self) -> String {
        format!("http://127.0.0.1:{}/_connector", self.port)
    }

    /// What it tells a bot when this happens in a conversation, without any proof of who tells it.
    ///
    /// # Errors
    /// It knows no such thing.
    pub fn tells(&self, kind: &str, conversation: &str) -> Result<Value> {
        let path =
            format!("_internal/v1/customActivities/template?type={kind}&conversationId={conversation}");
        let mut answer = ureq::get(format!("http://127.0.0.1:{}/{path}", self.port)).call()?;
        Ok(serde_json::from_str(&answer.body_mut().read_to_string()?)?)
    }

    /// The id of the bot's conversation with one person.
    pub fn personal(&self) -> &str {
        &self.personal
    }

    /// The id of a group.
    pub fn group(&self) -> &str {
        &self.group
    }
}

/// What the parser of Adaptive Cards says of each card: nothing where all is well.
///
/// # Errors
/// The parser is not installed or failed itself.
pub fn cards_check(cards: &[Value]) -> Result<Vec<Vec<String>>> {
    if !super::file("node_modules/adaptivecards").exists() {
        bail!("adaptivecards is missing: run `tests/run --setup-only`");
    }
    let mut node = Command::new("node")
        .arg(super::file("cards-check.mjs"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start node: run `tests/run --setup-only`")?;
    let mut stdin = node.stdin.take().expect("its standard input is a pipe");
    let lines: String = cards.iter().map(|card| format!("{card}\n")).collect();
    // It reads all before it writes.
    stdin.write_all(lines.as_bytes())?;
    drop(stdin);
    let output = node.wait_with_output()?;
    ensure!(output.status.success(), "cards-check.mjs failed: {}", output.status);
    let verdicts =
        String::from_utf8(output.stdout)?.lines().map(serde_json::from_str).collect::<Result<Vec<_>, _>>()?;
    ensure!(verdicts.len() == cards.len(), "cards-check.mjs did not answer for every card");
    Ok(verdicts)
}
