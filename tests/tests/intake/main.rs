//! The interfaces that calls come by: HTTP, its description and clients, MCP, the reply path, files, dry runs; the page, and logins to it;
//! TLS of the hub's own.

mod bad_input;
mod dry_run;
mod events;
mod files;
mod generated_clients;
mod heartbeat;
mod logins;
mod mcp;
mod openapi;
mod page;
mod page_calls;
mod page_in_chromium;
mod passkeys;
mod programs;
mod reply;
mod session;
mod tasks;
mod tls;
mod tool_hooks;
mod tools;
mod transcript;
mod turns;
mod wake;

/// The tools of an agent, in the order in which they are told.
const TOOLS: [&str; 12] = [
    "message",
    "send_message",
    "reply",
    "next_turn",
    "receipt",
    "cancel",
    "inbox",
    "guide",
    "ask_person",
    "schedule_task",
    "cancel_task",
    "list_tasks",
];
