//! Platforms, each with a server, a library or a mock that holds it to what it publishes.

mod discord;
mod flavours;
mod googlechat;
mod googlechat_receives;
mod imessage;
mod imessage_receives;
mod mail;
mod matrix;
mod matrix_receives;
mod signal;
mod signal_receives;
mod slack;
mod slack_receives;
mod teams;
mod teams_receives;
mod telegram;
mod turns;
mod webhook;
mod webhook_receives;
mod whatsapp;
mod whatsapp_receives;
