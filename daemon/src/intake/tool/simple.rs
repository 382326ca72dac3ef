//! `send_message`, as the agents of other houses know it: three parameters and a short answer.
//!
//! It takes its own parameters and no others. It was once read like `message`, and whatever that does went through it, past
//! the hooks that an operator had put around `message`.

use serde_json::{Map, Value, json};

use crate::{
    message::refusal::{NOT_SENT, Refusal},
    policy::NOT_ALLOWED,
    spelling::nearest,
};

/// The longest result of `send_message`, in characters: what agents are promised of it.
const MAX_SIMPLE: usize = 1024;
/// Of an error and of a hint, in characters as JSON writes them. An HTTP problem says the error twice, and has members of its
/// own: together they stay within the bound.
const MAX_ERROR: usize = 300;
const MAX_HINT: usize = 170;
/// What a refusal has beside its error (twice), its hint and its guide, in characters.
const AROUND: usize = 220;
/// Its parameters; `context` may be left out.
const PARAMETERS: [&str; 4] = ["platform", "target", "body", "context"];

/// The schema of its parameters; `channels` are those that the caller may write to.
pub(super) fn schema(channels: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": {
            "platform": {"type": "string", "enum": channels, "description": "The channel."},
            "target": {"type": "string", "description": "The address on it."},
            "body": {"type": "string", "description": "The text, in Markdown."},
            "context": {"type": "string", "description": "The token of the conversation that the turn came from."},
        },
        "required": ["platform", "target", "body"],
        "additionalProperties": false,
    })
}

/// The call of `message` that it stands for.
pub(super) fn call(arguments: &Value) -> Result<Value, Refusal> {
    let arguments = arguments.as_object().ok_or_else(|| {
        Refusal::input("the call is not a JSON object", "give {\"platform\": …, \"target\": …, \"body\": …}")
    })?;
    if let Some(unknown) = arguments.keys().find(|name| !PARAMETERS.contains(&name.as_str())) {
        let unknown: String = unknown.chars().take(40).collect();
        // Words of the other tool, and of other houses.
        let meant = match unknown.to_ascii_lowercase().as_str() {
            "message" | "text" | "content" | "msg" => Some("body"),
            "to" | "recipient" | "chat_id" | "chatid" | "address" => Some("target"),
            "channel" => Some("platform"),
            _ => nearest(&unknown, PARAMETERS.into_iter()),
        };
        let hint = match meant {
            Some(near) => format!("did you mean {near:?}?"),
            None => "send_message takes platform, target and body; for everything else call message".into(),
        };
        return Err(
            Refusal::input(format!("unknown parameter {unknown:?}"), hint).because("unknown_parameter")
        );
    }
    let mut call = Map::new();
    for (name, stands_for) in PARAMETERS.into_iter().zip(["channel", "to", "message", "context"]) {
        let value = match arguments.get(name) {
            None | Some(Value::Null) => "",
            Some(Value::String(text)) => text,
            // Ids are numbers on some platforms, and models write them so.
            Some(Value::Number(id)) if name == "target" => {
                call.insert(stands_for.into(), id.to_string().into());
                continue;
            }
            Some(Value::Array(_)) if name == "target" => {
                let hint = "give one target as a string: call send_message once for each, or message with the action \"broadcast\"";
                return Err(Refusal::input("\"target\" is not one target", hint).because("wrong_type"));
            }
            Some(_) => {
                let error = format!("{name:?} is not a string");
                return Err(Refusal::input(error, "give a string").because("wrong_type"));
            }
        };
        match (value.trim().is_empty(), name) {
            (false, _) => _ = call.insert(stands_for.into(), value.into()),
            (true, "context") => {}
            (true, _) => {
                // The words of the tool that agents know.
                let error = "platform, target, and body are required";
                return Err(Refusal::input(error, format!("{name} is missing or empty")).because("missing"));
            }
        }
    }
    Ok(call.into())
}

