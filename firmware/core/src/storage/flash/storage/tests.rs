use gatepost_link::{
    decision::PublicKey,
    seal::{SealKey, SealSecret},
};

use super::*;
use crate::storage::flash::{
    SECTOR_BYTES,
    power_cut::{Fault, PowerCutFlash, cut_twice},
};

const KEYS_1: Keys = Keys { sign: [1; 32], seal: SealSecret([2; 32]) };
const KEYS_2: Keys = Keys { sign: [3; 32], seal: SealSecret([4; 32]) };

fn bond(hub: u8) -> Bond {
    Bond {
        hub: PublicKey([hub; 32]),
        seal: SealKey([9; 32]),
        user: "device".try_into().unwrap(),
        password: "tiger".try_into().unwrap(),
        version: 3,
    }
}

fn network() -> Network {
    Network {
        ssid: "a".repeat(32).as_str().try_into().unwrap(),
        password: "b".repeat(64).as_str().try_into().unwrap(),
        host: "c".repeat(64).as_str().try_into().unwrap(),
        port: 1883,
    }
}

fn blank(seed: u64) -> PowerCutFlash {
    PowerCutFlash::blank(FlashStorage::<PowerCutFlash>::SIZE, seed)
}

/// The same flash in a device that has just started.
fn started(mut flash: PowerCutFlash) -> FlashStorage<PowerCutFlash> {
    flash.power_on(None);
    FlashStorage::new(flash)
}

#[test]
fn a_device_keeps_everything_over_a_restart() {
    let mut storage = started(blank(1));
    assert_eq!(storage.load_keys(), Ok(None));
    assert_eq!((storage.load_bond(), storage.load_network()), (Ok(None), Ok(None)));
    storage.store_keys(&KEYS_1).unwrap();
    storage.store_bond(&bond(5)).unwrap();
    storage.store_network(&network()).unwrap();
    assert_eq!(storage.reserve(), Ok(1));

    let mut storage = started(storage.flash);
    assert_eq!(storage.load_keys(), Ok(Some(KEYS_1)));
    assert_eq!(storage.load_bond(), Ok(Some(bond(5))));
    assert_eq!(storage.load_network(), Ok(Some(network())));
    assert_eq!(storage.reserve(), Ok(2));

    storage.wipe_bond().unwrap();
    let mut storage = started(storage.flash);
    assert_eq!((storage.load_bond(), storage.load_keys()), (Ok(None), Ok(Some(KEYS_1))));
    assert_eq!(storage.reserve(), Ok(3), "the counter does not start over");
    assert!(!storage.flash.bytes.windows(5).any(|bytes| bytes == b"tiger"), "nothing of the bond is left");
}

#[test]
fn a_cut_at_any_step_leaves_the_keys_and_a_counter_that_never_goes_back() {
    /// Two decisions, a new bond, a decision, and the bond wiped.
    fn live(storage: &mut FlashStorage<PowerCutFlash>, given: &mut u64) -> Result<(), FlashError<Fault>> {
        for _ in 0..2 {
            *given = storage.reserve()?;
        }
        storage.store_bond(&bond(6))?;
        *given = storage.reserve()?;
        storage.wipe_bond()
    }
    // Three numbers; a bond of 78 bytes and an empty one, each with an erase, header, checksum and mark; all of it twice. Before each
    // bond the mark of the copy that stays for now.
    const STEPS: usize = 2 * (3 * 16 + (16 + 48 + 80) + (16 + 48)) + 2 * 16;
    let mut born = started(blank(2));
    born.store_keys(&KEYS_1).unwrap();
    born.store_bond(&bond(5)).unwrap();
    let mut cuts = 0;
    for cut in 0..STEPS {
        let mut flash = born.flash.clone();
        flash.power_on(Some(cut));
        let mut given = 0;
        let mut storage = FlashStorage::new(flash);
        live(&mut storage, &mut given).unwrap_err();
        cuts += usize::from(storage.flash.was_cut());

        let mut storage = started(storage.flash);
        assert_eq!(storage.load_keys(), Ok(Some(KEYS_1)), "cut {cut}");
        let found = storage.load_bond().unwrap();
        assert!([Some(bond(5)), Some(bond(6)), None].contains(&found), "cut {cut}: {found:?}");
        let next = storage.reserve().unwrap();
        assert!(next > given && next <= given + 3, "cut {cut}: {next} after {given}");
    }
    assert_eq!(cuts, STEPS);
    born.flash.power_on(None);
    live(&mut born, &mut 0).unwrap();
    assert_eq!(born.flash.steps, STEPS, "no step was left out");
}

