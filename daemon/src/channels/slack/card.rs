//! Cards in Slack's own blocks, looked at before anybody is asked to approve them.
//!
//! Slack would refuse a bad one only after the approval. And it would obey one that names people: a card is shown to its
//! approver as text, so what rings is refused in it as it is escaped everywhere else.

use serde_json::{Map, Value};

/// <https://docs.slack.dev/reference/block-kit/blocks>: 50 in a message, the ones of its text and buttons included.
pub(super) const BLOCKS: usize = 50;

/// What may stand in a message (<https://docs.slack.dev/reference/block-kit/blocks>).
const KINDS: &[&str] = &[
    "actions",
    "context",
    "divider",
    "header",
    "image",
    "markdown",
    "rich_text",
    "section",
    "table",
    "video",
];

/// The longest member of each name within a block, in characters, and the most elements of a list; by block, and for all
/// where no block is named. From the same reference, a page a block.
const LENGTHS: &[(&str, &str, usize)] = &[
    ("", "block_id", 255),
    ("", "action_id", 255),
    ("", "image_url", 3000),
    ("", "alt_text", 2000),
    ("", "value", 2000),
    ("", "url", 3000),
    ("markdown", "text", 12_000),
];

const LISTS: &[(&str, &str, usize)] = &[
    ("actions", "elements", 25),
    ("context", "elements", 10),
    ("section", "fields", 10),
    ("", "options", 100),
];

/// What a block must have.
const NEEDED: &[(&str, &[&str])] = &[
    ("actions", &["elements"]),
    ("context", &["elements"]),
    ("header", &["text"]),
    ("image", &["alt_text", "image_url"]),
    ("markdown", &["text"]),
    ("rich_text", &["elements"]),
    ("table", &["rows"]),
    ("video", &["alt_text", "title", "thumbnail_url", "video_url"]),
];

/// Says what is wrong with a card.
pub(super) fn check(card: &Value) -> Result<(), String> {
    let blocks = card
        .as_array()
        .or_else(|| card.as_object().filter(|card| card.len() == 1)?.get("blocks")?.as_array());
    let blocks = blocks.ok_or("a card on slack is a list of blocks, or {\"blocks\": [...]}")?;
    if blocks.is_empty() || blocks.len() > BLOCKS {
        return Err(format!("a card on slack has 1 to {BLOCKS} blocks, and this one {}", blocks.len()));
    }
    for (n, block) in blocks.iter().enumerate() {
        whole(block).map_err(|why| format!("block {}: {why}", n + 1))?;
    }
    Ok(())
}

fn whole(block: &Value) -> Result<(), String> {
    let members = block.as_object().ok_or("it is no object")?;
    let kind = block["type"].as_str().unwrap_or_default();
    if !KINDS.contains(&kind) {
        return Err(format!("its type is {kind:?}; there are {}", KINDS.join(", ")));
    }
    let needed = NEEDED.iter().filter(|(of, _)| *of == kind).flat_map(|(_, names)| *names);
    if let Some(missing) = needed.copied().find(|name| !members.contains_key(*name)) {
        return Err(format!("a block of type {kind} needs {missing}"));
    }
    match kind {
        "section" if !members.contains_key("text") && !members.contains_key("fields") => {
            return Err("a block of type section needs text or fields".into());
        }
        // Text objects: <https://docs.slack.dev/reference/block-kit/composition-objects/text-object>.
        "section" => {
            text(members, "text", 3000)?;
            members
                .get("fields")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .try_for_each(|field| is_text(field, "a field", 2000))?;
        }
        "header" => {
            text(members, "text", 150)?;
            if block["text"]["type"] != "plain_text" {
                return Err("the text of a header is of type plain_text".into());
            }
        }
        "image" => text(members, "title", 2000)?,
        "video" => text(members, "title", 200)?,
        _ => {}
    }
    within(kind, block)
}

/// A member that is a text object, where it is there.
fn text(members: &Map<String, Value>, name: &str, most: usize) -> Result<(), String> {
    members.get(name).map_or(Ok(()), |text| is_text(text, name, most))
}

fn is_text(text: &Value, name: &str, most: usize) -> Result<(), String> {
    let (kind, words) =
        (text["type"].as_str().unwrap_or_default(), text["text"].as_str().unwrap_or_default());
    if !matches!(kind, "mrkdwn" | "plain_text") {
        return Err(format!("{name} is a text object: {{\"type\": \"mrkdwn\", \"text\": \"…\"}}"));
    }
    match words.chars().count() {
        0 => Err(format!("{name} is empty")),
        n if n > most => Err(format!("{name} has {n} characters; {most} is the most")),
        _ => Ok(()),
    }
}

/// The same with its text objects of mrkdwn as they are written, however deep. Otherwise Slack makes mentions and links of words in
/// them: `verbatim`, in <https://docs.slack.dev/reference/block-kit/composition-objects/text-object>.
pub(super) fn verbatim(mut block: Value) -> Value {
    match &mut block {
        Value::Array(list) => list.iter_mut().for_each(|value| *value = verbatim(value.take())),
        Value::Object(members) => {
            members.values_mut().for_each(|value| *value = verbatim(value.take()));
            if members.get("type").is_some_and(|kind| kind == "mrkdwn") {
                members.insert("verbatim".into(), true.into());
            }
        }
        _ => {}
    }
    block
}

