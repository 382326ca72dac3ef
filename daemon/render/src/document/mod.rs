//! A parsed message: blocks, their styled text, and the links, spoilers and tables in it. Nothing here knows a platform.
//!
//! Read [`tree`] first, then [`text`]. Each module uses only those above it:
//!
//! | module | holds |
//! |---|---|
//! | `style` | the combination of attributes (bold, link, code, …) that a range of text has |
//! | `link` | a link, which kinds of URLs platforms accept, and how a URL follows its label |
//! | `text` | one text to read: characters, style runs, links |
//! | `texts` | all texts of a document in a few buffers, to write |
//! | `spoiler` | `\|\|text\|\|` in Markdown, which no parser knows |
//! | `table` | a table's cells, and its rows as lines |
//! | `tree` | container blocks and leaf blocks, and what the hub asks of a whole document |

mod link;
mod spoiler;
mod style;
mod table;
mod text;
mod texts;
mod tree;

pub(crate) use link::{Link, LinkKind, UrlForm, bare_urls, mentioned, strip_scheme};
pub(crate) use spoiler::{SPOILER_BARS, SPOILER_LABEL, find_bars, hide_between_bars, may_have_spoilers};
pub(crate) use style::{Attribute, TextStyle};
pub(crate) use table::{Grid, Table, TableLines, push_repeated};
pub(crate) use text::{Text, push_lines};
pub(crate) use texts::{TextCow, Texts};
pub use tree::Document;
pub(crate) use tree::{Container, ContainerKind, Leaf, LeafKind, MAX_CONTAINER_DEPTH};
