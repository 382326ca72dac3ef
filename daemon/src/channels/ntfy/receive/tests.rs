//! Every kind of line, and the loop at an ntfy on loopback.

mod events;
mod listening;
mod mock;
