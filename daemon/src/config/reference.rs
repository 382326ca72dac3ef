//! `docs/configuration.md`: every key as a table, a section after the other. `cargo xtask configuration-md` writes it.
//!
//! It is made from the tables that the loader and `gatepost init --full` use, so it cannot say anything else than they do. It is
//! no part of the program.

use std::fmt::Write as _;

use super::keys::SECTIONS;
use crate::{
    channels::{account, registry::KINDS},
    settings::Key,
};

const HEAD: &str = "# Configuration

<!-- Written by `cargo xtask configuration-md` from the tables of keys in the code. Change those, not this file. -->

The configuration is one TOML file, `gatepost.toml`. `gatepost init` writes a short one to begin with; `gatepost init --full`
writes one with every key of this page. `gatepost check` checks it: an unknown key is an error that names its line and the
nearest key. [Operate](operate.md#change-the-configuration) says which keys a running hub takes with `gatepost reload`.

- A key without a default has an example, marked *e.g.* The sections of the hub need no key. What an account on a channel needs is
  in the channel's set-up.
- A length of time is a text: `\"30s\"`, `\"10m\"`, `\"24h\"`.
- A path is relative to the folder of the file.
- A secret is never written here. `\"file:…\"`, `\"env:…\"` and `\"credential:…\"` say
  [where it is](operate.md#secrets).
";

/// The whole document.
fn document() -> String {
    let mut text = String::from(HEAD);
    for section in SECTIONS {
        heading(&mut text, &format!("[{}]", section.name), section.about);
        table(&mut text, section.keys);
    }
    heading(
        &mut text,
        "[channels.CHANNEL.ACCOUNT]",
        "An account on a channel, under a name of yours. A channel may have several. Every account has this key:",
    );
    table(&mut text, account::KEYS);
    for kind in KINDS {
        let about = format!(
            "[Set-up](../src/channels/{0}/SETUP.md), in a terminal: `gatepost channels setup {0}`.",
            kind.name
        );
        heading(&mut text, &format!("[channels.{}.ACCOUNT]", kind.name), &about);
        table(&mut text, kind.keys);
    }
    text
}

fn heading(text: &mut String, title: &str, about: &str) {
    let _ = write!(text, "\n## `{title}`\n\n{}\n", prose(about));
}

fn table(text: &mut String, keys: &[Key]) {
    text.push_str("\n| key | type | default | what it does |\n|---|---|---|---|\n");
    for key in keys {
        let value = if key.is_default { span(key.value) } else { format!("*e.g.* {}", span(key.value)) };
        let _ = writeln!(text, "| `{}` | {} | {value} | {} |", key.name, kind_of(key), prose(key.doc));
    }
}

/// What sort of value a key has, by its default or example.
fn kind_of(key: &Key) -> &'static str {
    let holds =
        |words: &[&str]| words.iter().any(|word| key.value.trim_start_matches(['[', '"']).starts_with(word));
    match key.value.chars().next() {
        Some('"') if key.holds_secret() => "secret",
        Some('[') if key.holds_secret() => "secrets",
        Some('"') if is_time(key.value.trim_matches('"')) => "time",
        Some('"') => "text",
        Some('[') => "texts",
        Some('{') => "table",
        _ if holds(&["true", "false"]) => "yes or no",
        _ => "number",
    }
}

fn is_time(text: &str) -> bool {
    let number = text.trim_end_matches(['s', 'm', 'h', 'd']);
    number.len() + 1 == text.len() && number.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty()
}

/// TOML as a code span in a table.
fn span(value: &str) -> String {
    format!("`{}`", value.replace('|', "\\|"))
}

/// A sentence in a table: what Markdown would take for markup stands for itself.
fn prose(doc: &str) -> String {
    let mut text = String::with_capacity(doc.len());
    let mut in_code = false;
    for letter in doc.chars() {
        match letter {
            '`' => in_code = !in_code,
            '*' | '_' | '<' | '[' | '|' if !in_code => text.push('\\'),
            _ => {}
        }
        text.push(letter);
    }
    text
}

#[test]
fn the_guide_to_the_configuration_is_what_the_tables_of_keys_say() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let document = document();
    if std::env::var("GATEPOST_GOLDEN").is_ok_and(|wish| wish == "write") {
        std::fs::write(&path, &document).unwrap();
        panic!("{} is written anew: look at it, and run without GATEPOST_GOLDEN", path.display());
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == document,
        "daemon/docs/configuration.md is out of date: run cargo xtask configuration-md"
    );
}

#[test]
fn a_key_is_described_by_its_value() {
    let key = |value| crate::settings::key("x", value, "x");
    for (value, kind) in [
        ("\"10m\"", "time"),
        ("\"me@home\"", "text"),
        ("\"s\"", "text"),
        ("\"file:a\"", "secret"),
        ("[\"file:a\"]", "secrets"),
        ("[\"a\"]", "texts"),
        ("{ a = \"b\" }", "table"),
        ("true", "yes or no"),
        ("20", "number"),
    ] {
        assert_eq!(kind_of(&key(value)), kind, "{value}");
    }
    assert_eq!(prose("a_b `c_d` <e|f>"), "a\\_b `c_d` \\<e\\|f>");
}
