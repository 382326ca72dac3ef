//! What is to be written: the configuration with everything in it, read as a hub would read it before a byte is written.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    edit::{self, quoted},
    platform::Platform,
    writing::{self, SecretPlace},
};
use crate::{
    cli::Failed,
    config::{Config, template},
    policy::{CrossContext, Pattern},
    settings::secret::Secret,
    store::owner,
};

/// The agent of the first configuration.
const AGENT: &str = "engineer";
/// The person at the shell, who is no agent.
const SHELL: &str = "shell";

/// The configuration as it stands, or the one that a first hub gets.
pub(super) struct Standing {
    pub(super) path: PathBuf,
    /// What is in the file, if there is one.
    before: Option<String>,
    pub(super) config: Config,
}

impl Standing {
    /// Reads it.
    pub(super) fn read(path: &Path) -> Result<Self, Failed> {
        let path = path.to_owned();
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let config = Config::read(&first(&path, AGENT), &path).map_err(Failed::refused)?;
                Ok(Self { path, before: None, config })
            }
            _ => {
                let config = Config::load(&path).map_err(Failed::refused)?;
                Ok(Self { before: Some(config.text().to_owned()), path, config })
            }
        }
    }

    pub(super) const fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// What was in the file.
    pub(super) fn before(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// The settings of an account that it has.
    pub(super) fn account(&self, channel: &str, account: &str) -> Option<&toml::Table> {
        self.config.channels.get(channel)?.get(account)
    }

    pub(super) fn has(&self, channel: &str, account: &str) -> bool {
        self.account(channel, account).is_some()
    }

    /// The agent that is meant if nobody says.
    pub(super) fn usual_agent(&self) -> String {
        let mut names = self.config.agents.keys().filter(|name| *name != SHELL);
        match (names.next(), names.next()) {
            (Some(only), None) => only.clone(),
            _ => AGENT.into(),
        }
    }

    /// Why a terminal cannot be made a companion here, without the hub.
    pub(super) fn cannot_introduce(&self, runs: bool) -> Option<&'static str> {
        if runs {
            Some("the hub runs: start gatepost companion run, and pair it with gatepost companion pair")
        } else if self.config.broker.url.is_some() {
            Some("the companions of this hub meet it at another broker, which gives them their passwords")
        } else if writing::is_services(&self.path) || owner::is_anothers(&self.config.hub.data_dir) {
            Some(
                "this hub is another user's: start gatepost companion run as yourself, and pair it with gatepost companion pair",
            )
        } else {
            None
        }
    }
}

/// The first configuration at this place, with an agent of this name.
fn first(path: &Path, agent: &str) -> String {
    let text = template::SHORT.replace(AGENT, agent);
    if writing::is_services(path) { template::of_service(&text) } else { text }
}

/// A line of a configuration with what a person typed, who writes no TOML.
pub(super) fn text_line(key: &str, value: &str) -> String {
    format!("{key} = {}", quoted(value))
}

/// A line of a configuration. A value that is TOML stays as it is, such as `true` or `["a"]`; any other is a text.
pub(super) fn line(key: &str, value: &str) -> String {
    let as_it_is = format!("{key} = {value}");
    match toml::from_str::<toml::Table>(&as_it_is) {
        Ok(table) if table.len() == 1 => as_it_is,
        _ => text_line(key, value),
    }
}

/// What becomes of a message that the agent writes there of its own accord.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approval {
    /// A person approves it first.
    Needed,
    /// It goes.
    Spared,
    /// It is refused: the agent may only answer.
    Futile,
}

/// All of it.
pub(super) struct Plan {
    pub(super) standing: Standing,
    pub(super) platform: &'static Platform,
    pub(super) account: String,
    /// As whom the platform knows it.
    pub(super) me: String,
    pub(super) address: String,
    pub(super) agent: String,
    /// Whether a terminal is made a companion.
    pub(super) companion: bool,
    /// Keys of a new account.
    pub(super) lines: Vec<String>,
    pub(super) secret: Option<Secret>,
    /// Where the secret is going to be.
    pub(super) place: Option<SecretPlace>,
    /// The new text.
    pub(super) text: String,
}

impl Plan {
    pub(super) fn new(standing: Standing, platform: &'static Platform, account: &str) -> Self {
        Self {
            standing,
            platform,
            account: account.to_owned(),
            me: String::new(),
            address: String::new(),
            agent: String::new(),
            companion: false,
            lines: vec![],
            secret: None,
            place: None,
            text: String::new(),
        }
    }

    /// Where the agent may write.
    pub(super) fn target(&self) -> String {
        format!("{}:{}", self.platform.name, self.address)
    }

