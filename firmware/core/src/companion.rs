//! The whole companion, as a runner drives it: pairing, sealed session and application behind one set of calls.
//!
//! A runner joins the network, connects to the broker with what [`Companion::access`] says, hands over what arrives and
//! publishes what leaves, edges of the buttons and the time, and shows the screen. It connects anew when the access is
//! another one. It decides nothing.

use ed25519_dalek::SigningKey;
use gatepost_link::{
    decision::PublicKey,
    envelope::{MAX_FRAME, VERSION},
    frame::{self, Down},
    pairing::PAIRING_USER,
    seal::Random,
    session::Ends,
    topic::{self, PairingTopics, Topic, Topics},
};
use heapless::String;

use crate::{
    App, Bond, Button, Edge, Geometry, Keys, Millis, Screen, Settings, Storage, View, notice,
    pair::{Pairing, Shown, Step},
    screen::{Fault, NotShown},
    sealed::{Heard, Payload, Sealed},
    storage::MAX_LOGIN,
};

/// Both buttons held for so many milliseconds, while there is no session, make the device forget its hub.
pub const FORGET: u64 = 10_000;

/// The broker's side of a companion: who it is there, and where it listens and speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The MQTT client's identifier.
    pub client: String<32>,
    /// The user name.
    pub user: String<MAX_LOGIN>,
    /// The password; empty while the device is not paired.
    pub password: String<MAX_LOGIN>,
    /// To subscribe to, at QoS 1.
    pub down: Topic,
    /// Where [`Companion::next_payload`] is published, at QoS 0 and not retained.
    pub up: Topic,
    /// Where `1` is published after subscribing, and the last will, `0`.
    pub presence: Option<Topic>,
}

/// A companion.
pub struct Companion<S: Storage, R: Random> {
    app: App<S>,
    keys: Keys,
    random: R,
    geometry: Geometry,
    settings: Settings,
    mode: Mode,
    access: Option<Access>,
    /// Counts the accesses.
    turn: u32,
    online: bool,
    /// The broker does not take the login.
    refused: bool,
    /// Which buttons are down, and since when both are.
    down: [bool; 2],
    both: Option<Millis>,
}

// One of them at a time, in a place that exists once: a box would cost more than it saves.
#[allow(clippy::large_enum_variant)]
enum Mode {
    Pairing(Pairing),
    Paired { bond: Bond, sealed: Sealed },
    Broken(Fault),
}

impl<S: Storage, R: Random> Companion<S, R> {
    /// A companion over what is in `storage`; a new device makes its keys here. Without readable keys there is none.
    pub fn new(
        mut storage: S,
        mut random: R,
        geometry: Geometry,
        settings: Settings,
    ) -> Result<Self, S::Error> {
        let keys = match storage.load_keys()? {
            Some(keys) => keys,
            None => {
                let keys = Keys::generate(&mut random);
                storage.store_keys(&keys)?;
                keys
            }
        };
        let bond = storage.load_bond()?;
        let app = App::new(SigningKey::from_bytes(&keys.sign), storage, geometry).with_settings(settings);
        let mode = match bond {
            Some(bond) => paired(app.device(), &keys, bond),
            None => Mode::Pairing(Pairing::new(app.device(), &keys, &settings, &mut random)),
        };
        let access = access(app.device(), &mode);
        Ok(Self {
            app,
            keys,
            random,
            geometry,
            settings,
            mode,
            access,
            turn: 0,
            online: false,
            refused: false,
            down: [false; 2],
            both: None,
        })
    }

    /// How to reach the hub now; [`None`] where the device has a fault that it cannot get over.
    pub fn access(&self) -> Option<&Access> {
        self.access.as_ref()
    }

    /// Which access it is: a runner that connected with another one connects anew.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// The key that the device is known by.
    pub fn device(&self) -> PublicKey {
        self.app.device()
    }

    /// What the device keeps, for a runner that sets up its network.
    pub fn storage(&mut self) -> &mut S {
        self.app.storage()
    }

    /// Whether the device is paired with a hub.
    pub fn is_paired(&self) -> bool {
        matches!(self.mode, Mode::Paired { .. })
    }

    /// The broker has accepted the connection and the subscription to `down`.
    pub fn connected(&mut self, now: Millis) {
        self.online = true;
        self.refused = false;
        match &mut self.mode {
            Mode::Pairing(pairing) => pairing.connected(now),
            Mode::Paired { sealed, .. } => {
                sealed.connected(now, &mut self.random);
                self.app.opening(now);
            }
            Mode::Broken(_) => {}
        }
    }

