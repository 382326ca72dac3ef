//! Held messages, cards and decisions, and what proves them afterwards.

mod cards;
mod main_job;
mod nobody_to_ask;
mod notify;
mod one_card;
mod proofs;
mod questions;
mod quorum;
mod strangers;
