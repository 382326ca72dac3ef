//! What becomes of a message that was accepted: policy, hooks, attempts, pauses, a `kill -9`.

mod arrivals;
mod hooks;
mod identity;
mod operate;
mod ownership;
mod paused;
mod repeats;
mod restart;
mod voice;