    /// The broker does not take the login of [`Companion::access`]. It is shown, and nothing is forgotten: the broker is
    /// not the hub.
    pub fn refused(&mut self) {
        self.refused = true;
    }

    /// The connection is gone.
    pub fn disconnected(&mut self, now: Millis) {
        self.online = false;
        match &mut self.mode {
            Mode::Pairing(pairing) => pairing.disconnected(),
            Mode::Paired { sealed, .. } => sealed.disconnected(),
            Mode::Broken(_) => {}
        }
        self.app.disconnected(now);
    }

    /// Something arrived on `topic`. It may be anything.
    pub fn received(&mut self, now: Millis, topic: &str, bytes: &[u8]) {
        let ours = self.access.as_ref().is_some_and(|access| access.down.as_str() == topic);
        if !self.online || !ours {
            return;
        }
        match &mut self.mode {
            Mode::Pairing(pairing) => pairing.received(now, bytes),
            Mode::Paired { .. } => self.sealed(now, bytes),
            Mode::Broken(_) => {}
        }
        self.tick(now);
    }

    /// A button went down or came up, without bounces or key repeats.
    pub fn button(&mut self, now: Millis, button: Button, edge: Edge) {
        self.down[usize::from(button == Button::Deny)] = edge == Edge::Pressed;
        self.both = (self.down == [true; 2]).then_some(now);
        // The application hears of every edge, so that it knows what is pressed when its turn comes.
        self.app.button(now, button, edge);
        if let Mode::Pairing(pairing) = &mut self.mode {
            pairing.button(now, button, edge);
        }
        self.tick(now);
    }

    /// What became of a `screen` of [`Companion::screen`]: whether the display has taken all of it. Nothing that the display
    /// did not take counts as seen, so a runner says so after every drawing, of the last screen that it drew.
    pub fn drawn(&mut self, now: Millis, screen: &Screen, taken: Result<(), NotShown>) {
        self.app.drawn(now, screen, taken.is_ok());
        if let Mode::Pairing(pairing) = &mut self.mode {
            pairing.drawn(&screen.view, taken.is_ok());
        }
    }

    /// Whether the display did not take what was drawn last: draw again after [`REDRAW`](crate::app::REDRAW).
    pub fn display_out(&self) -> bool {
        self.app.display_out()
    }

    /// Lets time pass. Call it when [`Companion::next_tick`] says; more often does no harm.
    ///
    /// Hand over button edges first: what is still pressed here is taken for held until now.
    pub fn tick(&mut self, now: Millis) {
        let leaves = self.leaves().is_some_and(|at| now >= at);
        match &mut self.mode {
            Mode::Pairing(pairing) => match pairing.tick(now) {
                Step::Going => {}
                Step::Store(bond) => {
                    let stored = self.app.storage().store_bond(&bond).is_ok();
                    pairing.stored(now, stored);
                }
                Step::Paired(bond) => self.turn_to(now, paired(self.app.device(), &self.keys, bond)),
                Step::Over => self.pair(now),
            },
            Mode::Paired { .. } if leaves => self.forget(now),
            Mode::Paired { sealed, .. } => {
                if sealed.tick(now, &mut self.random) {
                    self.app.opening(now);
                }
            }
            Mode::Broken(_) => {}
        }
        self.app.tick(now);
    }

    /// When the hub is forgotten: both buttons have been held for long, and no hub is there that could say so itself.
    fn leaves(&self) -> Option<Millis> {
        self.both.filter(|_| self.is_paired() && !self.app.ready()).map(|both| both.after(FORGET))
    }

    /// When [`Companion::tick`] or [`Companion::next_payload`] has something to do, or the screen something new to show;
    /// [`None`] if only the link or a button can change anything.
    pub fn next_tick(&self, now: Millis) -> Option<Millis> {
        let link = match &self.mode {
            Mode::Pairing(pairing) => pairing.next_tick(now),
            Mode::Paired { sealed, .. } => sealed.next_tick(),
            Mode::Broken(_) => None,
        };
        [link, self.leaves(), self.app.next_tick(now)].into_iter().flatten().min()
    }

    /// The next payload to publish on [`Access::up`]. Ask until there is none, after every other call.
    pub fn next_payload(&mut self, now: Millis) -> Option<Payload> {
        match &mut self.mode {
            Mode::Pairing(pairing) => pairing.next_payload(),
            Mode::Paired { sealed, .. } => {
                sealed.opening(now).or_else(|| self.app.next_frame().and_then(|frame| sealed.seal(&frame)))
            }
            Mode::Broken(_) => None,
        }
    }

