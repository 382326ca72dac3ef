//! What is read of signal-cli's events, and the loop at a signal-cli on loopback.

mod kinds;
mod listening;
mod mock;