/// Everything within a block, however deep: lengths, and nobody who is called.
fn within(kind: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) => rings(text),
        Value::Array(list) => list.iter().try_for_each(|value| within(kind, value)),
        Value::Object(members) => {
            if matches!(members.get("type").and_then(Value::as_str), Some("broadcast" | "user" | "usergroup"))
            {
                return Err("it calls people, which a card may not".into());
            }
            members.iter().try_for_each(|(name, value)| {
                // Which conversation a file was shared in, no rule of ours could tell from its id: it may be a private one.
                if name == "slack_file" {
                    return Err(
                        "slack_file shows a file by its id, also one of another conversation: send the file as an attachment, or give its image_url"
                            .into(),
                    );
                }
                let most = |bounds: &[(&str, &str, usize)]| {
                    bounds
                        .iter()
                        .find(|(of, member, _)| *member == name && (*of == kind || of.is_empty()))
                        .map(|bound| bound.2)
                };
                if let (Value::String(text), Some(most)) = (value, most(LENGTHS))
                    && text.chars().count() > most
                {
                    return Err(format!("{name} has more than {most} characters"));
                }
                if let (Value::Array(list), Some(most)) = (value, most(LISTS))
                    && !(1..=most).contains(&list.len())
                {
                    return Err(format!("{name} has {} members, and may have 1 to {most}", list.len()));
                }
                within(kind, value)
            })
        }
        _ => Ok(()),
    }
}

/// `<!channel>`, `<@U…>`: <https://docs.slack.dev/messaging/formatting-message-text>.
fn rings(text: &str) -> Result<(), String> {
    match text.contains("<!") || text.contains("<@") {
        true => Err("it calls people (<!…> or <@…>), which a card may not".into()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn section(text: &str) -> Value {
        json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } })
    }

    #[test]
    fn a_card_shows_no_file_by_its_id_however_deep_it_stands() {
        let file = json!({"id": "F0123456789"});
        let picture = json!({"type": "image", "slack_file": file, "alt_text": "Plans"});
        let words = json!({"type": "mrkdwn", "text": "Plans"});
        for block in [
            picture.clone(),
            json!({"type": "image", "image_url": "https://a.test/b.png", "slack_file": file, "alt_text": "Plans"}),
            json!({"type": "section", "text": words, "accessory": picture}),
            json!({"type": "context", "elements": [words, picture]}),
        ] {
            let why = check(&json!([block])).unwrap_err();
            assert!(why.contains("image_url"), "{why}");
        }
        let picture = json!({"type": "image", "image_url": "https://a.test/b.png", "alt_text": "Plans"});
        assert_eq!(check(&json!([picture])), Ok(()));
    }

    #[test]
    fn no_word_of_a_card_becomes_a_mention_whatever_it_says_itself() {
        let text = |kind: &str| json!({ "type": kind, "text": "@channel @here" });
        let shown = |text: &Value| {
            json!([
                { "type": "section", "text": text, "fields": [text], "accessory": {
                    "type": "button", "action_id": "a", "text": plain(),
                    "confirm": { "title": plain(), "text": text },
                } },
                { "type": "context", "elements": [text, { "type": "image", "alt_text": "i" }] },
            ])
        };
        let mut sent = text("mrkdwn");
        sent["verbatim"] = true.into();
        for said in [None, Some(false), Some(true)] {
            let mut written = text("mrkdwn");
            said.into_iter().for_each(|said| written["verbatim"] = said.into());
            assert_eq!(verbatim(shown(&written)), shown(&sent));
        }
        assert_eq!(verbatim(text("plain_text")), text("plain_text"));
    }

    fn plain() -> Value {
        json!({ "type": "plain_text", "text": "B" })
    }

    #[test]
    fn good_blocks_pass_in_either_form() {
        let blocks = json!([
            { "type": "header", "text": { "type": "plain_text", "text": "T" } },
            section("*b*"),
            { "type": "section", "fields": [{ "type": "mrkdwn", "text": "f" }] },
            { "type": "divider" },
            { "type": "image", "image_url": "https://a.test/i.png", "alt_text": "i" },
            { "type": "context", "elements": [{ "type": "mrkdwn", "text": "c" }] },
            { "type": "actions", "elements": [{ "type": "button", "action_id": "a",
                "text": { "type": "plain_text", "text": "B" }, "value": "1" }] },
        ]);
        assert_eq!(check(&blocks), Ok(()));
        assert_eq!(check(&json!({ "blocks": blocks })), Ok(()));
        assert_eq!(check(&json!(vec![section("x"); 50])), Ok(()));
    }

    #[test]
    fn what_slack_would_refuse_is_refused_before_with_its_place() {
        for (card, why) in [
            (json!("x"), "list of blocks"),
            (json!([]), "1 to 50"),
            (json!(vec![section("x"); 51]), "1 to 50"),
            (json!([1]), "no object"),
            (json!([section("x"), { "type": "carousel" }]), "block 2: its type"),
            (json!([{ "type": "section" }]), "text or fields"),
            (json!([section(&"x".repeat(3001))]), "3000"),
            (json!([section("")]), "empty"),
            (json!([{ "type": "header", "text": { "type": "mrkdwn", "text": "T" } }]), "plain_text"),
            (json!([{ "type": "header", "text": { "type": "plain_text", "text": "T".repeat(151) } }]), "150"),
            (json!([{ "type": "image", "alt_text": "i" }]), "image_url"),
            (
                json!([{ "type": "context", "elements": vec![json!({ "type": "mrkdwn", "text": "c" }); 11] }]),
                "1 to 10",
            ),
            (json!([{ "type": "actions", "elements": [] }]), "1 to 25"),
            (json!([{ "type": "divider", "block_id": "b".repeat(256) }]), "255"),
            (json!([section("<!channel> hello")]), "calls people"),
            (json!([section("<@U012AB3CD>")]), "calls people"),
            (
                json!([{ "type": "rich_text", "elements": [{ "type": "broadcast", "range": "here" }] }]),
                "calls people",
            ),
        ] {
            let said = check(&card).unwrap_err();
            assert!(said.contains(why), "{card}: {said}");
        }
    }
}