    /// Any number, for pauses that differ from those of other devices.
    pub fn dice(&mut self) -> u32 {
        self.random.number() as u32
    }

    /// What to draw now.
    pub fn screen(&self, now: Millis) -> Screen {
        match &self.mode {
            Mode::Paired { .. } => match self.app.screen(now) {
                // What a person was busy with stays on the screen.
                screen if self.refused && screen.view == View::Offline => {
                    notice::fault(self.geometry, Fault::Login)
                }
                screen => screen,
            },
            Mode::Broken(fault) => notice::fault(self.geometry, *fault),
            Mode::Pairing(pairing) => match pairing.shown(now) {
                Shown::Calling => notice::unpaired(self.geometry),
                Shown::Failed => notice::fault(self.geometry, Fault::Pairing),
                Shown::Code { code, confirmed: true, deadline, .. } => {
                    notice::confirmed(self.geometry, code.number(), now, deadline)
                }
                Shown::Code { code, deadline, hold, .. } => {
                    let mut screen = notice::pairing(self.geometry, code.number(), now, deadline);
                    screen.hold = hold;
                    screen
                }
            },
        }
    }

    /// Forgets the hub, and who the device was for it: it can be paired anew, as another one. For a person at the device;
    /// no link leads here but the hub's own, sealed word.
    ///
    /// The keys go first: without them the bond is worth nothing, and after a cut in between it can be forgotten again.
    pub fn forget(&mut self, now: Millis) {
        let keys = Keys::generate(&mut self.random);
        let storage = self.app.storage();
        if storage.store_keys(&keys).and_then(|()| storage.wipe_bond()).is_err() {
            return self.turn_to(now, Mode::Broken(Fault::Storage));
        }
        self.app.become_another(now, SigningKey::from_bytes(&keys.sign));
        self.keys = keys;
        self.pair(now);
    }

    fn sealed(&mut self, now: Millis, bytes: &[u8]) {
        let Mode::Paired { bond, sealed } = &mut self.mode else { return };
        let mut plain = [0; MAX_FRAME];
        match sealed.received(now, bytes, bond.version, &mut plain, &mut self.random) {
            Heard::Ignored | Heard::Again => {}
            Heard::Lost => self.app.opening(now),
            Heard::Begun(session) => {
                // A bond that cannot be written now is written with the next session.
                if bond.version < VERSION {
                    let newer = Bond { version: VERSION, ..bond.clone() };
                    if self.app.storage().store_bond(&newer).is_ok() {
                        *bond = newer;
                    }
                }
                self.app.connected(now, bond.hub, session);
            }
            Heard::Frame(frame) => match frame::decode(frame) {
                Ok(Down::Revoked) => self.forget(now),
                _ => self.app.received(now, frame),
            },
        }
    }

    /// Begins an attempt to be paired.
    fn pair(&mut self, now: Millis) {
        let pairing = Pairing::new(self.app.device(), &self.keys, &self.settings, &mut self.random);
        self.turn_to(now, Mode::Pairing(pairing));
    }

    /// Does another thing than before, over another connection.
    fn turn_to(&mut self, now: Millis, mode: Mode) {
        self.access = access(self.app.device(), &mode);
        self.mode = mode;
        self.turn = self.turn.wrapping_add(1);
        self.online = false;
        self.refused = false;
        self.app.disconnected(now);
    }
}

fn paired(device: PublicKey, keys: &Keys, bond: Bond) -> Mode {
    let ends = Ends::new(bond.hub, device);
    let sealed = Sealed::new(ends, keys.seal.clone(), bond.seal);
    Mode::Paired { bond, sealed }
}

fn access(device: PublicKey, mode: &Mode) -> Option<Access> {
    let short = "short enough for any login";
    match mode {
        Mode::Pairing(pairing) => {
            let PairingTopics { down, up } = PairingTopics::new(pairing.attempt());
            // Not the device's name, by which its key could be told before its time.
            let client = up.split('/').rev().nth(1).and_then(|attempt| attempt.try_into().ok());
            let user = PAIRING_USER.try_into().expect(short);
            let client = client.expect("an attempt is between two slashes, in 16 digits");
            Some(Access { client, user, password: String::new(), down, up, presence: None })
        }
        Mode::Paired { bond, .. } => {
            let Topics { down, up, presence } = Topics::new(bond.hub, device);
            let client = topic::name(device).as_str().try_into().expect(short);
            let (user, password) = (bond.user.clone(), bond.password.clone());
            Some(Access { client, user, password, down, up, presence: Some(presence) })
        }
        Mode::Broken(_) => None,
    }
}

#[cfg(test)]
mod tests;
