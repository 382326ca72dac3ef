//! Cards: Discord's embeds, looked at before a message with one is taken.
//!
//! A card is one embed, or `{"embeds": […]}` with up to ten. What Discord would not take is said here, in terms of the card, while
//! whoever wrote it is still there; a member that it would ignore is refused too, for then it would arrive otherwise than it
//! was meant.

use serde_json::{Map, Value};

/// The longest JSON of a card, in bytes: 6,000 characters, their escapes, and addresses.
pub(super) const MAX_BYTES: usize = 48 * 1024;

/// <https://docs.discord.com/developers/resources/message#embed-object-embed-limits>.
const MAX_EMBEDS: usize = 10;
const MAX_FIELDS: usize = 25;
/// Of all embeds of a message together.
const MAX_TOGETHER: usize = 6000;
/// As in Discord's API specification, `RichEmbed`.
const MAX_URL: usize = 2048;
const MAX_COLOR: u64 = 0xff_ff_ff;

/// The embeds of a card.
pub(super) fn embeds(card: &Value) -> Vec<Value> {
    match card.as_object().and_then(|card| card.get("embeds")) {
        Some(Value::Array(embeds)) => embeds.clone(),
        _ => vec![card.clone()],
    }
}

/// Whether it is one; what is wrong with it.
pub(super) fn check(card: &Value) -> Result<(), String> {
    if let Some(several) = card.as_object().filter(|card| card.contains_key("embeds"))
        && (several.len() > 1 || !several["embeds"].is_array())
    {
        return Err("a card of several embeds is {\"embeds\": […]}, and nothing beside it".into());
    }
    let embeds = embeds(card);
    if embeds.is_empty() || embeds.len() > MAX_EMBEDS {
        return Err(format!("a card has up to {MAX_EMBEDS} embeds, and one at least"));
    }
    let mut together = 0;
    for embed in &embeds {
        let embed =
            embed.as_object().ok_or("an embed is an object such as {\"title\": …, \"description\": …}")?;
        if embed.is_empty() {
            return Err("an embed has nothing in it".into());
        }
        for (name, value) in embed {
            together += member(name, value)?;
        }
    }
    match together > MAX_TOGETHER {
        true => {
            Err(format!("the embeds have {together} characters together, at most {MAX_TOGETHER} are taken"))
        }
        false => Ok(()),
    }
}

/// Checks a member of an embed; how many characters it counts.
fn member(name: &str, value: &Value) -> Result<usize, String> {
    match name {
        "title" => text(name, value, 256),
        "description" => text(name, value, 4096),
        "url" => url(name, value).map(|()| 0),
        "timestamp" => match value.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok()) {
            Some(_) => Ok(0),
            None => Err("timestamp is no time such as 2026-01-31T12:00:00Z".into()),
        },
        "color" => match value.as_u64().filter(|color| *color <= MAX_COLOR) {
            Some(_) => Ok(0),
            None => Err(format!("color is no number from 0 to {MAX_COLOR}")),
        },
        "footer" => object(name, value, &[("text", Some(2048)), ("icon_url", None)]),
        "author" => object(name, value, &[("name", Some(256)), ("url", None), ("icon_url", None)]),
        "image" | "thumbnail" => object(name, value, &[("url", None)]),
        "fields" => {
            let fields = value.as_array().filter(|fields| fields.len() <= MAX_FIELDS);
            let fields = fields.ok_or_else(|| format!("fields is no list of up to {MAX_FIELDS}"))?;
            fields.iter().map(field).sum()
        }
        other => Err(format!(
            "an embed has no {:?}, but title, description, url, timestamp, color, footer, author, image, thumbnail and fields",
            clip(other)
        )),
    }
}

fn field(field: &Value) -> Result<usize, String> {
    let field = field.as_object().ok_or("a field is an object with name and value")?;
    if let Some(other) = field.keys().find(|name| !["name", "value", "inline"].contains(&name.as_str())) {
        return Err(format!("a field has no {:?}, but name, value and inline", clip(other)));
    }
    if field.get("inline").is_some_and(|inline| !inline.is_boolean()) {
        return Err("a field's inline is true or false".into());
    }
    let part = |name: &str, most| text(name, field.get(name).unwrap_or(&Value::Null), most);
    Ok(part("name", 256)? + part("value", 1024)?)
}

