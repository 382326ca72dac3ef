//! What goes together, beyond what each value must be by itself.

use std::{collections::BTreeMap, net::SocketAddr};

use super::{Checked, CheckedAgent, Config, ConfigError};
use crate::{
    approval::registry::MAX_DEVICES,
    channels::registry::kind,
    connections::descriptors::{MAX_HTTP, MIN_HTTP},
    message::{attachment_spec::MOST, call::MAX_TEXT},
    settings::is_name,
};

impl Config {
    /// Whether its values go together and name what is there; what was read for that.
    pub(super) fn check(&self) -> Result<Checked, ConfigError> {
        let mut agents = BTreeMap::new();
        for (name, agent) in &self.agents {
            let key = format!("agents.{name}");
            if !is_name(name) {
                return Err(invalid(key, "names have letters, digits, `-` and `_`, at most 40 of them"));
            }
            let sources =
                agent.sources().map_err(|problem| invalid(format!("{key}.attach_urls"), problem))?;
            agents.insert(name.clone(), sources);
        }
        self.refuse_entries()?;
        let agents = agents.into_iter().zip(self.agents.values()).map(|((name, sources), agent)| {
            let rights =
                agent.rights().map_err(|error| invalid(format!("agents.{name}"), error.to_string()))?;
            Ok((name, CheckedAgent { rights, sources }))
        });
        let agents = agents.collect::<Result<_, ConfigError>>()?;
        let book = self.book().map_err(|(name, problem)| invalid(format!("book.{name}"), problem))?;
        let mut hooks = BTreeMap::new();
        for (name, hook) in &self.hooks {
            let key = format!("hooks.{name}");
            if !is_name(name) {
                return Err(invalid(key, "names have letters, digits, `-` and `_`, at most 40 of them"));
            }
            hooks.insert(name.clone(), hook.way().map_err(|problem| invalid(key, problem))?);
        }
        for (channel, accounts) in &self.channels {
            if let Some(account) = accounts.keys().find(|account| !is_name(account)) {
                let problem = "names have letters, digits, `-` and `_`, at most 40 of them";
                return Err(invalid(format!("channels.{channel}.{account}"), problem));
            }
            if kind(channel).is_none() {
                return Err(invalid(format!("channels.{channel}"), "there is no such channel"));
            }
        }
        if !(MIN_HTTP..=MAX_HTTP).contains(&self.hub.max_connections) {
            let problem = format!("it is {MIN_HTTP} to {MAX_HTTP}");
            return Err(invalid("hub.max_connections", problem));
        }
        if self.queue.max_messages == 0 || self.queue.max_bytes < MAX_TEXT as u64 {
            let problem =
                format!("max_messages is at least 1 and max_bytes at least {MAX_TEXT}, one long text");
            return Err(invalid("queue", problem));
        }
        let speaks = self.voice.speaks().map_err(|problem| invalid("voice", problem))?;
        let private_urls =
            self.files.private().map_err(|problem| invalid("files.allow_private_urls", problem))?;
        if !(1..=MOST).contains(&self.files.max_count) {
            return Err(invalid("files.max_count", format!("at least 1, and at most {MOST}")));
        }
        if self.broker.user.is_some() != self.broker.password.is_some() {
            return Err(invalid("broker", "user and password go together: give both or none"));
        }
        if self.broker.cert.is_some() != self.broker.key.is_some() {
            return Err(invalid("broker", "cert and key go together: give both or none"));
        }
        if self.broker.url.is_none() && overlap(self.hub.listen, self.broker.listen) {
            let problem = format!("hub.listen is {} already: give one of them another port", self.hub.listen);
            return Err(invalid("broker.listen", problem));
        }
        let secured = self.broker.ca.is_some() || self.broker.cert.is_some();
        if secured && !self.broker.url.as_ref().is_some_and(|url| url.starts_with("mqtts://")) {
            let problem = "ca, cert and key are for a broker of yours that is reached by TLS: write url = \"mqtts://host:port\"";
            return Err(invalid("broker", problem));
        }
        if self.approval.approvers.is_empty() {
            return Err(invalid(
                "approval.approvers",
                "somebody must be able to decide: write [\"companion\"]",
            ));
        }
        if !(1..=MAX_DEVICES).contains(&(self.approval.quorum as usize)) {
            let problem = format!(
                "at least 1, and at most {MAX_DEVICES}: no more companions can be registered, so no message would ever be approved"
            );
            return Err(invalid("approval.quorum", problem));
        }
        Ok(Checked { book, hooks, speaks, private_urls, agents })
    }
}

/// Whether two addresses cannot be listened at by one machine at once. The system gives port 0 another number each time.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let same_ip = one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && one.port() != 0 && same_ip
}

fn invalid(key: impl Into<String>, problem: impl Into<String>) -> ConfigError {
    ConfigError::Invalid { at: String::new(), key: key.into(), problem: problem.into() }
}
