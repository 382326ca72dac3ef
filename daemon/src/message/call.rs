//! What an agent asks for: the `message` tool's parameters, parsed at the door into types.
//!
//! Models write `body` where the schema says `message`, and forget prefixes. The aliases of the tools that agents
//! already know are accepted; what is ambiguous, contradictory or unknown is refused with the way to write it, because
//! a parameter that is silently dropped is a message that arrives otherwise than it was meant.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::spelling::nearest;

use super::{
    asked::Asked,
    refusal::{Code, Refusal},
    target::{Destination, KINDS_OF_ID, MAX_ADDRESS},
};

/// The longest text of one message, in bytes.
pub const MAX_TEXT: usize = 100 * 1024;

/// What can be done. More actions come with the whole tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send a new message.
    Send,
}

impl Action {
    /// The word in the call and in the database.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Send => "send",
        }
    }
}

/// A well-formed call. Nothing in it has been checked against anybody's rights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What to do.
    pub action: Action,
    /// The text, Markdown; empty only where files go along.
    pub text: String,
    /// Files that go along, in their order.
    pub attachments: Vec<Asked>,
    /// Where to.
    pub destination: Destination,
    /// The channel, where the call names it beside the target.
    pub channel: Option<String>,
    /// The account to send from.
    pub account: Option<String>,
    /// The thread, where the call names it beside the target.
    pub thread: Option<String>,
    /// The platform id of the message to answer.
    pub reply_to: Option<String>,
    /// Without a notification.
    pub silent: bool,
    /// Say what would happen, and do nothing.
    pub dry_run: bool,
    /// The token of the conversation that the turn came from.
    pub context: Option<String>,
    /// How long the message may try to arrive.
    pub ttl: Option<Duration>,
    /// Try once, and drop it where it would have to be tried again.
    pub best_effort: bool,
    /// Whether a part is sent again when nobody can tell whether it arrived; where not given, its account says.
    pub resend: Option<bool>,
}

/// Each parameter's name, then its aliases.
const PARAMETERS: &[&[&str]] = &[
    &["action"],
    &["message", "body", "text"],
    &["to", "target"],
    &["channel", "platform"],
    &["accountId"],
    &["threadId"],
    &["replyToId", "replyTo"],
    &["silent"],
    &["dryRun"],
    &["context"],
    &["ttlSeconds"],
    &["bestEffort"],
    &["onUnknown"],
    &["voice"],
    &["attachments"],
    &["media"],
];

impl Call {
    /// Reads a call. `channels` are the names of all channels that the hub knows.
    pub fn parse(call: &Value, channels: &[&str]) -> Result<Self, Refusal> {
        let fields = call.as_object().ok_or_else(|| {
            Refusal::input("the call is not a JSON object", "send {\"to\": …, \"message\": …}")
        })?;
        refuse_unknown(fields)?;
        let action = match text(fields, "action")?.as_deref() {
            None | Some("send") => Action::Send,
            Some(other) => {
                let error = format!("there is no action {:?} here", clip(other));
                return Err(Refusal::input(error, "use \"send\", the one action so far"));
            }
        };
        let message = text(fields, "message")?.unwrap_or_default();
        if message.len() > MAX_TEXT {
            let error = format!("the message has {} bytes, at most {MAX_TEXT} are taken", message.len());
            return Err(Refusal::new(Code::TooLarge, error, "shorten it, or send it as several messages"));
        }
        let target = text(fields, "to")?.unwrap_or_default();
        let channel = text(fields, "channel")?;
        let files = |name| value(fields, name);
        let attachments = Asked::parse(files("voice")?, files("attachments")?, files("media")?)?;
        if (message.trim().is_empty() && attachments.is_empty()) || target.is_empty() {
            let missing = if target.is_empty() { "to" } else { "message" };
            // The words of the tool that agents know.
            let error = "platform, target, and body are required";
            return Err(Refusal::input(error, format!("{missing} is missing or empty")).because("missing"));
        }
        if let Some(channel) = channel.as_deref().filter(|name| !channels.contains(name)) {
            return Err(no_adapter(channel, channels));
        }
        if let Some(channel) = unknown_channel(&target, channels) {
            return Err(no_adapter(channel, channels));
        }
        let destination = Destination::parse(&target, channels).map_err(|error| {
            Refusal::input(error.to_string(), format!("channels are: {}", channels.join(", ")))
        })?;
        Ok(Self {
            action,
            text: message,
            attachments,
            destination,
            channel,
            account: short(fields, "accountId")?,
            thread: short(fields, "threadId")?,
            reply_to: short(fields, "replyToId")?,
            silent: flag(fields, "silent")?,
            dry_run: flag(fields, "dryRun")?,
            context: short(fields, "context")?,
            ttl: seconds(fields, "ttlSeconds")?,
            best_effort: flag(fields, "bestEffort")?,
            resend: on_unknown(fields)?,
        })
    }
}

