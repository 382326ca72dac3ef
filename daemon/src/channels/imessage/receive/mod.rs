//! What people write to the account, by either program.
//!
//! Messages keeps all of it in a database on the Mac, whose rows are numbered as they come. So a place there is the number of a row: a
//! sender chooses the time of a message, and nobody chooses a row's number. Both programs hand over the rows behind one, and are asked
//! for them at the start, each minute, and at once when a program says that something came.
//!
//! - `listener`: the loop; `poll`: what is read each time; `begin`: where that begins; `recent`: which rows are asked for again; `end`: whether
//!   the Mac has another database; `tempo`: how long things take; `source`: what a program is asked for;
//! - `place`: who wrote, and where; `tapback`: a reaction;
//! - [`server`]: a BlueBubbles server; [`program`]: `imsg`.

mod begin;
mod end;
mod listener;
mod place;
mod poll;
pub mod program;
mod recent;
pub mod server;
mod source;
mod tapback;
mod tempo;
#[cfg(test)]
mod tests;

pub(super) use self::{listener::Listener, tempo::Tempo};