    /// Whether the platform has another account: a message must say then which one is meant, or its agent's section.
    pub(super) fn has_siblings(&self) -> bool {
        let accounts = self.standing.config.channels.get(self.platform.name);
        accounts.is_some_and(|accounts| accounts.keys().any(|name| *name != self.account))
    }

    /// What the rules of the agent, as they are going to be, make of its messages there.
    pub(super) fn approval(&self) -> Approval {
        let Some(agent) = self.standing.config.agents.get(&self.agent) else { return Approval::Needed };
        // As policy has it: what is under `hold` is held, whatever crossing does.
        match agent.cross_context {
            CrossContext::Hold => Approval::Needed,
            _ if self.is_in(&agent.hold) => Approval::Needed,
            CrossContext::Allow => Approval::Spared,
            CrossContext::Deny => Approval::Futile,
        }
    }

    /// Whether the chat is among the entries of a list.
    fn is_in(&self, entries: &[String]) -> bool {
        let (target, everywhere) = (self.target(), format!("{}:*", self.platform.name));
        entries.iter().any(|entry| *entry == target || *entry == everywhere || entry == "*")
    }

    /// Agents that may write on the platform and are bound to none of its accounts.
    pub(super) fn unbound(&self) -> Vec<&str> {
        let platform = self.platform.name;
        let writes = |entry: &String| Pattern::parse(entry).is_ok_and(|entry| entry.is_on(platform));
        let agents = self.standing.config.agents.iter().filter(|(_, agent)| {
            !agent.accounts.contains_key(platform) && agent.allow.iter().chain(&agent.hold).any(writes)
        });
        agents.map(|(name, _)| name.as_str()).collect()
    }

    /// Makes the text, and checks it.
    ///
    /// # Errors
    /// It would not be a configuration, or not have in it what it should.
    pub(super) fn compose(&mut self) -> Result<(), Failed> {
        let (path, target) = (&self.standing.path, self.target());
        let mut text = match self.standing.before() {
            Some(before) => before.to_owned(),
            None => first(path, &self.agent),
        };
        let config = match self.standing.before() {
            Some(_) => self.standing.config.clone(),
            None => Config::read(&text, path).map_err(Failed::refused)?,
        };
        if !self.standing.has(self.platform.name, &self.account) {
            let mut lines = vec![];
            if let (Some(key), Some(_)) = (self.platform.secret, &self.secret) {
                let place = writing::place(path, self.platform.name, &self.account);
                lines.push(format!("{key} = {}", quoted(&place.pointer)));
                self.place = Some(place);
            }
            lines.extend(self.lines.iter().cloned());
            text = edit::with_section(
                &text,
                &format!("channels.{}.{}", self.platform.name, self.account),
                &lines,
            );
        }
        match config.agents.get(&self.agent) {
            None => {
                let mut lines = vec![format!("allow = [{}]", quoted(&target))];
                if self.has_siblings() {
                    lines.push(format!(
                        "accounts = {{ {} = {} }}",
                        self.platform.name,
                        quoted(&self.account)
                    ));
                }
                text = edit::with_section(&text, &format!("agents.{}", self.agent), &lines);
            }
            Some(agent) => {
                if !self.is_in(&agent.allow) && !self.is_in(&agent.hold) {
                    text = edit::with_entry(&text, &["agents", &self.agent], "allow", &target)
                        .map_err(Failed::refused)?;
                }
            }
        }
        if self.companion && !config.approval.allow_software_companion {
            text =
                edit::with_true(&text, &["approval"], "allow_software_companion").map_err(Failed::refused)?;
        }
        let made = Config::read(&text, path).map_err(|error| {
            Failed::Refused(format!("what would be written is no configuration: {error}"))
        })?;
        let has_account =
            made.channels.get(self.platform.name).is_some_and(|all| all.contains_key(&self.account));
        let has_agent = made.agents.contains_key(&self.agent);
        if !has_account || !has_agent || (self.companion && !made.approval.allow_software_companion) {
            return Err(Failed::Refused(format!(
                "{} cannot be added to: write [channels.{}.{}] and [agents.{}] into it yourself",
                path.display(),
                self.platform.name,
                self.account,
                self.agent
            )));
        }
        self.text = text;
        self.standing.config = made;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(before: Option<&str>, platform: &str, account: &str) -> (tempfile::TempDir, Plan) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gatepost.toml");
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
        let standing = Standing::read(&path).unwrap();
        let mut plan = Plan::new(standing, Platform::named(platform).unwrap(), account);
        plan.address = "777".into();
        plan.agent = "engineer".into();
        plan.secret = Some(Secret::from("1:a"));
        (folder, plan)
    }

