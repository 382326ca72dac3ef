//! Home Assistant: the hub and its companions as devices there, by the broker of its MQTT integration.
//!
//! What is said there is for everybody in the house who may read that broker: numbers, agents, channels and ids, and never the text or the
//! address of a message. What comes from there is a stranger's: a notification is a message of the agent [`AGENT`], judged and held like
//! any other, and nothing approves or denies. That an update is asked for is taken only where the configuration says so, and then only for
//! what is signed and newer.
//!
//! - [`topics`]: where things are said;
//! - [`discovery`]: what Home Assistant is told that there is: pure;
//! - [`state`]: how it stands with that, and what happens;
//! - [`commands`]: what it asks for;
//! - [`serving`]: what is said and heard on one connection;
//! - [`runner`]: the connections, for as long as the hub runs.
//!
//! What it leaves out: birth and state of other hubs, MQTT 5 (the broker translates for Home Assistant, which wants that), and what was
//! said while the broker was away: states are right again at once, and events are gone.

mod commands;
mod discovery;
pub mod runner;
mod serving;
mod state;
mod topics;

use crate::{companion::broker::Address, config, message::target::Destination};

/// The agent whose messages notifications are.
pub const AGENT: &str = "homeassistant";

/// What Home Assistant is told, and what it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What its discovery topics begin with.
    pub prefix: String,
    /// Where notifications go.
    pub notify_to: Vec<Destination>,
    /// Whether it may ask for updates.
    pub install: bool,
    /// The address of the hub's page, without a slash at its end.
    pub page: String,
}

/// The same, and where its broker is.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What, and what it may.
    pub plan: Plan,
    /// What the configuration says.
    pub section: config::homeassistant::HomeAssistant,
    /// Its broker.
    pub address: Address,
}

impl Settings {
    /// Whether a connection that was made with the others can go on.
    fn is_like(&self, others: &Self) -> bool {
        let password =
            |of: &Self| of.address.login.as_ref().map(|(_, password)| password.expose().to_owned());
        self.plan == others.plan && self.section == others.section && password(self) == password(others)
    }
}
