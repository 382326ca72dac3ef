//! What the text of a heartbeat says: that all is well, or something that a person is to read.
//!
//! The token is taken off wherever it stands at an end, for elsewhere it reached people. A short text beside it is a courtesy and no
//! alert; a long one is read, whatever token it has.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::message::quiet::without_tokens;

/// By which an agent says that there is nothing to tell.
pub const TOKEN: &str = "HEARTBEAT_OK";
/// The longest text beside the token that still says that all is well, in characters.
pub const MAX_OK_CHARS: usize = 300;
/// What stands for a heartbeat, or before one, if the indicator is on.
const INDICATOR: &str = "♥";

/// What models put around the token: marks of Markdown and quotes, which belong to it on both sides, and what ends a sentence.
const MARKS: &[char] = &['*', '_', '`', '~', '"', '\'', '.', '!'];

/// What a text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// All is well; with the words beside the token.
    Ok(String),
    /// Something to be read.
    Alert(String),
}

impl Said {
    /// Reads a text; `quiet` are the words by which this hub's agents say nothing.
    pub fn of(text: &str, quiet: &[String]) -> Self {
        let others: Vec<String> = quiet.iter().filter(|token| *token != TOKEN).cloned().collect();
        let Some(text) = without_tokens(text, &others) else { return Self::Ok(String::new()) };
        let rest = without_token(&text);
        let has_token = rest.len() != text.trim().len();
        match has_token && rest.chars().count() <= MAX_OK_CHARS {
            true => Self::Ok(rest.to_owned()),
            false => Self::Alert(rest.to_owned()),
        }
    }
}

/// The text without the token at its ends, and without the marks and quotes around that. First from one end, then from the other: no
/// mark is looked at twice, however many there are.
fn without_token(text: &str) -> &str {
    let own_word = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    let mut rest = text.trim();
    while let Some(after) = rest.trim_start_matches(MARKS).strip_prefix(TOKEN) {
        if !own_word(after.chars().next()) {
            break;
        }
        rest = after.trim_start_matches(MARKS).trim();
    }
    while let Some(before) = rest.trim_end_matches(MARKS).strip_suffix(TOKEN) {
        if !own_word(before.chars().next_back()) {
            break;
        }
        rest = before.trim_end_matches(&MARKS[..6]).trim();
    }
    rest
}

/// What of a heartbeat is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shows {
    /// That all is well.
    pub ok: bool,
    /// What is to be read.
    pub alerts: bool,
    /// A sign: in place of words that all is well, and before what is to be read.
    pub indicator: bool,
}

impl Default for Shows {
    fn default() -> Self {
        Self { ok: false, alerts: true, indicator: false }
    }
}

impl Shows {
    /// What is sent of a text; nothing if it is not to be shown.
    pub fn shown(self, said: &Said) -> Option<String> {
        match said {
            Said::Ok(_) if self.indicator => Some(INDICATOR.to_owned()),
            Said::Ok(rest) if self.ok && rest.is_empty() => Some(TOKEN.to_owned()),
            Said::Ok(rest) if self.ok => Some(rest.clone()),
            Said::Alert(text) if self.alerts && self.indicator => Some(format!("{INDICATOR} {text}")),
            Said::Alert(text) if self.alerts => Some(text.clone()),
            _ => None,
        }
    }
}

/// What differs from the rest, on one channel or one of its accounts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Override {
    /// As in [`Shows`].
    pub ok: Option<bool>,
    /// As in [`Shows`].
    pub alerts: Option<bool>,
    /// As in [`Shows`].
    pub indicator: Option<bool>,
}

/// What is shown where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Visibility {
    /// Where nothing else is said.
    pub rest: Shows,
    /// By channel, or by `channel:account`.
    pub by_place: BTreeMap<String, Override>,
}

