//! `[wake.NAME]`: how an agent is brought its turns that does not ask for them.

use std::{path::PathBuf, time::Duration};

use reqwest::Url;
use serde::Deserialize;

use super::{Span, hooks::service};
use crate::settings::secret::SecretSource;

/// The longest time that a turn may take.
const MAX_TIMEOUT: Duration = Duration::from_hours(1);
/// The most turns of one agent at once.
const MAX_AT_ONCE: usize = 16;
/// The most lines of a session that a model is given.
const MAX_HISTORY: u32 = 500;
/// The most tokens that a model may write in a turn.
const MAX_TOKENS: u32 = 200_000;
/// The longest instructions, in bytes.
const MAX_PROMPT_BYTES: usize = 32 * 1024;

/// `[wake.NAME]`.
#[derive(Debug, Clone, Deserialize)]
pub struct Wake {
    /// The agent.
    pub agent: String,
    /// A program and its arguments.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// What the program reads.
    #[serde(default)]
    pub input: Option<Input>,
    /// An HTTP service.
    #[serde(default)]
    pub url: Option<String>,
    /// What requests to it are signed with.
    #[serde(default)]
    pub secret: Option<SecretSource>,
    /// An endpoint that speaks as OpenAI's does.
    #[serde(default)]
    pub openai: Option<String>,
    /// The token that it wants.
    #[serde(default)]
    pub token: Option<SecretSource>,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    /// What the model is told to begin with.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Tokens that it may write in a turn.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// Lines of the session that it is given.
    #[serde(default)]
    pub history: Option<u32>,
    /// How long a turn may take.
    #[serde(default = "five_minutes")]
    pub timeout: Span,
    /// Turns at once.
    #[serde(default = "two")]
    pub at_once: usize,
}

/// What a program reads on its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// The turn, as `GET /v1/turns` answers it.
    #[default]
    Json,
    /// What was said, and nothing else.
    Text,
}

/// How an agent is brought its turns: one way of three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// A program is run.
    Command {
        /// The program.
        path: PathBuf,
        /// Its arguments.
        arguments: Vec<String>,
        /// What it reads.
        input: Input,
    },
    /// An HTTP service is called.
    Url {
        /// Its address.
        url: Url,
        /// What requests are signed with.
        secret: SecretSource,
    },
    /// A model is asked.
    OpenAi(Model),
}

/// A model behind an endpoint that speaks as OpenAI's does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The address before `/chat/completions`.
    pub base: Url,
    /// The token, if it wants one.
    pub token: Option<SecretSource>,
    /// Its name.
    pub model: String,
    /// What it is told to begin with, if not the hub's own words.
    pub prompt: Option<String>,
    /// Tokens that it may write in a turn.
    pub max_tokens: u32,
    /// Lines of the session that it is given.
    pub history: u32,
}

const fn five_minutes() -> Span {
    Span(Duration::from_mins(5))
}

const fn two() -> usize {
    2
}

impl Wake {
    /// How the agent is brought its turns.
    ///
    /// # Errors
    /// The key that is wrong, and what is wrong with it; no key where keys do not go together.
    pub(super) fn way(&self) -> Result<Way, (&'static str, String)> {
        if self.timeout.0 > MAX_TIMEOUT {
            return Err(("timeout", "at most 1h".into()));
        }
        if !(1..=MAX_AT_ONCE).contains(&self.at_once) {
            return Err(("at_once", format!("at least 1, and at most {MAX_AT_ONCE}")));
        }
        self.refuse_strays()?;
        match (&self.command, &self.url, &self.openai) {
            (Some(command), None, None) => self.program(command),
            (None, Some(url), None) => {
                let url = service(url).map_err(|problem| ("url", problem.into()))?;
                let secret = self.secret.clone().ok_or_else(|| {
                    ("secret", "requests are signed: write secret = \"file:secrets/wake\"".into())
                })?;
                Ok(Way::Url { url, secret })
            }
            (None, None, Some(base)) => self.asked_model(base),
            _ => Err(("", "give one of command, url and openai".into())),
        }
    }

    /// A key of another way would do nothing.
    fn refuse_strays(&self) -> Result<(), (&'static str, String)> {
        let strays = [
            ("input", self.input.is_some(), "command", self.command.is_some()),
            ("secret", self.secret.is_some(), "url", self.url.is_some()),
            ("token", self.token.is_some(), "openai", self.openai.is_some()),
            ("model", self.model.is_some(), "openai", self.openai.is_some()),
            ("prompt", self.prompt.is_some(), "openai", self.openai.is_some()),
            ("max_tokens", self.max_tokens.is_some(), "openai", self.openai.is_some()),
            ("history", self.history.is_some(), "openai", self.openai.is_some()),
        ];
        match strays.into_iter().find(|(_, given, _, is_way)| *given && !is_way) {
            Some((key, _, way, _)) => Err((key, format!("it goes with {way}"))),
            None => Ok(()),
        }
    }

