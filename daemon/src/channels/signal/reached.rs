//! Whom a message to a group reached: signal-cli answers with a result for each member.

use serde_json::Value;

use crate::message::recipients::{MAX_NAMED, Recipients, Unreached};

/// The longest name that is repeated, in characters.
const MAX_NAME: usize = 80;

/// What the results of a group say; nothing, where there is none of a member.
pub(super) fn recipients(results: &[Value], contacts: &[Value]) -> Option<Recipients> {
    if results.is_empty() {
        return None;
    }
    let missed = || results.iter().filter(|result| result["type"] != "SUCCESS");
    let failed = missed().take(MAX_NAMED).map(|result| Unreached {
        who: who(&result["recipientAddress"], contacts),
        why: why(result["type"].as_str().unwrap_or_default()).to_owned(),
    });
    let failed = failed.collect();
    Some(Recipients { reached: results.len() - missed().count(), of: results.len(), failed })
}

/// By the name that the account has for them, or their number.
fn who(address: &Value, contacts: &[Value]) -> String {
    let same = |contact: &&Value| {
        ["uuid", "number"].iter().any(|id| address[id].is_string() && contact[id] == address[id])
    };
    let known = contacts.iter().find(same).and_then(name_of);
    let id = || ["number", "username", "uuid"].iter().find_map(|id| address[id].as_str().map(str::to_owned));
    let who = known.or_else(id).unwrap_or_else(|| "somebody".into());
    who.replace(char::is_control, " ").chars().take(MAX_NAME).collect()
}

/// What the account calls somebody, or else what they call themselves (`JsonContact`).
pub(super) fn name_of(contact: &Value) -> Option<String> {
    let one = |of: &Value, name: &str| of[name].as_str().unwrap_or_default().trim().to_owned();
    let whole = |of: &Value| format!("{} {}", one(of, "givenName"), one(of, "familyName")).trim().to_owned();
    let names = [one(contact, "nickName"), one(contact, "name"), whole(contact), whole(&contact["profile"])];
    names.into_iter().find(|name| !name.is_empty())
}

/// `JsonSendMessageResult.Type`.
fn why(kind: &str) -> &'static str {
    match kind {
        "UNREGISTERED_FAILURE" => "not on Signal",
        "IDENTITY_FAILURE" => "has a new safety number",
        "RATE_LIMIT_FAILURE" => "rate limit",
        "INVALID_PRE_KEY_FAILURE" => "has no valid keys now",
        "NETWORK_FAILURE" => "network failure, it may or may not have arrived",
        _ => "not sent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_are_named_as_the_account_knows_them() {
        let result = |number: &str, uuid: Value, kind: &str| json!({"recipientAddress": {"number": number, "uuid": uuid}, "type": kind});
        let results = [
            result("+4915100000001", Value::Null, "SUCCESS"),
            result("+4915100000002", json!("u-2"), "UNREGISTERED_FAILURE"),
            result("+4915100000003", Value::Null, "IDENTITY_FAILURE"),
            result("+4915100000004", Value::Null, "SOMETHING_NEW"),
        ];
        let contacts = [
            json!({"number": null, "uuid": "u-2", "name": "", "profile": {"givenName": "Carol", "familyName": null}}),
            json!({"number": "+4915100000003", "uuid": null, "name": "Dave\nB."}),
        ];
        let reached = recipients(&results, &contacts).unwrap();
        assert_eq!(
            reached.to_string(),
            "1 of 4 members; not: Carol (not on Signal), Dave B. (has a new safety number), +4915100000004 (not sent)"
        );
        assert_eq!(recipients(&[], &contacts), None);
    }
}
