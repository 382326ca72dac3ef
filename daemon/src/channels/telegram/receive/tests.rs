//! Every kind of update, and the loop at a Telegram on loopback.

mod kinds;
mod loop_at_telegram;
mod mock;
