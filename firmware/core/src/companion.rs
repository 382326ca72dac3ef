//! The whole companion, as a runner drives it: pairing, sealed session and application behind one interface.
//!
//! A runner joins the network, connects to the broker with [`Companion::access`], passes on received payloads, button edges
//! and the time, publishes outgoing payloads, and shows the screen. It reconnects when the access changes. It decides
//! nothing.

use ed25519_dalek::SigningKey;
use gatepost_link::{
    decision::PublicKey,
    envelope::{MAX_FRAME, VERSION},
    frame::{self, Down, Up},
    pairing::PAIRING_USER,
    seal::Random,
    session::Ends,
    topic::{self, PairingTopics, Topics},
};
use heapless::String;

use crate::{
    Bond, Keys, Millis, Settings, Storage,
    decision::app::App,
    link::{
        pairing::{Pairing, Shown, Step},
        payload::Payload,
        session::{HubSession, Received},
    },
    net::mqtt::access::Access,
    ui::{
        buttons::{Button, Edge},
        geometry::Geometry,
        notice,
        screen::Screen,
        view::{Fault, NotShown, View},
    },
    update::{Moment, NoUpdates, Updates},
};

/// Holding both buttons for this long, while there is no session, makes the device forget its hub.
pub const FORGET_HOLD_MS: u64 = 10_000;

/// A companion: everything but its board and its network.
pub struct Companion<S: Storage, R: Random, U = NoUpdates> {
    app: App<S>,
    updates: U,
    keys: Keys,
    random: R,
    geometry: Geometry,
    settings: Settings,
    mode: Mode,
    access: Option<Access>,
    /// How many accesses there were.
    access_number: u32,
    online: bool,
    /// Whether the broker refuses the login.
    login_refused: bool,
    /// Which buttons are down.
    down: [bool; 2],
    /// Since when both buttons are down.
    both_down_since: Option<Millis>,
}

// It exists once; a box would cost more than it saves.
#[allow(clippy::large_enum_variant)]
enum Mode {
    Pairing(Pairing),
    Paired { bond: Bond, session: HubSession },
    Broken(Fault),
}

impl<S: Storage, R: Random> Companion<S, R> {
    /// A companion with the contents of `storage` that takes no updates. A new device generates its keys here. Fails if the keys cannot
    /// be read.
    pub fn new(storage: S, random: R, geometry: Geometry, settings: Settings) -> Result<Self, S::Error> {
        Self::with_updates(storage, random, geometry, settings, NoUpdates)
    }
}

