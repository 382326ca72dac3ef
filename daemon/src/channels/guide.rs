//! How to write for a channel: what its text can show, then what its accounts can do beside text.
//!
//! The second half is made from the [`Capabilities`], so that a guide never promises what the checks refuse.

use super::{
    Capabilities,
    capabilities::{FileForm, FileRules},
    formats::Format,
};
use crate::{files, message::action::Action};

const MB: u64 = 1_000_000;
const MIB: u64 = 1024 * 1024;

/// What the hub itself does with files, whatever a channel takes.
#[derive(Debug, Clone, Copy)]
pub struct HubFiles {
    /// It makes recordings of words.
    pub speaks: bool,
    /// The largest file that it takes, in bytes.
    pub max_size: u64,
}

impl From<&files::Files> for HubFiles {
    fn from(files: &files::Files) -> Self {
        let &files::Bounds { max_size, max_together, .. } = files.bounds();
        Self { speaks: files.speaks(), max_size: max_size.min(max_together) }
    }
}

/// The guide of a channel, a line for each thing: of text alone without `can`, else of all that such an account does.
pub fn written(format: &Format, can: Option<&Capabilities>, hub: HubFiles) -> String {
    let mut guide = format.guide.to_owned();
    for line in can.into_iter().flat_map(|can| beside_text(can, hub)) {
        guide.push_str("- ");
        guide.push_str(&line);
        guide.push('\n');
    }
    guide
}

/// A line for each thing that an account does beside sending text.
fn beside_text(can: &Capabilities, hub: HubFiles) -> Vec<String> {
    let mut lines = Vec::new();
    if can.replies {
        lines.push("`replyToId` answers a message by its id.".into());
    }
    if can.mentions {
        lines.push("`[Ann](mention:ID)` notifies one person; ID is their id there, as a message of theirs names its sender.".into());
    }
    if can.threads {
        let opens = if can.does(Action::Thread) { ", `action: \"thread\"` opens one" } else { "" };
        lines.push(format!("`threadId` is {}{opens}.", can.thread_is));
    }
    if let Some(files) = &can.files {
        lines.extend(about_files(files, hub));
    }
    if let Some(buttons) = can.buttons {
        let (rows, row) = (buttons.rows, buttons.per_row);
        let kinds = match (buttons.data > 0, buttons.url > 0) {
            (true, true) => "`{text, callback_data}` or `{text, url}`",
            (true, false) => "`{text, callback_data}`",
            (false, _) => "`{text, url}`",
        };
        let most = buttons.in_all.min(rows.saturating_mul(row));
        lines.push(format!(
            "`buttons` are rows of {kinds}: {most} at most, {} characters each.",
            buttons.text
        ));
    }
    if can.forms.is_ok() {
        lines.push("A button with `form` asks for words; what is entered comes to your inbox.".into());
    }
    if let Some(selects) = can.selects {
        lines.push(format!("`selects` are lists to choose from, {} choices at most.", selects.options));
    }
    if let Some(polls) = can.polls {
        let several = if polls.multiple { ", `pollMulti` lets people choose several" } else { "" };
        let becomes = polls.stand_in.map(|what| format!(" It is sent as {what}.")).unwrap_or_default();
        lines.push(format!(
            "`action: \"poll\"` with `pollQuestion` and 2 to {} `pollOption`s asks people{several}.{becomes}",
            polls.options
        ));
    }
    if let Some(card) = can.cards {
        lines.push(format!("`card` is {}, beside the text or without any.", card.what));
    }
    if can.does(Action::React) {
        lines.push(format!("`action: \"react\"` puts {} to a message.", can.reaction_is));
    }
    let changes: Vec<&str> = [Action::Edit, Action::Delete, Action::Pin]
        .into_iter()
        .filter(|&action| can.does(action))
        .map(Action::word)
        .collect();
    if !changes.is_empty() {
        lines.push(format!("What was sent can be changed by its id: {}.", changes.join(", ")));
    }
    if !can.effects.is_empty() {
        lines.push(format!("`effect` is one of {}.", can.effects.join(", ")));
    }
    if can.silent {
        lines.push("`silent` brings it without a notification.".into());
    }
    lines
}

fn about_files(files: &FileRules, hub: HubFiles) -> Vec<String> {
    let together = match files.form {
        FileForm::Together => "go in one message with the text",
        FileForm::Captioned => "follow the text, each with its `caption`",
    };
    let most = largest(files, hub.max_size);
    let only = files.alone().map(|alone| format!(" Only {alone}.")).unwrap_or_default();
    let words = if hub.speaks { ", or `{text}` to have words spoken" } else { "" };
    vec![
        format!("`attachments` {together}, {most}.{only}"),
        format!("`voice` is a recording{words}; it goes before the other files."),
    ]
}

/// The largest file that can be sent there: what the hub refuses is not promised because the platform would take it.
fn largest(files: &FileRules, of_hub: u64) -> String {
    let most = files.max_size.min(files.max_together).min(of_hub);
    match files.everywhere {
        Some((everywhere, more)) if most > everywhere => {
            format!("{} each at most, more {more}", size(everywhere))
        }
        _ => format!("{} each at most", size(most)),
    }
}

/// A number of bytes, never more than it is, in the unit that it is a whole number of.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= MIB && bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        bytes if bytes >= MB => format!("{} MB", bytes / MB),
        bytes => format!("{bytes} bytes"),
    }
}
