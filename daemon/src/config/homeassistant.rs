//! `[homeassistant]`: the broker at which the hub is a device of Home Assistant's, and where its notifications go.

use std::path::PathBuf;

use serde::Deserialize;

use super::Broker;
use crate::{
    channels::registry::NAMES,
    homeassistant::{AGENT, Plan},
    message::target::Destination,
    policy::Rights,
    settings::secret::SecretSource,
};

/// Targets of a notification, at most: each is a message more.
const MOST_TARGETS: usize = 5;
/// The longest prefix, in bytes.
const MAX_PREFIX_BYTES: usize = 64;
/// What Home Assistant listens to if nobody says otherwise (home-assistant.io/integrations/mqtt, "Discovery topic").
const PREFIX: &str = "homeassistant";

/// `[homeassistant]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HomeAssistant {
    /// Home Assistant's broker, `mqtts://host:port` or `mqtt://host:port`.
    pub broker: Option<String>,
    /// The hub's user there.
    pub user: Option<String>,
    /// The hub's password there.
    pub password: Option<SecretSource>,
    /// The authorities that sign for that broker, PEM.
    pub ca: Option<PathBuf>,
    /// The hub's certificate there, PEM.
    pub cert: Option<PathBuf>,
    /// That certificate's key, PEM: a path, or as any other secret.
    #[serde(deserialize_with = "SecretSource::or_path")]
    pub key: Option<SecretSource>,
    /// What Home Assistant's discovery topics begin with.
    pub prefix: String,
    /// Where its notifications go.
    pub notify_to: Vec<String>,
    /// Whether Home Assistant may ask for updates.
    pub install: bool,
}

impl Default for HomeAssistant {
    fn default() -> Self {
        Self {
            broker: None,
            user: None,
            password: None,
            ca: None,
            cert: None,
            key: None,
            prefix: PREFIX.into(),
            notify_to: vec![],
            install: false,
        }
    }
}

impl HomeAssistant {
    /// The broker, as that of companions is written.
    pub fn as_broker(&self) -> Broker {
        let Self { broker, user, password, ca, cert, key, .. } = self.clone();
        Broker { url: broker, user, password, ca, cert, key, ..Broker::default() }
    }

    /// What Home Assistant is told, and what it may; nothing without a broker. `rights`: those of the agent of notifications, if there
    /// is one. `page`: the address of the hub's page.
    ///
    /// # Errors
    /// The key that is wrong, and what is wrong with it.
    pub(super) fn read(
        &self,
        rights: Option<&Rights>,
        page: String,
    ) -> Result<Option<Plan>, (&'static str, String)> {
        if self.broker.is_none() {
            return match *self == Self::default() {
                true => Ok(None),
                false => Err((
                    "broker",
                    "say where Home Assistant's broker is: broker = \"mqtt://host:port\"".into(),
                )),
            };
        }
        self.as_broker().fits("broker").map_err(|problem| ("broker", problem))?;
        let is_prefix = (1..=MAX_PREFIX_BYTES).contains(&self.prefix.len())
            && self.prefix.bytes().all(|byte| byte.is_ascii_graphic() && !b"+#".contains(&byte))
            && self.prefix.split('/').all(|level| !level.is_empty());
        if !is_prefix {
            let problem = format!(
                "{:?} is no prefix of topics: write what Home Assistant's MQTT integration has, usually \"{PREFIX}\"",
                self.prefix
            );
            return Err(("prefix", problem));
        }
        let notify_to = self.targets(rights).map_err(|problem| ("notify_to", problem))?;
        Ok(Some(Plan { prefix: self.prefix.clone(), notify_to, install: self.install, page }))
    }

    fn targets(&self, rights: Option<&Rights>) -> Result<Vec<Destination>, String> {
        if self.notify_to.len() > MOST_TARGETS {
            return Err(format!("at most {MOST_TARGETS} targets"));
        }
        let mut targets = Vec::new();
        for target in &self.notify_to {
            let Ok(address @ Destination::Address { channel: Some(_), .. }) =
                Destination::parse(target, &NAMES)
            else {
                return Err(format!("{target:?} is no target: write \"ntfy:gate\" or \"telegram:123456\""));
            };
            targets.push(address);
        }
        for target in &targets {
            let Destination::Address { channel: Some(channel), .. } = target else { continue };
            if !rights.is_some_and(|rights| rights.reach(channel)) {
                return Err(format!(
                    "it is the agent {AGENT} that writes there, and it may not: write the section [agents.{AGENT}] with the line \
                     hold = [\"{target}\"], so that a person approves each, or allow = [\"{target}\"]"
                ));
            }
        }
        Ok(targets)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::Config;

    fn read(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("f")).map_err(|error| error.to_string())
    }

    #[test]
    fn without_the_section_there_is_nothing_and_a_broker_alone_is_enough() {
        assert!(read("").unwrap().checked().home_assistant.is_none());
        let config = read("[homeassistant]\nbroker = \"mqtt://ha.home\"").unwrap();
        let plan = config.checked().home_assistant.clone().unwrap();
        assert_eq!((plan.prefix.as_str(), plan.install, plan.notify_to.len()), ("homeassistant", false, 0));
        assert_eq!(plan.page, "http://localhost:8787");
    }

    #[test]
    fn where_notifications_go_without_the_agent_that_writes_them_the_lines_to_write_are_said() {
        let section = "[homeassistant]\nbroker = \"mqtt://ha.home\"\nnotify_to = [\"local:ann\"]\n";
        let error = read(section).unwrap_err();
        assert!(
            error.starts_with("f:3: homeassistant.notify_to: ")
                && error.contains("[agents.homeassistant]")
                && error.contains("hold = [\"local:ann\"]"),
            "{error}"
        );
        let other = format!("{section}[agents.homeassistant]\nallow = [\"email:*\"]");
        assert!(read(&other).unwrap_err().contains("[agents.homeassistant]"));
        let both = format!("{section}[agents.homeassistant]\nhold = [\"local:ann\"]");
        assert_eq!(read(&both).unwrap().checked().home_assistant.as_ref().unwrap().notify_to.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_named_by_its_key() {
        for (lines, key) in [
            ("install = true", "broker"),
            ("broker = \"mqtt://h\"\nuser = \"a\"", "broker"),
            ("broker = \"mqtt://h\"\nca = \"ca.pem\"", "broker"),
            ("broker = \"mqtt://h\"\nprefix = \"a/#\"", "prefix"),
            ("broker = \"mqtt://h\"\nprefix = \"\"", "prefix"),
            ("broker = \"mqtt://h\"\nprefix = \"/a\"", "prefix"),
            ("broker = \"mqtt://h\"\nnotify_to = [\"ann\"]", "notify_to"),
        ] {
            let error = read(&format!("[homeassistant]\n{lines}")).unwrap_err();
            assert!(error.contains(&format!("homeassistant.{key}: ")), "{lines}: {error}");
        }
    }
}