/// An answer of `message` as this one gives it: what matters of it, within its bound.
pub(super) fn answer(answer: &Value) -> Value {
    let mut short = json!({"ok": answer["ok"] == true});
    for member in
        ["id", "state", "deduplicated", "code", "reason", "error", "hint", "deadline", "notes", "guide"]
    {
        let Some(value) = answer.get(member).filter(|value| !value.is_null()) else { continue };
        short[member] = match (member, value) {
            ("error", Value::String(why)) => shortened(&own_names(why), MAX_ERROR).into(),
            ("reason", Value::String(why)) => shortened(why, MAX_ERROR).into(),
            ("hint", Value::String(hint)) => shortened(hint, MAX_HINT).into(),
            _ => value.clone(),
        };
        // What comes last is what can be done without.
        if short.to_string().chars().count() > MAX_SIMPLE
            && let Some(short) = short.as_object_mut()
        {
            short.remove(member);
        }
    }
    short
}

/// A refusal as this one gives it, within its bound on every interface.
pub(super) fn refusal(refusal: Refusal) -> Refusal {
    let error = shortened(&own_names(&refusal.error), MAX_ERROR);
    let hint = shortened(&refusal.hint, MAX_HINT);
    let beside = 2 * length(&error) + length(&hint) + AROUND;
    let guide = refusal.guide.filter(|guide| beside + length(guide) <= MAX_SIMPLE);
    Refusal { error, hint, guide, ..refusal }
}

/// An error in the words of this tool, which agents of other houses know, and whose parameters have other names.
fn own_names(error: &str) -> String {
    if let Some((target, allowed)) = error.split_once(NOT_ALLOWED) {
        let target = target.strip_prefix("target").unwrap_or(target);
        return format!("Target{target}is not in the personality's allowed messaging targets{allowed}");
    }
    let no_adapter = "No adapter registered for platform ";
    [
        ("\"to\"", "\"target\""),
        ("\"channel\"", "\"platform\""),
        ("\"message\"", "\"body\""),
        ("there is no channel ", no_adapter),
        ("no account is set up on channel ", no_adapter),
        (NOT_SENT, "Adapter send failed: "),
    ]
    .into_iter()
    .find_map(|(theirs, own)| error.strip_prefix(theirs).map(|rest| format!("{own}{rest}")))
    .unwrap_or_else(|| error.to_owned())
}

/// The text with at most so many characters: of a list of what is allowed it says how many it leaves out.
fn shortened(text: &str, most: usize) -> String {
    if length(text) <= most {
        return text.to_owned();
    }
    if let Some((words, list)) = text.split_once(" Allowed: ") {
        let entries: Vec<&str> = list.split(", ").collect();
        let fits = (1..entries.len()).rev().find_map(|shown| {
            let (shown, left) = entries.split_at(shown);
            let text = format!("{words} Allowed: {} … and {} more", shown.join(", "), left.len());
            (length(&text) <= most).then_some(text)
        });
        if let Some(fits) = fits {
            return fits;
        }
    }
    let mut room = most - 1;
    let fits = |c: &char| {
        let written = length(c.encode_utf8(&mut [0; 4]));
        room.checked_sub(written).map(|left| room = left).is_some()
    };
    let mut short: String = text.chars().take_while(fits).collect();
    short.push('…');
    short
}

