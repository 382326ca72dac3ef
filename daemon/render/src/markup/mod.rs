//! What each platform can show, and how it is written.
//!
//! [`body`] is a table of small facts; start there. The rest relies on it, and no module on one below it:
//!
//! | module | holds |
//! |---|---|
//! | `body` | which marks a platform has, and what else differs from platform to platform |
//! | `telegram` | Telegram's tags |
//! | `escape` | what keeps an agent's characters from being read as marks |
//! | `username` | the same for names, by which Telegram calls people |
//! | `link` | what is written around the label of a link |
//! | `fallback` | styles reduced to those that the platform would recognise |
//!
//! A fact that costs characters is counted in `cost` and written in `write` from the same function here, so the two cannot
//! drift apart.

mod body;
mod escape;
mod fallback;
mod link;
mod telegram;
mod username;

pub(crate) use body::{BodyMarkup, THEMATIC_BREAK, is_language_name};
pub(crate) use escape::{
    Replacement, code_replacements, escape_table_lines, escape_text, part_start_escape, text_replacements,
};
pub(crate) use fallback::{bold, supported_slices, with_supported_styles, without_styles};
pub(crate) use link::marks_around_label;
pub(crate) use telegram::TelegramTag;

#[cfg(test)]
pub(crate) use body::ZERO_WIDTH_SPACE;
