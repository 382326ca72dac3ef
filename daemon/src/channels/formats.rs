//! How text looks on every channel: one row each, so that a limit, a guide and a capability never tell different stories.
//!
//! A channel's row is in its own `profile.rs`, and the table is the registry's, which finds a channel's row. An adapter takes its
//! [`Flavour`] from its own row. The guide is what an agent is told when it asks how to write for a channel.

use gatepost_chunk::Unit;

use crate::render::{Flavour, Markup, Tables};

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

/// How text is rendered where nothing is known of its reader: a channel that the hub does not know, its own inbox, and what
/// is read aloud. Plain, in one piece.
pub const PLAIN: Flavour =
    Flavour { markup: Markup::Plain, limit: None, unit: Unit::CodePoints, tables: Tables::Code };
