//! The two entries of `otadata` in flash.
//!
//! An entry is written only to the sector that is not in force, so a power cut while it is written leaves the entry that
//! the last start followed. Two entries that lead to the same slot are better than one: [`settle`] sees to that once no
//! image is on trial.
//!
//! Not used: `esp-bootloader-esp-idf` 0.6. It rewrites the entry in force to change its state, keeps the old entry's state
//! for a new image, and refuses every call after one entry was torn; `tests/naive.rs` here shows what follows.

use embedded_storage::nor_flash::NorFlash;

use super::{
    choose::{in_force, next_sequence},
    entry::{ENTRY_BYTES, Entry, Slot, State},
};
use crate::storage::flash::{FlashError, Region};

/// The partition's two sectors.
const OTADATA: Region = Region::at(0);

/// Both entries as they stand.
pub fn read<F: NorFlash>(otadata: &mut F) -> Result<[Entry; 2], FlashError<F::Error>> {
    let mut entries = [Entry::new(u32::MAX, State::NEW); 2];
    for (sector, entry) in entries.iter_mut().enumerate() {
        let mut bytes = [0; ENTRY_BYTES];
        OTADATA.read(otadata, sector, 0, &mut bytes)?;
        *entry = Entry::from_bytes(&bytes);
    }
    Ok(entries)
}

/// Erases a sector, writes an entry to it, and reads it back.
pub fn write<F: NorFlash>(otadata: &mut F, sector: usize, entry: Entry) -> Result<(), FlashError<F::Error>> {
    OTADATA.erase(otadata, sector)?;
    OTADATA.write(otadata, sector, 0, &entry.to_bytes())
}

/// Puts an entry for this slot into force. The one that was in force stays.
pub fn lead_to<F: NorFlash>(otadata: &mut F, slot: Slot, state: State) -> Result<(), FlashError<F::Error>> {
    let entries = read(otadata)?;
    let sequence = next_sequence(&entries, slot).ok_or(FlashError::TooLarge)?;
    let sector = in_force(&entries).map_or(0, |sector| 1 - sector);
    write(otadata, sector, Entry::new(sequence, state))
}

/// Whether both entries are whole, confirmed, and lead to this slot.
pub fn is_settled<F: NorFlash>(otadata: &mut F, slot: Slot) -> Result<bool, FlashError<F::Error>> {
    Ok(read(otadata)?.iter().all(|entry| entry.is_settled(slot)))
}

/// Makes both entries lead to this slot. It writes nothing if they do.
pub fn settle<F: NorFlash>(otadata: &mut F, slot: Slot) -> Result<(), FlashError<F::Error>> {
    // Each turn replaces the entry that is not in force, and thereby puts it into force.
    for _ in 0..2 {
        if is_settled(otadata, slot)? {
            break;
        }
        lead_to(otadata, slot, State::VALID)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::flash::{
        SECTOR_BYTES,
        power_cut::{Breakage, PowerCutFlash},
    };

    fn blank() -> PowerCutFlash {
        PowerCutFlash::blank(2 * SECTOR_BYTES, 1)
    }

    #[test]
    fn the_entry_in_force_is_never_erased_first() {
        let mut flash = blank();
        for (turn, slot) in [Slot::Ota1, Slot::Ota0, Slot::Ota0, Slot::Ota1].into_iter().enumerate() {
            let before = read(&mut flash).unwrap();
            lead_to(&mut flash, slot, State::NEW).unwrap();
            let after = read(&mut flash).unwrap();
            let force = in_force(&after).unwrap();
            assert_eq!((force, after[force].slot(), after[force].state), (turn % 2, slot, State::NEW));
            assert_eq!(after[1 - force], before[1 - force]);
        }
    }

    #[test]
    fn settling_takes_two_writes_at_most_and_none_afterwards() {
        for slot in Slot::ALL {
            let mut flash = blank();
            lead_to(&mut flash, slot.other(), State::VALID).unwrap();
            lead_to(&mut flash, slot, State::NEW).unwrap();
            settle(&mut flash, slot).unwrap();
            assert!(is_settled(&mut flash, slot).unwrap() && !is_settled(&mut flash, slot.other()).unwrap());
            let erases = flash.erases;
            settle(&mut flash, slot).unwrap();
            assert_eq!((erases, flash.erases), (4, 4));
        }
    }

    #[test]
    fn a_flash_that_ignores_writes_is_an_error() {
        let mut flash = blank();
        flash.broken = Some(Breakage::Silent);
        assert_eq!(settle(&mut flash, Slot::Ota0), Err(FlashError::NotStored));
    }
}
