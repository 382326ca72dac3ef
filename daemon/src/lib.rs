//! Gatepost: the gate that an AI agent's outgoing messages pass on their way out of the house.
//!
//! A message moves one way: [`intake`] → [`message`] → [`policy`] → [`outbox`] → [`approval`] → [`delivery`] →
//! [`render`] → [`channels`]. A module knows the ones after it and never those before. Beside the way stand the things
//! that it leans on: [`store`] (the database), [`agents`] (tokens), [`sessions`] (contexts), [`audit`], [`config`], and
//! [`companion`] (the device with the buttons). [`hub`] builds all of it and is the one place that knows everyone;
//! [`cli`] is the command line, [`demo`] the whole main job on one machine.
#![forbid(unsafe_code)]

pub mod agents;
pub mod approval;
pub mod audit;
pub mod channels;
pub mod cli;
pub mod companion;
pub mod config;
pub mod delivery;
pub mod demo;
pub mod hub;
pub mod intake;
pub mod message;
pub mod outbox;
pub mod policy;
pub mod random;
pub mod render;
pub mod sessions;
pub mod store;
