//! Somebody between the device and its hub, who has keys of his own for either side and tries to make both show one number.
//!
//! He runs the broker: every message of a pairing goes through his hands, and none need be what was said. He plays the hub to
//! the device and a device to the hub, with the very code that they run, and knows all of it. The persons on either side do
//! what they are asked for: they say yes if both numbers are the same.
//!
//! In every attempt he tries to make them so. Where he knows one number before he has said the last of what the other depends on,
//! he looks for keys and nonces that fit (`tests/interceptor`). Where he does not there is nothing to look at: the device's number
//! depends on a nonce that it says after his answer, so he answers it again and again; and on the hub's side he begins again and
//! again.

use gatepost_interceptor::{Forger, Ground, fitting};
use gatepost_link::pairing::{Agreed, Candidate, Code, Host};

use super::*;

/// Attempts, each with new keys and nonces on all sides.
const ATTEMPTS: usize = 1_000;
/// Keys or nonces that he looks at in an attempt; a million fit once.
const LOOKS: u64 = 400;
/// How often he begins, or answers, again.
const AGAIN: usize = 8;

/// What he does to make the numbers the same.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trick {
    /// Has keys of his own on either side. Learns the device's number first, begins at the hub with one device after the other,
    /// and hopes for the hub's.
    DeviceFirst,
    /// Learns the device's number first, and says to the hub what makes its number the most like it, not what he began with.
    Grinds(Ground),
    /// Learns the hub's number first, and gives the device one answer after the other.
    HubFirst,
    /// Swaps the hub's keys alone: all else is carried as it comes.
    SwapsTheSecond,
    /// Swaps the device's keys alone.
    SwapsTheThird,
}

const TRICKS: [Trick; 6] = [
    Trick::DeviceFirst,
    Trick::Grinds(Ground::Nonce),
    Trick::Grinds(Ground::Key),
    Trick::HubFirst,
    Trick::SwapsTheSecond,
    Trick::SwapsTheThird,
];

/// Keys of his.
fn keys() -> (PublicKey, SealSecret) {
    (PublicKey(crate::random::bytes()), SealSecret(crate::random::bytes()))
}

/// What a payload of the device's says.
fn up(payload: &[u8]) -> Up<'_> {
    envelope::decode(payload, VERSION).unwrap()
}

/// What came of an attempt.
#[derive(Debug, Default)]
struct End {
    /// The numbers on either side, where there was one.
    at_device: Option<Code>,
    at_hub: Option<Code>,
    registered: bool,
    bonded: bool,
    /// What the hub says of it, if it has ended.
    refused: Option<String>,
    /// What he found, and what he wanted.
    ground: Option<(u32, u32)>,
}

struct Attempted {
    table: Table,
    now: u64,
}

impl Attempted {
    fn new() -> Self {
        Self { table: Table::new(false, false), now: 0 }
    }

    /// What the device says now.
    fn device_says(&mut self) -> Vec<Vec<u8>> {
        self.now += 2_000;
        self.table.now = self.now;
        let _ = self.table.device.tick(Millis(self.now));
        std::iter::from_fn(|| self.table.device.next_payload()).map(|payload| payload.to_vec()).collect()
    }

    fn device_hears(&mut self, down: &Down<'_>) {
        let payload = written(down);
        self.table.device.received(Millis(self.now), &payload);
        self.table.draw();
    }

    /// What the hub answers to this.
    fn hub_hears(&mut self, up: &Up<'_>) -> Vec<Vec<u8>> {
        let attempt = self.table.device.attempt();
        let registered = self.table.window.received(self.table.at(), attempt, &written(up));
        assert!(registered.is_none(), "registered before anybody said yes");
        std::iter::from_fn(|| self.table.window.next_payload()).map(|(_, payload)| payload).collect()
    }

    /// He plays a device to the hub: what both have then, if the hub goes along.
    fn as_device(&mut self, candidate: &mut Candidate) -> Option<Agreed> {
        let answer = self.hub_hears(&Up::First { noise: candidate.first() });
        let Ok(Down::Second { noise }) = envelope::decode(answer.first()?, VERSION) else { return None };
        let (third, agreed) = candidate.second(noise).ok()?;
        self.hub_hears(&Up::Third { noise: &third });
        Some(agreed)
    }

    /// He plays a device that says what he looked for in place of what he began with: what he found.
    fn as_forger(&mut self, ground: Ground, wanted: u32) -> u32 {
        let forger = Forger::start(keys());
        let answer = self.hub_hears(&Up::First { noise: forger.first() });
        let Ok(Down::Second { noise }) = envelope::decode(&answer[0], VERSION) else { panic!("no answer") };
        let (third, tries) = forger.second(noise).unwrap().grind(ground, wanted, |tries| tries < LOOKS);
        assert!(tries == LOOKS || third.code == wanted, "{tries}");
        self.hub_hears(&Up::Third { noise: &third.message });
        // As if it had been taken.
        for (number, message) in (0..).zip([FromDevice::About { program: false }, FromDevice::Kept]) {
            let bytes = third.sealed(number, frame::encode(&message, &mut [0; 16]).unwrap());
            self.hub_hears(&Up::Sealed { number, bytes: &bytes });
        }
        third.code
    }

    /// He plays the hub to the device that began with this.
    fn as_hub(&mut self, host: &mut Host) -> Option<Agreed> {
        self.device_hears(&Down::Second { noise: host.second() });
        let payloads = self.device_says();
        let third = payloads.iter().find_map(|payload| match up(payload) {
            Up::Third { noise } => Some(noise.to_vec()),
            _ => None,
        })?;
        host.third(&third).ok()
    }

    fn first(&mut self) -> Vec<u8> {
        let payloads = self.device_says();
        let Up::First { noise } = up(&payloads[0]) else { panic!("it begins") };
        noise.to_vec()
    }

