//! Splits text at a limit, in the unit that the platform counts, without allocating.
//!
//! Two ways to cut one text, both zero-copy iterators over it:
//!
//! - [`split`]: chunks of at most so many [`Unit`]s, for platforms that limit a message. Read [`Mode`] for where it
//!   prefers to cut.
//! - [`pages`]: pages of columns × rows, for a display. Nothing of the text is left out.
//!
//! Neither cuts inside a grapheme cluster, unless one cluster alone is over the limit; then it cuts between code
//! points. Both take time linear in the text, whatever the text is.
//!
//! ```
//! use gatepost_chunk::{Mode, Unit, split};
//!
//! let chunks: Vec<_> = split("One sentence. Another one.", 16, Unit::Utf16, Mode::Newline)?.collect();
//! assert_eq!(chunks[0].text, "One sentence.");
//! assert_eq!(chunks[1].text, "Another one.");
//! # Ok::<(), gatepost_chunk::LimitError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(test)]
extern crate std;

mod boundary;
mod breaks;
mod clusters;
mod fence;
mod mode;
mod page;
mod split;
mod unit;

pub use fence::Fence;
pub use mode::{Mode, ParseModeError};
pub use page::{Lines, Page, Pages, display_width, pages};
pub use split::{Chunk, LimitError, Split, split};
pub use unit::{ParseUnitError, Unit};
