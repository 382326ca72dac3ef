//! What goes together, beyond what each value must be by itself.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use super::{
    Agent, Approver, Broker, Checked, CheckedAgent, Config, ConfigError, TlsBy, Web, hooks::Transport,
    routes, wake::Way,
};
use crate::{
    approval::registry::MAX_DEVICES,
    channels::registry::kind,
    connections::descriptors::{MAX_HTTP, MIN_HTTP},
    files::Sources,
    heartbeat::{Plan, goal::Goal},
    homeassistant,
    message::{attachment_spec::MOST, call::MAX_TEXT, target::HUB},
    notify::Notify,
    router::Routing,
    settings::is_name,
};

const NAMES: &str = "names have letters, digits, `-` and `_`, at most 40 of them";

/// The shortest lease of a turn: a program has to take it, and to say so.
const MIN_LEASE: Duration = Duration::from_secs(1);

impl Config {
    /// Whether its values go together and name what is there; what was read for that.
    pub(super) fn check(&self) -> Result<Checked, ConfigError> {
        let sources = self.check_sources()?;
        self.refuse_entries()?;
        let agents = self.check_rights(sources)?;
        let book = self.book().map_err(|(name, problem)| invalid(format!("book.{name}"), problem))?;
        let hooks = self.check_hooks()?;
        self.check_channels()?;
        self.check_bounds()?;
        let speaks = self.voice.speaks().map_err(|problem| invalid("voice", problem))?;
        let private_urls =
            self.files.private().map_err(|problem| invalid("files.allow_private_urls", problem))?;
        if !(1..=MOST).contains(&self.files.max_count) {
            return Err(invalid("files.max_count", format!("at least 1, and at most {MOST}")));
        }
        self.check_broker()?;
        self.check_web()?;
        self.check_platform_listen()?;
        self.check_approval()?;
        let routing = self.check_routing()?;
        let wakes = self.check_wakes()?;
        let heartbeats = self.check_heartbeats(&agents)?;
        let notify = self.check_person()?;
        let home_assistant = self.check_home_assistant(&agents)?;
        self.updates.policy().map_err(|(name, problem)| invalid(format!("updates.{name}"), problem))?;
        Ok(Checked {
            book,
            hooks,
            wakes,
            speaks,
            private_urls,
            routing,
            heartbeats,
            notify,
            home_assistant,
            agents,
        })
    }

    /// Where each agent's files may come from.
    fn check_sources(&self) -> Result<Vec<Sources>, ConfigError> {
        let sources = |(name, agent): (&String, &Agent)| {
            let key = format!("agents.{name}");
            if !is_name(name) {
                return Err(invalid(key, NAMES));
            }
            if name == HUB {
                return Err(invalid(key, "\"hub\" is the hub's own name: give the agent another one"));
            }
            agent.sources().map_err(|problem| invalid(format!("{key}.attach_urls"), problem))
        };
        self.agents.iter().map(sources).collect()
    }

    /// Where each agent may write; with its sources, which are in the same order.
    fn check_rights(&self, sources: Vec<Sources>) -> Result<BTreeMap<String, CheckedAgent>, ConfigError> {
        let checked = |((name, agent), sources): ((&String, &Agent), Sources)| {
            let rights =
                agent.rights().map_err(|error| invalid(format!("agents.{name}"), error.to_string()))?;
            Ok((name.clone(), CheckedAgent { rights, sources }))
        };
        self.agents.iter().zip(sources).map(checked).collect()
    }

    fn check_hooks(&self) -> Result<BTreeMap<String, Transport>, ConfigError> {
        let mut hooks = BTreeMap::new();
        for (name, hook) in &self.hooks {
            let key = format!("hooks.{name}");
            if !is_name(name) {
                return Err(invalid(key, NAMES));
            }
            hooks.insert(name.clone(), hook.way().map_err(|problem| invalid(key, problem))?);
        }
        Ok(hooks)
    }

    fn check_wakes(&self) -> Result<BTreeMap<String, Way>, ConfigError> {
        let (mut wakes, mut woken) = (BTreeMap::new(), BTreeMap::new());
        for (name, wake) in &self.wake {
            let key = format!("wake.{name}");
            if !is_name(name) {
                return Err(invalid(key, NAMES));
            }
            if !self.agents.contains_key(&wake.agent) {
                return Err(invalid(format!("{key}.agent"), format!("there is no [agents.{}]", wake.agent)));
            }
            // Two would race for its turns.
            if let Some(before) = woken.insert(wake.agent.as_str(), name) {
                return Err(invalid(format!("{key}.agent"), format!("wake.{before} wakes it already")));
            }
            let way = wake.way().map_err(|(at, problem)| match at {
                "" => invalid(key.clone(), problem),
                at => invalid(format!("{key}.{at}"), problem),
            })?;
            wakes.insert(name.clone(), way);
        }
        Ok(wakes)
    }

