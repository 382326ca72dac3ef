//! Where a split prefers to cut.

/// Where [`split`](crate::split) prefers to cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// As late as possible, for the fewest chunks: at the last white space within the limit, else between clusters. A
    /// word that is over the limit is begun in the chunk before, and so is one before which a chunk would be less than
    /// a tenth full.
    Length,
    /// At the last paragraph within the limit, else line, sentence, word, cluster. The most readable chunks.
    Newline,
    /// As [`Mode::Newline`], for Markdown: keeps the indentation of lines, and closes a fenced code block that it has
    /// to cut and opens it again, with its info string, in the next chunk. Both lines count.
    Markdown,
}

impl core::fmt::Display for Mode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            Self::Length => "length",
            Self::Newline => "newline",
            Self::Markdown => "markdown",
        })
    }
}

impl core::str::FromStr for Mode {
    type Err = ParseModeError;

    fn from_str(name: &str) -> Result<Self, ParseModeError> {
        match name {
            "length" => Ok(Self::Length),
            "newline" => Ok(Self::Newline),
            "markdown" => Ok(Self::Markdown),
            _ => Err(ParseModeError),
        }
    }
}

/// A name that is no mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseModeError;

impl core::fmt::Display for ParseModeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no such mode: use length, newline or markdown")
    }
}

impl core::error::Error for ParseModeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        for mode in [Mode::Length, Mode::Newline, Mode::Markdown] {
            assert_eq!(std::string::ToString::to_string(&mode).parse(), Ok(mode));
        }
        assert_eq!("html".parse::<Mode>(), Err(ParseModeError));
    }
}
