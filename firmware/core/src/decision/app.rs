//! The application: link, card and buttons as one state machine.
//!
//! One card is open at a time, and it ends in one way: it is decided, withdrawn, or expires. Input from outside is bounded
//! and may be anything; what makes no sense in the current state is counted and ignored. Nothing is decided without a
//! session in which the hub offered the card, nor with a counter that was not stored before.
//!
//! The file is longer than its neighbours on purpose: every change of stage is in it, so that a reader can check that only
//! `act_on` and `offered_again` send a decision.

use ed25519_dalek::SigningKey;
use gatepost_link::{
    RequestId,
    decision::{PublicKey, Statement, Verdict},
    frame::{self, Down, Offer, Refusal, Up, Withdrawal},
    session::SessionHash,
    update::Version,
};

use super::{
    card::{self, Card, OfferState, REOFFER_TIMEOUT_MS},
    pending::Pending,
    question::Question,
    screens::Snapshot,
    stage::{End, LinkState, Stage},
    waiting::{Queue, Waiting},
};
use crate::{
    Counter, Millis, Settings,
    link::{
        fetch::{self, Fetch, Progress},
        outbound::Outbound,
        retry::Retry,
    },
    ui::{
        buttons::{Button, Buttons, Edge, Gesture, HOLD, MAX_TICK_GAP_MS, PRESS_TICK_MS},
        geometry::Geometry,
        screen::Screen,
        status::{Health, Status},
        view::{Ended, View},
    },
};

/// How long the end of a card stays on the screen.
pub const NOTICE_MS: u64 = 2_000;
/// The same of a denial: for so long a person may begin to [mute](Up::Mute) whose message it was.
pub const DENIED_MS: u64 = 3_000;
/// Nobody has touched a button for so long: who just read a card may still want something.
pub const QUIET_MS: u64 = 5_000;
/// While the display does not accept the screen, it is drawn again at this interval.
pub const REDRAW_INTERVAL_MS: u64 = 500;

/// The whole application.
pub struct App<C: Counter> {
    key: SigningKey,
    counter: C,
    last_counter: Option<u64>,
    geometry: Geometry,
    settings: Settings,
    link: LinkState,
    stage: Stage,
    document: fetch::Buffer,
    waiting: Queue,
    outbound: Outbound,
    buttons: Buttons,
    status: Option<Status>,
    health: Option<Health>,
    /// Whether the display accepted the last drawing; `None` until something was drawn.
    display_works: Option<bool>,
    /// The last frame that the hub answers with anything, [`Up::Ready`] or [`Up::Display`], until it does.
    unanswered: Option<(Up, Retry)>,
    /// Whether to install new firmware. It gives way to every card.
    question: Option<Question>,
    /// How much of new firmware is there, in percent.
    fetched: Option<u8>,
    /// Since when no card is open or waits, and no button is touched.
    idle_since: Option<Millis>,
    /// The request decided last. A late copy of its offer opens no card.
    last_decided: Option<RequestId>,
    ignored: u32,
}

impl<C: Counter> App<C> {
    /// An application without a link, for the device with this signing key.
    pub fn new(key: SigningKey, counter: C, geometry: Geometry) -> Self {
        Self {
            key,
            counter,
            last_counter: None,
            geometry,
            settings: Settings::default(),
            link: LinkState::Down,
            stage: Stage::Idle,
            document: fetch::Buffer::new(),
            waiting: Queue::default(),
            outbound: Outbound::default(),
            buttons: Buttons::default(),
            status: None,
            health: None,
            display_works: None,
            unanswered: None,
            question: None,
            fetched: None,
            idle_since: None,
            last_decided: None,
            ignored: 0,
        }
    }

