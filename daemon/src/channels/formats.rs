//! How text looks on every channel: one row each, so that a limit, a guide and a capability never tell different stories.
//!
//! A channel's row is in its own `profile.rs`, and the table is the registry's: a channel that is registered has one. An adapter
//! takes its [`Flavour`] from it. The guide is what an agent is told when it asks how to write for a channel.

use super::{local, registry::kind};
use crate::render::Flavour;

/// How the results of an agent's tools are written when a conversation runs over a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolResults {
    /// In code blocks.
    Markdown,
    /// As they are.
    Plain,
}

impl ToolResults {
    /// Its name in interfaces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Plain => "plain",
        }
    }
}

/// One channel's ways with text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// The channel's name in targets and configuration.
    pub channel: &'static str,
    /// How text is rendered, for an account without settings of its own.
    pub flavour: Flavour,
    /// The most that the text beside a picture or a file may have, in the flavour's unit, where that is less: zero where it
    /// always goes before it, as a part of its own.
    pub caption_limit: Option<usize>,
    /// How tool results are written. A column of its own: what a channel can show and what its agents are used to read
    /// are two questions.
    pub tool_results: ToolResults,
    /// What an agent should know, in lines of Markdown.
    pub guide: &'static str,
}

/// The hub's own inbox: how text looks where nothing is known of a channel.
pub const LOCAL: Format = local::profile::FORMAT;

/// The format of `channel`.
pub fn format(channel: &str) -> Option<&'static Format> {
    kind(channel).map(|kind| &kind.format)
}

/// How text is rendered for `channel`: as the hub's own inbox shows it, where nothing is known of it.
pub fn flavour(channel: &str) -> Flavour {
    format(channel).unwrap_or(&LOCAL).flavour
}

/// How tool results are written for `channel`: plain where nothing is known of it.
pub fn tool_result_format(channel: &str) -> ToolResults {
    format(channel).map_or(ToolResults::Plain, |format| format.tool_results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{channels::registry::KINDS, render};

    #[test]
    fn tool_results_are_markdown_on_five_channels() {
        let markdown: Vec<_> = KINDS
            .iter()
            .filter(|kind| kind.format.tool_results == ToolResults::Markdown)
            .map(|kind| kind.name)
            .collect();
        assert_eq!(markdown, ["telegram", "discord", "slack", "googlechat", "signal"]);
        assert_eq!(tool_result_format("carrier-pigeon").name(), "plain");
    }

    #[test]
    fn every_channel_takes_text() {
        let document = render::parse("**Hello** _there_, [you](https://a.example)");
        for kind in KINDS {
            let parts = render::render(&document, &kind.format.flavour).map(|parts| parts.len());
            assert_eq!(parts, Ok(1), "{}", kind.name);
        }
    }
}
