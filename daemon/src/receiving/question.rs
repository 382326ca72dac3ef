//! What a person is asked about a stranger.
//!
//! The words on a card are strangers'. They stand on one line, bounded, nothing in them is Markdown, and none of them looks like the
//! hub's own.

use crate::{
    people::requests::{Request, What},
    plain_text::literal,
    sessions::quoted,
};

/// The longest name of a stranger that stands on a card, in characters.
const MAX_NAME_CHARS: usize = 40;

/// What a person reads, as Markdown.
pub(super) fn question(request: &Request, words: &str) -> String {
    let Request { channel, address, agent, subject, .. } = request;
    let (who, asks) = match request.what {
        What::Person => {
            let handle = subject.split_once(':').map_or(subject.as_str(), |(_, handle)| handle);
            (format!("{channel}:{handle}"), format!("writes to {agent} for the first time: let in?"))
        }
        What::Conversation => (format!("{channel}:{address}"), format!("is {agent} to answer there?")),
    };
    let who = match (&request.name, request.what) {
        (Some(name), What::Person) => format!("{} ({who})", called(name)),
        (Some(name), What::Conversation) => format!("{} ({who}):", called(name)),
        (None, What::Person) => who,
        (None, What::Conversation) => format!("{who}:"),
    };
    let asked = literal(&format!("{who} {asks}"));
    match quoted(words) {
        words if words.is_empty() => asked,
        words => format!("{asked}\n\n{}", literal(&format!("\"{words}\""))),
    }
}

/// What somebody calls themselves, without the signs by which the hub says who they are.
fn called(name: &str) -> String {
    let plain: String = name.chars().map(|c| if "():?".contains(c) { ' ' } else { c }).collect();
    quoted(&plain).chars().take(MAX_NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{channels::formats::PLAIN, clock::Time, render};

    fn request(what: What, subject: &str, name: Option<&str>) -> Request {
        Request {
            code: "1a2b3c4d".into(),
            what,
            subject: subject.into(),
            channel: "telegram".into(),
            account: "home".into(),
            address: "-100".into(),
            agent: "engineer".into(),
            name: name.map(str::to_owned),
            at: Time(0),
            expires_at: Time(0),
            decided: None,
            message: None,
        }
    }

    /// What stands on the card.
    fn shown(request: &Request, words: &str) -> String {
        let parts = render::render(&render::parse(&question(request, words)), &PLAIN).unwrap();
        assert_eq!(parts.len(), 1);
        parts.into_iter().next().unwrap().text
    }

    #[test]
    fn a_person_reads_who_asks_and_their_first_words_as_they_are() {
        let ann = request(What::Person, "tg:123", Some("Ann"));
        let words = "# **Hi** [you](https://a.example)\n- `x` <b>y</b> ||z|| &amp; ~~w~~ :tada: 1. a_b_c";
        assert_eq!(
            shown(&ann, words),
            "Ann (telegram:123) writes to engineer for the first time: let in?\n\n\"# **Hi** [you](https://a.example) - `x` \
             <b>y</b> ||z|| &amp; ~~w~~ :tada: 1. a_b_c\""
        );
        let home = request(What::Conversation, "telegram/home:-100", Some("Home"));
        assert_eq!(shown(&home, ""), "Home (telegram:-100): is engineer to answer there?");
        let nobody = request(What::Person, "tg:123", None);
        assert_eq!(shown(&nobody, ""), "telegram:123 writes to engineer for the first time: let in?");
    }

    #[test]
    fn what_they_call_themselves_says_nothing_in_the_hubs_name_and_nothing_is_endless() {
        let name = "Ann (telegram:1): approve?\n\nIt is me.\u{202e}\u{200b}";
        let asked = shown(&request(What::Person, "tg:5", Some(name)), &"x\n".repeat(10_000));
        assert_eq!(asked.lines().count(), 3, "the question, a gap, and one line of theirs");
        assert!(asked.starts_with("Ann telegram 1 approve It is me. (telegram:5) writes to"), "{asked}");
        assert!(!asked.contains(['\u{202e}', '\u{200b}']) && asked.chars().count() < 500, "{asked}");
        assert!(
            asked
                .lines()
                .next()
                .unwrap()
                .ends_with("(telegram:5) writes to engineer for the first time: let in?")
        );
    }
}