/// How many characters JSON needs for a text, without the quotes around it.
fn length(text: &str) -> usize {
    Value::from(text).to_string().chars().count() - 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        channels::account::NoAccount,
        message::{call::Call, refusal::Code},
    };

    #[test]
    fn a_platform_without_an_adapter_is_refused_in_the_words_that_its_agents_know() {
        let to_pigeon = json!({"channel": "pigeon", "to": "ann", "message": "hi"});
        let unknown = Call::parse(&to_pigeon, &["local"]).unwrap_err();
        assert_eq!(unknown.error, "there is no channel \"pigeon\"");
        let without = NoAccount::Channel("pigeon".into()).to_string();
        let without = Refusal::new(Code::ExecutionFailed, without, "configure one");
        for plain in [unknown, without] {
            // It is refused, or was taken and fails later.
            let failed = json!({"ok": false, "state": "failed", "error": plain.error});
            let own = "No adapter registered for platform \"pigeon\"";
            assert_eq!(answer(&failed)["error"], own);
            assert_eq!(refusal(plain).error, own);
        }
        let later = json!({"ok": false, "state": "failed", "error": "not sent: 403 forbidden"});
        assert_eq!(answer(&later)["error"], "Adapter send failed: 403 forbidden");
    }

    #[test]
    fn it_takes_its_own_parameters_and_says_what_is_wrong_by_their_names() {
        let whole = json!({"platform": "telegram", "target": 5, "body": "hi", "context": null});
        let meant = json!({"channel": "telegram", "to": "5", "message": "hi"});
        assert_eq!(call(&whole).unwrap(), meant);
        for (name, value) in [
            ("action", json!("ban")),
            ("userId", json!("9")),
            ("dryRun", json!(true)),
            ("message", json!("x")),
        ] {
            let mut more = whole.clone();
            more[name] = value;
            let refusal = call(&more).unwrap_err();
            assert_eq!(refusal.reason, Some("unknown_parameter"), "{name}");
            assert!(refusal.error.contains(name), "{refusal}");
        }
        for name in ["platform", "target", "body"] {
            for (wrong, reason) in
                [(json!(" "), "missing"), (json!(null), "missing"), (json!([]), "wrong_type")]
            {
                let mut less = whole.clone();
                less[name] = wrong;
                let refusal = call(&less).unwrap_err();
                assert_eq!(refusal.reason, Some(reason), "{name}");
                assert!(format!("{} {}", refusal.error, refusal.hint).contains(name), "{refusal}");
            }
        }
        assert!(call(&json!("hi")).is_err());
        for (name, value, hint) in [
            ("message", json!("x"), "did you mean \"body\"?"),
            ("content", json!("x"), "did you mean \"body\"?"),
            ("to", json!("x"), "did you mean \"target\"?"),
            ("target", json!(["5", "6"]), "once for each"),
        ] {
            let mut more = whole.clone();
            more[name] = value;
            assert!(call(&more).unwrap_err().hint.contains(hint), "{name}");
        }
    }

    #[test]
    fn what_is_left_of_a_long_list_says_how_much_it_was() {
        let targets: Vec<String> = (0..90).map(|n| format!("telegram:-100{n:010}")).collect();
        let error = format!("Target \"local:x\" is not in the list. Allowed: {}", targets.join(", "));
        let short = shortened(&error, MAX_ERROR);
        let (shown_part, more) = short.split_once(" … and ").unwrap();
        let shown = shown_part.split_once(" Allowed: ").unwrap().1.split(", ").count();
        assert!(shown > 5 && more == format!("{} more", 90 - shown), "{short}");
        assert!(length(&short) <= MAX_ERROR);
        assert_eq!(shortened("short", MAX_ERROR), "short");
        for long in ["\u{1}".repeat(500), "\"".repeat(500), "ü".repeat(500)] {
            assert!(length(&shortened(&long, MAX_ERROR)) <= MAX_ERROR);
        }
    }

    #[test]
    fn an_answer_is_within_its_bound_and_never_loses_why() {
        let long = json!({
            "ok": false, "id": "m".repeat(33), "state": "failed", "code": "execution_failed", "error": "\n".repeat(4_000),
            "hint": "h".repeat(900), "notes": ["n".repeat(2_000)], "guide": "g".repeat(300), "parts": [1, 2],
        });
        let short = answer(&long);
        assert!(short.to_string().chars().count() <= MAX_SIMPLE, "{short}");
        assert!(
            short["error"].is_string() && short["hint"].is_string() && short["notes"].is_null(),
            "{short}"
        );
        assert!(short["parts"].is_null(), "{short}");
        let long = Refusal::new(Code::ExecutionFailed, "e".repeat(5_000), "h".repeat(5_000));
        let short = refusal(Refusal { guide: Some("g".repeat(500)), ..long });
        assert!(short.guide.is_none(), "{short:?}");
        assert_eq!((length(&short.error), length(&short.hint)), (MAX_ERROR, MAX_HINT));
    }
}
