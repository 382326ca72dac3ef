//! Parameters that do not fit their method.
//!
//! The library takes a request whose parameters it cannot read for one of a method that it does not know. Who wrote a tool's
//! arguments as a list was told that there is no `tools/call`; here the answer is -32602, and says what is wanted.

use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, ErrorCode, InitializeRequestParams, PaginatedRequestParams,
        ReadResourceRequestParams, SubscribeRequestParams, SubscriptionsListenRequestParams,
        UnsubscribeRequestParams,
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The most of a parser's words that is repeated, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// What is answered to a request that the library could not read: there is no such method, or its parameters do not fit.
pub fn request(method: &str, params: Option<&Value>) -> ErrorData {
    match problem(method, params) {
        Some(problem) => ErrorData::invalid_params(problem, None),
        None => ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            method.chars().take(MAX_SHOWN_CHARS).collect::<String>(),
            None,
        ),
    }
}

/// What is wrong with the parameters; nothing, if there is no such method here.
fn problem(method: &str, params: Option<&Value>) -> Option<String> {
    let none = Value::Object(Map::new());
    let params = params.unwrap_or(&none);
    let why = match method {
        "tools/call" => call(params).or_else(|| unread::<CallToolRequestParams>(params)),
        "tools/list" | "resources/list" | "resources/templates/list" => {
            unread::<PaginatedRequestParams>(params)
        }
        "resources/read" => unread::<ReadResourceRequestParams>(params),
        "resources/subscribe" => unread::<SubscribeRequestParams>(params),
        "resources/unsubscribe" => unread::<UnsubscribeRequestParams>(params),
        "subscriptions/listen" => unread::<SubscriptionsListenRequestParams>(params),
        "initialize" => unread::<InitializeRequestParams>(params),
        "ping" | "server/discover" => None,
        _ => return None,
    };
    let why = why.unwrap_or_else(|| "they do not fit the method".to_owned());
    Some(format!("the params of {method} cannot be used: {why}"))
}

/// What is wrong with the call of a tool, in the words of who writes one.
fn call(params: &Value) -> Option<String> {
    let wanted = match (params.get("name"), params.get("arguments")) {
        _ if !params.is_object() => return None,
        (None, _) => "name is missing: the name of a tool, a string",
        (Some(name), _) if !name.is_string() => "name must be the name of a tool, a string",
        (_, Some(arguments)) if !arguments.is_object() => {
            "arguments must be an object, such as {\"to\": \"local:team\", \"message\": \"Hello\"}"
        }
        _ => return None,
    };
    Some(wanted.to_owned())
}

fn unread<T: DeserializeOwned>(params: &Value) -> Option<String> {
    if !params.is_object() {
        return Some("an object is wanted".to_owned());
    }
    let error = serde_json::from_value::<T>(params.clone()).err()?;
    Some(error.to_string().chars().take(MAX_SHOWN_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_that_do_not_fit_are_told_from_a_method_that_there_is_not() {
        for (method, params, says) in [
            ("tools/call", json!({"name": "message", "arguments": []}), "arguments must be an object"),
            ("tools/call", json!({"name": "message", "arguments": "x"}), "arguments must be an object"),
            ("tools/call", json!({"arguments": {}}), "name is missing"),
            ("tools/call", json!({"name": 5}), "name must be"),
            ("tools/call", json!([]), "an object is wanted"),
            ("tools/list", json!({"cursor": 5}), "expected a string"),
            ("resources/read", json!({}), "missing field `uri`"),
            ("resources/subscribe", json!({"uri": 5}), "expected a string"),
            ("resources/unsubscribe", json!({}), "missing field `uri`"),
            ("initialize", json!({}), "missing field"),
            ("ping", json!([]), "do not fit"),
        ] {
            let error = request(method, Some(&params));
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{method} {params}");
            assert!(error.message.contains(says), "{method} {params}: {}", error.message);
        }
        for method in ["prompts/get", "tools/cal", ""] {
            assert_eq!(request(method, None).code, ErrorCode::METHOD_NOT_FOUND, "{method}");
        }
    }
}
