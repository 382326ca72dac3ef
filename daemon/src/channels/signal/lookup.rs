//! Whose account a number or a user name is: asked of signal-cli.
//!
//! What it knows from earlier conversations is read first (`listContacts`), for that asks nobody else; only for a stranger does
//! it ask Signal's servers (`getUserStatus`), which count such questions.
//!
//! <https://github.com/AsamK/signal-cli/blob/master/man/signal-cli.1.adoc>, `listContacts` and `getUserStatus`; the members of
//! what they answer are those of `JsonContact` and of `GetUserStatusCommand`'s `JsonUserStatus`.

use serde_json::{Value, json};

use super::{client::Client, target::canonical};
use crate::channels::{
    Failure, RateHints,
    identity::{Identity, Unidentified},
    kit::{http::Silence, json::taken},
    limits::Scope,
};

impl Client {
    /// The UUID of the account behind a number or a user name.
    pub(super) async fn account_of(&self, address: &str) -> Result<Identity, Unidentified> {
        let hints = &mut RateHints::default();
        // One that was started for another account knows that one's contacts.
        self.serves_all(hints).await?;
        let params = json!({ "account": self.account(), "recipient": [address], "allRecipients": true });
        // Not knowing it is no answer; neither is an older signal-cli's refusal to say.
        if let Ok(known) = self.tell("listContacts", &params, hints).await
            && let Some(identity) = of(&known, address)
        {
            return Ok(identity);
        }
        let by = if address.starts_with('+') { "recipient" } else { "username" };
        let name = address.strip_prefix("u:").unwrap_or(address);
        let params = json!({ "account": self.account(), by: [name] });
        let known = self.tell("getUserStatus", &params, hints).await?;
        of(&known, address)
            .ok_or_else(|| Unidentified::not_known(format!("Signal does not say whose account {address} is")))
    }

    pub(super) async fn tell(
        &self,
        method: &str,
        params: &Value,
        hints: &mut RateHints,
    ) -> Result<Value, Failure> {
        let request = json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params });
        let mut answer = self.ask(request, None, hints).await.map_err(Silence::harmless)?;
        if !answer.status.is_success() {
            let said = format!("{}; check url", answer.status);
            return Err(self.http().classify(&answer, &said, Scope::Account, hints).harmless());
        }
        match answer.body["error"].is_null() {
            true => Ok(taken(&mut answer.body, "result")),
            false => Err(self.classify(&answer.body["error"], method, hints).harmless()),
        }
    }
}

/// The one account among those that signal-cli tells of which has this number or user name.
fn of(list: &Value, address: &str) -> Option<Identity> {
    let name = address.strip_prefix("u:");
    let is_it = |one: &&Value| {
        let has = |member: &str, what: &str| {
            one[member].as_str().is_some_and(|said| said.eq_ignore_ascii_case(what))
        };
        match name {
            Some(name) => has("username", name) || has("recipient", name) || has("recipient", address),
            None => has("number", address) || has("recipient", address),
        }
    };
    let mut accounts =
        list.as_array()?.iter().filter(is_it).filter_map(|one| canonical(one["uuid"].as_str()?).ok());
    let account = accounts.next()?;
    accounts.all(|other| other == account).then(|| Identity::new(account))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "aaaaaaaa-0000-4000-8000-00000000000b";

    #[test]
    fn an_account_is_known_by_its_number_and_by_its_user_name_and_not_by_anothers() {
        let list = json!([
            {"number": "+4915112345670", "uuid": "bbbbbbbb-0000-4000-8000-00000000000b", "username": null},
            {"number": "+4915112345679", "uuid": UUID, "username": "anna.01"},
        ]);
        for address in ["+4915112345679", "u:anna.01", "u:ANNA.01"] {
            assert_eq!(of(&list, address), Some(Identity::new(UUID)), "{address}");
        }
        for address in ["+4915112345671", "u:bob.01"] {
            assert_eq!(of(&list, address), None, "{address}");
        }
        let twice = json!([
            {"number": "+4915112345679", "uuid": UUID},
            {"number": "+4915112345679", "uuid": "bbbbbbbb-0000-4000-8000-00000000000b"},
        ]);
        assert_eq!(of(&twice, "+4915112345679"), None, "nobody knows which");
        assert_eq!(of(&json!([{"number": "+4915112345679", "uuid": null}]), "+4915112345679"), None);
    }
}
