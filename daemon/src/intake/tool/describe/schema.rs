//! The schema of the `message` tool: the parameters that are of use to the caller, within what its channels take.

use serde_json::{Map, Value, json};

use super::{Reach, accounts, channels};
use crate::{
    admission::plan,
    channels::{Capabilities, registry},
    message::{
        action::Action,
        parameters::{PARAMETERS, Parameter},
        schema,
    },
};

/// The schema of the tool, for who may write from these accounts. `speaks`: whether words can be spoken.
pub(super) fn schema(reach: &[Reach], speaks: bool) -> Value {
    let actions: Vec<Action> = Action::ALL
        .iter()
        .copied()
        .filter(|action| reach.iter().any(|reach| plan::actions(reach.can).contains(&action.word())))
        .collect();
    let mut properties = Map::new();
    for parameter in PARAMETERS {
        let of_use = actions.iter().any(|&action| parameter.goes_with(action));
        let several = parameter.names[0] != "accountId" || !with_several(reach).is_empty();
        if of_use && several && reach.iter().any(|reach| has(reach, parameter)) {
            let mut property = property(parameter, &actions, reach);
            if parameter.names[0] == "voice" && speaks {
                property["description"] =
                    format!("{} Or {{text}}: words that are spoken for you.", parameter.about).into();
            }
            properties.insert(parameter.names[0].into(), property);
        }
    }
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// Whether a channel has what a parameter is for.
fn has(reach: &Reach, parameter: &Parameter) -> bool {
    let can = reach.can;
    match parameter.names[0] {
        "threadId" => can.threads,
        "replyToId" => can.replies,
        "silent" => can.silent,
        "voice" | "attachments" | "media" => can.files.is_some(),
        "buttons" => can.buttons.is_some(),
        "selects" => can.selects.is_some(),
        "card" => can.cards.is_some(),
        "pollMulti" => can.polls.is_some_and(|polls| polls.multiple),
        "pollDurationHours" | "pollDurationSeconds" => can.polls.is_some_and(|polls| polls.seconds > 0),
        "pollAnonymous" => can.polls.is_some_and(|polls| polls.anonymous),
        _ => true,
    }
}

/// The channels on which there is more than one account.
fn with_several(reach: &[Reach]) -> Vec<&'static str> {
    channels(reach).into_iter().filter(|channel| accounts(reach, channel).len() > 1).collect()
}

/// Where a bound of a parameter is in its schema, and what a channel has for it; zero, where it has nothing.
type Bound = (&'static str, &'static str, fn(&Capabilities) -> usize);

/// Each bound in the schema of a call that channels have a say in.
const BOUNDS: &[Bound] = &[
    ("pollQuestion", "/maxLength", |can| can.polls.map_or(0, |polls| polls.question)),
    ("pollOption", "/maxItems", |can| can.polls.map_or(0, |polls| polls.options)),
    ("pollOption", "/items/maxLength", |can| can.polls.map_or(0, |polls| polls.option)),
    ("threadName", "/maxLength", |can| if can.does(Action::Thread) { can.thread_name } else { 0 }),
    ("statusText", "/maxLength", |can| if can.does(Action::SetPresence) { can.status_text } else { 0 }),
    ("buttons", "/maxItems", |can| can.buttons.map_or(0, |buttons| buttons.rows)),
    ("buttons", "/items/maxItems", |can| can.buttons.map_or(0, |buttons| buttons.per_row)),
    ("buttons", "/items/items/properties/text/maxLength", |can| can.buttons.map_or(0, |rules| rules.text)),
    ("buttons", "/items/items/properties/callback_data/maxLength", |can| {
        can.buttons.map_or(0, |rules| rules.data)
    }),
    ("buttons", "/items/items/properties/url/maxLength", |can| can.buttons.map_or(0, |rules| rules.url)),
    ("selects", "/maxItems", |can| can.selects.map_or(0, |rules| rules.in_all)),
    ("selects", "/items/properties/id/maxLength", |can| can.selects.map_or(0, |rules| rules.id)),
    ("selects", "/items/properties/placeholder/maxLength", |can| {
        can.selects.map_or(0, |rules| rules.placeholder)
    }),
    ("selects", "/items/properties/options/maxItems", |can| can.selects.map_or(0, |rules| rules.options)),
    ("selects", "/items/properties/options/items/properties/label/maxLength", |can| {
        can.selects.map_or(0, |rules| rules.text)
    }),
    ("selects", "/items/properties/options/items/properties/value/maxLength", |can| {
        can.selects.map_or(0, |rules| rules.text)
    }),
];