    fn program(&self, command: &[String]) -> Result<Way, (&'static str, String)> {
        match command.split_first() {
            Some((program, arguments)) if program.starts_with('/') => Ok(Way::Command {
                path: program.into(),
                arguments: arguments.to_vec(),
                input: self.input.unwrap_or_default(),
            }),
            _ => Err(("command", "it begins with the absolute path of a program".into())),
        }
    }

    fn asked_model(&self, base: &str) -> Result<Way, (&'static str, String)> {
        let base = service(base).ok().filter(|url| url.query().is_none() && url.fragment().is_none());
        let base = base.ok_or_else(|| {
            let problem = "write the https address before /chat/completions, such as \"https://api.openai.com/v1\"; plain \
                           http only on this machine";
            ("openai", problem.to_owned())
        })?;
        let model = self.model.clone().filter(|model| !model.trim().is_empty());
        let model = model.ok_or_else(|| ("model", "name the model: model = \"…\"".to_owned()))?;
        let max_tokens = self.max_tokens.unwrap_or(4096);
        if !(1..=MAX_TOKENS).contains(&max_tokens) {
            return Err(("max_tokens", format!("at least 1, and at most {MAX_TOKENS}")));
        }
        let history = self.history.unwrap_or(30);
        if history > MAX_HISTORY {
            return Err(("history", format!("at most {MAX_HISTORY} lines")));
        }
        if self.prompt.as_ref().is_some_and(|prompt| prompt.len() > MAX_PROMPT_BYTES) {
            return Err(("prompt", format!("at most {MAX_PROMPT_BYTES} bytes")));
        }
        let (token, prompt) = (self.token.clone(), self.prompt.clone());
        Ok(Way::OpenAi(Model { base, token, model, prompt, max_tokens, history }))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    fn read(keys: &str) -> Result<Way, String> {
        let text = format!("[agents.a]\n[wake.a]\nagent = \"a\"\n{keys}\n");
        let config = Config::parse(&text, Path::new("f")).map_err(|error| error.to_string())?;
        Ok(config.checked().wakes["a"].clone())
    }

    #[test]
    fn four_lines_are_a_whole_agent() {
        let way = read("command = [\"/bin/cat\", \"-\"]\ninput = \"text\"").unwrap();
        let arguments = vec!["-".to_owned()];
        assert_eq!(way, Way::Command { path: "/bin/cat".into(), arguments, input: Input::Text });
    }

    #[test]
    fn what_is_called_a_default_holds_without_being_written() {
        let openai = "openai = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"";
        for (base, name) in
            [("command = [\"/bin/cat\"]", "input"), (openai, "max_tokens"), (openai, "history")]
        {
            let key = crate::config::keys::WAKE.iter().find(|key| key.name == name).unwrap();
            assert!(key.is_default);
            assert_eq!(read(&format!("{base}\n{name} = {}", key.value)), read(base), "{name}");
        }
    }

    #[test]
    fn there_is_one_way_and_its_keys_go_with_it() {
        let (command, url) = ("command = [\"/bin/cat\"]", "url = \"https://a.example\"\nsecret = \"file:s\"");
        let openai = "openai = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"";
        for good in [command, url, openai] {
            read(good).unwrap();
        }
        for (bad, why) in [
            (String::new(), "give one of"),
            (format!("{command}\n{url}"), "give one of"),
            ("command = [\"cat\"]".into(), "absolute path"),
            ("command = []".into(), "absolute path"),
            ("url = \"https://a.example\"".into(), "signed"),
            ("url = \"http://a.example\"\nsecret = \"file:s\"".into(), "in plain"),
            ("openai = \"http://a.example/v1\"\nmodel = \"m\"".into(), "plain http only"),
            ("openai = \"https://a.example/v1?k=1\"\nmodel = \"m\"".into(), "before /chat/completions"),
            ("openai = \"https://a.example/v1\"".into(), "name the model"),
            (format!("{command}\nmodel = \"m\""), "goes with openai"),
            (format!("{openai}\ninput = \"text\""), "goes with command"),
            (format!("{command}\nat_once = 0"), "at least 1"),
            (format!("{command}\ntimeout = \"2h\""), "at most 1h"),
            (format!("{openai}\nmax_tokens = 0"), "at least 1"),
            (format!("{openai}\nhistory = 501"), "at most 500"),
        ] {
            let error = read(&bad).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn an_agent_is_there_and_is_woken_in_one_way() {
        let wake = |name: &str, agent: &str| {
            format!("[wake.{name}]\nagent = \"{agent}\"\ncommand = [\"/bin/cat\"]\n")
        };
        let error = Config::parse(&wake("a", "b"), Path::new("f")).unwrap_err().to_string();
        assert!(error.contains("there is no [agents.b]"), "{error}");
        let twice = format!("[agents.b]\n{}{}", wake("a", "b"), wake("c", "b"));
        let error = Config::parse(&twice, Path::new("f")).unwrap_err().to_string();
        assert!(error.contains("wake.a wakes it already"), "{error}");
    }
}
