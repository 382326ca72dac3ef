//! The way in under torture, whole: a platform, the hub as a process, and agents.
//!
//! - [`killed`]: `kill -9` in the midst of what people write at a server that is no mock: [`synapse`], [`post`], and at those that lie: [`telegram`],
//!   [`matrix`], [`ntfy`], [`signal`];
//! - [`discord`]: a Gateway whose sessions end in every way that there is; [`slack`]: connections that do, and kills before them;
//! - [`hostile`]: everything that a platform can send, and behind each a message that must come;
//! - [`book`]: what people wrote, the turns and what reached them, held against each other.

mod book;
mod discord;
mod hostile;
mod imessage;
mod killed;
mod matrix;
mod ntfy;
mod post;
mod signal;
mod slack;
mod synapse;
mod telegram;
