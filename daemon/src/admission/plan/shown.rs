//! What an approver reads of a message beside its text: every button, answer and field, as lines.

use serde_json::Value;

use super::content::Content;
use crate::message::{
    form::Field,
    operation::{Button, Extras, Operation, Poll, Press, Select},
};

/// What goes with a text, line by line.
pub(super) fn extras(extras: &Extras) -> impl Iterator<Item = String> {
    let effect = extras.effect.iter().map(|effect| format!("[effect] {effect}"));
    let buttons = extras.buttons.iter().flatten().flat_map(button);
    let selects = extras.selects.iter().flat_map(select);
    let mut fields = Vec::new();
    if let Some(card) = &extras.card {
        fields.push("[card]".to_owned());
        flatten("", card, &mut fields);
    }
    effect.chain(buttons).chain(selects).chain(fields)
}

/// Where the messages are that it names, if they are not where it says; also if it names no thread, and its turn has one.
pub(super) fn locations(content: &Content<'_>) -> impl Iterator<Item = String> {
    let thread = content.target.thread.as_deref();
    let bound = content.from.origin.is_some_and(|origin| origin.place.thread.is_some());
    let says = move |line: String| format!("[{line}]");
    content
        .touched
        .iter()
        .filter(move |_| thread.is_some() || bound)
        .filter_map(move |touched| touched.described(thread))
        .map(says)
}

/// What is done, and the text beside it.
pub(super) fn operation(operation: &Operation, text: Option<&str>) -> String {
    let because = |reason: &Option<String>| match reason {
        Some(reason) => format!(", because: {reason}"),
        None => String::new(),
    };
    let what = match operation {
        Operation::Send(_) => String::new(),
        Operation::Poll(poll) => self::poll(poll),
        Operation::Thread { name, message: None } => format!("[new thread] {name}"),
        Operation::Thread { name, message: Some(message) } => {
            format!("[new thread at message {message}] {name}")
        }
        Operation::React { message, emoji, remove: false } => format!("[react to message {message}] {emoji}"),
        Operation::React { message, emoji, remove: true } => {
            format!("[take the reaction to message {message} back] {emoji}")
        }
        Operation::Edit { message } => format!("[new text of message {message}]"),
        Operation::Delete { message } => format!("[delete message {message}]"),
        Operation::Pin { message } => format!("[pin message {message}]"),
        Operation::Unpin { message } => format!("[unpin message {message}]"),
        Operation::Timeout { user, seconds: 0, reason } => {
            format!("[let {user} write again]{}", because(reason))
        }
        Operation::Timeout { user, seconds, reason } => {
            format!("[keep {user} from writing for {}]{}", duration(*seconds), because(reason))
        }
        Operation::Kick { user, reason } => format!("[put {user} out]{}", because(reason)),
        Operation::Ban { user, reason } => format!("[put {user} out and keep them out]{}", because(reason)),
        Operation::Presence { status, text } => {
            let status = format!("{status:?}").to_lowercase();
            format!("[own status: {status}] {}", text.as_deref().unwrap_or_default()).trim_end().to_owned()
        }
    };
    match text {
        Some(text) => format!("{what}\n{text}"),
        None => what,
    }
}

fn poll(poll: &Poll) -> String {
    let mut terms = Vec::new();
    if poll.multiple {
        terms.push("several answers".to_owned());
    }
    if let Some(seconds) = poll.seconds {
        terms.push(format!("open for {}", duration(seconds)));
    }
    match poll.anonymous {
        Some(true) => terms.push("anonymous".to_owned()),
        Some(false) => terms.push("not anonymous".to_owned()),
        None => {}
    }
    let terms = if terms.is_empty() { String::new() } else { format!(", {}", terms.join(", ")) };
    let options = poll.options.iter().map(|option| format!("\n- {option}")).collect::<String>();
    format!("[poll{terms}] {}{options}", poll.question)
}

