//! Which slot a loader starts, and what it writes to `otadata` before it does.
//!
//! ESP-IDF's loader is built in two ways. Without rollback it only reads; the one that espflash 4.7 writes (ESP-IDF
//! v6.1-829) is of this kind. With rollback it gives an image with the state New one start, and rejects it at the next
//! unless that start confirmed it. This module says what both do, for the tests and for a loader of our own on an emulated
//! board. Verifying and starting an image are the caller's.
//!
//! Source: `bootloader_utility_get_selected_boot_partition`, `bootloader_utility_load_boot_image` and `set_actual_ota_seq` in
//! <https://github.com/espressif/esp-idf/blob/master/components/bootloader_support/src/bootloader_utility.c>, for a partition
//! table with two slots and no factory image.

use super::entry::{Entry, Slot, State};

/// How ESP-IDF's loader was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loader {
    /// Without `CONFIG_BOOTLOADER_APP_ROLLBACK_ENABLE`.
    Plain,
    /// With it.
    Rollback,
}

/// What a loader does at a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The slot that it tries first. If the image there does not verify, it starts [`Slot::other`].
    pub first: Slot,
    /// The entries that it writes before that, in this order: sector 0 or 1, and what.
    pub writes: [Option<(usize, Entry)>; 2],
    /// Whether `otadata` said nothing at all. Then it writes [`Choice::initial`] once an image has verified.
    pub says_nothing: bool,
}

impl Choice {
    /// What the loader writes to sector 0 just before it starts this slot.
    pub fn initial(&self, started: Slot) -> Option<Entry> {
        self.says_nothing.then(|| Entry::new(started.index() as u32 + 1, State::VALID))
    }
}

/// What a loader does with these entries.
pub fn choose(mut entries: [Entry; 2], loader: Loader) -> Choice {
    let mut writes = [None; 2];
    if loader == Loader::Rollback {
        for (sector, entry) in entries.iter_mut().enumerate() {
            if entry.state == State::PENDING {
                entry.state = State::ABORTED;
                note(&mut writes, sector, *entry);
            }
        }
    }
    if entries.iter().all(Entry::is_void) {
        let says_nothing = entries.iter().all(|entry| entry.sequence().is_none());
        return Choice { first: Slot::Ota0, writes, says_nothing };
    }
    // If neither is usable, a loader looks for a factory image, and then tries the slots in order.
    let Some(sector) = in_force(&entries) else {
        return Choice { first: Slot::Ota0, writes, says_nothing: false };
    };
    let mut entry = entries[sector];
    if loader == Loader::Rollback && entry.state == State::NEW {
        entry.state = State::PENDING;
        note(&mut writes, sector, entry);
    }
    Choice { first: entry.slot(), writes, says_nothing: false }
}

/// The sector whose entry a loader follows, 0 or 1: the usable one with the greater sequence number.
pub fn in_force(entries: &[Entry; 2]) -> Option<usize> {
    let [one, other] = entries.map(|entry| entry.is_usable().then(|| entry.sequence()).flatten());
    match (one, other) {
        (None, None) => None,
        (one, other) => Some(usize::from(one < other)),
    }
}

/// The sequence number with which an entry for this slot is in force beside these. [`None`] if there is none left: a flash
/// wears out long before.
pub fn next_sequence(entries: &[Entry; 2], slot: Slot) -> Option<u32> {
    // A rejected entry counts too: a number is not used for two images.
    let last = entries.iter().filter_map(Entry::sequence).max().unwrap_or(0);
    let next = last.checked_add(1)?;
    let next = if Entry::new(next, State::VALID).slot() == slot { next } else { next.checked_add(1)? };
    (next != u32::MAX).then_some(next)
}

/// Remembers one more entry to write. A sector is rejected or taken, never both, so two are enough.
fn note(writes: &mut [Option<(usize, Entry)>; 2], sector: usize, entry: Entry) {
    if let Some(free) = writes.iter_mut().find(|write| write.is_none()) {
        *free = Some((sector, entry));
    }
}

#[cfg(test)]
mod tests {
    use super::{super::entry::ENTRY_BYTES, *};

    const BLANK: Entry = Entry::new(u32::MAX, State(u32::MAX));
    const LOADERS: [Loader; 2] = [Loader::Plain, Loader::Rollback];

