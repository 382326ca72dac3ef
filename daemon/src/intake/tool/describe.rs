//! Descriptions and schemas, made for who asks: from the parameters' one table, the capabilities of the channels that
//! the caller may write to, and its allowlist.

use serde_json::{Map, Value, json};

use super::{Described, simple};
use crate::{
    admission::plan,
    agents::{Caller, Role},
    channels::{Capabilities, formats},
    message::{
        action::Action,
        parameters::{PARAMETERS, Parameter},
        schema,
    },
    pipeline::Pipeline,
    policy::Origin,
};

/// Targets that a description names, at most.
const MOST_TARGETS: usize = 20;

/// What leads to the guides.
const HOW: &str = "How to write for a channel, before your first message there:";

/// Accounts that the caller may write from, on one channel, that can do the same.
struct Reach {
    can: &'static Capabilities,
    accounts: Vec<String>,
}

/// What the caller may write from: on a channel where it is bound to one account that one, and the one that its turn came to.
fn reach(pipeline: &Pipeline, caller: &Caller, origin: Option<&Origin>) -> Vec<Reach> {
    let rights = pipeline.rights(caller.agent());
    let mut all: Vec<Reach> = Vec::new();
    for (channel, account, adapter) in pipeline.accounts().iter() {
        let bound = pipeline.bound(caller.agent(), channel).is_none_or(|bound| bound == account);
        let current =
            origin.is_some_and(|origin| origin.place.channel == channel && origin.account == account);
        if rights.is_none_or(|rights| !rights.reach(channel)) || !(bound || current) {
            continue;
        }
        // Accounts of one channel may differ in what they can do.
        let can = adapter.capabilities();
        match all.iter_mut().find(|known| std::ptr::eq(known.can, can)) {
            Some(known) => known.accounts.push(account.to_owned()),
            None => all.push(Reach { can, accounts: vec![account.to_owned()] }),
        }
    }
    all
}

/// The accounts on a channel.
fn accounts<'a>(reach: &'a [Reach], channel: &str) -> Vec<&'a str> {
    let there = reach.iter().filter(|reach| reach.can.channel == channel);
    there.flat_map(|reach| &reach.accounts).map(String::as_str).collect()
}

/// The channels, each once.
fn channels(reach: &[Reach]) -> Vec<&'static str> {
    let mut channels: Vec<&str> = Vec::new();
    for reach in reach {
        if !channels.contains(&reach.can.channel) {
            channels.push(reach.can.channel);
        }
    }
    channels
}

/// All tools, for a turn of `caller` that came from `origin`.
pub(super) fn all(pipeline: &Pipeline, caller: &Caller, origin: Option<&Origin>) -> Vec<Described> {
    let (rights, reach) = (pipeline.rights(caller.agent()), reach(pipeline, caller, origin));
    let targets: Vec<String> = rights.map(|rights| rights.entries().collect()).unwrap_or_default();
    // Nobody writes to the shell, and who may write nowhere has nothing to answer.
    let answers = (caller.role == Role::Agent && !reach.is_empty()).then(reply);
    let guide_here = origin.and_then(|origin| pipeline.guide_for_turn(caller.agent(), origin));
    let mut all = vec![
        Described {
            name: "message".into(),
            description: description(&reach, &targets, origin, guide_here.as_deref()),
            input_schema: schema(&reach, pipeline.files().speaks()),
        },
        Described {
            name: "send_message".into(),
            description: format!(
                "Post a text to a channel. {} The answer says whether it was sent, or is held until a person approves.",
                allowed(&targets)
            ),
            input_schema: simple::schema(&channels(&reach)),
        },
        Described {
            name: "receipt".into(),
            description: "What has become of a message since: sent, held, denied, failed, and why.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "The id of its receipt."},
                    "wait": {"type": "integer", "minimum": 0, "maximum": 600, "description": "For how many seconds to wait for its end."},
                },
                "required": ["id"],
                "additionalProperties": false,
            }),
        },
        Described {
            name: "cancel".into(),
            description: "Take a message back that has not left yet.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {"id": {"type": "string", "description": "The id of its receipt."}},
                "required": ["id"],
                "additionalProperties": false,
            }),
        },
        Described {
            name: "inbox".into(),
            description:
                "What the hub has to tell you: every message that did not arrive, and why, those that \
                          went after a person had been asked, and what people entered into your forms."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "after": {"type": "integer", "description": "The number of the last notice that you have read."},
                },
                "additionalProperties": false,
            }),
        },
    ];
    if !reach.is_empty() {
        all.push(guide(&channels(&reach)));
    }
    if let Some(reply) = answers {
        // Behind what models know, and before what asks about it.
        all.insert(2, reply);
    }
    all
}