/// So many seconds as a person reads them: what is approved is exactly what is sent.
fn duration(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

fn button(button: &Button) -> Vec<String> {
    match &button.press {
        Press::Data(data) => vec![format!("[button] {} = {data}", button.text)],
        Press::Url(url) => vec![format!("[button] {} <{url}>", button.text)],
        Press::Form(form) => {
            let first = format!("[button] {} opens the form: {}", button.text, form.title);
            std::iter::once(first).chain(form.fields.iter().map(field)).collect()
        }
    }
}

/// A field of a form, with all that stands in it at first.
fn field(field: &Field) -> String {
    let mut line = format!("- {} = {}", field.label, field.name);
    line.push_str(if field.required { ", needed" } else { ", not needed" });
    match (field.min, field.max) {
        (None, None) => {}
        (min, _) => line.push_str(&format!(", {} to {} characters", min.unwrap_or(0), field.most())),
    }
    if let Some(hint) = &field.placeholder {
        line.push_str(&format!(" ({hint})"));
    }
    if let Some(value) = &field.value {
        line.push_str(&format!(": {value}"));
    }
    line
}

fn select(select: &Select) -> impl Iterator<Item = String> {
    let title = select.placeholder.as_deref().unwrap_or_default();
    let first = format!("[choice {}] {title}", select.id);
    let options = select.options.iter().map(|choice| format!("- {} = {}", choice.label, choice.value));
    std::iter::once(first.trim_end().to_owned()).chain(options)
}

/// Every leaf of a card with the way to it. Deeper than this nothing is read by a person anyway: it is shown as JSON.
fn flatten(path: &str, value: &Value, lines: &mut Vec<String>) {
    let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(members) if path.matches('.').count() < 16 => {
            members.iter().for_each(|(name, value)| flatten(&inner(name), value, lines));
        }
        Value::Array(list) if path.matches('.').count() < 16 => {
            list.iter().enumerate().for_each(|(n, value)| flatten(&inner(&n.to_string()), value, lines));
        }
        Value::String(text) => lines.push(format!("{path}: {text}")),
        other => lines.push(format!("{path}: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_approver_reads_every_button_choice_and_field() {
        let form = serde_json::from_value(json!({"title": "Report", "fields": [
            {"name": "what", "label": "What?", "required": true, "value": "It broke", "max": 9},
            {"name": "when", "label": "When?", "required": false, "placeholder": "today"},
        ]}));
        let form = form.unwrap();
        let of = Extras {
            buttons: vec![vec![
                Button { text: "Yes".into(), press: Press::Data("y".into()) },
                Button { text: "See".into(), press: Press::Url("https://a.test/".into()) },
                Button { text: "Say".into(), press: Press::Form(form) },
            ]],
            selects: vec![],
            card: Some(json!({"title": "T", "items": [{"n": 1}, "two"]})),
            effect: Some("slam".into()),
        };
        assert_eq!(
            extras(&of).collect::<Vec<_>>().join("\n"),
            "[effect] slam\n[button] Yes = y\n[button] See <https://a.test/>\n[button] Say opens the form: Report\n- What? = what, needed, 0 to 9 characters: It broke\n- When? = when, not needed (today)\n[card]\nitems.0.n: 1\nitems.1: two\ntitle: T"
        );
    }

    #[test]
    fn an_approver_reads_what_is_done_and_to_what() {
        let says = |what: Operation, text| operation(&what, text);
        assert_eq!(says(Operation::Delete { message: "5".into() }, None), "[delete message 5]");
        assert_eq!(
            says(Operation::Edit { message: "5".into() }, Some("New")),
            "[new text of message 5]\nNew"
        );
        let poll = Poll {
            question: "Tea?".into(),
            options: vec!["Yes".into(), "No".into()],
            multiple: true,
            seconds: Some(3600),
            anonymous: None,
        };
        assert_eq!(
            says(Operation::Poll(poll), None),
            "[poll, several answers, open for 60 min] Tea?\n- Yes\n- No"
        );
        for (seconds, says) in
            [(1, "1 s"), (59, "59 s"), (60, "1 min"), (100, "1 min 40 s"), (90_061, "1501 min 1 s")]
        {
            assert_eq!(duration(seconds), says);
        }
        let timeout = Operation::Timeout { user: "9".into(), seconds: 600, reason: Some("spam".into()) };
        assert_eq!(says(timeout, None), "[keep 9 from writing for 10 min], because: spam");
    }
}
