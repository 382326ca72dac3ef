use std::vec::Vec;

use super::*;
use crate::storage::flash::{
    SECTOR_BYTES,
    power_cut::{Breakage, Fault, PowerCutFlash, cut_twice},
};

const RECORD: Record = Record::new(Region::at(0), 7);
const OLD: [u8; 97] = [0x5a; 97];
const NEW: [u8; 64] = [0xc3; 64];
/// Of storing [`NEW`] as the first value, copy by copy: an erase, then header, value, checksum and mark.
const FIRST_STEPS: usize = 2 * (16 + 16 + 64 + 16 + 16);
/// The same in the place of another value: the mark of the copy that stays for now is made firm before.
const STEPS: usize = 16 + FIRST_STEPS;

fn blank(seed: u64) -> PowerCutFlash {
    PowerCutFlash::blank(Region::SIZE, seed)
}

fn load(flash: &mut PowerCutFlash) -> Result<Option<Vec<u8>>, FlashError<Fault>> {
    let mut buffer = [0; MAX_VALUE_BYTES];
    RECORD.load(flash, &mut buffer).map(|value| value.map(<[u8]>::to_vec))
}

/// A flash that was cut at this step of storing [`NEW`].
fn torn(mut flash: PowerCutFlash, cut: usize) -> PowerCutFlash {
    flash.power_on(Some(cut));
    assert_eq!(RECORD.store(&mut flash, &NEW), Err(FlashError::Flash(Fault::NoPower)));
    assert!(flash.was_cut());
    flash
}

#[test]
fn a_value_is_stored_replaced_and_may_be_empty_or_long() {
    let mut flash = blank(1);
    assert_eq!(load(&mut flash), Ok(None), "a blank flash");
    for value in [&OLD[..], &NEW, &[], &[9; MAX_VALUE_BYTES], &[8; 15], &[7; 16], &[0xff; 17]] {
        RECORD.store(&mut flash, value).unwrap();
        assert_eq!(load(&mut flash).unwrap().as_deref(), Some(value));
    }
    assert_eq!(RECORD.store(&mut flash, &[0; MAX_VALUE_BYTES + 1]), Err(FlashError::TooLarge));
    assert_eq!(load(&mut flash).unwrap().as_deref(), Some(&[0xff; 17][..]), "nothing has changed");
}

#[test]
fn a_cut_at_any_step_leaves_the_old_value_or_the_new_and_what_was_read_stays() {
    let mut cuts = 0;
    for seed in 1..=8 {
        let mut before = blank(seed);
        RECORD.store(&mut before, &OLD).unwrap();
        for cut in 0..STEPS {
            let mut flash = torn(before.clone(), cut);
            cuts += 1;
            flash.power_on(None);
            let found = load(&mut flash).unwrap().unwrap();
            assert!(found == OLD || found == NEW, "cut {cut}");
            for copy in 0..2 {
                let mut flash = flash.clone();
                flash.bytes[copy * SECTOR_BYTES as usize..][..SECTOR_BYTES as usize].fill(0xff);
                assert_eq!(load(&mut flash), Ok(Some(found.clone())), "cut {cut}: both copies were mended");
            }
        }
        before.power_on(None);
        RECORD.store(&mut before, &NEW).unwrap();
        assert_eq!(before.steps, STEPS, "no step was left out");
    }
    assert_eq!(cuts, 8 * STEPS);
}

#[test]
fn a_second_cut_during_the_repair_loses_nothing() {
    let (mut cuts, mut before) = (0, blank(3));
    RECORD.store(&mut before, &OLD).unwrap();
    for first in 0..STEPS {
        let flash = torn(before.clone(), first);
        for second in 0.. {
            let mut flash = flash.clone();
            flash.power_on(Some(second));
            let once = load(&mut flash);
            let was_cut = flash.was_cut();
            cuts += usize::from(was_cut);
            flash.power_on(None);
            let found = load(&mut flash).unwrap().unwrap();
            assert!(found == OLD || found == NEW, "cuts {first}, {second}");
            if !was_cut {
                assert_eq!(once, Ok(Some(found)));
                break;
            }
        }
    }
    assert!(cuts > STEPS * 100, "{cuts} cuts were made");
}

#[test]
fn a_cut_while_the_first_value_is_stored_leaves_none_or_that_value() {
    let mut found = [0; 2];
    for seed in 1..=4 {
        for cut in 0..FIRST_STEPS {
            let mut flash = torn(blank(seed), cut);
            flash.power_on(None);
            match load(&mut flash).unwrap() {
                None => found[0] += 1,
                Some(value) => {
                    assert_eq!(value, NEW);
                    found[1] += 1;
                }
            }
            RECORD.store(&mut flash, &OLD).unwrap();
            assert_eq!(load(&mut flash).unwrap().unwrap(), OLD);
        }
    }
    assert_eq!(found[0] + found[1], 4 * FIRST_STEPS);
    assert!(found[0] > FIRST_STEPS && found[1] > FIRST_STEPS, "{found:?}");
}

