//! What was handed over already, where a platform is asked for the same again and again. The hub knows it too; this spares it the
//! files of what it has, each minute again.

use std::collections::{HashSet, VecDeque};

/// Keys that are remembered: more than a minute brings.
const MAX_KEYS: usize = 4096;

/// The keys of events that are on disk.
#[derive(Debug, Default)]
pub(in crate::channels) struct Told {
    order: VecDeque<String>,
    keys: HashSet<String>,
}

impl Told {
    /// Whether this one was.
    pub(in crate::channels) fn has(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// It is on disk.
    pub(in crate::channels) fn note(&mut self, key: String) {
        if !self.keys.insert(key.clone()) {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > MAX_KEYS
            && let Some(oldest) = self.order.pop_front()
        {
            self.keys.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_remembered_within_bounds() {
        let mut seen = Told::default();
        for n in 0..2 * MAX_KEYS {
            seen.note(n.to_string());
            seen.note(n.to_string());
        }
        assert!(seen.keys.len() == MAX_KEYS && seen.order.len() == MAX_KEYS);
        assert!(seen.has(&(2 * MAX_KEYS - 1).to_string()) && !seen.has("0"));
    }
}
