//! The text of a configuration with something added to it: what stands there stays as it is, comments and all.
//!
//! Every change is an insertion at a place that the TOML parser names. Where there is none, as in a table that is written in one
//! line, the change is left to the person: [`Unplaced`] has the lines to write. Whoever uses the text checks what came of it.

use std::ops::Range;

use serde_json::Value;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// There is no place for it that is sure.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{section} is written in a way that cannot be added to: write into it yourself: {line}")]
pub(super) struct Unplaced {
    section: String,
    line: String,
}

/// A text as TOML: what JSON escapes, TOML reads (<https://toml.io/en/v1.0.0#string>).
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The text with a section at its end. `lines` are `key = value`.
pub(super) fn with_section(text: &str, section: &str, lines: &[String]) -> String {
    let mut text = text.trim_end().to_owned();
    text.push_str(&format!("\n\n[{section}]\n"));
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text.trim_start().to_owned()
}

/// The text with an entry more in a list of texts of a section that is there.
pub(super) fn with_entry(text: &str, section: &[&str], key: &str, entry: &str) -> Result<String, Unplaced> {
    let entry = quoted(entry);
    let document = DeTable::parse(text).ok();
    let list = document.as_ref().and_then(|document| found(document.get_ref(), section, key));
    let Some((_, list)) = list else {
        return with_key(text, section, &format!("{key} = [{entry}]"));
    };
    let span = list.span();
    match list.get_ref() {
        DeValue::Array(entries) => Ok(match entries.last() {
            Some(last) => inserted(text, last.span().end, &format!(", {entry}")),
            None => inserted(text, span.start + 1, &entry),
        }),
        _ => Err(unplaced(section, &format!("{key} = [{entry}]"))),
    }
}

/// The text with a switch of a section turned on.
pub(super) fn with_true(text: &str, section: &[&str], key: &str) -> Result<String, Unplaced> {
    let document = DeTable::parse(text).ok();
    let value = document.as_ref().and_then(|document| found(document.get_ref(), section, key));
    match value {
        Some((_, value)) => {
            let Range { start, end } = value.span();
            Ok(format!("{}true{}", &text[..start], &text[end..]))
        }
        None if document.as_ref().is_some_and(|document| table(document.get_ref(), section).is_none()) => {
            Ok(with_section(text, &section.join("."), &[format!("{key} = true")]))
        }
        None => with_key(text, section, &format!("{key} = true")),
    }
}

/// The text with a line below the header of a section.
fn with_key(text: &str, section: &[&str], line: &str) -> Result<String, Unplaced> {
    let header = format!("[{}]", section.join("."));
    let mut at = 0;
    for one in text.split_inclusive('\n') {
        at += one.len();
        let bare = one.split('#').next().unwrap_or_default();
        if bare.trim() == header && one.ends_with('\n') {
            return Ok(inserted(text, at, &format!("{line}\n")));
        }
    }
    Err(unplaced(section, line))
}

fn inserted(text: &str, at: usize, what: &str) -> String {
    format!("{}{what}{}", &text[..at], &text[at..])
}

fn unplaced(section: &[&str], line: &str) -> Unplaced {
    Unplaced { section: format!("[{}]", section.join(".")), line: line.to_owned() }
}

type Named<'d, 't> = (&'d Spanned<std::borrow::Cow<'t, str>>, &'d Spanned<DeValue<'t>>);

fn member<'d, 't>(table: &'d DeTable<'t>, name: &str) -> Option<Named<'d, 't>> {
    table.iter().find(|(known, _)| known.get_ref().as_ref() == name)
}

fn table<'d, 't>(document: &'d DeTable<'t>, section: &[&str]) -> Option<&'d DeTable<'t>> {
    section.iter().try_fold(document, |table, name| match member(table, name)?.1.get_ref() {
        DeValue::Table(inner) => Some(inner),
        _ => None,
    })
}

fn found<'d, 't>(document: &'d DeTable<'t>, section: &[&str], key: &str) -> Option<Named<'d, 't>> {
    member(table(document, section)?, key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::template;

    const AGENT: [&str; 2] = ["agents", "engineer"];

    #[test]
    fn an_entry_joins_its_list_and_all_else_stays() {
        for (before, after) in [
            ("allow = []", "allow = [\"t:1\"]"),
            ("allow = [\"local:*\"] # mine", "allow = [\"local:*\", \"t:1\"] # mine"),
            (
                "allow = [\n  \"a:1\", # Ann\n  \"b:2\",\n]\nhold = []",
                "allow = [\n  \"a:1\", # Ann\n  \"b:2\", \"t:1\",\n]\nhold = []",
            ),
            ("hold = [\"x:1\"]", "allow = [\"t:1\"]\nhold = [\"x:1\"]"),
        ] {
            let file = |keys: &str| format!("# Mine.\n[agents.engineer] # the first\n{keys}\n[hub]\n");
            assert_eq!(with_entry(&file(before), &AGENT, "allow", "t:1").unwrap(), file(after));
        }
    }

    #[test]
    fn a_table_in_one_line_is_left_to_the_person_with_the_line_to_write() {
        let error = with_entry("agents.engineer = {}", &AGENT, "allow", "t:1").unwrap_err().to_string();
        assert!(error.contains("[agents.engineer]") && error.contains("allow = [\"t:1\"]"), "{error}");
        let dotted = "agents.engineer.allow = [\"a:1\"]\n";
        let entered = with_entry(dotted, &AGENT, "allow", "t:1").unwrap();
        assert_eq!(entered, "agents.engineer.allow = [\"a:1\", \"t:1\"]\n");
    }

    #[test]
    fn a_switch_is_turned_on_where_it_stands_or_added() {
        let of = |text: &str| with_true(text, &["approval"], "allow").unwrap();
        assert_eq!(of("[approval]\nallow = false # no\n"), "[approval]\nallow = true # no\n");
        assert_eq!(of("[approval]\nttl = \"1m\"\n"), "[approval]\nallow = true\nttl = \"1m\"\n");
        assert_eq!(of("[hub]\n"), "[hub]\n\n[approval]\nallow = true\n");
        assert_eq!(of(""), "[approval]\nallow = true\n");
    }

    #[test]
    fn what_somebody_calls_a_chat_stays_one_text() {
        let entered =
            with_entry("[agents.engineer]\nallow = []\n", &AGENT, "allow", "a\"]\n[hub]\nx=\"").unwrap();
        let read: toml::Table = toml::from_str(&entered).unwrap();
        assert_eq!(read["agents"]["engineer"]["allow"][0].as_str(), Some("a\"]\n[hub]\nx=\""));
        assert!(!read.contains_key("hub"));
    }

    #[test]
    fn the_first_file_takes_all_that_is_added() {
        let text = with_true(template::SHORT, &["approval"], "allow_software_companion").unwrap();
        let text = with_entry(&text, &AGENT, "allow", "telegram:1").unwrap();
        let text = with_section(&text, "channels.telegram.home", &["token = \"file:x\"".into()]);
        let config = crate::config::Config::parse(&text, std::path::Path::new("gatepost.toml")).unwrap();
        assert!(config.approval.allow_software_companion);
        assert_eq!(config.agents["engineer"].allow, ["local:*", "telegram:1"]);
        assert_eq!(
            config.channels["telegram"]["home"].get("token").and_then(toml::Value::as_str),
            Some("file:x")
        );
    }
}