/// Puts in the most that any of these channels takes. A schema counts characters, of which no text has more than it has of a
/// platform's own units.
fn bound(parameter: &str, property: &mut Value, reach: &[Reach]) {
    for (_, at, of) in BOUNDS.iter().filter(|(name, ..)| *name == parameter) {
        let most = reach.iter().map(|reach| of(reach.can)).max().unwrap_or(0);
        if let Some(bound) = property.pointer_mut(at).filter(|_| most > 0) {
            *bound = most.into();
        }
    }
}

/// What is said of a button's form, where a channel has them.
const FORM: &str = " A form is what a press opens, {title, fields: [{name, label}]}; what somebody enters comes to your inbox.";

fn property(parameter: &Parameter, actions: &[Action], reach: &[Reach]) -> Value {
    let mut about = parameter.about.to_owned();
    let mut property = schema::of(parameter.holds);
    bound(parameter.names[0], &mut property, reach);
    match parameter.names[0] {
        "action" => property["enum"] = actions.iter().map(|action| action.word()).collect(),
        "channel" => property["enum"] = channels(reach).into(),
        "accountId" => {
            let named = with_several(reach).into_iter();
            let named = named.map(|channel| format!("{channel}: {}", accounts(reach, channel).join(", ")));
            about = format!("{about} {}.", named.collect::<Vec<_>>().join("; "));
        }
        "buttons" if reach.iter().any(|reach| reach.can.forms.is_ok()) => about.push_str(FORM),
        "buttons" => {
            about = about.replace("url or form", "url");
            if let Some(members) =
                property.pointer_mut("/items/items/properties").and_then(Value::as_object_mut)
            {
                members.remove("form");
            }
        }
        "effect" => {
            let effects: Vec<&str> = reach.iter().flat_map(|reach| reach.can.effects).copied().collect();
            property["enum"] = effects.into();
        }
        "pollOption" => {
            property["minItems"] = 2.into();
        }
        "card" => {
            let mut kinds: Vec<String> = reach
                .iter()
                .filter_map(|reach| Some(format!("{} on {}", reach.can.cards?.what, reach.can.channel)))
                .collect();
            kinds.dedup();
            about = format!("{about} It is {}.", kinds.join(", "));
        }
        "attachments" | "media" => {
            for Reach { can, .. } in reach {
                if let Some(alone) = can.files.and_then(|rules| rules.alone()) {
                    let also = format!(" On {} nothing but {alone}.", can.channel);
                    if !about.contains(&also) {
                        about += &also;
                    }
                }
            }
        }
        "message" => {
            let limit = |channel| Some(format!("{channel} {}", registry::format(channel)?.flavour.limit?));
            let limits: Vec<String> = channels(reach).into_iter().filter_map(limit).collect();
            if !limits.is_empty() {
                about = format!("{about} Longer ones arrive in parts: {}.", limits.join(", "));
            }
        }
        _ => {}
    }
    property["description"] = about.into();
    property
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        channels::testing::contract,
        message::{bounds, schema::Message},
    };

    fn everywhere() -> Vec<Reach> {
        let accounts = contract::accounts();
        accounts.map(|(_, _, adapter)| Reach { can: adapter.capabilities(), accounts: vec![] }).collect()
    }

    #[test]
    fn what_is_published_and_parsed_is_the_widest_that_any_channel_takes() {
        let (all, written) = (everywhere(), Message::written());
        for (name, at, of) in BOUNDS {
            let widest = all.iter().map(|reach| of(reach.can)).max();
            let published = written["properties"][name].pointer(at).and_then(Value::as_u64);
            assert_eq!(published, widest.map(|widest| widest as u64), "{name}{at}");
        }
        let cards = all.iter().filter_map(|reach| Some(reach.can.cards?.max_bytes)).max();
        assert_eq!(cards, Some(bounds::MAX_CARD_BYTES));
        let forms = || all.iter().filter_map(|reach| reach.can.forms.ok());
        assert_eq!(forms().map(|forms| forms.fields).max(), Some(bounds::MOST_FIELDS));
        let labels = forms().map(|forms| forms.title.max(forms.label)).max();
        assert_eq!(labels, Some(bounds::MAX_FORM_LABEL));
        let names = forms().map(|forms| forms.name.max(forms.placeholder)).max();
        assert_eq!(names, Some(bounds::MAX_FORM_NAME));
    }

    #[test]
    fn the_tool_of_a_turn_says_what_its_channel_takes() {
        for reach in everywhere() {
            let can = reach.can;
            let schema = schema(&[reach], false);
            for (name, at, of) in BOUNDS {
                let Some(property) = schema["properties"].get(name).filter(|_| of(can) > 0) else { continue };
                assert_eq!(property.pointer(at), Some(&of(can).into()), "{}: {name}{at}", can.channel);
            }
        }
    }
}
