//! `[voice]`: who speaks, for voice messages.

use std::{path::PathBuf, time::Duration};

use reqwest::Url;
use serde::Deserialize;

use super::{Span, hooks::service};
use crate::{message::call::MAX_TEXT, settings::secret::SecretSource, voice::Bounds};

/// The longest that speaking may take: callers wait for it.
const MAX_TIMEOUT: Duration = Duration::from_mins(5);

/// `[voice]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Voice {
    /// Whether anything is spoken.
    pub enabled: bool,
    /// A program and its arguments.
    pub command: Option<Vec<String>>,
    /// A service.
    pub url: Option<String>,
    /// The token that it wants.
    pub token: Option<SecretSource>,
    /// Which of its models speaks.
    pub model: Option<String>,
    /// With whose voice.
    pub voice: Option<String>,
    /// How long speaking a text may take.
    pub timeout: Span,
    /// The longest text, in characters.
    pub max_text: usize,
}

/// Who speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speaks {
    /// Nobody.
    Nobody,
    /// The usual programs, where they are there, with this voice.
    Usual(Option<String>),
    /// A program and its arguments.
    Command(PathBuf, Vec<String>),
    /// A service, its token, model and voice.
    Url(Url, Option<SecretSource>, String, String),
}

impl Default for Speaks {
    fn default() -> Self {
        Self::Usual(None)
    }
}

impl Default for Voice {
    fn default() -> Self {
        let Bounds { max_text, timeout } = Bounds::default();
        Self {
            enabled: true,
            command: None,
            url: None,
            token: None,
            model: None,
            voice: None,
            timeout: Span(timeout),
            max_text,
        }
    }
}

impl Voice {
    /// How much is spoken.
    pub fn bounds(&self) -> Bounds {
        Bounds { max_text: self.max_text, timeout: self.timeout.0 }
    }

    /// Who speaks, or what is wrong with it.
    pub fn speaks(&self) -> Result<Speaks, &'static str> {
        if self.timeout.0 > MAX_TIMEOUT {
            return Err("timeout is at most 5m");
        }
        if !(1..=MAX_TEXT).contains(&self.max_text) {
            return Err("max_text is at least 1, and at most 102400");
        }
        if self.url.is_none() && (self.token.is_some() || self.model.is_some()) {
            return Err("token and model go with url");
        }
        let voice = self.voice.as_deref();
        let speaks = match (&self.command, &self.url) {
            (None, None) => Speaks::Usual(voice.map(str::to_owned)),
            (Some(_), None) if voice.is_some() => {
                return Err("voice does not go with command: give it as an argument");
            }
            (Some(command), None) => match command.split_first() {
                Some((program, arguments)) if program.starts_with('/') => {
                    Speaks::Command(program.into(), arguments.to_vec())
                }
                _ => return Err("command begins with the absolute path of a program"),
            },
            (None, Some(url)) => {
                let url = service(url)?;
                if url.query().is_some() || url.fragment().is_some() {
                    return Err("url is what stands before /audio/speech, and nothing else");
                }
                let model = self.model.as_deref().unwrap_or("tts-1");
                Speaks::Url(url, self.token.clone(), model.to_owned(), voice.unwrap_or("alloy").to_owned())
            }
            (Some(_), Some(_)) => return Err("give one of command and url"),
        };
        Ok(if self.enabled { speaks } else { Speaks::Nobody })
    }
}
