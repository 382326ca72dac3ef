//! The doors: where calls come in.
//!
//! - [`http`]: what agents, bridges and the command line speak, and [`mcp`]: what models speak;
//! - [`reply`]: the text of an agent's turn, which goes where the turn came from;
//! - [`wake`]: agents that do not ask for their turns are brought them;
//! - [`whoami`]: who a token belongs to;
//! - [`questions`]: what agents ask people, who say yes or no;
//! - [`service`]: what each of them does with a call of the `message` tool, and [`tool`]: the tools as models are told of them.
//!
//! An interface knows who is calling and what they said, bounded and well-formed; everything else is the pipeline's. What a
//! door refuses leaves a line in the audit and nothing in the queue.

pub mod http;
pub mod mcp;
mod message_service;
mod operate;
mod questions;
mod refused;
pub mod reply;
mod tasks;
pub mod tool;
mod turns;
mod views;
pub mod wake;
pub mod whoami;
