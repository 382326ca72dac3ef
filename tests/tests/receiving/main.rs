//! Every channel hears, by one contract, and speaks with one person for long: each platform by its double, reached over a wire that
//! can be cut, frozen and answered for.
//!
//! - [`houses`]: the platforms;
//! - [`stage`]: a hub, its platform, and the wires between them;
//! - [`agent`]: an agent that answers each line, and changes some of its answers;
//! - [`clients`]: other people's clients at the same doubles;
//! - [`contract`]: what holds for every channel;
//! - [`steps`]: `kill -9` behind every piece of what passes;
//! - [`both_ways`]: conversations of many lines each way, with faults and kills;
//! - [`all_at_once`]: one hub that hears everywhere.
//!
//! `RECEIVING_LINES`, `RECEIVING_STEPS` and `RECEIVING_HOUSES` make it longer, or a part of it.
//!
//! Installed by `tests/run --setup-only`: Python and Node with other people's clients, Postfix, Dovecot.
//! Slow: it takes some minutes, most of them waiting.

mod agent;
mod all_at_once;
mod both_ways;
mod clients;
mod contract;
mod houses;
mod stage;
mod steps;
