//! How often the configuration was read anew, and whether that went well the last time.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use super::exposition::{Kind, Text};

/// Reloads of the configuration since the hub started. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Reloads(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    taken: AtomicU64,
    refused: AtomicU64,
    /// The file that was read last is not the configuration that holds.
    is_behind: AtomicBool,
}

impl Reloads {
    /// Counts one, which was taken or refused.
    pub fn note(&self, taken: bool) {
        let Counts { taken: yes, refused: no, is_behind } = &*self.0;
        if taken { yes } else { no }.fetch_add(1, Ordering::Relaxed);
        is_behind.store(!taken, Ordering::Relaxed);
    }

    pub(super) fn write(&self, text: &mut Text) {
        let Counts { taken, refused, is_behind } = &*self.0;
        text.family(
            "gatepost_config_reloads_total",
            Kind::Counter,
            "Reloads of the configuration since the hub started, by whether the new one was taken.",
        );
        for (result, count) in [("taken", taken), ("refused", refused)] {
            text.sample(&[("result", result)], super::as_f64(count.load(Ordering::Relaxed)));
        }
        text.family(
            "gatepost_config_last_reload_successful",
            Kind::Gauge,
            "0 if the last reload was refused: the configuration file is not what holds. 1 otherwise.",
        );
        text.sample(&[], if is_behind.load(Ordering::Relaxed) { 0.0 } else { 1.0 });
    }
}