/// What stands before a target's colon like a channel's name and is none. `tg:123` on a hub without Telegram must not
/// become an address on the channel of the turn.
fn unknown_channel<'a>(target: &'a str, channels: &[&str]) -> Option<&'a str> {
    let (head, _) = target.trim().split_once(':')?;
    let a_name = !head.is_empty() && head.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b == b'-');
    (a_name && !channels.contains(&head) && !KINDS_OF_ID.contains(&head)).then_some(head)
}

fn no_adapter(channel: &str, channels: &[&str]) -> Refusal {
    // The words of the tool that agents know.
    let error = format!("No adapter registered for platform \"{}\"", clip(channel));
    Refusal::new(Code::ExecutionFailed, error, format!("the hub knows: {}", channels.join(", ")))
}

fn refuse_unknown(fields: &Map<String, Value>) -> Result<(), Refusal> {
    let known = || PARAMETERS.iter().flat_map(|names| names.iter().copied());
    match fields.keys().find(|name| !known().any(|known| known == name.as_str())) {
        None => Ok(()),
        Some(unknown) => {
            let error = format!("unknown parameter {:?}", clip(unknown));
            let hint = match nearest(unknown, known()) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("parameters are: {}", known().collect::<Vec<_>>().join(", ")),
            };
            Err(Refusal::input(error, hint).because("unknown_parameter"))
        }
    }
}

/// The one value of a parameter under any of its names; two that differ contradict each other.
fn value<'a>(fields: &'a Map<String, Value>, name: &'static str) -> Result<Option<&'a Value>, Refusal> {
    let names = PARAMETERS.iter().find(|names| names[0] == name).copied().unwrap_or(&[]);
    let mut given =
        names.iter().filter_map(|alias| Some((*alias, fields.get(*alias).filter(|v| !v.is_null())?)));
    let Some((first_name, first)) = given.next() else { return Ok(None) };
    match given.find(|(_, other)| *other != first) {
        None => Ok(Some(first)),
        Some((other, _)) => {
            let error = format!("{first_name:?} and {other:?} mean the same and differ");
            Err(Refusal::input(error, format!("give {first_name:?} alone")).because("contradictory"))
        }
    }
}

fn text(fields: &Map<String, Value>, name: &'static str) -> Result<Option<String>, Refusal> {
    match value(fields, name)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        // Chat ids are numbers on some platforms, and models write them so.
        Some(Value::Number(number)) if name == "to" || name == "threadId" || name == "replyToId" => {
            Ok(Some(number.to_string()))
        }
        Some(_) => Err(wrong_type(name, "a string")),
    }
}

fn short(fields: &Map<String, Value>, name: &'static str) -> Result<Option<String>, Refusal> {
    let text = text(fields, name)?;
    match &text {
        Some(text)
            if text.is_empty() || text.len() > MAX_ADDRESS || text.contains(|c: char| c.is_control()) =>
        {
            let error =
                format!("{name:?} is empty, longer than {MAX_ADDRESS} bytes, or has control characters");
            Err(Refusal::input(error, "leave it out, or give the platform's own id"))
        }
        _ => Ok(text),
    }
}

fn flag(fields: &Map<String, Value>, name: &'static str) -> Result<bool, Refusal> {
    match value(fields, name)? {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(wrong_type(name, "true or false")),
    }
}

fn on_unknown(fields: &Map<String, Value>) -> Result<Option<bool>, Refusal> {
    match text(fields, "onUnknown")?.as_deref() {
        None => Ok(None),
        Some("report") => Ok(Some(false)),
        Some("resend") => Ok(Some(true)),
        Some(_) => Err(wrong_type("onUnknown", "\"report\" or \"resend\"")),
    }
}

