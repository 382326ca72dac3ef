//! Discord's Gateway: a connection that is kept open, over which the bot's status is set, and over which it hears what people
//! do with its forms and, where the account receives, what they write.
//!
//! An account has one where its settings say so. It is opened when the hub runs, not when the account is: who checks a
//! configuration must not be seen online. What breaks is opened anew and goes on where it was, unless Discord says that nothing
//! will change by itself; how often a session begins is counted by Discord, and whoever begins too many loses the bot's token
//! (<https://docs.discord.com/developers/events/gateway#identifying>): so all of it goes slowly.
//!
//! - [`handle`]: what an adapter sees of it;
//! - [`keep`]: what follows an end;
//! - [`payload`]: what is said over it;
//! - [`socket`]: the WebSocket beneath;
//! - [`session`]: one connection, from its first word to its end;
//! - [`interactions`]: what people do with forms;
//! - [`told`]: what whoever receives is told;
//! - [`tempo`]: how fast things are tried again;
//! - [`rate_limiter`]: how much is sent.

mod handle;
mod interactions;
mod keep;
#[cfg(test)]
pub(in crate::channels) mod mock;
mod payload;
mod rate_limiter;
mod session;
mod socket;
mod tempo;
#[cfg(test)]
mod tests;
mod told;

pub(super) use self::{
    handle::Gateway,
    payload::{Session, intent},
    tempo::Tempo,
    told::{Ear, TOO_LONG, Told, Written},
};
