//! What rendering returns: the parts of a message, or the reason why there are none.

/// One part of a message, which becomes one request to the platform.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// The text to send: readable, with links as `label (url)`, or with the flavour's marks. For Telegram, the text of
    /// `html` without its tags.
    pub text: String,
    /// The same as HTML in which every tag is closed, if the flavour has HTML.
    pub html: Option<String>,
    /// Styled ranges of `text`, sorted by their start, if the flavour has them.
    pub styles: Vec<Style>,
    /// The length of `text` in the flavour's unit.
    pub units: usize,
    /// What an approver reads: the visible text, with each link as `label <url>` and nothing hidden. If the platform hides
    /// a text, it is shown as `(spoiler) ||text||`. Nothing else reads like that: if an agent wrote the same characters, a
    /// backslash precedes the bars.
    pub shown: String,
    /// The ids of the people whom it calls, each once.
    pub mentions: Vec<String>,
    /// Where in `text` they are called, in order, if the platform is told that beside the text.
    pub called: Vec<Mention>,
    /// If the part has spoilers: the visible text without their content, for notifications and other places where nobody
    /// asked to reveal it.
    pub preview: Option<String>,
}

/// A person who is called at a place in [`Part::text`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Their id.
    pub id: String,
    /// What stands there for them, within the platform's marks.
    pub name: String,
    /// Where that begins, in UTF-16 units.
    pub start: usize,
    /// Its length in UTF-16 units; never zero.
    pub len: usize,
}

/// A range of what is seen of a part on its platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its text.
    pub text: String,
    /// How that looks.
    pub styles: Vec<Look>,
}

/// One way in which a text looks on a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Bold.
    Bold,
    /// Italic.
    Italic,
    /// Struck through.
    Strike,
    /// Code in a line.
    Code,
    /// A block of code.
    Block,
    /// In a quote.
    Quote,
    /// The label of a link whose address is not seen.
    Link,
}

/// A styled range of [`Part::text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Where it begins, in UTF-16 units.
    pub start: usize,
    /// Its length in UTF-16 units; never zero.
    pub len: usize,
    /// The style.
    pub kind: StyleKind,
}

/// The styles of Signal that an agent can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StyleKind {
    /// `BOLD`.
    Bold,
    /// `ITALIC`.
    Italic,
    /// `STRIKETHROUGH`.
    Strikethrough,
    /// `MONOSPACE`.
    Monospace,
    /// `SPOILER`.
    Spoiler,
}

impl StyleKind {
    /// Its name in Signal's protocol and in `signal-cli`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bold => "BOLD",
            Self::Italic => "ITALIC",
            Self::Strikethrough => "STRIKETHROUGH",
            Self::Monospace => "MONOSPACE",
            Self::Spoiler => "SPOILER",
        }
    }
}

/// Why a document cannot be rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderError {
    /// The limit leaves no room for text.
    LimitTooSmall {
        /// The limit that was asked for.
        limit: usize,
        /// The smallest one for the flavour.
        smallest: usize,
    },
    /// Text and markup of the shortest possible part do not fit in one event.
    MarkupTooLarge,
}

impl std::fmt::Display for RenderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LimitTooSmall { limit, smallest } => {
                write!(f, "a limit of {limit} leaves no room for text: use at least {smallest}")
            }
            Self::MarkupTooLarge => {
                f.write_str("the markup does not fit in one event: send it with less formatting")
            }
        }
    }
}

impl std::error::Error for RenderError {}