    fn check_routing(&self) -> Result<Routing, ConfigError> {
        let names = self.routes.keys().map(|name| ("routes", name));
        let mut names = names.chain(self.people.keys().map(|name| ("people", name)));
        if let Some((section, name)) = names.find(|(_, name)| !is_name(name)) {
            return Err(invalid(format!("{section}.{name}"), NAMES));
        }
        let people = routes::people(self.people.iter()).map_err(|(key, problem)| invalid(key, problem))?;
        let is_agent = |key: String, agent: &str| match self.agents.contains_key(agent) {
            true => Ok(()),
            false => Err(invalid(key, format!("there is no [agents.{agent}]"))),
        };
        let default_agent = self.routing.default_agent.clone();
        if let Some(agent) = &default_agent {
            is_agent("routing.default_agent".into(), agent)?;
        }
        let mut read = Vec::new();
        for (name, route) in &self.routes {
            is_agent(format!("routes.{name}.agent"), &route.agent)?;
            let route = route.read(name);
            read.push(route.map_err(|(key, problem)| invalid(format!("routes.{name}.{key}"), problem))?);
        }
        let lease = self.routing.lease.0;
        if lease < MIN_LEASE {
            return Err(invalid("routing.lease", "at least 1s"));
        }
        let lease_ms = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX / 2);
        let agents = self.agents.keys().cloned().collect();
        Ok(Routing { routes: read, people, default_agent, agents, lease_ms, ..Routing::default() })
    }

    fn check_heartbeats(
        &self,
        agents: &BTreeMap<String, CheckedAgent>,
    ) -> Result<BTreeMap<String, Plan>, ConfigError> {
        let mut plans = BTreeMap::new();
        for (agent, entry) in &self.heartbeat {
            let key = format!("heartbeat.{agent}");
            let Some(rights) = agents.get(agent).map(|agent| &agent.rights) else {
                return Err(invalid(key, format!("there is no [agents.{agent}]")));
            };
            // One that is off is read as well: its mistakes are not left for the day on which it is switched on.
            let plan = entry.read().map_err(|(name, problem)| invalid(format!("{key}.{name}"), problem))?;
            // Found now, and not by three nights of refusals.
            if let Goal::Target { channel, .. } = &plan.goal
                && !rights.reach(channel)
            {
                let problem =
                    format!("agents.{agent}.allow has nothing on {channel}: nothing would be sent there");
                return Err(invalid(format!("{key}.target"), problem));
            }
            if entry.enabled {
                plans.insert(agent.clone(), plan);
            }
        }
        Ok(plans)
    }

    /// The address of the hub's page, as far as the hub can know it.
    fn page(&self) -> String {
        match (self.web.page(&self.hub.hosts), self.hub.hosts.first()) {
            (Some(page), _) => page,
            (None, Some(host)) => format!("https://{host}"),
            (None, None) => format!("http://localhost:{}", self.hub.listen.port()),
        }
    }

    /// Who is told that something waits.
    fn check_person(&self) -> Result<Option<Notify>, ConfigError> {
        self.person.read(self.page()).map_err(|(name, problem)| invalid(format!("person.{name}"), problem))
    }

    /// What Home Assistant is told, and what it may.
    fn check_home_assistant(
        &self,
        agents: &BTreeMap<String, CheckedAgent>,
    ) -> Result<Option<homeassistant::Plan>, ConfigError> {
        let rights = agents.get(homeassistant::AGENT).map(|agent| &agent.rights);
        let page = self.person.page.as_deref().map(|page| page.trim_end_matches('/').to_owned());
        let read = self.homeassistant.read(rights, page.unwrap_or_else(|| self.page()));
        read.map_err(|(name, problem)| invalid(format!("homeassistant.{name}"), problem))
    }

    fn check_channels(&self) -> Result<(), ConfigError> {
        for (channel, accounts) in &self.channels {
            if let Some(account) = accounts.keys().find(|account| !is_name(account)) {
                return Err(invalid(format!("channels.{channel}.{account}"), NAMES));
            }
            if kind(channel).is_none() {
                return Err(invalid(format!("channels.{channel}"), "there is no such channel"));
            }
        }
        Ok(())
    }

    /// Of connections, and of the queue.
    fn check_bounds(&self) -> Result<(), ConfigError> {
        if !(MIN_HTTP..=MAX_HTTP).contains(&self.hub.max_connections) {
            let problem = format!("it is {MIN_HTTP} to {MAX_HTTP}");
            return Err(invalid("hub.max_connections", problem));
        }
        if self.queue.max_messages == 0 || self.queue.max_bytes < MAX_TEXT as u64 {
            let problem =
                format!("max_messages is at least 1 and max_bytes at least {MAX_TEXT}, one long text");
            return Err(invalid("queue", problem));
        }
        Ok(())
    }

    fn check_broker(&self) -> Result<(), ConfigError> {
        self.broker.fits("url").map_err(|problem| invalid("broker", problem))?;
        self.own_broker().map_or(Ok(()), |(key, listen)| is_free(key, listen, [self.own_http()]))
    }

    /// Where the hub listens, by its key.
    fn own_http(&self) -> (&'static str, SocketAddr) {
        ("hub.listen", self.hub.listen)
    }

    /// Where its own broker does, if it has one.
    fn own_broker(&self) -> Option<(&'static str, SocketAddr)> {
        self.broker.url.is_none().then_some(("broker.listen", self.broker.listen))
    }

    fn check_web(&self) -> Result<(), ConfigError> {
        let Web { listen, tls, cert, key } = &self.web;
        match tls {
            TlsBy::Own if cert.is_some() || key.is_some() => {
                let problem =
                    "\"own\" makes a certificate, and cert and key name one: leave tls away, or cert and key";
                return Err(invalid("web.tls", problem));
            }
            TlsBy::Own if listen.is_none() => {
                return Err(invalid("web.tls", "it needs web.listen, such as \"0.0.0.0:8443\""));
            }
            TlsBy::Own if self.hub.hosts.is_empty() => {
                let problem = "the certificate is for the names in [hub] hosts, and there is none: write the hub's, such as \"gatepost.local\"";
                return Err(invalid("web.tls", problem));
            }
            TlsBy::Files if [listen.is_some(), cert.is_some()] != [key.is_some(); 2] => {
                let problem =
                    "listen, cert and key go together: give all of them or none, or listen and tls = \"own\"";
                return Err(invalid("web", problem));
            }
            _ => {}
        }
        let Some(listen) = *listen else { return Ok(()) };
        is_free("web.listen", listen, [self.own_http()].into_iter().chain(self.own_broker()))
    }

    fn check_platform_listen(&self) -> Result<(), ConfigError> {
        let Some(listen) = self.hub.platform_listen else { return Ok(()) };
        let web = self.web.listen.map(|listen| ("web.listen", listen));
        let others = [self.own_http()].into_iter().chain(web).chain(self.own_broker());
        is_free("hub.platform_listen", listen, others)
    }

    fn check_approval(&self) -> Result<(), ConfigError> {
        if !self.approval.approvers.contains(&Approver::Companion) {
            return Err(invalid(
                "approval.approvers",
                "companions always may decide: write [\"companion\"], or [\"companion\", \"web\"] for passkeys too",
            ));
        }
        if !self.approval.takes_passkeys()
            && let Some((name, _)) = self.agents.iter().find(|(_, agent)| !agent.by_web.is_empty())
        {
            let problem = "passkeys do not decide here, so nobody could: write approval.approvers = [\"companion\", \"web\"]";
            return Err(invalid(format!("agents.{name}.by_web"), problem));
        }
        if !(1..=MAX_DEVICES).contains(&(self.approval.quorum as usize)) {
            let problem = format!(
                "at least 1, and at most {MAX_DEVICES}: no more companions can be registered, so no message would ever be approved"
            );
            return Err(invalid("approval.quorum", problem));
        }
        Ok(())
    }
}

