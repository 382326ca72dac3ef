//! The interfaces that calls come by: HTTP, its description and clients, MCP, the reply path, files, dry runs.

mod bad_input;
mod dry_run;
mod events;
mod files;
mod generated_clients;
mod mcp;
mod openapi;
mod reply;
mod session;
mod tool_hooks;
mod tools;
mod transcript;
mod turns;
mod wake;