    fn torn(sequence: u32) -> Entry {
        let mut bytes: [u8; ENTRY_BYTES] = Entry::new(sequence, State::VALID).to_bytes();
        bytes[31] ^= 1;
        Entry::from_bytes(&bytes)
    }

    fn valid(sequence: u32) -> Entry {
        Entry::new(sequence, State::VALID)
    }

    #[test]
    fn the_greater_number_is_followed_if_its_entry_is_whole() {
        for loader in LOADERS {
            for (entries, first) in [
                ([valid(1), BLANK], Slot::Ota0),
                ([BLANK, valid(2)], Slot::Ota1),
                ([valid(5), valid(6)], Slot::Ota1),
                ([valid(7), valid(6)], Slot::Ota0),
                ([valid(5), torn(6)], Slot::Ota0),
                ([torn(7), valid(6)], Slot::Ota1),
                ([valid(5), Entry::new(6, State::ABORTED)], Slot::Ota0),
                ([valid(5), Entry::new(6, State::INVALID)], Slot::Ota0),
                ([valid(5), Entry::new(6, State(u32::MAX))], Slot::Ota1),
            ] {
                let choice = Choice { first, writes: [None; 2], says_nothing: false };
                assert_eq!(choose(entries, loader), choice, "{loader:?} {entries:?}");
            }
        }
    }

    #[test]
    fn without_an_entry_the_first_slot_is_started_and_written_down() {
        for loader in LOADERS {
            let choice = choose([BLANK, BLANK], loader);
            assert_eq!((choice.first, choice.writes), (Slot::Ota0, [None; 2]));
            assert_eq!(choice.initial(Slot::Ota0), Some(valid(1)));
            assert_eq!(choice.initial(Slot::Ota1), Some(valid(2)));
            // With a rejected entry, or with one torn that is not blank, it starts the same but writes nothing.
            for entries in [[BLANK, Entry::new(2, State::ABORTED)], [torn(5), torn(6)], [torn(6), BLANK]] {
                let choice = choose(entries, loader);
                assert_eq!((choice.first, choice.initial(Slot::Ota0)), (Slot::Ota0, None), "{entries:?}");
            }
        }
    }

    #[test]
    fn a_loader_with_rollback_gives_a_new_image_one_start() {
        let new = [valid(5), Entry::new(6, State::NEW)];
        assert_eq!(choose(new, Loader::Plain).writes, [None; 2]);
        let pending = Entry::new(6, State::PENDING);
        let choice = choose(new, Loader::Rollback);
        assert_eq!((choice.first, choice.writes), (Slot::Ota1, [Some((1, pending)), None]));

        assert_eq!(choose([valid(5), pending], Loader::Plain).first, Slot::Ota1);
        let choice = choose([valid(5), pending], Loader::Rollback);
        assert_eq!(choice.first, Slot::Ota0);
        assert_eq!(choice.writes, [Some((1, Entry::new(6, State::ABORTED))), None]);
    }

    #[test]
    fn a_rejection_is_written_before_the_start_of_another() {
        let entries = [Entry::new(7, State::NEW), Entry::new(6, State::PENDING)];
        let (rejected, started) = (Entry::new(6, State::ABORTED), Entry::new(7, State::PENDING));
        assert_eq!(choose(entries, Loader::Rollback).writes, [Some((1, rejected)), Some((0, started))]);
    }

    #[test]
    fn the_next_number_is_greater_than_all_and_leads_to_its_slot() {
        for entries in
            [[BLANK; 2], [valid(1), BLANK], [valid(5), Entry::new(6, State::ABORTED)], [valid(8), torn(9)]]
        {
            let last = entries.iter().filter_map(Entry::sequence).max().unwrap_or(0);
            for slot in Slot::ALL {
                let next = next_sequence(&entries, slot).unwrap();
                assert!(next > last && next <= last + 2, "{next} after {last}");
                assert_eq!(valid(next).slot(), slot);
            }
        }
        let last = valid(u32::MAX - 1);
        assert_eq!(Slot::ALL.map(|slot| next_sequence(&[last, BLANK], slot)), [None; 2]);
    }
}
