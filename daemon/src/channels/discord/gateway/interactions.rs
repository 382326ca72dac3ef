//! What people do with forms: a press that opens one, and what they filled in.
//!
//! Whatever is not ours is left to who it may belong to, such as another program of the same bot. What somebody has entered is
//! written down before Discord is told that it was taken.
//!
//! A token by which an interaction is answered is a secret: it is in no log and in no error.

use std::{collections::BTreeMap, time::Duration};

use reqwest::Method;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{
    channels::{
        PartKey, RateHints,
        discord::{client::Client, forms, request::StoredRequest, target},
        hub_handle::HubHandle,
    },
    message::form::{Entry, Form, Taken},
};

/// "You must send an initial response within 3 seconds of receiving the event"
/// (<https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-callback>).
const IN_TIME: Duration = Duration::from_millis(2_800);

/// <https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object-interaction-type>.
const PRESSED: u64 = 3;
const FILLED_IN: u64 = 5;

/// <https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type>.
mod callback {
    pub(super) const MESSAGE: u8 = 4;
    pub(super) const TAKEN: u8 = 6;
    pub(super) const FORM: u8 = 9;
}

/// A message that only who it answers sees
/// (<https://docs.discord.com/developers/resources/message#message-object-message-flags>).
const EPHEMERAL: u64 = 1 << 6;

/// The longest name of a person that is passed on, in characters.
const MAX_NAME: usize = 100;

/// Somebody has pressed a button of ours, or filled in its form.
pub(super) struct Interaction {
    id: String,
    token: String,
    kind: u64,
    key: PartKey,
    /// Which of the part's forms.
    form: usize,
    by: String,
    name: String,
    message: Option<String>,
    data: Value,
}

impl Interaction {
    /// Reads an event; nothing, where it is not ours.
    pub(super) fn read(event: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let kind = event["type"].as_u64().filter(|kind| matches!(*kind, PRESSED | FILLED_IN))?;
        let (key, form) = forms::named_by(event["data"]["custom_id"].as_str()?)?;
        // In a server there is a member, elsewhere a user.
        let user = match &event["member"]["user"] {
            Value::Null => &event["user"],
            user => user,
        };
        let name = text(&user["global_name"]).or_else(|| text(&user["username"])).unwrap_or_default();
        Some(Self {
            id: target::snowflake(event["id"].as_str()?)?,
            token: text(&event["token"]).filter(|token| (1..=512).contains(&token.len()))?,
            kind,
            key,
            form,
            by: target::snowflake(user["id"].as_str()?)?,
            name: name.chars().take(MAX_NAME).collect(),
            message: event["message"]["id"].as_str().and_then(target::snowflake),
            data: event["data"].clone(),
        })
    }

    /// Answers it.
    pub(super) async fn answer(self, client: &Client, hub: &dyn HubHandle) {
        let hints = &mut RateHints::default();
        let Ok(request) = hub.request(&self.key).await else {
            // Nobody can say whether there is such a form: Discord tells the person that nothing came of it.
            return;
        };
        let asked = request
            .and_then(|request| StoredRequest::deserialize(&request).ok())
            .map(|request| request.forms)
            .unwrap_or_default();
        let answer = match (asked.into_iter().nth(self.form), self.kind) {
            (None, _) => say("This form has expired."),
            (Some(form), PRESSED) => {
                json!({"type": callback::FORM, "data": forms::modal(&form, &forms::id(&self.key, self.form))})
            }
            (Some(form), _) => match hub.entered(&self.key, &self.id, self.entry(&form)).await {
                // The same event may come twice.
                Ok(Taken::Now | Taken::Before) => json!({"type": callback::TAKEN}),
                Ok(Taken::Full) => say("This form takes no more answers."),
                Err(_) => say("Your answer could not be taken down. Please send it again later."),
            },
        };
        let path = ["interactions", &self.id, &self.token, "callback"];
        let builder = client.request(Method::POST, &path).json(&answer);
        // Its error has the address in it, and so the token.
        match client.http.ask_within(builder, IN_TIME, hints).await {
            Ok(answer) if answer.status.is_success() => {}
            Ok(answer) => tracing::warn!(status = answer.status.as_u16(), "Discord took no answer to a form"),
            Err(_) => tracing::warn!("Discord did not hear the answer to a form"),
        }
    }

    /// What was entered, by the fields that the form has: nothing else of it is read.
    ///
    /// <https://docs.discord.com/developers/components/reference#text-input-text-input-interaction-response-structure>
    fn entry(&self, form: &Form) -> Entry {
        let rows = self.data["components"].as_array().into_iter().flatten();
        // A label has one, and a row, as they were before, several.
        let inputs: Vec<&Value> = rows
            .flat_map(|row| row["components"].as_array().into_iter().flatten().chain([&row["component"]]))
            .collect();
        let entered = |name: &str| {
            inputs.iter().find(|input| input["custom_id"] == name).and_then(|input| input["value"].as_str())
        };
        let values = form.fields.iter().filter_map(|field| {
            let value = entered(&field.name)?.chars().take(field.most()).collect();
            Some((field.name.clone(), value))
        });
        Entry {
            form: form.title.clone(),
            by: self.by.clone(),
            name: self.name.clone(),
            message: self.message.clone(),
            values: values.collect::<BTreeMap<_, _>>(),
        }
    }
}

/// Says something to who pressed or filled in, and to nobody else.
fn say(text: &str) -> Value {
    let data = json!({"content": text, "flags": EPHEMERAL, "allowed_mentions": {"parse": []}});
    json!({"type": callback::MESSAGE, "data": data})
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::channels::discord::forms::PREFIX;

    fn anything() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            Just(json!("a")),
            any::<u64>().prop_map(Value::from),
            "[0-9]{1,20}".prop_map(Value::from),
            "gatepost:form:[0-9a-f]{32}:[0-9]{1,3}".prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            let names = "id|type|token|data|custom_id|components|component|value|member|user|message|name";
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(names, inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_left(mut event in anything(), data in anything()) {
            Interaction::read(&event);
            // One that is ours, with whatever somebody's program makes of the rest.
            let field = json!({"name": "a", "label": "A", "required": true, "max": 3});
            let form: Form = serde_json::from_value(json!({"title": "T", "fields": [field]})).unwrap();
            if !event.is_object() {
                event = json!({});
            }
            event["type"] = FILLED_IN.into();
            event["id"] = "1".into();
            event["token"] = "t".into();
            event["user"] = json!({"id": "2"});
            event["member"] = Value::Null;
            event["data"] = json!({"custom_id": format!("{PREFIX}{}:0", "a".repeat(32)), "components": data});
            let read = Interaction::read(&event).expect("it is ours");
            for (name, value) in read.entry(&form).values {
                prop_assert!(name == "a" && value.chars().count() <= 3);
            }
        }
    }
}