#[test]
fn two_cuts_while_the_first_value_is_stored_leave_a_record_that_can_be_stored() {
    let cuts = cut_twice(
        &blank(1),
        3,
        |flash| _ = load(flash).and_then(|_| RECORD.store(flash, &NEW)),
        |flash, what| {
            let found = load(flash).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(found.is_none_or(|found| found == NEW), "{what}");
            RECORD.store(flash, &OLD).unwrap();
            assert_eq!(load(flash).unwrap().unwrap(), OLD, "{what}");
        },
    );
    assert!(cuts > 40_000, "{cuts}");
}

#[test]
fn a_mark_that_reads_as_blank_later_is_made_firm_before_the_other_copy_is_begun() {
    let mut flash = blank(7);
    RECORD.store(&mut flash, &OLD).unwrap();
    // As a cut leaves it that came while the mark of the first copy was written: the second copy is not begun.
    let mark = LINE_BYTES + OLD.len().next_multiple_of(LINE_BYTES) + LINE_BYTES;
    flash.bytes[SECTOR_BYTES as usize..].fill(0xff);
    for at in mark..mark + LINE_BYTES {
        flash.set_floating(at, 0xff);
    }
    flash.power_on(None);
    assert_eq!(load(&mut flash).unwrap().unwrap(), OLD);
    assert!(!flash.floats(mark..mark + LINE_BYTES));
}

#[test]
fn one_rotten_copy_is_repaired_and_two_are_an_error() {
    let mut whole = blank(4);
    RECORD.store(&mut whole, &OLD).unwrap();
    for offset in 0..(LINE_BYTES + 112 + LINE_BYTES) as u32 {
        for copy in 0..2 {
            let mut flash = whole.clone();
            flash.rot(copy * SECTOR_BYTES + offset);
            assert_eq!(load(&mut flash).unwrap().unwrap(), OLD, "byte {offset} of copy {copy}");
            assert_eq!(flash.bytes, whole.bytes, "mended");
        }
    }
    whole.rot(20);
    whole.rot(SECTOR_BYTES + 20);
    let error = load(&mut whole).unwrap_err();
    assert_eq!((error, error.is_transient()), (FlashError::Damaged, false));
    RECORD.store(&mut whole, &NEW).unwrap();
    assert_eq!(load(&mut whole).unwrap().unwrap(), NEW, "a reset makes it good");
}

#[test]
fn a_flash_with_foreign_bytes_has_no_value_yet() {
    for (index, foreign) in
        [[0; 64], [0x41; 64], *b"gate\x02\x07 another layout, or another value, of another time and too"]
            .into_iter()
            .enumerate()
    {
        let mut flash = blank(5);
        for sector in 0..2 {
            flash.bytes[sector * SECTOR_BYTES as usize..][..64].copy_from_slice(&foreign);
        }
        assert_eq!(load(&mut flash), Ok(None), "{index}");
        RECORD.store(&mut flash, &NEW).unwrap();
        assert_eq!(load(&mut flash).unwrap().unwrap(), NEW);
    }
}

#[test]
fn a_failing_flash_is_an_error_and_never_an_empty_one() {
    let mut whole = blank(6);
    RECORD.store(&mut whole, &OLD).unwrap();
    for (breakage, error) in [
        (Breakage::Reads, FlashError::Flash(Fault::Broken)),
        (Breakage::Writes, FlashError::Flash(Fault::Broken)),
        (Breakage::Erases, FlashError::Flash(Fault::Broken)),
        (Breakage::Silent, FlashError::NotStored),
    ] {
        let mut flash = whole.clone();
        flash.broken = Some(breakage);
        assert_eq!(RECORD.store(&mut flash, &NEW), Err(error), "{breakage:?}");
        assert!(error.is_transient());
        if breakage == Breakage::Reads {
            assert_eq!(load(&mut flash), Err(error));
        }
        flash.broken = None;
        assert_eq!(load(&mut flash).unwrap().unwrap(), OLD, "{breakage:?}: the other copy was left alone");
    }
}

#[test]
fn any_number_of_cuts_in_a_row_leaves_a_record_that_can_be_read() {
    let (mut dice, mut cuts) = (0x0bad_cafe_u64, 0);
    let mut below = |end: usize| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        (dice >> 20) as usize % end
    };
    for round in 0..8_000 {
        let mut flash = blank(round);
        let has_value = round % 2 == 0;
        if has_value {
            RECORD.store(&mut flash, &OLD).unwrap();
        }
        for _ in 0..2 + below(6) {
            // Half of them around the end of a copy, or of its parts.
            let near = [0, 16, 96, 112, 128, 144, 240, 256][below(8)] + below(3);
            flash.power_on(Some(if below(2) == 0 { near } else { below(STEPS) }));
            // Some values are stored without a look at what was there.
            let loaded = if below(3) == 0 { Ok(None) } else { load(&mut flash) };
            let _ = loaded.and_then(|_| RECORD.store(&mut flash, &NEW));
            cuts += usize::from(flash.was_cut());
        }
        flash.power_on(None);
        let found = load(&mut flash).unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert!(found.is_some() || !has_value, "round {round}");
    }
    assert!(cuts > 30_000, "{cuts}");
}