impl<S: Storage, R: Random, U: Updates> Companion<S, R, U> {
    /// The same with updates.
    pub fn with_updates(
        mut storage: S,
        mut random: R,
        geometry: Geometry,
        settings: Settings,
        updates: U,
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
            updates,
            keys,
            random,
            geometry,
            settings,
            mode,
            access,
            access_number: 0,
            online: false,
            login_refused: false,
            down: [false; 2],
            both_down_since: None,
        })
    }

    /// How to reach the hub; [`None`] if the device has a permanent fault.
    pub fn access(&self) -> Option<&Access> {
        self.access.as_ref()
    }

    /// The number of the current access. A runner that connected with an earlier one reconnects.
    pub fn access_number(&self) -> u32 {
        self.access_number
    }

    /// The public key that identifies the device.
    pub fn device(&self) -> PublicKey {
        self.app.device()
    }

    /// The device's storage, for a runner that sets up its network.
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
        self.login_refused = false;
        match &mut self.mode {
            Mode::Pairing(pairing) => pairing.connected(now),
            Mode::Paired { session, .. } => {
                session.connected(now, &mut self.random);
                self.app.opening(now);
            }
            Mode::Broken(_) => {}
        }
    }

    /// The broker refuses the login of [`Companion::access`]. This is shown and changes nothing else, because the broker is
    /// not trusted.
    pub fn login_refused(&mut self) {
        self.login_refused = true;
    }

    /// The connection is gone.
    pub fn disconnected(&mut self, now: Millis) {
        self.online = false;
        match &mut self.mode {
            Mode::Pairing(pairing) => pairing.disconnected(),
            Mode::Paired { session, .. } => session.disconnected(),
            Mode::Broken(_) => {}
        }
        self.app.disconnected(now);
        // What was asked is gone at once: the hub may take it back before there is a session again.
        self.tick_updates(now);
    }

    /// Handles a message on `topic`. It may contain anything.
    pub fn received(&mut self, now: Millis, topic: &str, bytes: &[u8]) {
        let ours = self.access.as_ref().is_some_and(|access| access.down.as_str() == topic);
        if !self.online || !ours {
            return;
        }
        match &mut self.mode {
            Mode::Pairing(pairing) => pairing.received(now, bytes),
            Mode::Paired { .. } => self.received_from_hub(now, bytes),
            Mode::Broken(_) => {}
        }
        self.tick(now);
    }

    /// Handles a button that went down or came up, without bounces and key repeats.
    pub fn button(&mut self, now: Millis, button: Button, edge: Edge) {
        self.down[usize::from(button == Button::Deny)] = edge == Edge::Pressed;
        self.both_down_since = (self.down == [true; 2]).then_some(now);
        // The application gets every edge, so that it knows which buttons are down once it is in use.
        self.app.button(now, button, edge);
        if let Mode::Pairing(pairing) = &mut self.mode {
            pairing.button(now, button, edge);
        }
        self.tick(now);
    }

    /// Reports a drawing of `screen`: whether the display accepted all of it. Otherwise it does not count as seen, so a
    /// runner calls this after every drawing with the screen that it drew last.
    pub fn drawn(&mut self, now: Millis, screen: &Screen, shown: Result<(), NotShown>) {
        self.app.drawn(now, screen, shown.is_ok());
        if let Mode::Pairing(pairing) = &mut self.mode {
            pairing.drawn(&screen.view, shown.is_ok());
        }
    }

    /// Whether the display did not accept the last drawing: draw again after
    /// [`REDRAW_INTERVAL_MS`](crate::REDRAW_INTERVAL_MS).
    pub fn display_out(&self) -> bool {
        self.app.display_out()
    }

    /// Advances time. Call it when [`Companion::next_tick`] says so; calling it more often does no harm.
    ///
    /// Pass button edges first: a button that is still down here counts as held until now.
    pub fn tick(&mut self, now: Millis) {
        let forgets = self.forgets_at().is_some_and(|at| now >= at);
        match &mut self.mode {
            Mode::Pairing(pairing) => match pairing.tick(now) {
                Step::Continue => {}
                Step::Store(bond) => {
                    let stored = self.app.storage().store_bond(&bond).is_ok();
                    pairing.stored(now, stored);
                }
                Step::Paired(bond) => self.change_mode(now, paired(self.app.device(), &self.keys, bond)),
                Step::Failed => self.start_pairing(now),
            },
            Mode::Paired { .. } if forgets => self.forget(now),
            Mode::Paired { session, .. } => {
                if session.tick(now, &mut self.random) {
                    self.app.opening(now);
                }
            }
            Mode::Broken(_) => {}
        }
        self.app.tick(now);
        self.tick_updates(now);
    }

    /// Whether the device is to be restarted: new firmware is to be tried, or the one on trial has not proved itself.
    pub fn restarts(&self, now: Millis) -> bool {
        self.updates.restarts(now)
    }

    fn moment(&self) -> Moment {
        Moment {
            is_ready: self.app.is_ready(),
            quiet_at: self.app.quiet_at().filter(|_| self.is_paired()),
            display_works: self.app.display_works(),
        }
    }

    fn tick_updates(&mut self, now: Millis) {
        if let Some(install) = self.app.take_answer().filter(|_| self.app.is_ready()) {
            self.updates.answer(now, install);
        }
        let was_on_trial = self.updates.is_on_trial();
        self.updates.tick(now, self.moment());
        if was_on_trial && !self.updates.is_on_trial() {
            self.raise_link_version();
        }
        let asks = self.is_paired() && self.app.is_ready();
        self.app.ask_update(now, self.updates.question().filter(|_| asks));
        self.app.show_fetched(self.updates.percent());
    }

    /// From now on the hub is not spoken to in an older version of the link. Not while new firmware is on trial: the firmware before
    /// would be locked out when it is back. If the bond cannot be stored now, it is stored with the next session.
    fn raise_link_version(&mut self) {
        let Mode::Paired { bond, .. } = &mut self.mode else { return };
        if bond.version >= VERSION || self.updates.is_on_trial() || !self.app.is_ready() {
            return;
        }
        let newer = Bond { version: VERSION, ..bond.clone() };
        if self.app.storage().store_bond(&newer).is_ok() {
            *bond = newer;
        }
    }

    /// When the hub is forgotten because both buttons are held. A hub with a session must revoke the device itself.
    fn forgets_at(&self) -> Option<Millis> {
        self.both_down_since
            .filter(|_| self.is_paired() && !self.app.is_ready())
            .map(|both| both.after(FORGET_HOLD_MS))
    }

    /// When [`Companion::tick`] or [`Companion::next_payload`] has something to do or the screen changes; [`None`] if only
    /// the link or a button can change anything.
    pub fn next_tick(&self, now: Millis) -> Option<Millis> {
        let link = match &self.mode {
            Mode::Pairing(pairing) => pairing.next_tick(now),
            Mode::Paired { session, .. } => session.next_tick(),
            Mode::Broken(_) => None,
        };
        let updates = self.updates.next_tick(now, self.moment());
        [link, self.forgets_at(), self.app.next_tick(now), updates].into_iter().flatten().min()
    }

    /// The next payload to publish on [`Access::up`]. After every other call, call this until it returns [`None`].
    pub fn next_payload(&mut self, now: Millis) -> Option<Payload> {
        match &mut self.mode {
            Mode::Pairing(pairing) => pairing.next_payload(),
            Mode::Paired { session, .. } => session.handshake_message(now).or_else(|| {
                let frame = self.app.next_frame().or_else(|| self.updates.next_frame());
                frame.and_then(|frame| session.seal(&frame))
            }),
            Mode::Broken(_) => None,
        }
    }

    /// A random number, so that delays differ from those of other devices.
    pub fn random(&mut self) -> u32 {
        self.random.number() as u32
    }

    /// What to draw now.
    pub fn screen(&self, now: Millis) -> Screen {
        if self.updates.is_installing() {
            return notice::installing(self.geometry);
        }
        match &self.mode {
            Mode::Paired { .. } => match self.app.screen(now) {
                // A card or a decision stays on the screen.
                screen if self.login_refused && screen.view == View::Offline => {
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

    /// Forgets the hub and replaces the device's keys, so that it can be paired again as a new device. Only a person at the
    /// device or a sealed message of the hub causes this.
    ///
    /// The keys are replaced first: without them the bond is worthless, and after a power cut in between it can be forgotten
    /// again.
    pub fn forget(&mut self, now: Millis) {
        let keys = Keys::generate(&mut self.random);
        let storage = self.app.storage();
        if storage.store_keys(&keys).and_then(|()| storage.wipe_bond()).is_err() {
            return self.change_mode(now, Mode::Broken(Fault::Storage));
        }
        self.app.reset(now, SigningKey::from_bytes(&keys.sign));
        self.keys = keys;
        self.start_pairing(now);
    }

    fn received_from_hub(&mut self, now: Millis, bytes: &[u8]) {
        let Mode::Paired { bond, session } = &mut self.mode else { return };
        let mut plain = [0; MAX_FRAME];
        match session.received(now, bytes, bond.version, &mut plain, &mut self.random) {
            Received::Ignored | Received::Duplicate => {}
            Received::Lost => self.app.opening(now),
            Received::Opened(session) => {
                self.app.connected(now, bond.hub, session);
                self.raise_link_version();
                if let Some(running) = self.updates.begin_session(now) {
                    self.app.introduce(now, Up::Running(running));
                }
            }
            Received::Frame(bytes) => match frame::decode(bytes) {
                Ok(Down::Revoked) => self.forget(now),
                Ok(frame) => {
                    self.app.received(now, bytes);
                    self.updates.received(now, &frame, self.moment());
                }
                Err(_) => self.app.received(now, bytes),
            },
        }
    }

    /// Starts an attempt to be paired.
    fn start_pairing(&mut self, now: Millis) {
        let pairing = Pairing::new(self.app.device(), &self.keys, &self.settings, &mut self.random);
        self.change_mode(now, Mode::Pairing(pairing));
    }

    /// Changes the mode, which needs another connection.
    fn change_mode(&mut self, now: Millis, mode: Mode) {
        self.access = access(self.app.device(), &mode);
        self.mode = mode;
        self.access_number = self.access_number.wrapping_add(1);
        self.online = false;
        self.login_refused = false;
        self.app.disconnected(now);
    }
}

fn paired(device: PublicKey, keys: &Keys, bond: Bond) -> Mode {
    let ends = Ends::new(bond.hub, device);
    let session = HubSession::new(ends, keys.seal.clone(), bond.seal);
    Mode::Paired { bond, session }
}

fn access(device: PublicKey, mode: &Mode) -> Option<Access> {
    let fits = "short enough for any login";
    match mode {
        Mode::Pairing(pairing) => {
            let PairingTopics { down, up } = PairingTopics::new(pairing.attempt());
            // Not the device's name, which would reveal its key before the hub has committed itself.
            let client = up.split('/').rev().nth(1).and_then(|attempt| attempt.try_into().ok());
            let user = PAIRING_USER.try_into().expect(fits);
            let client = client.expect("an attempt is between two slashes, in 16 digits");
            Some(Access { client, user, password: String::new(), down, up, presence: None })
        }
        Mode::Paired { bond, .. } => {
            let Topics { down, up, presence } = Topics::new(bond.hub, device);
            let client = topic::name(device).as_str().try_into().expect(fits);
            let (user, password) = (bond.user.clone(), bond.password.clone());
            Some(Access { client, user, password, down, up, presence: Some(presence) })
        }
        Mode::Broken(_) => None,
    }
}

#[cfg(test)]
mod tests;
