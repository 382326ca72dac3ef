//! `[hooks.NAME]`: what is asked before a message is judged, and what is told when it has ended.

use std::{path::PathBuf, time::Duration};

use reqwest::Url;
use serde::Deserialize;

use super::Span;
use crate::{hooks::builtin::Builtin, message::TOOLS, settings::secret::SecretSource};

/// The longest time that a hook may take.
const MAX_TIMEOUT: Duration = Duration::from_mins(5);

/// `[hooks.NAME]`.
#[derive(Debug, Clone, Deserialize)]
pub struct Hook {
    /// When it runs.
    pub on: Moment,
    /// A program and its arguments.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// An HTTP service.
    #[serde(default)]
    pub url: Option<String>,
    /// The token that it wants.
    #[serde(default)]
    pub token: Option<SecretSource>,
    /// One of the hub's own.
    #[serde(default)]
    pub builtin: Option<Builtin>,
    /// How long it may take.
    #[serde(default = "ten_seconds")]
    pub timeout: Span,
    /// The tools that it is asked about; all, where none is named.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Whether it runs.
    #[serde(default = "yes")]
    pub enabled: bool,
}

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Before a message is judged.
    MessageSending,
    /// After it was sent, has failed, or may have arrived.
    MessageSent,
    /// Before a tool is run.
    BeforeToolCall,
    /// With what a tool answered.
    ToolResult,
    /// Who wrote something that was received.
    InboundSender,
    /// Whether they may write to an agent.
    InboundAccess,
    /// Whether that wakes it.
    InboundScope,
    /// Whether a person is asked where no agent is.
    InboundRequest,
}

/// When one of the hub's own runs.
const fn moment_of(builtin: Builtin) -> Moment {
    match builtin {
        Builtin::Secrets => Moment::MessageSending,
        Builtin::Guide => Moment::ToolResult,
    }
}

/// How a hook is asked: one way of three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program and its arguments.
    Command(PathBuf, Vec<String>),
    /// An HTTP service and its token.
    Url(Url, Option<SecretSource>),
    /// One of the hub's own.
    Builtin(Builtin),
}

/// The address of a service that gets what agents write, or what is wrong with it.
pub(super) fn service(url: &str) -> Result<Url, &'static str> {
    let url = Url::parse(url).map_err(|_| "url is an https address")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("no name and password in url: use token");
    }
    match (url.scheme(), url.host_str()) {
        ("https", Some(_)) | ("http", Some("127.0.0.1" | "[::1]" | "localhost")) => Ok(url),
        ("http", _) => {
            Err("messages do not go through the net in plain: use https, or a service on 127.0.0.1")
        }
        _ => Err("url is an https address"),
    }
}

fn yes() -> bool {
    true
}

fn ten_seconds() -> Span {
    Span(Duration::from_secs(10))
}

impl Hook {
    /// How it is asked, or what is wrong with it.
    pub fn way(&self) -> Result<Transport, &'static str> {
        if self.timeout.0 > MAX_TIMEOUT {
            return Err("timeout is at most 5m");
        }
        if self.token.is_some() && self.url.is_none() {
            return Err("token goes with url");
        }
        if !self.tools.is_empty() && !matches!(self.on, Moment::BeforeToolCall | Moment::ToolResult) {
            return Err("tools goes with before_tool_call and tool_result");
        }
        // A misspelt one would be a call that nobody was asked about.
        if self.tools.iter().any(|tool| !TOOLS.contains(&tool.as_str())) {
            return Err("tools are message, send_message, reply, receipt, cancel and inbox");
        }
        match (&self.command, &self.url, self.builtin) {
            (Some(command), None, None) => match command.split_first() {
                Some((program, arguments)) if program.starts_with('/') => {
                    Ok(Transport::Command(program.into(), arguments.to_vec()))
                }
                _ => Err("command begins with the absolute path of a program"),
            },
            (None, Some(url), None) => Ok(Transport::Url(service(url)?, self.token.clone())),
            (None, None, Some(builtin)) if self.on == moment_of(builtin) => Ok(Transport::Builtin(builtin)),
            (None, None, Some(Builtin::Secrets)) => Err("the builtin secrets runs on message_sending"),
            (None, None, Some(Builtin::Guide)) => Err("the builtin guide runs on tool_result"),
            _ => Err("give one of command, url and builtin"),
        }
    }
}
