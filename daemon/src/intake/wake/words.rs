//! What was said in a turn, as text: for programs that read nothing else.

use crate::turns::items::{Item, TurnView};

/// What woke the agent, one after the other.
pub(super) fn said(turn: &TurnView) -> String {
    let mut text = turn.items.iter().filter(|item| item.engages).map(words).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

/// The words of one item. What has none is said in brackets.
pub(super) fn words(item: &Item) -> String {
    let mut said = Vec::new();
    match item.kind.as_str() {
        "message" | "webhook" | "task" if !item.text.is_empty() => said.push(item.text.clone()),
        "message" | "webhook" | "task" => {}
        "edit" => said.push(format!("[changed to] {}", item.text)),
        "reaction" if item.removed == Some(true) => said.push("[took a reaction back]".into()),
        "reaction" => said.push(format!("[reacted with {}]", item.emoji.as_deref().unwrap_or_default())),
        "press" => said.push(format!("[pressed {}]", item.data.as_deref().unwrap_or_default())),
        "vote" => {
            said.push(format!("[voted for {}]", item.options.as_deref().unwrap_or_default().join(", ")))
        }
        other => said.push(format!("[{other}]")),
    }
    said.extend(item.files.iter().map(|file| format!("[file {}, {}]", file.name, file.mime)));
    said.extend(item.missing.iter().map(|why| format!("[a file is missing: {why}]")));
    said.join("\n")
}
