//! What agents do by themselves: they are woken for what they scheduled, and they write first.

mod first_word;
mod scheduled;
