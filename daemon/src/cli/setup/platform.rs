//! The platforms that can be set up here, and an account that is being set up: checked at its platform before anything is written.
//!
//! An account is opened by its channel's own code, from a configuration of its own in a temporary folder that goes with the program.

use std::{path::Path, sync::Arc};

use crate::{
    channels::{
        self, Adapter,
        registry::{Kind, kind},
    },
    cli::{Failed, check::ScratchStore, markdown},
    config::Config,
    hub::open_accounts,
    printing::visible_line,
    settings::secret::Secret,
    store::private_file,
};

/// A platform that can be set up by a few answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Platform {
    pub(super) name: &'static str,
    /// Keys that a person has to know, beside the secret.
    pub(super) asks: &'static [&'static str],
    /// The key of the secret.
    pub(super) secret: Option<&'static str>,
    /// Whether it goes without the secret, too.
    pub(super) is_open: bool,
    /// Whether the chat can be found by a message that somebody writes there.
    pub(super) hears: bool,
    /// What has to be done before the account is in a chat, if anything.
    pub(super) joins: &'static str,
}

const fn bot(name: &'static str, hears: bool) -> Platform {
    Platform { name, asks: &[], secret: Some("token"), is_open: false, hears, joins: "" }
}

/// All of them, the most usual first.
pub(super) const PLATFORMS: [Platform; 7] = [
    bot("telegram", true),
    Platform { joins: "The bot has to be on your server: see the last step.", ..bot("discord", true) },
    Platform {
        joins: "In a channel the bot has to be invited first: /invite @gatepost",
        ..bot("slack", false)
    },
    Platform {
        asks: &["homeserver"],
        joins: "Invite the account to a room without encryption, and accept that once as the account.",
        ..bot("matrix", true)
    },
    Platform { asks: &["host", "from", "user"], secret: Some("password"), ..bot("email", false) },
    Platform { asks: &["url"], is_open: true, ..bot("ntfy", false) },
    Platform { secret: None, is_open: true, ..bot("local", false) },
];

impl Platform {
    /// The platform of this name.
    pub(super) fn named(name: &str) -> Result<&'static Self, Failed> {
        let name = name.to_ascii_lowercase();
        let known = || PLATFORMS.map(|platform| platform.name).join(", ");
        PLATFORMS.iter().find(|platform| platform.name == name).ok_or_else(|| match kind(&name) {
            Some(_) => Failed::Usage(format!(
                "setup does not know {name}; its steps are in: gatepost channels setup {name} (setup knows {})",
                known()
            )),
            None => Failed::Usage(format!(
                "there is no platform {:?}; setup knows {}",
                visible_line(&name),
                known()
            )),
        })
    }

    /// Its channel.
    pub(super) fn kind(&self) -> &'static Kind {
        kind(self.name).expect("each platform here is a channel, which a test holds")
    }

    /// The steps of its guide up to the one in which the secret is to be had, as a person reads them; nothing if they are not so simple.
    pub(super) fn steps_to_secret(&self) -> String {
        let steps = steps(self.kind().setup);
        let is_it = |step: &String| ["token", "secret"].iter().any(|word| step.to_lowercase().contains(word));
        let last = steps.iter().position(is_it).map_or(0, |last| last + 1);
        let mut text = markdown::for_terminal(&steps[..last].concat());
        // They point to a block of code, which is not among them.
        let points = |step: &String| step.trim_end().ends_with(':') || step.contains("below");
        if steps[..last].iter().any(points) {
            text.push_str(&format!("\nWhat is to be pasted there: gatepost channels setup {}", self.name));
        }
        text
    }

    /// The file that an account's secret is in, as the configuration says it.
    pub(super) fn secret_file<'a>(&self, account: &'a toml::Table) -> Option<&'a str> {
        account.get(self.secret?)?.as_str()?.strip_prefix("file:")
    }

    /// What a key of it is, in the words of its documentation; and its example.
    pub(super) fn key(&self, name: &str) -> (&'static str, String) {
        let key = self.kind().keys.iter().find(|key| key.name == name);
        key.map_or(("", String::new()), |key| (key.doc, key.value.trim_matches('"').to_owned()))
    }
}

/// The numbered steps in the first section of a guide, without blocks of code between them.
fn steps(guide: &str) -> Vec<String> {
    let section = guide.split("\n## ").nth(1).unwrap_or_default();
    let mut steps: Vec<String> = vec![];
    let (mut in_step, mut in_block) = (false, false);
    // Its heading is numbered too.
    for line in section.lines().skip(1) {
        in_block ^= line.starts_with("```");
        let begins = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
        in_step = !in_block && (begins || in_step && line.starts_with("   "));
        match steps.last_mut() {
            _ if begins && in_step => steps.push(format!("{line}\n")),
            Some(step) if in_step => step.push_str(&format!("{line}\n")),
            _ => {}
        }
    }
    steps
}

