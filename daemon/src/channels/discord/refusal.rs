//! What Discord says when it says no: a code and words
//! (<https://docs.discord.com/developers/topics/opcodes-and-status-codes#json>), and the members of the request that it is
//! about. Words from outside: whoever passes them on bounds them.

use serde_json::Value;

/// The most members that are named of those that a refusal is about.
const MAX_NAMED: usize = 4;

/// Discord's words: the code, what it says, and which members it is about.
pub(super) fn said(body: &Value) -> String {
    let Some(message) = body["message"].as_str() else { return String::new() };
    let mut said = match body["code"].as_u64() {
        Some(code) if code > 0 => format!("{code}: {message}"),
        _ => message.to_owned(),
    };
    let mut named = vec![];
    members(&body["errors"], "", &mut named);
    named.iter().for_each(|member| said.push_str(&format!("; {member}")));
    said
}

/// <https://docs.discord.com/developers/reference#error-messages>.
fn members(errors: &Value, path: &str, named: &mut Vec<String>) {
    let Some(object) = errors.as_object() else { return };
    for (name, inner) in object {
        if named.len() >= MAX_NAMED {
            return;
        }
        if name == "_errors" {
            let first = inner[0]["message"].as_str().unwrap_or_default();
            named.push(if path.is_empty() { first.to_owned() } else { format!("{path}: {first}") });
        } else {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            members(inner, &path, named);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_names_its_code_its_words_and_a_few_members() {
        assert_eq!(said(&json!({"message": "Unknown Channel", "code": 10003})), "10003: Unknown Channel");
        assert_eq!(said(&json!({"message": "401: Unauthorized", "code": 0})), "401: Unauthorized");
        assert_eq!(said(&json!({"message": 5})), "");
        assert_eq!(said(&Value::Null), "");
        let wrong = |why: &str| json!({"_errors": [{"code": "X", "message": why}]});
        let errors = json!({"content": wrong("Too long"), "embeds": {"0": {"title": wrong("Needed")}}});
        assert_eq!(
            said(&json!({"message": "Invalid Form Body", "code": 50035, "errors": errors})),
            "50035: Invalid Form Body; content: Too long; embeds.0.title: Needed"
        );
        let many: serde_json::Map<_, _> = (0..100).map(|n| (n.to_string(), wrong("No"))).collect();
        let said = said(&json!({"message": "No", "code": 1, "errors": many}));
        assert_eq!(said.matches(": No").count(), 1 + MAX_NAMED, "{said}");
    }
}
