//! The command line: what it takes, prints and exits with; the demo.

mod command_line;
mod configuration;
mod demo;
mod printing;
mod root;
mod service;
mod setup;
mod setup_retries;
mod tokens;
