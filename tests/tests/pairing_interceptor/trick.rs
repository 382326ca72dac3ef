//! What he says to either side, with all that a device and a hub have, and one thing more: he may say what he likes.
//!
//! Every trick goes on as far as it can: who has a session with the hub says that he keeps its login before he was given one, and
//! who has one with the device gives it a login before anybody has said yes.

use std::time::{Duration, Instant};

use super::proxy::{Counts, Line};
use anyhow::{Context as _, Result, ensure};
use gatepost_interceptor::{Forger, Ground, System, drawn, keys};
use gatepost_link::{
    envelope::{self, MAX_FRAME, VERSION},
    frame,
    pairing::{Agreed, Candidate, Down, FIRST, FromDevice, FromHub, Host, THIRD, Up},
};

/// More than a hub listens to that is not the device's.
const DISTURBED: usize = 24;

/// What he does to make both numbers the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trick {
    /// Keys of his own on both sides. He knows the device's number first, and has one guess at the hub's.
    DeviceFirst,
    /// The same the other way round; and answers the device again and again.
    HubFirst,
    /// Knows the device's number, and looks for what makes the hub's the same, whatever he has begun with.
    Ground(Ground),
    /// Swaps the hub's keys alone, and carries what the device says.
    HubsKeys,
    /// Swaps the device's keys alone, and carries what the hub says.
    DevicesKeys,
    /// Begins with what the device begins with, but for what it commits itself to.
    Commitment,
    /// Says to both what was said in an earlier pairing that went well.
    Replay,
}

impl Trick {
    pub(super) const ALL: [Self; 8] = [
        Self::DeviceFirst,
        Self::HubFirst,
        Self::Ground(Ground::Nonce),
        Self::Ground(Ground::Key),
        Self::HubsKeys,
        Self::DevicesKeys,
        Self::Commitment,
        Self::Replay,
    ];

    /// Whether the device comes to a number.
    pub(super) fn shows_at_device(self) -> bool {
        self != Self::Replay
    }

    /// Whether the hub does.
    pub(super) fn shows_at_hub(self) -> bool {
        matches!(self, Self::DeviceFirst | Self::HubFirst)
    }

    /// What the person at the hub is told, where it does not.
    pub(super) fn refusal(self) -> &'static str {
        match self {
            Self::Ground(_) => "not those that it began with",
            _ => "the attempt was disturbed",
        }
    }
}

/// What came of an attempt.
#[derive(Debug, Default)]
pub(super) struct Reached {
    /// Messages taken from either side, and said in their place.
    pub(super) of_device: usize,
    pub(super) of_hub: usize,
    pub(super) to_device: usize,
    pub(super) to_hub: usize,
    /// The numbers, where there is one.
    pub(super) at_device: Option<u32>,
    pub(super) at_hub: Option<u32>,
    /// What the person at the hub was told in place of a number.
    pub(super) refused: String,
    /// The number that he found, and the one that he wanted.
    pub(super) ground: Option<(u32, u32)>,
    pub(super) tries: u64,
    /// The device keeps a hub.
    pub(super) bonded: bool,
}

impl Reached {
    pub(super) fn count(&mut self, counts: Counts) {
        let Counts { of_device, of_hub, to_device, to_hub } = counts;
        (self.of_device, self.of_hub, self.to_device, self.to_hub) = (of_device, of_hub, to_device, to_hub);
    }
}

/// What both said in a pairing that went well.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    of_device: Vec<Vec<u8>>,
    of_hub: Vec<Vec<u8>>,
}

impl Earlier {
    /// Carries what either says next, if it does, and keeps it.
    pub(super) fn carry(&mut self, line: &mut Line) -> Result<()> {
        match line.either_says() {
            Some((true, payload)) => {
                line.tell_hub(&payload)?;
                self.of_device.push(payload);
            }
            Some((false, payload)) => {
                line.tell_device(&payload)?;
                self.of_hub.push(payload);
            }
            None => {}
        }
        Ok(())
    }
}

