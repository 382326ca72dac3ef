use core::cell::RefCell;
use std::{vec, vec::Vec};

use gatepost_link::Digest;

use super::*;
use crate::storage::flash::{
    part::Part as FlashPart,
    power_cut::{Breakage, PowerCutFlash},
};

const SECTORS: u32 = 22;
const SLOT_BYTES: u32 = SECTORS * SECTOR_BYTES;

struct Image(Vec<u8>);

impl Image {
    /// Every block is another one.
    fn new(seed: u8, size: usize) -> Self {
        Self((0..size).map(|at| (at / 4096) as u8 ^ seed ^ (at % 251) as u8).collect())
    }

    fn list(&self) -> Vec<u8> {
        self.0.chunks(BLOCK_BYTES as usize).flat_map(Sha256::digest).collect()
    }

    fn release(&self) -> Release {
        let hash = |bytes: &[u8]| Digest(Sha256::digest(bytes).into());
        Release { size: self.0.len() as u32, image: hash(&self.0), blocks: hash(&self.list()) }
    }

    fn piece(&self, piece: Piece) -> Vec<u8> {
        let from = if piece.part == Part::List { self.list() } else { self.0.clone() };
        from[piece.offset as usize..][..piece.length as usize].to_vec()
    }
}

fn blank(seed: u64) -> RefCell<PowerCutFlash> {
    let mut flash = PowerCutFlash::blank(SLOT_BYTES, seed);
    flash.page = 256;
    RefCell::new(flash)
}

type SlotStore<'f> = Store<FlashPart<'f, PowerCutFlash>>;

fn store<'f>(flash: &'f RefCell<PowerCutFlash>, image: &Image) -> SlotStore<'f> {
    Store::new(FlashPart::new(flash, 0, SLOT_BYTES), Slot::Ota1, image.release()).unwrap()
}

/// One call; `false` when there is nothing left to do.
fn step<F: NorFlash>(store: &mut Store<F>, image: &Image) -> Result<bool, StoreError<F::Error>> {
    match store.next() {
        Next::Work => store.work()?,
        Next::Piece(piece) => store.take(piece.part, piece.offset, &image.piece(piece))?,
        Next::Whole => return Ok(false),
    }
    Ok(true)
}

fn fetch<F: NorFlash>(store: &mut Store<F>, image: &Image) -> Result<(), StoreError<F::Error>> {
    while step(store, image)? {}
    Ok(())
}

#[test]
fn an_image_is_taken_in_pieces_and_no_call_erases_two_sectors() {
    for size in [1, 2047, 4096, 5000, 20 * 4096 - 7, 21 * 4096] {
        let (flash, image) = (blank(1), Image::new(9, size));
        let mut store = store(&flash, &image);
        loop {
            let erases = flash.borrow().erases;
            let going_on = step(&mut store, &image).unwrap();
            assert!(flash.borrow().erases <= erases + 1);
            if !going_on {
                break;
            }
        }
        assert_eq!(store.taken(), size as u32);
        let whole = store.into_whole().unwrap();
        assert_eq!((whole.slot(), *whole.image()), (Slot::Ota1, image.release().image));
        assert_eq!(flash.borrow().bytes[..size], image.0);
    }
}

#[test]
fn an_image_that_does_not_fit_and_one_of_nothing_are_refused() {
    let flash = blank(1);
    for size in [0, 21 * 4096 + 1, u32::MAX] {
        let release = Release { size, ..Image::new(1, 1).release() };
        let error = Store::new(FlashPart::new(&flash, 0, SLOT_BYTES), Slot::Ota0, release).unwrap_err();
        assert_eq!((error, error.is_transient()), (StoreError::Size, false));
    }
}

#[test]
fn a_piece_that_nobody_asked_for_changes_nothing() {
    let (flash, image) = (blank(1), Image::new(1, 9000));
    let mut store = store(&flash, &image);
    while store.taken() < PIECE_BYTES {
        step(&mut store, &image).unwrap();
    }
    let before = flash.borrow().bytes.clone();
    for (part, offset, length) in [
        (Part::List, 0, 96),
        (Part::Image, 0, 2048),
        (Part::Image, 2048, 2047),
        (Part::Image, 2048, 4096),
        (Part::Image, 2048, 0),
        (Part::Image, u32::MAX, 2048),
    ] {
        assert_eq!(store.take(part, offset, &vec![0; length]), Err(StoreError::Unasked));
    }
    assert_eq!((flash.borrow().bytes == before, store.taken()), (true, 2048));
}

#[test]
fn a_wrong_block_is_asked_for_again_and_a_wrong_list_from_its_start() {
    let (flash, image) = (blank(1), Image::new(1, 9000));
    let mut store = store(&flash, &image);
    store.work().unwrap();
    store.work().unwrap();
    let list = Piece { part: Part::List, offset: 0, length: 96 };
    assert_eq!(store.next(), Next::Piece(list));
    assert_eq!(store.take(Part::List, 0, &[7; 96]), Err(StoreError::Wrong(Part::List)));
    assert_eq!(store.next(), Next::Work);
    while store.taken() < 3 * PIECE_BYTES {
        step(&mut store, &image).unwrap();
    }
    assert_eq!(store.take(Part::Image, 6144, &[7; 2048]), Err(StoreError::Wrong(Part::Image)));
    // The list is read again first. If it is what changed, it comes again too.
    flash.borrow_mut().rot(SLOT_BYTES - SECTOR_BYTES + 40);
    store.work().unwrap();
    assert_eq!((store.next(), store.taken()), (Next::Work, 0));
    fetch(&mut store, &image).unwrap();
    assert_eq!(flash.borrow().bytes[..9000], image.0);
}

