//! What an operator and an agent see of heartbeats: when each is due, where its text goes, and why none would come now.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Plan, state};
use crate::{clock::Time, pipeline::Pipeline, store::StoreError};

/// An agent's heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Heartbeat {
    /// The agent.
    pub agent: String,
    /// Seconds between two of them.
    pub every_s: u64,
    /// When it is due next (RFC 3339).
    #[schema(value_type = String)]
    pub next_at: Time,
    /// When it last woke the agent (RFC 3339).
    #[schema(value_type = Option<String>)]
    pub last_at: Option<Time>,
    /// How often it woke the agent on the day of `last_at`, in its time zone.
    pub today: u32,
    /// How many in a row failed: the third stops it.
    pub failures: u32,
    /// Since when it is stopped (RFC 3339).
    #[schema(value_type = Option<String>)]
    pub stopped_at: Option<Time>,
    /// Where its text goes, as a target; null if nowhere.
    pub target: Option<String>,
    /// Where the hub has the target from, or why there is none.
    pub source: &'static str,
    /// Why the agent would not be woken if it were due now; null if it would.
    pub not_now: Option<String>,
}

impl Pipeline {
    /// The heartbeats that are configured, by their agents: of one agent, or all.
    ///
    /// # Errors
    /// The database.
    pub async fn list_heartbeats(&self, of: Option<&str>) -> Result<Vec<Heartbeat>, StoreError> {
        let mut listed = vec![];
        for (agent, plan) in self.0.heartbeats.agents() {
            if of.is_none_or(|of| of == agent) {
                listed.push(self.heartbeat(agent, plan).await?);
            }
        }
        Ok(listed)
    }

    async fn heartbeat(&self, agent: &str, plan: &Plan) -> Result<Heartbeat, StoreError> {
        let next_at = self.heartbeat_due(agent, plan).await?;
        let state = self.outbox().store().look(|db| state::get(db, agent))?.unwrap_or_default();
        let recipients = self.heartbeat_recipients(agent, plan)?;
        let look = self.look_at_heartbeat(agent, plan, &state, self.0.heartbeats.now()).await?;
        let not_now = match look.why {
            Some(why) => Some(why),
            None => self.not_ready(agent, &recipients).await?,
        };
        Ok(Heartbeat {
            agent: agent.to_owned(),
            every_s: plan.every.as_secs(),
            next_at: Time(next_at),
            last_at: state.last_at.map(Time),
            today: state.today,
            failures: state.failures,
            stopped_at: state.stopped_at.map(Time),
            target: recipients.recipients.first().map(ToString::to_string),
            source: recipients.source,
            not_now: not_now.map(|why| why.to_string()),
        })
    }
}
