//! Who a token belongs to, and what it may do: for programs that check it before they begin, and as the first thing that a
//! model is told over MCP. A token that is not the one that its user meant is noticed here, before anything is sent.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    agents::{Caller, Role},
    pipeline::Pipeline,
    policy::CrossContext,
};

/// Targets that are named, at most; a longer list is counted.
const MAX_TARGETS: usize = 20;

/// Who calls, and what the configuration lets it do.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Whoami {
    /// Always true.
    pub ok: bool,
    /// The token's name.
    pub name: String,
    /// The token's role.
    pub role: Role,
    /// The agent as which its messages are judged; none for a role that sends nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether the configuration has a section for this agent. One without may write nowhere.
    pub configured: bool,
    /// The targets that it may write to.
    pub allow: Vec<String>,
    /// The targets that it may write to after a person approved.
    pub hold: Vec<String>,
    /// The same in a sentence or two.
    pub summary: String,
}

impl Whoami {
    /// What the configuration says of a caller.
    pub(super) fn of(pipeline: &Pipeline, caller: &Caller) -> Self {
        let agent = matches!(caller.role, Role::Agent | Role::Operator).then(|| caller.agent().to_owned());
        let rights = agent.as_deref().and_then(|agent| pipeline.rights(agent));
        let entries = |list: Option<&crate::policy::Allowlist>| -> Vec<String> {
            list.map(|list| list.iter().map(ToString::to_string).collect()).unwrap_or_default()
        };
        let (allow, hold) =
            (entries(rights.map(|rights| &rights.allow)), entries(rights.map(|rights| &rights.hold)));
        let summary = match &agent {
            Some(agent) => {
                let cross_context = rights.map(|rights| rights.cross_context);
                format!("{} {}", title(caller, agent), may_write(&allow, &hold, cross_context))
            }
            None => format!("This token has the role {}: it sends no messages.", caller.role.word()),
        };
        Self {
            ok: true,
            name: caller.name.clone(),
            role: caller.role,
            agent,
            configured: rights.is_some(),
            allow,
            hold,
            summary,
        }
    }
}

fn title(caller: &Caller, agent: &str) -> String {
    match caller.role {
        Role::Operator => {
            format!("You act as the operator {:?}: your messages are those of {agent:?}.", caller.name)
        }
        _ => format!("You are the agent {agent:?}."),
    }
}

fn may_write(allow: &[String], hold: &[String], cross_context: Option<CrossContext>) -> String {
    if allow.is_empty() && hold.is_empty() {
        return "You may not write to anybody: the operator has to allow targets first.".into();
    }
    let mut said = format!("You may write to: {}.", listed(allow.iter().chain(hold)));
    match cross_context.unwrap_or_default() {
        CrossContext::Hold => said
            .push_str(" A message that leaves the conversation of its turn waits for a person's approval."),
        CrossContext::Deny => said.push_str(" You may write only in the conversation of your turn."),
        CrossContext::Allow if hold.is_empty() => {}
        CrossContext::Allow => {
            said.push_str(&format!(" A person is asked about messages to: {}.", listed(hold.iter())))
        }
    }
    said
}

fn listed<'a>(entries: impl Iterator<Item = &'a String> + Clone) -> String {
    let all = entries.clone().count();
    let named: Vec<&str> = entries.take(MAX_TARGETS).map(String::as_str).collect();
    match all.saturating_sub(named.len()) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_summary_says_what_waits_for_a_person() {
        let (team, mail) = (texts(&["local:team"]), texts(&["email:*"]));
        assert_eq!(
            may_write(&team, &[], Some(CrossContext::Hold)),
            "You may write to: local:team. A message that leaves the conversation of its turn waits for a person's approval."
        );
        assert_eq!(may_write(&team, &[], Some(CrossContext::Allow)), "You may write to: local:team.");
        assert_eq!(
            may_write(&team, &mail, Some(CrossContext::Allow)),
            "You may write to: local:team, email:*. A person is asked about messages to: email:*."
        );
        assert!(may_write(&[], &[], None).starts_with("You may not write to anybody"));
    }

    #[test]
    fn a_long_list_is_counted() {
        let many: Vec<String> = (0..25).map(|number| format!("local:{number}")).collect();
        assert!(listed(many.iter()).ends_with("local:19 and 5 more"));
    }
}