#[test]
fn an_image_whose_hash_is_not_the_manifests_is_never_whole() {
    let (flash, image) = (blank(1), Image::new(1, 9000));
    let release = Release { image: Digest([7; 32]), ..image.release() };
    let mut store = Store::new(FlashPart::new(&flash, 0, SLOT_BYTES), Slot::Ota1, release).unwrap();
    assert_eq!(fetch(&mut store, &image), Err(StoreError::WrongImage));
    assert_eq!((store.next(), store.taken()), (Next::Work, 0));
    assert_eq!(store.into_whole(), None);
}

#[test]
fn a_restart_goes_on_at_the_last_mark_and_an_image_that_is_there_is_hashed_alone() {
    let (flash, image) = (blank(1), Image::new(1, 20 * 4096 - 7));
    let mut first = store(&flash, &image);
    while first.taken() < 15 * BLOCK_BYTES + PIECE_BYTES {
        step(&mut first, &image).unwrap();
    }
    let mut second = store(&flash, &image);
    second.work().unwrap();
    assert_eq!(second.next(), Next::Piece(Piece { part: Part::Image, offset: 8 * 4096, length: 2048 }));
    fetch(&mut second, &image).unwrap();

    let erases = flash.borrow().erases;
    let mut third = store(&flash, &image);
    let mut calls = 0;
    while third.next() != Next::Whole {
        third.work().unwrap();
        calls += 1;
    }
    // The list, and 16 KB of the image in each of the others.
    assert_eq!((calls, flash.borrow().erases), (1 + 5, erases));
}

#[test]
fn another_image_takes_nothing_over_and_a_byte_that_changed_is_found() {
    let (flash, old, new) = (blank(1), Image::new(1, 80_000), Image::new(2, 80_000));
    fetch(&mut store(&flash, &old), &old).unwrap();
    let mut other = store(&flash, &new);
    while other.taken() == 0 {
        assert_ne!(other.next(), Next::Whole);
        step(&mut other, &new).unwrap();
    }
    assert_eq!(other.taken(), PIECE_BYTES);
    fetch(&mut other, &new).unwrap();

    flash.borrow_mut().rot(70_000);
    let mut again = store(&flash, &new);
    assert_eq!(fetch(&mut again, &new), Err(StoreError::WrongImage));
    fetch(&mut again, &new).unwrap();
    assert_eq!(flash.borrow().bytes[..80_000], new.0);
}

#[test]
fn a_broken_flash_is_an_error_and_never_a_whole_image() {
    let image = Image::new(1, 9000);
    for broken in [Breakage::Reads, Breakage::Writes, Breakage::Erases, Breakage::Silent] {
        let flash = blank(1);
        flash.borrow_mut().bytes.fill(0x33);
        flash.borrow_mut().broken = Some(broken);
        let mut store = store(&flash, &image);
        let error = fetch(&mut store, &image).unwrap_err();
        assert!(error.is_transient(), "{broken:?}: {error:?}");
        // A broken sector may have been none: later the same store goes on.
        flash.borrow_mut().broken = None;
        fetch(&mut store, &image).unwrap();
    }
}

/// Every cut, and what the next start finds: after any cut nothing floats once the image is whole.
#[test]
fn a_cut_at_any_step_leaves_nothing_that_floats() {
    // Versions with equal blocks in the same places.
    let (mut old, mut new) = (Image::new(1, 20 * 4096 - 7), Image::new(2, 20 * 4096 - 7));
    for image in [&mut old, &mut new] {
        image.0.chunks_mut(4096).skip(1).step_by(2).for_each(|block| block.fill(0x5a));
    }
    let before = blank(1);
    fetch(&mut store(&before, &old), &old).unwrap();
    before.borrow_mut().power_on(None);
    let whole = RefCell::new(before.borrow().clone());
    fetch(&mut store(&whole, &new), &new).unwrap();
    let steps = whole.borrow().steps;
    let mut cuts = 0;
    for cut in 0..steps {
        let flash = RefCell::new(before.borrow().with_seed(cut as u64));
        for at in [Some(cut), Some(3 + cut % 50), None] {
            flash.borrow_mut().power_on(at);
            let result = fetch(&mut store(&flash, &new), &new);
            cuts += usize::from(result.is_err());
            assert_eq!(result.is_err(), flash.borrow().was_cut());
        }
        assert_eq!(flash.borrow().bytes[..new.0.len()], new.0, "cut {cut}");
        assert!(!flash.borrow().floats(0..new.0.len()), "cut {cut}");
    }
    // One erase and 16 pages a block, less in the last one; the list and the marks.
    assert!(steps > 20 * (16 + 16) && cuts > steps, "{steps} {cuts}");
}

/// The block under way reads well once, and the next one is equal in the version before.
#[test]
fn resumed_behind_a_torn_block() {
    let (mut old, new) = (Image::new(1, 20 * 4096), Image::new(2, 20 * 4096));
    old.0[3 * 4096..4 * 4096].copy_from_slice(&new.0[3 * 4096..4 * 4096]);
    let flash = blank(1);
    fetch(&mut store(&flash, &old), &old).unwrap();
    let mut first = store(&flash, &new);
    while first.taken() < 2 * BLOCK_BYTES + PIECE_BYTES {
        step(&mut first, &new).unwrap();
    }
    // The power goes in the last byte of block 2, which has its value, but not for sure.
    flash.borrow_mut().bytes[2 * 4096..3 * 4096].copy_from_slice(&new.0[2 * 4096..3 * 4096]);
    flash.borrow_mut().set_floating(3 * 4096 - 1, 0x10);
    fetch(&mut store(&flash, &new), &new).unwrap();
    assert!(!flash.borrow().floats(0..new.0.len()));
}
