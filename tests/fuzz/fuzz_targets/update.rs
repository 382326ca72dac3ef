//! Roots, signed manifests, packages, and a device with two slots at which they arrive: no bytes make any of them panic, what
//! decodes encodes to the same bytes, and nothing is installed that the device's root did not sign.
#![no_main]

use std::cell::RefCell;

use arbitrary::{Arbitrary, Unstructured};
use gatepost_companion::{
    Millis,
    flash::{memory::Memory, part::Part},
    slots::{Parts, Slot},
    update::{Firmware, ImageKind, Moment, Started, Updater, Updates as _},
};
use gatepost_link::{
    frame::{Down, Part as Of},
    update::{
        Label, Root, Signed, Version,
        package::Package,
        root::{MAX_FILE_BYTES, MAX_ROOT_BYTES, RootFile},
        signed::MAX_SIGNED_BYTES,
    },
};
use libfuzzer_sys::fuzz_target;

const SECTOR: u32 = 4096;
const SLOT: u32 = 8 * SECTOR;
/// A root whose keys nobody has: it is the first of the seeds.
static ROOT: &[u8] = include_bytes!("../seeds/update/root");

#[derive(Debug, Arbitrary)]
enum Event<'a> {
    Root(&'a [u8]),
    Manifest(&'a [u8], u64, bool),
    Block(bool, u32, &'a [u8]),
    NoUpdate,
    Tick(u16),
    Answer(bool),
    Session,
}

fuzz_target!(|bytes: &[u8]| {
    layouts(bytes);
    let mut unstructured = Unstructured::new(bytes);
    let events: Vec<Event<'_>> = std::iter::from_fn(|| unstructured.arbitrary().ok()).take(64).collect();
    device(&events);
});

fn layouts(bytes: &[u8]) {
    if let Some(root) = Root::from_bytes(bytes) {
        assert_eq!(root.to_bytes(&mut [0; MAX_ROOT_BYTES]), bytes);
    }
    if let Some(file) = RootFile::from_bytes(bytes) {
        assert_eq!(file.to_bytes(&mut [0; MAX_FILE_BYTES]), bytes);
        let known = RootFile::from_bytes(ROOT).expect("it is one");
        assert!(file.after(known.unverified()).is_none(), "nobody can sign it");
    }
    if let Some(signed) = Signed::from_bytes(bytes) {
        assert_eq!(signed.to_bytes(&mut [0; MAX_SIGNED_BYTES]), bytes);
    }
    if let Ok(package) = Package::read(bytes) {
        let _ = package.unverified();
        assert!(package.roots().count() <= 32);
        let known = RootFile::from_bytes(ROOT).expect("it is one");
        assert!(package.verified(known.unverified()).is_err(), "nobody can sign it");
    }
}

fn device(events: &[Event<'_>]) {
    let all = 2 * SECTOR + 2 * SLOT + 16 * SECTOR;
    let flash = RefCell::new(Memory(vec![0xff; all as usize]));
    let part = |start, size| Part::new(&flash, start, size);
    let parts = Parts {
        otadata: part(0, 2 * SECTOR),
        images: [part(2 * SECTOR, SLOT), part(2 * SECTOR + SLOT, SLOT)],
        storage: part(2 * SECTOR + 2 * SLOT, 16 * SECTOR),
    };
    let firmware = Firmware {
        board: Label::new("test").expect("it is short"),
        version: Version { major: 1, minor: 0, patch: 0 },
        built: 0,
        slot: SLOT,
        image: ImageKind::Flat,
        root: Some(ROOT),
    };
    let Started::Run(mut device) = Updater::start(parts, Slot::Ota0, firmware) else {
        panic!("nothing was tried")
    };
    let mut now = Millis(0);
    let moment = Moment { is_ready: true, quiet_at: Some(Millis(0)), display_works: true };
    device.begin_session(now);
    for event in events {
        match *event {
            Event::Root(file) => device.received(now, &Down::Root(file), moment),
            Event::Manifest(signed, utc, again) => {
                device.received(now, &Down::Manifest { signed, utc, again }, moment);
            }
            Event::Block(list, offset, bytes) => {
                let part = if list { Of::List } else { Of::Image };
                device.received(now, &Down::Block { part, offset, bytes }, moment);
            }
            Event::NoUpdate => device.received(now, &Down::NoUpdate, moment),
            Event::Tick(milliseconds) => {
                now = Millis(now.0 + u64::from(milliseconds));
                device.tick(now, moment);
            }
            Event::Answer(install) => device.answer(now, install),
            Event::Session => _ = device.begin_session(now),
        }
        let _ = device.next_tick(now, moment);
        while device.next_frame().is_some() {}
        assert!(device.question().is_none() && device.percent().is_none() && !device.restarts(now));
    }
}
