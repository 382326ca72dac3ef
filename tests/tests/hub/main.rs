//! The hub as a service: configuration, disk, backup, a version before, log and metrics, another processor.

mod aarch64;
mod backup;
mod disk;
mod metrics;
mod put_back;
mod reload;
mod secrets;
