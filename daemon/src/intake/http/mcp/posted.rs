//! A posted message of the protocol, read before the library does.
//!
//! The library answers whatever it cannot read with 415, as if its media type were wrong. Here a body that is no JSON, or no
//! message, is 400 with an error of JSON-RPC (<https://www.jsonrpc.org/specification#error_object>); what is wrong beside the body is
//! left to the library.

use axum::{
    body::Body,
    extract::Request,
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonRpcMessage},
};
use serde_json::{Value, json};

use super::super::{Endpoint, caller, problem};
use crate::{
    intake::{mcp::invalid, tool},
    message::refusal::Refusal,
    unique_keys::{self, JsonError},
};

/// A message that is not handed to the library: the refusal, and its answer.
pub(super) type Refused = (Refusal, Box<Response>);

/// The request with its body read, if that is a message of the protocol, or if it is the library's to refuse.
pub(super) async fn read(endpoint: &Endpoint, request: Request) -> Result<Request, Refused> {
    if !is_json(&request) {
        return Ok(request);
    }
    let (head, body) = request.into_parts();
    let bytes = endpoint.bytes(body).await.map_err(|refusal| {
        let answer = Box::new(problem::response(&refusal));
        (refusal, answer)
    })?;
    match unusable(&bytes) {
        None => Ok(Request::from_parts(head, Body::from(bytes))),
        Some(Unusable { code, id, refusal }) => {
            let problem = json!({
                "jsonrpc": "2.0",
                "id": id,
                "error": {"code": code.0, "message": refusal.error, "data": tool::refused(&refusal)},
            });
            let kind = [(header::CONTENT_TYPE, "application/json")];
            let answer = (StatusCode::BAD_REQUEST, kind, problem.to_string()).into_response();
            Err((refusal, Box::new(answer)))
        }
    }
}

fn is_json(request: &Request) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// Why a body is no message that the library can take, and the id of the request that it is.
struct Unusable {
    code: ErrorCode,
    id: Value,
    refusal: Refusal,
}

fn unusable(bytes: &[u8]) -> Option<Unusable> {
    // The library takes the last value of a key that is there twice.
    if let Err(error @ JsonError::Repeated(_)) = unique_keys::check(bytes) {
        let message = serde_json::from_slice::<Value>(bytes).unwrap_or_default();
        let id = id(&message).unwrap_or_default();
        return Some(Unusable { code: ErrorCode::INVALID_REQUEST, id, refusal: caller::ambiguous(&error) });
    }
    let (code, id, error) = unread(bytes)?;
    let reason = if code == ErrorCode::PARSE_ERROR { "malformed_json" } else { "wrong_shape" };
    let refusal = Refusal::input(error, "send one message of JSON-RPC 2.0, UTF-8").because(reason);
    Some(Unusable { code, id, refusal })
}

fn id(message: &Value) -> Option<Value> {
    message.get("id").filter(|id| id.is_string() || id.is_number()).cloned()
}

fn unread(bytes: &[u8]) -> Option<(ErrorCode, Value, String)> {
    match serde_json::from_slice::<ClientJsonRpcMessage>(bytes) {
        // Without its parameters no session begins in which it could be answered.
        Ok(JsonRpcMessage::Request(request)) => match request.request {
            ClientRequest::CustomRequest(custom) if custom.method == "initialize" => {
                let error = invalid::request(&custom.method, custom.params.as_ref());
                Some((error.code, json!(request.id), error.message.into_owned()))
            }
            _ => None,
        },
        Ok(_) => None,
        Err(error) if error.is_data() => {
            let message = serde_json::from_slice::<Value>(bytes).unwrap_or_default();
            let id = id(&message);
            // The library takes a request whose params are a list for none.
            let error = match (message["jsonrpc"] == "2.0", message["method"].as_str(), &id) {
                (true, Some(method), Some(_)) => invalid::request(method, message.get("params")),
                _ => ErrorData::invalid_request("the body is no message of JSON-RPC", None),
            };
            Some((error.code, id.unwrap_or_default(), error.message.into_owned()))
        }
        Err(error) => {
            let at = format!("the body is not JSON at line {}, column {}", error.line(), error.column());
            Some((ErrorCode::PARSE_ERROR, Value::Null, at))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_a_message_or_is_told_why_it_is_none() {
        let code = |text: &str| unusable(text.as_bytes()).map(|body| (body.code.0, body.id));
        for message in [
            r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#,
            r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"arguments": []}}"#,
        ] {
            assert_eq!(code(message), None, "{message}");
        }
        for text in ["", "{", "{]", "\u{feff}{}", "nul"] {
            assert_eq!(code(text), Some((-32700, Value::Null)), "{text}");
        }
        for text in ["[]", "5", "{}", r#"{"id": 7}"#, r#"{"jsonrpc": "1.0", "id": 7, "method": "ping"}"#] {
            assert_eq!(code(text).map(|(code, _)| code), Some(-32600), "{text}");
        }
        assert_eq!(code(r#"{"id": 7}"#), Some((-32600, json!(7))));
        for (method, params) in [("initialize", "[]"), ("initialize", "{}"), ("tools/call", "[]")] {
            let text = format!(r#"{{"jsonrpc": "2.0", "id": 7, "method": "{method}", "params": {params}}}"#);
            assert_eq!(code(&text), Some((-32602, json!(7))), "{text}");
        }
        let twice = r#"{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"arguments": {"to": 1, "to": 2}}}"#;
        let body = unusable(twice.as_bytes()).unwrap();
        assert_eq!((body.code.0, body.id, body.refusal.reason), (-32600, json!(7), Some("repeated_key")));
    }
}