/// An account that is being set up, or one of the configuration.
pub(super) struct Candidate {
    pub(super) platform: &'static Platform,
    /// Its name in the configuration.
    pub(super) account: String,
    /// Its keys; the secret is in a file of the temporary folder, if it is new.
    table: toml::Table,
    scratch: ScratchStore,
}

impl Candidate {
    /// A new one with these keys, as lines of a configuration. Opens nothing yet.
    pub(super) fn new(
        platform: &'static Platform,
        account: &str,
        lines: &[String],
        secret: Option<&Secret>,
    ) -> Result<Self, Failed> {
        let table = toml::from_str(&lines.join("\n")).map_err(|error: toml::de::Error| {
            Failed::Usage(format!("the keys of the account: {}", error.message()))
        })?;
        let mut candidate = Self::of(platform, account, table)?;
        if let (Some(secret), Some(key)) = (secret, platform.secret) {
            let file = candidate.folder().join("secret");
            let text = format!("{}\n", secret.expose());
            private_file::write(&file, text.as_bytes()).map_err(Failed::refused)?;
            candidate.table.insert(key.into(), format!("file:{}", file.display()).into());
        }
        Ok(candidate)
    }

    /// One with these settings.
    pub(super) fn of(platform: &'static Platform, account: &str, table: toml::Table) -> Result<Self, Failed> {
        let scratch = ScratchStore::open().map_err(Failed::refused)?;
        Ok(Self { platform, account: account.to_owned(), table, scratch })
    }

    /// A folder that goes with the program.
    pub(super) fn folder(&self) -> &Path {
        self.scratch.directory()
    }

    /// A configuration with this account alone; `text` is what else it has.
    pub(super) fn config(&self, text: &str) -> Result<Config, Failed> {
        let mut config = Config::parse(text, Path::new("setup")).map_err(Failed::refused)?;
        let accounts = config.channels.entry(self.platform.name.into()).or_default();
        accounts.insert(self.account.clone(), self.table.clone());
        Ok(config)
    }

    /// Whether its settings have the hub read what people write to it.
    pub(super) fn receives(&self) -> bool {
        self.table.get("receive").and_then(toml::Value::as_bool) == Some(true)
    }

    /// The account, open.
    pub(super) fn open(&self, receives: bool) -> Result<Arc<dyn Adapter>, Failed> {
        let mut config = self.config("")?;
        if receives && let Some(table) = config.channels.get_mut(self.platform.name) {
            table.values_mut().for_each(|table| _ = table.insert("receive".into(), true.into()));
        }
        let accounts = open_accounts(&config, self.scratch.store()).map_err(Failed::refused)?;
        let picked = accounts.pick(self.platform.name, Some(&self.account)).map_err(Failed::refused)?;
        Ok(Arc::clone(picked.1))
    }

    /// As whom the platform knows the account.
    pub(super) async fn check(&self) -> Result<String, Failed> {
        channels::ready(self.open(false)?.as_ref()).await.map_err(Failed::refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_platform_is_a_channel_with_the_keys_that_are_asked_for() {
        for platform in &PLATFORMS {
            let keys = platform.kind().keys;
            let there = |name: &str| keys.iter().any(|key| key.name == name);
            assert!(platform.asks.iter().all(|name| there(name)), "{}", platform.name);
            assert!(!platform.hears || there("receive"), "{}", platform.name);
            if let Some(secret) = platform.secret {
                let key = keys.iter().find(|key| key.name == secret);
                assert!(key.is_some_and(crate::settings::Key::holds_secret), "{}", platform.name);
            }
        }
    }

    #[test]
    fn a_person_is_told_where_the_token_is_to_be_had() {
        for (name, words, lines) in [
            ("telegram", "@BotFather", 2),
            ("discord", "Reset Token", 2),
            ("slack", "pasted there: gatepost channels setup slack", 5),
            ("matrix", "pasted there: gatepost channels setup matrix", 6),
            ("ntfy", "Create access token", 9),
            ("email", "", 0),
        ] {
            let steps = Platform::named(name).unwrap().steps_to_secret();
            assert!(steps.contains(words) && steps.lines().count() <= lines, "{steps}");
            assert!(!steps.contains("```") && !steps.contains("**"), "{steps}");
        }
    }

    #[test]
    fn a_platform_that_is_none_or_takes_more_is_refused_with_the_way() {
        let refused = |name: &str| Platform::named(name).unwrap_err().to_string();
        assert!(refused("whatsapp").contains("gatepost channels setup whatsapp"));
        assert!(refused("pigeon\u{1b}").contains("telegram, discord"));
        assert_eq!(Platform::named("Telegram").unwrap().name, "telegram");
    }
}