fn tell_hub(line: &mut Line, up: &Up<'_>) -> Result<()> {
    line.tell_hub(envelope::encode(up, &mut [0; MAX_FRAME]).expect("it is short"))
}

fn tell_device(line: &mut Line, down: &Down<'_>) -> Result<()> {
    line.tell_device(envelope::encode(down, &mut [0; MAX_FRAME]).expect("it is short"))
}

/// What whoever has a session with the hub says: what he is, and, before he was given a login, that he keeps it.
fn hastily() -> [Vec<u8>; 2] {
    [FromDevice::About { program: false }, FromDevice::Kept]
        .map(|said| frame::encode(&said, &mut [0; 16]).expect("it is short").to_vec())
}

/// Waits for the device's message of one kind.
fn device<T>(line: &mut Line, wanted: impl Fn(&Up<'_>) -> Option<T>) -> Result<T> {
    loop {
        let payload = line.device_says()?;
        let up = envelope::decode::<Up<'_>>(&payload, VERSION).map_err(|error| anyhow::anyhow!("{error}"))?;
        if let Some(found) = wanted(&up) {
            return Ok(found);
        }
    }
}

/// What the device begins with.
pub(super) fn first(line: &mut Line) -> Result<Vec<u8>> {
    device(line, |up| match up {
        Up::First { noise } => Some(noise.to_vec()),
        _ => None,
    })
}

/// What the hub answers to a first message, which is said again until it does: it may not listen yet.
fn second(line: &mut Line, first: &Up<'_>) -> Result<Vec<u8>> {
    let payload = loop {
        tell_hub(line, first)?;
        if let Some(payload) = line.hub_says()? {
            break payload;
        }
    };
    match envelope::decode(&payload, VERSION) {
        Ok(Down::Second { noise }) => Ok(noise.to_vec()),
        other => anyhow::bail!("{other:?}"),
    }
}

/// He is the hub for the device that began with this: what both have then.
fn as_hub(line: &mut Line, first: &[u8]) -> Result<Agreed> {
    let (sign, seal) = keys();
    let mut host =
        Host::answer(sign, &seal, first, &mut System).map_err(|error| anyhow::anyhow!("{error}"))?;
    tell_device(line, &Down::Second { noise: host.second() })?;
    let third = device(line, |up| match up {
        Up::Third { noise } => Some(noise.to_vec()),
        _ => None,
    })?;
    host.third(&third).map_err(|error| anyhow::anyhow!("{error}"))
}

/// He gives the device a login that nobody has said yes to.
fn give(line: &mut Line, agreed: &mut Agreed) -> Result<()> {
    let login = |text: &str| text.try_into().expect("a login is short");
    for told in [FromHub::Paired { user: login("his"), password: login("his") }, FromHub::Done] {
        let (mut text, mut sealed) = ([0; 256], [0; 256]);
        let text = frame::encode(&told, &mut text).expect("it is short");
        let (number, bytes) =
            agreed.session.seal(text, &mut sealed).map_err(|error| anyhow::anyhow!("{error}"))?;
        tell_device(line, &Down::Sealed { number, bytes })?;
    }
    Ok(())
}

/// He is a device for the hub, and keeps to what he began with.
fn as_device(line: &mut Line) -> Result<()> {
    let (sign, seal) = keys();
    let mut candidate = Candidate::start(sign, &seal, &mut System);
    let answer = second(line, &Up::First { noise: candidate.first() })?;
    let (third, mut agreed) = candidate.second(&answer).map_err(|error| anyhow::anyhow!("{error}"))?;
    tell_hub(line, &Up::Third { noise: &third })?;
    for said in hastily() {
        let mut sealed = [0; 64];
        let (number, bytes) =
            agreed.session.seal(&said, &mut sealed).map_err(|error| anyhow::anyhow!("{error}"))?;
        tell_hub(line, &Up::Sealed { number, bytes })?;
    }
    Ok(())
}

/// Third messages that he cannot make, until the hub has had enough of them.
fn disturb(line: &mut Line, over: impl Fn() -> bool) -> Result<()> {
    for _ in 0..DISTURBED {
        if over() {
            break;
        }
        tell_hub(line, &Up::Third { noise: &drawn::<THIRD>() })?;
    }
    Ok(())
}

/// Plays a trick on a device that has begun with this; `over` says whether the hub has come to an end.
pub(super) fn play(
    line: &mut Line,
    first: &[u8],
    (trick, earlier): (Trick, &Earlier),
    grinding: Duration,
    over: impl Fn() -> bool,
) -> Result<Reached> {
    let mut reached = Reached::default();
    match trick {
        Trick::DeviceFirst => {
            let mut agreed = as_hub(line, first)?;
            as_device(line)?;
            give(line, &mut agreed)?;
        }
        Trick::HubFirst => {
            as_device(line)?;
            let mut agreed = as_hub(line, first)?;
            // One that has its answer takes no other.
            for _ in 0..8 {
                let (sign, seal) = keys();
                let other = Host::answer(sign, &seal, first, &mut System).ok().context("an answer")?;
                tell_device(line, &Down::Second { noise: other.second() })?;
            }
            give(line, &mut agreed)?;
        }
        Trick::Ground(ground) => {
            let mut agreed = as_hub(line, first)?;
            let wanted = agreed.code.number();
            let forger = Forger::start(keys());
            let answer = second(line, &Up::First { noise: forger.first() })?;
            let answered = forger.second(&answer).context("the hub answers him")?;
            let start = Instant::now();
            let (third, tries) = answered.grind(ground, wanted, |_| start.elapsed() < grinding);
            tell_hub(line, &Up::Third { noise: &third.message })?;
            for (number, said) in (0..).zip(hastily()) {
                let bytes = third.sealed(number, &said);
                tell_hub(line, &Up::Sealed { number, bytes: &bytes })?;
            }
            give(line, &mut agreed)?;
            (reached.ground, reached.tries) = (Some((third.code, wanted)), tries);
        }
        Trick::HubsKeys => {
            second(line, &Up::First { noise: first })?;
            let (sign, seal) = keys();
            let host = Host::answer(sign, &seal, first, &mut System).ok().context("an answer")?;
            tell_device(line, &Down::Second { noise: host.second() })?;
            let third = line.device_says()?;
            line.tell_hub(&third)?;
            disturb(line, over)?;
        }
        Trick::DevicesKeys => {
            let noise = second(line, &Up::First { noise: first })?;
            tell_device(line, &Down::Second { noise: &noise })?;
            // A third message of his own, of the only handshake that he has.
            let (own, (sign, seal)) = (Forger::start(keys()), keys());
            let host = Host::answer(sign, &seal, own.first(), &mut System).ok().context("an answer")?;
            let third = own.second(host.second()).context("his own answer")?.third();
            tell_hub(line, &Up::Third { noise: &third.message })?;
            disturb(line, over)?;
        }
        Trick::Commitment => {
            let own = Forger::start(keys());
            let mut begun: [u8; FIRST] = first.try_into()?;
            begun[32..].copy_from_slice(&own.first()[32..]);
            let noise = second(line, &Up::First { noise: &begun })?;
            ensure!(own.second(&noise).is_none(), "the hub answered the device");
            // The device does not take it: it has begun otherwise.
            tell_device(line, &Down::Second { noise: &noise })?;
            let mut agreed = as_hub(line, first)?;
            disturb(line, over)?;
            give(line, &mut agreed)?;
        }
        Trick::Replay => {
            ensure!(earlier.of_device.len() >= 3 && earlier.of_hub.len() >= 2, "{earlier:?}");
            let begun = envelope::decode(&earlier.of_device[0], VERSION).ok().context("it began")?;
            second(line, &begun)?;
            for payload in &earlier.of_device {
                line.tell_hub(payload)?;
            }
            for payload in &earlier.of_hub {
                line.tell_device(payload)?;
            }
            disturb(line, over)?;
        }
    }
    Ok(reached)
}
