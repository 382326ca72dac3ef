//! The hub as a service: configuration, disk, backup, a version before, log and metrics, another processor.

mod backup;
mod disk;
mod home_assistant;
mod metrics;
mod moving;
mod processors;
mod put_back;
mod reload;
mod secrets;
