//! How the accounts hear that receive, by the word of the hub that runs with this configuration.
//!
//! A check opens accounts of its own, to ask their platforms. Nobody tells those anything, and what they say of their hearing
//! ("none came since ...") was taken for the hub's. So what is said of it is the running hub's word, or that there is none.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::Value;

use crate::{
    channels::receiver::Hearing,
    cli::output::text,
    client::{Client, ClientError, Place, Request},
    printing::print_note,
};

/// What is said where no hub runs.
const NO_HUB: &str = "hears once the hub runs";
/// What is said of an account that the running hub does not have.
const NOT_THERE: &str = "the running hub does not hear for it: gatepost reload";

/// How each account of the running hub hears.
pub(super) struct Heard(Option<BTreeMap<(String, String), Hearing>>);

impl Heard {
    /// Asks the hub that runs with this configuration, if one does.
    pub(super) async fn of_running(place: &Place) -> Self {
        let asked = async { Client::at(place)?.call(Method::GET, "/v1/channels", Request::default()).await };
        match asked.await {
            Ok(answer) => {
                print_note!("how accounts hear, the running hub says");
                Self(Some(read(&answer)))
            }
            Err(ClientError::Nobody(_) | ClientError::NobodyConfigured(_) | ClientError::Token(_)) => {
                Self(None)
            }
            Err(error) => {
                print_note!("warning: how accounts hear cannot be asked of the running hub: {error}");
                Self(None)
            }
        }
    }

    /// How the running hub's account hears; nothing if none runs that has it.
    pub(super) fn of(&self, channel: &str, account: &str) -> Option<&Hearing> {
        self.0.as_ref()?.get(&(channel.to_owned(), account.to_owned()))
    }

    /// What the check's own account said, with the running hub's word on how it hears in the place of its `own`.
    pub(super) fn instead(&self, said: String, own: &Hearing, (channel, account): (&str, &str)) -> String {
        let who = said.strip_suffix(&own.standing).map(|who| who.trim_end_matches("; ").to_owned());
        let who = who.unwrap_or(said);
        let hears = match (&self.0, self.of(channel, account)) {
            (None, _) => NO_HUB,
            (Some(_), None) => NOT_THERE,
            (Some(_), Some(hearing)) => &hearing.standing,
        };
        match who.is_empty() {
            true => hears.to_owned(),
            false => format!("{who}; {hears}"),
        }
    }
}

fn read(answer: &Value) -> BTreeMap<(String, String), Hearing> {
    let channels = answer["channels"].as_array().into_iter().flatten();
    let read = |one: &Value| {
        let hearing = one.get("hearing")?;
        let (ready, standing) = (hearing["ready"] == true, text(hearing, "standing").to_owned());
        Some((
            (text(one, "channel").to_owned(), text(one, "account").to_owned()),
            Hearing { ready, standing },
        ))
    };
    channels.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_account_of_the_checks_own_heard_is_never_said() {
        let own = Hearing { ready: true, standing: "receives, none came since the hub began".into() };
        let said = || format!("bot; {}", own.standing);
        let home = ("whatsapp", "home");
        assert_eq!(Heard(None).instead(said(), &own, home), "bot; hears once the hub runs");
        assert_eq!(Heard(None).instead(own.standing.clone(), &own, home), NO_HUB);
        let hub = json!({"channels": [
            {"channel": "whatsapp", "account": "home", "hearing": {"ready": false, "standing": "nothing is received"}},
            {"channel": "local", "account": "home"},
        ]});
        let heard = Heard(Some(read(&hub)));
        assert_eq!(heard.instead(said(), &own, home), "bot; nothing is received");
        assert!(!heard.of("whatsapp", "home").unwrap().ready && heard.of("local", "home").is_none());
        assert!(heard.instead(said(), &own, ("whatsapp", "new")).ends_with("gatepost reload"));
        // What was tried is no word on the past, and stays.
        assert_eq!(heard.instead("bot; tried".into(), &own, home), "bot; tried; nothing is received");
    }
}