impl Broker {
    /// Whether the keys of a broker that somebody runs go together. `url`: what the one with its address is called.
    pub(super) fn fits(&self, url: &str) -> Result<(), String> {
        if self.user.is_some() != self.password.is_some() {
            return Err("user and password go together: give both or none".into());
        }
        if self.cert.is_some() != self.key.is_some() {
            return Err("cert and key go together: give both or none".into());
        }
        let secured = self.ca.is_some() || self.cert.is_some();
        if secured && !self.url.as_ref().is_some_and(|url| url.starts_with("mqtts://")) {
            return Err(format!(
                "ca, cert and key are for a broker of yours that is reached by TLS: write {url} = \"mqtts://host:port\""
            ));
        }
        Ok(())
    }
}

/// Whether two addresses cannot be listened at by one machine at once. The system gives port 0 another number each time.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let same_ip = one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && one.port() != 0 && same_ip
}

/// Refuses an address at which something else listens already.
fn is_free(
    key: &str,
    listen: SocketAddr,
    others: impl IntoIterator<Item = (&'static str, SocketAddr)>,
) -> Result<(), ConfigError> {
    match others.into_iter().find(|(_, other)| overlap(*other, listen)) {
        Some((taken, other)) => {
            Err(invalid(key, format!("{taken} is {other} already: give one of them another port")))
        }
        None => Ok(()),
    }
}

fn invalid(key: impl Into<String>, problem: impl Into<String>) -> ConfigError {
    ConfigError::Invalid { at: String::new(), key: key.into(), problem: problem.into() }
}