    fn run(mut self, trick: Trick) -> End {
        let first = self.first();
        let (sign, seal) = keys();
        let host = |of: (PublicKey, SealSecret)| Host::answer(of.0, &of.1, &first, &mut System).unwrap();
        // What he says to the hub in the device's place, once he has its number.
        let (mut to_hub, mut ground): (Option<Agreed>, _) = (None, None);
        match trick {
            Trick::DeviceFirst => {
                // He knows the device's number now, and the hub's nonce only once he has begun: there is nothing to look at. Of
                // many devices that begin the hub takes the first alone.
                assert!(self.as_hub(&mut host((sign, seal))).is_some());
                let (sign, seal) = keys();
                to_hub = self.as_device(&mut Candidate::start(sign, &seal, &mut System));
                for _ in 0..AGAIN {
                    let (sign, seal) = keys();
                    assert!(self.as_device(&mut Candidate::start(sign, &seal, &mut System)).is_none());
                }
            }
            Trick::Grinds(what) => {
                let wanted = self.as_hub(&mut host((sign, seal))).unwrap().code.number();
                ground = Some((self.as_forger(what, wanted), wanted));
            }
            Trick::HubFirst => {
                to_hub = self.as_device(&mut Candidate::start(sign, &seal, &mut System));
                // He knows the hub's number now, and the device's nonce only once he has answered. Of many answers the device takes
                // the first alone.
                assert!(self.as_hub(&mut host(keys())).is_some());
                for _ in 0..AGAIN {
                    assert!(self.as_hub(&mut host(keys())).is_none());
                }
            }
            Trick::SwapsTheSecond => {
                self.hub_hears(&Up::First { noise: &first });
                self.device_hears(&Down::Second { noise: host((sign, seal)).second() });
                for payload in self.device_says() {
                    if let Up::Third { noise } = up(&payload) {
                        self.hub_hears(&Up::Third { noise });
                    }
                }
            }
            Trick::SwapsTheThird => {
                let answer = self.hub_hears(&Up::First { noise: &first });
                let Ok(Down::Second { noise }) = envelope::decode(&answer[0], VERSION) else {
                    panic!("no answer")
                };
                self.device_hears(&Down::Second { noise });
                self.device_says();
                // Whoever did not begin cannot read the hub's answer: what he has in its place is a third message to a hub of his own.
                let mut other = Candidate::start(sign, &seal, &mut System);
                assert!(other.second(noise).is_err(), "the hub answered the device");
                let (sign, seal) = keys();
                let own = Host::answer(sign, &seal, other.first(), &mut System).unwrap();
                let (third, _) = other.second(own.second()).unwrap();
                self.hub_hears(&Up::Third { noise: &third });
            }
        }
        End { ground, ..self.agree(to_hub) }
    }

    /// Both persons compare, and say yes if the numbers are the same.
    fn agree(mut self, mut to_hub: Option<Agreed>) -> End {
        // The hub shows its number once the device has said what it is.
        if let Some(agreed) = &mut to_hub {
            let (mut plain, mut sealed) = ([0; 16], [0; 64]);
            let about = frame::encode(&FromDevice::About { program: false }, &mut plain).unwrap();
            let (number, bytes) = agreed.session.seal(about, &mut sealed).unwrap();
            self.hub_hears(&Up::Sealed { number, bytes });
        }
        let at_hub = self.table.shown.try_recv().ok().and_then(Result::ok).map(|shown| shown.code);
        let at_device = match self.table.device.shown(Millis(self.now)) {
            OnDevice::Code { code, .. } => Some(code),
            _ => None,
        };
        let refused = self.table.window.failed().map(str::to_owned);
        let mut end = End { at_device, at_hub, refused, ..End::default() };
        if at_hub.is_some() && at_hub == at_device {
            self.table.draw();
            let mut answer = self.table.give("shelf");
            end.bonded = matches!(self.table.hold(), Step::Store(_) | Step::Paired(_));
            end.registered = answer.try_recv().is_ok_and(|answer| answer.is_ok());
        }
        end
    }
}

#[test]
fn of_a_thousand_attempts_with_somebody_between_none_pairs_both_sides() {
    let (mut compared, mut seen, mut nearest) = ([0; TRICKS.len()], 0, 0);
    for attempt in 0..ATTEMPTS {
        let trick = TRICKS[attempt % TRICKS.len()];
        let end = Attempted::new().run(trick);
        assert!(!(end.registered || end.bonded), "{attempt} {trick:?}: {end:?}");
        let both = end.at_hub.zip(end.at_device);
        if let Some((hub, device)) = both {
            assert_ne!(hub, device, "{attempt} {trick:?}: one in a million");
            compared[attempt % TRICKS.len()] += 1;
        }
        seen += usize::from(end.at_device.is_some() || end.at_hub.is_some());
        if let Some((found, wanted)) = end.ground {
            // One in ten has the last digit.
            assert!(fitting(found, wanted) >= 1, "{attempt} {trick:?}: he did not look: {end:?}");
            nearest = nearest.max(fitting(found, wanted));
            let why = end.refused.as_deref().unwrap_or_default();
            assert!(why.contains("not those that it began with"), "{attempt} {trick:?}: {end:?}");
        }
    }
    // Where he keeps to the rules both sides show a number, and the persons see that it is another one; where he does not,
    // the hub shows none at all.
    let each: [usize; TRICKS.len()] =
        std::array::from_fn(|trick| (trick..ATTEMPTS).step_by(TRICKS.len()).count());
    assert_eq!((compared, seen), ([each[0], 0, 0, each[3], 0, 0], ATTEMPTS), "what he did");
    assert!(nearest >= 3, "{nearest} digits in more than a hundred thousand looks");
}