fn seconds(fields: &Map<String, Value>, name: &'static str) -> Result<Option<Duration>, Refusal> {
    match value(fields, name)? {
        None => Ok(None),
        Some(value) => match value.as_u64().filter(|seconds| (1..=366 * 86_400).contains(seconds)) {
            Some(seconds) => Ok(Some(Duration::from_secs(seconds))),
            None => Err(wrong_type(name, "a whole number of seconds, at least 1")),
        },
    }
}

fn wrong_type(name: &str, expected: &str) -> Refusal {
    Refusal::input(format!("{name:?} is not {expected}"), format!("give {expected}")).because("wrong_type")
}

/// Outside text for an error message: bounded.
fn clip(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(value: Value) -> Result<Call, Refusal> {
        Call::parse(&value, &["local", "email", "matrix"])
    }

    #[test]
    fn the_simple_tool_of_the_seeds_is_understood() {
        let call = parse(json!({"platform": "email", "target": "a@b.test", "body": "hi"})).unwrap();
        assert_eq!(call.channel.as_deref(), Some("email"));
        assert_eq!(call.text, "hi");
    }

    #[test]
    fn an_alias_may_repeat_but_not_contradict() {
        assert!(parse(json!({"to": "local:ann", "message": "hi", "body": "hi"})).is_ok());
        let refusal = parse(json!({"to": "local:ann", "message": "hi", "body": "ho"})).unwrap_err();
        assert_eq!(refusal.reason, Some("contradictory"));
    }

    #[test]
    fn an_unknown_parameter_is_answered_with_its_neighbour() {
        let refusal = parse(json!({"to": "local:ann", "mesage": "hi"})).unwrap_err();
        assert_eq!(refusal.hint, "did you mean \"message\"?");
    }

    #[test]
    fn what_is_missing_is_named() {
        for (call, missing) in [
            (json!({"message": "hi"}), "to is"),
            (json!({"to": "local:ann", "message": " \n"}), "message is"),
            (json!({"to": "local:ann"}), "message is"),
        ] {
            let refusal = parse(call).unwrap_err();
            assert_eq!(refusal.error, "platform, target, and body are required");
            assert!(refusal.hint.starts_with(missing), "{}", refusal.hint);
        }
    }

    #[test]
    fn an_unknown_channel_is_refused_in_the_seeds_words() {
        for call in [
            json!({"to": "x", "channel": "pigeon", "message": "hi"}),
            json!({"to": "pigeon:x", "message": "hi"}),
        ] {
            let refusal = parse(call).unwrap_err();
            assert_eq!(refusal.code, Code::ExecutionFailed);
            assert_eq!(refusal.error, "No adapter registered for platform \"pigeon\"");
        }
        assert!(parse(json!({"to": "user:ann", "channel": "local", "message": "hi"})).is_ok());
    }

    #[test]
    fn a_text_over_the_bound_is_too_large() {
        let refusal = parse(json!({"to": "local:ann", "message": "x".repeat(MAX_TEXT + 1)})).unwrap_err();
        assert_eq!(refusal.code, Code::TooLarge);
    }

    #[test]
    fn how_hard_to_try_is_said_by_the_call() {
        let call = |more: Value| {
            let mut call = json!({"to": "local:ann", "message": "hi"});
            call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let call = parse(call).unwrap();
            (call.best_effort, call.resend)
        };
        assert_eq!(call(json!({})), (false, None));
        assert_eq!(call(json!({"bestEffort": true, "onUnknown": "report"})), (true, Some(false)));
        assert_eq!(call(json!({"onUnknown": "resend"})), (false, Some(true)));
    }

    #[test]
    fn wrong_types_are_refused_and_numbers_for_ids_are_not() {
        assert!(parse(json!({"to": -100_123, "channel": "local", "message": "hi"})).is_ok());
        for call in [
            json!([]),
            json!({"to": ["local:ann"], "message": "hi"}),
            json!({"to": "local:ann", "message": 5}),
            json!({"to": "local:ann", "message": "hi", "silent": "yes"}),
            json!({"to": "local:ann", "message": "hi", "ttlSeconds": 0}),
            json!({"to": "local:ann", "message": "hi", "onUnknown": "guess"}),
            json!({"to": "local:ann", "message": "hi", "bestEffort": 1}),
            json!({"to": "local:ann", "message": "hi", "threadId": "a\u{0}b"}),
        ] {
            assert_eq!(parse(call.clone()).unwrap_err().code, Code::InputInvalid, "{call}");
        }
    }
}