/// An object of texts, with the most characters that each has, and of addresses. The first is needed.
fn object(name: &str, value: &Value, members: &[(&str, Option<usize>)]) -> Result<usize, String> {
    let object: &Map<String, Value> = value.as_object().ok_or_else(|| format!("{name} is no object"))?;
    let mut count = 0;
    for (member, value) in object {
        count += match members.iter().find(|(known, _)| known == member) {
            Some((_, Some(most))) => text(&format!("{name}.{member}"), value, *most)?,
            Some((_, None)) => url(&format!("{name}.{member}"), value).map(|()| 0)?,
            None => return Err(format!("{name} has no {:?}", clip(member))),
        };
    }
    match members.first() {
        Some((needed, _)) if !object.contains_key(*needed) => Err(format!("{name} has no {needed}")),
        _ => Ok(count),
    }
}

/// UTF-16 units: never fewer than what Discord counts.
fn text(name: &str, value: &Value, most: usize) -> Result<usize, String> {
    let count = value.as_str().filter(|text| !text.trim().is_empty()).map(|text| text.encode_utf16().count());
    match count {
        Some(count) if count <= most => Ok(count),
        Some(count) => Err(format!("{name} has {count} characters, at most {most} are taken")),
        None => Err(format!("{name} is no text, or an empty one")),
    }
}

fn url(name: &str, value: &Value) -> Result<(), String> {
    let is_one = |text: &&str| {
        text.len() <= MAX_URL
            && reqwest::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
    };
    match value.as_str().filter(is_one) {
        Some(_) => Ok(()),
        None => Err(format!("{name} is no http or https address of up to {MAX_URL} bytes")),
    }
}

/// Outside text for an error message: bounded.
fn clip(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_embed_within_the_limits_is_a_card() {
        let full = json!({
            "title": "t".repeat(256),
            "description": "d".repeat(4096),
            "url": "https://a.test/",
            "timestamp": "2026-01-31T12:00:00.000Z",
            "color": 0xff_ff_ff,
            "footer": {"text": "f", "icon_url": "https://a.test/i.png"},
            "author": {"name": "a", "url": "https://a.test/"},
            "image": {"url": "https://a.test/i.png"},
            "thumbnail": {"url": "https://a.test/i.png"},
            "fields": [{"name": "n", "value": "v", "inline": true}],
        });
        assert_eq!(check(&full), Ok(()));
        assert_eq!(check(&json!({"embeds": [{"title": "one"}, {"title": "two"}]})), Ok(()));
        assert_eq!(embeds(&full).len(), 1);
    }

    #[test]
    fn what_discord_would_not_take_is_said() {
        let field = json!({"name": "n", "value": "v"});
        let many: Vec<_> = (0..11).map(|_| json!({"title": "t"})).collect();
        let long: Vec<_> = (0..2).map(|_| json!({"description": "d".repeat(3001)})).collect();
        for (card, words) in [
            (json!("text"), "an object"),
            (json!({}), "nothing"),
            (json!({"embeds": []}), "up to 10"),
            (json!({"embeds": {}}), "several embeds"),
            (json!({"embeds": [{"title": "t"}], "title": "t"}), "several embeds"),
            (json!({"embeds": many}), "up to 10"),
            (json!({"embeds": long}), "6002 characters"),
            (json!({"title": "ä".repeat(257)}), "257"),
            (json!({"title": " "}), "title"),
            (json!({"titel": "t"}), "titel"),
            (json!({"url": "javascript:alert(1)"}), "url"),
            (json!({"color": "red"}), "color"),
            (json!({"color": 0x1_00_00_00}), "color"),
            (json!({"timestamp": "today"}), "timestamp"),
            (json!({"image": {}}), "image has no url"),
            (json!({"author": {"name": "a", "bio": "b"}}), "bio"),
            (json!({"footer": "f"}), "footer"),
            (json!({"fields": vec![field; 26]}), "up to 25"),
            (json!({"fields": [{"name": "n"}]}), "value"),
            (json!({"fields": [{"name": "n", "value": "v", "inline": 1}]}), "inline"),
            (json!({"fields": [{"name": "n", "value": "v", "more": 1}]}), "more"),
        ] {
            let why = check(&card).unwrap_err();
            assert!(why.contains(words), "{words}: {why}");
        }
    }
}
