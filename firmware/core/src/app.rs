//! The application: link, card and buttons as one machine.
//!
//! One card is open at a time and one thing happens to it: it is decided, withdrawn, or expires. Whatever comes from
//! outside is bounded and may be anything; what makes no sense now is counted and ignored. Nothing is decided
//! without a session in which the hub offered the card, nor with a counter that was not stored before.
//!
//! Longer than its neighbours on purpose: every change of stage is in this one file, so that a reader can see that
//! none other sends a decision than `act` and `offered_again`.

use ed25519_dalek::SigningKey;
use gatepost_link::{
    RequestId,
    decision::{PublicKey, Statement, Verdict},
    frame::{self, Down, Offer, Refusal, Up, Withdrawal},
    session::SessionHash,
};

use crate::{
    Millis,
    buttons::{Button, Buttons, Edge, Gesture, SHORT_APPROVE},
    card::{self, Card, OFFER_AGAIN, Standing},
    fetch::{self, Fetch, Progress},
    outbound::Outbound,
    pending::Pending,
    retry::Retry,
    screen::{Ended, Geometry, Screen, View},
    status::Status,
    waiting::{Queue, Waiting},
};

/// How many milliseconds the end of a card stays on the screen.
pub const NOTICE: u64 = 2_000;
/// How often [`App::tick`] must be called while a button is down, in milliseconds.
pub const WATCH: u64 = 50;
/// While the display does not take what is drawn, it is drawn again after so many milliseconds.
pub const REDRAW: u64 = 500;

/// The device's counter in storage that survives a loss of power.
pub trait Counter {
    /// Why a value could not be stored.
    type Error;

    /// Reserves the next value. It must be on disk before this returns, and no value is ever returned twice.
    fn reserve(&mut self) -> Result<u64, Self::Error>;
}

/// What the owner chose, and what the buttons are like.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Lets a person approve a message whose files the device cannot show. Off by default.
    pub approve_unseen_files: bool,
    /// This is a program on somebody's computer, and says so to the hub that it is paired with. Off by default.
    pub program: bool,
    /// How short a press of Approve turns the page, in milliseconds; [`SHORT_APPROVE`] by default. A keyboard whose
    /// releases are only guessed needs more.
    pub short_approve: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { approve_unseen_files: false, program: false, short_approve: SHORT_APPROVE }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    Down,
    /// There is a connection, and no session yet.
    Opening,
    Ready {
        hub: PublicKey,
        session: SessionHash,
    },
}

/// What the application is busy with.
pub(crate) enum Stage {
    Idle,
    Fetching(Fetch),
    Open(Card),
    Deciding(Pending),
    Notice { request: RequestId, end: End, until: Millis },
}

/// How a card ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done(Verdict),
    Closed(Ended),
}

