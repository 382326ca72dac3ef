//! The doors: where calls come in.
//!
//! - [`http`]: what agents, bridges and the command line speak.
//! - [`desk`]: what each of them does with a call of the `message` tool.
//!
//! A door knows who is calling and what they said, bounded and well-formed; everything else is the pipeline's. What a
//! door refuses leaves a line in the audit and nothing in the queue.

mod desk;
pub mod http;
mod refused;
