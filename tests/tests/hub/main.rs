//! The hub as a service: configuration, disk, backup, log and metrics, another processor.

mod aarch64;
mod backup;
mod disk;
mod metrics;
mod reload;
mod secrets;
