//! Every kind of update, and the loop at a Telegram on loopback.

mod double;
mod kinds;
mod loop_at_telegram;
