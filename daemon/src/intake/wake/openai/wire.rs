//! Requests and answers of `POST /chat/completions`, as far as the hub uses them
//! (<https://platform.openai.com/docs/api-reference/chat>).

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Bytes of a token, where an endpoint does not count: few, so that the count is rather too high.
const BYTES_OF_TOKEN: usize = 3;

/// A request.
#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    pub model: &'a str,
    pub messages: &'a [Message],
    /// Some endpoints refuse a list that is empty.
    #[serde(skip_serializing_if = "<[Value]>::is_empty")]
    pub tools: &'a [Value],
    /// `none` if the model shall call nothing. It is offered the tools all the same: what is behind some endpoints refuses a
    /// conversation that has calls and no tools (<https://github.com/langchain-ai/langchainjs/issues/5385>).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<&'static str>,
    /// The name that every endpoint knows; OpenAI's own newest models want `max_completion_tokens` and say so.
    pub max_tokens: u32,
    pub stream: bool,
}

/// Whose words a message has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    /// The hub's.
    System,
    /// People's, quoted.
    User,
    /// The model's.
    Assistant,
    /// A tool's.
    Tool,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Message {
    pub role: Role,
    pub content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl Message {
    /// One that only says something.
    pub(super) fn of(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: Some(content.into()), tool_calls: vec![], tool_call_id: None }
    }

    /// What a tool answered to the call of this id.
    pub(super) fn result(id: String, content: String) -> Self {
        Self { tool_call_id: Some(id), ..Self::of(Role::Tool, content) }
    }
}

/// A tool that the model calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ToolCall {
    #[serde(default)]
    pub id: String,
    /// Always `function`.
    #[serde(rename = "type", default = "function")]
    pub kind: String,
    pub function: Function,
}

fn function() -> String {
    "function".into()
}

impl ToolCall {
    /// Gives it an id if the endpoint gave none: results are told apart by it. `place` is another one for each call of a turn.
    pub(super) fn identify(&mut self, place: usize) {
        if self.id.is_empty() {
            self.id = format!("call_{place}");
        }
    }

    /// Makes its arguments what an endpoint takes back. Models write what is no JSON, and some endpoints refuse a whole conversation
    /// that has it; what was wrong stands in the result.
    pub(super) fn make_sendable(&mut self) {
        let arguments = &mut self.function.arguments;
        if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
            *arguments = "{}".into();
        }
    }
}

/// Its name and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Function {
    pub name: String,
    /// JSON as a text.
    #[serde(default, deserialize_with = "as_text")]
    pub arguments: String,
}

/// Some endpoints give the arguments as JSON itself.
fn as_text<'de, D: Deserializer<'de>>(member: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(member)? {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    })
}

fn or_nothing<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(member: D) -> Result<T, D::Error> {
    Option::deserialize(member).map(Option::unwrap_or_default)
}

/// What the model said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub text: String,
    pub calls: Vec<ToolCall>,
    /// Tokens that it wrote.
    pub tokens: u32,
}

#[derive(Deserialize)]
struct Answer {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Spoken,
}

#[derive(Deserialize)]
struct Spoken {
    #[serde(default, deserialize_with = "or_nothing")]
    content: String,
    #[serde(default, deserialize_with = "or_nothing")]
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    completion_tokens: Option<u32>,
}

/// Reads an answer that says yes.
///
/// # Errors
/// It is none.
pub(super) fn read(body: &[u8]) -> Result<Said, &'static str> {
    let answer: Answer = serde_json::from_slice(body).map_err(|_| "its answer is no chat completion")?;
    let Some(Choice { message: Spoken { content, tool_calls } }) = answer.choices.into_iter().next() else {
        return Err("its answer has no choice");
    };
    let written: usize =
        content.len() + tool_calls.iter().map(|call| call.function.arguments.len()).sum::<usize>();
    let counted = u32::try_from(written / BYTES_OF_TOKEN + 1).unwrap_or(u32::MAX);
    let told = answer.usage.and_then(|usage| usage.completion_tokens);
    // At least one, so that rounds end by this bound too.
    Ok(Said { text: content, calls: tool_calls, tokens: told.unwrap_or(counted).max(1) })
}

/// The words of an answer that says no.
pub(super) fn refusal(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &body["error"];
    let said = error["message"].as_str().or(error.as_str()).or(body["message"].as_str());
    said.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_several_endpoints_are_read() {
        let said =
            read(br#"{"choices":[{"message":{"role":"assistant","content":"hi","tool_calls":null}}]}"#)
                .unwrap();
        assert_eq!(said, Said { text: "hi".into(), calls: vec![], tokens: 1 });
        let calls = br#"{"choices":[{"message":{"content":null,"tool_calls":[
            {"id":"c1","type":"function","function":{"name":"message","arguments":"{\"to\":\"x\"}"}},
            {"function":{"name":"guide","arguments":{"channel":"local"}}}]}}],"usage":{"completion_tokens":17}}"#;
        let said = read(calls).unwrap();
        assert_eq!((said.tokens, said.text.as_str()), (17, ""));
        assert_eq!(said.calls[0].function.arguments, r#"{"to":"x"}"#);
        assert_eq!(said.calls[1].function.arguments, r#"{"channel":"local"}"#);
        let mut calls = said.calls;
        (5..).zip(&mut calls).for_each(|(place, call)| call.identify(place));
        assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["c1", "call_6"]);
        for none in [
            &b""[..],
            b"null",
            b"[]",
            b"{}",
            br#"{"choices":[]}"#,
            br#"{"choices":[{"message":3}]}"#,
            b"\xff",
        ] {
            assert!(read(none).is_err());
        }
        for (written, sent) in
            [("", "{}"), ("{\"to\": ", "{}"), ("[1]", "{}"), (r#"{"to":"x"}"#, r#"{"to":"x"}"#)]
        {
            calls[0].function.arguments = written.into();
            calls[0].make_sendable();
            assert_eq!(calls[0].function.arguments, sent);
        }
        assert_eq!(refusal(br#"{"error":{"message":"no such model"}}"#), "no such model");
        assert_eq!(refusal(br#"{"error":"busy"}"#), "busy");
        assert_eq!(refusal(b"<p>"), "");
    }
}
