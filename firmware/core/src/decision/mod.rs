//! A person's decision on a card: from the hub's offer to the hub's confirmation.
//!
//! - [`app`]: the state machine, read it first;
//! - [`stage`]: what it is busy with;
//! - [`card`]: what an open card has shown, and what may be decided on it;
//! - [`pending`]: a decision that the hub has not confirmed yet;
//! - [`question`]: whether to install new firmware, which gives way to every card;
//! - [`waiting`]: offers that wait for the open card to close;
//! - `screens`: the state as a screen.

pub mod app;
pub mod card;
pub mod pending;
pub mod question;
mod screens;
pub mod stage;
pub mod waiting;

pub use screens::first_page;