#[test]
fn a_first_start_that_was_cut_begins_again_or_is_done() {
    // The counter's two sectors with a line each; the keys in two copies.
    const STEPS: usize = 2 * (16 + 16) + 2 * (16 + 48 + 64);
    let (mut cuts, mut done) = (0, 0);
    for seed in 1..=4 {
        for cut in 0..STEPS {
            let mut flash = blank(seed);
            flash.power_on(Some(cut));
            let mut storage = FlashStorage::new(flash);
            storage.store_keys(&KEYS_1).unwrap_err();
            cuts += usize::from(storage.flash.was_cut());
            let mut storage = started(storage.flash);
            let keys = match storage.load_keys().unwrap_or_else(|error| panic!("cut {cut}: {error}")) {
                Some(keys) => {
                    done += 1;
                    assert_eq!(keys, KEYS_1);
                    keys
                }
                None => {
                    storage.store_keys(&KEYS_2).unwrap();
                    KEYS_2
                }
            };
            let mut storage = started(storage.flash);
            assert_eq!(storage.load_keys(), Ok(Some(keys)), "cut {cut}");
            assert_eq!(storage.reserve(), Ok(1));
        }
    }
    assert_eq!(cuts, 4 * STEPS);
    assert!(done > STEPS && done < 3 * STEPS, "{done}");
}

#[test]
fn two_cuts_in_the_first_starts_of_a_device_leave_one_that_works() {
    /// What a device does until it has keys and a bond.
    fn live(flash: &mut PowerCutFlash) -> Result<(), FlashError<Fault>> {
        let mut storage = FlashStorage::new(flash);
        if storage.load_keys()?.is_none() {
            storage.store_keys(&KEYS_1)?;
        }
        if storage.load_bond()?.is_none() {
            storage.store_bond(&bond(5))?;
        }
        Ok(())
    }
    let cuts = cut_twice(
        &blank(1),
        41,
        |flash| _ = live(flash),
        |flash, what| {
            live(flash).unwrap_or_else(|error| panic!("{what}: {error}"));
            let mut storage = FlashStorage::new(flash);
            assert_eq!(storage.load_keys(), Ok(Some(KEYS_1)), "{what}");
            assert_eq!(storage.load_bond(), Ok(Some(bond(5))), "{what}");
            assert_eq!(storage.reserve(), Ok(1), "{what}");
        },
    );
    assert!(cuts > 12_000, "{cuts}");
}

#[test]
fn a_cut_while_other_keys_are_stored_leaves_one_of_both_and_the_counter_continues() {
    // The mark of the copy that stays for now; the keys in two copies, each with an erase, header, checksum and mark.
    const STEPS: usize = 16 + 2 * (16 + 48 + 64);
    let mut born = started(blank(5));
    born.store_keys(&KEYS_1).unwrap();
    (1..=3).for_each(|next| assert_eq!(born.reserve(), Ok(next)));
    let (mut cuts, mut old) = (0, 0);
    for cut in 0..STEPS {
        let mut flash = born.flash.clone();
        flash.power_on(Some(cut));
        let mut storage = FlashStorage::new(flash);
        storage.store_keys(&KEYS_2).unwrap_err();
        cuts += usize::from(storage.flash.was_cut());
        let mut storage = started(storage.flash);
        let keys = storage.load_keys().unwrap().unwrap();
        assert!([KEYS_1, KEYS_2].contains(&keys), "cut {cut}: {keys:?}");
        old += usize::from(keys == KEYS_1);
        assert_eq!(storage.reserve(), Ok(4), "cut {cut}");
    }
    assert_eq!(cuts, STEPS);
    assert!(0 < old && old < STEPS, "{old}");
}

#[test]
fn lost_keys_are_damage_and_not_a_first_start() {
    let mut storage = started(blank(3));
    storage.store_keys(&KEYS_1).unwrap();
    storage.reserve().unwrap();
    let mut flash = storage.flash;
    flash.bytes[..2 * SECTOR_BYTES as usize].fill(0xff);
    assert_eq!(started(flash).load_keys(), Err(FlashError::Damaged));
}

#[test]
fn a_value_of_another_shape_is_damage() {
    let mut storage = started(blank(4));
    BOND.store(&mut storage.flash, &[1, 2, 3]).unwrap();
    assert_eq!(storage.load_bond(), Err(FlashError::Damaged));
}