/// The whole application.
pub struct App<C: Counter> {
    key: SigningKey,
    counter: C,
    last_counter: Option<u64>,
    pub(crate) geometry: Geometry,
    pub(crate) settings: Settings,
    pub(crate) link: Link,
    pub(crate) stage: Stage,
    pub(crate) document: fetch::Buffer,
    pub(crate) waiting: Queue,
    outbound: Outbound,
    pub(crate) buttons: Buttons,
    pub(crate) status: Option<Status>,
    /// Whether the display took what was drawn last; unknown before anything was drawn.
    display: Option<bool>,
    /// What was said to the hub last that it answers with anything: [`Up::Ready`], or [`Up::Display`].
    unanswered: Option<(Up, Retry)>,
    /// The request decided last; a late copy of its offer opens no card.
    done: Option<RequestId>,
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
            link: Link::Down,
            stage: Stage::Idle,
            document: fetch::Buffer::new(),
            waiting: Queue::default(),
            outbound: Outbound::default(),
            buttons: Buttons::default(),
            status: None,
            display: None,
            unanswered: None,
            done: None,
            ignored: 0,
        }
    }

    /// The same application with other settings.
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.buttons = Buttons::new(settings.short_approve);
        self.settings = settings;
        self
    }

    /// There is a connection, and the hub has been asked for a session. Everything of an earlier one is void.
    pub fn opening(&mut self, now: Millis) {
        self.disconnected(now);
        self.link = Link::Opening;
    }

    /// A session with this hub begins. Everything of an earlier one is void.
    pub fn connected(&mut self, now: Millis, hub: PublicKey, session: SessionHash) {
        self.link = Link::Ready { hub, session };
        self.end_session(Standing::Awaited { until: now.after(OFFER_AGAIN) });
        self.ask(now, Up::Ready);
        if let Some(works) = self.display {
            self.ask(now, Up::Display { works });
        }
        self.tick(now);
    }

    /// The link is down.
    pub fn disconnected(&mut self, now: Millis) {
        self.link = Link::Down;
        self.end_session(Standing::Adrift);
        self.tick(now);
    }

    /// A frame that the hub sealed in this session. It may hold anything.
    pub fn received(&mut self, now: Millis, bytes: &[u8]) {
        let taken = match frame::decode::<Down<'_>>(bytes) {
            Ok(frame) => {
                self.unanswered = None;
                self.accept(now, frame)
            }
            Err(_) => false,
        };
        if !taken {
            self.ignored = self.ignored.saturating_add(1);
        }
        self.tick(now);
    }

    /// A button went down or came up, without bounces or key repeats.
    pub fn button(&mut self, now: Millis, button: Button, edge: Edge) {
        self.expire(now);
        let may_approve = matches!(&self.stage, Stage::Open(card) if self.may_approve(card));
        let gesture = self.buttons.edge(now, button, edge, may_approve);
        self.act(now, gesture);
        self.open_next(now);
    }

    /// What became of a `screen` of [`App::screen`]: whether the display has taken all of it. A page counts as shown by this
    /// alone, so a runner says so after every drawing, of the last screen that it drew.
    pub fn drawn(&mut self, now: Millis, screen: &Screen, taken: bool) {
        if self.display != Some(taken) {
            self.display = Some(taken);
            if self.ready() {
                self.ask(now, Up::Display { works: taken });
            }
        }
        if !taken {
            self.buttons.spend_approve();
        }
        let is_page = taken && self.is_page(now, screen);
        let Stage::Open(card) = &mut self.stage else { return };
        match taken {
            true if is_page => card.shown(),
            true => {}
            false => card.hidden(),
        }
        card.observe(self.buttons.all_up());
    }

    /// Whether it is the open card's page that is on this screen, in all its rows.
    fn is_page(&self, now: Millis, screen: &Screen) -> bool {
        let (Stage::Open(card), View::Card(view)) = (&self.stage, &screen.view) else { return false };
        let of_card = view.request == card.offer.request && view.page == card.page();
        of_card && (card.is_shown() || self.screen(now).body == screen.body)
    }

    /// Whether the display did not take what was drawn last. Draw again after [`REDRAW`].
    pub fn display_out(&self) -> bool {
        self.display == Some(false)
    }

    /// Lets time pass. Call it when [`App::next_tick`] says; more often does no harm.
    ///
    /// Hand over button edges first: what is still pressed here is taken for held until now.
    pub fn tick(&mut self, now: Millis) {
        self.expire(now);
        let gesture = self.buttons.tick(now);
        self.act(now, gesture);
        let again = match &mut self.stage {
            Stage::Fetching(fetch) => fetch.tick(now, &self.document),
            Stage::Deciding(pending) => pending.tick(now),
            _ => None,
        };
        let unanswered = self.unanswered.as_mut();
        let unanswered = unanswered.and_then(|(frame, retry)| retry.is_due(now).then_some(*frame));
        for frame in [unanswered, again].into_iter().flatten() {
            self.outbound.push(frame);
        }
        self.open_next(now);
    }

    /// When [`App::tick`] has something to do, or the screen something new to show; `None` if only the link or a
    /// button can change anything.
    pub fn next_tick(&self, now: Millis) -> Option<Millis> {
        let press = self.buttons.busy().then(|| now.after(WATCH));
        // On time, and not a whole look later.
        let hold = self.buttons.hold_ends().filter(|end| *end > now);
        let stage = match &self.stage {
            Stage::Idle => self.status.filter(|_| self.ready()).map(|status| status.next_tick(now)),
            Stage::Fetching(fetch) => Some(fetch.next_tick().min(fetch.deadline)),
            Stage::Open(card) => Some(now.next_second(card.deadline)),
            Stage::Deciding(pending) => {
                let second = now.next_second(pending.deadline);
                Some(pending.next_tick().map_or(second, |again| again.min(second)))
            }
            Stage::Notice { until, .. } => Some(*until),
        };
        let unanswered = self.unanswered.map(|(_, retry)| retry.at());
        let redraw = self.display_out().then(|| now.after(REDRAW));
        [press, hold, stage, unanswered, redraw].into_iter().flatten().min()
    }

    /// The next frame to seal and to send.
    pub fn next_frame(&mut self) -> Option<Up> {
        self.outbound.pop()
    }

    /// How many frames from outside were ignored because they were damaged or made no sense.
    pub fn ignored(&self) -> u32 {
        self.ignored
    }

    /// Where the counter is kept, and on a device all else.
    pub fn storage(&mut self) -> &mut C {
        &mut self.counter
    }

    /// The device is another one from now on: nothing of before counts, and its counter may begin again.
    pub(crate) fn become_another(&mut self, now: Millis, key: SigningKey) {
        self.disconnected(now);
        self.key = key;
        self.last_counter = None;
        self.done = None;
        self.status = None;
        self.stage = Stage::Idle;
    }

    /// The key that the device is known by.
    pub fn device(&self) -> PublicKey {
        PublicKey(self.key.verifying_key().to_bytes())
    }

    pub(crate) fn ready(&self) -> bool {
        matches!(self.link, Link::Ready { .. })
    }

    pub(crate) fn may_approve(&self, card: &Card) -> bool {
        self.ready() && card.approvable(self.settings.approve_unseen_files)
    }

    /// Takes a frame; `false` if it makes no sense now.
    fn accept(&mut self, now: Millis, frame: Down<'_>) -> bool {
        if !self.ready() {
            return false;
        }
        match frame {
            // Whoever owns the session acts on the one; nobody here can act on the other yet.
            Down::Revoked | Down::Manifest(_) => true,
            Down::Offer(offer) => self.offered(now, offer),
            Down::Piece { request, piece, bytes } => self.piece(now, request, piece, bytes),
            Down::Consumed { request } => match &self.stage {
                Stage::Deciding(pending) if pending.offer.request == request => {
                    let verdict = pending.verdict();
                    self.done = Some(request);
                    self.close(now, request, End::Done(verdict));
                    true
                }
                _ => false,
            },
            Down::Withdraw { request, reason } => {
                if self.current().is_some_and(|offer| offer.request == request) {
                    self.close(now, request, End::Closed(Ended::Withdrawn(reason)));
                    return true;
                }
                self.waiting.remove(request)
            }
            Down::Status(report) => {
                self.status = Some(Status { report, heard: now });
                true
            }
        }
    }

    /// Says what the hub answers, and says it again until it does.
    fn ask(&mut self, now: Millis, frame: Up) {
        self.outbound.push(frame);
        self.unanswered = Some((frame, Retry::new(now)));
    }

    /// Forgets what the session that is over gave; what a person is busy with stays, in `standing`.
    fn end_session(&mut self, standing: Standing) {
        self.waiting.clear();
        self.outbound.clear();
        self.unanswered = None;
        self.buttons.spend();
        match &mut self.stage {
            Stage::Fetching(_) => self.stage = Stage::Idle,
            Stage::Open(card) => card.standing = standing,
            Stage::Deciding(pending) => pending.standing = standing,
            Stage::Idle | Stage::Notice { .. } => {}
        }
    }

    fn offered(&mut self, now: Millis, offer: Offer) -> bool {
        if self.done == Some(offer.request) {
            return false;
        }
        let deadline = now.after(offer.expires_ms.into());
        if let Some(current) = self.current().filter(|current| current.request == offer.request) {
            let same = current.document == offer.document && current.length == offer.length;
            if same {
                return self.offered_again(now, deadline);
            }
            match self.standing() {
                // A document is never written again.
                Standing::Offered => return false,
                Standing::Adrift | Standing::Awaited { .. } => self.lose(now),
            }
        }
        if let Err(reason) = fetch::admissible(&offer) {
            self.outbound.push(Up::Refuse { request: offer.request, reason });
        } else if !self.waiting.put(Waiting { offer, deadline }) {
            self.outbound.push(Up::Refuse { request: offer.request, reason: Refusal::Busy });
        }
        true
    }

    /// The hub stands by what the application is busy with.
    fn offered_again(&mut self, now: Millis, until: Millis) -> bool {
        match &mut self.stage {
            Stage::Fetching(Fetch { deadline, .. }) => *deadline = until,
            Stage::Open(card) => {
                card.standing = Standing::Offered;
                card.deadline = until;
            }
            Stage::Deciding(pending) => {
                pending.deadline = until;
                if pending.standing != Standing::Offered {
                    let (offer, verdict) = (pending.offer, pending.verdict());
                    match self.reserve() {
                        Some(counter) => self.send(now, offer, until, verdict, counter),
                        None => self.lose(now),
                    }
                }
            }
            Stage::Idle | Stage::Notice { .. } => return false,
        }
        true
    }

    fn piece(&mut self, now: Millis, request: RequestId, piece: u16, bytes: &[u8]) -> bool {
        let Stage::Fetching(fetch) = &mut self.stage else { return false };
        if fetch.offer.request != request {
            return false;
        }
        match fetch.piece(now, piece, bytes, &mut self.document) {
            Progress::Ignored => return false,
            Progress::Ask(question) => self.outbound.push(question),
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
                let counter = self.reserve();
                let mut card = Card::open(now, offer, deadline, facts, counter);
                self.buttons.spend();
                card.observe(self.buttons.all_up());
                self.stage = Stage::Open(card);
            }
            Err(reason) => {
                self.outbound.push(Up::Refuse { request: offer.request, reason });
                self.close(now, offer.request, End::Closed(Ended::NotShown(reason)));
            }
        }
    }

    /// A counter greater than all before; `None` if it could not be stored.
    fn reserve(&mut self) -> Option<u64> {
        let counter = self.counter.reserve().ok().filter(|counter| self.last_counter < Some(*counter))?;
        self.last_counter = Some(counter);
        Some(counter)
    }

    fn act(&mut self, now: Millis, gesture: Option<Gesture>) {
        let Stage::Open(card) = &mut self.stage else { return };
        if gesture == Some(Gesture::Page) {
            card.turn();
        }
        card.observe(self.buttons.all_up());
        let verdict = match gesture {
            Some(Gesture::Hold) if card.approvable(self.settings.approve_unseen_files) => Verdict::Approve,
            Some(Gesture::Deny { began }) if card.deniable(began) => Verdict::Deny,
            _ => return,
        };
        if let Some(counter) = card.counter {
            let (offer, deadline) = (card.offer, card.deadline);
            self.send(now, offer, deadline, verdict, counter);
        }
    }

    /// Signs a decision for this session and sends it.
    fn send(&mut self, now: Millis, offer: Offer, deadline: Millis, verdict: Verdict, counter: u64) {
        let Link::Ready { hub, session } = self.link else { return };
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

    /// Closes what time has run out for.
    fn expire(&mut self, now: Millis) {
        let awaited_in_vain = matches!(self.standing(), Standing::Awaited { until } if now >= until);
        match &self.stage {
            Stage::Fetching(Fetch { offer, deadline, .. }) | Stage::Open(Card { offer, deadline, .. })
                if now >= *deadline =>
            {
                let request = offer.request;
                self.close(now, request, End::Closed(Ended::Withdrawn(Withdrawal::Expired)));
            }
            Stage::Open(_) if awaited_in_vain => self.lose(now),
            Stage::Deciding(pending) if awaited_in_vain || now >= pending.given_up() => self.lose(now),
            Stage::Notice { until, .. } if now >= *until => self.stage = Stage::Idle,
            _ => {}
        }
    }

    /// Closes what the hub no longer stands by.
    fn lose(&mut self, now: Millis) {
        let (request, why) = match &self.stage {
            Stage::Open(card) => (card.offer.request, Ended::NoLongerOffered),
            Stage::Deciding(pending) => (pending.offer.request, Ended::NotConfirmed),
            Stage::Idle | Stage::Fetching(_) | Stage::Notice { .. } => return,
        };
        self.close(now, request, End::Closed(why));
    }

    fn close(&mut self, now: Millis, request: RequestId, end: End) {
        self.buttons.spend();
        self.stage = Stage::Notice { request, end, until: now.after(NOTICE) };
    }

    fn open_next(&mut self, now: Millis) {
        if !matches!(self.stage, Stage::Idle) || !self.ready() {
            return;
        }
        if let Some(Waiting { offer, deadline }) = self.waiting.next(now) {
            let (fetch, question) = Fetch::start(now, offer, deadline, &mut self.document);
            self.outbound.push(question);
            self.stage = Stage::Fetching(fetch);
        }
    }

    /// What the application is busy with, unless it is over.
    fn current(&self) -> Option<&Offer> {
        match &self.stage {
            Stage::Fetching(Fetch { offer, .. })
            | Stage::Open(Card { offer, .. })
            | Stage::Deciding(Pending { offer, .. }) => Some(offer),
            Stage::Idle | Stage::Notice { .. } => None,
        }
    }

    fn standing(&self) -> Standing {
        match &self.stage {
            Stage::Open(card) => card.standing,
            Stage::Deciding(pending) => pending.standing,
            Stage::Idle | Stage::Fetching(_) | Stage::Notice { .. } => Standing::Offered,
        }
    }
}

#[cfg(test)]
mod tests;
