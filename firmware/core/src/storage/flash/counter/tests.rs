use super::*;
use crate::storage::flash::power_cut::{Breakage, Fault, PowerCutFlash};

const REGION: Region = Region::at(0);

fn counter() -> FlashCounter {
    FlashCounter::new(REGION)
}

/// A flash whose counter has given so many numbers.
fn after(reservations: u64, seed: u64) -> PowerCutFlash {
    let mut flash = PowerCutFlash::blank(Region::SIZE, seed);
    let mut counter = counter();
    counter.format(&mut flash).unwrap();
    (1..=reservations).for_each(|number| assert_eq!(counter.reserve(&mut flash), Ok(number)));
    flash.power_on(None);
    flash
}

#[test]
fn a_counter_continues_after_a_restart_and_erases_twice_for_256_numbers() {
    let mut flash = after(0, 1);
    let erases = flash.erases;
    for number in 1..=256 * 4 {
        let mut after_a_restart = counter();
        assert_eq!(after_a_restart.reserve(&mut flash), Ok(number));
    }
    assert_eq!(flash.erases - erases, 2 * 4);
}

#[test]
fn a_cut_at_any_step_never_lets_the_counter_go_back_or_repeat() {
    // One number in the middle of a sector, and three around its end: two lines each, and the erases of two sectors.
    let runs = [(100, 1, 32), (253, 3, 3 * 32 + 2 * 16)];
    let mut cuts = 0;
    for (start, numbers, steps) in runs {
        for seed in 1..=8 {
            let before = after(start, seed);
            for cut in 0..steps {
                let mut flash = before.clone();
                flash.power_on(Some(cut));
                let (mut given, mut running) = (start, counter());
                while let Ok(number) = running.reserve(&mut flash) {
                    assert!(number > given);
                    given = number;
                }
                assert!(flash.was_cut(), "step {cut} exists");
                cuts += 1;
                for _ in 0..3 {
                    flash.power_on(None);
                    let number = counter().reserve(&mut flash).unwrap();
                    assert!(number > given, "cut {cut}: {number} after {given}");
                    given = number;
                }
                assert!(given <= start + numbers + 2 * 3 + 1, "cut {cut}: no more than a gap, {given}");
            }
            let mut flash = before;
            let mut counter = counter();
            (0..numbers).for_each(|_| assert!(counter.reserve(&mut flash).is_ok()));
            assert_eq!(flash.steps, steps, "no step was left out");
        }
    }
    assert_eq!(cuts, 8 * (32 + 128));
}

#[test]
fn a_second_cut_during_the_repair_never_lets_it_go_back() {
    let mut cuts = 0;
    for (start, steps) in [(7, 32), (255, 32 + 32)] {
        let before = after(start, start);
        for first in 0..steps {
            let mut torn = before.clone();
            torn.power_on(Some(first));
            assert!(counter().reserve(&mut torn).is_err());
            // Every third, another third each time.
            for second in (first % 3..).step_by(3) {
                let mut flash = torn.clone();
                flash.power_on(Some(second));
                let given = counter().reserve(&mut flash);
                let was_cut = flash.was_cut();
                cuts += usize::from(was_cut);
                flash.power_on(None);
                let next = counter().reserve(&mut flash).unwrap();
                assert!(next > given.unwrap_or(start), "cuts {first}, {second}: {next} after {given:?}");
                if !was_cut {
                    break;
                }
            }
        }
    }
    assert!(cuts > 96 * 32 / 3, "{cuts} cuts were made");
}

#[test]
fn a_cut_during_the_first_format_is_an_error_or_zero() {
    let mut cuts = 0;
    for cut in 0..2 * (16 + 16) {
        let mut flash = PowerCutFlash::blank(Region::SIZE, 9);
        flash.power_on(Some(cut));
        assert!(counter().format(&mut flash).is_err());
        cuts += usize::from(flash.was_cut());
        flash.power_on(None);
        assert!(matches!(counter().last(&mut flash), Ok(0 | 1) | Err(FlashError::Damaged)), "cut {cut}");
        counter().format(&mut flash).unwrap();
        assert_eq!(counter().reserve(&mut flash), Ok(1));
    }
    assert_eq!(cuts, 64);
}

#[test]
fn a_rotten_line_or_a_lost_sector_never_lets_it_go_back() {
    let before = after(40, 2);
    for offset in 0..41 * LINE_BYTES as u32 {
        for copy in 0..2 {
            let mut flash = before.clone();
            flash.rot(copy * SECTOR_BYTES + offset);
            assert!(counter().reserve(&mut flash).unwrap() > 40, "byte {offset} of copy {copy}");
        }
    }
    let last = 40 * LINE_BYTES as u32;
    let mut flash = before.clone();
    flash.rot(last);
    flash.rot(SECTOR_BYTES + last);
    assert!(counter().reserve(&mut flash).unwrap() > 40, "the last line of both");
    let mut flash = before;
    flash.bytes[..SECTOR_BYTES as usize].fill(0);
    assert_eq!(counter().reserve(&mut flash), Ok(41), "the other sector knows");
}

#[test]
fn an_unreadable_counter_is_damaged_and_does_not_start_over() {
    for content in [0xff, 0] {
        let mut flash = PowerCutFlash::blank(Region::SIZE, 3);
        flash.bytes.fill(content);
        assert_eq!(counter().reserve(&mut flash), Err(FlashError::Damaged));
    }
}

#[test]
fn a_failing_flash_gives_no_number_and_a_later_one_is_greater() {
    for (breakage, error) in [
        (Breakage::Reads, FlashError::Flash(Fault::Broken)),
        (Breakage::Writes, FlashError::Flash(Fault::Broken)),
        (Breakage::Silent, FlashError::NotStored),
    ] {
        let mut flash = after(12, 4);
        let mut counter = counter();
        assert_eq!(counter.reserve(&mut flash), Ok(13));
        flash.broken = Some(breakage);
        assert_eq!(counter.reserve(&mut flash), Err(error), "{breakage:?}");
        flash.broken = None;
        let next = counter.reserve(&mut flash).unwrap();
        assert!((14..=15).contains(&next), "{breakage:?}: {next}");
    }
    let mut flash = after(255, 5);
    flash.broken = Some(Breakage::Erases);
    assert_eq!(counter().reserve(&mut flash), Err(FlashError::Flash(Fault::Broken)));
    flash.broken = None;
    assert_eq!(counter().reserve(&mut flash), Ok(256));
}

#[test]
fn the_greatest_number_is_the_last() {
    let mut flash = PowerCutFlash::blank(Region::SIZE, 6);
    counter().rewrite(&mut flash, 0, u64::MAX - 1).unwrap();
    let mut counter = counter();
    assert_eq!(counter.reserve(&mut flash), Ok(u64::MAX));
    assert_eq!(counter.reserve(&mut flash), Err(FlashError::TooLarge));
    assert_eq!(counter.reserve(&mut flash), Err(FlashError::TooLarge));
}