/// How to write, before anything has left.
fn guide(channels: &[&str]) -> Described {
    Described {
        name: "guide".into(),
        description: "How to write for a channel: what it shows of Markdown, its limits, and what can be sent beside text \
                      (files, voice, polls, buttons, cards, threads). Read it before your first message there."
            .into(),
        input_schema: json!({
            "type": "object",
            "properties": {"channel": {"type": "string", "enum": channels, "description": "The channel."}},
            "required": ["channel"],
            "additionalProperties": false,
        }),
    }
}

/// The automatic path, for the program that runs an agent's turns.
fn reply() -> Described {
    Described {
        name: "reply".into(),
        description: "For the program that runs your turns: deliver what a turn has said to where it came from. Its text goes there; \
                      each <message to=\"name\">…</message> block in it goes to whom it names. A model that has called `message` \
                      does not call this as well."
            .into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "context": {"type": "string", "description": "The context that came with the message of this turn."},
                "text": {"type": "string", "description": "What the model wrote, in Markdown."},
                "response": {
                    "type": "object",
                    "description": "What is to be sent, where that has been decided: it takes the place of `text`.",
                    "properties": {
                        "text": {"type": "string"},
                        "voiceRequested": {"type": "boolean", "description": "Also as a voice message, after the text."},
                        "voiceText": {"type": "string", "description": "What is spoken, where it is not the text."},
                        "attachments": {"type": "array", "items": {"type": ["object", "string"]}},
                        "skipAssistantHistory": {"type": "boolean", "description": "Always true: no history of yours is written."},
                    },
                    "additionalProperties": false,
                },
                "skillTransition": {"description": "The turn goes on elsewhere: nothing is sent."},
            },
            "required": ["context"],
            "additionalProperties": false,
        }),
    }
}

fn description(all: &[Reach], targets: &[String], origin: Option<&Origin>, guide: Option<&str>) -> String {
    let mut lines = vec!["Send, delete, and manage messages via channel adapters.".to_owned()];
    let is_current = |reach: &&Reach| {
        origin.is_some_and(|origin| {
            origin.place.channel == reach.can.channel && reach.accounts.contains(&origin.account)
        })
    };
    let (here, elsewhere): (Vec<&Reach>, Vec<&Reach>) = all.iter().partition(is_current);
    for reach in here {
        let (channel, actions) = (reach.can.channel, plan::actions(reach.can).join(", "));
        lines.push(format!("Current channel ({channel}) supports: {actions}. Answer there with to=current."));
        lines.extend(more(reach.can).map(str::to_owned));
        lines.extend(guide.map(|guide| format!("How to write there:\n{}", guide.trim_end())));
    }
    for reach in elsewhere {
        let (channel, actions) = (reach.can.channel, plan::actions(reach.can).join(", "));
        let whose = match accounts(all, channel).len() > reach.accounts.len() {
            true => format!(" by the account {}", reach.accounts.join(" or ")),
            false => String::new(),
        };
        lines.push(format!(
            "{channel}{whose} supports: {actions}. An address there is {}.",
            reach.can.address_hint
        ));
        if origin.is_none() {
            lines.extend(more(reach.can).map(str::to_owned));
        }
    }
    if !all.is_empty() {
        lines.push(format!("{HOW} call `guide`, or read gatepost://guide/CHANNEL."));
    }
    lines.push(allowed(targets));
    lines.push(
        "A message that leaves its own conversation may wait for a person's approval: then the answer says held, and it must not be sent a second time."
            .into(),
    );
    lines.join("\n")
}

fn more(can: &Capabilities) -> impl Iterator<Item = &'static str> {
    let buttons = can.buttons.map(|_| "Inline buttons available with buttons=[[{text,callback_data}]].");
    let polls = can.polls.map(|_| "Polls available with action=poll.");
    buttons.into_iter().chain(polls)
}

fn allowed(targets: &[String]) -> String {
    match targets {
        [] => "No target is allowed to you: ask the operator.".into(),
        _ if targets.iter().any(|target| target == "*") => "You may write to any target.".into(),
        _ => {
            let shown = targets.iter().take(MOST_TARGETS).cloned().collect::<Vec<_>>().join(", ");
            let left = targets.len().saturating_sub(MOST_TARGETS);
            let more = if left > 0 { format!(" and {left} more") } else { String::new() };
            format!("You may write to: {shown}{more}.")
        }
    }
}

fn schema(reach: &[Reach], speaks: bool) -> Value {
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
            let limit = |channel| Some(format!("{channel} {}", formats::format(channel)?.flavour.limit?));
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
