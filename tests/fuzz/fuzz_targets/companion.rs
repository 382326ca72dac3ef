//! A whole companion, unpaired and paired, at which anything arrives while anybody presses anything: it neither panics, nor
//! is paired, nor forgets its hub, nor decides.
#![no_main]

use arbitrary::Arbitrary;
use gatepost_companion::{Bond, Button, Companion, Edge, Geometry, Millis, Settings};
use gatepost_fuzz::{Dice, Memory};
use gatepost_link::{decision::PublicKey, envelope::VERSION, seal::SealSecret};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
enum Event {
    Connected,
    Disconnected,
    /// A payload, behind the version that is spoken and a kind, or as it is.
    Arrives(Option<u8>, Vec<u8>),
    Edge(bool, bool),
    Wait(u8),
}

fuzz_target!(|events: Vec<Event>| {
    let bond = Bond {
        hub: PublicKey([1; 32]),
        seal: SealSecret([2; 32]).public(),
        user: Default::default(),
        password: Default::default(),
        version: VERSION,
    };
    for bond in [None, Some(bond)] {
        let paired = bond.is_some();
        let memory = Memory { bond, ..Memory::default() };
        let mut companion =
            Companion::new(memory, Dice(0), Geometry::SMALL, Settings::default()).expect("its memory works");
        let (mut now, mut forgets) = (0, false);
        let mut down = [false; 2];
        for event in &events {
            match event {
                Event::Connected => companion.connected(Millis(now)),
                Event::Disconnected => companion.disconnected(Millis(now)),
                Event::Arrives(kind, bytes) => {
                    let topic = companion.access().map(|access| access.down.clone()).unwrap_or_default();
                    let head = kind.map_or(vec![], |kind| vec![VERSION, kind % 3]);
                    companion.received(Millis(now), &topic, &[&head[..], bytes].concat());
                }
                Event::Edge(approve, pressed) => {
                    let button = if *approve { Button::Approve } else { Button::Deny };
                    down[usize::from(*approve)] = *pressed;
                    companion.button(
                        Millis(now),
                        button,
                        if *pressed { Edge::Pressed } else { Edge::Released },
                    );
                }
                Event::Wait(tenths) => {
                    now += u64::from(*tenths) * 100;
                    companion.tick(Millis(now));
                }
            }
            // Two fingers may make it forget; nothing that arrives may.
            forgets |= down == [true; 2];
            while companion.next_payload(Millis(now)).is_some() {}
            let screen = companion.screen(Millis(now));
            companion.drawn(Millis(now), &screen, Ok(()));
            let _ = companion.next_tick(Millis(now));
            assert!(companion.is_paired() == paired || forgets && !companion.is_paired());
            assert_eq!(companion.storage().counter, 0, "no card was ever opened");
        }
    }
});
