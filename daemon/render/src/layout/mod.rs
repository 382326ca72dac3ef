//! A document as one flavour needs it, with what is written around each of its leaves.
//!
//! Whatever could not fit in a part gives way here, before any cut is chosen: a quote too deep for the limit loses its
//! marks, a code block its fence, a table its columns, and a link too long to stay whole becomes its label and its bare
//! URL. So every leaf leaves at least a quarter of each part to its own text. What can stay unchanged is borrowed from the
//! document: most of a message is never copied before it is written.
//!
//! Read [`model`] first. Each module uses only those above it:
//!
//! | module | holds |
//! |---|---|
//! | `piece` | a range of one leaf |
//! | `table` | a table with its lines written out |
//! | `model` | [`Layout`], its leaves, and how much of a part each may take |
//! | `prefix` | what is written before the lines of a leaf, and between leaves |
//! | `builder` | makes a [`Layout`] of a document, leaf by leaf |
//! | `add_text`, `add_code`, `add_table` | the builder's methods for each kind of leaf |

mod add_code;
mod add_table;
mod add_text;
mod builder;
mod model;
mod piece;
mod prefix;
mod table;

pub(crate) use builder::lay_out;
pub(crate) use model::{Block, Layout};
pub(crate) use piece::Piece;
pub(crate) use prefix::LinePrefixes;
pub(crate) use table::{TableForm, TableLayout};