    #[test]
    fn the_first_one_has_the_account_the_agent_and_the_companion() {
        let (_folder, mut plan) = plan(None, "telegram", "home");
        (plan.agent, plan.companion) = ("gardener".into(), true);
        plan.compose().unwrap();
        let config = &plan.standing.config;
        assert_eq!(config.agents["gardener"].allow, ["local:*", "telegram:777"]);
        assert!(!config.agents.contains_key("engineer") && config.approval.allow_software_companion);
        assert!(
            plan.text.ends_with("[channels.telegram.home]\ntoken = \"file:secrets/telegram\"\n"),
            "{}",
            plan.text
        );
        assert!(!plan.text.contains("1:a"));
    }

    #[test]
    fn the_same_again_changes_nothing_and_another_agent_is_added() {
        let (_folder, mut first) = plan(None, "telegram", "home");
        first.compose().unwrap();
        let (_folder, mut again) = plan(Some(&first.text), "telegram", "home");
        again.secret = None;
        again.compose().unwrap();
        assert_eq!(again.text, first.text);
        (again.agent, again.address) = ("cook".into(), "778".into());
        again.compose().unwrap();
        assert!(again.text.starts_with(first.text.trim_end()));
        assert_eq!(again.standing.config.agents["cook"].allow, ["telegram:778"]);
    }

    #[test]
    fn a_second_account_stands_beside_the_first() {
        let (_folder, mut first) = plan(None, "telegram", "home");
        first.compose().unwrap();
        let (_folder, mut second) = plan(Some(&first.text), "telegram", "work");
        second.compose().unwrap();
        assert!(second.text.contains("file:secrets/telegram-work") && second.has_siblings());
        assert_eq!(second.standing.config.channels["telegram"].len(), 2);
        let (_folder, mut bound) = plan(Some(&first.text), "telegram", "work");
        bound.agent = "cook".into();
        bound.compose().unwrap();
        assert_eq!(bound.standing.config.agents["cook"].accounts["telegram"], "work");
    }

    #[test]
    fn whether_a_person_approves_is_what_the_agents_rules_say() {
        for (rules, approval) in [
            ("", Approval::Needed),
            ("cross_context = \"hold\"", Approval::Needed),
            ("cross_context = \"allow\"", Approval::Spared),
            ("cross_context = \"allow\"\nhold = [\"telegram:778\"]", Approval::Spared),
            ("cross_context = \"allow\"\nhold = [\"telegram:777\"]", Approval::Needed),
            ("cross_context = \"allow\"\nhold = [\"telegram:*\"]", Approval::Needed),
            ("cross_context = \"deny\"\nhold = [\"*\"]", Approval::Needed),
            ("cross_context = \"deny\"", Approval::Futile),
        ] {
            let before = format!("[agents.engineer]\n{rules}\n");
            let (_folder, mut plan) = plan(Some(&before), "telegram", "home");
            plan.compose().unwrap();
            assert_eq!(plan.approval(), approval, "{rules}");
        }
    }

    #[test]
    fn agents_that_a_second_account_leaves_between_two_are_known() {
        let before = "[agents.a]\nallow = [\"telegram:1\"]\n[agents.b]\nhold = [\"*\"]\n[agents.c]\nallow = [\"local:*\"]\n\
                      [agents.d]\nallow = [\"telegram:1\"]\naccounts = { telegram = \"home\" }\n\
                      [channels.telegram.home]\ntoken = \"file:t\"\n";
        let (_folder, mut plan) = plan(Some(before), "telegram", "work");
        plan.compose().unwrap();
        assert_eq!(plan.unbound(), ["a", "b"]);
    }

    #[test]
    fn a_file_that_cannot_be_added_to_is_left_with_what_to_write() {
        let (_folder, mut plan) = plan(Some("agents = { engineer = {} }\n"), "telegram", "home");
        let error = plan.compose().unwrap_err().to_string();
        assert!(error.contains("allow = [\"telegram:777\"]"), "{error}");
    }

    #[test]
    fn values_are_toml_where_they_can_be() {
        for (value, wanted) in [
            ("true", "k = true"),
            ("25", "k = 25"),
            ("[\"a\"]", "k = [\"a\"]"),
            ("https://a.test", "k = \"https://a.test\""),
            ("1\n[hub]", "k = \"1\\n[hub]\""),
            ("1\nx = 2", "k = \"1\\nx = 2\""),
        ] {
            assert_eq!(line("k", value), wanted);
        }
    }
}
