//! Gatepost: the gate that an AI agent's outgoing messages pass on their way out of the house.
//!
//! A message moves one way: [`intake`] → [`admission`] → [`outbox`] → [`delivery`] → [`channels`]. Admission asks [`policy`], writes to
//! the outbox, has the message [`render`]ed and lets [`approval`] ask a person; delivery hands each part to its channel.
//!
//! What people write comes the other way: [`channels`] → [`receiving`] → [`router`] → [`turns`] → an agent's program → [`intake`].
//!
//! Dependencies go one way too, from the last of these lines to the first; a module knows those above it and none below:
//!
//! 1. [`rate_limit`] (counting over time), [`random`], [`clock`], [`spelling`], [`plain_text`] (of strangers), [`unique_keys`] (JSON of callers), [`cause`] (behind an error), [`printing`] (stdout and stderr), [`settings`] (keys, names, secrets), [`program`]
//!    (running one), [`lines`] (of who may write without an end), [`blocking`] (long work off the runtime's threads), [`store`] (the database)
//! 2. [`message`] (the vocabulary), [`audit`] (what happened), [`render`] (Markdown to parts; a crate of its own)
//! 3. [`policy`] (who may write where), [`agents`] (tokens), [`people`] (who writes), [`sessions`] (contexts), [`voice`] (words as
//!    sound), [`files`] (what goes along)
//! 4. [`outbox`] (the queue), [`channels`] (the platforms)
//! 5. [`approval`] (what waits for a person), [`hooks`] (the owner's programs), [`config`] (the file)
//! 6. [`turns`] (what wakes an agent), [`router`] (whom it wakes)
//! 7. [`pipeline`] (what the next two share), [`delivery`] (what happens after the row and the hold), [`admission`] (what happens before)
//! 8. [`receiving`] (the way in), [`tasks`], [`heartbeat`]; [`companion`] (the device with the buttons), [`updates`] (its new firmware) and [`installer`] (its first), [`events`], [`metrics`] (what watchers read), [`homeassistant`] (the house)
//! 9. [`intake`] (the endpoints)
//! 10. [`hub`], which builds all of it and is the one place that knows everyone
//! 11. [`client`] (speaks to a hub), [`demo`], [`cli`]
#![forbid(unsafe_code)]
// They panic when the reader has left: see `printing`.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
// A module's opening is the map of what is in it, private parts too.
#![allow(rustdoc::private_intra_doc_links)]

pub mod admission;
pub mod agents;
pub mod approval;
pub mod archive;
pub mod audit;
pub mod blocking;
pub mod cause;
pub mod channels;
pub mod cli;
pub mod client;
pub mod clock;
pub mod companion;
pub mod config;
pub mod connections;
pub mod delivery;
pub mod demo;
pub mod events;
pub mod files;
pub mod heartbeat;
pub mod homeassistant;
pub mod hooks;
pub mod hub;
pub mod installer;
pub mod intake;
pub mod lines;
pub mod message;
pub mod metrics;
pub mod notify;
pub mod ogg;
pub mod outbox;
pub mod people;
pub mod pipeline;
pub mod plain_text;
pub mod policy;
pub mod printing;
pub mod program;
pub mod random;
pub mod rate_limit;
pub mod receiving;
pub use gatepost_render as render;
pub mod router;
pub mod sessions;
pub mod settings;
pub mod spelling;
pub mod store;
pub mod tasks;
pub mod turns;
pub mod unique_keys;
pub mod updates;
pub mod voice;
