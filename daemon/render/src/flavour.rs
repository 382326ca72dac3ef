//! What a channel says about its messages: markup, limit, unit, tables. A flavour is a plain value that the channel
//! passes in, so the renderer knows no channel.

use gatepost_chunk::Unit;

/// The smallest limit that leaves room for text next to quote marks and indentation, in any unit.
pub const MIN_LIMIT_UNITS: usize = 16;

/// The smallest limit if formatting marks count towards it, or if the label of a spoiler does, in any unit.
pub const MIN_MARKED_LIMIT_UNITS: usize = 80;

/// How one channel wants its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flavour {
    /// What the platform accepts besides text.
    pub markup: Markup,
    /// The maximum length of [`Part::text`](crate::Part::text) in `unit`s; `None` for a single part. HTML does not count,
    /// but see [`Dialect::Matrix`].
    pub limit: Option<usize>,
    /// The unit of `limit`.
    pub unit: Unit,
    /// How tables are written.
    pub tables: Tables,
}

/// What a platform accepts besides text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// Nothing: text only.
    Plain,
    /// HTML in addition to the text.
    Html(Dialect),
    /// Styled ranges of the text, as Signal has them: [`Part::styles`](crate::Part::styles).
    Styles,
    /// Marks inside the text, such as `**`, which count towards the limit. Characters of the text that would be read as
    /// marks are escaped or separated by a zero-width space.
    Marks(Notation),
}

impl Markup {
    /// Whether the platform hides a spoiler until its reader reveals it.
    pub(crate) fn hides_spoilers(self) -> bool {
        match self {
            Self::Styles | Self::Html(Dialect::Matrix | Dialect::Telegram) => true,
            Self::Marks(notation) => notation == Notation::Discord,
            Self::Plain | Self::Html(Dialect::Email) => false,
        }
    }
}

/// Which tags HTML may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The tags of `org.matrix.custom.html`. Text and HTML of a part together fit in one event.
    Matrix,
    /// A fragment for the body of an e-mail: the same tags, with inline styles for tables and code.
    Email,
    /// The tags of the Bot API. [`Part::text`](crate::Part::text) is the text without them, which is what Telegram counts.
    /// A part has at most 100 entities and about 9.5 KB of tags: Telegram ignores more.
    Telegram,
}

/// Which marks format the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// Discord's Markdown.
    Discord,
    /// Slack's mrkdwn.
    Slack,
    /// WhatsApp's formatting.
    WhatsApp,
    /// Google Chat's formatting.
    GoogleChat,
    /// The subset of Markdown that Microsoft Teams reads.
    Teams,
}

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// As a table of the markup; in plain text, aligned by display columns.
    Native,
    /// Aligned by display columns, in a code block.
    Code,
    /// One list item per row, with each cell after its header.
    Bullets,
    /// One line per row, with bars between the cells.
    Plain,
}
