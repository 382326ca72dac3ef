//! What an agent asks for: the `message` tool's parameters, parsed into types on admission.
//!
//! Models write `body` where the schema says `message`, and forget prefixes. The aliases of the tools that agents
//! already know are accepted; what is ambiguous, contradictory or unknown is refused with the way to write it, because
//! a parameter that is silently dropped is a message that arrives otherwise than it was meant.

use std::time::Duration;

use serde_json::Value;

use super::{
    action::Action,
    aliases,
    attachment_spec::Asked,
    given::{self, Given, clip},
    operation::Operation,
    operation_parser,
    refusal::{Code, Refusal},
    target::{self, Destination, ITSELF},
    targets,
};
use crate::spelling::nearest;

/// The longest text of one message, in bytes.
pub const MAX_TEXT: usize = 100 * 1024;

/// A well-formed call. Nothing in it has been checked against anybody's rights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What was asked for, by its word.
    pub action: Action,
    /// What to do.
    pub operation: Operation,
    /// The text, Markdown; empty where files or a card go along, or the operation has none.
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
    /// How long to wait for its end, where the call says.
    pub wait: Option<Duration>,
    /// How long the message may try to arrive.
    pub ttl: Option<Duration>,
    /// Try once, and drop it where it would have to be tried again.
    pub best_effort: bool,
    /// Whether a part is sent again when nobody can tell whether it arrived; where not given, its account says.
    pub resend: Option<bool>,
}

impl Call {
    /// Whether it is a poll, for which a platform may have something else.
    pub fn is_poll(&self) -> bool {
        matches!(self.operation, Operation::Poll(_))
    }

    /// A text to an address on a channel of the hub's own.
    pub fn to_hub(action: Action, (channel, account, address): (&str, &str, &str), text: String) -> Self {
        Self {
            action,
            operation: Operation::default(),
            text,
            attachments: vec![],
            destination: Destination::Address {
                channel: Some(channel.into()),
                address: address.into(),
                thread: None,
                person: false,
            },
            channel: None,
            account: Some(account.into()),
            thread: None,
            reply_to: None,
            silent: false,
            dry_run: false,
            context: None,
            wait: None,
            ttl: None,
            best_effort: false,
            resend: None,
        }
    }

    /// Reads a call for one target. `channels` are the names of all channels that the hub knows.
    pub fn parse(call: &Value, channels: &[&str]) -> Result<Self, Refusal> {
        let mut calls = Self::parse_all(call, channels)?;
        match (calls.pop(), calls.is_empty()) {
            (Some(call), true) => Ok(call),
            _ => Err(Refusal::input("this is a call for several targets", "name one target, in \"to\"")),
        }
    }

    /// Reads a call: one for each target that it names.
    pub fn parse_all(call: &Value, channels: &[&str]) -> Result<Vec<Self>, Refusal> {
        let fields = call.as_object().ok_or_else(|| {
            Refusal::input("the call is not a JSON object", "send {\"to\": …, \"message\": …}")
        })?;
        let given = Given::known(fields)?;
        let action = action(given)?;
        given.go_with(action)?;
        let channel = match given.short("channel")? {
            None => None,
            Some(word) => match target::channel_named(word.trim(), channels) {
                Some(channel) => Some(channel.to_owned()),
                None => return Err(targets::unknown(&word, channels)),
            },
        };
        let targets = match action {
            Action::Broadcast => targets::of_broadcast(given, channel, channels)?,
            // It is the account's own.
            Action::SetPresence => vec![(channel, ITSELF.to_owned())],
            _ => vec![(channel, targets::one(given, channels)?)],
        };
        targets.into_iter().map(|(channel, to)| Self::one(given, action, channel, &to, channels)).collect()
    }