    /// The same application with other settings.
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.buttons = Buttons::new(settings.short_approve);
        self.settings = settings;
        self
    }

    /// There is a connection, and the hub was asked for a session. Everything of an earlier session is void.
    pub fn opening(&mut self, now: Millis) {
        self.disconnected(now);
        self.link = LinkState::Opening;
    }

    /// A session with this hub begins. Everything of an earlier session is void.
    pub fn connected(&mut self, now: Millis, hub: PublicKey, session: SessionHash) {
        self.link = LinkState::Ready { hub, session };
        // A hub that does not speak of it any more is not said to be well.
        self.health = None;
        self.end_session(OfferState::Awaited { until: now.after(REOFFER_TIMEOUT_MS) });
        self.send_until_answered(now, Up::Ready);
        if let Some(works) = self.display_works {
            self.send_until_answered(now, Up::Display { works });
        }
        self.tick(now);
    }

    /// The connection is gone.
    pub fn disconnected(&mut self, now: Millis) {
        self.link = LinkState::Down;
        self.end_session(OfferState::Disconnected);
        self.tick(now);
    }

    /// Handles a frame that the hub sealed in this session. It may contain anything.
    pub fn received(&mut self, now: Millis, bytes: &[u8]) {
        let handled = match frame::decode::<Down<'_>>(bytes) {
            Ok(frame) => {
                self.unanswered = None;
                self.handle_frame(now, frame)
            }
            Err(_) => false,
        };
        if !handled {
            self.ignored = self.ignored.saturating_add(1);
        }
        self.tick(now);
    }

    /// Handles a button that went down or came up, without bounces and key repeats.
    pub fn button(&mut self, now: Millis, button: Button, edge: Edge) {
        self.expire(now);
        self.idle_since = None;
        let may_hold = match (&self.stage, button) {
            (Stage::Open(card), Button::Approve) => self.may_approve(card),
            (Stage::Idle, Button::Approve) => self.question.as_ref().is_some_and(Question::can_install),
            (stage, Button::Deny) => self.is_ready() && stage.can_mute(),
            _ => false,
        };
        if may_hold && let Stage::Notice { until, .. } = &mut self.stage {
            *until = (*until).max(now.after(HOLD + MAX_TICK_GAP_MS));
        }
        let gesture = self.buttons.edge(now, button, edge, may_hold);
        self.act_on(now, gesture);
        self.open_next(now);
    }

    /// Reports a drawing of `screen`: whether the display accepted all of it. Only this makes a page count as shown, so a
    /// runner calls it after every drawing with the screen that it drew last.
    pub fn drawn(&mut self, now: Millis, screen: &Screen, accepted: bool) {
        if self.display_works != Some(accepted) {
            self.display_works = Some(accepted);
            if self.is_ready() {
                self.send_until_answered(now, Up::Display { works: accepted });
            }
        }
        if !accepted {
            self.buttons.discard_approve();
        }
        if let Some(question) = &mut self.question {
            question.drawn(accepted && question.is_on(&screen.view), self.buttons.all_up());
        }
        let shows_page = accepted && self.shows_current_page(now, screen);
        let Stage::Open(card) = &mut self.stage else { return };
        match accepted {
            true if shows_page => card.mark_shown(),
            true => {}
            false => card.mark_hidden(),
        }
        card.update_armed(self.buttons.all_up());
    }

    /// Whether this screen shows the open card's current page with all its rows.
    fn shows_current_page(&self, now: Millis, screen: &Screen) -> bool {
        let (Stage::Open(card), View::Card(view)) = (&self.stage, &screen.view) else { return false };
        let is_current = view.request == card.offer.request && view.page == card.page();
        is_current && (card.is_shown() || self.screen(now).body == screen.body)
    }

    /// Whether the display did not accept the last drawing. Draw again after [`REDRAW_INTERVAL_MS`].
    pub fn display_out(&self) -> bool {
        self.display_works == Some(false)
    }

    /// What to draw now.
    pub fn screen(&self, now: Millis) -> Screen {
        let snapshot = Snapshot {
            geometry: self.geometry,
            approve_unseen_files: self.settings.approve_unseen_files,
            link: self.link,
            stage: &self.stage,
            document: &self.document,
            waiting: self.waiting.len(),
            question: self.question.as_ref(),
            fetched: self.fetched,
            hold_progress: self.buttons.hold_progress(now),
            status: self.status,
            health: self.health,
        };
        snapshot.screen(now)
    }

    /// Advances time. Call it when [`App::next_tick`] says so; calling it more often does no harm.
    ///
    /// Pass button edges first: a button that is still down here counts as held until now.
    pub fn tick(&mut self, now: Millis) {
        self.expire(now);
        let gesture = self.buttons.tick(now);
        self.act_on(now, gesture);
        let repeated = match &mut self.stage {
            Stage::Fetching(fetch) => fetch.tick(now, &self.document),
            Stage::Deciding(pending) => pending.tick(now),
            _ => None,
        };
        let unanswered = self.unanswered.as_mut();
        let unanswered = unanswered.and_then(|(frame, retry)| retry.is_due(now).then_some(*frame));
        for frame in [unanswered, repeated].into_iter().flatten() {
            self.outbound.push(frame);
        }
        self.open_next(now);
        let is_idle = matches!(self.stage, Stage::Idle) && self.buttons.all_up();
        self.idle_since = is_idle.then(|| self.idle_since.unwrap_or(now));
    }

    /// From when on the device has time for work that stalls it for a moment: no card is open or waits, and nobody has touched a
    /// button for [`QUIET_MS`]. [`None`] as long as that cannot be said.
    pub fn quiet_at(&self) -> Option<Millis> {
        self.idle_since.map(|since| since.after(QUIET_MS))
    }

    /// Asks whether to install this version, or asks no more.
    pub fn ask_update(&mut self, now: Millis, version: Option<Version>) {
        if self.question.as_ref().map(Question::version) != version {
            self.question = version.map(|version| Question::new(now, version));
            if matches!(self.stage, Stage::Idle) {
                self.buttons.discard();
            }
        }
    }

    /// What a person answered to [`App::ask_update`]: `true` after a hold of Approve. The question is over then.
    pub fn take_answer(&mut self) -> Option<bool> {
        let answer = self.question.as_ref()?.answer();
        if answer.is_some() {
            self.question = None;
        }
        answer
    }

    /// Shows how much of new firmware is there, in percent.
    pub fn show_fetched(&mut self, percent: Option<u8>) {
        self.fetched = percent;
    }

    /// Whether the display accepted the last drawing.
    pub fn display_works(&self) -> bool {
        self.display_works == Some(true)
    }

    /// Sends a frame of the device's beside those of cards. It is repeated until the hub answers with anything.
    pub fn introduce(&mut self, now: Millis, frame: Up) {
        self.send_until_answered(now, frame);
    }

    /// When [`App::tick`] has something to do or the screen changes; `None` if only the link or a button can change
    /// anything.
    pub fn next_tick(&self, now: Millis) -> Option<Millis> {
        let press = self.buttons.is_pressed().then(|| now.after(PRESS_TICK_MS));
        // A hold ends exactly on time, not up to one tick later.
        let hold = self.buttons.hold_completes_at().filter(|end| *end > now);
        let stage = match &self.stage {
            Stage::Idle => self.status.filter(|_| self.is_ready()).map(|status| status.next_tick(now)),
            stage => stage.next_tick(now),
        };
        let unanswered = self.unanswered.map(|(_, retry)| retry.due_at());
        let redraw = self.display_out().then(|| now.after(REDRAW_INTERVAL_MS));
        [press, hold, stage, unanswered, redraw].into_iter().flatten().min()
    }

    /// The next frame to seal and send.
    pub fn next_frame(&mut self) -> Option<Up> {
        self.outbound.pop()
    }

    /// How many received frames were ignored because they were damaged or made no sense.
    pub fn ignored(&self) -> u32 {
        self.ignored
    }

    /// Where the counter is stored, and on a device everything else.
    pub fn storage(&mut self) -> &mut C {
        &mut self.counter
    }

    /// Gives the device a new identity: nothing of the old one counts, and its counter may start again.
    pub(crate) fn reset(&mut self, now: Millis, key: SigningKey) {
        self.disconnected(now);
        self.key = key;
        self.last_counter = None;
        self.last_decided = None;
        (self.status, self.health) = (None, None);
        self.stage = Stage::Idle;
    }

    /// The public key that identifies the device.
    pub fn device(&self) -> PublicKey {
        PublicKey(self.key.verifying_key().to_bytes())
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.link, LinkState::Ready { .. })
    }

    fn may_approve(&self, card: &Card) -> bool {
        self.is_ready() && card.can_approve(self.settings.approve_unseen_files)
    }

    /// Handles a frame; returns `false` if it makes no sense now.
    fn handle_frame(&mut self, now: Millis, frame: Down<'_>) -> bool {
        if !self.is_ready() {
            return false;
        }
        match frame {
            // The owner of the session handles `Revoked`; nothing handles updates yet.
            Down::Revoked | Down::Manifest { .. } | Down::Root(_) | Down::Block { .. } | Down::NoUpdate => {
                true
            }
            Down::Offer(offer) => self.offered(now, offer),
            Down::Piece { request, piece, bytes } => self.piece_arrived(now, request, piece, bytes),
            Down::Consumed { request } => match &self.stage {
                Stage::Deciding(pending) if pending.offer.request == request => {
                    let verdict = pending.verdict();
                    self.last_decided = Some(request);
                    self.close(now, request, End::Decided(verdict));
                    true
                }
                _ => false,
            },
            Down::Withdraw { request, reason } => {
                if self.stage.offer().is_some_and(|offer| offer.request == request) {
                    self.close(now, request, End::Closed(Ended::Withdrawn(reason)));
                    return true;
                }
                self.waiting.remove(request)
            }
            Down::Status(report) => {
                self.status = Some(Status { report, received_at: now });
                true
            }
            Down::Health(health) => {
                self.health = Some(health.into());
                true
            }
        }
    }

    /// Sends a frame that the hub answers, and repeats it until it does.
    fn send_until_answered(&mut self, now: Millis, frame: Up) {
        self.outbound.push(frame);
        self.unanswered = Some((frame, Retry::new(now)));
    }

    /// Drops everything of the session that is over. An open card or a decision stays, in `offer_state`.
    fn end_session(&mut self, offer_state: OfferState) {
        self.waiting.clear();
        self.outbound.clear();
        self.unanswered = None;
        self.buttons.discard();
        self.stage.end_session(offer_state);
    }

    fn offered(&mut self, now: Millis, offer: Offer) -> bool {
        if self.last_decided == Some(offer.request) {
            return false;
        }
        let deadline = now.after(offer.expires_ms.into());
        if let Some(current) = self.stage.offer().filter(|current| current.request == offer.request) {
            let same = current.document == offer.document && current.length == offer.length;
            if same {
                return self.offered_again(now, deadline);
            }
            match self.stage.offer_state() {
                // The document of a request never changes.
                OfferState::Current => return false,
                OfferState::Disconnected | OfferState::Awaited { .. } => self.abandon(now),
            }
        }
        if let Err(reason) = fetch::admissible(&offer) {
            self.outbound.push(Up::Refuse { request: offer.request, reason });
        } else if !self.waiting.put(Waiting { offer, deadline }) {
            self.outbound.push(Up::Refuse { request: offer.request, reason: Refusal::Busy });
        }
        true
    }

    /// The hub offers again what the application is busy with.
    fn offered_again(&mut self, now: Millis, until: Millis) -> bool {
        match &mut self.stage {
            Stage::Fetching(Fetch { deadline, .. }) => *deadline = until,
            Stage::Open(card) => {
                card.offer_state = OfferState::Current;
                card.deadline = until;
            }
            Stage::Deciding(pending) => {
                pending.deadline = until;
                if pending.offer_state != OfferState::Current {
                    let (offer, verdict) = (pending.offer, pending.verdict());
                    match self.reserve_counter() {
                        Some(counter) => self.send_decision(now, offer, until, verdict, counter),
                        None => self.abandon(now),
                    }
                }
            }
            Stage::Idle | Stage::Notice { .. } => return false,
        }
        true
    }

    fn piece_arrived(&mut self, now: Millis, request: RequestId, piece: u16, bytes: &[u8]) -> bool {
        let Stage::Fetching(fetch) = &mut self.stage else { return false };
        if fetch.offer.request != request {
            return false;
        }
        match fetch.piece_arrived(now, piece, bytes, &mut self.document) {
            Progress::Ignored => return false,
            Progress::Request(next) => self.outbound.push(next),
            Progress::Complete => {
                let (offer, deadline) = (fetch.offer, fetch.deadline);
                self.open(now, offer, deadline);
            }
        }
        true
    }

    fn open(&mut self, now: Millis, offer: Offer, deadline: Millis) {
        match card::examine(&self.document, &offer, self.geometry) {
            Ok(facts) => {
                let counter = self.reserve_counter();
                let mut card = Card::open(now, offer, deadline, facts, counter);
                self.buttons.discard();
                card.update_armed(self.buttons.all_up());
                self.stage = Stage::Open(card);
            }
            Err(reason) => {
                self.outbound.push(Up::Refuse { request: offer.request, reason });
                self.close(now, offer.request, End::Closed(Ended::NotShown(reason)));
            }
        }
    }

    /// A counter greater than all before; `None` if it could not be stored.
    fn reserve_counter(&mut self) -> Option<u64> {
        let counter = self.counter.reserve().ok().filter(|counter| self.last_counter < Some(*counter))?;
        self.last_counter = Some(counter);
        Some(counter)
    }

    fn act_on(&mut self, now: Millis, gesture: Option<Gesture>) {
        if let (Stage::Idle, Some(question)) = (&self.stage, &mut self.question) {
            question.act_on(gesture, self.buttons.all_up());
        }
        if let (Stage::Notice { request, .. }, Some(Gesture::Mute)) = (&self.stage, gesture) {
            let request = *request;
            if self.is_ready() {
                self.send_until_answered(now, Up::Mute { request });
                self.close(now, request, End::Muted);
            }
            return;
        }
        let Stage::Open(card) = &mut self.stage else { return };
        if gesture == Some(Gesture::Page) {
            card.next_page();
        }
        card.update_armed(self.buttons.all_up());
        let verdict = match gesture {
            Some(Gesture::Hold) if card.can_approve(self.settings.approve_unseen_files) => Verdict::Approve,
            Some(Gesture::Deny { began }) if card.can_deny(began) => Verdict::Deny,
            _ => return,
        };
        if let Some(counter) = card.counter {
            let (offer, deadline) = (card.offer, card.deadline);
            self.send_decision(now, offer, deadline, verdict, counter);
        }
    }

    /// Signs a decision for this session and sends it.
    fn send_decision(&mut self, now: Millis, offer: Offer, deadline: Millis, verdict: Verdict, counter: u64) {
        let LinkState::Ready { hub, session } = self.link else { return };
        let statement = Statement {
            hub,
            device: self.device(),
            request: offer.request,
            document: offer.document,
            verdict,
            counter,
            session,
        };
        let decision = statement.sign(&self.key);
        self.outbound.push(Up::Decision(decision));
        self.stage = Stage::Deciding(Pending::new(now, offer, deadline, decision));
    }

    /// Closes whatever has run out of time.
    fn expire(&mut self, now: Millis) {
        let not_reoffered = matches!(self.stage.offer_state(), OfferState::Awaited { until } if now >= until);
        match &self.stage {
            Stage::Fetching(Fetch { offer, deadline, .. }) | Stage::Open(Card { offer, deadline, .. })
                if now >= *deadline =>
            {
                let request = offer.request;
                self.close(now, request, End::Closed(Ended::Withdrawn(Withdrawal::Expired)));
            }
            Stage::Open(_) if not_reoffered => self.abandon(now),
            Stage::Deciding(pending) if not_reoffered || now >= pending.gives_up_at() => self.abandon(now),
            Stage::Notice { until, .. } if now >= *until => self.stage = Stage::Idle,
            _ => {}
        }
    }

    /// Closes a card or a decision that the hub no longer offers.
    fn abandon(&mut self, now: Millis) {
        let (request, why) = match &self.stage {
            Stage::Open(card) => (card.offer.request, Ended::NoLongerOffered),
            Stage::Deciding(pending) => (pending.offer.request, Ended::NotConfirmed),
            Stage::Idle | Stage::Fetching(_) | Stage::Notice { .. } => return,
        };
        self.close(now, request, End::Closed(why));
    }

    fn close(&mut self, now: Millis, request: RequestId, end: End) {
        self.buttons.discard();
        let shown = if end == End::Decided(Verdict::Deny) { DENIED_MS } else { NOTICE_MS };
        self.stage = Stage::Notice { request, end, until: now.after(shown) };
    }

    /// Fetches the next waiting offer, if the application is idle.
    fn open_next(&mut self, now: Millis) {
        if !matches!(self.stage, Stage::Idle) || !self.is_ready() {
            return;
        }
        if let Some(Waiting { offer, deadline }) = self.waiting.next(now) {
            let (fetch, request) = Fetch::start(now, offer, deadline, &mut self.document);
            self.outbound.push(request);
            self.stage = Stage::Fetching(fetch);
            if let Some(question) = &mut self.question {
                question.hide();
                self.buttons.discard();
            }
        }
    }
}

#[cfg(test)]
mod tests;
