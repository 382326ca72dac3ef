//! Which targets a call names: one, or those of a broadcast, each with its channel.
//!
//! Models write lists where one target belongs, and channels that there are not. Neither is guessed at: a target that is taken
//! otherwise than it was meant is a message to somebody else.

use serde_json::Value;

use super::{
    action::Action,
    given::{self, Given, clip},
    parameters::MOST_TARGETS,
    refusal::{Code, NO_ACCOUNT, Refusal},
    target::{self, KINDS_OF_ID},
};
use crate::spelling::nearest;

/// The one target; empty where there is none.
pub(super) fn one(given: Given<'_>, channels: &[&str]) -> Result<String, Refusal> {
    match given.value("to")? {
        Some(Value::Object(_)) => {
            let hint = "write it as one string: \"channel:address\", or \"channel:address#thread\"";
            Err(Refusal { hint: hint.into(), ..given::wrong_type("to", "a string") })
        }
        // The refusal for what is missing says it in the words that agents know.
        Some(Value::String(text)) if text.trim().is_empty() => Ok(String::new()),
        Some(several) if is_several(several, channels) => {
            let hint = "write \"action\": \"broadcast\" and \"targets\": [\"channel:address\", …], or one target as a string";
            Err(Refusal { hint: hint.into(), ..given::wrong_type("to", "one target") })
        }
        _ => Ok(given.short("to")?.unwrap_or_default()),
    }
}

/// Whether it is a list, or a string that holds one.
fn is_several(value: &Value, channels: &[&str]) -> bool {
    match value {
        Value::Array(_) => true,
        Value::String(text) => {
            let named = |target: &str| target::channel_of(target.trim(), channels).is_some();
            let json =
                || text.trim_start().starts_with('[') && serde_json::from_str::<Vec<Value>>(text).is_ok();
            text.contains([',', ';']) && text.split([',', ';']).all(named) || json()
        }
        _ => false,
    }
}

/// The targets of a broadcast, each with its channel: those that name none are tried on each that is given.
pub(super) fn of_broadcast(
    given: Given<'_>,
    channel: Option<String>,
    channels: &[&str],
) -> Result<Vec<(Option<String>, String)>, Refusal> {
    let targets = given.texts("targets")?.filter(|targets| !targets.is_empty());
    let targets = targets.ok_or_else(|| given::missing("targets", Action::Broadcast))?;
    let several = given.texts("channels")?;
    if several.is_some() && channel.is_some() {
        let error = "\"channel\" and \"channels\" both name channels";
        return Err(Refusal::input(error, "give \"channels\" alone").because("contradictory"));
    }
    let on: Vec<Option<String>> = match several {
        Some(several) => several.into_iter().map(Some).collect(),
        None => vec![channel],
    };
    let mut all = Vec::new();
    for target in targets {
        let named = target::channel_of(&target, channels).is_some();
        match named {
            true => all.push((None, target)),
            false => all.extend(on.iter().map(|channel| (channel.clone(), target.clone()))),
        }
    }
    if let Some((_, twice)) = all.iter().enumerate().find(|(n, one)| all[n + 1..].contains(one)) {
        let error = format!("the broadcast names {:?} twice", clip(&twice.1));
        return Err(Refusal::input(error, "name each target once").because("contradictory"));
    }
    match all.len() {
        n if n <= MOST_TARGETS => Ok(all),
        n => {
            let error = format!("the broadcast goes to {n} targets, at most {MOST_TARGETS} are taken");
            Err(Refusal::input(error, "send it in several").because("too_many"))
        }
    }
}

/// What stands before a target's colon like a channel's name and is none: it must not become an address on the channel of
/// the turn.
pub(super) fn unknown_channel<'a>(target: &'a str, channels: &[&str]) -> Option<&'a str> {
    if target::channel_of(target.trim(), channels).is_some() {
        return None;
    }
    let (head, _) = target.trim().split_once(':')?;
    let a_name = !head.is_empty() && head.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_' || b == b'-');
    (a_name && !KINDS_OF_ID.contains(&head)).then_some(head)
}

/// Refuses a channel that there is not. Answered before the allowlist is asked: it is a mistake in writing, and the hint names the channels that Gatepost has, which
/// are the same in every hub. Which of them are configured here is told only to who may write there: the allowlist answers first.
pub(super) fn unknown(channel: &str, channels: &[&str]) -> Refusal {
    let error = format!("there is no channel \"{}\"", clip(channel));
    let hint = match nearest(&channel.to_ascii_lowercase(), channels.iter().copied()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("the hub knows: {}", channels.join(", ")),
    };
    Refusal::new(Code::ExecutionFailed, error, hint).because(NO_ACCOUNT)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::call::Call;

    fn parse(value: Value) -> Result<Call, Refusal> {
        Call::parse(&value, &["local", "email", "matrix"])
    }

    #[test]
    fn an_unknown_channel_is_refused_in_plain_words() {
        for call in [
            json!({"to": "x", "channel": "pigeon", "message": "hi"}),
            json!({"to": "pigeon:x", "message": "hi"}),
        ] {
            let refusal = parse(call).unwrap_err();
            assert_eq!(refusal.code, Code::ExecutionFailed);
            assert_eq!(refusal.error, "there is no channel \"pigeon\"");
        }
        assert!(parse(json!({"to": "user:ann", "channel": "local", "message": "hi"})).is_ok());
        let tg = json!({"to": "tg:123", "message": "hi"});
        assert_eq!(parse(tg.clone()).unwrap_err().error, "there is no channel \"tg\"");
        assert!(Call::parse(&tg, &["telegram"]).is_ok());
    }
}