    fn one(
        given: Given<'_>,
        action: Action,
        channel: Option<String>,
        target: &str,
        channels: &[&str],
    ) -> Result<Self, Refusal> {
        let operation = operation_parser::operation(given, action)?;
        let message = given.text("message")?.unwrap_or_default();
        if message.len() > MAX_TEXT {
            let error = format!("the message has {} bytes, at most {MAX_TEXT} are taken", message.len());
            return Err(Refusal::new(Code::TooLarge, error, "shorten it, or send it as several messages"));
        }
        let attachments =
            Asked::parse(given.value("voice")?, given.value("attachments")?, given.value("media")?)?;
        if action == Action::SendAttachment && attachments.is_empty() {
            return Err(given::missing("attachments", action));
        }
        let says = !message.trim().is_empty();
        let shows = match &operation {
            Operation::Send(extras) => says || !attachments.is_empty() || extras.card.is_some(),
            Operation::Edit { .. } => says,
            _ => true,
        };
        if !shows || target.is_empty() {
            let missing = if target.is_empty() { "to" } else { "message" };
            let error = format!("{missing:?} is missing or empty");
            let hint = match missing {
                "message" => "write the text, in Markdown",
                _ if given.value("context")?.is_some() => {
                    "write \"channel:address\"; \"current\" is the conversation of the turn"
                }
                _ => "write \"channel:address\"",
            };
            return Err(Refusal::input(error, hint).because("missing"));
        }
        if let Some(channel) = targets::unknown_channel(target, channels) {
            return Err(targets::unknown(channel, channels));
        }
        let destination = Destination::parse(target, channels).map_err(|error| {
            Refusal::input(error.to_string(), format!("channels are: {}", channels.join(", ")))
        })?;
        let thread = given.short("threadId")?;
        let named = matches!(&destination, Destination::Address { thread: Some(_), .. });
        if action == Action::ThreadReply && thread.is_none() && !named && destination != Destination::Current
        {
            return Err(given::missing("threadId", action));
        }
        Ok(Self {
            action,
            operation,
            text: message,
            attachments,
            destination,
            channel,
            account: given.short("accountId")?,
            thread,
            reply_to: reply_to(given, action)?,
            silent: given.flag("silent")?,
            dry_run: given.flag("dryRun")?,
            context: given.short("context")?,
            wait: given.number("wait")?.map(Duration::from_secs),
            ttl: given.number("ttlSeconds")?.map(Duration::from_secs),
            best_effort: given.flag("bestEffort")?,
            resend: on_unknown(given)?,
        })
    }
}

fn action(given: Given<'_>) -> Result<Action, Refusal> {
    let Some(word) = given.text("action")? else { return Ok(Action::Send) };
    Action::of(&word).ok_or_else(|| {
        let words = || Action::ALL.iter().map(|action| action.word());
        let lower = word.to_ascii_lowercase();
        let same = words().find(|known| known.eq_ignore_ascii_case(&lower));
        let hint = match (aliases::action(&word), same.or_else(|| nearest(&word, words()))) {
            (Some(meant), _) => meant.to_owned(),
            (None, Some(near)) => format!("did you mean {near:?}?"),
            (None, None) => format!("actions are: {}", words().collect::<Vec<_>>().join(", ")),
        };
        Refusal::input(format!("there is no action {:?}", clip(&word)), hint).because("unknown_action")
    })
}

/// What a message answers. An answer names it under either of two names.
fn reply_to(given: Given<'_>, action: Action) -> Result<Option<String>, Refusal> {
    let reply_to = given.short("replyToId")?;
    if action != Action::Reply {
        return Ok(reply_to);
    }
    match (reply_to, given.short("messageId")?) {
        (Some(one), Some(other)) if one != other => {
            let error = "\"replyToId\" and \"messageId\" name two messages";
            Err(Refusal::input(error, "give \"replyToId\" alone").because("contradictory"))
        }
        (None, None) => Err(given::missing("replyToId", action)),
        (one, other) => Ok(one.or(other)),
    }
}

fn on_unknown(given: Given<'_>) -> Result<Option<bool>, Refusal> {
    match given.text("onUnknown")?.as_deref() {
        None => Ok(None),
        Some("report") => Ok(Some(false)),
        Some("resend") => Ok(Some(true)),
        Some(_) => Err(given::wrong_type("onUnknown", "\"report\" or \"resend\"")),
    }
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
    fn what_platforms_call_otherwise_is_answered_with_the_way_to_write_it() {
        for (name, instead) in [
            ("modal", "opened by a button"),
            ("components", "\"selects\""),
            ("embeds", "\"card\""),
            ("blocks", "\"card\""),
        ] {
            let refusal = parse(json!({"to": "discord:1", "message": "hi", name: []})).unwrap_err();
            assert_eq!(refusal.reason, Some("unknown_parameter"));
            assert!(refusal.hint.contains(instead), "{name}: {}", refusal.hint);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (call, missing) in [
            (json!({"message": "hi"}), "to"),
            (json!({"to": "local:ann", "message": " \n"}), "message"),
            (json!({"to": "local:ann"}), "message"),
        ] {
            let refusal = parse(call).unwrap_err();
            assert_eq!(refusal.error, format!("{missing:?} is missing or empty"));
        }
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
