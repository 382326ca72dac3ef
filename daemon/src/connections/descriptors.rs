//! How many connections the process can afford, from its limit on descriptors (`RLIMIT_NOFILE`).
//!
//! The hub's own work needs descriptors too: the database, files that go along, connections to the platforms, programs that
//! it runs. At least three eighths of the limit are kept for it, so that connections from outside cannot use it up.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than this is not asked for: the connections of [`MAX_HTTP`] and [`MAX_BROKER`], and as much again and more.
const WANTED: u64 = 4_096;
/// Connections to the HTTP interface at most, whatever the limit is: they cost memory too.
pub const MAX_HTTP: usize = 512;
/// The least: one agent, one who watches over the hub, and some of which nobody knows whose they are.
pub const MIN_HTTP: usize = 16;
/// Connections to the embedded broker at most: a companion has one, or two for a moment.
pub const MAX_BROKER: usize = 64;
/// If the limit cannot be read: the usual one.
const USUAL: u64 = 1_024;

/// How many connections each server may have at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    /// The HTTP interface.
    pub http: usize,
    /// The embedded broker.
    pub broker: usize,
}

impl Descriptors {
    /// Raises the limit as far as the system allows and the hub has use for, and splits it.
    pub fn claim() -> Self {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = maximum.unwrap_or(WANTED).min(WANTED);
        let Some(current) = current else { return Self::split(WANTED) };
        if current >= wanted {
            return Self::split(current);
        }
        match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
            Ok(()) => Self::split(wanted),
            Err(error) => {
                tracing::warn!(%error, current, "the limit on descriptors cannot be raised");
                Self::split(current)
            }
        }
    }

    fn split(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(USUAL as usize);
        // At least one agent and one companion beside the hub itself.
        Self { http: (limit / 2).clamp(MIN_HTTP, MAX_HTTP), broker: (limit / 8).clamp(8, MAX_BROKER) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_keeps_descriptors_for_its_own_work() {
        for limit in [128, 256, 1_024, 4_096, 1 << 20] {
            let Descriptors { http, broker } = Descriptors::split(limit);
            assert!((http + broker) as u64 <= limit * 5 / 8, "{limit}: {http} and {broker}");
        }
        assert_eq!(Descriptors::split(1_024), Descriptors { http: 512, broker: 64 });
        assert_eq!(Descriptors::split(u64::MAX), Descriptors { http: MAX_HTTP, broker: MAX_BROKER });
    }
}