impl Visibility {
    /// What is shown on an account: its own word comes before the channel's, and that before the rest.
    pub fn at(&self, channel: &str, account: &str) -> Shows {
        let mut shows = self.rest;
        for place in [channel.to_owned(), format!("{channel}:{account}")] {
            let Some(differs) = self.by_place.get(&place) else { continue };
            shows = Shows {
                ok: differs.ok.unwrap_or(shows.ok),
                alerts: differs.alerts.unwrap_or(shows.alerts),
                indicator: differs.indicator.unwrap_or(shows.indicator),
            };
        }
        shows
    }
}

/// By which a text is known again: its words, whatever stands between them and in whatever letters.
pub fn hash(text: &str) -> [u8; 32] {
    let words = text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ");
    Sha256::digest(words.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Said {
        Said::of(text, &["NO_REPLY".to_owned(), TOKEN.to_owned()])
    }

    #[test]
    fn the_token_with_a_short_text_is_an_ok_and_with_a_long_one_an_alert() {
        assert_eq!(said("HEARTBEAT_OK"), Said::Ok(String::new()));
        assert_eq!(said("**HEARTBEAT_OK**"), Said::Ok(String::new()));
        assert_eq!(said(""), Said::Ok(String::new()));
        assert_eq!(said("NO_REPLY"), Said::Ok(String::new()));
        assert_eq!(said("All quiet.\nHEARTBEAT_OK"), Said::Ok("All quiet.".into()));
        assert_eq!(said("All quiet!\n**HEARTBEAT_OK**."), Said::Ok("All quiet!".into()));
        assert_eq!(said("`HEARTBEAT_OK`: all quiet"), Said::Ok(": all quiet".into()));
        let (short, long) = ("ä".repeat(300), "ä".repeat(301));
        assert_eq!(said(&format!("HEARTBEAT_OK {short}")), Said::Ok(short));
        assert_eq!(said(&format!("HEARTBEAT_OK {long}")), Said::Alert(long));
    }

    #[test]
    fn a_text_without_the_token_is_an_alert_however_short() {
        assert_eq!(said("The door is open"), Said::Alert("The door is open".into()));
        assert_eq!(
            said("Say HEARTBEAT_OK if all is well"),
            Said::Alert("Say HEARTBEAT_OK if all is well".into())
        );
    }

    #[test]
    fn an_account_says_for_itself_what_it_shows() {
        let differs = |ok, alerts| Override { ok, alerts, indicator: None };
        let by_place =
            [("telegram", differs(Some(true), None)), ("telegram:work", differs(None, Some(false)))];
        let by_place = by_place.map(|(place, differs)| (place.to_owned(), differs));
        let visibility = Visibility { rest: Shows::default(), by_place: by_place.into() };
        let (ok, alert) = (Said::Ok(String::new()), Said::Alert("fire".into()));
        let shown = |channel, account, said| visibility.at(channel, account).shown(said);
        assert_eq!(
            (shown("local", "home", &ok), shown("local", "home", &alert)),
            (None, Some("fire".into()))
        );
        assert_eq!(shown("telegram", "home", &ok).as_deref(), Some(TOKEN));
        assert_eq!(
            (shown("telegram", "work", &ok).as_deref(), shown("telegram", "work", &alert)),
            (Some(TOKEN), None)
        );
    }

    #[test]
    fn the_indicator_stands_for_an_ok_and_before_an_alert() {
        let shows = Shows { indicator: true, ..Shows::default() };
        assert_eq!(shows.shown(&Said::Ok("All quiet.".into())).as_deref(), Some("♥"));
        assert_eq!(shows.shown(&Said::Alert("fire".into())).as_deref(), Some("♥ fire"));
        assert_eq!(Shows { alerts: false, ..shows }.shown(&Said::Alert("fire".into())), None);
    }

    #[test]
    fn a_text_is_known_again_by_its_words() {
        assert_eq!(hash("The  door\nis OPEN "), hash("the door is open"));
        assert_ne!(hash("the door is open"), hash("the doors are open"));
    }
}
