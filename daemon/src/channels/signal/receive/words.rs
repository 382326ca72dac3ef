//! What a message says: its text with the names of who is mentioned, its files, and in words what is neither.

use serde_json::Value;

use super::{
    envelope::{Me, referred, somebody},
    files::{self, Sent},
    names::Names,
};
use crate::channels::received::{ReplyTo, Words};

/// Mentions, lines of a poll and the like, as far as they are looked at.
const MOST: usize = 100;

/// Words as they were read: the files are still at signal-cli.
pub(super) struct Said {
    pub(super) words: Words,
    pub(super) files: Vec<Sent>,
    /// Whether the account is meant.
    pub(super) mentions_me: bool,
}

/// What a message says; nothing if nobody says anything with it.
pub(super) fn read(data: &Value, me: &Me, names: &Names) -> Option<Said> {
    let text = data["message"].as_str().unwrap_or_default();
    let mut words = Words {
        text: named(text, &data["mentions"], names),
        reply_to: reply(data, me, names),
        ..Words::default()
    };
    for told in described(data) {
        if !words.text.is_empty() {
            words.text.push('\n');
        }
        words.text.push_str(&told);
    }
    // It is to be seen once: what the hub keeps is seen as long as it is kept.
    let once = data["viewOnce"] == true;
    let (files, more) = if once { Default::default() } else { files::sent(data) };
    let missing = [
        (once, "a file to be viewed once: open it in a Signal application"),
        (data["sticker"].is_object(), "a sticker: signal-cli tells its number only"),
        (data["payment"].is_object(), "a payment: open it in a Signal application"),
    ];
    let missing = missing.into_iter().filter(|(is, _)| *is).map(|(_, what)| what.to_owned());
    words.missing = missing.chain(more).collect();
    if words.text.is_empty() && files.is_empty() && words.missing.is_empty() {
        return None;
    }
    let answers_me = words.reply_to.as_ref().is_some_and(|reply| reply.mine);
    let mentions_me = answers_me || mentions(&data["mentions"]).any(|mention| mention.is(me));
    Some(Said { words, files, mentions_me })
}

/// <https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/json/JsonMention.java>
struct Mention {
    id: String,
    number: Option<String>,
    /// Where it stands, in UTF-16 units, as Signal counts.
    start: u64,
    length: u64,
}

impl Mention {
    fn is(&self, me: &Me) -> bool {
        me.is(&self.id) || self.number.as_deref().is_some_and(|number| me.is(number))
    }
}

fn mentions(mentions: &Value) -> impl Iterator<Item = Mention> {
    mentions.as_array().into_iter().flatten().take(MOST).filter_map(|mention| {
        let (id, number) = somebody(&mention["uuid"], &mention["number"])?;
        let (start, length) = (mention["start"].as_u64()?, mention["length"].as_u64()?);
        Some(Mention { id, number, start, length })
    })
}

/// Whom a message or what it quotes mentions.
pub(super) fn mentioned(data: &Value) -> impl Iterator<Item = String> {
    mentions(&data["mentions"]).chain(mentions(&data["quote"]["mentions"])).map(|mention| mention.id)
}

/// A text with names in the places of who is mentioned: Signal puts one character there, U+FFFC, and says beside the text whom it stands
/// for.
fn named(text: &str, all: &Value, names: &Names) -> String {
    let mut all: Vec<Mention> = mentions(all).collect();
    all.sort_by_key(|mention| mention.start);
    let (mut named, mut at, mut all) = (String::with_capacity(text.len()), 0, all.into_iter().peekable());
    let mut stood_for = 0;
    for letter in text.chars() {
        while let Some(mention) = all.next_if(|mention| mention.start <= at) {
            if mention.start == at {
                let name = names.person(&mention.id).or(mention.number.as_deref()).unwrap_or(&mention.id);
                named.push('@');
                named.push_str(name);
                stood_for = at.saturating_add(mention.length);
            }
        }
        if at >= stood_for {
            named.push(letter);
        }
        at += letter.len_utf16() as u64;
    }
    named
}

/// The message that it answers, or the story.
fn reply(data: &Value, me: &Me, names: &Names) -> Option<ReplyTo> {
    let (quote, story) = (&data["quote"], &data["storyContext"]);
    let answered = match quote.is_object() {
        true => referred(&quote["authorUuid"], &quote["authorNumber"], &quote["id"], me)?,
        false => referred(&story["authorUuid"], &story["authorNumber"], &story["sentTimestamp"], me)?,
    };
    let text = quote["text"].as_str().map(|text| named(text, &quote["mentions"], names));
    Some(ReplyTo { id: answered.id, mine: answered.mine, author: Some(answered.author), text })
}

/// What is no text, as one.
fn described(data: &Value) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().trim().to_owned();
    let mut told = Vec::new();
    // `JsonSharedContact`.
    for contact in data["contacts"].as_array().into_iter().flatten().take(MOST) {
        let of = |list: &str| {
            contact[list].as_array().into_iter().flatten().take(MOST).map(|one| word(&one["value"]))
        };
        let name = ["given", "middle", "family"].map(|part| word(&contact["name"][part]));
        let parts =
            name.into_iter().chain([word(&contact["organization"])]).chain(of("phone")).chain(of("email"));
        told.push(parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "));
    }
    // `JsonPollCreate`.
    let poll = &data["pollCreate"];
    if poll.is_object() {
        let options = poll["options"].as_array().into_iter().flatten().take(MOST);
        told.push(
            options.fold(word(&poll["question"]), |text, option| format!("{text}\n- {}", word(option))),
        );
    }
    told.push(word(&data["payment"]["note"]));
    told.retain(|text| !text.is_empty());
    told
}
